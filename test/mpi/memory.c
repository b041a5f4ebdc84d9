/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank's memory grows with the peers that it talks to, and not with the job: rank 0 talks to one,
 * to two, to all; the others to rank 0 only. Looked at are the pages of its own and those that it
 * shares, after MPI_Init and as they become more. Of pml/ob1: what a network's library takes is not
 * ours; nor is what libpmix does in MPI_Init.
 *
 *   memory KIB    what one peer may cost
 */
#include <mpi.h>
#include <stdlib.h>

#include "resident.h"
#include "tap.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { IS_MEASURABLE = 0 };
#else
enum { IS_MEASURABLE = 1 };
#endif

enum { START_KIB = 1024, SLACK_KIB = 192, BYTES = 4096, TURNS = 100 };

static int rank, size;

/* Messages in both directions, more of them than a ring holds. */
static void talk(int peer)
{
    static char bytes[BYTES];
    for (int i = 0; i < TURNS; i++) {
        if (rank < peer)
            MPI_Send(bytes, BYTES, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
        MPI_Recv(bytes, BYTES, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank > peer)
            MPI_Send(bytes, BYTES, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
    }
}

static void check_rank_0(long start, long peer_kib)
{
    talk(1);
    long one = memory_kib() - start;
    for (int peer = 2; peer < size; peer++)
        talk(peer);
    long all = memory_kib() - start;
    tap_check(one <= peer_kib + SLACK_KIB, "one peer costs %ld KiB", one);
    tap_check(all <= (size - 1) * peer_kib + SLACK_KIB, "%d peers cost %ld KiB", size - 1, all);
    tap_check(size < 8 || all > one * (size - 1) / 4, "the measure sees what peers cost");
}

int main(int argc, char **argv)
{
    long before = memory_kib(), peer_kib = argc > 1 ? atol(argv[1]) : 256;
    MPI_Init(&argc, &argv);
    long start = memory_kib();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    if (!IS_MEASURABLE) {
        tap_skip("what peers cost", "the sanitizer's memory is more");
    } else {
        if (getenv("PMIX_NAMESPACE") != NULL)
            tap_skip("what MPI_Init costs", "%ld KiB, with what libpmix takes", start - before);
        else
            tap_check(start - before <= START_KIB, "MPI_Init of %d ranks costs %ld KiB", size,
                      start - before);
        if (rank == 0) {
            check_rank_0(start, peer_kib);
        } else {
            talk(0);
            tap_check(memory_kib() - start <= peer_kib + SLACK_KIB, "the only peer costs %ld KiB",
                      memory_kib() - start);
        }
    }
    MPI_Finalize();
    return tap_finish();
}
