#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Looks after the documents; called by ./dev doc.

documents.py parameters   reads `ompi_info --all --parsable`, writes the page of all parameters
documents.py links        checks that every relative link in a *.md file leads to something
"""

import os
import re
import sys

PARAM = re.compile(r"^mca:([^:]*):([^:]*):param:([^:]+):([^:]+):(.*)$")
PROSE = re.compile(r"^mca:([^:]*):([^:]*):(?:framework|component):prose:(.*)$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)

HEAD = """\
# Parameters

Written by `./dev doc` from the rows that the components register. How to set one, and which
setting overrides which: see [SETTINGS](SETTINGS.md#parameters).
"""


def unescape(text):
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def limits(facts):
    if "choices" in facts:
        return facts["choices"]
    low, high = facts.get("min"), facts.get("max")
    unit = " " + facts["unit"] if "unit" in facts else ""
    if low and high:
        return f"{low} to {high}{unit}"
    if low or high:
        return f"at {'least' if low else 'most'} {low or high}{unit}"
    return unit.strip()


def read_facts(lines):
    """{(framework, component): prose}, {(framework, component): {parameter: {key: value}}}"""
    prose, groups = {}, {}
    for line in lines:
        line = line.rstrip("\n")
        match = PARAM.match(line)
        if match:
            group = groups.setdefault((match[1], match[2]), {})
            group.setdefault(match[3], {})[match[4]] = unescape(match[5])
            continue
        match = PROSE.match(line)
        if match:
            prose[(match[1], match[2])] = unescape(match[3])
    return prose, groups


def parameters():
    prose, groups = read_facts(sys.stdin)
    if not groups:
        sys.exit("documents.py: ompi_info told of no parameter")
    print(HEAD)
    for (framework, component), rows in sorted(groups.items()):
        title = framework if component in ("", "base") else f"{framework} / {component}"
        print(f"## {title}\n")
        if prose.get((framework, component)):
            print(prose[(framework, component)] + "\n")
        print("| name | type | default | limits | meaning |\n|---|---|---|---|---|")
        for name, facts in sorted(rows.items()):
            meaning = facts.get("help", "")
            if "synonyms" in facts:
                meaning += f" (deprecated: {facts['synonyms']})"
            default = f"`{facts['default']}`" if facts.get("default") else "unset"
            if facts.get("source") == "read-out":
                default = "read-out"
            if "of" in facts:
                default = f"of one {facts['of']}"
            print("| " + " | ".join(cell(text) for text in (
                f"`{name}`", facts.get("type", ""), default, limits(facts), meaning)) + " |")
        print()


def anchors(path):
    """The names that headings get on a forge."""
    with open(path, encoding="utf-8") as file:
        text = FENCE.sub("", file.read())
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
            for title in re.findall(r"^#+ +(.*)$", text, re.MULTILINE)}


def documents(top):
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders
                      if not name.startswith((".", "build")) and name != "local"]
        yield from (os.path.join(folder, name) for name in files if name.endswith(".md"))


def links():
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    broken, count = [], 0
    for path in sorted(documents(top)):
        with open(path, encoding="utf-8") as file:
            text = FENCE.sub("", file.read())
        for link in LINK.findall(text):
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            target, _, anchor = link.partition("#")
            target = os.path.join(os.path.dirname(path), target) if target else path
            if not os.path.exists(target):
                broken.append(f"{os.path.relpath(path, top)}: {link} leads nowhere")
            elif anchor and target.endswith(".md") and anchor not in anchors(target):
                broken.append(f"{os.path.relpath(path, top)}: {link}: no such heading")
    print("\n".join(broken + [f"links: {count} checked, {len(broken)} broken"]))
    if broken or not count:
        sys.exit(1)


if __name__ == "__main__":
    tasks = {"parameters": parameters, "links": links}
    if len(sys.argv) != 2 or sys.argv[1] not in tasks:
        sys.exit(__doc__)
    tasks[sys.argv[1]]()
