/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll/sm: collectives in communicators whose ranks share a node.
 *
 *   sm.c             the component: which calls it takes, and which way they go
 *   area.c           the shared memory of a communicator: made, agreed on, used again
 *   step.c           taking a place in it, saying that data is there, waiting for others
 *   move.c           operations that move data through the area
 *   reduce.c         reductions of data in the area
 *   fold.c           reducing the operands of all ranks
 *   direct.c         data where it is, in the memory of another rank
 *   direct_move.c    operations that move data in this way
 *   direct_reduce.c  reductions of such data
 *   pair.c           long broadcasts and allgathers of two ranks
 *   vector.c         operations on blocks whose lengths not all ranks know
 *   nonblocking.c          nonblocking and persistent ones, on data in the region
 *
 * Short data goes through the area, packed. Of longer data the area has the addresses only: what
 * lies in the region that the ranks allocate from is read, reduced and written in place. Where
 * ranks may not reach each other's memory at all, it goes through in pieces or is left to messages.
 *
 * A communicator has an area in the node's segment. Row i belongs to rank i, the last row to
 * whoever computes a result for all:
 *
 *   +--------------------------------------------------+
 *   | how many ranks have left                         |
 *   | counters:  half 0: SM_LINES, half 1: SM_LINES    |  arrivals, a cache line each
 *   | lines:     row 0: half 0, half 1; row 1: ...     |  flag and up to SM_INLINE bytes
 *   | room:      row 0: half 0, half 1; row 1: ...     |  longer data
 *   +--------------------------------------------------+
 *
 * An operation (a step) takes the next line, the same one in every row, and, if its data is longer,
 * the next bytes of the room. Who has written its row stores the number of the step as the flag,
 * and, where all give something, counts itself in; the one who completes the count wakes the
 * others. So a rank that waits sleeps once, and only one other rank rings it.
 *
 * Nothing is ever reset. A step in which all wait for all (a sync step) tells everybody that
 * everything before it has been read. So steps go through one half up to a sync step, and then
 * through the other half, up to the next one. A sequence of operations without one (broadcasts from
 * one root, say) gets a barrier when the half is full: up to then the root runs ahead.
 *
 * Between two ranks there are no counters: each waits for the other's flag.
 *
 * Beside its flag a rank says which way it goes, and with how many bytes. That is the same in all
 * ranks of a correct program. A rank that sees a difference returns MPI_ERR_TRUNCATE and touches no
 * data; where the ways have different steps, it takes those of the root. One case is not caught: a
 * gather or a reduction to a root in which the data of some ranks is short and that of others is
 * not begins with different steps, and does not end.
 *
 * Threading: under ompi_lock. Threads in different communicators wait at the same time.
 */
#ifndef OMPI_COLL_SM_H
#define OMPI_COLL_SM_H

#include <stdatomic.h>

#include "opal/node/node.h"
#include "ompi/mca/coll/base/tuning.h"
#include "ompi/mca/coll/coll.h"

enum {
    SM_LINES = 64,
    SM_INLINE = 48,
    SM_PIECE_MIN = 64, /* of a block, that is worth a step */
};

typedef struct sm_counter {
    _Alignas(64) _Atomic uint64_t count;
} sm_counter_t;

typedef struct sm_line {
    _Alignas(64) _Atomic uint64_t flag; /* the step whose data is there */
    uint64_t signature;                 /* of the rank's call: sm_comm_t's */
    _Alignas(16) char bytes[SM_INLINE];
} sm_line_t;

typedef struct sm_area {
    _Alignas(64) atomic_int left; /* ranks that will not touch it any more */
    sm_counter_t counters[2][SM_LINES];
    sm_line_t lines[][2][SM_LINES];
} sm_area_t;

typedef enum sm_stage {
    SM_NEW,      /* there was no call yet that would need an area */
    SM_READY,    /* `area` is there */
    SM_DECLINED, /* there was no room for it */
    SM_BROKEN,   /* a rank of the communicator has died */
} sm_stage_t;

/* How all ranks can read each other's memory. */
typedef enum sm_direct_state {
    SM_DIRECT_UNKNOWN, /* there was no call yet for which it counts */
    SM_DIRECT_WORKS,
    SM_DIRECT_FORBIDDEN, /* one of them cannot, so nobody does it */
} sm_direct_state_t;

typedef struct sm_peer {
    unsigned local_rank;
    bool is_read;          /* in this step */
    opal_node_view_t view; /* what we see of its memory, when `direct` is known */
} sm_peer_t;

