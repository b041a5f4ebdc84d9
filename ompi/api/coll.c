/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter coll that move data; coll_reduce.c has the reductions. Each operation has a
 * function that makes a call of the arguments, and a body for each form of the operation.
 */
#include "ompi/api/coll.h"

#include "ompi/api/bodies.h"
#include "ompi/runtime/params.h"

static int run(const ompi_coll_call_t *call)
{
    ompi_lock();
    int error = ompi_coll_run(call);
    ompi_unlock();
    return error;
}

/* A tool wants to know of collectives. */
OPAL_NOINLINE static int run_observed(const ompi_coll_call_t *call)
{
    ompi_event_collective_t event = ompi_coll_describe(call, OMPI_EVENT_BLOCKING);
    event.number = ompi_event_number();
    if (ompi_event_is_wanted(OMPI_EVENT_COLLECTIVE_BEGUN))
        ompi_event_raise(OMPI_EVENT_COLLECTIVE_BEGUN, OMPI_EVENT_UNLOCKED, call->comm, &event);
    event.error = run(call);
    if (ompi_event_is_wanted(OMPI_EVENT_COLLECTIVE_ENDED))
        ompi_event_raise(OMPI_EVENT_COLLECTIVE_ENDED, OMPI_EVENT_UNLOCKED, call->comm, &event);
    return event.error;
}

int ompi_api_coll_run(const ompi_coll_call_t *call)
{
    int error = ompi_params_check() ? ompi_api_coll_check(call) : MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        return error;
    return ompi_event_is_either_wanted(OMPI_EVENT_COLLECTIVE_BEGUN, OMPI_EVENT_COLLECTIVE_ENDED)
               ? run_observed(call)
               : run(call);
}

int ompi_api_coll_begin(const ompi_coll_call_t *call, ompi_request_t **request)
{
    int error = ompi_params_check() ? ompi_api_coll_check(call) : MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    error = ompi_coll_begin(call, request);
    ompi_unlock();
    return error;
}

/* No hint means anything to Mica. */
int ompi_api_coll_prepare(const ompi_coll_call_t *call, ompi_request_t **request)
{
    int error = ompi_params_check() ? ompi_api_coll_check(call) : MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    error = ompi_coll_prepare(call, request);
    ompi_unlock();
    return error;
}

static ompi_coll_call_t barrier_call(ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_BARRIER, comm);
    return call;
}

