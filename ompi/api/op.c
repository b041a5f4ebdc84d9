/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter op. */
#include "ompi/api/bodies.h"

int ompi_api_op_create(ompi_op_fn_t user_fn, int commute, ompi_op_t **op)
{
    *op = ompi_op_create(user_fn, commute != 0);
    return *op != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int ompi_api_op_free(ompi_op_t **op)
{
    if (ompi_op_is_predefined(*op))
        return ompi_api_explain(MPI_ERR_OP, "A predefined operation cannot be freed.");
    ompi_object_release(&(*op)->head);
    *op = NULL;
    return MPI_SUCCESS;
}

int ompi_api_op_commutative(ompi_op_t *op, int *commute)
{
    *commute = ompi_op_is_commutative(op);
    return MPI_SUCCESS;
}

int ompi_api_reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count,
                          ompi_datatype_t *datatype, ompi_op_t *op)
{
    if (!ompi_op_is_valid_for(op, datatype))
        return ompi_api_explain(MPI_ERR_OP, "The operation is not defined for this datatype.");
    if (count == 0)
        return MPI_SUCCESS;
    if (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE || inbuf == inoutbuf)
        return ompi_api_explain(MPI_ERR_BUFFER, "Both buffers are needed, and different ones.");
    if (ompi_op_is_predefined(op) && (inbuf == NULL || inoutbuf == NULL))
        return ompi_api_explain(MPI_ERR_BUFFER, "A buffer is NULL.");
    ompi_op_reduce(op, inbuf, inoutbuf, (size_t)count, datatype);
    return MPI_SUCCESS;
}
