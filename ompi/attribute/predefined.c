/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined attributes of communicators. The standard wants them on MPI_COMM_WORLD, and
 * MPI_TAG_UB on others; here every communicator has all of them. The values are int, and the user
 * gets their addresses.
 */
#include "ompi/attribute/attribute.h"

#include "ompi/errhandler/error_code.h"

static int tag_ub;
static int host = MPI_PROC_NULL; /* there is no host process */
static int io = MPI_ANY_SOURCE;  /* every rank has the input and output of the language */
static int wtime_is_global, app_number, universe_size; /* the latter two -1: not known */

void ompi_attributes_init(const opal_pmi_job_t *job)
{
    wtime_is_global = job->node_count == 1; /* MPI_Wtime is the clock of the node */
    app_number = job->app_number;
    universe_size = job->universe_size;
}

void ompi_attributes_set_tag_ub(int value)
{
    tag_ub = value;
}

/* The address of its value; NULL: it has none. */
static int *find(int number)
{
    switch (number) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_HOST:
        return &host;
    case MPI_IO:
        return &io;
    case MPI_WTIME_IS_GLOBAL:
        return &wtime_is_global;
    case MPI_APPNUM:
        return app_number >= 0 ? &app_number : NULL;
    case MPI_UNIVERSE_SIZE:
        return universe_size >= 0 ? &universe_size : NULL;
    case MPI_LASTUSEDCODE:
        return &ompi_error_last_used;
    default:
        return NULL;
    }
}

bool ompi_attribute_of_comms(int number, void **value)
{
    int *found = find(number);
    if (found != NULL)
        *value = found;
    return found != NULL;
}
