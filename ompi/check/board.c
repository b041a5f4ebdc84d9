/* SPDX-License-Identifier: BSD-3-Clause */
/* The boards of a node: writing the own one, and looking at those of others. */
#include <stdio.h>
#include <string.h>

#include "opal/include/clock.h"
#include "opal/node/node.h"
#include "opal/progress/descriptor.h"
#include "opal/progress/wait.h"
#include "ompi/check/caller.h"
#include "ompi/check/check.h"
#include "ompi/check/finding.h"
#include "ompi/handle/handle.h"
#include "ompi/request/request.h"

enum {
    RECORDS = 128, /* a rank runs ahead of others by fewer calls than that */
    ENDED = 32,    /* communicators that are ended for collectives; others are not told of more */
    LOOKS = 256,   /* polls of a wait from one comparison to the next */
    AWAKE_NSEC = 50000000,    /* a sleeping wait compares so often: nobody wakes it for that */
    TIMEOUT_NSEC = 200000000, /* ranks whose data alone differs often find each other */
};

/* In the node's segment. Its owner writes it. */
typedef struct board {
    _Alignas(64) _Atomic uint64_t ended[ENDED]; /* communicators; 0: none */
    _Atomic uint64_t ended_in[ENDED];           /* the numbers of their calls; written first */
    _Alignas(64) _Atomic uint64_t written;      /* records, ever */
    ompi_check_record_t records[RECORDS];       /* the latest; in turn */
} board_t;

ompi_check_level_t ompi_check_level;

static board_t *own;
static board_t private_board; /* nobody else sees it: for full checks, by messages */

/* -- start and end --------------------------------------------------------------------------- */

void ompi_check_start(ompi_check_level_t level)
{
    ompi_check_level = level;
    if (level == OMPI_CHECK_FULL)
        ompi_check_callers_start();
    own = level == OMPI_CHECK_FULL ? &private_board : NULL;
    memset(&private_board, 0, sizeof private_board);
    if (level == OMPI_CHECK_OFF || opal_node_base() == NULL)
        return;
    uint64_t offset = opal_node_carve_spare(sizeof(board_t));
    if (offset == 0 || opal_node_populate(opal_node_at(offset), sizeof(board_t)) != OPAL_SUCCESS)
        return;
    own = opal_node_at(offset);
    atomic_store_explicit(&opal_node_own_slot()->board, offset, memory_order_release);
}

void ompi_check_stop(void)
{
    ompi_check_level = OMPI_CHECK_OFF;
    own = NULL;
    ompi_check_find_text(MPI_SUCCESS);
}

void ompi_check_comm_add(ompi_communicator_t *comm)
{
    comm->checked = comm->call_history = comm->call_digest = 0; /* world may begin again */
    comm->check_error = MPI_SUCCESS;
    comm->is_checked = own != NULL && comm->parent == NULL && ompi_comm_peers(comm) > 1;
}

/* -- writing --------------------------------------------------------------------------------- */

/* The name of a communicator on all boards. Never 0, and never that of another one. */
static uint64_t key_of(const ompi_communicator_t *comm)
{
    return UINT64_C(1) << 63 | (uint64_t)comm->generation << 32 | comm->context;
}

