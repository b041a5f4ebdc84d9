/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter neighbor: see coll.c. */
#include "ompi/api/bodies.h"
#include "ompi/api/coll.h"

static ompi_coll_call_t neighbor_allgather_call(const void *sendbuf, MPI_Count sendcount,
                                                ompi_datatype_t *sendtype, void *recvbuf,
                                                MPI_Count recvcount, ompi_datatype_t *recvtype,
                                                ompi_communicator_t *comm)
{
    return (ompi_coll_call_t){.kind = OMPI_NEIGHBOR_ALLGATHER,
                              .comm = comm,
                              .send = ompi_api_side(sendbuf, sendcount, sendtype),
                              .recv = ompi_api_side(recvbuf, recvcount, recvtype)};
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
    return (ompi_coll_call_t){.kind = OMPI_NEIGHBOR_ALLGATHERV,
                              .comm = comm,
                              .send = ompi_api_side(sendbuf, sendcount, sendtype),
                              .recv = ompi_api_side_v(recvbuf, recvcounts, displs, recvtype)};
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
    return (ompi_coll_call_t){.kind = OMPI_NEIGHBOR_ALLTOALL,
                              .comm = comm,
                              .send = ompi_api_side(sendbuf, sendcount, sendtype),
                              .recv = ompi_api_side(recvbuf, recvcount, recvtype)};
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
    return (ompi_coll_call_t){.kind = OMPI_NEIGHBOR_ALLTOALLV,
                              .comm = comm,
                              .send = ompi_api_side_v(sendbuf, sendcounts, sdispls, sendtype),
                              .recv = ompi_api_side_v(recvbuf, recvcounts, rdispls, recvtype)};
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
    return (ompi_coll_call_t){
        .kind = OMPI_NEIGHBOR_ALLTOALLW,
        .comm = comm,
        .send = ompi_api_side_w(sendbuf, sendcounts, ompi_ints_large(sdispls), sendtypes),
        .recv = ompi_api_side_w(recvbuf, recvcounts, ompi_ints_large(rdispls), recvtypes)};
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
