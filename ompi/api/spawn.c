/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter spawn: processes that join later, and leave again. */
#include "ompi/api/bodies.h"

/* Spawning is not built yet, so no process has a parent. */
int ompi_api_comm_get_parent(ompi_communicator_t **parent)
{
    *parent = NULL;
    return MPI_SUCCESS;
}

/* The caller has no request left on the communicator. Bytes of completed sends may still be in this
 * process. */
int ompi_api_comm_disconnect(ompi_communicator_t **comm)
{
    if ((*comm)->head.destroy != NULL) {
        ompi_lock();
        ompi_pml->flush();
        ompi_unlock();
    }
    return ompi_api_comm_free(comm);
}
