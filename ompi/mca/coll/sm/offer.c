/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of each kind of operation, and the exchange of offers. */
#include "ompi/mca/coll/sm/offer.h"

#include <stdlib.h>

#include "opal/mca/btl/btl.h"
#include "opal/node/region.h"
#include "ompi/topology/topology.h"

/* -- what kinds of operations are -------------------------------------------------------------- */

static const unsigned kinds[OMPI_COLL_KINDS] = {
    [OMPI_ALLGATHER] = SM_KIND_TAKEN | SM_KIND_ONE | SM_KIND_EXACT,
    [OMPI_ALLGATHERV] = SM_KIND_TAKEN | SM_KIND_ONE | SM_KIND_EXACT,
    [OMPI_ALLREDUCE] = SM_KIND_TAKEN | SM_KIND_EXACT,
    [OMPI_ALLTOALL] = SM_KIND_TAKEN | SM_KIND_EXACT,
    [OMPI_ALLTOALLV] = SM_KIND_TAKEN,
    [OMPI_ALLTOALLW] = SM_KIND_TAKEN,
    [OMPI_BARRIER] = SM_KIND_TAKEN,
    [OMPI_BCAST] = SM_KIND_TAKEN | SM_KIND_BY_ROOT | SM_KIND_ONE | SM_KIND_EXACT,
    [OMPI_GATHER] = SM_KIND_TAKEN | SM_KIND_TO_ROOT | SM_KIND_EXACT,
    [OMPI_GATHERV] = SM_KIND_TAKEN | SM_KIND_TO_ROOT,
    [OMPI_REDUCE] = SM_KIND_TAKEN | SM_KIND_TO_ROOT | SM_KIND_EXACT,
    [OMPI_REDUCE_SCATTER] = SM_KIND_TAKEN | SM_KIND_EXACT,
    [OMPI_REDUCE_SCATTER_BLOCK] = SM_KIND_TAKEN | SM_KIND_EXACT,
    [OMPI_SCATTER] = SM_KIND_TAKEN | SM_KIND_BY_ROOT | SM_KIND_EXACT,
    [OMPI_SCATTERV] = SM_KIND_TAKEN | SM_KIND_BY_ROOT,
    [OMPI_NEIGHBOR_ALLGATHER] = SM_KIND_TAKEN | SM_KIND_NEIGHBOR | SM_KIND_ONE,
    [OMPI_NEIGHBOR_ALLGATHERV] = SM_KIND_TAKEN | SM_KIND_NEIGHBOR | SM_KIND_ONE,
    [OMPI_NEIGHBOR_ALLTOALL] = SM_KIND_TAKEN | SM_KIND_NEIGHBOR,
    [OMPI_NEIGHBOR_ALLTOALLV] = SM_KIND_TAKEN | SM_KIND_NEIGHBOR,
    [OMPI_NEIGHBOR_ALLTOALLW] = SM_KIND_TAKEN | SM_KIND_NEIGHBOR,
};

bool sm_persistent_takes(const ompi_coll_call_t *call)
{
    return kinds[call->kind] != 0;
}

bool sm_offer_is(const sm_maker_t *maker, unsigned what)
{
    return (kinds[maker->call->kind] & what) != 0;
}

static bool is_in_place(const ompi_coll_call_t *call)
{
    return call->send.buffer == MPI_IN_PLACE;
}

bool sm_is_reduce_scatter(const ompi_coll_call_t *call)
{
    return call->kind == OMPI_REDUCE_SCATTER || call->kind == OMPI_REDUCE_SCATTER_BLOCK;
}

/* -- ports ------------------------------------------------------------------------------------- */

static void add_port(sm_ports_t *ports, int rank, ompi_data_t data)
{
    ports->first[ports->count++] = (sm_port_t){rank, data};
}

static void add_reduction_ports(sm_maker_t *maker)
{
    const ompi_coll_call_t *call = maker->call;
    const sm_comm_t *self = maker->self;
    sm_blocks_t blocks = {0};
    if (sm_is_reduce_scatter(call))
        blocks = sm_blocks(&call->recv, self);
    else
        blocks.total = (size_t)call->recv.count;
    add_port(&maker->outs, self->rank, ompi_coll_operand_of(call, blocks.total));
    if (sm_is_reduce_scatter(call))
        maker->op->result = ompi_data(call->recv.buffer, blocks.count, call->recv.type);
    else if (call->kind == OMPI_ALLREDUCE || self->rank == call->root)
        maker->op->result = ompi_coll_block(&call->recv, 0);
    maker->op->first = blocks.first;
    if (!sm_is_reduce_scatter(call) && maker->op->result.type != NULL)
        add_port(&maker->ins, self->rank, maker->op->result);
}

