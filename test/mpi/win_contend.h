/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epochs of win_random in which all ranks contend for the same elements of one target, its slots.
 *   COUNT      tickets, sums, and a count by compare_and_swap; what nobody shares, besides
 *   EXCLUSIVE  under a lock all slots are read, increased and written: they are always equal
 *   REPLACED   slots are replaced as a whole, and hold what somebody has written
 *   COMPUTE    the target does not call MPI before it finds in its memory that all is done
 *
 * What a rank does it draws for itself; what all have done together is found by MPI_Allreduce. A
 * worker is a thread, or the only thread, of a rank. It has its own chance, so that threads share
 * nothing but the window.
 */
#ifndef TEST_MPI_WIN_CONTEND_H
#define TEST_MPI_WIN_CONTEND_H

#include <pthread.h>
#include <sched.h>

#include "tap.h"
#include "win_regions.h"

enum {
    WORKERS_MAX = 4,
    TURNS_MAX = 400,
    TURNS_USUAL = 24,
    SLOTS_MAX = 64,
    VALUES = 12,
    PART_MAX = 50000
};
enum { TICKET_SLOT, SWAP_SLOT, ROW_SLOT }; /* the row is from there on */

typedef enum contest { COUNT, REPLACED, EXCLUSIVE, COMPUTE, CONTESTS } contest_t;

static const char *const contest_names[CONTESTS] = {"counting", "replacing", "exclusive locks",
                                                    "target that computes"};

static struct arena {
    contest_t contest;
    int target, slots, turns, workers;
    const element_t *element;
    MPI_Aint pitch;                  /* from one slot to the next */
    MPI_Aint part_start, part_bytes; /* what each worker has for itself behind the slots */
    memory_t *data;
    MPI_Datatype row; /* from one slot to the last one */
    int row_slots;
    bool has_turn_locks;
} arena;

typedef struct worker {
    int number, ticket_count;
    uint64_t state;
    uint64_t added[SLOTS_MAX], seen[SLOTS_MAX];
    int tickets[TURNS_MAX];
    pthread_t thread;
} worker_t;

static worker_t workers[WORKERS_MAX];

static inline MPI_Aint slot_at(int slot)
{
    return displacement(arena.target, 0, slot * arena.pitch);
}

static inline void flush_arena(worker_t *worker)
{
    if (one_in(&worker->state, 3))
        TRY(MPI_Win_flush_all(w.win));
    else
        TRY(MPI_Win_flush(arena.target, w.win));
}

/* -- counting ------------------------------------------------------------------------ */

/* Adds to one slot, in one of the ways, and returns what was there. */
static inline uint64_t fetch_and_add(worker_t *worker, int slot, uint64_t value)
{
    MPI_Datatype type = arena.element->type;
    char from[ELEMENT_MAX], result[ELEMENT_MAX];
    MPI_Request request;
    set_integer(arena.element, from, value);
    switch (draw(&worker->state, 3)) {
    case 0:
        TRY(MPI_Fetch_and_op(from, result, type, arena.target, slot_at(slot), MPI_SUM, w.win));
        break;
    case 1:
        TRY(MPI_Get_accumulate(from, 1, type, result, 1, type, arena.target, slot_at(slot), 1, type,
                               MPI_SUM, w.win));
        break;
    default:
        TRY(MPI_Rget_accumulate(from, 1, type, result, 1, type, arena.target, slot_at(slot), 1,
                                type, MPI_SUM, w.win, &request));
        TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
        return get_integer(arena.element, result);
    }
    if (one_in(&worker->state, 2))
        TRY(MPI_Win_flush_local(arena.target, w.win));
    else
        flush_arena(worker);
    return get_integer(arena.element, result);
}

