/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll/sm: collectives in communicators whose ranks share a node.
 *
 *   sm.c             the component: which calls it takes, and which function carries out each
 *   area.c           the shared memory of a communicator: allocation and agreement
 *   step.[ch]        slots of the area, arrivals, and waiting for them
 *   move.c           operations that move data through the area
 *   reduce.c         reductions of data in the area
 *   fold.c           reducing the operands of all ranks
 *   direct.[ch]      data that stays in the memory of its rank
 *   direct_move.c    operations that move such data
 *   direct_reduce.c  reductions of such data
 *   pair.c           long broadcasts and allgathers of two ranks
 *   vector.[ch]      operations on blocks whose lengths are not known to all ranks
 *   neighbor.c       such operations on neighbours
 *   nonblocking.c    nonblocking and persistent operations, on data in the region
 *   operation.[ch]   persistent operations: what their Start and their waits do
 *   persistent.c     what the ranks agree on when a persistent operation is made
 *   offer.[ch]       what they tell each other then
 *
 * Short data goes through the area, packed. For longer data the area holds only addresses. Data in
 * the region (the memory that all ranks of the node have mapped and allocate from) is read, reduced
 * and written in place; other data is read by system calls. Where the ranks cannot reach each
 * other's memory at all, longer data goes through the area in pieces, or by messages.
 *
 * The area of a communicator is in the node's segment. Row i belongs to rank i. The last row
 * belongs to the rank that computes a result for all:
 *
 *   +--------------------------------------------------+
 *   | how many ranks have left                         |
 *   | counters:  half 0: SM_LINES, half 1: SM_LINES    |  arrivals, a cache line each
 *   | lines:     row 0: half 0, half 1; row 1: ...     |  flag and up to SM_INLINE bytes
 *   | room:      row 0: half 0, half 1; row 1: ...     |  longer data
 *   +--------------------------------------------------+
 *
 * An operation is one or more steps. A step takes a slot: the next line, at the same index in every
 * row, and, for data longer than a line, the next bytes of the room. A rank that has written its
 * row stores the number of the step as the flag. Where all ranks write, each also adds 1 to the
 * slot's counter, and the rank that completes the count wakes the others. So a waiting rank sleeps
 * once, and only one other rank wakes it.
 *
 * Lines and room are reused without being cleared. In a sync step all ranks wait for all, so when
 * it ends, all earlier steps have been read. Steps go through one half of the area up to a sync
 * step, then through the other half up to the next sync step. A sequence of operations without a
 * sync step (such as broadcasts from one root) gets a barrier when the half is full; up to then the
 * root runs ahead.
 *
 * Each rank writes a signature beside its flag: the bytes and the protocol of its call, which are
 * equal in all ranks of a correct program. A rank that reads a different signature returns
 * MPI_ERR_TRUNCATE and touches no data. If the protocols have different steps, it takes the steps
 * of the root's protocol. Without checks one mistake is not detected and hangs: a gather, a scan or
 * a reduction to a root in which the lengths of some ranks' data are on different sides of a limit,
 * because their first steps differ. With mpi_check the signature has a digest of the whole call,
 * and a rank that waits compares the records of the ranks' calls (ompi/check/check.h).
 *
 * Threading: the caller holds ompi_lock. Threads in different communicators wait at the same time.
 */
#ifndef OMPI_COLL_SM_H
#define OMPI_COLL_SM_H

#include <stdatomic.h>

#include "opal/node/node.h"
#include "opal/node/shared.h"
#include "ompi/mca/coll/base/data.h"
#include "ompi/mca/coll/base/tuning.h"
#include "ompi/mca/coll/coll.h"

enum {
    SM_LINES = 64,
    SM_INLINE = 112,
    SM_PIECE_MIN = 64, /* bytes of a block that are worth a step */
    SM_ERROR_BITS = 16,
};

typedef struct sm_counter {
    _Alignas(64) _Atomic uint64_t count;
} sm_counter_t;

/* Two cache lines: a transfer of two takes little longer than that of one. */
typedef struct sm_line {
    _Alignas(64) _Atomic uint64_t flag; /* the step whose data the row has */
    uint64_t signature;                 /* of the rank's call, sm_signature */
    _Alignas(16) char bytes[SM_INLINE];
} sm_line_t;

typedef struct sm_area {
    opal_shared_t shared;
    _Atomic uint64_t error; /* of a call with an error: step before it << SM_ERROR_BITS | code */
    /* The latest step of neighbours of each half that goes by messages. A rank that has left such a
     * step may refuse the next one, in the other half, before all ranks have read this word. */
    _Atomic uint64_t refused[2];
    sm_counter_t counters[2][SM_LINES];
    sm_line_t lines[][2][SM_LINES];
} sm_area_t;

typedef enum sm_stage {
    SM_NEW,      /* no call has needed an area yet */
    SM_READY,    /* the area can be used */
    SM_DECLINED, /* the segment had no room for an area */
    SM_BROKEN,   /* a rank of the communicator has failed */
} sm_stage_t;

/* Whether all ranks can read each other's memory. */
typedef enum sm_direct_state {
    SM_DIRECT_UNKNOWN, /* no call has asked yet */
    SM_DIRECT_WORKS,
    SM_DIRECT_FORBIDDEN, /* one of the ranks cannot, so no rank does */
} sm_direct_state_t;

