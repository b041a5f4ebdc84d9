/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that computes: rank 0 looks at its memory and calls no MPI while the others work on its
 * window, until each of them has told it so by a put. Then what they did is in its memory, too. The
 * memory that is looked at belongs to the same window or to another one.
 *
 *   win_busy [allocated]    allocated: only memory that the library has allocated
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "tap.h"
#include "win_memory.h"

/* Each origin has `SLICE` bytes of the target's window, and a word there, `BELL`, by which it tells
 * that it has done its work. The limit ends a test that hangs. */
enum { SLICE = 256, BELL = 248, TIMES = 20, SAMPLES = 1000, LIMIT_SEC = 30 };

static int rank, size;
static bool is_one_node;
static const window_t *window; /* that is worked on */
static window_t bells;         /* that is looked at */
static MPI_Datatype strided;

static MPI_Aint at(int byte)
{
    return window_place(window, 0, (size_t)(rank * SLICE + byte));
}

/* -- what origins do, `i` is 1, 2 ... -------------------------------------------------------------
 */

/* Each of them leaves `i` in the first word of the slice. */
typedef struct action {
    const char *name;
    void (*act)(long i);
    bool has_locks; /* it opens and ends its epoch */
} action_t;

static void put(long i)
{
    MPI_Put(&i, 1, MPI_LONG, 0, at(0), 1, MPI_LONG, window->win);
    MPI_Win_flush(0, window->win);
}

static void put_get(long i)
{
    long in = -1;
    put(i);
    MPI_Get(&in, 1, MPI_LONG, 0, at(0), 1, MPI_LONG, window->win);
    MPI_Win_flush(0, window->win);
    if (in != i)
        put(-1);
}

static void put_long(long i)
{
    long out[SLICE / 16];
    for (int k = 0; k < SLICE / 16; k++)
        out[k] = i;
    MPI_Put(out, SLICE / 16, MPI_LONG, 0, at(0), SLICE / 16, MPI_LONG, window->win);
    MPI_Win_flush(0, window->win);
}

static void put_strided(long i)
{
    long out[4] = {i, i, i, i};
    MPI_Put(out, 4, MPI_LONG, 0, at(0), 1, strided, window->win);
    MPI_Win_flush(0, window->win);
}

static void put_by_request(long i)
{
    MPI_Request request;
    MPI_Rput(&i, 1, MPI_LONG, 0, at(0), 1, MPI_LONG, window->win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush_all(window->win);
}

static void put_locally(long i)
{
    MPI_Put(&i, 1, MPI_LONG, 0, at(0), 1, MPI_LONG, window->win);
    MPI_Win_flush_local(0, window->win);
    i = -1;
    MPI_Win_flush(0, window->win);
}

static void accumulate(long i)
{
    const long one = 1;
    MPI_Accumulate(i == 1 ? &i : &one, 1, MPI_LONG, 0, at(0), 1, MPI_LONG,
                   i == 1 ? MPI_REPLACE : MPI_SUM, window->win);
    MPI_Win_flush(0, window->win);
}

static void get_accumulate(long i)
{
    long out[3] = {i, i, i}, in[3];
    MPI_Get_accumulate(out, 3, MPI_LONG, in, 3, MPI_LONG, 0, at(0), 3, MPI_LONG, MPI_REPLACE,
                       window->win);
    MPI_Win_flush(0, window->win);
}

static void fetch(long i)
{
    long old = -1;
    MPI_Fetch_and_op(&i, &old, MPI_LONG, 0, at(0), MPI_REPLACE, window->win);
    MPI_Win_flush(0, window->win);
}

static void swap(long i)
{
    long old = -1, before = i - 1;
    if (i == 1)
        put(0);
    MPI_Compare_and_swap(&i, &before, &old, MPI_LONG, 0, at(0), window->win);
    MPI_Win_flush(0, window->win);
}

static void lock_exclusive(long i)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win);
    MPI_Put(&i, 1, MPI_LONG, 0, at(0), 1, MPI_LONG, window->win);
    MPI_Win_unlock(0, window->win);
}

static void lock_shared(long i)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
    MPI_Accumulate(&i, 1, MPI_LONG, 0, at(0), 1, MPI_LONG, MPI_REPLACE, window->win);
    MPI_Win_unlock(0, window->win);
}

/* An epoch with rank 0 and with the others, which do the same. */
static void lock_all(long i)
{
    MPI_Win_lock_all(0, window->win);
    put(i);
    MPI_Win_flush_all(window->win);
    MPI_Win_unlock_all(window->win);
}

static const action_t actions[] = {
    {"put", put, false},
    {"put and get", put_get, false},
    {"long put", put_long, false},
    {"put with gaps", put_strided, false},
    {"put with a request", put_by_request, false},
    {"put and local flush", put_locally, false},
    {"accumulate", accumulate, false},
    {"get_accumulate", get_accumulate, false},
    {"fetch_and_op", fetch, false},
    {"compare_and_swap", swap, false},
    {"exclusive lock", lock_exclusive, true},
    {"shared lock", lock_shared, true},
    {"lock_all", lock_all, true},
};

