# SPDX-License-Identifier: BSD-3-Clause
"""heap.c: opal/heap beside other allocators. It lets them take turns itself, so it runs once."""

import glob
import math
import os
import statistics
import subprocess

import jobs

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
OURS = "Mica"
NAMES = (OURS, "glibc", "mimalloc", "jemalloc")  # as heap.c calls them
FLAGS = ("-std=gnu11", "-O2", "-D_GNU_SOURCE", "-fvisibility=hidden", "-w", f"-I{TOP}", f"-I{HERE}")


def compile_program(compiler, folder):
    """The program's path, and what is wrong, which is empty if nothing is. The engine is compiled
    in: it is not exported by the library."""
    os.makedirs(folder, exist_ok=True)
    output = os.path.join(folder, "heap")
    files = [os.path.join(HERE, name) for name in ("heap.c", "heap_workloads.c", "samples.c")]
    files += sorted(glob.glob(os.path.join(TOP, "opal", "heap", "*.c")))
    files += [os.path.join(TOP, "opal", "util", name) for name in ("log.c", "say.c")]
    done = subprocess.run([compiler, *FLAGS, "-o", output, *files, "-pthread", "-ldl"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return output, done.stdout.strip() if done.returncode else ""


def measure(compiler, folder, words, timeout, benchmark, results):
    """Adds what each allocator needed. What went wrong, or nothing."""
    program, wrong = compile_program(compiler, folder)
    if wrong:
        return f"heap.c does not compile with {compiler}:\n    {wrong.splitlines()[0]}"
    # Some want more thread-local memory than is left for libraries that come by dlopen.
    env = {**os.environ, "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=32768"}
    done = jobs.run([program, *words], timeout, env)
    for line in done.out.splitlines():
        who, _, rest = line.partition(" ")
        if who in NAMES:
            results.add_output(benchmark, who, rest)
    return f"heap: {done.problem}" if done.problem else ""


def means(benchmark, results):
    """Lines: Mica's time and peak memory by those of each other allocator, and the means."""
    ratios = {}
    for series, cases in results.of(benchmark).items():
        kind = series.partition("/")[0] if "/" in series else "time"
        for case in cases.values():
            for who in case.medians:
                if who != OURS and OURS in case.medians and case.median(who) > 0:
                    ratios.setdefault((who, kind), []).append(
                        (case.median(OURS) / case.median(who), series))
    for (who, kind), found in ratios.items():
        mean = math.exp(statistics.fmean(math.log(max(ratio, 1e-9)) for ratio, _ in found))
        worst, where = max(found)
        yield (f"  {kind:6} by that of {who:10} geometric mean {mean:5.2f}   "
               f"worst {worst:5.2f} ({where})")
        for ratio, series in found:
            yield f"      {series:28} {ratio:5.2f}"
