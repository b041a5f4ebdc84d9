/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter spawn: processes that join later, and leave again. */
#include "ompi/api/bodies.h"

/* Nobody is spawned yet, so nobody has a parent. */
int ompi_api_comm_get_parent(ompi_communicator_t **parent)
{
    *parent = NULL;
    return MPI_SUCCESS;
}

/* Whoever calls it has no request left on the communicator. What may still be on its way are bytes
 * of sends that were buffered. */
int ompi_api_comm_disconnect(ompi_communicator_t **comm)
{
    if ((*comm)->head.destroy != NULL) {
        ompi_lock();
        ompi_pml->flush();
        ompi_unlock();
    }
    return ompi_api_comm_free(comm);
}
