# SPDX-License-Identifier: BSD-3-Clause
"""Runs one job with a timeout and leaves nothing of it behind.

Whatever a job leaves becomes a child of ours (subreaper), so that what is ended here is always
something that was started here.
"""

import ctypes
import dataclasses
import os
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 5  # for a launcher to end its ranks


@dataclasses.dataclass
class Outcome:
    out: str
    seconds: float
    problem: str = ""  # why it is of no use


def become_subreaper():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """Our own, zombies included."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def sweep():
    """Ends what a job left. Killing one hands us its children, so until there are none."""
    while True:
        left = children()
        if not left:
            return
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def run(command, timeout, env=None):
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", env=env)
    problem = ""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        problem = f"did not end within {timeout:g} s"
        process.terminate()
        try:
            out, err = process.communicate(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            sweep()  # a rank that is left holds the pipes open
            out, err = process.communicate()
    seconds = time.perf_counter() - begin
    sweep()
    if not problem and process.returncode:
        problem = f"exit status {process.returncode}"
    if problem:
        said = [line for line in err.strip().splitlines() if line.strip()][:2]
        problem = "\n    ".join([problem, *said])
    return Outcome(out, seconds, problem)