typedef struct sm_peer {
    opal_doorbell_t *doorbell;
    unsigned local_rank;
    bool is_read;          /* in this step */
    opal_node_view_t view; /* of its memory, as mapped here; set by sm_direct_agree */
    size_t memory_bytes;   /* populated by this rank of a half of its row */
} sm_peer_t;

/* The state of a communicator. The fields from `step` to `used`, and `arrivals`, are equal in all
 * ranks when they begin a step. */
typedef struct sm_comm {
    ompi_communicator_t *comm;
    sm_stage_t stage;
    sm_direct_state_t direct;
    int rank, size;
    sm_area_t *area;
    char *room;
    size_t
        room_bytes; /* of a row's half: one step with data of max_bytes, or several shorter ones */
    uint64_t signature; /* of the running call */
    uint64_t step;
    unsigned half, line;        /* of the next step */
    size_t used;                /* of the half's room */
    size_t result_memory_bytes; /* populated of a half of the last row */
    bool is_mapped;             /* all ranks have mapped the same region */
    bool may_read;              /* all ranks may read each other's other memory by system calls */
    bool is_oversubscribed;     /* the node has more ranks than cores; a wait does not spin */
    unsigned deaths;            /* of processes of the node, at the last check */
    const ompi_coll_sm_limits_t *limits; /* of two_ranks or more_ranks */
    size_t max_bytes; /* the longest data of a rank that fits the area; rank 0's value when READY */
    size_t short_bytes[OMPI_COLL_KINDS]; /* the longest data that goes through the area at once */
    uint64_t arrivals[2][SM_LINES];      /* values of the counters when all ranks have arrived */
    sm_peer_t peers[];                   /* the ranks of the communicator */
} sm_comm_t;

/* Whether a rank claims `bytes` that it reads from another rank's memory, one of `readers`. */
static inline bool sm_claims(const sm_comm_t *self, size_t bytes, int readers)
{
    return readers == 1 && bytes <= self->limits->claim_bytes;
}

/* -- area.c ------------------------------------------------------------------------------ */

/* Called by all ranks before their first step. Allocates an area; without memory the stage is
 * SM_DECLINED in all ranks. */
int sm_area_join(sm_comm_t *self);

/* This rank no longer uses the area of the communicator. */
void sm_area_leave(sm_comm_t *self);

/* -- data ---------------------------------------------------------------------------------- */

/* Copies a rank's block for itself. MPI_ERR_TRUNCATE: the two lengths differ. */
static inline int sm_copy_own(ompi_data_t from, ompi_data_t to)
{
    size_t bytes = ompi_coll_bytes(from);
    if (opal_likely(ompi_datatype_is_contiguous(from.type)))
        ompi_datatype_unpack(to.type, to.count, to.buffer, 0,
                             (const void *)ompi_datatype_origin(from.type, from.buffer), bytes);
    else
        ompi_datatype_copy(from.type, from.count, from.buffer, to.type, to.count, to.buffer);
    return bytes == ompi_coll_bytes(to) ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

/* Pack and unpack `length` bytes from the packed byte `from` on, or fewer at the end of the data.
 */
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

/* This rank's block of a reduce_scatter, in elements. */
typedef struct sm_blocks {
    size_t first, count, total;
} sm_blocks_t;

sm_blocks_t sm_blocks(const ompi_coll_side_t *side, const sm_comm_t *self);

/* -- the operations ------------------------------------------------------------------------ */

/* An operation returns this if messages must carry it out. All ranks return it or none, and the
 * user's buffers are unchanged. It is not an MPI error code. */
enum { SM_FALL_BACK = -1 };

/* `bytes` is the length of a row. Zero bytes still take a step, because another rank's call may
 * have some. */
typedef int sm_run_fn_t(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes);

sm_run_fn_t sm_barrier, sm_bcast, sm_gather, sm_scatter, sm_allgather, sm_alltoall;
sm_run_fn_t sm_reduce, sm_allreduce, sm_reduce_scatter, sm_scan;

/* `bytes` is what a rank may pack into its row, for all blocks together. */
sm_run_fn_t sm_alltoallv, sm_gatherv, sm_scatterv, sm_neighbor;

/* The bytes that a row must have room for in these operations. */
size_t sm_vector_bytes(int ranks);

/* `bytes` is the length that a row would have if the data went through the area. */
sm_run_fn_t sm_direct_bcast, sm_direct_gather, sm_direct_scatter;
sm_run_fn_t sm_direct_allgather, sm_direct_alltoall;
sm_run_fn_t sm_direct_reduce, sm_direct_allreduce, sm_direct_reduce_scatter, sm_direct_scan;

/* For two ranks, from the lengths on that `limits` has. */
sm_run_fn_t sm_pair_bcast, sm_pair_allgather;

/* Makes a persistent operation; blocks. Not taken: messages and nonblocking.c are for it. */
int sm_persistent_build(sm_comm_t *self, const ompi_coll_call_t *call, ompi_schedule_t *schedule,
                        bool *taken);
bool sm_persistent_takes(const ompi_coll_call_t *call);

/* Adds the steps of a nonblocking or persistent operation to the schedule. */
int sm_nonblocking_build(sm_comm_t *self, const ompi_coll_call_t *call, uint64_t signature,
                         ompi_schedule_t *schedule);

#endif
