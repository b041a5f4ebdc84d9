/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of persistent schedules, of which their tags are made. There are as many as the share of
 * tags has, and no two schedules of a communicator that live at the same time in any of its ranks
 * have the same one.
 *
 * The first time around, the next number is free in all ranks, and nothing is exchanged. From then
 * on ranks may have freed different schedules, so before a window of numbers is used the ranks tell
 * each other which of them are taken; that is permitted, as these calls are not local.
 */
#include "ompi/schedule/schedule.h"

#include <string.h>

#include "ompi/mca/pml/tags.h"

static void mark_living(const ompi_communicator_t *comm, uint32_t first, uint32_t count,
                        uint64_t words[])
{
    for (const ompi_schedule_t *each = comm->persistent; each != NULL; each = each->next_living) {
        uint32_t at = each->number - first;
        if (each->number >= first && at < count)
            words[at / 64] |= UINT64_C(1) << at % 64;
    }
}

int ompi_schedule_take_number(ompi_communicator_t *comm, ompi_schedule_agree_fn_t *agree,
                              uint32_t *number)
{
    uint32_t all = ompi_tags_count(OMPI_TAGS_PERSISTENT);
    uint32_t window = all < OMPI_COMM_NUMBERS ? all : OMPI_COMM_NUMBERS;
    /* Also what is left of the window that has been agreed on before. */
    for (uint64_t tried = 0; tried < (uint64_t)all + window; tried++) {
        uint64_t next = comm->prepared;
        uint32_t at = (uint32_t)(next & (window - 1)), first = (uint32_t)(next & (all - 1)) - at;
        if (next >= all && at == 0) {
            memset(comm->numbers, 0, sizeof comm->numbers);
            mark_living(comm, first, window, comm->numbers);
            int error = agree(comm, comm->numbers, OMPI_COMM_NUMBERS / 64);
            if (error != MPI_SUCCESS)
                return error;
        }
        comm->prepared++;
        if (next < all || (comm->numbers[at / 64] >> at % 64 & 1) == 0) {
            *number = first + at;
            return MPI_SUCCESS;
        }
    }
    return MPI_ERR_OTHER;
}
