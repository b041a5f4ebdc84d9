/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations on windows: each one under each kind of synchronisation, with and without a
 * request, in its two forms; targets and counts that stand for nothing. Each rank works on the
 * window of its right neighbour.
 */
#include <mpi.h>
#include <string.h>

#include "tap.h"

/* The word of the window that an operation is for. */
enum {
    PUT,
    GET,
    SUM,
    REPLACE,
    GET_SUM,
    GET_NO_OP,
    FETCH,
    FETCH_NO_OP,
    SWAP,
    NO_SWAP,
    UNTOUCHED,
    WORDS
};

static int rank, size, left, right;
static MPI_Win win;
static long *memory;
static MPI_Group to, from;

/* -- synchronisation --------------------------------------------------------------------------- */

typedef struct way {
    const char *name;
    void (*begin)(void), (*end)(void);
} way_t;

static void begin_fence(void)
{
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
}

static void end_fence(void)
{
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void begin_groups(void)
{
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
}

static void end_groups(void)
{
    MPI_Win_complete(win);
    MPI_Win_wait(win);
}

static void end_groups_by_test(void)
{
    int flag = 0;
    MPI_Win_complete(win);
    while (!flag)
        MPI_Win_test(win, &flag);
}

static void begin_shared(void)
{
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
}

static void begin_exclusive(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
}

static void end_lock(void)
{
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void begin_all(void)
{
    MPI_Win_lock_all(0, win);
}

static void end_all(void)
{
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static const way_t ways[] = {
    {"MPI_Win_fence", begin_fence, end_fence},
    {"MPI_Win_start and MPI_Win_wait", begin_groups, end_groups},
    {"MPI_Win_start and MPI_Win_test", begin_groups, end_groups_by_test},
    {"a shared lock", begin_shared, end_lock},
    {"an exclusive lock", begin_exclusive, end_lock},
    {"MPI_Win_lock_all", begin_all, end_all},
};
enum { WAYS = sizeof ways / sizeof *ways, FIRST_PASSIVE = 3 };

/* -- operations -------------------------------------------------------------------------------- */

static long initial(int owner, int word)
{
    return 1000 * (owner + 1) + 10 * word;
}

static long given(int origin, int word)
{
    return 100000 * (origin + 1) + word;
}

static void fill(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int i = 0; i < WORDS; i++)
        memory[i] = initial(rank, i);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void read_own(long *copy)
{
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    memcpy(copy, memory, WORDS * sizeof *copy);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

#define FORM(is_large, name, ...)                                                                  \
    ((is_large) ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

/* Returns whether all was accepted. */
static bool operate(const long *out, long *in, bool is_large)
{
    const long other = -5, present = initial(right, SWAP);
    int error = 0;
    error |= FORM(is_large, Put, &out[PUT], 1, MPI_LONG, right, PUT, 1, MPI_LONG, win);
    error |= FORM(is_large, Get, &in[GET], 1, MPI_LONG, right, GET, 1, MPI_LONG, win);
    error |=
        FORM(is_large, Accumulate, &out[SUM], 1, MPI_LONG, right, SUM, 1, MPI_LONG, MPI_SUM, win);
    error |= FORM(is_large, Accumulate, &out[REPLACE], 1, MPI_LONG, right, REPLACE, 1, MPI_LONG,
                  MPI_REPLACE, win);
    error |= FORM(is_large, Get_accumulate, &out[GET_SUM], 1, MPI_LONG, &in[GET_SUM], 1, MPI_LONG,
                  right, GET_SUM, 1, MPI_LONG, MPI_SUM, win);
    error |= FORM(is_large, Get_accumulate, NULL, 0, MPI_DATATYPE_NULL, &in[GET_NO_OP], 1, MPI_LONG,
                  right, GET_NO_OP, 1, MPI_LONG, MPI_NO_OP, win);
    error |= MPI_Fetch_and_op(&out[FETCH], &in[FETCH], MPI_LONG, right, FETCH, MPI_SUM, win);
    error |= MPI_Fetch_and_op(NULL, &in[FETCH_NO_OP], MPI_LONG, right, FETCH_NO_OP, MPI_NO_OP, win);
    error |= MPI_Compare_and_swap(&out[SWAP], &present, &in[SWAP], MPI_LONG, right, SWAP, win);
    error |=
        MPI_Compare_and_swap(&out[NO_SWAP], &other, &in[NO_SWAP], MPI_LONG, right, NO_SWAP, win);
    return error == MPI_SUCCESS;
}

/* The same as far as there is a form with a request. */
static bool operate_with_requests(const long *out, long *in, bool is_large)
{
    enum { OPERATIONS = 6 };
    MPI_Request requests[OPERATIONS], *next = requests;
    int error = 0;
    error |= FORM(is_large, Rput, &out[PUT], 1, MPI_LONG, right, PUT, 1, MPI_LONG, win, next++);
    error |= FORM(is_large, Rget, &in[GET], 1, MPI_LONG, right, GET, 1, MPI_LONG, win, next++);
    error |= FORM(is_large, Raccumulate, &out[SUM], 1, MPI_LONG, right, SUM, 1, MPI_LONG, MPI_SUM,
                  win, next++);
    error |= FORM(is_large, Raccumulate, &out[REPLACE], 1, MPI_LONG, right, REPLACE, 1, MPI_LONG,
                  MPI_REPLACE, win, next++);
    error |= FORM(is_large, Rget_accumulate, &out[GET_SUM], 1, MPI_LONG, &in[GET_SUM], 1, MPI_LONG,
                  right, GET_SUM, 1, MPI_LONG, MPI_SUM, win, next++);
    error |= FORM(is_large, Rget_accumulate, NULL, 0, MPI_DATATYPE_NULL, &in[GET_NO_OP], 1,
                  MPI_LONG, right, GET_NO_OP, 1, MPI_LONG, MPI_NO_OP, win, next++);
    error |= MPI_Waitall(OPERATIONS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < OPERATIONS; i++)
        error |= requests[i] != MPI_REQUEST_NULL;
    return error == MPI_SUCCESS;
}

static void check_got(const way_t *way, const long *in, int word, const char *what)
{
    tap_check(in[word] == initial(right, word), "%s under %s gets what was there", what, way->name);
}

static void check_has(const way_t *way, const long *now, int word, long wanted, const char *what)
{
    tap_check(now[word] == wanted, "%s under %s at the target", what, way->name);
}

static void check_way(const way_t *way, bool is_large)
{
    const char *form = is_large ? " (_c)" : "";
    long out[WORDS], in[WORDS], now[WORDS];
    for (int i = 0; i < WORDS; i++) {
        out[i] = given(rank, i);
        in[i] = -1;
    }
    fill();
    way->begin();
    bool good = operate(out, in, is_large);
    way->end();
    tap_check(good, "the operations are accepted under %s%s", way->name, form);
    read_own(now);
    check_got(way, in, GET, "MPI_Get");
    check_got(way, in, GET_SUM, "MPI_Get_accumulate");
    check_got(way, in, GET_NO_OP, "MPI_Get_accumulate without operation");
    check_got(way, in, FETCH, "MPI_Fetch_and_op");
    check_got(way, in, FETCH_NO_OP, "MPI_Fetch_and_op without operation");
    check_got(way, in, SWAP, "MPI_Compare_and_swap");
    check_got(way, in, NO_SWAP, "MPI_Compare_and_swap of something else");
    check_has(way, now, PUT, given(left, PUT), "MPI_Put");
    check_has(way, now, SUM, initial(rank, SUM) + given(left, SUM), "MPI_Accumulate");
    check_has(way, now, REPLACE, given(left, REPLACE), "MPI_Accumulate that replaces");
    check_has(way, now, GET_SUM, initial(rank, GET_SUM) + given(left, GET_SUM),
              "MPI_Get_accumulate");
    check_has(way, now, FETCH, initial(rank, FETCH) + given(left, FETCH), "MPI_Fetch_and_op");
    check_has(way, now, SWAP, given(left, SWAP), "MPI_Compare_and_swap");
    good = in[PUT] == -1 && in[SUM] == -1;
    for (int i = 0; i < WORDS; i++)
        if (i == GET || i == GET_NO_OP || i == FETCH_NO_OP || i == NO_SWAP || i == UNTOUCHED)
            good &= now[i] == initial(rank, i);
    tap_check(good, "nothing else has changed under %s", way->name);
}

static void check_requests(const way_t *way, bool is_large)
{
    const char *form = is_large ? " (_c)" : "";
    long out[WORDS], in[WORDS], now[WORDS];
    for (int i = 0; i < WORDS; i++)
        out[i] = given(rank, i);
    fill();
    way->begin();
    bool good = operate_with_requests(out, in, is_large);
    tap_check(good, "requests of operations end under %s%s", way->name, form);
    good = in[GET] == initial(right, GET) && in[GET_SUM] == initial(right, GET_SUM) &&
           in[GET_NO_OP] == initial(right, GET_NO_OP);
    tap_check(good, "what is got is there when the request ends under %s", way->name);
    memset(out, 0xff, sizeof out);
    way->end();
    read_own(now);
    good = now[PUT] == given(left, PUT) && now[REPLACE] == given(left, REPLACE) &&
           now[SUM] == initial(rank, SUM) + given(left, SUM) &&
           now[GET_SUM] == initial(rank, GET_SUM) + given(left, GET_SUM);
    tap_check(good, "the target has it when the epoch ends under %s", way->name);
}

/* -- nothing ----------------------------------------------------------------------------------- */

static void check_no_target(const way_t *way, bool has_requests)
{
    const int none = MPI_PROC_NULL;
    long out = 1, in = -1;
    MPI_Request all[4];
    way->begin();
    int error = MPI_Put(&out, 1, MPI_LONG, none, 0, 1, MPI_LONG, win);
    error |= MPI_Get(&in, 1, MPI_LONG, none, 0, 1, MPI_LONG, win);
    error |= MPI_Accumulate(&out, 1, MPI_LONG, none, 0, 1, MPI_LONG, MPI_SUM, win);
    error |=
        MPI_Get_accumulate(&out, 1, MPI_LONG, &in, 1, MPI_LONG, none, 0, 1, MPI_LONG, MPI_SUM, win);
    error |= MPI_Fetch_and_op(&out, &in, MPI_LONG, none, 0, MPI_SUM, win);
    error |= MPI_Compare_and_swap(&out, &out, &in, MPI_LONG, none, 0, win);
    if (has_requests) {
        error |= MPI_Rput(&out, 1, MPI_LONG, none, 0, 1, MPI_LONG, win, &all[0]);
        error |= MPI_Rget(&in, 1, MPI_LONG, none, 0, 1, MPI_LONG, win, &all[1]);
        error |= MPI_Raccumulate(&out, 1, MPI_LONG, none, 0, 1, MPI_LONG, MPI_SUM, win, &all[2]);
        error |= MPI_Rget_accumulate(&out, 1, MPI_LONG, &in, 1, MPI_LONG, none, 0, 1, MPI_LONG,
                                     MPI_SUM, win, &all[3]);
        error |= MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
    }
    way->end();
    tap_check(error == MPI_SUCCESS && in == -1, "MPI_PROC_NULL under %s", way->name);
}

static void check_no_data(void)
{
    MPI_Datatype empty;
    MPI_Request request;
    long now[WORDS];
    MPI_Type_contiguous(0, MPI_LONG, &empty);
    MPI_Type_commit(&empty);
    fill();
    MPI_Win_lock_all(0, win);
    int error = MPI_Put(NULL, 0, MPI_LONG, right, 0, 0, MPI_LONG, win);
    error |= MPI_Get(NULL, 0, MPI_LONG, right, 0, 0, MPI_LONG, win);
    error |= MPI_Accumulate(NULL, 0, MPI_LONG, right, 0, 0, MPI_LONG, MPI_SUM, win);
    error |= MPI_Get_accumulate(NULL, 0, MPI_LONG, NULL, 0, MPI_LONG, right, 0, 0, MPI_LONG,
                                MPI_SUM, win);
    error |= MPI_Put(NULL, 5, empty, right, 0, 7, empty, win);
    error |= MPI_Rput(NULL, 0, MPI_LONG, right, 0, 0, MPI_LONG, win, &request);
    error |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    error |= MPI_Rget(NULL, 3, empty, right, 0, 0, MPI_LONG, win, &request);
    error |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    end_all();
    MPI_Type_free(&empty);
    read_own(now);
    for (int i = 0; i < WORDS; i++)
        error |= now[i] != initial(rank, i);
    tap_check(error == MPI_SUCCESS, "counts of 0 and types without data change nothing");
}

int main(int argc, char **argv)
{
    MPI_Group world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    for (int i = 0; i < WAYS; i++) {
        check_way(&ways[i], false);
        check_way(&ways[i], true);
        check_no_target(&ways[i], i >= FIRST_PASSIVE);
        for (int large = 0; large < 2 && i >= FIRST_PASSIVE; large++)
            check_requests(&ways[i], large);
    }
    check_no_data();
    MPI_Win_free(&win);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&world);
    MPI_Finalize();
    return tap_finish();
}
