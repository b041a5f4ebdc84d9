# SPDX-License-Identifier: BSD-3-Clause
"""For tests of starting processes at run time: TAP, and a rank that does what it is told
(launching.c), under any launcher or none."""
import os
import select
import subprocess
import sys
import time

PREFIX, SOURCE = os.environ["MICA_PREFIX"], os.environ["MICA_SOURCE"]
MPIRUN = PREFIX + "/bin/mpirun"
LIMIT = 60  # seconds that a line may take; what comes never fails then
os.chdir(os.environ["MICA_TMP"])
RANK = os.path.abspath("rank")
_count = _failed = 0


def check(good, text, detail=""):
    global _count, _failed
    _count += 1
    _failed += not good
    print(f"{'ok' if good else 'not ok'} {_count} - {text}")
    if not good:
        print("# " + str(detail).replace("\n", "\n# "))
    sys.stdout.flush()


def same(got, wanted, text):
    check(got == wanted, text, f"got    {got!r}\nwanted {wanted!r}")


def skip(text, reason):
    global _count
    _count += 1
    print(f"ok {_count} - {text} # SKIP {reason}")


def finish():
    print(f"1..{_count}")
    sys.exit(_failed > 0)


def build():
    subprocess.run([PREFIX + "/bin/mpicc", "-I" + SOURCE, "-o", RANK,
                    SOURCE + "/test/lib/launching.c", "-lopen-pal"], check=True)


def children(pid):
    """The descendants of a process."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found += [int(entry), *children(int(entry))]
    return found


def grown(before, after):
    """By how many pages; a sanitizer keeps what is freed."""
    return after[0] - before[0] if not os.environ.get("MICA_SANITIZER") else 0


class Rank:
    """A rank 0 that waits for commands."""

    def __init__(self, *launcher, env=None, answers=True):
        self.answers = answers  # its output comes here, and not to files
        self.errors = open("errors", "w+")
        self.process = subprocess.Popen(
            [*launcher, RANK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            env={**os.environ, **(env or {})})
        self.held = b""
        self.hello = self.line() if answers else ""

    def line(self):
        """The next line of output; "" is its end."""
        while b"\n" not in self.held:
            if not select.select([self.process.stdout], [], [], LIMIT)[0]:
                raise SystemExit(f"no output for {LIMIT} s\n" + self.said())
            got = os.read(self.process.stdout.fileno(), 65536)
            if not got:
                break
            self.held += got
        line, _, self.held = self.held.partition(b"\n")
        return line.decode()

    def lines(self, count):
        return sorted(self.line() for _ in range(count))

    def tell(self, *lines):
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())
        self.process.stdin.flush()

    def ask(self, *lines):
        """Tells, and returns the answer to the last one."""
        self.tell(*lines)
        return self.line()

    def play(self, rounds):
        """Starts jobs of two processes, one after the other, and publishes a name in each."""
        for number in range(rounds):
            name = f"launching-{os.getpid()}-{number}"
            self.tell(f"spawn 2 {RANK}", f"publish {name} a:port", f"unpublish {name}")
            for _ in range(5 if self.answers else 0):
                self.line()

    def holdings(self):
        """What the supervisor has when only this rank runs: pages, descriptors, processes."""
        if not self.answers:  # it has done all that it was told before
            self.tell("mark")
            while not os.path.exists("mark"):
                time.sleep(0.01)
            os.unlink("mark")
        supervisor = children(self.process.pid)[0]
        while len(children(supervisor)) > 1:
            pass
        with open(f"/proc/{supervisor}/statm") as file:
            pages = int(file.read().split()[1])
        return pages, len(os.listdir(f"/proc/{supervisor}/fd")), len(children(supervisor))

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self, *lines):
        """The exit status, when all output has ended."""
        self.tell(*lines)
        self.rest = []
        while line := self.line():
            self.rest.append(line)
        self.process.stdin.close()  # not before: Hydra fails when its stdin ends after the ranks
        return self.process.wait()


class Watch:
    """Processes whose end is waited for; one that is not there any more has ended."""

    def __init__(self, pids):
        self.pidfds = []
        for pid in pids:
            try:
                self.pidfds.append(os.pidfd_open(pid))
            except ProcessLookupError:
                pass

    def all_end(self):
        until = time.monotonic() + LIMIT
        good = all(select.select([fd], [], [], max(0, until - time.monotonic()))[0]
                   for fd in self.pidfds)
        for fd in self.pidfds:
            os.close(fd)
        return good