/* What the component has of a communicator. From `step` to `arrivals` it is the same in all ranks
 * when they begin a step. */
typedef struct sm_comm {
    ompi_communicator_t *comm;
    sm_stage_t stage;
    sm_direct_state_t direct;
    bool is_mapped;         /* all have mapped the same region */
    bool may_read;          /* all may read the rest of each other's memory, too */
    bool is_oversubscribed; /* one of them is on a node with more ranks than cores, and does not
                               spin */
    int rank, size;
    const ompi_coll_sm_limits_t *limits; /* for so many ranks */
    size_t
        max_bytes; /* the longest data of a rank that goes through the area; rank 0's when READY */
    size_t room_bytes; /* of a row's half: for one step with data of that length, or more shorter */
    size_t area_bytes; /* in rank 0: what was carved, which may be more than what is used */
    sm_area_t *area;
    char *room;
    uint64_t signature; /* of the call that is run: its bytes and way, see sm_signature */
    uint64_t step;
    unsigned half, line;                /* of the next step */
    size_t used;                        /* of the half's room */
    uint64_t arrivals[2][SM_LINES];     /* what the counters are when all have arrived */
    unsigned deaths;                    /* of the node, when we looked last */
    bool has_memory, has_result_memory; /* in our row's room, in that of the last row */
    sm_peer_t peers[];                  /* the ranks of the communicator */
} sm_comm_t;

/* Between two ranks there are no counters: each waits for the other's flag, which is faster. */
static inline bool sm_has_counters(const sm_comm_t *self)
{
    return self->size > 2;
}

/* -- area.c ------------------------------------------------------------------------------ */

/* Makes an area for the communicator, or gives up in all ranks: its first step. */
int sm_area_join(sm_comm_t *self);

/* This rank is done with it. */
void sm_area_leave(sm_comm_t *self);

/* Forgets areas that may be used again. */
void sm_area_close(void);

/* -- step.c ------------------------------------------------------------------------------ */

/* Where a step is. */
typedef struct sm_slot {
    uint64_t step, arrivals;
    unsigned half, line;
    size_t at;   /* in the half's room; SIZE_MAX: in the lines */
    size_t used; /* of it, before the step */
} sm_slot_t;

typedef enum sm_flow {
    SM_SYNC,    /* everybody gives, and waits for all */
    SM_TO_ROOT, /* everybody gives, the root waits for all */
    SM_BY_ROOT, /* the root gives, the others wait for it */
} sm_flow_t;

/* How an operation goes through the area. */
typedef enum sm_protocol {
    SM_ANY,    /* that of its kind; nothing to be compared */
    SM_SHORT,  /* rows have the data */
    SM_DIRECT, /* rows tell where it is, and one more step says that it has been read */
    SM_HALVES, /* a broadcast of two ranks, which begins with a sync step */
    SM_PROTOCOLS = 4,
} sm_protocol_t;

/* What a rank says of its call. `is_misfit`: what it gives is not as long as what it gets. */
static inline uint64_t sm_signature(size_t bytes, sm_protocol_t protocol, bool is_misfit)
{
    return protocol == SM_ANY ? 0 : ((uint64_t)bytes * 2 + is_misfit) * SM_PROTOCOLS + protocol;
}

/* A step with so many bytes in a row. May wait. */
int sm_step_begin(sm_comm_t *self, sm_flow_t flow, size_t bytes, sm_slot_t *slot);

/* The bytes of a row; that of results is row `size`. */
char *sm_step_row(const sm_comm_t *self, const sm_slot_t *slot, int row);

/* The same, for who is going to write. */
char *sm_step_own_row(sm_comm_t *self, const sm_slot_t *slot);
char *sm_step_result_row(sm_comm_t *self, const sm_slot_t *slot);

/* Of a step whose rows are longer: the bytes beside the flag, which come with it. */
char *sm_step_line(const sm_comm_t *self, const sm_slot_t *slot, int row);

/* Rows of results and of entries (sm_entry_t) begin with an error there: why the data is missing.
 */
int *sm_step_error(const sm_comm_t *self, const sm_slot_t *slot, int row);

/* SM_SYNC: this rank has given; returns when all have. Or in two parts, with work between them. */
int sm_step_sync(sm_comm_t *self, const sm_slot_t *slot);
int sm_step_barrier(sm_comm_t *self); /* a step of it without data */
void sm_step_arrive(sm_comm_t *self, const sm_slot_t *slot);
int sm_step_await_all(sm_comm_t *self, const sm_slot_t *slot);

