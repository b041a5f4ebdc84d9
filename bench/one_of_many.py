#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What MPI_Init takes, and a rank has in memory then, in a job of more ranks than this machine can run.

    bench/one_of_many.py [--prefix DIR] [--repeat N] RANKS...

Rank 0 runs, and this script is its launcher by PMI 1: it says that there are so many ranks, on a host
each, and that all of them have come. What the rank keeps of the others is real; connections, and what a
launcher needs for so many, are not in here. Prints a table of Markdown, medians: the time of MPI_Init,
the rank's private memory, and how many messages it has sent to the launcher until then.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile


class Launcher:
    """Answers a rank until it says goodbye."""

    def __init__(self, ranks, connection):
        self.connection = connection
        self.values = {"PMI_process_mapping": f"(vector,(0,{ranks},1))"}

    def answer(self, line):
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        command = words["cmd"]
        if command == "init":
            return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
        if command == "get_my_kvsname":
            return "cmd=my_kvsname kvsname=many"
        if command == "get_appnum":
            return "cmd=appnum appnum=0"
        if command == "get_universe_size":
            return "cmd=universe_size size=1"
        if command == "put":
            self.values[words["key"]] = words["value"]
            return "cmd=put_result rc=0"
        if command == "get":
            value = self.values.get(words["key"])
            return f"cmd=get_result rc=0 value={value}" if value else "cmd=get_result rc=-1 msg=none"
        if command == "barrier_in":
            return "cmd=barrier_out"
        return "cmd=finalize_ack"

    def serve(self):
        pending = b""
        while data := self.connection.recv(65536):
            pending += data
            *lines, pending = pending.split(b"\n")
            for line in lines:
                self.connection.sendall(self.answer(line.decode()).encode() + b"\n")


def run(program, ranks):
    """The numbers that the rank prints."""
    ours, theirs = socket.socketpair()
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("PMI", "MICA_"))}
    environment |= {"PMI_FD": str(theirs.fileno()), "PMI_RANK": "0", "PMI_SIZE": str(ranks)}
    with subprocess.Popen([program, "alone"], env=environment, pass_fds=[theirs.fileno()],
                          stdout=subprocess.PIPE, text=True) as rank:
        theirs.close()
        Launcher(ranks, ours).serve()
        words = rank.stdout.read().split()
    ours.close()
    if rank.returncode != 0 or words[:1] != ["alone"]:
        sys.exit(f"the rank ended with status {rank.returncode}")
    return [float(word) for word in words[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", default="local")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("ranks", nargs="*", type=int, default=[2, 1000, 10000, 100000, 1000000])
    options = parser.parse_args()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start_up.c")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "start_up")
        subprocess.run([f"{options.prefix}/bin/mpicc", "-O1", "-o", program, source], check=True)
        print("| ranks | MPI_Init ms | private KiB | to the launcher |\n|---|---|---|---|", flush=True)
        for ranks in options.ranks:
            runs = [run(program, ranks) for _ in range(options.repeat)]
            init, private, *_, messages = (statistics.median(column) for column in zip(*runs))
            print(f"| {ranks} | {init:.1f} | {private:.0f} | {messages:.0f} |", flush=True)


if __name__ == "__main__":
    main()
