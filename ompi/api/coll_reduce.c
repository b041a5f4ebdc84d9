/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter coll that reduce: see coll.c. */
#include "ompi/api/bodies.h"
#include "ompi/api/coll.h"

static ompi_coll_call_t reduce_call(const void *sendbuf, void *recvbuf, MPI_Count count,
                                    ompi_datatype_t *datatype, ompi_op_t *op, int root,
                                    ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_REDUCE, comm);
    call.root = root;
    /* A rank that is idle may have given anything. */
    if (ompi_comm_is_idle(comm, root))
        return call;
    call.send.buffer = (void *)(uintptr_t)sendbuf;
    ompi_api_set_side(&call.recv, recvbuf, count, datatype);
    call.op = op;
    return call;
}

int ompi_api_reduce(const void *sendbuf, void *recvbuf, MPI_Count count, ompi_datatype_t *datatype,
                    ompi_op_t *op, int root, ompi_communicator_t *comm)
{
    ompi_coll_call_t call = reduce_call(sendbuf, recvbuf, count, datatype, op, root, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ireduce(const void *sendbuf, void *recvbuf, MPI_Count count, ompi_datatype_t *datatype,
                     ompi_op_t *op, int root, ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call = reduce_call(sendbuf, recvbuf, count, datatype, op, root, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_reduce_init(const void *sendbuf, void *recvbuf, MPI_Count count,
                         ompi_datatype_t *datatype, ompi_op_t *op, int root,
                         ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                         ompi_request_t **request)
{
    ompi_coll_call_t call = reduce_call(sendbuf, recvbuf, count, datatype, op, root, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t allreduce_call(const void *sendbuf, void *recvbuf, MPI_Count count,
                                       ompi_datatype_t *datatype, ompi_op_t *op,
                                       ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_ALLREDUCE, comm);
    ompi_api_set_side(&call.recv, recvbuf, count, datatype);
    call.send.buffer = (void *)(uintptr_t)sendbuf;
    call.op = op;
    return call;
}

int ompi_api_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                       ompi_datatype_t *datatype, ompi_op_t *op, ompi_communicator_t *comm)
{
    ompi_coll_call_t call = allreduce_call(sendbuf, recvbuf, count, datatype, op, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_iallreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                        ompi_datatype_t *datatype, ompi_op_t *op, ompi_communicator_t *comm,
                        ompi_request_t **request)
{
    ompi_coll_call_t call = allreduce_call(sendbuf, recvbuf, count, datatype, op, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_allreduce_init(const void *sendbuf, void *recvbuf, MPI_Count count,
                            ompi_datatype_t *datatype, ompi_op_t *op, ompi_communicator_t *comm,
                            ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call = allreduce_call(sendbuf, recvbuf, count, datatype, op, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t reduce_scatter_call(const void *sendbuf, void *recvbuf,
                                            ompi_ints_t recvcounts, ompi_datatype_t *datatype,
                                            ompi_op_t *op, ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_REDUCE_SCATTER, comm);
    call.send.buffer = (void *)(uintptr_t)sendbuf;
    ompi_api_set_side_v(&call.recv, recvbuf, recvcounts, (ompi_ints_t){0}, datatype);
    call.op = op;
    return call;
}

int ompi_api_reduce_scatter(const void *sendbuf, void *recvbuf, ompi_ints_t recvcounts,
                            ompi_datatype_t *datatype, ompi_op_t *op, ompi_communicator_t *comm)
{
    ompi_coll_call_t call = reduce_scatter_call(sendbuf, recvbuf, recvcounts, datatype, op, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ireduce_scatter(const void *sendbuf, void *recvbuf, ompi_ints_t recvcounts,
                             ompi_datatype_t *datatype, ompi_op_t *op, ompi_communicator_t *comm,
                             ompi_request_t **request)
{
    ompi_coll_call_t call = reduce_scatter_call(sendbuf, recvbuf, recvcounts, datatype, op, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_reduce_scatter_init(const void *sendbuf, void *recvbuf, ompi_ints_t recvcounts,
                                 ompi_datatype_t *datatype, ompi_op_t *op,
                                 ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                                 ompi_request_t **request)
{
    ompi_coll_call_t call = reduce_scatter_call(sendbuf, recvbuf, recvcounts, datatype, op, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t reduce_scatter_block_call(const void *sendbuf, void *recvbuf,
                                                  MPI_Count recvcount, ompi_datatype_t *datatype,
                                                  ompi_op_t *op, ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_REDUCE_SCATTER_BLOCK, comm);
    ompi_api_set_side(&call.recv, recvbuf, recvcount, datatype);
    call.send.buffer = (void *)(uintptr_t)sendbuf;
    call.op = op;
    return call;
}

int ompi_api_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                  ompi_datatype_t *datatype, ompi_op_t *op,
                                  ompi_communicator_t *comm)
{
    ompi_coll_call_t call =
        reduce_scatter_block_call(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ireduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                   ompi_datatype_t *datatype, ompi_op_t *op,
                                   ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call =
        reduce_scatter_block_call(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_reduce_scatter_block_init(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                       ompi_datatype_t *datatype, ompi_op_t *op,
                                       ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                                       ompi_request_t **request)
{
    ompi_coll_call_t call =
        reduce_scatter_block_call(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t scan_call(const void *sendbuf, void *recvbuf, MPI_Count count,
                                  ompi_datatype_t *datatype, ompi_op_t *op,
                                  ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_SCAN, comm);
    ompi_api_set_side(&call.recv, recvbuf, count, datatype);
    call.send.buffer = (void *)(uintptr_t)sendbuf;
    call.op = op;
    return call;
}

int ompi_api_scan(const void *sendbuf, void *recvbuf, MPI_Count count, ompi_datatype_t *datatype,
                  ompi_op_t *op, ompi_communicator_t *comm)
{
    ompi_coll_call_t call = scan_call(sendbuf, recvbuf, count, datatype, op, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_iscan(const void *sendbuf, void *recvbuf, MPI_Count count, ompi_datatype_t *datatype,
                   ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call = scan_call(sendbuf, recvbuf, count, datatype, op, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_scan_init(const void *sendbuf, void *recvbuf, MPI_Count count,
                       ompi_datatype_t *datatype, ompi_op_t *op, ompi_communicator_t *comm,
                       ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call = scan_call(sendbuf, recvbuf, count, datatype, op, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t exscan_call(const void *sendbuf, void *recvbuf, MPI_Count count,
                                    ompi_datatype_t *datatype, ompi_op_t *op,
                                    ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_EXSCAN, comm);
    ompi_api_set_side(&call.recv, recvbuf, count, datatype);
    call.send.buffer = (void *)(uintptr_t)sendbuf;
    call.op = op;
    return call;
}

int ompi_api_exscan(const void *sendbuf, void *recvbuf, MPI_Count count, ompi_datatype_t *datatype,
                    ompi_op_t *op, ompi_communicator_t *comm)
{
    ompi_coll_call_t call = exscan_call(sendbuf, recvbuf, count, datatype, op, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_iexscan(const void *sendbuf, void *recvbuf, MPI_Count count, ompi_datatype_t *datatype,
                     ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call = exscan_call(sendbuf, recvbuf, count, datatype, op, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_exscan_init(const void *sendbuf, void *recvbuf, MPI_Count count,
                         ompi_datatype_t *datatype, ompi_op_t *op, ompi_communicator_t *comm,
                         ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call = exscan_call(sendbuf, recvbuf, count, datatype, op, comm);
    return ompi_api_coll_prepare(&call, request);
}
