/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of windows under contention: what is done under an exclusive lock is done at once, also
 * beside shared locks, by the rank that owns the memory, and with several locks at a time. A rank
 * that waits for an exclusive lock is not passed by for ever.
 *
 *   win_locks [turns]    how many turns of the others no exclusive lock may take, if every rank has
 *                        a core
 */
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"
#include "win_memory.h"

enum { RECORD = 32, TURNS = 90 };

static int rank, size;

/* -- one record -------------------------------------------------------------------------------- */

static bool is_uniform(const long *record)
{
    bool good = true;
    for (int i = 1; i < RECORD; i++)
        good &= record[i] == record[0];
    return good;
}

/* In two parts, so that there is a time when the record is not uniform. */
static void write_record(MPI_Win win, int target, MPI_Aint place, const long *record)
{
    const int half = RECORD / 2;
    MPI_Put(record, half, MPI_LONG, target, place, half, MPI_LONG, win);
    MPI_Win_flush(target, win);
    MPI_Put(record + half, half, MPI_LONG, target, MPI_Aint_add(place, half * 8), half, MPI_LONG,
            win);
}

/* One turn of three writes; the others see what is written, and nothing older than before. */
static void check_record(const window_t *window, window_kind_t kind)
{
    const int target = (int)kind % size;
    const MPI_Aint place = window_place(window, target, 64);
    long record[RECORD], newest = 0;
    int writes = 0, all_writes = 0;
    bool good = true;
    for (int turn = 0; turn < TURNS; turn++) {
        bool is_writer = (turn + rank) % 3 == 0;
        MPI_Win_lock(is_writer ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, window->win);
        MPI_Get(record, RECORD, MPI_LONG, target, place, RECORD, MPI_LONG, window->win);
        MPI_Win_flush(target, window->win);
        good &= is_uniform(record) && record[0] >= newest;
        for (int i = 0; i < RECORD && is_writer; i++)
            record[i]++;
        if (is_writer)
            write_record(window->win, target, place, record);
        newest = record[0];
        writes += is_writer;
        MPI_Win_unlock(target, window->win);
    }
    MPI_Allreduce(&writes, &all_writes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window->win);
    MPI_Get(record, RECORD, MPI_LONG, target, place, RECORD, MPI_LONG, window->win);
    MPI_Win_unlock(target, window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(good, "under a shared lock nobody sees half an update of %s", window_names[kind]);
    tap_check(record[0] == all_writes && is_uniform(record),
              "under an exclusive lock no update of %s is lost", window_names[kind]);
}

/* -- small windows ----------------------------------------------------------------------------- */

enum { WORDS = 4 };

typedef struct pair {
    MPI_Win win;
    long *memory;
} pair_t;

static pair_t make(void)
{
    pair_t made;
    MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &made.memory, &made.win);
    memset(made.memory, 0, WORDS * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    return made;
}

/* Under an exclusive lock. */
static void change(MPI_Win win, int target, long by)
{
    long value;
    MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    value += by;
    MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
}

static long own_value(const pair_t *window)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window->win);
    long value = window->memory[0];
    MPI_Win_unlock(rank, window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    return value;
}

/* The owner loads and stores under a lock of its own memory. */
static void check_owner(void)
{
    pair_t one = make();
    for (int turn = 0; turn < TURNS; turn++) {
        int target = turn % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, one.win);
        if (target == rank)
            one.memory[0]++;
        else
            change(one.win, target, 1);
        MPI_Win_unlock(target, one.win);
    }
    int mine = (TURNS + size - 1 - rank) / size;
    tap_check(own_value(&one) == (long)size * mine, "the owner's loads and stores under its lock");
    MPI_Win_free(&one.win);
}

/* From a rank of the first window to one of the second, which are locked in this order. */
static void check_two_windows(void)
{
    pair_t first = make(), second = make();
    long sum, total = -1;
    for (int turn = 0; turn < TURNS; turn++) {
        int from = (turn + rank) % size, into = (turn * 7 + 1) % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, from, 0, first.win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, into, 0, second.win);
        change(first.win, from, -1 - rank);
        change(second.win, into, 1 + rank);
        MPI_Win_unlock(turn % 2 ? from : into, turn % 2 ? first.win : second.win);
        MPI_Win_unlock(turn % 2 ? into : from, turn % 2 ? second.win : first.win);
    }
    long taken = own_value(&first), given = own_value(&second);
    sum = taken + given;
    MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&sum, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    tap_check(total == 0 && taken == -(long)TURNS * size * (size + 1) / 2,
              "exclusive locks of two windows at a time");
    MPI_Win_free(&second.win);
    MPI_Win_free(&first.win);
}

/* All ranks of one window, in the order of the ranks. */
static void check_all_targets(void)
{
    pair_t one = make();
    for (int turn = 0; turn < TURNS / 3; turn++) {
        for (int target = 0; target < size; target++)
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, one.win);
        for (int target = 0; target < size; target++)
            change(one.win, target, 1 + target);
        for (int target = 0; target < size; target++)
            MPI_Win_unlock(target, one.win);
    }
    tap_check(own_value(&one) == (long)(TURNS / 3) * size * (1 + rank),
              "exclusive locks of all ranks at a time");
    MPI_Win_free(&one.win);
}

