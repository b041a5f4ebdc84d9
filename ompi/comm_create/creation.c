/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a creation. See creation.h. */
#include "ompi/comm_create/creation.h"

#include <stdlib.h>

#include "opal/util/hash.h"
#include "ompi/attribute/attribute.h"
#include "ompi/request/describe.h"

void ompi_comm_creation_init(ompi_comm_creation_t *creation, ompi_communicator_t *parent,
                             ompi_communicator_t *comm)
{
    *creation = (ompi_comm_creation_t){.parent = parent, .comm = comm};
    ompi_object_retain(&parent->head);
}

void ompi_comm_creation_of_all(ompi_comm_creation_t *creation)
{
    ompi_communicator_t *parent = creation->parent;
    ompi_exchange_t *exchange = &creation->agreement.exchange;
    int tag = ompi_exchange_next_tag(parent);
    exchange->side = ompi_side_of(parent->local, tag);
    if (ompi_comm_is_inter(parent))
        exchange->bridge =
            (ompi_bridge_t){.comm = parent, .tag = tag, .size = parent->remote_group->size};
    creation->agreement.wanted = ompi_comm_is_inter(parent) ? 2 : 1;
    ompi_comm_note_call(parent,
                        &(ompi_comm_call_t){.name = "Comm_dup", .root = -1, .bytes = SIZE_MAX});
    creation->number = parent->calls;
}

void ompi_comm_creation_of_group(ompi_comm_creation_t *creation, ompi_communicator_t *over,
                                 ompi_group_t *group, int tag)
{
    creation->agreement.exchange.side = ompi_side_of_group(over, group, tag);
    creation->agreement.wanted = 1;
}

/* Gives the communicator its contexts, and gives back those that it does not take. */
static int form(ompi_comm_creation_t *creation)
{
    bool is_left = false;
    ompi_context_id_agreement_t *agreement = &creation->agreement;
    int error = creation->form != NULL ? creation->form(creation, &is_left) : MPI_SUCCESS;
    if (creation->comm != NULL)
        ompi_comm_set_generation(creation->comm, agreement->exchange.ballot.generation);
    if (error == MPI_SUCCESS && !is_left && creation->comm != NULL)
        error = ompi_comm_begin(creation->comm, agreement->ids[0], agreement->ids[1]);
    if (error != MPI_SUCCESS || is_left)
        ompi_context_id_agree_give_back(agreement);
    if (is_left) {
        ompi_object_release(&creation->comm->head);
        creation->comm = NULL;
    }
    return error;
}

/* The agreement has ended. */
static void agreed(ompi_context_id_agreement_t *agreement)
{
    ompi_comm_creation_t *creation = opal_container_of(agreement, ompi_comm_creation_t, agreement);
    int error = agreement->error != MPI_SUCCESS ? agreement->error : form(creation);
    if (creation->error == MPI_SUCCESS)
        creation->error = error;
    ompi_object_release(&creation->parent->head);
    creation->request.status.MPI_ERROR = creation->error >= 0 ? creation->error : MPI_ERR_OTHER;
    ompi_request_complete(&creation->request); /* may free it */
}

void ompi_comm_creation_begin(ompi_comm_creation_t *creation)
{
    creation->agreement.done = agreed;
    creation->agreement.exchange.ballot.failure = creation->error != MPI_SUCCESS;
    ompi_context_id_agree_begin(&creation->agreement);
}

void ompi_comm_creation_describe(const ompi_request_t *request, ompi_description_t *description)
{
    const ompi_comm_creation_t *creation =
        opal_container_of(request, ompi_comm_creation_t, request);
    if (creation->number > 0)
        ompi_describe_collective(description, creation->parent, creation->number);
}

int ompi_comm_creation_run(ompi_comm_creation_t *creation, ompi_communicator_t **result)
{
    static const ompi_request_ops_t ops = {.describe = ompi_comm_creation_describe};
    ompi_request_t *request = &creation->request;
    ompi_lock();
    ompi_request_init_bare(request, &ops, NULL);
    ompi_comm_creation_begin(creation);
    ompi_request_wait(&request, 1, 1);
    ompi_unlock();
    if (creation->error == MPI_SUCCESS) {
        *result = creation->comm;
        return MPI_SUCCESS;
    }
    if (creation->comm != NULL) {
        ompi_attributes_delete_all(&creation->comm->head);
        ompi_attributes_forget_all(&creation->comm->head); /* if a callback did not want to */
        ompi_object_release(&creation->comm->head); /* it has not begun, so without the lock */
    }
    return creation->error;
}

int ompi_comm_creation_set_string(ompi_comm_creation_t *creation, const char *stringtag)
{
    uint64_t check = opal_hash_text(UINT64_C(0x9e3779b97f4a7c15), stringtag);
    creation->agreement.exchange.ballot.least = creation->agreement.exchange.ballot.most = check;
    uint64_t hash = opal_hash_text(OPAL_HASH_START, stringtag);
    return ompi_exchange_string_tag(hash ^ hash >> 32);
}
