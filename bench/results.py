# SPDX-License-Identifier: BSD-3-Clause
"""What was measured, and the tables of it.

A benchmark prints a line for each case, `NAME SIZE MEDIAN UNIT BEST` (samples.h). Of several
repetitions the median of the medians is taken, and the best of the bests.

A ratio is always one of times: that of Mica by that of the best peer, so that below 1 Mica is
faster, also where a rate was measured.
"""

import dataclasses
import math
import statistics


def is_rate(unit):
    return unit.endswith("/s")


@dataclasses.dataclass
class Case:
    """One size of one series: what each MPI needed."""
    unit: str
    medians: dict = dataclasses.field(default_factory=dict)  # name of the MPI: [value]
    bests: dict = dataclasses.field(default_factory=dict)

    def add(self, who, median, best):
        self.medians.setdefault(who, []).append(median)
        self.bests.setdefault(who, []).append(best)

    def median(self, who):
        return statistics.median(self.medians[who])

    def best(self, who):
        return max(self.bests[who]) if is_rate(self.unit) else min(self.bests[who])

    def ratio(self, ours, value):
        """(time of ours / time of the best other, its name) by self.median or self.best, or None."""
        others = {who: value(who) for who in self.medians if who != ours}
        if ours not in self.medians or not others:
            return None
        pick = max if is_rate(self.unit) else min
        peer = pick(others, key=others.get)
        mine, theirs = value(ours), others[peer]
        if mine <= 0 or theirs <= 0:
            return None
        return (theirs / mine if is_rate(self.unit) else mine / theirs), peer


class Results:
    """Cases by (benchmark, series, size), in the order in which they came."""

    def __init__(self, ours):
        self.ours = ours
        self.cases = {}

    def add(self, benchmark, series, size, who, median, unit, best):
        case = self.cases.setdefault((benchmark, series, size), Case(unit))
        case.add(who, median, best)

    def add_output(self, benchmark, who, out):
        """Returns how many lines there were. Others' chatter is not ours to judge."""
        count = 0
        for name, size, median, unit, best in parse(out):
            self.add(benchmark, name, size, who, median, unit, best)
            count += 1
        return count

    def of(self, benchmark):
        """{series: {size: Case}}"""
        found = {}
        for (name, series, size), case in self.cases.items():
            if name == benchmark:
                found.setdefault(series, {})[size] = case
        return found

    def tsv(self):
        yield "benchmark\tseries\tsize\tunit\tmpi\tmedian\tbest\trepetitions"
        for (benchmark, series, size), case in self.cases.items():
            for who, values in case.medians.items():
                yield (f"{benchmark}\t{series}\t{size}\t{case.unit}\t{who}\t"
                       f"{case.median(who):.6g}\t{case.best(who):.6g}\t{len(values)}")

    def ratios_tsv(self):
        yield "benchmark\tseries\tsize\tmedian_ratio\tmedian_peer\tbest_ratio\tbest_peer"
        for (benchmark, series, size), case in self.cases.items():
            by_median = case.ratio(self.ours, case.median)
            by_best = case.ratio(self.ours, case.best)
            if by_median and by_best:
                yield (f"{benchmark}\t{series}\t{size}\t{by_median[0]:.4f}\t{by_median[1]}\t"
                       f"{by_best[0]:.4f}\t{by_best[1]}")

    def table(self, benchmark, names):
        """Lines of text: the medians of each MPI, and the ratios."""
        width = max(12, *(len(name) for name in names))
        for series, cases in self.of(benchmark.name).items():
            unit = next(iter(cases.values())).unit
            yield f"  {series} [{unit}]"
            yield (f"  {benchmark.axis.split(' [')[0]:>20} "
                   + " ".join(f"{name:>{width}}" for name in names)
                   + f" {'ratio':>7} {'of bests':>8}  to")
            for size, case in cases.items():
                cells = (f"{case.median(name):.4g}" if name in case.medians else "-"
                         for name in names)
                yield (f"  {size:>20} " + " ".join(f"{cell:>{width}}" for cell in cells)
                       + self.ratio_cells(case)).rstrip()
            yield ""

    def ratio_cells(self, case):
        by_median = case.ratio(self.ours, case.median)
        by_best = case.ratio(self.ours, case.best)
        if not by_median or not by_best:
            return ""
        return f" {by_median[0]:7.2f} {by_best[0]:8.2f}  {by_median[1]}"

    def summary(self, benchmarks):
        """A line a benchmark: the geometric mean of its ratios, and the worst of them."""
        yield f"{'benchmark':20} {'cases':>6} {'mean ratio':>10} {'worst':>7}  where"
        for benchmark in benchmarks:
            found = []
            for series, cases in self.of(benchmark.name).items():
                for size, case in cases.items():
                    ratio = case.ratio(self.ours, case.median)
                    if ratio:
                        found.append((ratio[0], f"{series} {size}, {ratio[1]}"))
            if found:
                mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in found))
                worst, where = max(found)
                yield f"{benchmark.name:20} {len(found):6} {mean:10.2f} {worst:7.2f}  {where}"
            else:
                yield f"{benchmark.name:20} {'nothing to compare':>6}"


def parse(out):
    """(name, size, median, unit, best) of each line that is one."""
    for line in out.splitlines():
        words = line.split()
        if len(words) != 5:
            continue
        try:
            yield words[0], int(words[1]), float(words[2]), words[3], float(words[4])
        except ValueError:
            continue