static inline void count_by_swap(worker_t *worker)
{
    char old[ELEMENT_MAX], new[ELEMENT_MAX], found[ELEMENT_MAX];
    uint64_t value = worker->seen[SWAP_SLOT];
    for (;;) {
        set_integer(arena.element, old, value);
        set_integer(arena.element, new, value + 1);
        int error = MPI_Compare_and_swap(new, old, found, arena.element->type, arena.target,
                                         slot_at(SWAP_SLOT), w.win);
        TRY(MPI_Win_flush(arena.target, w.win));
        TRY(error);
        uint64_t there = get_integer(arena.element, found);
        if (there < worker->seen[SWAP_SLOT])
            fault("what compare_and_swap counts is %llu after it was %llu",
                  (unsigned long long)there, (unsigned long long)worker->seen[SWAP_SLOT]);
        worker->seen[SWAP_SLOT] = there;
        if (there == value || error != MPI_SUCCESS)
            break;
        value = there;
        sched_yield();
    }
    worker->added[SWAP_SLOT]++;
}

static inline void take_ticket(worker_t *worker)
{
    uint64_t ticket = fetch_and_add(worker, TICKET_SLOT, 1);
    if (worker->ticket_count > 0 && ticket <= (uint64_t)worker->tickets[worker->ticket_count - 1])
        fault("ticket %llu comes after %d", (unsigned long long)ticket,
              worker->tickets[worker->ticket_count - 1]);
    worker->tickets[worker->ticket_count++] = (int)ticket;
    worker->added[TICKET_SLOT]++;
}

/* The row is read: nothing there decreases, or lacks what this worker has added. */
static inline void check_row(worker_t *worker, const char *row)
{
    for (int i = 0; i < arena.row_slots; i++) {
        int slot = ROW_SLOT + i;
        uint64_t value = get_integer(arena.element, row + i * arena.element->bytes);
        if (value < worker->seen[slot] || value < worker->added[slot])
            fault("slot %d holds %llu, but was %llu, and %llu were added here", slot,
                  (unsigned long long)value, (unsigned long long)worker->seen[slot],
                  (unsigned long long)worker->added[slot]);
        worker->seen[slot] = value;
    }
}

/* One operation adds to the whole row, or reads it, or both. */
static inline void use_row(worker_t *worker, bool adds, bool reads)
{
    char from[SLOTS_MAX * ELEMENT_MAX], to[SLOTS_MAX * ELEMENT_MAX];
    MPI_Datatype type = arena.element->type;
    MPI_Aint at = slot_at(ROW_SLOT);
    MPI_Op op = adds ? MPI_SUM : MPI_NO_OP;
    MPI_Request request = MPI_REQUEST_NULL;
    int n = arena.row_slots;
    for (int i = 0; i < n; i++)
        set_integer(arena.element, from + i * arena.element->bytes, (uint64_t)i + 1);
    if (!reads && one_in(&worker->state, 2))
        TRY(MPI_Accumulate(from, n, type, arena.target, at, 1, arena.row, op, w.win));
    else if (!reads)
        TRY(MPI_Raccumulate(from, n, type, arena.target, at, 1, arena.row, op, w.win, &request));
    else if (one_in(&worker->state, 2))
        TRY(MPI_Get_accumulate(from, n, type, to, n, type, arena.target, at, 1, arena.row, op,
                               w.win));
    else
        TRY(MPI_Rget_accumulate(from, n, type, to, n, type, arena.target, at, 1, arena.row, op,
                                w.win, &request));
    TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    flush_arena(worker);
    if (reads)
        check_row(worker, to);
    for (int i = 0; i < n && adds; i++)
        worker->added[ROW_SLOT + i] += (uint64_t)i + 1;
}

/* -- what a worker has for itself ---------------------------------------------------- */

