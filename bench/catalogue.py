# SPDX-License-Identifier: BSD-3-Clause
"""What there is to measure: a row for each benchmark, and what the axes of its plot are."""

import dataclasses
import os

COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather",
               "alltoall", "reduce_scatter_block", "scan")
BYTES, ENTRIES, RANKS = "message size [bytes]", "entries in the queue", "ranks"
FABRICS = {"tcp": "tcp;ofi_rxm", "net": "net;ofi_rxm", "sockets": "sockets", "udp": "udp;ofi_rxd"}
FILES = ("contiguous", "array3", "array4", "records", "nested", "strided", "shared", "ordered", "open")
UNDER_WAY = "messages under way from one thread"


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """`name` is what the user asks for and the outputs are called; `program` is bench/<program>.c.

    The program runs once for each of `ranks` and `series` (its argument), so that an MPI which
    fails in one of them is still measured in the others. `limit` is a name that limits.py knows.
    """
    name: str
    title: str
    program: str
    ranks: tuple
    axis: str = BYTES
    series: tuple = ("",)
    sources: tuple = ("measure.c", "samples.c")
    limit: str = ""
    with_ucx: bool = False    # worth a second Open MPI: point-to-point between two ranks
    unbound: bool = False     # threads that are not to share the core of their rank
    wall_time: bool = False   # the time of the whole job is what is measured
    allocators: bool = False  # no MPI: allocators.py runs it
    fabric: str = ""          # a provider of libfabric that all use; fabrics.py runs it
    layer: bool = False       # a layer below MPI, by itself: the build's program, and what it says
    files: bool = False       # files are made, in the folder of the outputs; worth an Open MPI with
                              # ROMIO

    def has_way(self, only):
        """Whether an MPI that is run in a second way (peers.Peer.only) takes part."""
        return not only or (only == "ucx" and self.with_ucx) or (only == "romio" and self.files)


def catalogue():
    """Where more ranks than two are wanted: one for each core, and four on a small machine."""
    many = max(4, len(os.sched_getaffinity(0)) // 2 * 2)
    rows = [
        Benchmark("latency", "Latency of a message, one way", "latency", (2,),
                  limit="transfer", with_ucx=True),
        Benchmark("latency-live", "The same, the buffers being written and read", "latency_live",
                  (2,), limit="transfer", with_ucx=True),
        Benchmark("bandwidth", "Bandwidth, 64 messages under way", "bandwidth", (2,),
                  limit="copy-rate", with_ucx=True),
        Benchmark("exchange", "Messages in both directions at once", "exchange", (2, 6),
                  series=("sendrecv/malloc", "sendrecv/static", "isend/malloc", "isend/static"),
                  with_ucx=True),
        Benchmark("first", "The first exchanges of a job, all pairs of ranks", "first", (2, 6, 12),
                  series=tuple(f"{kind}/{size}" for kind in ("malloc", "static")
                               for size in (8, 65536, 1048576)), with_ucx=True),
        Benchmark("message-rate", "Message rate by window", "message_rate", (2,),
                  limit="lines", with_ucx=True),
        Benchmark("multi-pair", f"All pairs of {many} ranks at once", "multi_pair", (many,),
                  series=("latency", "rate")),
        Benchmark("threads-latency", "Latency by thread level", "threads", (2,),
                  series=("latency/single", "latency/multiple"), limit="transfer", with_ucx=True),
        Benchmark("threads-rate", "Message rate of threads with own communicators", "threads", (2,),
                  UNDER_WAY, series=("rate/one", "rate/two"), with_ucx=True, unbound=True),
        Benchmark("matching", "Latency while other entries are queued", "matching", (2,),
                  ENTRIES, limit="cache-line", with_ucx=True),
        Benchmark("matching-sources", f"The same with entries from {many - 1} ranks", "matching",
                  (many,), ENTRIES, series=("posted/many-sources", "unexpected/many-sources"),
                  limit="cache-line"),
        Benchmark("datatype", "MPI_Pack and MPI_Unpack by layout", "datatype", (1,),
                  sources=("layouts.c", "measure.c", "samples.c"), limit="copy"),
        Benchmark("datatype-send", "Latency of a message by layout", "datatype_send", (2,),
                  sources=("layouts.c", "measure.c", "samples.c"),
                  limit="transfer", with_ucx=True),
        Benchmark("reduce-local", "MPI_Reduce_local by operation", "reduce_local", (1,)),
    ]
    for ranks in (2, many):
        rows.append(Benchmark(f"collectives-{ranks}", f"Collectives on {ranks} ranks",
                              "collectives", (ranks,), series=COLLECTIVES, limit="cache-line"))
    for ranks in (2, many):
        rows.append(Benchmark(f"files-{ranks}", f"Files of {ranks} ranks", "files", (ranks,),
                              "size [bytes; of an array: its edge]", series=FILES, files=True))
    rows.append(Benchmark("files-overlap", "A write beside a computation of the same length", "files",
                          (2,), "size [bytes]", series=("overlap",), files=True))
    rows.append(Benchmark("start-up", "A job that does nothing", "hello", (2, many, 4 * many),
                          RANKS, sources=(), limit="bare", wall_time=True))
    rows += [Benchmark(f"fabric-{name}", f"Latency over {fabric} of libfabric", "latency", (2,),
                       fabric=fabric) for name, fabric in FABRICS.items()]
    rows.append(Benchmark("memory-allocator", "opal/heap beside other allocators", "heap", (1,),
                          "threads", allocators=True))
    rows.append(Benchmark("memory-munmap", "What the hook costs munmap (at most 5 %)", "munmap",
                          (1,), layer=True))
    rows.append(Benchmark("memory-registration", "A registration that is found again (at most 100 ns)", "rcache",
                          (1,), series=("", "munmap"), layer=True))
    return rows
