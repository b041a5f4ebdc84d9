/* SPDX-License-Identifier: BSD-3-Clause */
/* By collectives of the communicator. */
#include "ompi/mca/osc/base/exchange.h"

#include "ompi/handle/handle.h"
#include "ompi/mca/coll/coll.h"

static int run(ompi_coll_call_t *call)
{
    ompi_lock();
    int error = ompi_coll_run(call);
    ompi_unlock();
    return error;
}

int ompi_osc_exchange(ompi_communicator_t *comm, const void *own, size_t bytes, void *all)
{
    ompi_datatype_t *byte = ompi_datatype_of(MPI_BYTE);
    return run(&(ompi_coll_call_t){
        .kind = OMPI_ALLGATHER,
        .comm = comm,
        .send = {(void *)(uintptr_t)own, (MPI_Count)bytes, byte, {0}, {0}, NULL},
        .recv = {all, (MPI_Count)bytes, byte, {0}, {0}, NULL}});
}

int ompi_osc_maximum(ompi_communicator_t *comm, uint64_t *values, size_t count)
{
    return run(&(ompi_coll_call_t){
        .kind = OMPI_ALLREDUCE,
        .comm = comm,
        .send = {MPI_IN_PLACE, 0, NULL, {0}, {0}, NULL},
        .recv = {values, (MPI_Count)count, ompi_datatype_of(MPI_UINT64_T), {0}, {0}, NULL},
        .op = ompi_handle_object(MPI_MAX)});
}
