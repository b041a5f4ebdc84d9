/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers that messages are using (mpi_check=full): two that overlap, one of which is received
 * into, and those of sends that the program changes too early.
 *
 * A buffer is in use from the call that begins the message until the program is told that it has
 * ended: until then the program leaves it alone, even if the data has left long ago. A request that
 * the program has freed tells it nothing, and is not looked at any more.
 *
 * Threading: under the message lock.
 */
#ifndef OMPI_CHECK_BUFFER_H
#define OMPI_CHECK_BUFFER_H

#include "opal/util/interval.h"
#include "ompi/check/caller.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/datatype.h"
#include "ompi/request/request.h"

typedef struct ompi_check_buffer {
    const char *call;              /* "MPI_Isend" */
    int peer, tag;                 /* as the program has given them */
    bool is_written;               /* by a receive */
    const ompi_request_t *request; /* NULL: of a blocking call */
    void *address;                 /* with count and type: where the data lies */
    size_t count;
    ompi_datatype_t *type; /* whoever enters the buffer has retained it */

    /* Private. */
    opal_interval_t range; /* from its first byte to its last one */
    bool is_entered;
    unsigned char *copy; /* packed, of a send; NULL: there is none */
    ompi_check_caller_t caller;
} ompi_check_buffer_t;

/* The buffer is in use from now on. An error, if it overlaps another one, and one of them is
 * written: then it is not entered. `comm` is that of the message, or NULL. */
int ompi_check_buffer_enter(ompi_check_buffer_t *buffer, ompi_communicator_t *comm);

/* Keeps a copy of the data, if there is memory. */
void ompi_check_buffer_keep(ompi_check_buffer_t *buffer);

/* Compares the data with the copy. An error: the program has changed it. */
int ompi_check_buffer_compare(const ompi_check_buffer_t *buffer, ompi_communicator_t *comm);

/* The buffer is not in use any more. Idempotent. */
void ompi_check_buffer_leave(ompi_check_buffer_t *buffer);

#endif