/* coll/p2p/neighbor.c explains the order. */
void sm_neighbor_ports(const ompi_coll_call_t *call, int rank, int *ranks, sm_ports_t *outs,
                       sm_ports_t *ins)
{
    const ompi_topology_t *topology = call->comm->topology;
    bool gathers = (kinds[call->kind] & SM_KIND_ONE) != 0;
    int in, out;
    ompi_topology_degrees(topology, rank, &in, &out);
    int *targets = ranks + in;
    ompi_topology_neighbors(topology, rank, ranks, targets);
    for (int i = 0; i < out; i++) {
        int edge = topology->kind == OMPI_CART ? i ^ 1 : i;
        if (targets[edge] != MPI_PROC_NULL)
            add_port(outs, targets[edge], ompi_coll_block(&call->send, gathers ? 0 : edge));
    }
    for (int i = 0; i < in; i++) {
        if (ranks[i] != MPI_PROC_NULL)
            add_port(ins, ranks[i], ompi_coll_block(&call->recv, i));
    }
}

static void add_neighbor_ports(sm_maker_t *maker)
{
    int in, out;
    ompi_topology_degrees(maker->call->comm->topology, maker->self->rank, &in, &out);
    int *ranks = calloc((size_t)in + (size_t)out + 1, sizeof *ranks);
    if (ranks == NULL)
        maker->error = MPI_ERR_NO_MEM;
    else
        sm_neighbor_ports(maker->call, maker->self->rank, ranks, &maker->outs, &maker->ins);
    free(ranks);
}

static void add_root_ports(sm_maker_t *maker)
{
    const ompi_coll_call_t *call = maker->call;
    int rank = maker->self->rank, root = call->root;
    bool is_bcast = call->kind == OMPI_BCAST;
    if (rank != root && sm_offer_is(maker, SM_KIND_BY_ROOT))
        add_port(&maker->ins, root, ompi_coll_block(&call->recv, 0));
    else if (rank != root)
        add_port(&maker->outs, root, ompi_coll_block(&call->send, 0));
    for (int peer = 0; rank == root && peer < maker->self->size; peer++) {
        if (peer != root && sm_offer_is(maker, SM_KIND_BY_ROOT))
            add_port(&maker->outs, peer,
                     is_bcast ? ompi_coll_block(&call->recv, 0)
                              : ompi_coll_block(&call->send, peer));
        else if (peer != root)
            add_port(&maker->ins, peer, ompi_coll_block(&call->recv, peer));
    }
    if (rank != root || is_bcast || is_in_place(call) || call->recv.buffer == MPI_IN_PLACE)
        return;
    maker->op->own_from =
        ompi_coll_block(&call->send, sm_offer_is(maker, SM_KIND_BY_ROOT) ? root : 0);
    maker->op->own_to =
        ompi_coll_block(&call->recv, sm_offer_is(maker, SM_KIND_BY_ROOT) ? 0 : root);
}

static void add_all_ports(sm_maker_t *maker)
{
    const ompi_coll_call_t *call = maker->call;
    int rank = maker->self->rank;
    const ompi_coll_side_t *given = is_in_place(call) ? &call->recv : &call->send;
    for (int peer = 0; peer < maker->self->size; peer++) {
        ompi_data_t data = ompi_coll_block(given, !sm_offer_is(maker, SM_KIND_ONE) ? peer
                                                  : is_in_place(call)              ? rank
                                                                                   : 0);
        if (peer != rank)
            add_port(&maker->outs, peer, data);
        else if (!is_in_place(call))
            maker->op->own_from = data;
        if (peer != rank)
            add_port(&maker->ins, peer, ompi_coll_block(&call->recv, peer));
    }
    if (!is_in_place(call))
        maker->op->own_to = ompi_coll_block(&call->recv, rank);
}

static void add_ports(sm_maker_t *maker)
{
    if (maker->call->op != NULL)
        add_reduction_ports(maker);
    else if (sm_offer_is(maker, SM_KIND_NEIGHBOR))
        add_neighbor_ports(maker);
    else if (sm_offer_is(maker, SM_KIND_BY_ROOT | SM_KIND_TO_ROOT))
        add_root_ports(maker);
    else if (maker->call->kind != OMPI_BARRIER)
        add_all_ports(maker);
    const sm_operation_t *op = maker->op;
    if (sm_offer_is(maker, SM_KIND_EXACT) && op->own_from.type != NULL && op->own_to.type != NULL &&
        ompi_coll_bytes(op->own_from) != ompi_coll_bytes(op->own_to))
        maker->error = MPI_ERR_TRUNCATE;
}

