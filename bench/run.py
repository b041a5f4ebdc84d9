#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures Mica beside the other MPIs of this machine: `./dev bench [NAME...]`.

Each benchmark is a program of bench/ in portable MPI, compiled with each MPI's own compiler and
started by its own launcher. They take turns (A B C, B C A, ...), several times, so that what else
happens on the machine hits all of them alike. Into build/bench/ go

  report.txt      what was measured where, the medians, the ratios, what went wrong
  results.tsv     the median and the best of each MPI in each case
  ratios.tsv      Mica's time by that of the best peer; below 1 Mica is faster
  NAME.svg        the plots, with the limits of the machine, which are measured too
  overview.svg    latency and bandwidth on one page, as in the README

A machine that others use at the same time measures them: unless it is told to (--noisy), nothing
is measured there. A peer that fails or hangs is told and left out.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
import allocators  # noqa: E402
import catalogue  # noqa: E402
import fabrics  # noqa: E402
import jobs  # noqa: E402
import limits as limits_module  # noqa: E402
import machine  # noqa: E402
import peers as peers_module  # noqa: E402
import plot  # noqa: E402
import results as results_module  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FAILED, WRONG_USE, NOT_QUIET = 1, 2, 3
OVERVIEW = ("latency", "bandwidth")
WORDS = {"us": "time [µs]", "ms": "time [ms]", "GB/s": "rate [GB/s]",
         "M/s": "rate [million messages/s]", "KiB": "memory of a rank [KiB]",
         "%": "share that is not hidden [%]"}