/* This rank's row may be read before all have come, by those who look whether it is shown. */
void sm_step_publish(const sm_comm_t *self, const sm_slot_t *slot);
bool sm_step_is_published(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* Whether what a rank, whose row is there, has said of its call is what we say. Of all ranks,
 * which then get the same answer: MPI_SUCCESS, or MPI_ERR_TRUNCATE if one of them differs. */
bool sm_step_matches(const sm_comm_t *self, const sm_slot_t *slot, int rank);
int sm_step_compare(sm_comm_t *self, const sm_slot_t *slot);

/* SM_SYNC with more bytes than a line has, where one computes for all. True: that one is this rank,
 * and all have given; it tells the others when the result is there, or why there is none. They wait
 * for it, and get the error. */
bool sm_step_count_in(sm_comm_t *self, const sm_slot_t *slot);
void sm_step_publish_result(sm_comm_t *self, const sm_slot_t *slot, int error);
int sm_step_await_result(sm_comm_t *self, const sm_slot_t *slot);

/* SM_TO_ROOT: this rank has given. Returns, in the root, when all have. */
int sm_step_give(sm_comm_t *self, const sm_slot_t *slot, int root);

/* A step of it without data. `compares`: the root sees whether all are alike. */
int sm_step_report(sm_comm_t *self, int root, bool compares);

/* SM_BY_ROOT: the root has given; the others wait for that. MPI_ERR_TRUNCATE: it says something
 * else of its call than we do; sm_step_follow_root then does what its way expects of us, and
 * returns the error. */
void sm_step_notify(sm_comm_t *self, const sm_slot_t *slot);
int sm_step_await(sm_comm_t *self, const sm_slot_t *slot, int root);
int sm_step_follow_root(sm_comm_t *self, sm_slot_t *slot, int root);
sm_protocol_t sm_step_protocol(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* A word in somebody's row: this rank has read what that one has; the owner waits for all. */
void sm_step_reader_done(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all, int owner);
int sm_step_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all);

/* The same where every rank of the communicator makes both calls. Without counters there is a
 * barrier instead: a flag is stored without waiting for its cache line, where a count would wait.
 */
void sm_step_all_reader_done(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all,
                             int owner);
int sm_step_all_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all);

/* -- the operations ------------------------------------------------------------------------ */

/* What an operation returns, in all ranks or in none, that has to be done by somebody else: nothing
 * that the user gave has changed. It is no error code. */
enum { SM_FALL_BACK = -1 };

/* `bytes` is what a row holds. Also if it is nothing, the ranks meet: another one may think that it
 * is something. */
typedef int sm_run_fn_t(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes);

sm_run_fn_t sm_barrier, sm_bcast, sm_gather, sm_scatter, sm_allgather, sm_alltoall;
sm_run_fn_t sm_reduce, sm_allreduce, sm_reduce_scatter;

/* `bytes` is what a rank may pack, of all blocks together. */
sm_run_fn_t sm_alltoallv, sm_gatherv, sm_scatterv;

/* What an operation gives to a reduction. */
static inline ompi_data_t sm_contribution(const ompi_coll_call_t *call, size_t count)
{
    const void *buffer = call->send.buffer == MPI_IN_PLACE ? call->recv.buffer : call->send.buffer;
    return ompi_data(buffer, count, call->recv.type);
}

/* What a row must have room for. */
size_t sm_vector_bytes(int ranks);

/* `bytes` is what the row would hold. */
sm_run_fn_t sm_direct_bcast, sm_direct_gather, sm_direct_scatter;
sm_run_fn_t sm_direct_allgather, sm_direct_alltoall;
sm_run_fn_t sm_direct_reduce, sm_direct_allreduce, sm_direct_reduce_scatter;

/* Of two ranks (pair.c), where the limits of the communicator say so. */
sm_run_fn_t sm_pair_bcast, sm_pair_allgather;

/* `count` elements of the data, beginning with the given one. Also for MPI_BOTTOM. */
static inline ompi_data_t sm_part(ompi_data_t data, size_t first, size_t count)
{
    MPI_Count offset = (MPI_Count)first * ompi_datatype_extent(data.type);
    return ompi_data((void *)((uintptr_t)data.buffer + (uintptr_t)offset), count, data.type);
}

static inline ompi_data_t sm_elements(const ompi_coll_side_t *side, size_t first, size_t count)
{
    return sm_part(ompi_data(side->buffer, 0, side->type), first, count);
}

