# SPDX-License-Identifier: BSD-3-Clause
"""What the machine can do at best, from limits.c and bare processes, as lines for the plots."""

import os
import shutil
import time

LABELS = {
    "cache-line": "a cache line to another core",
    "lines": "cache lines through a ring",
    "copy": "memcpy on one core",
    "copy-rate": "memcpy on one core",
    "transfer": "a cache line to another core; memcpy",
    "bare": "fork and exec of as many processes",
}
UNITS = {"cache-line": "us", "lines": "M/s", "copy": "us", "copy-rate": "GB/s", "transfer": "us",
         "bare": "ms"}


class Limits:
    """Collects what was measured; the best of it is the limit."""

    def __init__(self):
        self.best = {}  # (name, size): (value, unit)

    def add(self, name, size, value, unit):
        old = self.best.get((name, size))
        if old:
            value = max(old[0], value) if unit.endswith("/s") else min(old[0], value)
        self.best[name, size] = (value, unit)

    def measure_bare(self, ranks):
        """The floor of start-up: processes that do nothing, without any MPI."""
        true = shutil.which("true")
        begin = time.perf_counter()
        pids = [os.posix_spawn(true, ["true"], os.environ) for _ in range(ranks)]
        for pid in pids:
            os.waitpid(pid, 0)
        self.add("bare", ranks, 1e3 * (time.perf_counter() - begin), "ms")

    def line(self, name, sizes, unit):
        """[(size, value)] for the sizes of a plot in this unit; [] if there is nothing to draw."""
        if UNITS.get(name) != unit:
            return []
        points = ((size, self.value(name, size)) for size in sizes)
        return [(size, value) for size, value in points if value]

    def value(self, name, size):
        """None if it is not known."""
        if name == "transfer":
            return max(self.value("cache-line", size) or 0, self.value("copy", size) or 0)
        if name == "copy-rate":
            copy = self.value("copy", size)
            return size / copy / 1e3 if copy else None
        of_all_sizes = name in ("cache-line", "lines")
        return self.best.get((name, 0 if of_all_sizes else size), (None,))[0]