/* The ranks agree by messages whose turn it is. */
static void check_no_check(void)
{
    pair_t one = make();
    int left = (rank + size - 1) % size, right = (rank + 1) % size, token = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        if (rank != 0 || turn > 0)
            MPI_Recv(&token, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, MPI_MODE_NOCHECK, one.win);
        change(one.win, 0, 1);
        MPI_Win_unlock(0, one.win);
        MPI_Send(&token, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    }
    if (rank == 0)
        MPI_Recv(&token, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long value = own_value(&one);
    tap_check(rank != 0 || value == (long)TURNS * size, "MPI_MODE_NOCHECK where only one has it");
    MPI_Win_free(&one.win);
}

/* -- orders ------------------------------------------------------------------------------------ */

/* Each rank has its first lock before any asks for the second, in the other order. Only locks that
 * exclude each other may wait for each other. */
static void check_orders(int type, const char *name)
{
    pair_t windows[] = {make(), make()};
    const int right = (rank + 1) % size, target = type == MPI_LOCK_SHARED ? 0 : right;
    for (int turn = 0; turn < 10; turn++) {
        int first = (rank + turn) % 2;
        MPI_Win_lock(type, target, 0, windows[first].win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(type, target, 0, windows[1 - first].win);
        for (int i = 0; i < 2; i++)
            MPI_Accumulate(&(long){1}, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM,
                           windows[i].win);
        MPI_Win_flush(target, windows[0].win);
        MPI_Win_flush(target, windows[1].win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_unlock(target, windows[first].win);
        MPI_Win_unlock(target, windows[1 - first].win);
    }
    long wanted = type == MPI_LOCK_EXCLUSIVE ? 10 : rank == 0 ? 10 * size : 0;
    bool good = own_value(&windows[0]) == wanted;
    good &= own_value(&windows[1]) == wanted;
    tap_check(good, "%s in both orders at once", name);
    MPI_Win_free(&windows[0].win);
    MPI_Win_free(&windows[1].win);
}

/* -- fairness ---------------------------------------------------------------------------------- */

/* How often a rank asks, and how many turns of each other rank it may usually wait for. A rank that
 * loses its core between counting and asking waits for longer, so there is no limit of the longest,
 * unless the argument says one. */
enum { ASKS = 20, FAIR_TURNS = 20 };
static long most_turns;

enum { TAKEN, DONE }; /* words: turns of the others; ranks that have had their locks */

static long count(MPI_Win win, int word, long by)
{
    long seen = -1;
    MPI_Fetch_and_op(&by, &seen, MPI_LONG, 0, word, MPI_SUM, win);
    MPI_Win_flush(0, win);
    return seen;
}

static int compare(const void *one, const void *other)
{
    long first = *(const long *)one, second = *(const long *)other;
    return (first > second) - (first < second);
}

static void ask(MPI_Win locks, MPI_Win counts, long waited[ASKS])
{
    for (int i = 0; i < ASKS; i++) {
        long before = count(counts, TAKEN, 0);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, locks);
        waited[i] = count(counts, TAKEN, 0) - before;
        MPI_Win_unlock(0, locks);
    }
    count(counts, DONE, 1);
    qsort(waited, ASKS, sizeof *waited, compare);
}

/* Whether a rank reaches another one by messages: a request that is under way has not come, and the
 * others take turns meanwhile. */
static bool uses_messages(MPI_Win win)
{
    char value[256] = "";
    int length = sizeof value, is_there = 0, any = 0;
    MPI_Info info;
    MPI_Win_get_info(win, &info);
    MPI_Info_get_string(info, "mica_osc", &length, value, &is_there);
    MPI_Info_free(&info);
    is_there = is_there != 0 && strstr(value, "messages") != NULL;
    MPI_Allreduce(&is_there, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any != 0;
}

static void check_fairness(int type, const char *name)
{
    pair_t locks = make(), counts = make();
    const bool has_messages = uses_messages(locks.win);
    long waited[ASKS] = {0}, told[2], most[2] = {-1, -1};
    MPI_Win_lock_all(0, counts.win);
    for (int asker = 0; asker < size; asker++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (asker == rank)
            ask(locks.win, counts.win, waited);
        while (count(counts.win, DONE, 0) <= asker) {
            MPI_Win_lock(type, 0, 0, locks.win);
            count(counts.win, TAKEN, 1);
            MPI_Win_unlock(0, locks.win);
        }
    }
    MPI_Win_unlock_all(counts.win);
    told[0] = waited[ASKS * 3 / 4];
    told[1] = waited[ASKS - 1];
    MPI_Allreduce(told, most, 2, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (has_messages)
        tap_skip(name, "a message takes longer than many turns");
    else
        tap_check(most[0] <= (long)FAIR_TURNS * size && (most_turns == 0 || most[1] <= most_turns),
                  "beside %s, three of four exclusive locks come within %ld turns (the last: %ld)",
                  name, most[0], most[1]);
    MPI_Win_free(&counts.win);
    MPI_Win_free(&locks.win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    most_turns = argc > 1 ? atol(argv[1]) : 0;
    with_windows(check_record);
    check_owner();
    check_two_windows();
    check_all_targets();
    check_orders(MPI_LOCK_SHARED, "shared locks");
    check_orders(MPI_LOCK_EXCLUSIVE, "exclusive locks of different targets");
    check_fairness(MPI_LOCK_SHARED, "shared locks");
    check_fairness(MPI_LOCK_EXCLUSIVE, "exclusive locks");
    check_no_check();
    MPI_Finalize();
    return tap_finish();
}
