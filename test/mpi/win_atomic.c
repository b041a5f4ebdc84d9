/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No update of a word is lost, and none is seen twice: all ranks work on the same words of one of
 * them, one element at a time and many at once, by every operation that accumulates and by
 * datatypes of one element, in memory of every kind, aligned and not.
 */
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"
#include "win_memory.h"

/* WORDS: for long operations, which begin behind the first words. */
enum { ROUNDS = 120, WORDS = 64, LONG_WORDS = 256, ONES = 7, AFAR = 24 };

static int rank, size, target;
static const window_t *window;

/* Datatypes of one element, which is `shift` bytes behind their address. */
static MPI_Datatype ones[ONES];
static MPI_Aint shifts[ONES];

static MPI_Aint at(size_t byte)
{
    return window_place(window, target, byte);
}

static void make_ones(void)
{
    MPI_Type_contiguous(1, MPI_LONG, &ones[0]);
    MPI_Type_indexed(1, (int[]){1}, (int[]){0}, MPI_LONG, &ones[1]);
    MPI_Type_indexed(1, (int[]){1}, (int[]){3}, MPI_LONG, &ones[2]);
    MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){-AFAR}, MPI_LONG, &ones[3]);
    MPI_Type_create_resized(MPI_LONG, 0, AFAR, &ones[4]);
    MPI_Type_vector(1, 1, 5, MPI_LONG, &ones[5]);
    MPI_Type_create_resized(ones[3], -2 * AFAR, 4 * AFAR, &ones[6]);
    shifts[2] = AFAR;
    shifts[3] = shifts[6] = -AFAR;
    for (int i = 0; i < ONES; i++)
        MPI_Type_commit(&ones[i]);
}

static void begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* others may still load what was */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window->win);
    memset(window->memory, 0, WINDOW_BYTES);
    MPI_Win_unlock(rank, window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window->win);
}

static void end(void)
{
    MPI_Win_unlock_all(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* When all have ended. */
static long load(size_t byte)
{
    long value = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window->win);
    MPI_Get(&value, 1, MPI_LONG, target, at(byte), 1, MPI_LONG, window->win);
    MPI_Win_unlock(target, window->win);
    return value;
}

/* Whether the numbers of all ranks, and one more, are 0, 1, 2 ... in any order. */
static bool is_each_once(const long *numbers, int count, long last)
{
    const int total = count * size;
    long *all = calloc((size_t)total, sizeof *all);
    char *seen = calloc((size_t)total + 1, 1);
    bool good = last >= 0 && last <= total;
    MPI_Allgather(numbers, count, MPI_LONG, all, count, MPI_LONG, MPI_COMM_WORLD);
    if (good)
        seen[last] = 1;
    for (int i = 0; i < total; i++) {
        good = good && all[i] >= 0 && all[i] <= total && !seen[all[i]];
        if (good)
            seen[all[i]] = 1;
    }
    free(all);
    free(seen);
    return good;
}

/* -- one word ---------------------------------------------------------------------------------- */

static void check_tickets(const char *where, size_t byte)
{
    const long one = 1;
    long tickets[ROUNDS];
    bool good = true;
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(&one, &tickets[i], MPI_LONG, target, at(byte), MPI_SUM, window->win);
        MPI_Win_flush_local(target, window->win);
        good &= i == 0 || tickets[i] > tickets[i - 1];
    }
    end();
    good &= load(byte) == (long)size * ROUNDS;
    tap_check(is_each_once(tickets, ROUNDS, (long)size * ROUNDS) && good,
              "MPI_Fetch_and_op gives each number once in %s", where);
}

/* Elements of one operation are independent of each other, but each of them is updated at once. */
static void check_many_tickets(const char *where)
{
    enum { EACH = 4 };
    static const long add[EACH] = {1, 1, 1, 1};
    long tickets[ROUNDS][EACH], column[ROUNDS];
    bool good = true;
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Get_accumulate(add, EACH, MPI_LONG, tickets[i], EACH, MPI_LONG, target, at(8), EACH,
                           MPI_LONG, MPI_SUM, window->win);
        if (i % 8 == 0)
            MPI_Win_flush(target, window->win);
    }
    end();
    for (size_t k = 0; k < EACH; k++) {
        for (int i = 0; i < ROUNDS; i++)
            column[i] = tickets[i][k];
        good &= is_each_once(column, ROUNDS, load(8 + 8 * k));
    }
    tap_check(good, "MPI_Get_accumulate gives each number once in %s", where);
}

/* -- storms ------------------------------------------------------------------------------------ */

/* Each rank does something as often as it can in this time. */
enum { STORM_MOST = 100000 };
#define STORM_SEC 0.002
#define MEET_SEC  0.05

static void fetch(long value, long *got, MPI_Op op, int i)
{
    if (i % 4 != 3)
        MPI_Fetch_and_op(&value, got, MPI_LONG, target, at(AFAR), op, window->win);
    else
        MPI_Get_accumulate(&value, 1, ones[0], got, 1, MPI_LONG, target,
                           at(AFAR) - shifts[i / 4 % ONES], 1, ones[i / 4 % ONES], op, window->win);
    MPI_Win_flush_local(target, window->win);
}