static inline void use_part(worker_t *worker)
{
    static _Thread_local unsigned char from[PART_MAX], to[PART_MAX];
    int place = w.rank * arena.workers + worker->number, target = arena.target;
    MPI_Aint at = arena.part_start + place * arena.part_bytes;
    int bytes = draw(&worker->state, (int)arena.part_bytes + 1);
    MPI_Request request = MPI_REQUEST_NULL;
    at = displacement(target, 0, at);
    for (int i = 0; i < bytes; i++)
        from[i] = (unsigned char)(worker->state >> i % 57);
    memset(to, 0, (size_t)bytes);
    if (one_in(&worker->state, 2))
        TRY(MPI_Put(from, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, w.win));
    else
        TRY(MPI_Rput(from, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, w.win, &request));
    TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    flush_arena(worker);
    if (one_in(&worker->state, 2))
        TRY(MPI_Get(to, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, w.win));
    else
        TRY(MPI_Rget(to, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, w.win, &request));
    TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    flush_arena(worker);
    if (memcmp(from, to, (size_t)bytes) != 0)
        fault("worker %d gets back other than the %d bytes that it has put to rank %d",
              worker->number, bytes, target);
}

/* Accumulates of one origin arrive in their order. */
static inline void use_part_in_order(worker_t *worker)
{
    int place = w.rank * arena.workers + worker->number, target = arena.target;
    MPI_Aint at = displacement(target, 0, arena.part_start + place * arena.part_bytes);
    int64_t first = draw(&worker->state, 1000), more = draw(&worker->state, 1000), result = -1;
    TRY(MPI_Accumulate(&first, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, MPI_REPLACE, w.win));
    TRY(MPI_Accumulate(&more, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, MPI_SUM, w.win));
    TRY(MPI_Fetch_and_op(NULL, &result, MPI_INT64_T, target, at, MPI_NO_OP, w.win));
    flush_arena(worker);
    if (result != first + more)
        fault("worker %d replaces by %lld, adds %lld, and fetches %lld", worker->number,
              (long long)first, (long long)more, (long long)result);
}

/* -- replacing ----------------------------------------------------------------------- */

/* All parts of a value follow from its number. */
static inline void make_whole(int number, void *to)
{
    const element_t *element = arena.element;
    uint64_t bits = mix((uint64_t)number + 1);
    int value = (int)(bits >> 41);
    bool truth = number % 2;
    if (element->class == LOGICAL) {
        memcpy(to, &truth, sizeof truth);
    } else if (element->class < REAL) {
        memcpy(to, &bits, (size_t)element->bytes);
    } else {
        set_number(element->number, to, value);
        if (element->class == COMPLEX)
            set_number(element->number, (char *)to + element->bytes / 2, -value);
        if (element->class == PAIR)
            set_number(INT, (char *)to + element->index_at, ~value);
    }
}

static inline void check_whole(const char *row, MPI_Aint pitch, const char *what)
{
    for (int i = 0; i < arena.row_slots; i++) {
        int number = 0;
        char value[ELEMENT_MAX];
        for (; number < VALUES; number++) {
            make_whole(number, value);
            if (is_same_element(arena.element, value, row + i * pitch))
                break;
        }
        if (number == VALUES)
            fault("%s: slot %d of type %s holds what nobody has written", what, ROW_SLOT + i,
                  arena.element->name);
    }
}

static inline void replace_slots(worker_t *worker)
{
    char from[SLOTS_MAX * ELEMENT_MAX], to[SLOTS_MAX * ELEMENT_MAX];
    const element_t *element = arena.element;
    MPI_Datatype type = element->type;
    int n = arena.row_slots, slot = draw(&worker->state, n), e = element->bytes;
    MPI_Aint at = slot_at(ROW_SLOT), at_slot = slot_at(ROW_SLOT + slot);
    for (int i = 0; i < n; i++) {
        make_whole(draw(&worker->state, VALUES), from + i * e);
        make_whole(0, to + i * e);
    }
    switch (draw(&worker->state, w.has_one_op ? 4 : 5)) {
    case 0:
        TRY(MPI_Accumulate(from, 1, type, arena.target, at_slot, 1, type, MPI_REPLACE, w.win));
        break;
    case 1:
        TRY(MPI_Accumulate(from, n, type, arena.target, at, 1, arena.row, MPI_REPLACE, w.win));
        break;
    case 2:
        TRY(MPI_Fetch_and_op(from, to, type, arena.target, at_slot, MPI_REPLACE, w.win));
        break;
    case 3:
        TRY(MPI_Get_accumulate(from, n, type, to, n, type, arena.target, at, 1, arena.row,
                               MPI_REPLACE, w.win));
        break;
    default:
        TRY(MPI_Get_accumulate(NULL, 0, type, to, n, type, arena.target, at, 1, arena.row,
                               MPI_NO_OP, w.win));
    }
    flush_arena(worker);
    check_whole(to, e, "fetched");
}

