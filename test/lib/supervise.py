# SPDX-License-Identifier: BSD-3-Clause
"""Runs one command and leaves nothing of it behind.

A supervisor is a process of its own between the runner and the test. It is a child subreaper, so
every process that the test starts ends up below it, however often it forks; what is still there
when the test has ended is named, killed, and counts against this test and no other. It also
compares /dev/shm and the test's own TMPDIR before and after. Where it may, it gives the test a
/dev/shm of its own, so that what other jobs of the machine leave there is not taken for the test's.

Time is waited for in sigtimedwait: no polling while the test runs.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import time
import traceback

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
# What a killed process needs to vanish: ranks whose mpirun was killed are on their way out. It takes
# that long only where something is left for good; where that is what a test wants, it wants less.
GRACE_SECONDS = float(os.environ.get("MICA_TEST_GRACE") or 30)
SHM = os.environ.get("MICA_TEST_SHM") or "/dev/shm"


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def own_shm():
    """Only root may; for others, any new file there that nobody uses counts as the test's."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) == 0 and libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) == 0:
        libc.mount(b"mica-test", SHM.encode(), b"tmpfs", 0, b"mode=1777")


def descendants(root):
    """Pids below root, zombies left out."""
    children = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state not in "ZX":
            children.setdefault(int(parent), []).append(int(name))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        words = ""
    return f"{pid} {words or '(gone)'}"


def reap(leader):
    """Collects whatever has ended; the wait status of the leader if it was among them."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == leader:
            status = ended


def kill(pid):
    """Kills a descendant, and no other process that has got its pid since it was listed."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # before Python 3.9, before Linux 5.3
        os.kill(pid, signal.SIGKILL)
        return
    try:
        if pid in descendants(os.getpid()):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(fd)


def kill_all():
    """Until nobody is left: a process may fork while its siblings are being killed."""
    while True:
        pids = descendants(os.getpid())
        if not pids:
            reap(None)
            return
        for pid in pids:
            kill(pid)
        signal.sigtimedwait({signal.SIGCHLD}, 0.05)
        reap(None)


def wait_for(leader, deadline):
    """The leader's wait status, or None when time is up. Stopped from outside: cleans and exits."""
    while True:
        status = reap(leader)
        left = deadline - time.monotonic()
        if status is not None or left <= 0:
            return status
        info = signal.sigtimedwait({signal.SIGCHLD} | STOP_SIGNALS, left)
        if info is not None and info.si_signo in STOP_SIGNALS:
            kill_all()
            os._exit(128 + info.si_signo)


def leftovers():
    """Command lines of those that outlive the test by more than the grace."""
    deadline = time.monotonic() + GRACE_SECONDS
    while True:
        reap(None)
        pids = descendants(os.getpid())
        if not pids or time.monotonic() > deadline:
            return [command_line(pid) for pid in pids]
        signal.sigtimedwait({signal.SIGCHLD}, 0.05)


def listing(folder):
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def in_use(path):
    """Whether a process has the file open or mapped: then it is not of this test, which has none."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
                if any(line.rstrip().endswith(path) for line in maps):
                    return True
            fds = f"/proc/{pid}/fd"
            if any(os.readlink(f"{fds}/{fd}") == path for fd in os.listdir(fds)):
                return True
        except OSError:
            continue  # it has ended, or belongs to somebody else
    return False


def left_files(before_shm, scratch, own):
    """Files that are new in /dev/shm or beside the test's own temp dir; gone soon is not left. What
    appears in /dev/shm while several tests run counts against each of them."""
    deadline = time.monotonic() + GRACE_SECONDS
    while True:
        new = [f"{SHM}/{name}" for name in sorted(listing(SHM) - before_shm)]
        new += [f"$TMPDIR/{name}" for name in sorted(listing(scratch) - {own})]
        new = [path for path in new if not in_use(path)]
        if not new or time.monotonic() > deadline:
            return new
        signal.sigtimedwait({signal.SIGCHLD}, 0.05)


def exec_test(test, log):
    """In the child: becomes the test. Own session: no terminal, a process group to signal."""
    try:
        os.setsid()
        for fd, (path, flags) in enumerate((
                (os.devnull, os.O_RDONLY),
                (log + ".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND),
                (log + ".err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND))):
            os.dup2(os.open(path, flags, 0o644), fd)
        os.closerange(3, 256)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        # Python ignores these two, and ignoring is inherited.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.chdir(test.cwd or test.env["MICA_TMP"])
        os.execve(test.command[0], test.command, test.env)
    except OSError as error:
        os.write(2, f"{test.command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def supervise(test, log):
    """Runs the test; a dict of what happened."""
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD} | STOP_SIGNALS)
    own_shm()
    scratch, own = os.path.split(test.env["MICA_TMP"])
    shm = listing(SHM)
    began = time.monotonic()
    leader = os.fork()
    if leader == 0:
        exec_test(test, log)
    status = wait_for(leader, began + test.timeout)
    seconds = time.monotonic() - began
    left = leftovers() if status is not None else []
    kill_all()
    code = None
    if status is not None:
        code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"status": code, "signalled": status is not None and os.WIFSIGNALED(status),
            "seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "processes": left,
            "files": left_files(shm, scratch, own)}


def start(test, log):
    """Starts a supervisor for the test; its pid. It writes the outcome to LOG.json and exits.

    Call without other threads: it forks without exec."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        outcome = supervise(test, log)
        with open(log + ".json", "w", encoding="utf-8") as file:
            json.dump(outcome, file)
        status = 0
    except BaseException:  # whatever it is, a forked child must not return into the runner
        traceback.print_exc()
    finally:
        os._exit(status)