class Session:
    """One run of this program: who takes part, what came out, what went wrong."""

    def __init__(self, options):
        self.options = options
        self.limits = limits_module.Limits()
        self.results = results_module.Results(peers_module.OURS)
        self.problems = []   # lines for the report
        self.given_up = set()  # (MPI, benchmark, ranks, series) that failed
        self.compiled = {}   # (compiler, program): path, or None
        self.peers = []
        self.disturbed = {}  # benchmark: share of the machine that others used
        self.said = {}       # benchmark of a layer: its lines

    # -- who takes part --

    def find_peers(self):
        wanted = [name for name in self.options.peers.split(",") if name]
        for peer in peers_module.all_peers(self.options.prefix):
            if wanted and peer.name not in (peers_module.OURS, *wanted):
                continue
            missing = peer.missing()
            if not missing:
                self.peers.append(peer)
            elif not peer.only:  # said once for all ways
                self.problem(f"{peer.name} is left out: {' and '.join(missing)} not found; "
                             f"to have it: {peer.install}")
        if not self.peers or self.peers[0].name != peers_module.OURS:
            sys.exit(f"bench: there is no Mica in {self.options.prefix}; ./dev build makes it")
        if len(self.peers) == 1:
            self.problem("there is nobody to compare with")

    def names(self, benchmark=None):
        """Of who takes part; in a benchmark, if it is given."""
        if benchmark and benchmark.allocators:
            return allocators.NAMES
        if benchmark and benchmark.fabric:
            return fabrics.NAMES
        return [peer.name for peer in self.peers if not benchmark or benchmark.has_way(peer.only)]

    def problem(self, text):
        self.problems.append(text)
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def program(self, peer, benchmark):
        """Compiled once for each MPI; None if that fails."""
        key = (peer.compiler, benchmark.program)
        if key not in self.compiled:
            folder = os.path.join(self.options.output, "programs", peer.folder())
            path, wrong = peers_module.compile_program(peer.compiler, benchmark.program,
                                                       benchmark.sources, folder)
            if wrong:
                self.problem(f"{benchmark.program}.c does not compile with {peer.compiler}:\n"
                             f"    {wrong.splitlines()[0]}")
            self.compiled[key] = None if wrong else path
        return self.compiled[key]

    # -- measuring --

    def run_all(self, benchmarks):
        limits_program, wrong = peers_module.compile_program(
            self.options.cc, "limits", ("samples.c",), os.path.join(self.options.output, "programs"))
        if wrong:
            self.problem(f"limits.c does not compile with {self.options.cc}: no limits\n    {wrong}")
            limits_program = None
        for number, benchmark in enumerate(benchmarks, 1):
            print(f"[{number}/{len(benchmarks)}] {benchmark.name}: {benchmark.title}", flush=True)
            watch = machine.Watch()
            if benchmark.allocators:
                self.run_allocators(benchmark)
            elif benchmark.layer:
                self.run_layer(benchmark)
            elif benchmark.fabric:
                fabrics.measure(self, benchmark)
            else:
                self.measure_limits(limits_program, benchmark)
                self.run_series(benchmark)
            self.disturbed[benchmark.name] = watch.others_share()
            self.write(benchmarks[:number])  # what is there stays there, if the rest is stopped

    def run_series(self, benchmark):
        for turn in range(self.options.repetitions):
            for ranks in benchmark.ranks:
                for series in benchmark.series:
                    self.take_turns(benchmark, ranks, series, turn)

    def run_allocators(self, benchmark):
        wrong = allocators.measure(self.options.cc, os.path.join(self.options.output, "programs"),
                                   self.quick_words(), self.options.timeout, benchmark.name,
                                   self.results)
        if wrong:
            self.given_up.add((peers_module.OURS, benchmark.name, 1, ""))
            self.problem(wrong)

    def run_layer(self, benchmark):
        """Its program is linked to the parts of the library that nobody else sees: the build's."""
        name = f"bench/{benchmark.program}"
        built = subprocess.run(["make", "-s", "-C", self.options.build, name], text=True, check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        wrong = f"{name} is not built:\n    {built.stdout.strip()}" if built.returncode else ""
        for series in benchmark.series if not built.returncode else ():
            words = [os.path.join(self.options.build, name), *self.quick_words()]
            done = jobs.run(words + ([series] if series else []), self.options.timeout)
            self.said.setdefault(benchmark.name, []).extend(done.out.splitlines())
            wrong = f"{name} {series}: {done.problem}" if done.problem else wrong
        if wrong:
            self.given_up.add((peers_module.OURS, benchmark.name, 1, ""))
            self.problem(wrong)

    def measure_limits(self, program, benchmark):
        if benchmark.limit == "bare":
            for ranks in benchmark.ranks * self.options.repetitions:
                self.limits.measure_bare(ranks)
        elif benchmark.limit and program:
            done = jobs.run([program, *self.quick_words()], self.options.timeout)
            if done.problem:
                self.problem(f"limits: {done.problem}")
            for name, size, _, unit, best in results_module.parse(done.out):
                self.limits.add(name, size, best, unit)

    def quick_words(self):
        return ["--quick"] if self.options.quick else []

    def take_turns(self, benchmark, ranks, series, turn):
        """One job of each MPI; who begins changes with the turn."""
        able = [peer for peer in self.peers if benchmark.has_way(peer.only)]
        first = turn % len(able)
        for peer in able[first:] + able[:first]:
            program = self.program(peer, benchmark)
            if program and (peer.name, benchmark.name, ranks, series) not in self.given_up:
                self.run_job(peer, benchmark, ranks, series, program)

    def run_job(self, peer, benchmark, ranks, series, program):
        words = [] if benchmark.wall_time else self.quick_words() + ([series] if series else [])
        env = dict(os.environ, TMPDIR=self.options.output) if benchmark.files else None
        done = jobs.run(peer.command(ranks, program, words, benchmark.unbound),
                        self.options.timeout, env)
        # What a job printed before it failed is not used: it may be what went wrong.
        if not done.problem and not self.results.add_output(benchmark.name, peer.name, done.out):
            done.problem = "printed no result"
        if done.problem:
            self.given_up.add((peer.name, benchmark.name, ranks, series))
            self.problem(f"{peer.name} is left out of {benchmark.name}{' ' + series if series else ''}"
                         f" on {ranks} ranks: {done.problem}")
        elif benchmark.wall_time:
            seconds = 1e3 * done.seconds
            self.results.add(benchmark.name, "wall-time", ranks, peer.name, seconds, "ms", seconds)

    # -- what comes out --

    def means(self, benchmark):
        return (allocators.means(benchmark.name, self.results) if benchmark.allocators
                else fabrics.means(benchmark, self.results))

    def note(self):
        """One line about this run, for the plots and the report."""
        text = (f"{time.strftime('%Y-%m-%d')}; {machine.describe()}; "
                f"{self.options.repetitions} repetitions, interleaved")
        worst = max(self.disturbed.values(), default=0)
        if worst > machine.QUIET_SHARE:
            text = f"NOT QUIET: others used up to {worst:.0%} of the machine; {text}"
        return text

    def panels(self, benchmark):
        """{file name: [Panel]}; what stands before a '/' in a series' name has its own file."""
        files = {}
        if benchmark.allocators:
            return files  # a number for each workload is no line
        for series, cases in self.results.of(benchmark.name).items():
            group, _, title = series.rpartition("/")
            unit = next(iter(cases.values())).unit
            lines = [plot.Line(name, points, limit=name in fabrics.BARE)
                     for name in self.names(benchmark) if (points := [
                         (size, case.median(name)) for size, case in sorted(cases.items())
                         if name in case.medians])]
            points = self.limits.line(benchmark.limit, sorted(cases), unit)
            if points:
                lines.append(plot.Line(limits_module.LABELS[benchmark.limit], points, limit=True))
            file = f"{benchmark.name}-{group}" if group else benchmark.name
            files.setdefault(file, []).append(
                plot.Panel(title, benchmark.axis, WORDS.get(unit, unit), lines))
        return files

    def write_plots(self, benchmarks):
        for benchmark in benchmarks:
            for name, panels in self.panels(benchmark).items():
                path = os.path.join(self.options.output, name + ".svg")
                plot.write(path, f"{benchmark.title} ({name})", self.note().split("; "), panels,
                           self.names())
        overview = [panel for benchmark in benchmarks if benchmark.name in OVERVIEW
                    for panels in self.panels(benchmark).values() for panel in panels]
        if {benchmark.name for benchmark in benchmarks}.issuperset(OVERVIEW):
            plot.write(os.path.join(self.options.output, "overview.svg"),
                       "Two ranks of one node", self.note().split("; "), overview, self.names())

    def report(self, benchmarks):
        yield f"Mica beside others: {self.note()}"
        yield ""
        for peer in self.peers:
            if not peer.only:
                yield f"{peer.name}: {peer.describe()}"
        yield ""
        yield "Ratios: Mica's time (or memory) by that of the best peer. Below 1 Mica is better."
        yield ""
        yield from self.results.summary([row for row in benchmarks if not row.layer])
        for benchmark in benchmarks:
            share = self.disturbed[benchmark.name]
            yield ""
            ranks = f", {' and '.join(map(str, benchmark.ranks))} ranks"
            no_ranks = benchmark.allocators or benchmark.layer
            yield (f"{benchmark.name}: {benchmark.title}{'' if no_ranks else ranks}; "
                   f"others used {share:.0%} of the machine; medians:")
            if benchmark.layer:
                yield from (f"  {line}" for line in self.said.get(benchmark.name, []))
                continue
            if benchmark.allocators or benchmark.fabric:
                yield from self.means(benchmark)
                yield ""
            yield from self.results.table(benchmark, self.names(benchmark))
        if self.limits.best:
            yield "Limits of the machine"
            for (name, size), (value, unit) in self.limits.best.items():
                yield f"  {limits_module.LABELS[name]:36} {size:>9} {value:10.4g} {unit}"
        if self.problems:
            yield ""
            yield "What went wrong"
            yield from (f"  {problem}" for problem in self.problems)

    def write(self, benchmarks):
        texts = {"report.txt": self.report(benchmarks), "results.tsv": self.results.tsv(),
                 "ratios.tsv": self.results.ratios_tsv()}
        for name, lines in texts.items():
            with open(os.path.join(self.options.output, name), "w", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in lines)
        self.write_plots(benchmarks)


def check_quiet(options):
    """Ends the program if others use the machine and the user did not say that this is fine."""
    share = machine.others_now()
    if share <= machine.QUIET_SHARE:
        return
    text = (f"this machine is not quiet: others use {share:.0%} of it"
            f"{' (' + ', '.join(machine.busiest()) + ')' if machine.busiest() else ''}")
    if not options.noisy:
        print(f"bench: {text}.\nTimes that are measured now would say more about them than about "
              f"us. To measure anyway: --noisy", file=sys.stderr)
        sys.exit(NOT_QUIET)
    print(f"bench: warning: {text}; do not trust the times", file=sys.stderr)


def choose(names):
    """The rows of the catalogue that begin with one of the names."""
    rows = catalogue.catalogue()
    if not names:
        return rows
    chosen = [row for row in rows if any(row.name.startswith(name) for name in names)]
    for name in names:
        if not any(row.name.startswith(name) for row in rows):
            print(f"bench: there is no benchmark {name}; there are: "
                  f"{', '.join(row.name for row in rows)}", file=sys.stderr)
            sys.exit(WRONG_USE)
    return chosen


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true",
                        help="fewer sizes, short blocks, 2 repetitions: whether it works")
    parser.add_argument("--noisy", action="store_true", help="measure also on a busy machine")
    parser.add_argument("--repetitions", type=int, help="jobs of each MPI, for each series (5)")
    parser.add_argument("--peers", default="", metavar="NAME,...",
                        help="only these beside Mica: 'Open MPI,Open MPI+UCX,Open MPI+ROMIO,MPICH'")
    parser.add_argument("--only-mica", action="store_true", help="nobody beside Mica")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a job (%(default)g)")
    parser.add_argument("--prefix", default=os.environ.get("MICA_PREFIX", os.path.join(TOP, "local")))
    parser.add_argument("--build", default=os.path.join(TOP, "build"),
                        help="where the layers' programs are built (%(default)s)")
    parser.add_argument("--output", default=os.path.join(TOP, "build", "bench"))
    parser.add_argument("--cc", default="cc", help="compiler of what needs no MPI (%(default)s)")
    parser.add_argument("--list", action="store_true", help="only print what there is")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="benchmarks that begin with this; all if there is none")
    options = parser.parse_args()
    if options.repetitions is None:
        options.repetitions = 2 if options.quick else 5
    if options.repetitions < 1:
        parser.error("--repetitions wants 1 or more")
    if options.only_mica:
        options.peers = peers_module.OURS
    return options


def main():
    options = parse_options()
    benchmarks = choose(options.names)
    if options.list:
        print("\n".join(f"{row.name:20} {row.title}" for row in benchmarks))
        return 0
    jobs.become_subreaper()
    check_quiet(options)
    shutil.rmtree(options.output, ignore_errors=True)
    os.makedirs(options.output)
    session = Session(options)
    session.find_peers()
    session.run_all(benchmarks)
    print()
    compared = [benchmark for benchmark in benchmarks if not benchmark.layer]
    if compared:
        print("\n".join(session.results.summary(compared)))
    for benchmark in benchmarks:
        if benchmark.allocators or benchmark.fabric:
            print("\n".join(session.means(benchmark)))
        elif benchmark.layer:
            print("\n".join(["", f"{benchmark.title}:", *session.said.get(benchmark.name, [])]))
    print("\nreport.txt, results.tsv, ratios.tsv and the plots are in "
          f"{os.path.relpath(options.output)}")
    failed = any(who == peers_module.OURS for who, _, _, _ in session.given_up)
    return FAILED if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        jobs.sweep()
        sys.exit(130)