/* Allocates the operation, and what it and the maker list: at most as many as there are ports. */
static void allocate(sm_maker_t *maker)
{
    const sm_comm_t *self = maker->self;
    int in = self->size, out = in;
    if (sm_offer_is(maker, SM_KIND_NEIGHBOR))
        ompi_topology_degrees(self->comm->topology, self->rank, &in, &out);
    size_t n = (size_t)self->size, ports = (size_t)in + (size_t)out + 1;
    size_t lists = 2 * ports * sizeof(sm_move_t) +
                   n * (SM_SLOTS_MAX * sizeof(char *) + sizeof(sm_addresses_t));
    maker->outs.first = calloc(ports, sizeof(sm_port_t));
    maker->op = calloc(1, sizeof *maker->op + lists);
    if (maker->outs.first == NULL || maker->op == NULL) {
        maker->error = MPI_ERR_NO_MEM;
        return;
    }
    maker->ins.first = maker->outs.first + out;
    sm_operation_t *op = maker->op;
    op->self = maker->self;
    op->root = maker->call->root;
    op->packs.first = op->writes.first = (sm_move_t *)(void *)(op + 1);
    op->reads.first = op->packs.first + ports;
    op->addresses = (sm_addresses_t *)(void *)(op->reads.first + ports);
    op->operands = (const char **)(void *)(op->addresses + n);
    op->failures = opal_btl_failures;
}

/* -- offers ------------------------------------------------------------------------------------ */

/* Writes the ports as others see them. Returns whether all of them are mapped in all ranks. */
static bool write_items(const sm_maker_t *maker, const sm_ports_t *ports, sm_item_t *items)
{
    bool all = true;
    for (uint32_t i = 0; i < ports->count; i++) {
        ompi_data_t data = ports->first[i].data;
        size_t bytes = ompi_coll_bytes(data);
        uintptr_t address = bytes > 0 ? ompi_datatype_origin(data.type, data.buffer) : 0;
        items[i] = (sm_item_t){address, bytes, ports->first[i].rank};
        all &= bytes == 0 || (maker->self->is_mapped && ompi_datatype_is_contiguous(data.type) &&
                              opal_region_has((const void *)address, bytes));
    }
    return all;
}

const sm_offer_t *sm_offer_of(const sm_maker_t *maker, int rank)
{
    return (const sm_offer_t *)(const void *)sm_step_row(maker->self, &maker->offers, rank);
}

int sm_offer_exchange(sm_maker_t *maker)
{
    sm_comm_t *self = maker->self;
    const ompi_coll_call_t *call = maker->call;
    int error = sm_step_begin(self, SM_SYNC, self->room_bytes, &maker->offers);
    if (error != MPI_SUCCESS)
        return error;
    sm_offer_t *offer = (sm_offer_t *)(void *)sm_step_own_row(self, &maker->offers);
    size_t count = (size_t)maker->outs.count + maker->ins.count;
    *offer = (sm_offer_t){SM_OFFER_TOO_MANY, 0, 0};
    if (count <= (self->room_bytes - sizeof *offer) / sizeof(sm_item_t)) {
        offer->outs = maker->outs.count;
        offer->ins = maker->ins.count;
        offer->flags = is_in_place(call) ? SM_OFFER_IN_PLACE : 0;
        if (write_items(maker, &maker->outs, offer->items))
            offer->flags |= SM_OFFER_OUTS_MAPPED;
        if (write_items(maker, &maker->ins, offer->items + offer->outs))
            offer->flags |= SM_OFFER_INS_MAPPED;
    }
    return sm_step_sync(self, &maker->offers);
}

/* The item of `rank` that matches the i-th port of this rank, which is one of `ports`: as many of
 * the earlier ones are with the same rank. *at: where the data is in a row. NULL: there is none. */
const sm_item_t *sm_offer_match(const sm_maker_t *maker, const sm_ports_t *ports, uint32_t i,
                                bool with_ins, size_t *at)
{
    int rank = ports->first[i].rank;
    const sm_offer_t *offer = sm_offer_of(maker, rank);
    const sm_item_t *item = with_ins ? offer->items + offer->outs : offer->items;
    uint32_t earlier = 0, count = with_ins ? offer->ins : offer->outs;
    for (uint32_t k = 0; k < i; k++)
        earlier += ports->first[k].rank == rank;
    *at = 0;
    for (; count > 0; count--, item++) {
        if (item->rank == maker->self->rank && earlier-- == 0)
            return item;
        if (!sm_offer_is(maker, SM_KIND_ONE))
            *at += (item->bytes + 15) & ~(uint64_t)15;
    }
    return NULL;
}

void sm_offer_prepare(sm_maker_t *maker)
{
    allocate(maker);
    if (maker->error == MPI_SUCCESS)
        add_ports(maker);
}
