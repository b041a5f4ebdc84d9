/* SPDX-License-Identifier: BSD-3-Clause */
/* The component: which communicators and calls it takes. */
#include "ompi/mca/coll/sm/sm.h"

#include <stdlib.h>

#include "opal/mca/base/component.h"
#include "opal/mca/base/pvar.h"
#include "opal/process/job.h"
#include "ompi/check/check.h"
#include "ompi/mca/coll/sm/direct.h"
#include "ompi/mca/coll/sm/fold.h"

enum { PRIORITY = 50 }; /* above coll/p2p */

static size_t max_bytes, nonblocking_bytes; /* 0: as measured */
static bool use_direct;

static const opal_param_row_t params[] = {
    {.name = "max_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &max_bytes,
     .preset = "0",
     .max = "1M",
     .unit = "bytes",
     .prose =
         "The longest data of one rank, for all its receivers together (of a scatter, for "
         "each), that a collective passes through the shared area of a communicator; 0: as measured, 512 bytes to 64 "
         "KiB, less where ranks read each other's memory without a system call. All ranks "
         "need the same value"},
    {.name = "nonblocking_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &nonblocking_bytes,
     .preset = "0",
     .unit = "bytes",
     .synonyms = "coll_sm_later_bytes",
     .prose = "The shortest data of one rank that a nonblocking or persistent reduction or "
              "gather reads where it is, in the shared heap, instead of sending it; 0: as "
              "measured, 8 KiB for two ranks and 64 KiB for more. All ranks need the same value"},
    {.name = "direct",
     .type = OPAL_PARAM_BOOL,
     .value = &use_direct,
     .preset = "yes",
     .prose = "Whether ranks read longer data out of the memory of the ranks that have it, where "
              "the system permits it and btl_sm_use_cma is not no. All ranks need the same value",
     .is_internal = true},
    {.name = "priority", .removed = "coll=^sm leaves the component out"},
    {.name = "pair_max_bytes", .removed = "coll_sm_max_bytes is for any number of ranks"},
    {.name = "seen_bytes", .removed = "coll_sm_max_bytes is for mapped memory, too"},
    {.name = "pair_seen_bytes", .removed = "coll_sm_max_bytes is for any number of ranks"},
    {.name = "pair_later_bytes", .removed = "coll_sm_nonblocking_bytes is for any number of ranks"},
    {0},
};

static opal_counter_t counts[SM_PROTOCOLS];

static const opal_pvar_row_t pvars[] = {
    {.name = "packed",
     .class = OPAL_PVAR_COUNTER,
     .value = &counts[SM_SHORT],
     .prose = "How many blocking collectives have moved their data through the shared area"},
    {.name = "in_place",
     .class = OPAL_PVAR_COUNTER,
     .value = &counts[SM_DIRECT],
     .prose = "How many blocking collectives have read their data where it was"},
    {0},
};

/* The measured figures, or those that the user has set instead. */
static ompi_coll_sm_limits_t two_ranks, more_ranks;

static void set_limits(ompi_coll_sm_limits_t *limits, const ompi_coll_sm_limits_t *measured)
{
    size_t area_bytes = max_bytes > SM_PIECE_MIN ? max_bytes : SM_PIECE_MIN;
    *limits = *measured;
    if (max_bytes > 0)
        limits->area_bytes = limits->mapped_bytes = limits->oversubscribed_bytes = area_bytes;
    if (nonblocking_bytes > 0)
        limits->nonblocking_bytes = nonblocking_bytes;
}

static opal_status_t open_limits(void)
{
    const ompi_coll_tuning_t *tuning = ompi_coll_tuning();
    set_limits(&two_ranks, &tuning->two_ranks);
    set_limits(&more_ranks, &tuning->more_ranks);
    sm_fold_open(tuning);
    return OPAL_SUCCESS;
}

