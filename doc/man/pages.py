#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the manual pages from what the commands print for --help; called by ./dev doc.

pages.py BIN_DIR DIR      writes DIR/NAME.1 for each command

The pages are in the repository, so a build needs no run of a command that it has built, and test/wrapper
compares them with --help. A help text is paragraphs separated by empty lines: "usage: ...", a text, lines
"  OPTION  what it does", and paragraphs such as "Exit status: ...", which become sections.
"""

import os
import re
import subprocess
import sys

# Command: (all names of it, what it does).
PAGES = {
    "mpirun": ("mpirun, mpiexec", "start an MPI job"),
    "mpicc": ("mpicc, mpicxx, mpic++, mpicc_abi, mpicxx_abi, mpifort, mpif90, mpif77", "compile and link MPI programs"),
    "ompi_info": ("ompi_info", "report the installation, components and parameters of Mica"),
    "mica-ps": ("mica-ps", "show the ranks of a running MPI job, and who waits for whom"),
    "mica-profile": ("mica-profile", "report where the time of an MPI job went"),
    "mica-heap": ("mica-heap", "show the shared heap of a running MPI job"),
}
SECTIONS = {"Exit status": "EXIT STATUS", "Environment": "ENVIRONMENT", "Crashes": "CRASHES"}


def roff(text):
    """The text as it is: no character of it is an instruction."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


def term(text):
    """Options are bold, their values italic."""
    words = []
    for word in text.split(" "):
        bare = word.rstrip(",")
        font = "B" if bare.startswith("-") or bare in PAGES else "I"
        words.append(f"\\f{font}{roff(bare)}\\fR{word[len(bare):]}" if bare else "")
    return " ".join(words)


def options(lines):
    """An option's text follows after two blanks, or on lines that begin with many."""
    page = []
    for line in lines:
        if re.match(r" {10}", line):
            page.append(roff(line.strip()))
            continue
        name, *rest = re.split(r" {2,}", line.strip(), maxsplit=1)
        page += [".TP", term(name), *map(roff, rest)]
    return page


def page_of(command, text):
    names, summary = PAGES[command]
    usage, *paragraphs = [part.splitlines() for part in re.split(r"\n{2,}", text.strip())]
    page = [".\\\" SPDX-License-Identifier: BSD-3-Clause",
            f".\\\" Written by ./dev doc from {command} --help.",
            f".TH {command.upper()} 1 \"\" \"Mica\" \"User Commands\"",
            ".SH NAME", f"{roff(names)} \\- {summary}", ".SH SYNOPSIS"]
    for line in usage:
        page += [term(line.removeprefix("usage:").strip()), ".br"]
    page[-1] = ".SH DESCRIPTION"
    for lines in paragraphs:
        title = lines[0].split(":")[0]
        if lines[0].startswith("  "):
            page += [".SH OPTIONS", *options(lines), ".SH NOTES"]
        elif title in SECTIONS:
            first = lines[0][len(title) + 1:].strip()
            page += [f".SH {SECTIONS[title]}", *map(roff, [first[:1].upper() + first[1:], *lines[1:]])]
        else:
            page += [".PP", *map(roff, lines)]
    others = ", ".join(f".BR {roff(name)} (1)" for name in PAGES if name != command)
    page += [".SH SEE ALSO", others.replace(", ", " ,\n")]
    text = "\n".join(page) + "\n"
    text = re.sub(r"(\.SH [A-Z ]+\n)\.PP\n", r"\1", text)
    return re.sub(r"\.SH NOTES\n(?=\.SH)", "", text)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for command in PAGES:
        shown = subprocess.run([os.path.join(sys.argv[1], command), "--help"], check=True,
                               capture_output=True, text=True).stdout
        with open(os.path.join(sys.argv[2], f"{command}.1"), "w", encoding="utf-8") as file:
            file.write(page_of(command, shown))


main()