int ompi_api_barrier(ompi_communicator_t *comm)
{
    ompi_coll_call_t call = barrier_call(comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ibarrier(ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call = barrier_call(comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_barrier_init(ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                          ompi_request_t **request)
{
    ompi_coll_call_t call = barrier_call(comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t bcast_call(void *buffer, MPI_Count count, ompi_datatype_t *datatype,
                                   int root, ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_BCAST, comm);
    ompi_api_set_side(&call.recv, buffer, count, datatype);
    call.root = root;
    return call;
}

int ompi_api_bcast(void *buffer, MPI_Count count, ompi_datatype_t *datatype, int root,
                   ompi_communicator_t *comm)
{
    ompi_coll_call_t call = bcast_call(buffer, count, datatype, root, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ibcast(void *buffer, MPI_Count count, ompi_datatype_t *datatype, int root,
                    ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call = bcast_call(buffer, count, datatype, root, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_bcast_init(void *buffer, MPI_Count count, ompi_datatype_t *datatype, int root,
                        ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                        ompi_request_t **request)
{
    ompi_coll_call_t call = bcast_call(buffer, count, datatype, root, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t gather_call(const void *sendbuf, MPI_Count sendcount,
                                    ompi_datatype_t *sendtype, void *recvbuf, MPI_Count recvcount,
                                    ompi_datatype_t *recvtype, int root, ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_GATHER, comm);
    ompi_api_set_side(&call.send, sendbuf, sendcount, sendtype);
    ompi_api_set_side(&call.recv, recvbuf, recvcount, recvtype);
    call.root = root;
    return call;
}

int ompi_api_gather(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                    void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype, int root,
                    ompi_communicator_t *comm)
{
    ompi_coll_call_t call =
        gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_igather(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                     void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype, int root,
                     ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call =
        gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_gather_init(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                         void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype, int root,
                         ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                         ompi_request_t **request)
{
    ompi_coll_call_t call =
        gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t gatherv_call(const void *sendbuf, MPI_Count sendcount,
                                     ompi_datatype_t *sendtype, void *recvbuf,
                                     ompi_ints_t recvcounts, ompi_ints_t displs,
                                     ompi_datatype_t *recvtype, int root, ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_GATHERV, comm);
    ompi_api_set_side(&call.send, sendbuf, sendcount, sendtype);
    ompi_api_set_side_v(&call.recv, recvbuf, recvcounts, displs, recvtype);
    call.root = root;
    return call;
}

int ompi_api_gatherv(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                     void *recvbuf, ompi_ints_t recvcounts, ompi_ints_t displs,
                     ompi_datatype_t *recvtype, int root, ompi_communicator_t *comm)
{
    ompi_coll_call_t call = gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                         recvtype, root, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_igatherv(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                      void *recvbuf, ompi_ints_t recvcounts, ompi_ints_t displs,
                      ompi_datatype_t *recvtype, int root, ompi_communicator_t *comm,
                      ompi_request_t **request)
{
    ompi_coll_call_t call = gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                         recvtype, root, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_gatherv_init(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                          void *recvbuf, ompi_ints_t recvcounts, ompi_ints_t displs,
                          ompi_datatype_t *recvtype, int root, ompi_communicator_t *comm,
                          ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call = gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                         recvtype, root, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t scatter_call(const void *sendbuf, MPI_Count sendcount,
                                     ompi_datatype_t *sendtype, void *recvbuf, MPI_Count recvcount,
                                     ompi_datatype_t *recvtype, int root, ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_SCATTER, comm);
    ompi_api_set_side(&call.send, sendbuf, sendcount, sendtype);
    ompi_api_set_side(&call.recv, recvbuf, recvcount, recvtype);
    call.root = root;
    return call;
}

int ompi_api_scatter(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                     void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype, int root,
                     ompi_communicator_t *comm)
{
    ompi_coll_call_t call =
        scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_iscatter(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                      void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype, int root,
                      ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call =
        scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_scatter_init(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                          void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype, int root,
                          ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                          ompi_request_t **request)
{
    ompi_coll_call_t call =
        scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t scatterv_call(const void *sendbuf, ompi_ints_t sendcounts,
                                      ompi_ints_t displs, ompi_datatype_t *sendtype, void *recvbuf,
                                      MPI_Count recvcount, ompi_datatype_t *recvtype, int root,
                                      ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_SCATTERV, comm);
    ompi_api_set_side_v(&call.send, sendbuf, sendcounts, displs, sendtype);
    ompi_api_set_side(&call.recv, recvbuf, recvcount, recvtype);
    call.root = root;
    return call;
}

int ompi_api_scatterv(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t displs,
                      ompi_datatype_t *sendtype, void *recvbuf, MPI_Count recvcount,
                      ompi_datatype_t *recvtype, int root, ompi_communicator_t *comm)
{
    ompi_coll_call_t call = scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                          recvtype, root, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_iscatterv(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t displs,
                       ompi_datatype_t *sendtype, void *recvbuf, MPI_Count recvcount,
                       ompi_datatype_t *recvtype, int root, ompi_communicator_t *comm,
                       ompi_request_t **request)
{
    ompi_coll_call_t call = scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                          recvtype, root, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_scatterv_init(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t displs,
                           ompi_datatype_t *sendtype, void *recvbuf, MPI_Count recvcount,
                           ompi_datatype_t *recvtype, int root, ompi_communicator_t *comm,
                           ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call = scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                          recvtype, root, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t allgather_call(const void *sendbuf, MPI_Count sendcount,
                                       ompi_datatype_t *sendtype, void *recvbuf,
                                       MPI_Count recvcount, ompi_datatype_t *recvtype,
                                       ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_ALLGATHER, comm);
    ompi_api_set_side(&call.send, sendbuf, sendcount, sendtype);
    ompi_api_set_side(&call.recv, recvbuf, recvcount, recvtype);
    return call;
}

int ompi_api_allgather(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                       void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                       ompi_communicator_t *comm)
{
    ompi_coll_call_t call =
        allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_iallgather(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                        void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                        ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call =
        allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_allgather_init(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                            void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                            ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                            ompi_request_t **request)
{
    ompi_coll_call_t call =
        allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t allgatherv_call(const void *sendbuf, MPI_Count sendcount,
                                        ompi_datatype_t *sendtype, void *recvbuf,
                                        ompi_ints_t recvcounts, ompi_ints_t displs,
                                        ompi_datatype_t *recvtype, ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_ALLGATHERV, comm);
    ompi_api_set_side(&call.send, sendbuf, sendcount, sendtype);
    ompi_api_set_side_v(&call.recv, recvbuf, recvcounts, displs, recvtype);
    return call;
}

int ompi_api_allgatherv(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                        void *recvbuf, ompi_ints_t recvcounts, ompi_ints_t displs,
                        ompi_datatype_t *recvtype, ompi_communicator_t *comm)
{
    ompi_coll_call_t call =
        allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_iallgatherv(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                         void *recvbuf, ompi_ints_t recvcounts, ompi_ints_t displs,
                         ompi_datatype_t *recvtype, ompi_communicator_t *comm,
                         ompi_request_t **request)
{
    ompi_coll_call_t call =
        allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_allgatherv_init(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                             void *recvbuf, ompi_ints_t recvcounts, ompi_ints_t displs,
                             ompi_datatype_t *recvtype, ompi_communicator_t *comm,
                             ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_coll_call_t call =
        allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t alltoall_call(const void *sendbuf, MPI_Count sendcount,
                                      ompi_datatype_t *sendtype, void *recvbuf, MPI_Count recvcount,
                                      ompi_datatype_t *recvtype, ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_ALLTOALL, comm);
    ompi_api_set_side(&call.send, sendbuf, sendcount, sendtype);
    ompi_api_set_side(&call.recv, recvbuf, recvcount, recvtype);
    return call;
}

int ompi_api_alltoall(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                      void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                      ompi_communicator_t *comm)
{
    ompi_coll_call_t call =
        alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ialltoall(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                       void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                       ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call =
        alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_alltoall_init(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                           void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                           ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                           ompi_request_t **request)
{
    ompi_coll_call_t call =
        alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t alltoallv_call(const void *sendbuf, ompi_ints_t sendcounts,
                                       ompi_ints_t sdispls, ompi_datatype_t *sendtype,
                                       void *recvbuf, ompi_ints_t recvcounts, ompi_ints_t rdispls,
                                       ompi_datatype_t *recvtype, ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_ALLTOALLV, comm);
    ompi_api_set_side_v(&call.send, sendbuf, sendcounts, sdispls, sendtype);
    ompi_api_set_side_v(&call.recv, recvbuf, recvcounts, rdispls, recvtype);
    return call;
}

int ompi_api_alltoallv(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t sdispls,
                       ompi_datatype_t *sendtype, void *recvbuf, ompi_ints_t recvcounts,
                       ompi_ints_t rdispls, ompi_datatype_t *recvtype, ompi_communicator_t *comm)
{
    ompi_coll_call_t call = alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                           recvcounts, rdispls, recvtype, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ialltoallv(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t sdispls,
                        ompi_datatype_t *sendtype, void *recvbuf, ompi_ints_t recvcounts,
                        ompi_ints_t rdispls, ompi_datatype_t *recvtype, ompi_communicator_t *comm,
                        ompi_request_t **request)
{
    ompi_coll_call_t call = alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                           recvcounts, rdispls, recvtype, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_alltoallv_init(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t sdispls,
                            ompi_datatype_t *sendtype, void *recvbuf, ompi_ints_t recvcounts,
                            ompi_ints_t rdispls, ompi_datatype_t *recvtype,
                            ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                            ompi_request_t **request)
{
    ompi_coll_call_t call = alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                           recvcounts, rdispls, recvtype, comm);
    return ompi_api_coll_prepare(&call, request);
}

static ompi_coll_call_t alltoallw_call(const void *sendbuf, ompi_ints_t sendcounts,
                                       ompi_ints_t sdispls, const MPI_Datatype sendtypes[],
                                       void *recvbuf, ompi_ints_t recvcounts, ompi_ints_t rdispls,
                                       const MPI_Datatype recvtypes[], ompi_communicator_t *comm)
{
    ompi_coll_call_t call;
    ompi_api_make_call(&call, OMPI_ALLTOALLW, comm);
    ompi_api_set_side_w(&call.send, sendbuf, sendcounts, sdispls, sendtypes);
    ompi_api_set_side_w(&call.recv, recvbuf, recvcounts, rdispls, recvtypes);
    return call;
}

int ompi_api_alltoallw(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t sdispls,
                       const MPI_Datatype sendtypes[], void *recvbuf, ompi_ints_t recvcounts,
                       ompi_ints_t rdispls, const MPI_Datatype recvtypes[],
                       ompi_communicator_t *comm)
{
    ompi_coll_call_t call = alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                           recvcounts, rdispls, recvtypes, comm);
    return ompi_api_coll_run(&call);
}

int ompi_api_ialltoallw(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t sdispls,
                        const MPI_Datatype sendtypes[], void *recvbuf, ompi_ints_t recvcounts,
                        ompi_ints_t rdispls, const MPI_Datatype recvtypes[],
                        ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_coll_call_t call = alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                           recvcounts, rdispls, recvtypes, comm);
    return ompi_api_coll_begin(&call, request);
}

int ompi_api_alltoallw_init(const void *sendbuf, ompi_ints_t sendcounts, ompi_ints_t sdispls,
                            const MPI_Datatype sendtypes[], void *recvbuf, ompi_ints_t recvcounts,
                            ompi_ints_t rdispls, const MPI_Datatype recvtypes[],
                            ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                            ompi_request_t **request)
{
    ompi_coll_call_t call = alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                           recvcounts, rdispls, recvtypes, comm);
    return ompi_api_coll_prepare(&call, request);
}
