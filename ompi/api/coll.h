/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the bodies of collectives: they make a call (ompi/mca/coll/coll.h) of their arguments,
 * which is checked and carried out in one of three forms.
 */
#ifndef OMPI_API_COLL_H
#define OMPI_API_COLL_H

#include "ompi/mca/coll/coll.h"

/* Checks that relate several arguments; in coll_check.c. MPI_SUCCESS, or an error with a detail. */
int ompi_api_coll_check(const ompi_coll_call_t *call);

/* MPI_ERR_OP with a detail: the predefined operation is not valid for the datatype. */
int ompi_api_wrong_op(const ompi_op_t *op, const ompi_datatype_t *type);

int ompi_api_coll_run(const ompi_coll_call_t *call);
int ompi_api_coll_begin(const ompi_coll_call_t *call, ompi_request_t **request);
int ompi_api_coll_prepare(const ompi_coll_call_t *call, ompi_request_t **request);

/* Sets a side to blocks of equal size, or to all data of one rank. Each field is stored by itself,
 * here and below: compilers clear and copy structures of this size by instructions that take longer
 * than all else that a body does. */
static inline void ompi_api_set_side(ompi_coll_side_t *side, const void *buffer, MPI_Count count,
                                     ompi_datatype_t *type)
{
    side->buffer = (void *)(uintptr_t)buffer;
    side->count = count;
    side->type = type;
    side->counts.items = side->displs.items = NULL;
    side->counts.wide = side->displs.wide = false;
    side->types = NULL;
}

/* The same for the v and w forms. */
static inline void ompi_api_set_side_v(ompi_coll_side_t *side, const void *buffer,
                                       ompi_ints_t counts, ompi_ints_t displs,
                                       ompi_datatype_t *type)
{
    ompi_api_set_side(side, buffer, 0, type);
    side->counts = counts;
    side->displs = displs;
}

static inline void ompi_api_set_side_w(ompi_coll_side_t *side, const void *buffer,
                                       ompi_ints_t counts, ompi_ints_t displs,
                                       const MPI_Datatype types[])
{
    ompi_api_set_side_v(side, buffer, counts, displs, NULL);
    side->types = types;
}

/* Makes a call without data. */
static inline void ompi_api_make_call(ompi_coll_call_t *call, ompi_coll_kind_t kind,
                                      ompi_communicator_t *comm)
{
    call->kind = kind;
    call->comm = comm;
    ompi_api_set_side(&call->send, NULL, 0, NULL);
    ompi_api_set_side(&call->recv, NULL, 0, NULL);
    call->op = NULL;
    call->root = 0;
    call->error = MPI_SUCCESS;
}

#endif
