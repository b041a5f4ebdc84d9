/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter neighbor: see coll.c. */
#include "ompi/api/bodies.h"
#include "ompi/api/coll.h"

static ompi_coll_call_t neighbor_allgather_call(const void *sendbuf, MPI_Count sendcount,
                                                ompi_datatype_t *sendtype, void *recvbuf,
                                                MPI_Count recvcount, ompi_datatype_t *recvtype,
                                                ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_NEIGHBOR_ALLGATHER, comm);
    ompi_api_set_side(&call.send, sendbuf, sendcount, sendtype);
    ompi_api_set_side(&call.recv, recvbuf, recvcount, recvtype);
    return call;
}

int ompi_api_neighbor_allgather(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                                void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                                ompi_communicator_t *comm)
{
    ompi_coll_call_t call =
        neighbor_allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ineighbor_allgather(const void *sendbuf, MPI_Count sendcount,
                                 ompi_datatype_t *sendtype, void *recvbuf, MPI_Count recvcount,
                                 ompi_datatype_t *recvtype, ompi_communicator_t *comm,
                                 ompi_request_t **request)
{
    ompi_coll_call_t call =
        neighbor_allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_neighbor_allgather_init(const void *sendbuf, MPI_Count sendcount,
                                     ompi_datatype_t *sendtype, void *recvbuf, MPI_Count recvcount,
                                     ompi_datatype_t *recvtype, ompi_communicator_t *comm,
                                     ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call =
        neighbor_allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t neighbor_allgatherv_call(const void *sendbuf, MPI_Count sendcount,
                                                 ompi_datatype_t *sendtype, void *recvbuf,
                                                 ompi_ints_t recvcounts, ompi_ints_t displs,
                                                 ompi_datatype_t *recvtype,
                                                 ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_NEIGHBOR_ALLGATHERV, comm);
    ompi_api_set_side(&call.send, sendbuf, sendcount, sendtype);
    ompi_api_set_side_v(&call.recv, recvbuf, recvcounts, displs, recvtype);
    return call;
}

int ompi_api_neighbor_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                 ompi_datatype_t *sendtype, void *recvbuf, ompi_ints_t recvcounts,
                                 ompi_ints_t displs, ompi_datatype_t *recvtype,
                                 ompi_communicator_t *comm)
{
    ompi_coll_call_t call = neighbor_allgatherv_call(sendbuf, sendcount, sendtype, recvbuf,
                                                     recvcounts, displs, recvtype, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ineighbor_allgatherv(const void *sendbuf, MPI_Count sendcount,
                                  ompi_datatype_t *sendtype, void *recvbuf, ompi_ints_t recvcounts,
                                  ompi_ints_t displs, ompi_datatype_t *recvtype,
                                  ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call = neighbor_allgatherv_call(sendbuf, sendcount, sendtype, recvbuf,
                                                     recvcounts, displs, recvtype, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_neighbor_allgatherv_init(const void *sendbuf, MPI_Count sendcount,
                                      ompi_datatype_t *sendtype, void *recvbuf,
                                      ompi_ints_t recvcounts, ompi_ints_t displs,
                                      ompi_datatype_t *recvtype, ompi_communicator_t *comm,
                                      ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call = neighbor_allgatherv_call(sendbuf, sendcount, sendtype, recvbuf,
                                                     recvcounts, displs, recvtype, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t neighbor_alltoall_call(const void *sendbuf, MPI_Count sendcount,
                                               ompi_datatype_t *sendtype, void *recvbuf,
                                               MPI_Count recvcount, ompi_datatype_t *recvtype,
                                               ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_NEIGHBOR_ALLTOALL, comm);
    ompi_api_set_side(&call.send, sendbuf, sendcount, sendtype);
    ompi_api_set_side(&call.recv, recvbuf, recvcount, recvtype);
    return call;
}

int ompi_api_neighbor_alltoall(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                               void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                               ompi_communicator_t *comm)
{
    ompi_coll_call_t call =
        neighbor_alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ineighbor_alltoall(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                                void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                                ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call =
        neighbor_alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_neighbor_alltoall_init(const void *sendbuf, MPI_Count sendcount,
                                    ompi_datatype_t *sendtype, void *recvbuf, MPI_Count recvcount,
                                    ompi_datatype_t *recvtype, ompi_communicator_t *comm,
                                    ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call =
        neighbor_alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t neighbor_alltoallv_call(const void *sendbuf, ompi_ints_t sendcounts,
                                                ompi_ints_t sdispls, ompi_datatype_t *sendtype,
                                                void *recvbuf, ompi_ints_t recvcounts,
                                                ompi_ints_t rdispls, ompi_datatype_t *recvtype,
                                                ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_NEIGHBOR_ALLTOALLV, comm);
    ompi_api_set_side_v(&call.send, sendbuf, sendcounts, sdispls, sendtype);
    ompi_api_set_side_v(&call.recv, recvbuf, recvcounts, rdispls, recvtype);
    return call;
}

int ompi_api_neighbor_alltoallv(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t sdispls,
                                ompi_datatype_t *sendtype, void *recvbuf, ompi_ints_t recvcounts,
                                ompi_ints_t rdispls, ompi_datatype_t *recvtype,
                                ompi_communicator_t *comm)
{
    ompi_coll_call_t call = neighbor_alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                    recvcounts, rdispls, recvtype, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ineighbor_alltoallv(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t sdispls,
                                 ompi_datatype_t *sendtype, void *recvbuf, ompi_ints_t recvcounts,
                                 ompi_ints_t rdispls, ompi_datatype_t *recvtype,
                                 ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call = neighbor_alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                    recvcounts, rdispls, recvtype, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_neighbor_alltoallv_init(const void *sendbuf, ompi_ints_t sendcounts,
                                     ompi_ints_t sdispls, ompi_datatype_t *sendtype, void *recvbuf,
                                     ompi_ints_t recvcounts, ompi_ints_t rdispls,
                                     ompi_datatype_t *recvtype, ompi_communicator_t *comm,
                                     ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call = neighbor_alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                    recvcounts, rdispls, recvtype, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t neighbor_alltoallw_call(const void *sendbuf, ompi_ints_t sendcounts,
                                                const MPI_Aint sdispls[],
                                                const MPI_Datatype sendtypes[], void *recvbuf,
                                                ompi_ints_t recvcounts, const MPI_Aint rdispls[],
                                                const MPI_Datatype recvtypes[],
                                                ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_NEIGHBOR_ALLTOALLW, comm);
    ompi_api_set_side_w(&call.send, sendbuf, sendcounts, ompi_ints_large(sdispls), sendtypes);
    ompi_api_set_side_w(&call.recv, recvbuf, recvcounts, ompi_ints_large(rdispls), recvtypes);
    return call;
}

int ompi_api_neighbor_alltoallw(const void *sendbuf, ompi_ints_t sendcounts,
                                const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                void *recvbuf, ompi_ints_t recvcounts, const MPI_Aint rdispls[],
                                const MPI_Datatype recvtypes[], ompi_communicator_t *comm)
{
    ompi_coll_call_t call = neighbor_alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes,
                                                    recvbuf, recvcounts, rdispls, recvtypes, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ineighbor_alltoallw(const void *sendbuf, ompi_ints_t sendcounts,
                                 const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                 void *recvbuf, ompi_ints_t recvcounts, const MPI_Aint rdispls[],
                                 const MPI_Datatype recvtypes[], ompi_communicator_t *comm,
                                 ompi_request_t **request)
{
    ompi_coll_call_t call = neighbor_alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes,
                                                    recvbuf, recvcounts, rdispls, recvtypes, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_neighbor_alltoallw_init(const void *sendbuf, ompi_ints_t sendcounts,
                                     const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                     void *recvbuf, ompi_ints_t recvcounts,
                                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                     ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                                     ompi_request_t **request)
{
    ompi_coll_call_t call = neighbor_alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes,
                                                    recvbuf, recvcounts, rdispls, recvtypes, comm);
    return ompi_api_coll_prepare(&call, request);
}
