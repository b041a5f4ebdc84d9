/* SPDX-License-Identifier: BSD-3-Clause */
/* The component: which communicators and calls it takes. */
#include "ompi/mca/coll/sm/sm.h"

#include <stdlib.h>

#include "opal/mca/base/component.h"
#include "opal/runtime/init.h"

static size_t max_bytes, pair_max_bytes;
static int priority;

static const opal_param_row_t params[] = {
    {.name = "priority",
     .type = OPAL_PARAM_INT,
     .value = &priority,
     .preset = "50",
     .min = "0",
     .max = "100",
     .prose = "Priority among the usable components; the highest is asked first"},
    {.name = "max_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &max_bytes,
     .preset = "8K",
     .min = "64",
     .max = "1M",
     .unit = "bytes",
     .prose = "The longest data of one rank, for all receivers together, that goes through the "
              "shared area of a communicator; the same in all ranks"},
    {.name = "pair_max_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &pair_max_bytes,
     .preset = "2K",
     .min = "64",
     .max = "1M",
     .unit = "bytes",
     .prose = "The same where a communicator has two ranks, between which long messages overlap "
              "the two copies"},
    {0},
};

/* -- calls ----------------------------------------------------------------------------- */

static const struct {
    sm_run_fn_t *run; /* NULL: such calls are not taken */
    bool has_blocks;  /* a rank gives (or the root of a scatter) a block for each rank */
} kinds[OMPI_COLL_KINDS] = {
    [OMPI_ALLGATHER] = {sm_allgather, false},
    [OMPI_ALLREDUCE] = {sm_allreduce, false},
    [OMPI_ALLTOALL] = {sm_alltoall, true},
    [OMPI_BARRIER] = {sm_barrier, false},
    [OMPI_BCAST] = {sm_bcast, false},
    [OMPI_GATHER] = {sm_gather, false},
    [OMPI_REDUCE] = {sm_reduce, false},
    [OMPI_REDUCE_SCATTER_BLOCK] = {sm_reduce_scatter_block, true},
    [OMPI_SCATTER] = {sm_scatter, true},
};

/* The bytes of a block, from a side that this rank gives. */
static size_t block_bytes(const ompi_coll_call_t *call, bool is_root)
{
    const ompi_coll_side_t *side = &call->recv;
    if (call->kind == OMPI_BARRIER)
        return 0;
    if ((call->kind == OMPI_GATHER && !is_root) || (call->kind == OMPI_SCATTER && is_root))
        side = &call->send;
    return ompi_datatype_bytes(side->type, (size_t)side->count);
}

static int run(const ompi_coll_call_t *call, void *state, bool *taken)
{
    sm_comm_t *self = state;
    *taken = false;
    if (self == NULL || kinds[call->kind].run == NULL)
        return MPI_SUCCESS;
    size_t bytes = block_bytes(call, self->rank == call->root);
    if (bytes > self->max_bytes)
        return MPI_SUCCESS;
    if (kinds[call->kind].has_blocks)
        bytes *= (size_t)self->size;
    if (bytes > self->max_bytes || (bytes == 0 && call->kind != OMPI_BARRIER))
        return MPI_SUCCESS;
    if (opal_unlikely(self->stage == SM_NEW)) {
        int error = sm_area_join(self);
        *taken = error != MPI_SUCCESS;
        if (*taken)
            return error;
    }
    if (self->stage == SM_DECLINED)
        return MPI_SUCCESS;
    *taken = true;
    if (opal_unlikely(self->stage == SM_BROKEN))
        return MPI_ERR_PROC_ABORTED;
    return kinds[call->kind].run(self, call, bytes);
}

/* Nonblocking operations have no rank that waits in them. */
static int build(const ompi_coll_call_t *call OPAL_UNUSED, void *state OPAL_UNUSED,
                 ompi_schedule_t *schedule OPAL_UNUSED, bool *taken)
{
    *taken = false;
    return MPI_SUCCESS;
}

/* -- communicators --------------------------------------------------------------------- */

static bool is_on_one_node(const ompi_communicator_t *comm)
{
    for (int rank = 0; rank < comm->size; rank++) {
        if (opal_node_local_rank(ompi_comm_process(comm, rank)) < 0)
            return false;
    }
    return true;
}

static int comm_add(ompi_communicator_t *comm, void **state)
{
    if (ompi_comm_is_inter(comm) || comm->size == 1 || !is_on_one_node(comm))
        return MPI_SUCCESS;
    sm_comm_t *self = calloc(1, sizeof *self + (size_t)comm->size * sizeof self->local_ranks[0]);
    if (self == NULL)
        return MPI_ERR_NO_MEM;
    self->comm = comm;
    self->rank = comm->rank;
    self->size = comm->size;
    self->max_bytes = comm->size == 2 ? pair_max_bytes : max_bytes;
    self->room_bytes = SM_ROOMS * ((self->max_bytes + 63) & ~(size_t)63);
    for (int rank = 0; rank < comm->size; rank++)
        self->local_ranks[rank] = (unsigned)opal_node_local_rank(ompi_comm_process(comm, rank));
    *state = self;
    return MPI_SUCCESS;
}

static void comm_remove(ompi_communicator_t *comm OPAL_UNUSED, void *state)
{
    sm_comm_t *self = state;
    if (self != NULL)
        sm_area_leave(self);
    free(self);
}

static const ompi_coll_ops_t sm_ops = {
    .run = run,
    .build = build,
    .comm_add = comm_add,
    .comm_remove = comm_remove,
};

static void query(opal_answer_t *answer)
{
    if (opal_node_base() == NULL) {
        opal_answer_no(answer, opal_job()->local_size > 1
                                   ? "this node has no shared segment"
                                   : "no other rank of the job is on this node");
        return;
    }
    opal_answer_yes(answer, priority, &sm_ops, NULL, "%u ranks share memory on this node",
                    opal_node_ranks());
}

OPAL_EXPORT extern const opal_component_t mca_coll_sm_component;
const opal_component_t mca_coll_sm_component = {
    OPAL_COMPONENT_HEAD(coll, sm),
    .prose = "blocking collectives of small data in shared memory",
    .params = params,
    .query = query,
    .close = sm_area_close,
};
