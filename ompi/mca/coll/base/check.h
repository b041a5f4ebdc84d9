/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a collective call for the checks that compare the ranks' calls
 * (ompi/check/check.h). Under the message lock. */
#ifndef OMPI_COLL_CHECK_H
#define OMPI_COLL_CHECK_H

#include "ompi/check/check.h"
#include "ompi/mca/coll/coll.h"

/* Records a call of a communicator with is_checked. An error: the call is refused. */
int ompi_coll_check_begin(const ompi_coll_call_t *call, ompi_check_form_t form);

/* Full checks of a call that may block: all ranks exchange their records, and compare all of them.
 * An error, in all ranks alike: the call is refused. */
int ompi_coll_check_meet(ompi_communicator_t *comm);

/* The same of a nonblocking call: the first steps of its schedule. If the calls differ, that ends
 * with the error, and takes no other steps. */
void ompi_coll_check_meet_first(ompi_schedule_t *schedule, ompi_communicator_t *comm);

/* The error of a call whose record is `number`, with its reason, if the calls of the ranks differ:
 * an empty message instead of data looks like a lack of memory. */
static inline int ompi_coll_check_end(ompi_communicator_t *comm, uint64_t number, int error)
{
    if (opal_likely(error != MPI_ERR_TRUNCATE && error != MPI_ERR_NO_MEM))
        return error;
    int found = ompi_check_compare(comm, number);
    return found != MPI_SUCCESS ? found : error;
}

#endif
