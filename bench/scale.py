#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What collectives cost on a node of 4 to 256 cores: a model, no measurement.

scale.py           prints the tables of doc/CORES.md
scale.py RANKS     predicts the operations of coll/sm for so many ranks of one L3 cache

`flat` is coll/sm: one counter that all ranks add to, and one area that all ranks read. `levels` is a
hierarchy of domains, each the cores of an L3 cache. Short data is collected at a leader of each domain;
the leaders exchange it and spread the result. Longer data is divided: rank i of each domain (a lane) works
on part i. Times are in microseconds. An operation is a list of phases, which add up.
"""

import sys
from collections import Counter

LINE = 64                     # bytes
CACHE, SOCKET, REMOTE = range(3)  # how far a line is: same L3 cache, same socket, other socket
TRANSFER = [0.055, 0.11, 0.2]     # a line that a core waits for
STREAM = [0.0025, 0.005, 0.008]   # a line of many that a core copies: 25, 13 and 8 GB/s
STEP = 0.03                   # the instructions of a wait
SERVE = 0.01                  # a line that many cores wait for goes to one after the other
CACHE_PORT = 0.0016           # a line that leaves the L3 cache: 40 GB/s for all its cores
SOCKET_PORT = 0.00064         # a line that leaves the socket: 100 GB/s for all its cores
IN_LINE, IN_AREA = 48, 16384  # coll/sm: bytes beside the flag; bytes of a rank that go through the area
LANE_BYTES = 4096             # from this length on levels divide the data

OPERATIONS = "barrier bcast reduce allreduce allgather alltoall".split()
SIZES = [8, 1024, 65536, 1 << 20]
SHAPES = [(1, 8, 8), (2, 8, 8), (2, 16, 8)]  # sockets, L3 caches of each, cores of each


def lines(size):
    return -(-size // LINE)


class Node:
    """Ranks 0 to n - 1 on cores in order. Counts the lines that each rank reads or writes elsewhere."""

    def __init__(self, sockets, caches, cores):
        self.cores, self.socket_cores = cores, caches * cores
        self.ranks = sockets * caches * cores
        self.everyone = list(range(self.ranks))
        self.leaders = self.everyone[::cores]
        self.domains = [self.everyone[first:first + cores] for first in self.leaders]
        self.lanes = [self.everyone[lane::cores] for lane in range(cores)]
        self.moved, self.far = Counter(), Counter()

    def distance(self, a, b):
        if a // self.cores == b // self.cores:
            return CACHE
        return SOCKET if a // self.socket_cores == b // self.socket_cores else REMOTE

    # -- phases: the time of each ---------------------------------------------------------------

    def hops(self, rank, group):
        """How many ranks of the group are how far from the rank."""
        return Counter(self.distance(rank, other) for other in group if other != rank)

    def arrive(self, group):
        """All ranks add to one counter: its line goes from rank to rank, in any order."""
        return STEP + sum(count * TRANSFER[far] for far, count in self.hops(group[0], group).items())

    def release(self, group):
        """All ranks read a line that one of them has written."""
        return STEP + TRANSFER[max(self.hops(group[0], group))] + (len(group) - 2) * SERVE

    def meet(self, group):
        """Two ranks read each other's flags, without a counter."""
        return self.arrive(group) + (self.release(group) if len(group) > 2 else 0)

    def read(self, group, size, root=None):
        """Each rank copies `size` bytes of the root's, or to the root."""
        root = group[0] if root is None else root
        hops = self.hops(root, group)
        for rank in group:
            self.count(rank, lines(size), Counter([self.distance(rank, root)] if rank != root else []))
        return self.slowest(hops, lines(size) * max(STREAM[far] for far in hops), lines(size), 1, 1)

    def collect(self, group, size):
        """The root copies `size` bytes of each rank."""
        hops = self.hops(group[0], group)
        self.count(group[0], lines(size), hops)
        return self.slowest(hops, lines(size) * sum(n * STREAM[far] for far, n in hops.items()), 0, 1, 1)

    def exchange(self, group, size, active=None):
        """Each rank copies `size` bytes of every rank, or to every rank. `active`: ranks of an L3 cache that
        do this at the same time, in this group and others."""
        hops, active = self.hops(group[0], group), active or self.cores
        for rank in group:
            self.count(rank, lines(size), hops)
        return self.slowest(hops, lines(size) * sum(n * STREAM[far] for far, n in hops.items()),
                            lines(size), active, active * self.socket_cores // self.cores)

    def slowest(self, hops, core, count, in_cache, in_socket):
        """The time of the busiest core, L3 port or socket port; `count` lines for each hop."""
        out = sum(ranks for far, ranks in hops.items() if far > CACHE)
        return TRANSFER[max(hops)] + max(core, out * count * in_cache * CACHE_PORT,
                                         hops[REMOTE] * count * in_socket * SOCKET_PORT)

    def count(self, rank, count, hops):
        self.moved[rank] += count * sum(hops.values())
        self.far[rank] += count * (hops[SOCKET] + hops[REMOTE])


def each(groups, phase, *arguments):
    """A phase in all groups at once."""
    return max(phase(group, *arguments) for group in groups)


def flat(node, operation, size):
    """coll/sm: step.c, move.c, reduce.c; data longer than IN_AREA: direct_move.c, direct_reduce.c."""
    group, n = node.everyone, node.ranks
    is_short = (size * n if operation == "alltoall" else size) <= IN_AREA
    if operation == "barrier":
        return node.meet(group)
    if operation == "bcast":
        read = node.read(group, size) if size > IN_LINE else 0
        return node.release(group) + read + (0 if is_short else node.arrive(group))
    if operation == "reduce" and is_short:
        return node.arrive(group) + node.collect(group, size)
    if operation == "allreduce" and IN_LINE < size <= IN_AREA:
        return node.meet(group) + node.collect(group, size) + node.read(group, size)
    if is_short:
        return node.meet(group) + node.exchange(group, size)
    addresses = node.meet(group) + node.exchange(group, LINE)
    if operation == "reduce":
        return addresses + node.exchange(group, size // n) + node.read(group, size // n) + node.meet(group)
    if operation == "allreduce":  # a rank reduces a part, and writes it to all
        return addresses + node.exchange(group, size // n) + node.exchange(group, size // n) + node.meet(group)
    # Each reader adds to a counter of each rank, in turn.
    counters = sum(count * TRANSFER[far] for far, count in node.hops(0, group).items())
    return addresses + node.exchange(group, size) + counters


def by_leaders(node, operation, size):
    """The leader of each domain collects, the leaders exchange, and each spreads to its domain."""
    leaders, domains, all_bytes = node.leaders, node.domains, node.ranks * size
    up, down = each(domains, node.arrive), each(domains, node.release)
    if operation == "barrier":
        return up + node.meet(leaders) + down
    if operation == "bcast":
        read = node.read(leaders, size) + each(domains, node.read, size) if size > IN_LINE else 0
        return node.release(leaders) + down + read
    if operation == "reduce":
        return (up + each(domains, node.collect, size) + node.arrive(leaders) +
                node.collect(leaders, size))
    if operation == "allreduce":
        spread = each(domains, node.read, size) if size > IN_LINE else 0
        return (up + each(domains, node.collect, size) + node.meet(leaders) +
                node.exchange(leaders, size, 1) + down + spread)
    if operation == "allgather":
        return (up + each(domains, node.collect, size) + node.meet(leaders) +
                node.exchange(leaders, node.cores * size, 1) + down + each(domains, node.read, all_bytes))
    # alltoall: a leader exchanges the blocks from its domain to another as one
    return (up + each(domains, node.collect, all_bytes) + node.meet(leaders) +
            node.exchange(leaders, node.cores * node.cores * size, 1) + down +
            each(domains, node.read, all_bytes))


def by_lanes(node, operation, size):
    """Rank i of each domain works on part i, with the ranks i of the other domains."""
    domains, lanes, group = node.domains, node.lanes, node.everyone
    part = size // node.cores
    piece = part // len(domains)
    near, across = each(domains, node.meet), each(lanes, node.meet)
    if operation == "barrier":
        return near + across + near
    if operation == "bcast":  # into the domain in parts, then within it
        return (node.release(node.leaders) + each(domains, node.release) + node.read(group, part) +
                near + each(domains, node.exchange, part) + near + across)
    if operation == "alltoall":  # the data goes directly; only the waits have levels
        return 2 * (near + across + near) + node.exchange(group, size)
    if operation == "allgather":
        return (across + each(lanes, node.exchange, size) + near +
                each(domains, node.exchange, len(domains) * size) + near + across)
    reduced = (near + each(domains, node.exchange, part) + across + each(lanes, node.exchange, piece))
    if operation == "reduce":
        return reduced + node.read(group, piece) + near + across + near
    return (reduced + each(lanes, node.exchange, piece) + across + near +
            each(domains, node.exchange, part) + near)


def levels(node, operation, size):
    """Leaders for short data, lanes for longer data."""
    is_short = (size * node.cores if operation == "alltoall" else size) < LANE_BYTES
    return (by_leaders if is_short else by_lanes)(node, operation, size)


def predict(shape, algorithm, operation, size):
    """(microseconds, lines of the busiest rank, of these from another L3 cache, busiest / mean)"""
    node = Node(*shape)
    time = algorithm(node, operation, size)
    busiest, total = max(node.moved.values(), default=0), sum(node.moved.values())
    return time, busiest, max(node.far.values(), default=0), busiest * node.ranks / total if total else 1


def cases():
    return [("barrier", 0)] + [(operation, size) for operation in OPERATIONS[1:] for size in SIZES]


def name_of(size):
    for unit, length in (("MiB", 1 << 20), ("KiB", 1024)):
        if size >= length:
            return f"{size // length} {unit}"
    return f"{size} B" if size else ""


def print_times():
    print("| operation | bytes |" + "".join(f" {a * b * c} flat | levels |" for a, b, c in SHAPES))
    print("|---|---|" + "---|---|" * len(SHAPES))
    for operation, size in cases():
        times = [predict(shape, algorithm, operation, size)[0] for shape in SHAPES for algorithm in (flat, levels)]
        print(f"| {operation} | {name_of(size)} |" + "".join(f" {time:.3g} |" for time in times))


def print_lines():
    print("| operation | bytes |" + "".join(f" {name}: lines | other L3 | busiest / mean |"
                                            for name in ("flat", "levels")))
    print("|---|---|" + "---|---|---|" * 2)
    for operation, size in cases()[1:]:
        cells = [predict(SHAPES[1], algorithm, operation, size)[1:] for algorithm in (flat, levels)]
        print(f"| {operation} | {name_of(size)} |" + "".join(
            f" {busiest} | {far} | {share:.1f} |" for busiest, far, share in cells))


def break_even(operation, size):
    """The smallest number of ranks, of 8 in an L3 cache, from which on levels save a tenth of the time."""
    least = None
    for caches in range(16, 1, -1):
        shape = (1, caches, 8)
        if predict(shape, levels, operation, size)[0] > 0.9 * predict(shape, flat, operation, size)[0]:
            break
        least = caches * 8
    return least


def print_break_even():
    print("| operation |" + "".join(f" {name_of(size)} |" for size in SIZES))
    print("|---|" + "---|" * len(SIZES))
    for operation in OPERATIONS:
        print(f"| {operation} |" + "".join(
            f" {break_even(operation, size) or '-'} |" if operation != "barrier" or size == 8 else " |"
            for size in SIZES))


def main():
    if len(sys.argv) == 2:
        for operation, size in cases():
            print(operation, size, "%.3g" % predict((1, 1, int(sys.argv[1])), flat, operation, size)[0])
        return
    for table in (print_times, print_lines, print_break_even):
        table()
        print()


if __name__ == "__main__":
    main()