/* Begins an epoch, and waits without giving away the core until another rank has come, too: both
 * are running then. */
static void begin_together(void)
{
    const long one = 1, none = 0;
    long here = 0;
    begin();
    const double limit = MPI_Wtime() + MEET_SEC;
    MPI_Accumulate(&one, 1, MPI_LONG, target, at(0), 1, MPI_LONG, MPI_SUM, window->win);
    while (here < 2 && size > 1 && MPI_Wtime() < limit) {
        MPI_Fetch_and_op(&none, &here, MPI_LONG, target, at(0), MPI_SUM, window->win);
        MPI_Win_flush_local(target, window->win);
    }
}

/* The best of some times: this rank may have had no core. */
static int measure_storm(void)
{
    int most = 0;
    for (int i = 0; i < 3; i++) {
        long got;
        int count = 0;
        begin();
        const double end_sec = MPI_Wtime() + STORM_SEC;
        for (; count < STORM_MOST && MPI_Wtime() < end_sec; count++)
            fetch(1, &got, MPI_SUM, count);
        end();
        most = count > most ? count : most;
    }
    return most;
}

static unsigned long sum_of_all(unsigned long mine)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    return mine;
}

/* Each number is given once, so their sum is known. */
static void check_ticket_storm(const char *where, int count)
{
    const unsigned long all = sum_of_all((unsigned long)count);
    unsigned long sum = 0;
    long got = -1;
    begin_together();
    for (int i = 0; i < count; i++) {
        fetch(1, &got, MPI_SUM, i);
        sum += (unsigned long)got;
    }
    end();
    bool good = load(AFAR) == (long)all;
    tap_check(sum_of_all(sum) == all * (all - 1) / 2 && good, "a storm of tickets in %s", where);
}

/* What was put in comes out, or is still there. */
static void check_exchange_storm(const char *where, int count)
{
    unsigned long in = 0, out = 0;
    long got = -1;
    begin_together();
    for (int i = 0; i < count; i++) {
        long token = 1 + rank + (long)i * size;
        fetch(token, &got, MPI_REPLACE, i);
        in += (unsigned long)token;
        out += (unsigned long)got;
    }
    end();
    const unsigned long left = (unsigned long)load(AFAR);
    in = sum_of_all(in);
    tap_check(sum_of_all(out) + left == in, "a storm of exchanges in %s", where);
}

/* Some ranks add to one word, the others to two at once. */
static void check_mixed_storm(const char *where, int count)
{
    static const long add[] = {1, 1};
    begin_together();
    for (int i = 0; i < count; i++) {
        int words = 1 + (rank + i / 64) % 2;
        MPI_Accumulate(add, words, MPI_LONG, target, at(AFAR), words, MPI_LONG, MPI_SUM,
                       window->win);
        MPI_Win_flush_local(target, window->win);
    }
    end();
    const long all = (long)sum_of_all((unsigned long)count);
    tap_check(load(AFAR) == all, "a storm of short and longer sums in %s", where);
}

static void check_storms(const char *where)
{
    const int count = measure_storm();
    for (int i = 0; i < 3; i++) {
        check_ticket_storm(where, count);
        check_exchange_storm(where, count);
    }
    for (int i = 0; i < 3; i++)
        check_mixed_storm(where, count);
}

static void check_swaps(const char *where, size_t byte)
{
    long value = 0, next, seen;
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        for (;; value = seen) {
            next = value + 1;
            MPI_Compare_and_swap(&next, &value, &seen, MPI_LONG, target, at(byte), window->win);
            MPI_Win_flush(target, window->win);
            if (seen == value)
                break;
        }
    }
    end();
    tap_check(load(byte) == (long)size * ROUNDS, "MPI_Compare_and_swap counts right in %s", where);
}

/* Tokens 1, 2 ... are exchanged for what is there, which begins with 0. */
static void check_exchanges(const char *where)
{
    long tokens[ROUNDS], got[ROUNDS];
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        tokens[i] = 1 + rank + (long)i * size;
        if (i % 2 == 0)
            MPI_Fetch_and_op(&tokens[i], &got[i], MPI_LONG, target, at(AFAR), MPI_REPLACE,
                             window->win);
        else
            MPI_Get_accumulate(&tokens[i], 1, ones[0], &got[i], 1, MPI_LONG, target,
                               at(AFAR) - shifts[i % ONES], 1, ones[i % ONES], MPI_REPLACE,
                               window->win);
        if (i % 4 == 0)
            MPI_Win_flush(target, window->win);
    }
    end();
    tap_check(is_each_once(got, ROUNDS, load(AFAR)), "MPI_REPLACE neither loses nor doubles in %s",
              where);
}

/* -- ways to add to a word --------------------------------------------------------------------- */

static const long one = 1, many[WORDS] = {[0 ... WORDS - 1] = 1};
static long old[WORDS];

