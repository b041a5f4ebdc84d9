/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter op. */
#include <stdio.h>

#include "ompi/api/bodies.h"
#include "ompi/api/coll.h"

int ompi_api_op_create(ompi_op_fn_t user_fn, int commute, ompi_op_t **op)
{
    *op = ompi_op_create(user_fn, commute != 0);
    return *op != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int ompi_api_op_free(ompi_op_t **op)
{
    if (ompi_op_is_predefined(*op))
        return ompi_api_set_error_detail(MPI_ERR_OP, "A predefined operation cannot be freed.");
    ompi_object_release(&(*op)->head);
    *op = NULL;
    return MPI_SUCCESS;
}

int ompi_api_op_commutative(ompi_op_t *op, int *commute)
{
    *commute = ompi_op_is_commutative(op);
    return MPI_SUCCESS;
}

/* "MPI_INT", or what the program has called it, or what it is made of. */
static void describe_type(const ompi_datatype_t *type, char text[], size_t size)
{
    char name[MPI_MAX_OBJECT_NAME] = "several types";
    const ompi_datatype_t *element = ompi_datatype_element(type);
    ompi_datatype_get_name(type, text);
    if (*text != 0)
        return;
    if (element != NULL)
        ompi_datatype_get_name(element, name);
    snprintf(text, size, "a derived datatype of %s", name);
}

int ompi_api_wrong_op(const ompi_op_t *op, const ompi_datatype_t *type)
{
    static _Thread_local char detail[128 + MPI_MAX_OBJECT_NAME];
    char name[64 + MPI_MAX_OBJECT_NAME];
    describe_type(type, name, sizeof name);
    snprintf(detail, sizeof detail, "%s is not defined for %s.", op->name, name);
    return ompi_api_set_error_detail(MPI_ERR_OP, detail);
}

int ompi_api_reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count,
                          ompi_datatype_t *datatype, ompi_op_t *op)
{
    if (!ompi_op_is_valid_for(op, datatype))
        return ompi_api_wrong_op(op, datatype);
    if (count == 0)
        return MPI_SUCCESS;
    if (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE || inbuf == inoutbuf)
        return ompi_api_set_error_detail(MPI_ERR_BUFFER,
                                         "Both buffers are needed, and different ones.");
    bool is_bottom = ompi_datatype_true_lb(datatype) != 0; /* NULL may be MPI_BOTTOM */
    if (ompi_op_is_predefined(op) && !is_bottom && (inbuf == NULL || inoutbuf == NULL))
        return ompi_api_set_error_detail(MPI_ERR_BUFFER, "A buffer is NULL.");
    ompi_op_reduce(op, inbuf, inoutbuf, (size_t)count, datatype);
    return MPI_SUCCESS;
}
