/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Targets that are not in a window: behind its end, in front of its begin, by displacements and
 * counts that overflow, by parts of a datatype, in memory that is not attached. The operation, or
 * what completes it, says MPI_ERR_RMA_RANGE; no byte is written, and the window works afterwards.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "win_errors.h"

static const long out[WORDS] = {1, 1}, none[WORDS];
static long in[WORDS];

/* The class of the error of an operation on the right neighbour, or of its completion. */
static int outcome(int error, MPI_Win window)
{
    int flushed = MPI_Win_flush(right, window), class;
    MPI_Error_class(error != MPI_SUCCESS ? error : flushed, &class);
    return class;
}

static int request_outcome(int error, MPI_Request *request, MPI_Win window)
{
    if (error == MPI_SUCCESS)
        error = MPI_Wait(request, MPI_STATUS_IGNORE);
    return outcome(error, window);
}

#define OUTSIDE(call)                                                                              \
    tap_check(is_class(outcome(call, win), MPI_ERR_RMA_RANGE), "MPI_ERR_RMA_RANGE: %s", #call)
#define INSIDE(call)                                                                               \
    tap_check(is_class(outcome(call, win), MPI_SUCCESS), "in the window: %s", #call)
#define OUTSIDE_LATER(call)                                                                        \
    tap_check(is_class(request_outcome(call, &request, win), MPI_ERR_RMA_RANGE),                   \
              "MPI_ERR_RMA_RANGE: %s", #call)

/* -- displacements ----------------------------------------------------------------------------- */

static void check_end(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int end = WORDS, last = WORDS - 1;
    INSIDE(MPI_Get(in, 1, MPI_LONG, right, last, 1, MPI_LONG, win));
    INSIDE(MPI_Get(in, WORDS, MPI_LONG, right, 0, WORDS, MPI_LONG, win));
    OUTSIDE(MPI_Put(out, 1, MPI_LONG, right, end, 1, MPI_LONG, win));
    OUTSIDE(MPI_Put(out, 1, MPI_BYTE, right, end, 1, MPI_BYTE, win));
    OUTSIDE(MPI_Put(out, 2, MPI_LONG, right, last, 2, MPI_LONG, win));
    OUTSIDE(MPI_Get(in, 2, MPI_LONG, right, last, 2, MPI_LONG, win));
    OUTSIDE(MPI_Accumulate(out, 2, MPI_LONG, right, last, 2, MPI_LONG, MPI_SUM, win));
    OUTSIDE(MPI_Accumulate(out, 2, MPI_LONG, right, last, 2, MPI_LONG, MPI_REPLACE, win));
    OUTSIDE(MPI_Get_accumulate(out, 2, MPI_LONG, in, 2, MPI_LONG, right, last, 2, MPI_LONG, MPI_SUM,
                               win));
    OUTSIDE(MPI_Fetch_and_op(out, in, MPI_LONG, right, end, MPI_SUM, win));
    OUTSIDE(MPI_Compare_and_swap(out, none, in, MPI_LONG, right, end, win));
    OUTSIDE_LATER(MPI_Rput(out, 1, MPI_LONG, right, end, 1, MPI_LONG, win, &request));
    OUTSIDE_LATER(MPI_Rget(in, 2, MPI_LONG, right, last, 2, MPI_LONG, win, &request));
    OUTSIDE_LATER(
        MPI_Raccumulate(out, 2, MPI_LONG, right, last, 2, MPI_LONG, MPI_SUM, win, &request));
    OUTSIDE_LATER(MPI_Rget_accumulate(out, 1, MPI_LONG, in, 1, MPI_LONG, right, end, 1, MPI_LONG,
                                      MPI_SUM, win, &request));
}

/* Displacements and counts that are small again when they have been multiplied by 8. */
static void check_overflow(void)
{
    const MPI_Aint eighth = (MPI_Aint)1 << 61, most = PTRDIFF_MAX;
    OUTSIDE(MPI_Put(out, 1, MPI_LONG, right, most, 1, MPI_LONG, win));
    OUTSIDE(MPI_Put(out, 1, MPI_LONG, right, eighth, 1, MPI_LONG, win));
    OUTSIDE(MPI_Get(in, 1, MPI_LONG, right, eighth + 1, 1, MPI_LONG, win));
    OUTSIDE(MPI_Accumulate(out, 1, MPI_LONG, right, eighth / 2, 1, MPI_LONG, MPI_SUM, win));
    OUTSIDE(MPI_Fetch_and_op(out, in, MPI_LONG, right, eighth, MPI_SUM, win));
    OUTSIDE(MPI_Compare_and_swap(out, none, in, MPI_LONG, right, most / 8 + 1, win));
    OUTSIDE(MPI_Put(out, 1, MPI_LONG, right, (MPI_Aint)1 << 31, 1, MPI_LONG, win));
    OUTSIDE(MPI_Put(out, 1, MPI_LONG, right, (MPI_Aint)1 << 32, 1, MPI_LONG, win));
    OUTSIDE(MPI_Put_c(out, eighth, MPI_LONG, right, 0, eighth, MPI_LONG, win));
    OUTSIDE(MPI_Get_c(in, eighth + 1, MPI_LONG, right, 0, eighth + 1, MPI_LONG, win));
}

/* The standard has two classes for these: of the argument, and of the place. */
static void check_negative(void)
{
    int first = outcome(MPI_Put(out, 1, MPI_LONG, right, -1, 1, MPI_LONG, win), win);
    int second =
        outcome(MPI_Fetch_and_op(out, in, MPI_LONG, right, PTRDIFF_MIN, MPI_SUM, win), win);
    tap_check((first == MPI_ERR_RMA_RANGE || first == MPI_ERR_DISP) &&
                  (second == MPI_ERR_RMA_RANGE || second == MPI_ERR_DISP),
              "negative displacements have no target");
}

/* -- datatypes --------------------------------------------------------------------------------- */

static MPI_Datatype commit(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype make_pair(MPI_Aint first, MPI_Aint second)
{
    MPI_Datatype type;
    MPI_Type_create_hindexed(
        2, (int[]){1, 1},
        (MPI_Aint[]){first * (MPI_Aint)sizeof(long), second * (MPI_Aint)sizeof(long)}, MPI_LONG,
        &type);
    return commit(type);
}

static void check_types(void)
{
    MPI_Datatype far = make_pair(0, WORDS), wide, before = make_pair(-1, 0), around, huge;
    MPI_Type_create_resized(MPI_LONG, -4096, 8192, &wide);
    wide = commit(wide);
    around = make_pair(0, (MPI_Aint)1 << 59);
    MPI_Type_create_hvector(3, 1, PTRDIFF_MAX / 3, MPI_LONG, &huge);
    huge = commit(huge);
    OUTSIDE(MPI_Put(out, 2, MPI_LONG, right, 0, 1, far, win));
    OUTSIDE(MPI_Get(in, 2, MPI_LONG, right, 1, 1, far, win));
    OUTSIDE(MPI_Accumulate(out, 2, MPI_LONG, right, 0, 1, far, MPI_SUM, win));
    OUTSIDE(MPI_Put(out, 2, MPI_LONG, right, 0, 1, before, win));
    INSIDE(MPI_Get(in, 2, MPI_LONG, right, 1, 1, before, win));
    OUTSIDE(
        MPI_Get_accumulate(out, 2, MPI_LONG, in, 2, MPI_LONG, right, 0, 1, before, MPI_SUM, win));
    INSIDE(MPI_Get(in, 1, MPI_LONG, right, WORDS - 1, 1, wide, win));
    OUTSIDE(MPI_Get(in, 2, MPI_LONG, right, 0, 2, wide, win));
    OUTSIDE(MPI_Put(out, 2, MPI_LONG, right, 0, 1, around, win));
    OUTSIDE(MPI_Put(out, 3, MPI_LONG, right, 0, 1, huge, win));
    MPI_Type_free(&far);
    MPI_Type_free(&wide);
    MPI_Type_free(&before);
    MPI_Type_free(&around);
    MPI_Type_free(&huge);
}

/* -- windows without memory -----------------------------------------------------------------------
 */

static void check_no_memory(void)
{
    MPI_Win kept = win;
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    OUTSIDE(MPI_Put(out, 1, MPI_BYTE, right, 0, 1, MPI_BYTE, win));
    OUTSIDE(MPI_Get(in, 1, MPI_LONG, right, 8, 1, MPI_LONG, win));
    OUTSIDE(MPI_Fetch_and_op(out, in, MPI_LONG, right, 0, MPI_SUM, win));
    INSIDE(MPI_Put(NULL, 0, MPI_BYTE, right, 0, 0, MPI_BYTE, win));
    tap_check(MPI_Win_unlock_all(win) == MPI_SUCCESS && MPI_Win_free(&win) == MPI_SUCCESS,
              "the window of no bytes ends");
    win = kept;
}

/* -- attached memory --------------------------------------------------------------------------- */

static MPI_Aint ask_right(const void *own)
{
    MPI_Aint address, theirs;
    MPI_Get_address(own, &address);
    MPI_Sendrecv(&address, 1, MPI_AINT, left, 0, &theirs, 1, MPI_AINT, right, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return theirs;
}

static void refuse_at(MPI_Aint place, const char *what)
{
    bool good = true;
    good &= is_class(outcome(MPI_Put(out, 1, MPI_LONG, right, place, 1, MPI_LONG, win), win),
                     MPI_ERR_RMA_RANGE);
    good &= is_class(outcome(MPI_Get(in, 1, MPI_LONG, right, place, 1, MPI_LONG, win), win),
                     MPI_ERR_RMA_RANGE);
    good &= is_class(
        outcome(MPI_Accumulate(out, 1, MPI_LONG, right, place, 1, MPI_LONG, MPI_SUM, win), win),
        MPI_ERR_RMA_RANGE);
    good &= is_class(outcome(MPI_Fetch_and_op(out, in, MPI_LONG, right, place, MPI_SUM, win), win),
                     MPI_ERR_RMA_RANGE);
    good &= is_class(outcome(MPI_Compare_and_swap(out, none, in, MPI_LONG, right, place, win), win),
                     MPI_ERR_RMA_RANGE);
    tap_check(good, "MPI_ERR_RMA_RANGE: operations on %s", what);
    int error = MPI_Get(in, 1, MPI_LONG, right, place, 1, MPI_LONG, win);
    int flushed = MPI_Win_flush_local(right, win);
    tap_check(is_class(error != MPI_SUCCESS ? error : flushed, MPI_ERR_RMA_RANGE),
              "a local flush tells of a get of %s", what);
    tap_check(MPI_Win_flush(right, win) == MPI_SUCCESS, "the next flush does not");
}

static void accept_at(MPI_Aint place, const char *what)
{
    bool good = is_class(outcome(MPI_Put(out, 1, MPI_LONG, right, place, 1, MPI_LONG, win), win),
                         MPI_SUCCESS);
    in[0] = -1;
    good &= is_class(outcome(MPI_Get(in, 1, MPI_LONG, right, place, 1, MPI_LONG, win), win),
                     MPI_SUCCESS);
    tap_check(good && in[0] == 1, "operations on %s work", what);
}

static void check_dynamic(void)
{
    const size_t page = 4096;
    MPI_Win kept = win;
    long *block = calloc(3 * WORDS, sizeof *block), *region = block + WORDS;
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Aint base = ask_right(region), mapped = ask_right(pages);
    const MPI_Aint bytes = WORDS * sizeof *region;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_attach(win, region, bytes);
    MPI_Win_attach(win, pages, (MPI_Aint)page);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    accept_at(base, "attached memory");
    refuse_at(base - 8, "what is in front of a region");
    refuse_at(base + bytes, "what is behind it");
    refuse_at(base + bytes - 4, "its last bytes and some more");
    refuse_at(mapped + (MPI_Aint)page, "the page behind one that is attached");
    refuse_at(0, "address 0");
    refuse_at(-8, "the last address");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, pages);
    MPI_Barrier(MPI_COMM_WORLD);
    refuse_at(mapped, "a region that was detached");
    MPI_Barrier(MPI_COMM_WORLD);
    munmap(pages, 2 * page);
    MPI_Barrier(MPI_COMM_WORLD);
    refuse_at(mapped, "memory that the process no longer has");
    accept_at(base, "memory that is still attached");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    bool good = region[0] == 1;
    for (int i = 0; i < 3 * WORDS; i++)
        good &= i == WORDS || block[i] == 0;
    tap_check(good, "and nothing else was written");
    free(block);
    win = kept;
}

int main(int argc, char **argv)
{
    begin_errors(&argc, &argv);
    MPI_Win_lock_all(0, win);
    check_end();
    check_overflow();
    check_negative();
    check_types();
    MPI_Win_unlock_all(win);
    check_works("targets outside of it");
    bool good = true;
    for (int i = 0; i < WORDS - 1; i++)
        good &= memory[i] == 0;
    tap_check(good, "no operation that was refused has done anything");
    check_no_memory();
    check_dynamic();
    check_works("errors of other windows");
    MPI_Win_free(&win);
    MPI_Finalize();
    return tap_finish();
}
