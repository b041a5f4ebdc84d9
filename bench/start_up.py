#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What start-up takes, and what a rank has in memory then, by the number of ranks and of hosts.

    bench/start_up.py [--prefix DIR] [--repeat N] [--stages init,ring,all] [--hydra] [--mpich] RANKSxHOSTS...

Each case is a job of bench/start_up.c, whose ranks start, talk as the stages say and end: by mpirun
--fake-nodes, which gives each played host shared memory of its own and TCP between them. With --hydra
mpiexec.hydra starts the same program on one host, and with --mpich MPICH's own one, taking turns. All
play on this machine, so times hold the contention for its cores; memory does not.

A machine that other sessions use is not even: where the kernel groups processes by session
(/proc/sys/kernel/sched_autogroup_enabled), Hydra's ranks, each in a session of its own, get more of the
cores than mpirun's together. Prints a table of Markdown: the job from its start to its end, and for each
stage, of the ranks, the largest of each column, and the mean of Pss.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

COLUMNS = ["ms", "private KiB", "mean Pss KiB", "segment KiB", "descriptors", "sockets", "to the launcher"]
PSS = 2  # what ranks share is counted once in the sum of this one


def measure(command, ranks, stages):
    """Seconds, and by stage the largest of each column that the ranks print, of Pss the mean."""
    begin = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    result = [time.perf_counter() - begin]
    for stage in stages:
        rows = [[float(word) for word in line.split()[1:]] for line in done.stdout.splitlines()
                if line.startswith(stage + " ")]
        if done.returncode != 0 or len(rows) != ranks:
            sys.exit(f"{' '.join(command)}: {len(rows)} of {ranks} ranks\n{done.stderr[-2000:]}")
        result += [statistics.mean(column) if i == PSS else max(column)
                   for i, column in enumerate(zip(*rows))]
    return result


def commands_of(options, ranks, hosts, programs):
    """What starts a case, by the name that the table gives it."""
    stages = options.stages.split(",")
    mpirun = [f"{options.prefix}/bin/mpirun"] + (["--fake-nodes", str(hosts)] if hosts > 1 else [])
    commands = {"mpirun": mpirun + ["-n", str(ranks), programs["mica"]] + stages}
    if hosts == 1:
        if options.hydra:
            commands["hydra"] = ["mpiexec.hydra", "-n", str(ranks), programs["mica"]] + stages
        if options.mpich:
            commands["hydra, MPICH"] = ["mpiexec.hydra", "-n", str(ranks), programs["mpich"]] + stages
    return commands


def run_case(options, case, programs):
    ranks, hosts = (int(word) for word in case.split("x"))
    commands = commands_of(options, ranks, hosts, programs)
    runs = {launcher: [] for launcher in commands}
    for _ in range(options.repeat):
        for launcher, command in commands.items():
            runs[launcher].append(measure(command, ranks, options.stages.split(",")))
    for launcher, measured in runs.items():
        job, *rest = (statistics.median(column) for column in zip(*measured))
        print(f"| {ranks} | {hosts} | {launcher} | {job * 1000:.0f} | "
              + " | ".join(f"{value:.0f}" for value in rest) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", default="local")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--stages", default="init,ring")
    parser.add_argument("--hydra", action="store_true")
    parser.add_argument("--mpich", action="store_true")
    parser.add_argument("cases", nargs="*", default=["2x1", "2x2", "16x1", "16x4", "64x1", "64x8"])
    options = parser.parse_args()
    for wanted, tool in (("hydra", "mpiexec.hydra"), ("mpich", "mpicc.mpich")):
        if getattr(options, wanted) and shutil.which(tool) is None:
            sys.exit(f"--{wanted}: {tool} (package mpich) is not installed")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start_up.c")
    with tempfile.TemporaryDirectory() as folder:
        programs = {"mica": os.path.join(folder, "start_up")}
        subprocess.run([f"{options.prefix}/bin/mpicc", "-O1", "-o", programs["mica"], source], check=True)
        if options.mpich:
            programs["mpich"] = os.path.join(folder, "start_up.mpich")
            subprocess.run(["mpicc.mpich", "-O1", "-o", programs["mpich"], source], check=True)
        heads = ["ranks", "hosts", "launcher", "job ms"]
        heads += [f"{stage}: {column}" for stage in options.stages.split(",") for column in COLUMNS]
        print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|", flush=True)
        for case in options.cases:
            run_case(options, case, programs)


if __name__ == "__main__":
    main()