/* -- the target -------------------------------------------------------------------------------- */

TAP_READS_WINDOW static long word(const char *memory, int origin, int byte)
{
    return __atomic_load_n((const long *)(memory + origin * SLICE + byte), __ATOMIC_ACQUIRE);
}

/* Returns whether all have told that they have done their work, numbered `work`. No MPI. */
static bool is_done_alone(long work)
{
    static int limit_sec = LIMIT_SEC; /* shorter when it was over once */
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const long limit = time.tv_sec + limit_sec;
    int origin = 1;
    while (origin < size && time.tv_sec <= limit) {
        clock_gettime(CLOCK_MONOTONIC, &time);
        origin += word(bells.memory, origin, BELL) == work;
    }
    if (origin < size)
        limit_sec = 1;
    return origin == size;
}

/* -- together ---------------------------------------------------------------------------------- */

static void open_epoch(MPI_Win win)
{
    MPI_Win_lock_all(0, win);
    MPI_Win_flush_all(win);
}

static void ring(long work)
{
    const MPI_Aint place = window_place(&bells, 0, (size_t)(rank * SLICE + BELL));
    MPI_Put(&work, 1, MPI_LONG, 0, place, 1, MPI_LONG, bells.win);
    MPI_Win_flush(0, bells.win);
}

static void check_action(const action_t *action, const char *where)
{
    static long work;
    const bool has_one = bells.win == window->win;
    bool good = true;
    work++;
    if (rank != 0 && !(has_one && action->has_locks))
        open_epoch(bells.win);
    if (rank != 0 && !has_one && !action->has_locks)
        open_epoch(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        good = is_done_alone(work);
        for (int origin = 1; origin < size && good; origin++)
            good &= word(window->memory, origin, 0) == TIMES;
    } else {
        for (long i = 1; i <= TIMES; i++)
            action->act(i);
        if (has_one && action->has_locks)
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, bells.win);
        ring(work);
        if (has_one && action->has_locks)
            MPI_Win_unlock(0, bells.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0 && !(has_one && action->has_locks))
        MPI_Win_unlock_all(bells.win);
    if (rank != 0 && !has_one && !action->has_locks)
        MPI_Win_unlock_all(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(good, "%s: %s needs no call of the target%s", where, action->name,
              has_one ? "" : ", which looks at another window");
}

static int compare(const void *one, const void *other)
{
    double first = *(const double *)one, second = *(const double *)other;
    return (first > second) - (first < second);
}

/* The time is told, not judged. */
static void check_time(const char *where)
{
    double samples[SAMPLES] = {0}, told = 0;
    bool good = true;
    if (rank != 0)
        open_epoch(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < SAMPLES && rank == 1; i++) {
        double begin = MPI_Wtime();
        put(i);
        samples[i] = MPI_Wtime() - begin;
    }
    if (rank == 0)
        good = is_done_alone(-1);
    else
        ring(-1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        MPI_Win_unlock_all(window->win);
    qsort(samples, SAMPLES, sizeof *samples, compare);
    told = samples[SAMPLES / 2] * 1e6;
    MPI_Bcast(&told, 1, MPI_DOUBLE, size > 1, MPI_COMM_WORLD);
    tap_check(good, "%s: put and flush take %.2f microseconds (median)", where, told);
}

static void check_window(const window_t *made, window_kind_t kind)
{
    const window_t kept = bells;
    window = made;
    for (int other = 0; other < 2; other++) {
        bells = other ? kept : *made;
        for (int i = 0; i < (int)(sizeof actions / sizeof *actions); i++)
            check_action(&actions[i], window_names[kind]);
    }
    bells = *made;
    check_time(window_names[kind]);
    bells = kept;
}

/* Called with the window of the bells. */
static void check_all(const window_t *made, window_kind_t kind)
{
    (void)kind;
    bells = *made;
    with_windows(check_window);
}

static void check_allocated(const window_t *made, window_kind_t kind)
{
    (void)kind;
    bells = *made;
    with_window(WINDOW_ALLOCATE, check_window);
    if (is_one_node)
        with_window(WINDOW_SHARED, check_window);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Type_vector(4, 1, 3, MPI_LONG, &strided);
    MPI_Type_commit(&strided);
    is_one_node = place_is_one_node();
    if (size > WINDOW_BYTES / SLICE)
        tap_skip("a target that computes", "there are too many ranks");
    else if (argc > 1 && TAP_HAS_SANITIZER)
        tap_skip("memory that the library allocates", "it is that of the sanitizer, and private");
    else
        with_window(WINDOW_ALLOCATE, argc > 1 ? check_allocated : check_all);
    MPI_Type_free(&strided);
    MPI_Finalize();
    return tap_finish();
}
