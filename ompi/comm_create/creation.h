/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the functions of create.h are made of: an agreement, and what becomes of the communicator
 * when it ends.
 *
 * Threading: under the message lock, where nothing else is said.
 */
#ifndef OMPI_COMM_CREATE_CREATION_H
#define OMPI_COMM_CREATE_CREATION_H

#include "ompi/comm_create/context_id_agree.h"
#include "ompi/comm_create/create.h"

typedef struct ompi_comm_creation {
    ompi_context_id_agreement_t agreement;
    ompi_communicator_t *parent; /* the creation retains it */
    ompi_communicator_t *comm;   /* NULL: this process will not be in one */
    int error;                   /* of this process: before, and then of all */

    /* Completes the groups of comm from what was exchanged; or NULL. *is_left: it is not needed, as
     * nobody is on the other side. */
    int (*form)(struct ompi_comm_creation *creation, bool *is_left);
    ompi_request_t request;
} ompi_comm_creation_t;

/* All of the rest is zero. Takes the reference to comm, if there is one. */
void ompi_comm_creation_init(ompi_comm_creation_t *creation, ompi_communicator_t *parent,
                             ompi_communicator_t *comm);

/* The members are all of parent, on both sides if it has two. */
void ompi_comm_creation_of_all(ompi_comm_creation_t *creation);

/* The members are a group, this process among them. */
void ompi_comm_creation_of_group(ompi_comm_creation_t *creation, ompi_communicator_t *over,
                                 ompi_group_t *group, int tag);

/* Runs until the request completes. The request is set up. */
void ompi_comm_creation_begin(ompi_comm_creation_t *creation);

/* Runs and waits. Returns the result as create.h says; on an error, what was copied is deleted and
 * comm released. Takes the lock. */
int ompi_comm_creation_run(ompi_comm_creation_t *creation, ompi_communicator_t **result);

/* What functions with a stringtag have as a tag, and what all who give the same one have alike. */
int ompi_comm_creation_set_string(ompi_comm_creation_t *creation, const char *stringtag);

#endif
