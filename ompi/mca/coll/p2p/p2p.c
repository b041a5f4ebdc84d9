/* SPDX-License-Identifier: BSD-3-Clause */
/* The component: from a call to the algorithm of its operation. */
#include "ompi/mca/coll/p2p/p2p.h"

#include "opal/mca/base/component.h"

/* What decides about the algorithm, equal in all ranks. */
typedef struct measure {
    p2p_family_id_t family;
    size_t bytes;
    unsigned holds;
} measure_t;

/* The average bytes of a block, where each rank knows all counts. */
static size_t mean_block(const ompi_coll_side_t *side, int blocks)
{
    size_t total = 0;
    if (side->counts.items == NULL)
        return p2p_bytes(p2p_whole(side));
    for (int i = 0; i < blocks; i++)
        total += p2p_bytes(p2p_block(side, i));
    return total / (size_t)blocks + (total % (size_t)blocks != 0);
}

static size_t total_of_blocks(const ompi_coll_side_t *side, int blocks)
{
    size_t total = 0;
    for (int i = 0; i < blocks; i++)
        total += p2p_count(side, i);
    return ompi_datatype_bytes(side->type, total);
}

/* Where a rank knows only its own counts, they must not decide: SIZE_MAX. */
static measure_t measure(const ompi_coll_call_t *call, const ompi_schedule_t *schedule)
{
    bool is_root = schedule->rank == call->root;
    int size = schedule->size;
    switch (call->kind) {
    case OMPI_ALLGATHER:
        return (measure_t){P2P_ALLGATHER, mean_block(&call->recv, size), P2P_SAME_SIZES};
    case OMPI_ALLGATHERV:
        return (measure_t){P2P_ALLGATHER, mean_block(&call->recv, size), 0};
    case OMPI_ALLREDUCE:
        return (measure_t){P2P_ALLREDUCE, p2p_bytes(p2p_whole(&call->recv)), 0};
    case OMPI_ALLTOALL:
        return (measure_t){P2P_ALLTOALL, mean_block(&call->recv, size), P2P_SAME_SIZES};
    case OMPI_ALLTOALLV:
    case OMPI_ALLTOALLW:
        return (measure_t){P2P_ALLTOALL, SIZE_MAX, 0};
    case OMPI_BARRIER:
        return (measure_t){P2P_BARRIER, SIZE_MAX, 0};
    case OMPI_BCAST:
        return (measure_t){P2P_BCAST, p2p_bytes(p2p_whole(&call->recv)), 0};
    case OMPI_EXSCAN:
        return (measure_t){P2P_EXSCAN, p2p_bytes(p2p_whole(&call->recv)), 0};
    case OMPI_GATHER:
        return (measure_t){P2P_GATHER, p2p_bytes(p2p_whole(is_root ? &call->recv : &call->send)),
                           P2P_SAME_SIZES};
    case OMPI_GATHERV:
        return (measure_t){P2P_GATHER, SIZE_MAX, 0};
    case OMPI_REDUCE:
        return (measure_t){P2P_REDUCE, p2p_bytes(p2p_whole(&call->recv)), 0};
    case OMPI_REDUCE_SCATTER:
    case OMPI_REDUCE_SCATTER_BLOCK:
        return (measure_t){P2P_REDUCE_SCATTER, total_of_blocks(&call->recv, size), 0};
    case OMPI_SCAN:
        return (measure_t){P2P_SCAN, p2p_bytes(p2p_whole(&call->recv)), 0};
    case OMPI_SCATTER:
        return (measure_t){P2P_SCATTER, p2p_bytes(p2p_whole(is_root ? &call->send : &call->recv)),
                           P2P_SAME_SIZES};
    default:
        return (measure_t){P2P_SCATTER, SIZE_MAX, 0}; /* OMPI_SCATTERV */
    }
}

static bool has_own_counts(ompi_coll_kind_t kind)
{
    return kind == OMPI_GATHERV || kind == OMPI_SCATTERV || kind == OMPI_ALLTOALLV ||
           kind == OMPI_ALLTOALLW || kind >= OMPI_NEIGHBOR_ALLGATHER;
}

/* Whether a rank with an error must send messages of a wrong length (`relays`). Not in operations
 * in which each rank sends only its own data, directly to the ranks that need it, by every
 * algorithm: those with counts of the rank's own, alltoall (its bruck sets `relays` itself), and
 * in an intercommunicator all but reductions and the broadcast. */
static bool is_relayed(const ompi_coll_call_t *call)
{
    if (ompi_comm_is_inter(call->comm))
        return call->op != NULL || call->kind == OMPI_BCAST;
    return !has_own_counts(call->kind) && call->kind != OMPI_ALLTOALL;
}

static int build(const ompi_coll_call_t *call, void *state OPAL_UNUSED, ompi_schedule_t *schedule,
                 bool *taken OPAL_UNUSED)
{
    int size = schedule->size;
    schedule->is_exact = !has_own_counts(call->kind);
    schedule->relays = is_relayed(call);
    if (ompi_comm_is_inter(call->comm))
        return p2p_inter(call, schedule);
    if (call->kind >= OMPI_NEIGHBOR_ALLGATHER)
        return p2p_neighbor_linear(call, schedule);
    measure_t all = measure(call, schedule);
    if (all.bytes == 0)
        return MPI_SUCCESS;
    if (size == p2p_power(size))
        all.holds |= P2P_POWER;
    if (call->op != NULL && ompi_op_is_commutative(call->op))
        all.holds |= P2P_COMMUTES;
    return p2p_choose(all.family, all.bytes, size, all.holds)(call, schedule);
}

static const ompi_coll_ops_t p2p_ops = {
    .build = build,
};

static void query(opal_answer_t *answer)
{
    opal_answer_yes(answer, 10, &p2p_ops, NULL, "messages reach every rank");
}

OPAL_EXPORT extern const opal_component_t mca_coll_p2p_component;
const opal_component_t mca_coll_p2p_component = {
    OPAL_COMPONENT_HEAD(coll, p2p),
    .prose = "collectives made of messages",
    .params = p2p_params,
    .open = p2p_choose_open,
    .query = query,
};