/* -- turns --------------------------------------------------------------------------- */

static inline void count(worker_t *worker)
{
    int slot = ROW_SLOT + draw(&worker->state, arena.row_slots);
    switch (draw(&worker->state, 6)) {
    case 0:
        take_ticket(worker);
        break;
    case 1:
        count_by_swap(worker);
        break;
    case 2: {
        uint64_t value = 1 + (uint64_t)draw(&worker->state, 5);
        uint64_t there = fetch_and_add(worker, slot, value);
        if (there < worker->added[slot] || there < worker->seen[slot])
            fault("slot %d held %llu, but was %llu", slot, (unsigned long long)there,
                  (unsigned long long)worker->seen[slot]);
        worker->seen[slot] = there;
        worker->added[slot] += value;
        flush_arena(worker);
        break;
    }
    case 3:
        use_row(worker, true, false);
        break;
    case 4:
        use_row(worker, !w.has_one_op && one_in(&worker->state, 2) ? false : true, true);
        break;
    default:
        if (arena.part_bytes > 0)
            use_part(worker);
        if (arena.part_bytes > 0 && w.is_ordered && !w.has_one_op)
            use_part_in_order(worker);
    }
}

static inline void *run_worker(void *argument)
{
    worker_t *worker = argument;
    for (int turn = 0; turn < arena.turns; turn++) {
        if (arena.has_turn_locks)
            TRY(MPI_Win_lock(MPI_LOCK_SHARED, arena.target, 0, w.win));
        if (arena.contest == COUNT)
            count(worker);
        else
            replace_slots(worker);
        if (arena.has_turn_locks)
            TRY(MPI_Win_unlock(arena.target, w.win));
    }
    return NULL;
}

static inline void run_workers(void)
{
    if (!arena.has_turn_locks)
        TRY(MPI_Win_lock_all(one_in(&own_state, 2) ? MPI_MODE_NOCHECK : 0, w.win));
    for (int i = 1; i < arena.workers; i++)
        pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
    run_worker(&workers[0]);
    for (int i = 1; i < arena.workers; i++)
        pthread_join(workers[i].thread, NULL);
    if (!arena.has_turn_locks)
        TRY(MPI_Win_unlock_all(w.win));
}

/* Under an exclusive lock all are increased, under a shared one they are only read. */
static inline void run_exclusive(worker_t *worker)
{
    char row[SLOTS_MAX * ELEMENT_MAX];
    const element_t *element = arena.element;
    int n = arena.row_slots;
    for (int turn = 0; turn < arena.turns; turn++) {
        bool adds = !one_in(&worker->state, 3);
        MPI_Request request;
        TRY(MPI_Win_lock(adds ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, arena.target, 0, w.win));
        TRY(MPI_Rget(row, n, element->type, arena.target, slot_at(ROW_SLOT), 1, arena.row, w.win,
                     &request));
        TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
        uint64_t value = get_integer(element, row);
        for (int i = 0; i < n; i++) {
            if (get_integer(element, row + i * element->bytes) != value)
                fault("under a lock slot %d holds %llu, but slot %d %llu", ROW_SLOT + i,
                      (unsigned long long)get_integer(element, row + i * element->bytes), ROW_SLOT,
                      (unsigned long long)value);
            set_integer(element, row + i * element->bytes, value + 1);
        }
        if (adds && one_in(&worker->state, 2))
            TRY(MPI_Win_flush(arena.target, w.win));
        if (adds)
            TRY(MPI_Put(row, n, element->type, arena.target, slot_at(ROW_SLOT), 1, arena.row,
                        w.win));
        TRY(MPI_Win_unlock(arena.target, w.win));
        for (int i = 0; i < n; i++)
            worker->added[ROW_SLOT + i] += adds;
    }
}

