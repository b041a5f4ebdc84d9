/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hints of communicators that the standard knows, all of them promises of the program. Messages
 * are matched the same way with and without them; they are kept so that the program can ask for
 * them. Other keys are ignored, as are values that are not "true" or "false".
 */
#include <stdatomic.h>
#include <string.h>

#include "ompi/communicator/communicator.h"

static const char *const keys[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
};

void ompi_comm_set_hints(ompi_communicator_t *comm, ompi_info_t *info)
{
    char value[sizeof "false" + 1];
    size_t length;
    for (size_t i = 0; info != NULL && i < OPAL_COUNT_OF(keys); i++) {
        if (!ompi_info_get(info, keys[i], value, sizeof value, &length))
            continue;
        if (strcmp(value, "true") == 0)
            atomic_fetch_or(&comm->hints, 1u << i);
        else if (strcmp(value, "false") == 0)
            atomic_fetch_and(&comm->hints, ~(1u << i));
    }
}

void ompi_comm_copy_hints(const ompi_communicator_t *from, ompi_communicator_t *to)
{
    atomic_store(&to->hints, atomic_load(&from->hints));
}

ompi_info_t *ompi_comm_get_hints(const ompi_communicator_t *comm)
{
    ompi_info_t *info = ompi_info_create();
    unsigned hints = atomic_load(&comm->hints);
    int error = info != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (size_t i = 0; i < OPAL_COUNT_OF(keys) && error == MPI_SUCCESS; i++)
        error = ompi_info_set(info, keys[i], (hints & 1u << i) != 0 ? "true" : "false");
    if (comm->resource != NULL && error == MPI_SUCCESS)
        error = ompi_info_set(info, "mpi_hw_resource_type", comm->resource);
    if (error != MPI_SUCCESS && info != NULL) {
        ompi_object_release(&info->head);
        info = NULL;
    }
    return info;
}
