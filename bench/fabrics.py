# SPDX-License-Identifier: BSD-3-Clause
"""Messages over a provider of libfabric: Mica, Open MPI's own way over the same provider, and
fi_ping.c, which uses libfabric alone and is the limit. All take turns."""

import math
import os
import statistics
import subprocess

import jobs
import peers as peers_module

HERE = os.path.dirname(os.path.abspath(__file__))
OURS, THEIRS = peers_module.OURS, "Open MPI"
BARE = {"libfabric": (), "libfabric, asleep": ("--wait",)}  # which is quicker depends on the provider
NAMES = (OURS, *BARE, THEIRS)
MIN_BYTES, MAX_BYTES = 8, 4 << 20
MOST_BARE, MOST_THEIRS = 1.10, 0.90  # what Mica may need of their time


def compile_bare(compiler, folder):
    """The program's path, and what is wrong, which is empty if nothing is."""
    os.makedirs(folder, exist_ok=True)
    output = os.path.join(folder, "fi_ping")
    files = [os.path.join(HERE, name) for name in ("fi_ping.c", "samples.c")]
    done = subprocess.run([compiler, "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-w", "-o", output, *files,
                           "-lfabric"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return output, done.stdout.strip() if done.returncode else ""


def environment(provider):
    """Both MPIs call these alike; the last is Mica's alone: also on one node over the provider."""
    return {**os.environ, "OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi",
            "OMPI_MCA_mtl_ofi_provider_include": provider, "OMPI_MCA_pml_cm_shared_memory": "no"}


def contestants(session, benchmark, bare):
    """{name: (command, environment)} of who can be started."""
    words = session.quick_words()
    able = {name: ([bare, *words, *more, benchmark.fabric], None) for name, more in BARE.items()}
    for peer in session.peers:
        program = session.program(peer, benchmark) if peer.name in (OURS, THEIRS) else None
        if program:
            able[peer.name] = (peer.command(2, program, words), environment(benchmark.fabric))
    return able


def measure(session, benchmark):
    """Adds what each needed to session.results; what goes wrong is told to the session."""
    bare, wrong = compile_bare(session.options.cc,
                               os.path.join(session.options.output, "programs"))
    if wrong:
        session.problem(f"fi_ping.c does not compile with {session.options.cc}: {benchmark.name} is "
                        f"left out (apt install libfabric-dev)\n    {wrong.splitlines()[0]}")
        return
    able = contestants(session, benchmark, bare)
    for turn in range(session.options.repetitions):
        order = list(able)
        first = turn % len(order) if order else 0
        for name in order[first:] + order[:first]:
            command, env = able[name]
            done = jobs.run(command, session.options.timeout, env)
            if not done.problem and not add(session.results, benchmark.name, name, done.out):
                done.problem = "printed no result"
            if done.problem:
                del able[name]
                session.given_up.add((name, benchmark.name, 2, ""))
                session.problem(f"{name} is left out of {benchmark.name}: {done.problem}")


def add(results, benchmark, who, out):
    """Only the sizes that all measure."""
    lines = [line for line in out.splitlines() if len(line.split()) == 5 and line.split()[1].isdigit()
             and MIN_BYTES <= int(line.split()[1]) <= MAX_BYTES]
    return results.add_output(benchmark, who, "\n".join(lines))


def means(benchmark, results):
    """Lines: Mica's time by that of libfabric alone, and by Open MPI's, and whether it is enough."""
    cases = results.of(benchmark.name).get("latency", {})
    for label, names, most in (("libfabric alone", tuple(BARE), MOST_BARE),
                               (THEIRS, (THEIRS,), MOST_THEIRS)):
        ratios = {}
        for size, case in cases.items():
            there = [case.median(name) for name in names if name in case.medians]
            if OURS in case.medians and there:
                ratios[size] = case.median(OURS) / min(there)
        if not ratios:
            continue
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        worst = max(ratios, key=ratios.get)
        beyond = [str(size) for size, ratio in ratios.items() if ratio > most]
        verdict = f"more at {', '.join(beyond)} bytes" if beyond else "in all sizes"
        yield (f"  {benchmark.fabric:12} by {label:16} geometric mean {mean:5.2f}   worst "
               f"{ratios[worst]:5.2f} ({worst} bytes)   at most {most:4.2f}: {verdict}")
