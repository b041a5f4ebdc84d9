/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fields of MPI_Status behind its three public ones.
 *
 *   MPI_internal[0..1]  bytes received, 64 bits
 *   MPI_internal[2]     1: the operation was cancelled
 *   MPI_internal[3..4]  0
 */
#ifndef OMPI_REQUEST_STATUS_H
#define OMPI_REQUEST_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ompi/api/mpi.h"

static inline uint64_t ompi_status_bytes(const MPI_Status *status)
{
    uint64_t bytes;
    memcpy(&bytes, &status->MPI_internal[0], sizeof bytes);
    return bytes;
}

static inline void ompi_status_set_bytes(MPI_Status *status, uint64_t bytes)
{
    memcpy(&status->MPI_internal[0], &bytes, sizeof bytes);
}

static inline bool ompi_status_is_cancelled(const MPI_Status *status)
{
    return status->MPI_internal[2] != 0;
}

static inline void ompi_status_set_cancelled(MPI_Status *status, bool cancelled)
{
    status->MPI_internal[2] = cancelled;
}

static inline void ompi_status_set(MPI_Status *status, int source, int tag, int error,
                                   uint64_t bytes)
{
    *status = (MPI_Status){.MPI_SOURCE = source, .MPI_TAG = tag, .MPI_ERROR = error};
    ompi_status_set_bytes(status, bytes);
}

/* The status of null and inactive requests. */
static inline void ompi_status_set_empty(MPI_Status *status)
{
    ompi_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, 0);
}

/* Fills in a status of the user's, which may be MPI_STATUS_IGNORE. Its MPI_ERROR is left alone, as
 * the standard requires of calls that return one status. */
static inline void ompi_status_fill(MPI_Status *to, const MPI_Status *status)
{
    if (to == MPI_STATUS_IGNORE)
        return;
    int error = to->MPI_ERROR;
    *to = *status;
    to->MPI_ERROR = error;
}

/* Fills in an empty status; its MPI_ERROR is MPI_SUCCESS by definition. */
static inline void ompi_status_fill_empty(MPI_Status *to)
{
    if (to != MPI_STATUS_IGNORE)
        ompi_status_set_empty(to);
}

#endif