static void tell_limits(const ompi_coll_sm_limits_t *limits, const char *where, opal_rule_fn_t *say,
                        void *context)
{
    static const char parameter[] = "coll_sm_max_bytes";
    say(context, where, 0, "packed, through the shared area", NULL);
    say(context, where, limits->mapped_bytes + 1,
        "in place, in memory that all ranks have mapped; else through the area", parameter);
    say(context, where, limits->area_bytes + 1,
        "in place; by system calls in other memory, if they are permitted; else by messages",
        parameter);
}

static void tell_rules(opal_rule_fn_t *say, void *context)
{
    tell_limits(&two_ranks, "2 ranks of a node", say, context);
    tell_limits(&more_ranks, "more ranks of a node", say, context);
}

/* -- calls ----------------------------------------------------------------------------- */

enum {
    BLOCKS = 1,       /* a row has a block for each rank */
    FROM_ROOT = 2,    /* only the root has data: limits->rooted_divisor applies */
    PIECES = 4,       /* `run` takes any length */
    MAPPED = 8,       /* data that not all ranks have mapped goes by messages */
    VECTOR = 16,      /* ranks do not know the lengths of others; each row says where its data is */
    LONGEST = 32,     /* all ranks know all lengths, and the longest block counts */
    SUM = 64,         /* all ranks know all lengths, and their sum counts */
    NO_DATA = 128,    /* no rank has data */
    BOTH = 256,       /* each rank sends and receives, in types of its own */
    ROOT_SENDS = 512, /* the send side of the root, the receive side of the others */
    ROOT_TAKES = 1024,  /* the receive side of the root, the send side of the others */
    NONBLOCKING = 2048, /* has a nonblocking form, too */
    NEIGHBOR = 4096,    /* ranks send to their neighbours, but all wait for all */
};

/* In larger communicators neighbours send messages, because a wait for all ranks takes longer. */
enum { NEIGHBOR_RANKS = 16 };

static const struct {
    sm_run_fn_t *run;    /* through the area; NULL: such calls are not taken */
    sm_run_fn_t *direct; /* data in place; NULL: long data is not taken */
    unsigned is;
} kinds[OMPI_COLL_KINDS] = {
    [OMPI_ALLGATHER] = {sm_allgather, sm_direct_allgather, PIECES | BOTH | NONBLOCKING},
    [OMPI_ALLGATHERV] = {sm_allgather, sm_direct_allgather, PIECES | LONGEST | BOTH | NONBLOCKING},
    [OMPI_ALLREDUCE] = {sm_allreduce, sm_direct_allreduce, NONBLOCKING},
    [OMPI_ALLTOALL] = {sm_alltoall, sm_direct_alltoall, BLOCKS | PIECES | BOTH},
    [OMPI_ALLTOALLV] = {sm_alltoallv, sm_alltoallv, VECTOR},
    [OMPI_ALLTOALLW] = {sm_alltoallv, sm_alltoallv, VECTOR},
    [OMPI_BARRIER] = {sm_barrier, NULL, NO_DATA},
    [OMPI_BCAST] = {sm_bcast, sm_direct_bcast, FROM_ROOT},
    [OMPI_EXSCAN] = {sm_scan, sm_direct_scan, MAPPED},
    [OMPI_GATHER] = {sm_gather, sm_direct_gather, MAPPED | ROOT_TAKES | NONBLOCKING},
    [OMPI_GATHERV] = {sm_gatherv, sm_gatherv, VECTOR | MAPPED},
    [OMPI_REDUCE] = {sm_reduce, sm_direct_reduce, NONBLOCKING},
    [OMPI_REDUCE_SCATTER] = {sm_reduce_scatter, sm_direct_reduce_scatter, SUM | NONBLOCKING},
    [OMPI_REDUCE_SCATTER_BLOCK] = {sm_reduce_scatter, sm_direct_reduce_scatter,
                                   BLOCKS | NONBLOCKING},
    [OMPI_SCAN] = {sm_scan, sm_direct_scan, MAPPED},
    [OMPI_SCATTER] = {sm_scatter, sm_direct_scatter, FROM_ROOT | ROOT_SENDS},
    [OMPI_SCATTERV] = {sm_scatterv, sm_scatterv, VECTOR | MAPPED},
    [OMPI_NEIGHBOR_ALLGATHER] = {sm_neighbor, sm_neighbor, VECTOR | NEIGHBOR},
    [OMPI_NEIGHBOR_ALLGATHERV] = {sm_neighbor, sm_neighbor, VECTOR | NEIGHBOR},
    [OMPI_NEIGHBOR_ALLTOALL] = {sm_neighbor, sm_neighbor, VECTOR | NEIGHBOR},
    [OMPI_NEIGHBOR_ALLTOALLV] = {sm_neighbor, sm_neighbor, VECTOR | NEIGHBOR},
    [OMPI_NEIGHBOR_ALLTOALLW] = {sm_neighbor, sm_neighbor, VECTOR | NEIGHBOR},
};

