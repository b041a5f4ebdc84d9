/* SPDX-License-Identifier: BSD-3-Clause */
/* Address records of another side, from each process to all. See remote_processes.h. */
#include "ompi/comm_create/remote_processes.h"

#include <stdlib.h>
#include <string.h>

#include "opal/process/process.h"
#include "ompi/errhandler/error_code.h"

/* -- records ----------------------------------------------------------------------------------- */

void ompi_record_send(const ompi_side_t *side, int leader)
{
    unsigned char record[OPAL_RECORD_MOST_BYTES];
    size_t length = 0;
    if (opal_process_describe(record, &length) != OPAL_SUCCESS)
        length = 0;
    ompi_side_send(side, leader, record, length);
    explicit_bzero(record, sizeof record);
}

int ompi_record_receive(const ompi_side_t *side, int index, unsigned char *record, size_t *length)
{
    *length = OPAL_RECORD_MOST_BYTES;
    int error = index == side->index ? ompi_error_of_status(opal_process_describe(record, length))
                                     : ompi_side_receive(side, index, record, length);
    if (error == MPI_SUCCESS && *length == 0)
        error = MPI_ERR_OTHER;
    if (error != MPI_SUCCESS)
        *length = 0;
    return error;
}

/* -- the processes ----------------------------------------------------------------------------- */

void ompi_remote_processes_begin(ompi_remote_processes_t *remote, int expected)
{
    uint32_t *indices = calloc((size_t)expected, sizeof *indices);
    *remote = (ompi_remote_processes_t){.indices = indices,
                                        .expected = expected,
                                        .error = indices != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM};
}

void ompi_remote_processes_add(ompi_remote_processes_t *remote, const unsigned char *at, int count)
{
    for (int i = 0; i < count && remote->error == MPI_SUCCESS; i++) {
        opal_process_t *process;
        const unsigned char *record;
        size_t length;
        at = ompi_record_next(at, &record, &length);
        if (remote->count == remote->expected)
            remote->error = MPI_ERR_OTHER; /* the other side has miscounted */
        else
            remote->error = ompi_error_of_status(opal_process_add(record, length, &process));
        if (remote->error == MPI_SUCCESS)
            remote->indices[remote->count++] = process->index;
    }
}

ompi_group_t *ompi_remote_processes_group(ompi_remote_processes_t *remote, ompi_object_t *session)
{
    ompi_group_builder_t builder = {.session = session};
    if (remote->error == MPI_SUCCESS && remote->count != remote->expected)
        remote->error = MPI_ERR_OTHER;
    if (remote->error != MPI_SUCCESS)
        return NULL;
    for (int rank = 0; rank < remote->count; rank++)
        ompi_group_builder_add(&builder, (int)remote->indices[rank]);
    ompi_group_t *group = ompi_group_builder_finish(&builder);
    for (int rank = 0; group != NULL && rank < remote->count; rank++) {
        if (ompi_group_rank_of(group, (int)remote->indices[rank]) != rank)
            remote->error = MPI_ERR_OTHER;
    }
    return group;
}

void ompi_remote_processes_end(ompi_remote_processes_t *remote)
{
    while (remote->count > 0)
        opal_process_release(remote->indices[--remote->count]);
    free(remote->indices);
    remote->indices = NULL;
}
