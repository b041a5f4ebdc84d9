/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An edge is sent as two packets, one to each end, in log2(size) steps: in step k a packet moves on
 * by 2^k ranks if bit k of its distance is set. No process holds the whole graph, or talks to all
 * others.
 */
#include "ompi/comm_create/dist.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/comm_create/exchange.h"
#include "ompi/request/request.h"

typedef struct packet {
    int to;   /* an end of the edge */
    int peer; /* the other one */
    int weight;
    int is_out;        /* `to` is where the edge begins */
    int origin, index; /* the rank that gave the edge, and the index of the edge there */
} packet_t;

typedef struct packets {
    packet_t *items;
    size_t count, capacity;
    bool has_failed; /* no memory here, or in a process that packets come from */
} packets_t;

#define FAILED SIZE_MAX

static bool reserve(packets_t *packets, size_t more)
{
    if (packets->count + more <= packets->capacity)
        return packets->items != NULL;
    size_t capacity = 2 * (packets->count + more);
    packet_t *items = realloc(packets->items, capacity * sizeof *items);
    if (items == NULL)
        return false;
    packets->items = items;
    packets->capacity = capacity;
    return true;
}

/* Moves those that take this step to the end; returns how many stay. */
static size_t sort_out(packets_t *packets, packet_t *leaving, const ompi_side_t *side, int distance)
{
    size_t staying = 0, leave = 0;
    for (size_t i = 0; i < packets->count; i++) {
        int way = (packets->items[i].to - side->index + side->size) % side->size;
        if ((way & distance) != 0)
            leaving[leave++] = packets->items[i];
        else
            packets->items[staying++] = packets->items[i];
    }
    return staying;
}

/*
 * Under the message lock. A process without memory sends FAILED instead of a number of packets: the
 * receiver waits for no packets, and fails, too. The process without memory discards what it gets.
 */
static int step(packets_t *packets, const ompi_side_t *side, int distance)
{
    packet_t *leaving = NULL;
    size_t staying = 0, leave = FAILED, coming = FAILED;
    if (!packets->has_failed)
        leaving = malloc((packets->count + 1) * sizeof *leaving);
    if (leaving != NULL) {
        staying = sort_out(packets, leaving, side, distance);
        leave = packets->count - staying;
        packets->count = staying;
    }
    int error = ompi_side_shift(side, distance, &leave, sizeof leave, &coming, sizeof coming);
    packets->has_failed |= leave == FAILED || coming == FAILED || !reserve(packets, coming);
    if (error == MPI_SUCCESS) {
        size_t room = packets->has_failed ? 0 : coming;
        error = ompi_side_shift(
            side, distance, leaving, leave != FAILED ? leave * sizeof *leaving : 0,
            packets->has_failed ? NULL : packets->items + staying, room * sizeof *leaving);
        packets->count += room;
    }
    free(leaving);
    return packets->has_failed && error == MPI_ERR_TRUNCATE ? MPI_SUCCESS : error;
}

static int compare(const void *first, const void *second)
{
    const packet_t *a = first, *b = second;
    if (a->is_out != b->is_out)
        return a->is_out - b->is_out;
    if (a->origin != b->origin)
        return a->origin < b->origin ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static bool make_packets(packets_t *packets, const ompi_edge_t edges[], size_t count, int origin)
{
    if (!reserve(packets, 2 * count + 1))
        return false;
    for (size_t i = 0; i < count; i++) {
        const ompi_edge_t *edge = &edges[i];
        packets->items[packets->count++] =
            (packet_t){edge->source, edge->destination, edge->weight, true, origin, (int)i};
        packets->items[packets->count++] =
            (packet_t){edge->destination, edge->source, edge->weight, false, origin, (int)i};
    }
    return true;
}

/* Sorted packets, all of them for this process, as a topology. */
static ompi_topology_t *unpack(const packets_t *packets, bool is_weighted)
{
    size_t in = 0, count = packets->count;
    ompi_topology_t *topology = NULL;
    int *peers = malloc((count + 1) * sizeof *peers),
        *weights = malloc((count + 1) * sizeof *peers);
    for (size_t i = 0; peers != NULL && weights != NULL && i < count; i++) {
        in += !packets->items[i].is_out;
        peers[i] = packets->items[i].peer;
        weights[i] = packets->items[i].weight;
    }
    if (peers != NULL && weights != NULL)
        topology = ompi_dist_create_adjacent((int)in, peers, is_weighted ? weights : NULL,
                                             (int)(count - in), peers + in,
                                             is_weighted ? weights + in : NULL);
    free(peers);
    free(weights);
    return topology;
}

int ompi_dist_create(ompi_communicator_t *comm, const ompi_edge_t edges[], size_t count,
                     bool is_weighted, ompi_topology_t **topology)
{
    packets_t packets = {0};
    packets.has_failed = edges == NULL || !make_packets(&packets, edges, count, comm->rank);
    int error = MPI_SUCCESS;
    ompi_lock();
    ompi_side_t side = ompi_side_of(comm, ompi_exchange_next_tag(comm));
    for (int distance = 1; distance < side.size && error == MPI_SUCCESS; distance *= 2)
        error = step(&packets, &side, distance);
    ompi_unlock();
    if (error == MPI_SUCCESS && packets.has_failed)
        error = MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS) {
        qsort(packets.items, packets.count, sizeof *packets.items, compare);
        *topology = unpack(&packets, is_weighted);
        error = *topology != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    free(packets.items);
    return error;
}

/* NULL: no memory, or nothing to copy from. */
static int *copy_of(const int items[], int count)
{
    int *copy = items != NULL ? malloc(((size_t)count + 1) * sizeof *copy) : NULL;
    if (copy != NULL && count > 0)
        memcpy(copy, items, (size_t)count * sizeof *copy);
    return copy;
}

ompi_topology_t *ompi_dist_create_adjacent(int in, const int sources[], const int source_weights[],
                                           int out, const int destinations[],
                                           const int destination_weights[])
{
    static const int nothing;
    ompi_topology_t *topology = ompi_topology_create(OMPI_DIST_GRAPH);
    if (topology == NULL)
        return NULL;
    topology->of.dist.in = in;
    topology->of.dist.out = out;
    topology->of.dist.sources = copy_of(in > 0 ? sources : &nothing, in);
    topology->of.dist.destinations = copy_of(out > 0 ? destinations : &nothing, out);
    topology->of.dist.source_weights = copy_of(source_weights, in);
    topology->of.dist.destination_weights = copy_of(destination_weights, out);
    bool is_whole = topology->of.dist.sources != NULL && topology->of.dist.destinations != NULL &&
                    (source_weights == NULL || topology->of.dist.source_weights != NULL) &&
                    (destination_weights == NULL || topology->of.dist.destination_weights != NULL);
    if (is_whole)
        return topology;
    ompi_topology_release(topology);
    return NULL;
}