static void add_by(int way, size_t byte)
{
    const int type = way % ONES;
    switch (way % 5) {
    case 0:
        MPI_Accumulate(&one, 1, MPI_LONG, target, at(byte), 1, MPI_LONG, MPI_SUM, window->win);
        break;
    case 1:
        MPI_Fetch_and_op(&one, &old[0], MPI_LONG, target, at(byte), MPI_SUM, window->win);
        MPI_Win_flush_local(target, window->win);
        break;
    case 2:
        MPI_Get_accumulate(&one, 1, MPI_LONG, &old[1], 1, MPI_LONG, target, at(byte) - shifts[type],
                           1, ones[type], MPI_SUM, window->win);
        MPI_Win_flush_local(target, window->win);
        break;
    default:
        MPI_Accumulate((const char *)&many[WORDS / 2] - shifts[type], 1, ones[type], target,
                       at(byte) - shifts[type], 1, ones[type], MPI_SUM, window->win);
    }
}

/* All words at once, some of them at a time, in any order. */
static void add_to_all(int way, size_t byte, MPI_Datatype strided, MPI_Datatype backwards)
{
    switch (way % 5) {
    case 0:
        MPI_Accumulate(many, WORDS, MPI_LONG, target, at(byte), WORDS, MPI_LONG, MPI_SUM,
                       window->win);
        break;
    case 1:
        for (size_t i = 0; i < 2; i++)
            MPI_Accumulate(many, WORDS / 2, MPI_LONG, target, at(byte + 8 * i), 1, strided, MPI_SUM,
                           window->win);
        break;
    case 2:
        MPI_Get_accumulate(many, WORDS, MPI_LONG, old, WORDS, MPI_LONG, target, at(byte), 1,
                           backwards, MPI_SUM, window->win);
        MPI_Win_flush_local(target, window->win);
        break;
    default:
        for (size_t i = 0; i < WORDS; i++)
            add_by(way + (int)i, byte + 8 * i);
    }
}

static void check_ways(const char *where)
{
    begin();
    for (int i = 0; i < 5 * ROUNDS; i++)
        add_by(i + rank, 64);
    end();
    tap_check(load(64) == 5L * size * ROUNDS, "all ways to add to a word in %s", where);
}

static void check_long(const char *where, size_t byte)
{
    MPI_Datatype strided, backwards;
    bool good = true;
    MPI_Type_vector(WORDS / 2, 1, 2, MPI_LONG, &strided);
    MPI_Type_commit(&strided);
    MPI_Type_create_hindexed_block(2, WORDS / 2, (MPI_Aint[]){4 * WORDS, 0}, MPI_LONG, &backwards);
    MPI_Type_commit(&backwards);
    begin();
    for (int i = 0; i < ROUNDS / 2; i++)
        add_to_all(i + rank, byte, strided, backwards);
    end();
    for (size_t i = 0; i < WORDS; i++)
        good &= load(byte + 8 * i) == (long)size * (ROUNDS / 2);
    MPI_Type_free(&strided);
    MPI_Type_free(&backwards);
    tap_check(good, "long operations beside short ones in %s", where);
}

/* -- elements that are not aligned ------------------------------------------------------------- */

/* Records of a byte and a word: the words are 9 bytes apart, the bytes are left as they are. */
static void check_packed(const char *where)
{
    enum { RECORDS = 32, FIRST = AFAR + 1 };
    MPI_Datatype records;
    bool good = true;
    MPI_Type_create_hvector(RECORDS, 1, 9, MPI_LONG, &records);
    MPI_Type_commit(&records);
    begin();
    for (int i = 0; i < ROUNDS / 4; i++) {
        if ((i + rank) % 2 == 0)
            MPI_Accumulate(many, RECORDS, MPI_LONG, target, at(FIRST), 1, records, MPI_SUM,
                           window->win);
        else
            for (size_t k = 0; k < RECORDS; k++)
                add_by(i + (int)k, FIRST + 9 * k);
    }
    end();
    for (size_t i = 0; i < RECORDS; i++)
        good &= load(FIRST + 9 * i) == (long)size * (ROUNDS / 4);
    good &= (load(FIRST + 8) & 0xff) == 0;
    MPI_Type_free(&records);
    tap_check(good, "words of packed records in %s", where);
}

static void check_window(const window_t *made, window_kind_t kind)
{
    const char *where = window_names[kind];
    window = made;
    target = (int)kind % size;
    check_storms(where);
    check_tickets(where, 8);
    check_many_tickets(where);
    check_swaps(where, 16);
    check_exchanges(where);
    check_ways(where);
    check_long(where, LONG_WORDS);
    check_packed(where);
    check_tickets("words that are not aligned", 60);
    check_swaps("words that are not aligned", 61);
    check_long("words that are not aligned", LONG_WORDS + 3);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    make_ones();
    with_windows(check_window);
    for (int i = 0; i < ONES; i++)
        MPI_Type_free(&ones[i]);
    MPI_Finalize();
    return tap_finish();
}