/* -- a target that computes ---------------------------------------------------------- */

TAP_READS_WINDOW static inline uint64_t load_slot(int slot)
{
    const char *at = arena.data->memory + slot * arena.pitch;
    return arena.element->bytes == 4 ? __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE)
                                     : __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

/* The target waits without a call of MPI, and finds all in its memory that the others did. */
static inline void run_computing(worker_t *worker)
{
    char one[ELEMENT_MAX];
    int turns = arena.turns, target = arena.target, locks = draw(&common_state, 3);
    uint64_t adds = (uint64_t)turns * ((uint64_t)w.size - 1);
    for (int i = 0; i < arena.row_slots; i++)
        worker->added[ROW_SLOT + i] = 0;
    if (w.rank == target) {
        while (load_slot(TICKET_SLOT) < (uint64_t)w.size - 1)
            sched_yield();
        for (int i = 0; i < arena.row_slots; i++) {
            if (load_slot(ROW_SLOT + i) != adds * ((uint64_t)i + 1))
                fault("slot %d holds %llu when the others say that they are done", ROW_SLOT + i,
                      (unsigned long long)load_slot(ROW_SLOT + i));
        }
        return;
    }
    for (int turn = 0; turn <= turns; turn++) {
        if (locks < 2)
            TRY(MPI_Win_lock(locks ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, w.win));
        else if (turn == 0)
            TRY(MPI_Win_lock_all(0, w.win));
        if (turn < turns) {
            use_row(worker, true, w.has_one_op || one_in(&worker->state, 2));
            if (arena.part_bytes > 0)
                use_part(worker);
        } else {
            set_integer(arena.element, one, 1);
            TRY(MPI_Accumulate(one, 1, arena.element->type, target, slot_at(TICKET_SLOT), 1,
                               arena.element->type, MPI_SUM, w.win));
            worker->added[TICKET_SLOT] = 1;
        }
        if (locks < 2)
            TRY(MPI_Win_unlock(target, w.win));
        else if (turn == turns)
            TRY(MPI_Win_unlock_all(w.win));
    }
}

/* -- epochs -------------------------------------------------------------------------- */

/* An element whose integers count far enough; any integer under locks; any that is not BITS. */
static inline const element_t *draw_element(contest_t contest)
{
    for (;;) {
        const element_t *element = &elements[draw(&common_state, ELEMENTS)];
        if (contest == REPLACED || (element->class == INTEGER && contest == EXCLUSIVE) ||
            (element->class == INTEGER && element->bytes >= 4))
            return element;
    }
}

/* Returns whether the target's memory has room. All ranks know. */
static inline bool draw_arena(bool has_threads, bool has_compute)
{
    int target = draw(&common_state, w.size);
    arena.contest = (contest_t)draw(&common_state, has_threads ? EXCLUSIVE : CONTESTS);
    if (arena.contest == COMPUTE && (!has_compute || w.size == 1))
        arena.contest = COUNT;
    arena.target = target;
    arena.data = &w.regions[target][0].data;
    arena.element = draw_element(arena.contest);
    arena.pitch = lcm(arena.element->bytes, w.flavor == DYNAMIC ? 1 : w.units[target]);
    MPI_Aint bytes = (MPI_Aint)arena.data->bytes, slots = bytes / arena.pitch;
    int most = ROW_SLOT + 1 + draw(&common_state, SLOTS_MAX - ROW_SLOT);
    arena.slots = slots < most ? (int)slots : most;
    arena.row_slots = arena.slots - ROW_SLOT;
    /* Now and then so many that all ranks are at it at the same time. */
    arena.turns = 1 + draw(&common_state, one_in(&common_state, 5) ? TURNS_MAX : TURNS_USUAL);
    arena.workers = has_threads ? 2 + draw(&common_state, WORKERS_MAX - 1) : 1;
    arena.has_turn_locks = !has_threads && one_in(&common_state, 3);
    arena.part_start = (arena.slots * arena.pitch + GRANULE - 1) / GRANULE * GRANULE;
    arena.part_bytes = (bytes - arena.part_start) / (w.size * arena.workers) / GRANULE * GRANULE;
    if (arena.part_bytes > PART_MAX)
        arena.part_bytes = PART_MAX / GRANULE * GRANULE;
    if (arena.part_bytes < 0)
        arena.part_bytes = 0;
    return arena.row_slots > 0;
}

