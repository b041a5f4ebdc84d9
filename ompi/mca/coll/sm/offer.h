/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Offers: what a rank tells the others of its blocks, while a persistent operation is made.
 *
 * A port is a block that this rank sends to another rank, or receives from it; in a reduction, its
 * operand and its result. An offer has all ports of a rank, as others see them: with whom, how long
 * the block is, and where. Ports of two ranks match in their order, as messages would.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_COLL_SM_OFFER_H
#define OMPI_COLL_SM_OFFER_H

#include "ompi/mca/coll/sm/operation.h"

/* A block of this rank that goes to a rank or comes from it. */
typedef struct sm_port {
    int rank;
    ompi_data_t data;
} sm_port_t;

typedef struct sm_ports {
    sm_port_t *first;
    uint32_t count;
} sm_ports_t;

/* A port as others see it. */
typedef struct sm_item {
    uintptr_t address;
    uint64_t bytes;
    int rank;
} sm_item_t;

/* Flags of an offer: all blocks that are sent, or received, are mapped in all ranks; the data is
 * in the buffer of the result; the ports do not fit in a row. */
enum {
    SM_OFFER_OUTS_MAPPED = 1,
    SM_OFFER_INS_MAPPED = 2,
    SM_OFFER_IN_PLACE = 4,
    SM_OFFER_TOO_MANY = 8
};

typedef struct sm_offer {
    unsigned flags;
    uint32_t outs, ins;
    sm_item_t items[]; /* of the outs, then of the ins */
} sm_offer_t;

typedef enum sm_way {
    SM_WAY_NONE,
    SM_WAY_SHORT,
    SM_WAY_READ,
    SM_WAY_WRITE,
    SM_WAY_HALVES
} sm_way_t;

/* While an operation is made. */
typedef struct sm_maker {
    sm_comm_t *self;
    const ompi_coll_call_t *call;
    sm_operation_t *op; /* NULL: no memory */
    sm_ports_t outs, ins;
    sm_slot_t offers;
    sm_way_t way;
    bool is_in_place; /* in any rank */
    size_t row;       /* bytes of the longest row */
    int error;
} sm_maker_t;

/* What kinds of operations are. */
enum {
    SM_KIND_BY_ROOT = 1,   /* the root alone sends */
    SM_KIND_TO_ROOT = 2,   /* the root alone receives */
    SM_KIND_ONE = 4,       /* a rank sends one block to all */
    SM_KIND_EXACT = 8,     /* all ranks know all lengths */
    SM_KIND_NEIGHBOR = 16, /* ranks send to their neighbours */
    SM_KIND_TAKEN = 32,
};

bool sm_offer_is(const sm_maker_t *maker, unsigned what);
bool sm_is_reduce_scatter(const ompi_coll_call_t *call);

/* Adds the blocks that this rank sends to its neighbours and receives from them to lists that have
 * room for all, in the order in which messages between two ranks would match. `ranks` has room for
 * as many ranks as there are neighbours, in and out together. */
void sm_neighbor_ports(const ompi_coll_call_t *call, int rank, int *ranks, sm_ports_t *outs,
                       sm_ports_t *ins);

/* Allocates the operation and lists its ports. Errors are in the maker: the rank takes all steps,
 * as the others do. */
void sm_offer_prepare(sm_maker_t *maker);

/* A step in which all ranks publish their offers; they can be read up to the next step. */
int sm_offer_exchange(sm_maker_t *maker);
const sm_offer_t *sm_offer_of(const sm_maker_t *maker, int rank);

/* The item of the other rank that matches the i-th port of this rank, which is one of `ports`. *at:
 * where the data is in a packed row. NULL: there is none. */
const sm_item_t *sm_offer_match(const sm_maker_t *maker, const sm_ports_t *ports, uint32_t i,
                                bool with_ins, size_t *at);

#endif