ompi_check_record_t *ompi_check_next(ompi_communicator_t *comm)
{
    uint64_t written = atomic_load_explicit(&own->written, memory_order_relaxed);
    ompi_check_record_t *record = &own->records[written % RECORDS];
    comm->checked++;
    atomic_store_explicit(&record->number, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* before the fields */
    return record;
}

void ompi_check_publish(ompi_communicator_t *comm, ompi_check_record_t *record)
{
    record->comm = key_of(comm);
    record->history = comm->call_history;
    atomic_store_explicit(&record->number, comm->checked, memory_order_release);
    uint64_t written = atomic_load_explicit(&own->written, memory_order_relaxed);
    atomic_store_explicit(&own->written, written + 1, memory_order_release);
}

/* -- reading --------------------------------------------------------------------------------- */

/* The board of a process; NULL: it is on another node, or has none. */
static const board_t *board_of(unsigned process)
{
    int local_rank = opal_node_local_rank(process);
    if (local_rank < 0)
        return NULL;
    const opal_node_slot_t *slot = opal_node_slot((unsigned)local_rank);
    uint64_t offset = atomic_load_explicit(&slot->board, memory_order_acquire);
    return offset != 0 ? opal_node_at(offset) : NULL;
}

/* Looks from the latest record on, because a rank that waits asks for a late one. False: the record
 * is not there, any more or yet. */
static bool read_record(const board_t *board, uint64_t comm, uint64_t number,
                        ompi_check_record_t *copy)
{
    uint64_t written = atomic_load_explicit(&board->written, memory_order_acquire);
    for (uint64_t back = 1; back <= RECORDS && back <= written; back++) {
        const ompi_check_record_t *record = &board->records[(written - back) % RECORDS];
        uint64_t found = atomic_load_explicit(&record->number, memory_order_acquire);
        if (record->comm != comm || found > number)
            continue;
        if (found != number)
            return false;
        *copy = *record;
        atomic_thread_fence(memory_order_acquire);
        return atomic_load_explicit(&record->number, memory_order_relaxed) == number &&
               copy->comm == comm;
    }
    return false;
}

/* Before a call. */
static bool has_ended(const board_t *board, uint64_t comm, uint64_t number)
{
    for (int i = 0; i < ENDED; i++) {
        if (atomic_load_explicit(&board->ended[i], memory_order_acquire) == comm)
            return atomic_load_explicit(&board->ended_in[i], memory_order_relaxed) < number;
    }
    return false;
}

void ompi_check_latest(const ompi_communicator_t *comm, ompi_check_record_t *record)
{
    if (!read_record(own, key_of(comm), comm->checked, record))
        *record = (ompi_check_record_t){0};
}

/* The record of another rank, of this node. In an intercommunicator only the kind of call is the
 * same on both sides: that is all that its records have. */
bool ompi_check_read(const ompi_communicator_t *comm, uint64_t number, int rank,
                     ompi_check_record_t *record)
{
    const board_t *board = board_of(ompi_comm_process(comm, rank));
    return board != NULL && board != own && read_record(board, key_of(comm), number, record);
}

bool ompi_check_agrees(const ompi_communicator_t *comm, uint64_t number, int rank)
{
    ompi_check_record_t mine, record;
    return own != NULL && read_record(own, key_of(comm), number, &mine) &&
           ompi_check_read(comm, number, rank, &record) &&
           ompi_check_difference(&mine, &record) == OMPI_DIFFERS_NOT;
}

/* -- comparing ------------------------------------------------------------------------------- */

/* The gravest difference of a call until now, with its sentence. A rank that gives bytes agrees
 * with all; so the others are compared with one that does not, and all ranks come to the same
 * result. */
typedef struct comparison {
    ompi_check_record_t first; /* with which the others are compared */
    int first_rank, worst_rank;
    ompi_difference_t worst;
} comparison_t;

static bool goes_with_all(const ompi_check_record_t *record)
{
    return record->type == 0 || record->type == (uintptr_t)MPI_BYTE ||
           record->type == (uintptr_t)MPI_PACKED;
}

static void compare(comparison_t *comparison, const ompi_check_record_t *record, int rank)
{
    ompi_check_record_t *first = &comparison->first;
    ompi_difference_t difference = ompi_check_difference(first, record);
    if (difference != OMPI_DIFFERS_NOT &&
        (comparison->worst == OMPI_DIFFERS_NOT || difference < comparison->worst)) {
        comparison->worst = difference;
        comparison->worst_rank = rank;
        ompi_check_explain(difference, first, comparison->first_rank, record, rank,
                           ompi_check_finding.text, sizeof ompi_check_finding.text);
    }
    if (goes_with_all(first) && !goes_with_all(record)) {
        *first = *record;
        comparison->first_rank = rank;
    }
}

/* The earlier call in which this rank and another one have parted, if its records are still there:
 * then the sentence is about that call. */
static void look_back(const ompi_communicator_t *comm, uint64_t number, int rank)
{
    ompi_check_record_t mine, record;
    for (uint64_t back = 1; back < RECORDS && back < number; back++) {
        if (!read_record(own, key_of(comm), number - back, &mine) ||
            !ompi_check_read(comm, number - back, rank, &record))
            return;
        ompi_difference_t difference = ompi_check_difference(&mine, &record);
        if (difference == OMPI_DIFFERS_KIND || difference == OMPI_DIFFERS_ROOT)
            ompi_check_explain(difference, &mine, comm->rank, &record, rank,
                               ompi_check_finding.text, sizeof ompi_check_finding.text);
        if (difference != OMPI_DIFFERS_BEFORE)
            return;
    }
}

/* Whether this rank and another one have given different amounts of data in an earlier call. Where
 * amounts decide how a call is carried out, the ranks may have missed each other then. */
static bool find_earlier_amount(const ompi_communicator_t *comm, uint64_t number)
{
    ompi_check_record_t mine, record;
    for (uint64_t earlier = number - 1; earlier > 0; earlier--) {
        if (!read_record(own, key_of(comm), earlier, &mine))
            return false;
        for (int rank = 0; rank < ompi_comm_peers(comm); rank++) {
            if (!ompi_check_read(comm, earlier, rank, &record) ||
                ompi_check_difference(&mine, &record) != OMPI_DIFFERS_COUNT)
                continue;
            ompi_check_explain(OMPI_DIFFERS_COUNT, &mine, comm->rank, &record, rank,
                               ompi_check_finding.text, sizeof ompi_check_finding.text);
            return true;
        }
    }
    return false;
}

/* Compares with the ranks of [from, to). */
static ompi_difference_t find_difference(const ompi_communicator_t *comm, uint64_t number, int from,
                                         int to)
{
    comparison_t comparison = {.first_rank = comm->rank};
    ompi_check_record_t record;
    if (!read_record(own, key_of(comm), number, &comparison.first))
        return OMPI_DIFFERS_NOT;
    for (int rank = from; rank < to; rank++) {
        if (ompi_check_read(comm, number, rank, &record))
            compare(&comparison, &record, rank);
    }
    if (comparison.worst == OMPI_DIFFERS_BEFORE)
        look_back(comm, number, comparison.worst_rank);
    return comparison.worst;
}

/* -- what follows ---------------------------------------------------------------------------- */

static bool are_lost(ompi_difference_t difference)
{
    return difference == OMPI_DIFFERS_KIND || difference == OMPI_DIFFERS_ROOT ||
           difference == OMPI_DIFFERS_BEFORE;
}

/* Ends the communicator for collectives, and lets the others know. */
void ompi_check_end(ompi_communicator_t *comm, int error)
{
    static unsigned next;
    if (comm->check_error != MPI_SUCCESS)
        return;
    comm->check_error = error;
    unsigned at = next++ % ENDED;
    atomic_store_explicit(&own->ended_in[at], comm->checked, memory_order_relaxed);
    atomic_store_explicit(&own->ended[at], key_of(comm), memory_order_release);
    for (int rank = 0; rank < ompi_comm_peers(comm); rank++) {
        int local_rank = opal_node_local_rank(ompi_comm_process(comm, rank));
        if (local_rank >= 0)
            opal_doorbell_notify(&opal_node_slot((unsigned)local_rank)->doorbell);
    }
}

/* The error of a difference, whose sentence is set. */
static int conclude(ompi_communicator_t *comm, ompi_difference_t difference, bool ends)
{
    int error = ompi_check_find_text(ompi_check_error_of(difference));
    if (ends)
        ompi_check_end(comm, error);
    return error;
}

int ompi_check_refuse(ompi_communicator_t *comm)
{
    if (comm->check_error == MPI_SUCCESS)
        return MPI_SUCCESS;
    return ompi_check_find(MPI_ERR_OTHER, NULL,
                           "Collectives have ended on this communicator, because the calls of its "
                           "ranks differed before; free it, and make a new one.");
}

int ompi_check_compare_given(ompi_communicator_t *comm, const ompi_check_record_t records[])
{
    comparison_t comparison = {.first = records[0]};
    for (int rank = 1; rank < comm->size; rank++)
        compare(&comparison, &records[rank], rank);
    return comparison.worst == OMPI_DIFFERS_NOT
               ? MPI_SUCCESS
               : conclude(comm, comparison.worst, are_lost(comparison.worst));
}

/* A rank that has met the error may have left; its record may be of a later call. */
static int find_ended(ompi_communicator_t *comm, uint64_t before)
{
    for (int rank = 0; rank < ompi_comm_peers(comm); rank++) {
        const board_t *board = board_of(ompi_comm_process(comm, rank));
        if (board == NULL || board == own || !has_ended(board, key_of(comm), before))
            continue;
        ompi_check_find(MPI_ERR_OTHER, NULL,
                        "Rank %d has found that the calls of the ranks differ, in an earlier call; "
                        "collectives have ended on this communicator.",
                        rank);
        ompi_check_end(comm, MPI_ERR_OTHER);
        return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

int ompi_check_compare(ompi_communicator_t *comm, uint64_t number)
{
    if (!comm->is_checked)
        return MPI_SUCCESS;
    ompi_difference_t difference = find_difference(comm, number, 0, ompi_comm_peers(comm));
    return difference == OMPI_DIFFERS_NOT ? find_ended(comm, UINT64_MAX)
                                          : conclude(comm, difference, are_lost(difference));
}

int ompi_check_compare_next(ompi_communicator_t *comm, uint64_t number)
{
    int next = (comm->rank + 1) % ompi_comm_peers(comm);
    ompi_difference_t difference = find_difference(comm, number, next, next + 1);
    return difference == OMPI_DIFFERS_NOT ? MPI_SUCCESS
                                          : conclude(comm, difference, are_lost(difference));
}

static void awake(opal_timer_t *timer OPAL_UNUSED)
{
}

int ompi_check_wait(ompi_communicator_t *comm, uint64_t number, ompi_check_wait_t *wait)
{
    static opal_timer_t timer = {.expired = awake};
    bool sleeps = opal_wait_sleeps_next();
    if (!comm->is_checked || (++wait->looks % LOOKS != 0 && !sleeps))
        return MPI_SUCCESS;
    uint64_t now = opal_clock_nsec();
    if (sleeps)
        opal_timer_set(&timer, now + AWAKE_NSEC);
    if (ompi_check_meets(comm)) /* differences come by the records that are under way */
        return find_ended(comm, number);
    ompi_difference_t difference = find_difference(comm, number, 0, ompi_comm_peers(comm));
    if (wait->since == 0)
        wait->since = now;
    if (difference == OMPI_DIFFERS_NOT && sleeps && now - wait->since > TIMEOUT_NSEC &&
        find_earlier_amount(comm, number))
        return conclude(comm, OMPI_DIFFERS_COUNT, true);
    if (difference == OMPI_DIFFERS_NOT)
        return find_ended(comm, UINT64_MAX);
    if (wait->differs_since == 0)
        wait->differs_since = now;
    if (!are_lost(difference) && now - wait->differs_since < TIMEOUT_NSEC)
        return MPI_SUCCESS;
    return conclude(comm, difference, true);
}