static inline void set_arena(void)
{
    char value[ELEMENT_MAX] = {0};
    MPI_Type_create_hvector(arena.row_slots, 1, arena.pitch, arena.element->type, &arena.row);
    MPI_Type_commit(&arena.row);
    if (arena.contest == REPLACED)
        make_whole(0, value);
    for (int i = 0; i < arena.slots; i++)
        store_element(arena.element, arena.data->image + i * arena.pitch, value);
    memset(arena.data->accepts, 1, arena.data->bytes);
    segment_count = 0; /* for messages */
    for (int i = 0; i < arena.workers; i++)
        workers[i] = (worker_t){.number = i, .state = hash(41 + own_state, (uint64_t)i, 0)};
}

/* Each ticket was given to one worker. */
static inline void check_tickets(uint64_t given)
{
    int *counts = calloc(given + 1, sizeof *counts);
    for (int i = 0; i < arena.workers; i++) {
        for (int k = 0; k < workers[i].ticket_count; k++) {
            int ticket = workers[i].tickets[k];
            counts[ticket >= 0 && (uint64_t)ticket < given ? ticket : (int)given]++;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, counts, (int)given + 1, MPI_INT, MPI_SUM, w.comm);
    for (int i = 0; (uint64_t)i <= given; i++) {
        if (counts[i] != ((uint64_t)i < given))
            fault("ticket %d of %llu was given to %d workers", i, (unsigned long long)given,
                  counts[i]);
    }
    free(counts);
}

/* The model learns what all workers have added. */
static inline void expect_sums(void)
{
    uint64_t sums[SLOTS_MAX] = {0};
    for (int i = 0; i < arena.workers; i++) {
        for (int slot = 0; slot < arena.slots; slot++)
            sums[slot] += workers[i].added[slot];
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, arena.slots, MPI_UINT64_T, MPI_SUM, w.comm);
    for (int slot = 0; slot < arena.slots; slot++) {
        char value[ELEMENT_MAX];
        set_integer(arena.element, value, sums[slot]);
        expect_element(arena.data, arena.element, slot * arena.pitch, value);
    }
    if (arena.contest == COUNT)
        check_tickets(sums[TICKET_SLOT]);
}

/* What the workers have written is accepted where only they know it. */
static inline void accept_rest(void)
{
    MPI_Aint parts = arena.part_bytes * w.size * arena.workers;
    memset(arena.data->accepts + arena.part_start, 1, (size_t)parts);
    for (int slot = ROW_SLOT; slot < arena.slots && arena.contest == REPLACED; slot++)
        memset(arena.data->accepts + slot * arena.pitch, 1, (size_t)arena.element->bytes);
}

/* In a window that has locks. */
static inline void run_contest(bool has_threads, bool has_compute)
{
    if (!draw_arena(has_threads, has_compute))
        return;
    set_arena();
    store_values(true);
    if (arena.contest == EXCLUSIVE)
        run_exclusive(&workers[0]);
    else if (arena.contest == COMPUTE)
        run_computing(&workers[0]);
    else
        run_workers();
    if (arena.contest != REPLACED)
        expect_sums();
    accept_rest();
    check_values(true, contest_names[arena.contest]);
    if (arena.contest == REPLACED && w.rank == arena.target)
        check_whole(arena.data->memory + ROW_SLOT * arena.pitch, arena.pitch, "in the window");
    MPI_Barrier(w.comm);
    MPI_Type_free(&arena.row);
}

#endif
