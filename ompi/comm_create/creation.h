/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the functions of create.h share: an agreement on context ids, and the communicator that
 * begins when the agreement has ended.
 *
 * Threading: under the message lock, unless a function says otherwise.
 */
#ifndef OMPI_COMM_CREATE_CREATION_H
#define OMPI_COMM_CREATE_CREATION_H

#include "ompi/comm_create/context_id_agree.h"
#include "ompi/comm_create/create.h"

typedef struct ompi_comm_creation {
    ompi_context_id_agreement_t agreement;
    ompi_communicator_t *parent; /* the creation retains it */
    ompi_communicator_t *comm;   /* NULL: this process is not a member */
    int error;                   /* of this process before the agreement; then of all */

    /* Sets the groups of comm from what was exchanged; NULL: they are set already. *is_left: comm
     * is not needed, because the other side has no members. */
    int (*form)(struct ompi_comm_creation *creation, bool *is_left);
    ompi_request_t request;
    uint64_t number; /* among the calls of the parent; 0: it is not a call of all its ranks */
} ompi_comm_creation_t;

/* Sets all other fields to zero. Takes the reference to comm, which may be NULL. */
void ompi_comm_creation_init(ompi_comm_creation_t *creation, ompi_communicator_t *parent,
                             ompi_communicator_t *comm);

/* The members are all processes of parent, on both sides of an intercommunicator. */
void ompi_comm_creation_of_all(ompi_comm_creation_t *creation);

/* The members are those of the group, to which this process belongs. */
void ompi_comm_creation_of_group(ompi_comm_creation_t *creation, ompi_communicator_t *over,
                                 ompi_group_t *group, int tag);

/* Begins. The caller has initialized the request, which completes at the end. */
void ompi_comm_creation_begin(ompi_comm_creation_t *creation);

/* For the slot of the same name of the request's operations. */
void ompi_comm_creation_describe(const ompi_request_t *request,
                                 struct ompi_description *description);

/* Begins and waits. Returns what the functions of create.h return; on an error, the attributes of
 * comm are deleted and comm is released. Takes the message lock. */
int ompi_comm_creation_run(ompi_comm_creation_t *creation, ompi_communicator_t **result);

/* Sets what all members compare to a hash of the stringtag; returns the tag of its messages. */
int ompi_comm_creation_set_string(ompi_comm_creation_t *creation, const char *stringtag);

#endif
