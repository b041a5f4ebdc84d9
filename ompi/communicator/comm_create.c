/* SPDX-License-Identifier: BSD-3-Clause */
/* See birth.h. */
#include "ompi/communicator/comm_create.h"

#include <stdlib.h>

#include "opal/util/hash.h"
#include "ompi/attribute/attribute.h"

void ompi_birth_init(ompi_birth_t *birth, ompi_communicator_t *parent, ompi_communicator_t *comm)
{
    *birth = (ompi_birth_t){.parent = parent, .comm = comm};
    ompi_object_retain(&parent->head);
}

void ompi_birth_of_all(ompi_birth_t *birth)
{
    ompi_communicator_t *parent = birth->parent;
    ompi_exchange_t *exchange = &birth->agreement.exchange;
    int tag = ompi_exchange_next_tag(parent);
    exchange->side = ompi_side_of(parent->local, tag);
    if (ompi_comm_is_inter(parent))
        exchange->bridge =
            (ompi_bridge_t){.comm = parent, .tag = tag, .size = parent->remote_group->size};
    birth->agreement.wanted = ompi_comm_is_inter(parent) ? 2 : 1;
}

void ompi_birth_of_group(ompi_birth_t *birth, ompi_communicator_t *over, ompi_group_t *group,
                         int tag)
{
    birth->agreement.exchange.side = ompi_side_of_group(over, group, tag);
    birth->agreement.wanted = 1;
}

/* Gives the communicator its contexts; those it does not take go back. */
static int form(ompi_birth_t *birth)
{
    bool is_left = false;
    ompi_agreement_t *agreement = &birth->agreement;
    int error = birth->form != NULL ? birth->form(birth, &is_left) : MPI_SUCCESS;
    if (error == MPI_SUCCESS && !is_left && birth->comm != NULL)
        error = ompi_comm_begin(birth->comm, agreement->ids[0], agreement->ids[1]);
    if (error != MPI_SUCCESS || is_left)
        ompi_agree_give_back(agreement);
    if (is_left) {
        ompi_object_release(&birth->comm->head);
        birth->comm = NULL;
    }
    return error;
}

/* The agreement has ended. */
static void born(ompi_agreement_t *agreement)
{
    ompi_birth_t *birth = opal_container_of(agreement, ompi_birth_t, agreement);
    int error = agreement->error != MPI_SUCCESS ? agreement->error : form(birth);
    if (birth->error == MPI_SUCCESS)
        birth->error = error;
    ompi_object_release(&birth->parent->head);
    birth->request.status.MPI_ERROR = birth->error >= 0 ? birth->error : MPI_ERR_OTHER;
    ompi_request_complete(&birth->request); /* may free it */
}

void ompi_birth_begin(ompi_birth_t *birth)
{
    birth->agreement.done = born;
    birth->agreement.exchange.ballot.failure = birth->error != MPI_SUCCESS;
    ompi_agree_begin(&birth->agreement);
}

int ompi_birth_run(ompi_birth_t *birth, ompi_communicator_t **result)
{
    static const ompi_request_ops_t nothing;
    ompi_request_t *request = &birth->request;
    ompi_lock();
    ompi_request_init_bare(request, &nothing, NULL);
    ompi_birth_begin(birth);
    ompi_request_wait(&request, 1, 1);
    ompi_unlock();
    if (birth->error == MPI_SUCCESS) {
        *result = birth->comm;
        return MPI_SUCCESS;
    }
    if (birth->comm != NULL) {
        ompi_attributes_delete_all(&birth->comm->head);
        ompi_attributes_forget_all(&birth->comm->head); /* if a callback did not want to */
        ompi_object_release(&birth->comm->head);        /* it has not begun, so without the lock */
    }
    return birth->error;
}

int ompi_birth_set_string(ompi_birth_t *birth, const char *stringtag)
{
    uint64_t check = opal_hash_text(UINT64_C(0x9e3779b97f4a7c15), stringtag);
    birth->agreement.exchange.ballot.least = birth->agreement.exchange.ballot.most = check;
    uint64_t hash = opal_hash_text(OPAL_HASH_START, stringtag);
    return ompi_exchange_string_tag(hash ^ hash >> 32);
}