static bool kind_is(ompi_coll_kind_t kind, unsigned what)
{
    return (kinds[kind].is & what) != 0;
}

/* Whether the data can be read without a system call. True if that is not known yet. */
static bool may_be_mapped(const sm_comm_t *self, ompi_coll_kind_t kind)
{
    if (kinds[kind].direct == NULL)
        return false;
    return self->direct == SM_DIRECT_UNKNOWN || self->is_mapped;
}

static size_t short_bytes(const sm_comm_t *self, ompi_coll_kind_t kind)
{
    const ompi_coll_sm_limits_t *limits = self->limits;
    size_t max = self->max_bytes;
    size_t mapped = self->is_oversubscribed ? limits->oversubscribed_bytes : limits->mapped_bytes;
    if (max > mapped && may_be_mapped(self, kind))
        max = mapped;
    if (kind_is(kind, FROM_ROOT))
        max /= limits->rooted_divisor;
    return max > SM_INLINE ? max : SM_INLINE;
}

/* Called whenever more is known of the communicator. */
static void set_short_bytes(sm_comm_t *self)
{
    for (ompi_coll_kind_t kind = 0; kind < OMPI_COLL_KINDS; kind++)
        self->short_bytes[kind] = short_bytes(self, kind);
}

static size_t longest_block(const sm_comm_t *self, const ompi_coll_side_t *side)
{
    size_t longest = 0;
    for (int rank = 0; rank < self->size; rank++) {
        size_t bytes = ompi_coll_bytes(ompi_coll_block(side, rank));
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

/* call_bytes of an operation whose blocks are not equal. */
static size_t unequal_bytes(const sm_comm_t *self, const ompi_coll_call_t *call)
{
    const ompi_coll_side_t *side = &call->recv;
    if (kind_is(call->kind, LONGEST))
        return longest_block(self, side);
    if (kind_is(call->kind, SUM))
        return ompi_datatype_bytes(side->type, sm_blocks(side, self).total);
    return kind_is(call->kind, VECTOR) ? self->short_bytes[call->kind] : 0;
}

/* The bytes of a row: of all blocks that a rank sends, or of one block of a scatter. SIZE_MAX: the
 * number overflows. */
static size_t call_bytes(const sm_comm_t *self, const ompi_coll_call_t *call)
{
    unsigned is = kinds[call->kind].is;
    if (opal_unlikely((is & (VECTOR | LONGEST | SUM | NO_DATA)) != 0))
        return unequal_bytes(self, call);
    unsigned sends = self->rank == call->root ? ROOT_SENDS : ROOT_TAKES;
    const ompi_coll_side_t *side = (is & sends) != 0 ? &call->send : &call->recv;
    size_t bytes = ompi_datatype_bytes(side->type, (size_t)side->count), all = bytes;
    if ((is & BLOCKS) != 0 && __builtin_mul_overflow(bytes, (size_t)self->size, &all))
        return SIZE_MAX;
    return all;
}

/* Whether the data may be read in place. True if that is not known yet. */
static bool may_be_direct(const sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    if (kinds[call->kind].direct == NULL || self->direct == SM_DIRECT_FORBIDDEN)
        return false;
    if (self->is_mapped || self->direct == SM_DIRECT_UNKNOWN)
        return true;
    size_t longest = call->kind == OMPI_BCAST    ? self->limits->bcast_read_bytes
                     : call->kind == OMPI_REDUCE ? self->limits->reduce_read_bytes
                                                 : SIZE_MAX;
    return !kind_is(call->kind, MAPPED) && bytes <= longest;
}

/* Whether data of any length goes through the area, in pieces. */
static bool goes_in_pieces(const sm_comm_t *self, const ompi_coll_call_t *call)
{
    size_t blocks = kind_is(call->kind, BLOCKS) ? (size_t)self->size : 1;
    return kind_is(call->kind, PIECES) && self->limits->pieces &&
           self->direct == SM_DIRECT_FORBIDDEN && self->max_bytes / blocks >= SM_PIECE_MIN;
}

/* The function for a call, and its protocol; SM_ANY: signatures are not compared. NULL: the call is
 * not taken. */
static sm_run_fn_t *choose(const sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes,
                           sm_protocol_t *protocol)
{
    ompi_coll_kind_t kind = call->kind;
    bool is_vector = kind_is(kind, VECTOR);
    *protocol = kind_is(kind, VECTOR | NO_DATA) ? SM_ANY : SM_SHORT;
    if (kind_is(kind, NEIGHBOR) && self->size > NEIGHBOR_RANKS)
        return NULL;
    if (opal_likely(bytes <= self->short_bytes[kind] && !is_vector) || goes_in_pieces(self, call))
        return kinds[kind].run;
    if (!is_vector)
        *protocol = SM_DIRECT;
    return may_be_direct(self, call, bytes) ? kinds[kind].direct : NULL;
}

/* At the first call: allocates the area, and finds out how the ranks reach each other's memory. */
static int prepare(sm_comm_t *self)
{
    int error = MPI_SUCCESS;
    if (self->stage == SM_NEW)
        error = sm_area_join(self);
    set_short_bytes(self);
    /* At the first call of any length: ranks whose lengths differ by mistake would not agree on
     * when it is needed. */
    if (error == MPI_SUCCESS && self->stage == SM_READY && self->direct == SM_DIRECT_UNKNOWN)
        error = sm_direct_agree(self);
    set_short_bytes(self);
    return error;
}

/* Whether what this rank sends is not as long as what it receives, in an operation in which each
 * rank does both. */
static bool is_mismatch(const sm_comm_t *self, const ompi_coll_call_t *call)
{
    bool gathers = call->kind != OMPI_ALLTOALL;
    if (!kind_is(call->kind, BOTH) || ompi_coll_is_in_place(&call->send))
        return false;
    return ompi_coll_bytes(ompi_coll_block(&call->send, 0)) !=
           ompi_coll_bytes(ompi_coll_block(&call->recv, gathers ? self->rank : 0));
}

/* For a call with an error: all steps, without data. The other ranks see another signature, and
 * find the error in the area. */
static int run_empty(sm_comm_t *self, const ompi_coll_call_t *call, sm_run_fn_t *chosen,
                     size_t bytes)
{
    ompi_coll_call_t empty = *call;
    empty.send.count = empty.recv.count = 0;
    empty.send.counts = empty.recv.counts = (ompi_ints_t){0};
    self->signature |= SM_MISMATCH;
    atomic_store_explicit(&self->area->error, self->step << SM_ERROR_BITS | (unsigned)call->error,
                          memory_order_relaxed); /* the flags publish it */
    int error = chosen(self, &empty, bytes);
    return error == SM_FALL_BACK ? error : call->error;
}

/* Why the signature of a rank differs: its call has an error, or its data another length. The rank
 * may be in a later call already, with an error that it has met again. */
static int error_of_others(const sm_comm_t *self, uint64_t step)
{
    uint64_t word = atomic_load_explicit(&self->area->error, memory_order_relaxed);
    bool is_of_call = word >> SM_ERROR_BITS >= step && word != 0;
    return is_of_call ? (int)(word & ((1u << SM_ERROR_BITS) - 1)) : MPI_ERR_TRUNCATE;
}

/* After a mismatch: in these operations not all ranks wait for each other, so that ranks whose
 * lengths are on different sides of a limit have taken different numbers of steps. */
static void end_if_lost(sm_comm_t *self, const ompi_coll_call_t *call)
{
    ompi_communicator_t *comm = call->comm;
    sm_protocol_t protocol, others;
    ompi_check_record_t record;
    bool is_one_way = call->kind == OMPI_GATHER || call->kind == OMPI_REDUCE ||
                      call->kind == OMPI_SCAN || call->kind == OMPI_EXSCAN;
    if (!comm->is_checked || !is_one_way)
        return;
    choose(self, call, call_bytes(self, call), &protocol);
    for (int rank = 0; rank < self->size; rank++) {
        if (!ompi_check_read(comm, comm->checked, rank, &record))
            continue;
        choose(self, call, record.bytes, &others);
        if (others != protocol)
            ompi_check_end(comm, MPI_ERR_TRUNCATE);
    }
}

static int carry_out(sm_comm_t *self, const ompi_coll_call_t *call, sm_run_fn_t *chosen,
                     size_t bytes)
{
    uint64_t step = self->step;
    if (opal_unlikely(self->stage != SM_READY))
        return MPI_ERR_PROC_ABORTED;
    if (opal_unlikely(call->error != MPI_SUCCESS))
        return run_empty(self, call, chosen, bytes);
    int error = chosen(self, call, bytes);
    if (opal_likely(error != MPI_ERR_TRUNCATE))
        return error;
    end_if_lost(self, call);
    return error_of_others(self, step);
}

static int run(const ompi_coll_call_t *call, void *state, bool *taken)
{
    sm_comm_t *self = state;
    *taken = false;
    if (kinds[call->kind].run == NULL)
        return MPI_SUCCESS;
    size_t bytes = call_bytes(self, call);
    if (bytes == SIZE_MAX)
        return MPI_SUCCESS;
    sm_protocol_t protocol;
    sm_run_fn_t *chosen = choose(self, call, bytes, &protocol);
    bool is_unknown = self->stage == SM_NEW || self->direct == SM_DIRECT_UNKNOWN;
    if (opal_unlikely(is_unknown) && chosen != NULL) {
        int error = prepare(self);
        *taken = error != MPI_SUCCESS;
        if (*taken)
            return error;
        chosen = choose(self, call, bytes, &protocol);
    }
    if (chosen == NULL || self->stage == SM_DECLINED)
        return MPI_SUCCESS;
    self->signature =
        sm_signature(call->comm->call_digest, bytes, protocol, is_mismatch(self, call));
    int error = carry_out(self, call, chosen, bytes);
    *taken = error != SM_FALL_BACK;
    if (opal_unlikely(!*taken))
        return MPI_SUCCESS;
    opal_count(&counts[protocol], 1);
    return error;
}

static const char *explain(const ompi_coll_call_t *call, const void *state)
{
    static const char *const names[SM_PROTOCOLS] = {
        [SM_ANY] = "flags", [SM_SHORT] = "packed", [SM_DIRECT] = "in place"};
    const sm_comm_t *self = state;
    sm_protocol_t protocol;
    size_t bytes = kinds[call->kind].run != NULL ? call_bytes(self, call) : SIZE_MAX;
    if (self->stage != SM_READY || bytes == SIZE_MAX)
        return NULL;
    return choose(self, call, bytes, &protocol) != NULL ? names[protocol] : NULL;
}

/* A persistent operation may block while it is made. */
static int build_persistent(sm_comm_t *self, const ompi_coll_call_t *call,
                            ompi_schedule_t *schedule, bool *taken)
{
    int error = prepare(self);
    *taken = error != MPI_SUCCESS;
    if (!*taken && self->stage == SM_READY)
        error = sm_persistent_build(self, call, schedule, taken);
    return error;
}

/* What ranks must give alike so that each finds the addresses that it needs; with mpi_check all
 * calls up to this one. The low bits do not count. */
static uint64_t way_of(const ompi_coll_call_t *call)
{
    if (call->comm->is_checked)
        return call->comm->call_history;
    return (uint64_t)(uint32_t)call->root << 32 | (uint64_t)call->kind << SM_DIGEST_AT;
}

/* `direct` was set by blocking calls, so it is equal in all ranks. */
static int build(const ompi_coll_call_t *call, void *state, ompi_schedule_t *schedule, bool *taken)
{
    sm_comm_t *self = state;
    *taken = false;
    if (schedule->request.persistent && sm_persistent_takes(call)) {
        int error = build_persistent(self, call, schedule, taken);
        if (*taken)
            return error;
    }
    if (!kind_is(call->kind, NONBLOCKING) || !may_be_mapped(self, call->kind))
        return MPI_SUCCESS;
    size_t bytes = call_bytes(self, call);
    *taken = bytes >= self->limits->nonblocking_bytes && bytes < SIZE_MAX;
    if (!*taken)
        return MPI_SUCCESS;
    uint64_t signature = sm_signature(way_of(call), bytes, SM_DIRECT, is_mismatch(self, call));
    return sm_nonblocking_build(self, call, signature, schedule);
}

/* -- communicators --------------------------------------------------------------------- */

static int comm_add(ompi_communicator_t *comm, void **state)
{
    if (ompi_comm_is_inter(comm) || comm->size == 1 || !ompi_coll_is_on_node(comm))
        return MPI_SUCCESS;
    sm_comm_t *self = calloc(1, sizeof *self + (size_t)comm->size * sizeof self->peers[0]);
    if (self == NULL)
        return MPI_ERR_NO_MEM;
    self->comm = comm;
    self->rank = comm->rank;
    self->size = comm->size;
    self->direct = use_direct ? SM_DIRECT_UNKNOWN : SM_DIRECT_FORBIDDEN;
    self->limits = comm->size == 2 ? &two_ranks : &more_ranks;
    self->max_bytes = self->limits->area_bytes;
    set_short_bytes(self);
    for (int rank = 0; rank < comm->size; rank++) {
        sm_peer_t *peer = &self->peers[rank];
        peer->local_rank = (unsigned)opal_node_local_rank(ompi_comm_process(comm, rank));
        peer->doorbell = &opal_node_slot(peer->local_rank)->doorbell;
    }
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
    .explain = explain,
};

static void query(opal_answer_t *answer)
{
    if (opal_node_base() == NULL) {
        opal_answer_no(answer, opal_job()->local_size > 1
                                   ? "this node has no shared segment"
                                   : "no other rank of the job is on this node");
        return;
    }
    opal_answer_yes(answer, PRIORITY, &sm_ops, NULL, "%u ranks share memory on this node",
                    opal_node_ranks());
}

OPAL_EXPORT extern const opal_component_t mca_coll_sm_component;
const opal_component_t mca_coll_sm_component = {
    OPAL_COMPONENT_HEAD(coll, sm),
    .prose = "collectives in shared memory",
    .params = params,
    .pvars = pvars,
    .open = open_limits,
    .query = query,
    .close = sm_fold_close,
    .rules = tell_rules,
};
