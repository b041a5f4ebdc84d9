/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier.
 *
 *   dissemination   log2(n) a      n log2(n) messages: after round k each rank knows that the
 *                                  2^(k+1) - 1 ranks before it have entered
 *   tree            2 log2(n) a    2(n-1) messages, so fewer wake-ups where ranks share cores
 */
#include "ompi/mca/coll/p2p/p2p.h"

int p2p_barrier_dissemination(const ompi_coll_call_t *call OPAL_UNUSED, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    ompi_data_t nothing = ompi_coll_packed(schedule, NULL, 0);
    for (int distance = 1; distance < size; distance *= 2) {
        ompi_schedule_send(schedule, p2p_shift(rank, distance, size), nothing);
        ompi_schedule_recv(schedule, p2p_shift(rank, -distance, size), nothing);
        ompi_schedule_wait(schedule);
    }
    return MPI_SUCCESS;
}

int p2p_barrier_tree(const ompi_coll_call_t *call OPAL_UNUSED, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size, distance = 1;
    ompi_data_t nothing = ompi_coll_packed(schedule, NULL, 0);
    for (; distance < size && (rank & distance) == 0; distance *= 2) {
        if (rank + distance < size)
            ompi_schedule_recv(schedule, rank + distance, nothing);
    }
    ompi_schedule_wait(schedule);
    if (rank != 0) {
        ompi_schedule_send(schedule, rank - distance, nothing);
        ompi_schedule_wait(schedule);
        ompi_schedule_recv(schedule, rank - distance, nothing);
        ompi_schedule_wait(schedule);
    }
    for (distance /= 2; distance > 0; distance /= 2) {
        if (rank + distance < size)
            ompi_schedule_send(schedule, rank + distance, nothing);
    }
    return MPI_SUCCESS;
}