/* A rank's block, also of the v and w forms. */
static inline ompi_data_t sm_block(const ompi_coll_side_t *side, int i)
{
    if (side->counts.items == NULL)
        return sm_elements(side, (size_t)i * (size_t)side->count, (size_t)side->count);
    size_t at = (size_t)i, count = (size_t)ompi_ints_at(side->counts, at);
    MPI_Count displ = ompi_ints_at(side->displs, at);
    ompi_datatype_t *type = side->types != NULL ? ompi_handle_object(side->types[i]) : side->type;
    if (side->types == NULL)
        displ *= ompi_datatype_extent(type);
    return ompi_data((void *)((uintptr_t)side->buffer + (uintptr_t)displ), count, type);
}

static inline size_t sm_bytes(ompi_data_t data)
{
    return ompi_datatype_bytes(data.type, data.count);
}

/* A rank's block for itself. MPI_ERR_TRUNCATE: it is not as long as its place. */
static inline int sm_copy_own(ompi_data_t from, ompi_data_t to)
{
    ompi_datatype_copy(from.type, from.count, from.buffer, to.type, to.count, to.buffer);
    return sm_bytes(from) == sm_bytes(to) ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

/* This rank's block of a reduce_scatter, in elements. */
typedef struct sm_blocks {
    size_t first, count, total;
} sm_blocks_t;

sm_blocks_t sm_blocks(const ompi_coll_side_t *side, const sm_comm_t *self);

/* Bytes of the packed form; as many as there are, of those asked for. */
static inline void sm_pack_piece(ompi_data_t data, size_t from, size_t length, char *row)
{
    ompi_datatype_pack(data.type, data.count, data.buffer, from, row, length);
}

static inline void sm_unpack_piece(ompi_data_t data, size_t from, size_t length, const char *row)
{
    ompi_datatype_unpack(data.type, data.count, data.buffer, from, row, length);
}

static inline void sm_pack(ompi_data_t data, char *row)
{
    sm_pack_piece(data, 0, SIZE_MAX, row);
}

static inline void sm_unpack(ompi_data_t data, const char *row)
{
    sm_unpack_piece(data, 0, SIZE_MAX, row);
}

/* -- fold.c -------------------------------------------------------------------------------- */

/* Where a rank's operand is, and room for its result; addresses of its own. */
typedef struct sm_addresses {
    uintptr_t operand, target;
} sm_addresses_t;

typedef struct sm_fold {
    sm_comm_t *self;
    ompi_op_t *op;
    ompi_datatype_t *type;
    bool is_direct;                  /* rows have the addresses of the operands */
    bool is_plain;                   /* they are reduced as they are packed */
    const sm_addresses_t *addresses; /* of all ranks, instead of rows, if there is no step */
    size_t step;                     /* elements at a time */
    size_t each;                     /* bytes of scratch memory for them, twice */
} sm_fold_t;

/* Takes the memory that is needed. Who gets none takes part nevertheless, and only does not reduce:
 * the others are in the same step. */
int sm_fold_init(sm_fold_t *fold, sm_comm_t *self, const ompi_coll_call_t *call, bool is_direct);

/* Reduces `count` elements of everybody's operands, from the first one given on, into a result of
 * the same type, or of so many packed bytes. */
int sm_fold_run(const sm_fold_t *fold, const sm_slot_t *slot, size_t first, size_t count,
                ompi_data_t result);

/* A rank's piece of so many elements, where each rank reduces one. */
typedef struct sm_piece {
    size_t first, count;
} sm_piece_t;

sm_piece_t sm_piece_of(const sm_comm_t *self, size_t count, int rank);

/* Reduces this rank's piece of so many elements into the target of the first of the ranks given,
 * and copies it to those of the others, which follow in a circle. */
int sm_fold_into(const sm_fold_t *fold, const sm_slot_t *operands, size_t count, int first_rank,
                 int ranks);

void sm_fold_open(const ompi_coll_tuning_t *tuning);
void sm_fold_close(void);

/* -- nonblocking.c -------------------------------------------------------------------------------
 */

/* Adds the operation's schedule. */
int sm_nonblocking_build(sm_comm_t *self, const ompi_coll_call_t *call, uint64_t signature,
                         ompi_schedule_t *schedule);

/* -- direct.c ------------------------------------------------------------------------------ */

/* Finds out whether and how it is possible, for all together. */
int sm_direct_agree(sm_comm_t *self);

/* What this rank shows the others: packed data that they read, room for the packed form of a result
 * that they write; or why there is none. */
typedef struct sm_source {
    uintptr_t address;
    size_t segments;  /* 0: the data is there; else so many struct iovec, of which it is made */
    uintptr_t target; /* 0: no room that all of them can write to */
    char *room;       /* that `address` leads to, its own; NULL: it is the user's */
    bool in_place;    /* the data lies where the result belongs */
    int error;        /* also SM_ELSEWHERE: there is no memory that the others could read */
} sm_source_t;

/* The user's data; `needs_copy`: it is going to change. */
void sm_source_init(sm_source_t *source, const sm_comm_t *self, ompi_data_t data, bool needs_copy);

/* The same for who fetches only, and can do that from one layout to another. */
void sm_source_init_layout(sm_source_t *source, const sm_comm_t *self, ompi_data_t data);

/* Of data in the region that is in long pieces: where these are, into as many bytes of room. Their
 * number, or 0. */
size_t sm_direct_describe(const sm_comm_t *self, ompi_data_t data, void *room, size_t bytes);

/* Whether the others can read it where it is, as packed data. */
bool sm_direct_is_readable(const sm_comm_t *self, ompi_data_t data);

/* Room for data. */
void sm_source_init_room(sm_source_t *source, const sm_comm_t *self, size_t bytes);
void sm_source_fini(sm_source_t *source);

/* The others may write this result, if they can. */
void sm_source_set_target(sm_source_t *source, const sm_comm_t *self, ompi_data_t result);

/* What a row tells of it. */
typedef struct sm_entry {
    int error; /* sm_step_error finds it */
    bool in_place;
    uintptr_t address, target;
    size_t segments;
    _Atomic uint64_t readers; /* ranks that are done with the data */
} sm_entry_t;

_Static_assert(offsetof(sm_entry_t, error) == 0 && sizeof(sm_entry_t) <= SM_INLINE,
               "it comes with the flag");

/* Of a step whose rows are entries: writes our own; what is in that of a rank. */
void sm_direct_write_entry(sm_comm_t *self, const sm_slot_t *slot, const sm_source_t *source);
uintptr_t sm_direct_address(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* Where we see a rank's room for a result, of which the caller knows the length. NULL: it has none.
 * All ranks get the same answer to whether there is one; and whether all ranks have one. */
char *sm_direct_target(const sm_comm_t *self, const sm_slot_t *slot, int rank);
bool sm_direct_has_targets(const sm_comm_t *self, const sm_slot_t *slot);

/* Whether the data of one of them lies where its result belongs. */
bool sm_direct_is_in_place(const sm_comm_t *self, const sm_slot_t *slot);

/* All entries are there: MPI_SUCCESS, or the first error among them, which all ranks see. */
int sm_direct_first_error(const sm_comm_t *self, const sm_slot_t *slot);

/* SM_SYNC: tells where this rank's data is; waits until all have, and nobody goes on if one has an
 * error. Or in one call. */
int sm_direct_publish(sm_comm_t *self, const sm_source_t *source, sm_slot_t *slot);
int sm_direct_await(sm_comm_t *self, const sm_slot_t *slot);
int sm_direct_exchange(sm_comm_t *self, const sm_source_t *source, sm_slot_t *slot);

/* This rank, one of so many readers, does not need that rank's data any more, or cannot read it. */
void sm_direct_reader_done(const sm_comm_t *self, const sm_slot_t *slot, int rank, int readers);

/* All ranks call it: waits until so many have left ours. Returns the error given, or a new one. */
int sm_direct_await_readers(sm_comm_t *self, const sm_slot_t *slot, int readers, int error);

/* The same where ranks write each other's memory: until all are done with everything. */
int sm_direct_barrier(sm_comm_t *self, int error);

/* Packed bytes of another rank (or our own): where they can be read as they are, or copied to the
 * buffer. NULL: they cannot be read. */
const char *sm_direct_reach(const sm_comm_t *self, int rank, uintptr_t from, size_t bytes,
                            char *buffer);

/* Copies data of another rank to where the user wants it: what lies `skip` packed bytes behind the
 * beginning of what its entry tells of. */
int sm_direct_fetch(const sm_comm_t *self, const sm_slot_t *slot, int rank, size_t skip,
                    ompi_data_t to);

/* The same of data that no entry tells of. */
int sm_direct_fetch_from(const sm_comm_t *self, int rank, uintptr_t address, size_t segments,
                         size_t skip, ompi_data_t to);

/* Whether the others may write a result where it is. */
bool sm_direct_is_writable(const sm_comm_t *self, ompi_data_t result);

#endif
