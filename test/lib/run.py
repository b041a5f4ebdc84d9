#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The test runner: finds the tests, runs each under a supervisor, counts TAP lines.

What is a test:
  test/unit/**.c      programs of the build (`make print-unit-tests`), one a source file
  test/mpi/*.c        listed in test/mpi/tests.list, compiled with the installed mpicc
  test/*/**.test      executable scripts
  test/fuzz/*.c       programs of the build (`make print-fuzz-targets`), for a bounded time

Every test prints TAP: "ok N - text", "not ok N - text", "ok N - text # SKIP reason". It fails
besides by: a bad exit status, no TAP line at all, fewer or more lines than its plan "1..N", its
timeout, a process or file that it leaves behind (supervise.py). Each of these counts as one
failure. Its output is kept in the log folder and shown when it failed.

The environment of a test: MICA_SOURCE, MICA_BUILD, MICA_PREFIX, MICA_TMP (an empty folder of its
own, where it starts), TMPDIR (beside it, checked to be left empty).

Random programs run for the seconds that tests.list says, or, where these are more than 80 seconds
together, for their part of these; times MICA_TEST_SOAK (1); with a seed that is made of
MICA_TEST_SEED (the time). A test of test/mpi that fails tells the command to repeat it.

The last line is "N passed, N failed" (and ", N skipped"); the exit status is 0 if none failed.
Before it stand the slowest tests, with their seconds and the CPU time of all their processes.
A script that needs longer than the default says so in its head: "# timeout: SECONDS".

Up to --jobs tests that compute run at a time, the slowest first, and beside them as many of those
that wait most of their time. times.tsv tells which are slow and which wait; a test without a line
there is taken as a short one that computes. --times writes the lines of the tests that have run.

What goes by chance or by the clock says `soak`: a line "# soak" in the head of a script, the word in
tests.list. It is no part of the suite. --soak runs it, and all random programs for ten times the
seconds that tests.list says, or for those it says for that; it begins with how long that takes.
"""

import argparse
import dataclasses
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True  # the source tree stays as it is
import supervise  # noqa: E402

SHOWN_LINES = 60
SLOWEST = 20          # so many are listed at the end
LISTED_SECONDS = 2    # times.tsv has the tests that take longer
RANDOM_SECONDS = 80   # of all random programs of a run together, times MICA_TEST_SOAK
WAITING_SHARE = 0.25  # a test with less CPU time than this share of its seconds waits
TIMES = os.path.join("test", "lib", "times.tsv")
TAP_LINE = re.compile(r"^(not )?ok\b(.*)$")
TAP_PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#.*)?$")
SCRIPT_TIMEOUT = re.compile(r"(?:#.*\n)*?# timeout: (\d+)\n")
SCRIPT_SOAK = re.compile(r"(?:#.*\n)*?# soak\n")
TAP_SKIP = re.compile(r"#\s*skip", re.IGNORECASE)


@dataclasses.dataclass
class Test:
    """One process to run. `path` is its source below the top, `label` what is printed."""
    path: str
    command: list
    label: str = ""
    timeout: float = 300
    env: dict = dataclasses.field(default_factory=dict)
    cwd: str = ""  # "": its MICA_TMP
    expect: int = 0
    patterns: list = dataclasses.field(default_factory=list)  # (stream, regex) that must match
    repeat: str = ""    # the command that repeats it by hand
    soak: bool = False  # only --soak runs it
    broken: str = ""    # why it cannot be started
    key: str = ""       # its name in times.tsv; "": its path
    seconds: float = 0  # about how long it takes
    waits: bool = False  # most of that time it uses no CPU


@dataclasses.dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


class Suite:
    """Where things are, and the tests in them."""

    def __init__(self, options):
        self.source = os.path.abspath(options.source)
        self.build = os.path.abspath(options.build)
        self.prefix = os.path.abspath(options.prefix)
        self.options = options
        self.logs = os.path.abspath(options.logs or os.path.join(self.build, "test-logs"))
        self.filters = [self.normal_path(path) for path in options.paths]
        self.without = [self.normal_path(path) for path in options.without]
        self.broken_builds = []
        self.soak = float(os.environ.get("MICA_TEST_SOAK") or 1)
        self.seed = int(os.environ.get("MICA_TEST_SEED") or time.time() % 10**8)

    def normal_path(self, path):
        """test/unit/opal/util/text.c, opal/util/text.c, opal/util/text: all the same test."""
        path = os.path.normpath(path)
        if os.path.isabs(path):
            path = os.path.relpath(path, self.source)
        path = re.sub(r"\.(c|test)$", "", path)
        if path.split(os.sep)[0] in ("opal", "ompi"):
            path = os.path.join("test", "unit", path)
        return path

    def wanted(self, path):
        """By the filters; a folder stands for all below it."""
        path = self.normal_path(path) + os.sep
        if any(path.startswith(unwanted + os.sep) for unwanted in self.without):
            return False
        return not self.filters or any(
            wanted == "." or path.startswith(wanted + os.sep) for wanted in self.filters)

    def may_want(self, folder):
        """Something below folder may be wanted: so its build is worth the time."""
        return not self.filters or any(
            (wanted + os.sep).startswith(folder + os.sep) or
            (folder + os.sep).startswith(wanted + os.sep) or wanted == "."
            for wanted in self.filters)

    def collect(self):
        tests = []
        if self.may_want("test/unit") and not self.options.soak:
            tests += self.unit_tests()
        if self.may_want("test/mpi"):
            tests += self.mpi_tests()
        tests += self.script_tests()
        if self.options.fuzz_seconds > 0 and self.may_want("test/fuzz") and not self.options.soak:
            tests += self.fuzz_tests()
        return tests

    def make(self, print_target, folder):
        """Those that are wanted of the names that the build prints, after building them. A failure
        becomes a failed test."""
        command = ["make", "-C", self.build, "--no-print-directory"]
        listed = subprocess.run(command + ["-s", print_target], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        if listed.returncode != 0:
            self.broken_builds.append(Test(folder, [], broken=listed.stdout))
            return []
        names = [name for name in listed.stdout.split() if self.wanted(name)]
        if names:
            built = subprocess.run(command + [f"-j{os.cpu_count()}", "-k", *names],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   check=False)
            if built.returncode != 0:
                self.broken_builds.append(Test(folder, [], broken=built.stdout))
        return names

    def unit_tests(self):
        env = {"CK_TAP_LOG_FILE_NAME": "-", "CK_VERBOSITY": "silent"}
        return [Test(name + ".c", [os.path.join(self.build, name)], env=env)
                for name in self.make("print-unit-tests", "test/unit")]

    def fuzz_tests(self):
        seconds = self.options.fuzz_seconds
        return [Test(name + ".c", [os.path.join(self.build, name), "--seconds", str(seconds),
                                   os.path.join(self.source, name + ".corpus")],
                     timeout=seconds + 60)
                for name in self.make("print-fuzz-targets", "test/fuzz")]

    def script_tests(self):
        tests = []
        top = os.path.join(self.source, "test")
        for folder, folders, files in os.walk(top):
            folders.sort()
            for name in sorted(files):
                path = os.path.relpath(os.path.join(folder, name), self.source)
                if not name.endswith(".test") or folder == top or not self.wanted(path):
                    continue
                test = Test(path, [os.path.join(folder, name)])
                text = read(test.command[0])
                test.soak = bool(SCRIPT_SOAK.match(text))
                if test.soak != self.options.soak:
                    continue
                timeout = SCRIPT_TIMEOUT.match(text)
                test.timeout = float(timeout[1]) if timeout else self.options.timeout
                if not os.access(test.command[0], os.X_OK):
                    test.broken = "is not executable"
                tests.append(test)
        return tests

    def mpi_tests(self):
        path = os.path.join(self.source, "test", "mpi", "tests.list")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            lines = [(number, shlex.split(line, comments=True)) for number, line in enumerate(file, 1)]
        lines = [(number, words) for number, words in lines
                 if words and self.wanted(f"test/mpi/{words[0]}")]
        seconds = sum(self.random_seconds(word[5:]) for _, words in lines for word in words
                      if word.startswith("soak="))
        if seconds > RANDOM_SECONDS and not self.options.soak:
            self.soak *= RANDOM_SECONDS / seconds
        tests = [self.mpi_test(words, number) for number, words in lines]
        tests = [test for test in tests
                 if test.soak == self.options.soak or self.options.soak and test.seconds]
        self.compile(tests)
        return tests

    def random_seconds(self, value):
        """Of soak=SHORT or soak=SHORT:LONG."""
        short, _, long = value.partition(":")
        if not self.options.soak:
            return float(short)
        return float(long) if long else 10 * float(short)

    def mpi_test(self, words, number):
        """A line of tests.list: name np=2 timeout=20 env=A=b,C=d args='..' soak=8 mpirun='..'
        expect=1 stdout~REGEX stderr~REGEX soak. np=0 starts it without mpirun."""
        name = words[0]
        program = os.path.join(self.programs(), name)
        test = Test(f"test/mpi/{name}.c", [], timeout=self.options.timeout)
        np, args, options, random = 2, [], [], []
        for word in words[1:]:
            match = re.match(r"(\w+)([=~])(.*)$", word, re.DOTALL)
            key, value = (match[1] + match[2], match[3]) if match else (word, "")
            if key == "np=":
                np = int(value)
            elif key == "timeout=":
                test.timeout = float(value)
            elif key == "env=":
                pairs = re.split(r",(?=[A-Z]\w*=)", value)  # a value may have commas
                test.env.update(pair.partition("=")[::2] for pair in pairs)
            elif key == "args=":
                args += shlex.split(value)
            elif key == "soak=":
                seconds = self.random_seconds(value) * self.soak
                random = [str(self.seed + number), f"{seconds:.3g}"]
                test.timeout += seconds
                test.seconds = seconds
            elif key == "mpirun=":
                options += shlex.split(value)
            elif key == "expect=":
                test.expect = int(value)
            elif key in ("stdout~", "stderr~"):
                test.patterns.append((key[:-1], value))
            elif word == "soak":
                test.soak = True
            else:
                test.broken = f"test/mpi/tests.list:{number}: unknown word '{word}'"
        launcher = [os.path.join(self.prefix, "bin", "mpirun"), *options, "-n", str(np)]
        settings = [f"{key}={value}" for key, value in test.env.items()]
        test.command = (launcher if np else []) + [program] + args + random
        test.repeat = shlex.join((["env"] if settings else []) + settings + test.command)
        shown = [word for word in words[1:] if not re.match(r"(expect=|stdout~|stderr~|soak=)", word)]
        test.label = " ".join([test.path] + random + shown)
        test.key = " ".join([test.path] + shown)
        return test

    def programs(self):
        return os.path.join(self.build, "test-mpi")

    def compile(self, tests):
        """Each program once. One that does not compile is broken, with the compiler's words."""
        os.makedirs(self.programs(), exist_ok=True)
        mpicc = os.path.join(self.prefix, "bin", "mpicc")

        def compile_one(path):
            output = os.path.join(self.programs(), os.path.basename(path)[:-2])
            command = [mpicc, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
                       "-o", output, os.path.join(self.source, path), "-I" + self.source]
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, errors="replace", check=False)
            except OSError as error:
                return f"{mpicc}: {error.strerror}"
            return done.stdout if done.returncode else ""

        paths = sorted({test.path for test in tests})
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            complaints = dict(zip(paths, pool.map(compile_one, paths)))
        for test in tests:
            test.broken = test.broken or complaints[test.path]


class Times:
    """What is known of earlier runs: a line a test, its seconds, its CPU seconds and its name."""

    def __init__(self, source):
        self.path = os.path.join(source, TIMES)
        self.known = {}
        for line in read(self.path).splitlines():
            if not line.startswith("#"):
                seconds, cpu, key = line.split("\t")
                self.known[key] = float(seconds), float(cpu)

    def tell(self, test):
        """Sets what the scheduler asks for. A random program says itself how long it takes."""
        seconds, cpu = self.known.get(test.key or test.path, (0, 0))
        test.seconds = test.seconds or seconds
        test.waits = cpu < WAITING_SHARE * seconds

    def write(self, taken):
        """The head of the file stays; so do the lines of tests that have not run."""
        known = {**self.known, **taken}
        head = [line for line in read(self.path).splitlines() if line.startswith("#")]
        lines = [f"{seconds:.1f}\t{cpu:.1f}\t{key}" for key, (seconds, cpu) in sorted(known.items())
                 if seconds >= LISTED_SECONDS]
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(head + lines) + "\n")


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def judge(test, outcome, out, err):
    """The tally of a test, and one line for each thing that is wrong with it."""
    tally, wrong, lines, plans = Tally(), [], 0, []
    for line in out.splitlines():
        match = TAP_LINE.match(line)
        plan = TAP_PLAN.match(line)
        if plan:
            plans.append(int(plan[1]))
        if not match:
            continue
        lines += 1
        if match[1]:
            tally.failed += 1
        elif TAP_SKIP.search(match[2]):
            tally.skipped += 1
        else:
            tally.passed += 1
    tap_failed = tally.failed
    status = outcome["status"]
    if status is None:
        wrong.append(f"did not end within {test.timeout:g} s")
    elif status != test.expect and not (tap_failed and status == 1):
        what = f"signal {status - 128}" if outcome["signalled"] else f"exit status {status}"
        wrong.append(f"{what}, wanted {test.expect}")
    elif test.expect:
        tally.passed += 1
    for stream, regex in test.patterns:
        if re.search(regex, err if stream == "stderr" else out, re.MULTILINE):
            tally.passed += 1
        else:
            wrong.append(f"{stream} does not match {regex}")
    if lines == 0 and not test.patterns and not test.expect:
        wrong.append("printed no TAP line")
    if status is not None and len(plans) == 1 and plans[0] != lines:
        wrong.append(f"planned {plans[0]} checks but printed {lines}")
    wrong += [f"left a process: {line}" for line in outcome["processes"]]
    wrong += [f"left a file: {name}" for name in outcome["files"]]
    tally.failed += len(wrong)
    return tally, wrong


class Report:
    """Prints a line a test and keeps the sum."""

    def __init__(self):
        self.total = Tally()
        self.tests = 0
        self.taken = []  # (seconds, CPU seconds, test)

    def result(self, test, tally, seconds, wrong=(), outputs=()):
        self.total.add(tally)
        self.tests += 1
        verdict = "FAIL" if tally.failed else "skip" if not tally.passed else "ok"
        print(f"{verdict:4}  {seconds:7.2f} s  {test.label or test.path}  ({tally})", flush=True)
        if not tally.failed:
            return
        for line in wrong:
            print(f"      ! {line}")
        if test.repeat and not test.broken:
            print(f"      to repeat: {test.repeat}")
        for name, text in outputs:
            lines = text.splitlines()
            if len(lines) > SHOWN_LINES:  # what passed is not the news
                lines = [line for line in lines if not line.startswith("ok ")]
            if lines:
                print(f"      -- {name}, last lines:" if len(lines) > SHOWN_LINES else
                      f"      -- {name}:")
            for line in lines[-SHOWN_LINES:]:
                print(f"      | {line}")
        sys.stdout.flush()

    def broken(self, test):
        """A test that never ran."""
        self.result(test, Tally(failed=1), 0, ["could not be started"], [("reason", test.broken)])

    def slowest(self):
        """Where the time has gone."""
        slow = sorted(self.taken, key=lambda taken: -taken[0])[:SLOWEST]
        used = sum(cpu for _, cpu, _ in self.taken)
        print(f"The slowest of {len(self.taken)} tests, which took {used:.0f} s of CPU time:")
        for seconds, cpu, test in slow:
            print(f"      {seconds:7.2f} s, CPU {cpu:7.2f} s  {test.label or test.path}")


class Scheduler:
    """Runs tests, up to `jobs` that compute and as many that wait: each passes on a busy machine."""

    def __init__(self, suite, report, scratch):
        self.suite = suite
        self.report = report
        self.scratch = scratch
        self.running = {}  # pid of the supervisor: (test, log)
        self.number = 0

    def environment(self, test):
        """Makes the test's temp dirs; TMPDIR/own, so that strays show up beside `own`."""
        beside = os.path.join(self.scratch, str(self.number))
        own = os.path.join(beside, "tmp")
        os.makedirs(own)
        base = {name: value for name, value in os.environ.items()
                if not name.startswith(("OMPI_MCA_", "PMI_", "PMIX_", "CK_", "MAKE", "MFLAGS"))}
        suite = self.suite
        return {**base, "MICA_SOURCE": suite.source, "MICA_BUILD": suite.build,
                "MICA_PREFIX": suite.prefix, "MICA_TMP": own, "TMPDIR": beside,
                "LC_ALL": "C.UTF-8", **test.env}

    def run(self, tests):
        # What takes longest comes first, so that no core is idle at the end.
        queue = sorted(tests, key=lambda test: (-test.seconds, -test.timeout))
        while queue or self.running:
            test = next(filter(self.has_place, queue), None)
            if test is None:
                self.finish_one()
                continue
            queue.remove(test)
            if test.broken:
                self.report.broken(test)
            else:
                self.start(test)

    def has_place(self, test):
        """One job at a time is one, whatever it does."""
        jobs = self.suite.options.jobs
        alike = [other for other, _ in self.running.values() if other.waits == test.waits or jobs == 1]
        return len(alike) < jobs

    def start(self, test):
        self.number += 1
        test.env = self.environment(test)
        name = re.sub(r"[^\w.+=-]+", "_", os.path.splitext(test.path)[0][len("test/"):])
        log = os.path.join(self.suite.logs, f"{self.number:03}-{name}")
        self.running[supervise.start(test, log)] = (test, log)

    def stop(self):
        """Interrupted: a supervisor that is told to end kills its test first."""
        for pid in self.running:
            os.kill(pid, signal.SIGTERM)
        for pid in self.running:
            os.waitpid(pid, 0)

    def finish_one(self):
        pid, _ = os.wait()
        if pid not in self.running:
            return
        test, log = self.running.pop(pid)
        out, err = read(log + ".out"), read(log + ".err")
        try:
            outcome = json.loads(read(log + ".json"))
        except ValueError:
            test.broken = "its supervisor was killed\n" + err
            self.report.broken(test)
            return
        self.report.taken.append((outcome["seconds"], outcome["cpu"], test))
        tally, wrong = judge(test, outcome, out, err)
        self.report.result(test, tally, outcome["seconds"], wrong,
                           [("stdout", out), ("stderr", err)])
        remove_tree(os.path.dirname(test.env["MICA_TMP"]))


def remove_tree(path):
    """Also what a test made unreadable."""
    for folder, folders, _ in os.walk(path):
        for name in folders:
            below = os.path.join(folder, name)
            if not os.path.islink(below):
                os.chmod(below, 0o700)  # before os.walk looks into it
    shutil.rmtree(path)


def forecast(tests, jobs):
    """Seconds, by what is known of each; those that wait run beside the others."""
    computing = sum(test.seconds for test in tests if not test.waits)
    waiting = sum(test.seconds for test in tests if test.waits)
    return max([computing / jobs, waiting / jobs] + [test.seconds for test in tests])


def parse_options():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description="Runs the test suite or the parts below PATHs.")
    parser.add_argument("--source", default=top, help="top of the source tree")
    parser.add_argument("--build", default=os.path.join(top, "build"), help="build dir")
    parser.add_argument("--prefix", default=os.path.join(top, "local"), help="where it is installed")
    parser.add_argument("--logs", help="folder for outputs (BUILD/test-logs)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1),
                        help="tests at a time (%(default)s)")
    parser.add_argument("--timeout", type=float, default=300,
                        help="seconds for a test that names none (%(default)s)")
    parser.add_argument("--fuzz-seconds", type=int, default=5,
                        help="for each fuzz target; 0 leaves them out (%(default)s)")
    parser.add_argument("--without", action="append", default=[], metavar="PATH",
                        help="leave this out; may be repeated")
    parser.add_argument("--soak", action="store_true",
                        help="run what the suite leaves out, and random programs for longer")
    parser.add_argument("--times", action="store_true", help=f"note in {TIMES} what each test takes")
    parser.add_argument("--list", action="store_true", help="only print what would run")
    parser.add_argument("paths", nargs="*", metavar="PATH",
                        help="test/mpirun, test/mpi/init.c, opal/mca/base, ...")
    return parser.parse_args()


def main():
    options = parse_options()
    suite = Suite(options)
    tests = suite.collect()
    if options.list:
        print("\n".join(test.label or test.path for test in tests))
        return 0
    if not tests and not suite.broken_builds:
        print(f"no test{' that says soak' if options.soak else ''} is below "
              f"{', '.join(options.paths) or suite.source}", file=sys.stderr)
        return 2
    times = Times(suite.source)
    for test in tests:
        times.tell(test)
    if options.soak:
        print(f"{len(tests)} tests, about {forecast(tests, options.jobs) / 60:.0f} minutes", flush=True)
    shutil.rmtree(suite.logs, ignore_errors=True)
    os.makedirs(suite.logs)
    scratch = tempfile.mkdtemp(prefix="mica-test-")
    report = Report()
    scheduler = Scheduler(suite, report, scratch)
    began = time.monotonic()
    try:
        for test in suite.broken_builds:
            report.broken(test)
        scheduler.run(tests)
    finally:
        scheduler.stop()
        remove_tree(scratch)
    if options.times:
        times.write({test.key or test.path: (seconds, cpu) for seconds, cpu, test in report.taken})
    if report.tests > SLOWEST:
        report.slowest()
    print(f"{report.tests} tests in {time.monotonic() - began:.0f} s, "
          f"outputs in {os.path.relpath(suite.logs)}")
    print(report.total)
    return 1 if report.total.failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
