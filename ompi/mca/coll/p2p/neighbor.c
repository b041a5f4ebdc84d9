/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives: linear, degree (a + m b). All messages are in one round. On a node
 * coll/sm carries out blocking and persistent calls.
 *
 * Two ranks may be neighbours more than once, and messages between them match in the order in which
 * they were sent. In a graph the first edge of the sender matches the first one of the receiver. In
 * a grid a message that is sent up comes from below. So in each dimension a rank sends to its upper
 * neighbour first, and receives from its lower neighbour first.
 */
#include "ompi/mca/coll/p2p/p2p.h"

#include "ompi/topology/topology.h"

static ompi_data_t block_to_send(const ompi_coll_call_t *call, int i)
{
    bool gathers = call->kind == OMPI_NEIGHBOR_ALLGATHER || call->kind == OMPI_NEIGHBOR_ALLGATHERV;
    return gathers ? ompi_coll_whole(&call->send) : ompi_coll_block(&call->send, i);
}

int p2p_neighbor_linear(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    const ompi_topology_t *topology = call->comm->topology;
    int in, out;
    ompi_topology_degrees(topology, schedule->rank, &in, &out);
    int *sources = ompi_schedule_memory(schedule, (size_t)in * sizeof *sources);
    int *targets = ompi_schedule_memory(schedule, (size_t)out * sizeof *targets);
    if (sources == NULL || targets == NULL)
        return MPI_ERR_NO_MEM;
    ompi_topology_neighbors(topology, schedule->rank, sources, targets);
    for (int i = 0; i < out; i++) {
        int edge = topology->kind == OMPI_CART ? i ^ 1 : i;
        if (targets[edge] != MPI_PROC_NULL)
            ompi_coll_send(schedule, targets[edge], block_to_send(call, edge));
    }
    for (int i = 0; i < in; i++) {
        if (sources[i] != MPI_PROC_NULL)
            ompi_coll_recv(schedule, sources[i], ompi_coll_block(&call->recv, i));
    }
    return MPI_SUCCESS;
}
