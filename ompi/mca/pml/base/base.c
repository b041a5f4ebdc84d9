/* SPDX-License-Identifier: BSD-3-Clause */
/* The pml framework object. */
#include "ompi/mca/pml/base/base.h"

#include "ompi/mca/pml/queues.h"

const ompi_pml_queues_t *ompi_pml_queues;
const ompi_pml_ops_t *ompi_pml;
_Thread_local ompi_route_t ompi_pml_probed;
OPAL_REACHED_DIRECTLY(ompi_pml);
ompi_message_t ompi_message_no_process = {
    OMPI_OBJECT_PREDEFINED(OMPI_MESSAGE, MPI_MESSAGE_NO_PROC)};

static const opal_slot_t pml_slots[] = {
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, start),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, stop),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, comm_add),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, comm_remove),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, isend),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, irecv),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, send_init),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, recv_init),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, send),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, recv),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, iprobe),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, probe),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, imrecv),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, flush),
    OPAL_SLOT_OPTIONAL(ompi_pml_ops_t, leave),
    OPAL_SLOT_REQUIRED(ompi_pml_ops_t, meet),
    OPAL_SLOT_OPTIONAL(ompi_pml_ops_t, network),
    OPAL_SLOT_OPTIONAL(ompi_pml_ops_t, describe_waits),
    OPAL_SLOT_OPTIONAL(ompi_pml_ops_t, describe),
    OPAL_SLOT_OPTIONAL(ompi_pml_ops_t, try_send_unlocked),
    OPAL_SLOT_OPTIONAL(ompi_pml_ops_t, try_recv_unlocked),
    OPAL_SLOT_OPTIONAL(ompi_pml_ops_t, try_irecv_unlocked),
    {0},
};

opal_framework_t mca_pml_framework = {
    .name = "pml",
    .prose = "messages: sends and receives, matched",
    .slots = pml_slots,
};
