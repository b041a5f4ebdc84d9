/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes. A message that one has taken keeps its communicator until it is received. */
#include "ompi/mca/pml/cm/retry.h"
#include "ompi/mca/pml/cm/cm.h"
#include "ompi/request/status.h"

/* The mtl frees it, when it is received. */
static void leave_to_mtl(ompi_object_t *head OPAL_UNUSED)
{
}

int cm_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message, MPI_Status *status)
{
    ompi_mtl_message_t *taken = NULL;
    MPI_Status told;
    int error = cm_mtl->probe(from, found, message != NULL ? &taken : NULL, &told);
    if (error != MPI_SUCCESS || !*found)
        return error;
    ompi_status_fill(status, &told);
    if (message != NULL) {
        ompi_object_init(&taken->base.head, OMPI_MESSAGE, leave_to_mtl);
        ompi_object_retain(&taken->route.comm->head);
        *message = &taken->base;
    }
    return MPI_SUCCESS;
}

int cm_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status)
{
    return cm_again_probe(cm_iprobe, from, message, status);
}

int cm_imrecv(ompi_message_t *base, const ompi_data_t *data, ompi_request_t **request)
{
    ompi_mtl_message_t *message = opal_container_of(base, ompi_mtl_message_t, base);
    ompi_communicator_t *comm = message->route.comm;
    ompi_mtl_request_t *receive = cm_prepare_receive(&message->route, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_object_release(&base->head);
    int error = cm_mtl->receive_message(receive, message);
    ompi_object_release(&comm->head);
    if (error != MPI_SUCCESS) { /* the message is gone: it is the request that fails */
        receive->base.status.MPI_ERROR = error;
        ompi_request_complete(&receive->base);
    }
    *request = &receive->base;
    return MPI_SUCCESS;
}
