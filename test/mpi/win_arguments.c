/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arguments that the calls on windows refuse, each with its error class: ranks, counts, datatypes,
 * operations, locks, assertions, groups, sizes, units, and windows of the wrong flavor. Between
 * mistakes, the window is seen to work.
 */
#include <mpi.h>
#include <stdlib.h>

#include "place.h"
#include "win_errors.h"

static const long out[WORDS] = {1}, none[WORDS];
static long in[WORDS];

/* -- operations, in an epoch ------------------------------------------------------------------- */

static void check_ranks(void)
{
    int wrong[] = {size, size + 1000, MPI_ANY_SOURCE, -99};
    MPI_Request request;
    for (int i = 0; i < 4; i++) {
        int target = wrong[i];
        REFUSED(MPI_ERR_RANK, MPI_Put(out, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        REFUSED(MPI_ERR_RANK, MPI_Get(in, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        REFUSED(MPI_ERR_RANK,
                MPI_Accumulate(out, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
        REFUSED(MPI_ERR_RANK, MPI_Get_accumulate(out, 1, MPI_LONG, in, 1, MPI_LONG, target, 0, 1,
                                                 MPI_LONG, MPI_SUM, win));
        REFUSED(MPI_ERR_RANK, MPI_Fetch_and_op(out, in, MPI_LONG, target, 0, MPI_SUM, win));
        REFUSED(MPI_ERR_RANK, MPI_Compare_and_swap(out, none, in, MPI_LONG, target, 0, win));
        REFUSED(MPI_ERR_RANK, MPI_Rput(out, 1, MPI_LONG, target, 0, 1, MPI_LONG, win, &request));
        REFUSED(MPI_ERR_RANK, MPI_Win_flush(target, win));
        REFUSED(MPI_ERR_RANK, MPI_Win_flush_local(target, win));
    }
}

static void check_counts(void)
{
    REFUSED(MPI_ERR_COUNT, MPI_Put(out, -1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    REFUSED(MPI_ERR_COUNT, MPI_Put(out, 1, MPI_LONG, right, 0, -1, MPI_LONG, win));
    REFUSED(MPI_ERR_COUNT, MPI_Get(in, -1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    REFUSED(MPI_ERR_COUNT, MPI_Accumulate(out, 1, MPI_LONG, right, 0, -1, MPI_LONG, MPI_SUM, win));
    REFUSED(MPI_ERR_COUNT, MPI_Get_accumulate(out, 1, MPI_LONG, in, -1, MPI_LONG, right, 0, 1,
                                              MPI_LONG, MPI_SUM, win));
}

/* Two numbers of different types; not committed. */
static MPI_Datatype make_mixed(void)
{
    MPI_Datatype type;
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                           (MPI_Datatype[]){MPI_LONG, MPI_DOUBLE}, &type);
    return type;
}

static void check_types(void)
{
    const MPI_Datatype null = MPI_DATATYPE_NULL;
    MPI_Datatype mixed = make_mixed(), pair;
    MPI_Type_contiguous(2, MPI_LONG, &pair);
    REFUSED(MPI_ERR_TYPE, MPI_Put(out, 1, null, right, 0, 1, MPI_LONG, win));
    REFUSED(MPI_ERR_TYPE, MPI_Put(out, 2, MPI_LONG, right, 0, 1, pair, win));
    REFUSED(MPI_ERR_TYPE, MPI_Get(in, 1, pair, right, 0, 2, MPI_LONG, win));
    MPI_Type_commit(&mixed);
    MPI_Type_commit(&pair);
    REFUSED(MPI_ERR_TYPE, MPI_Accumulate(out, 1, mixed, right, 0, 1, mixed, MPI_SUM, win));
    REFUSED(MPI_ERR_TYPE, MPI_Accumulate(out, 1, MPI_LONG, right, 0, 1, MPI_DOUBLE, MPI_SUM, win));
    REFUSED(MPI_ERR_TYPE, MPI_Get_accumulate(out, 1, MPI_LONG, in, 1, MPI_DOUBLE, right, 0, 1,
                                             MPI_LONG, MPI_SUM, win));
    REFUSED(MPI_ERR_TYPE, MPI_Fetch_and_op(out, in, pair, right, 0, MPI_SUM, win));
    REFUSED(MPI_ERR_TYPE, MPI_Fetch_and_op(out, in, null, right, 0, MPI_SUM, win));
    REFUSED(MPI_ERR_TYPE, MPI_Compare_and_swap(out, none, in, MPI_DOUBLE, right, 0, win));
    REFUSED(MPI_ERR_TYPE, MPI_Compare_and_swap(out, none, in, MPI_LONG_INT, right, 0, win));
    REFUSED(MPI_ERR_TYPE, MPI_Compare_and_swap(out, none, in, pair, right, 0, win));
    MPI_Type_free(&mixed);
    MPI_Type_free(&pair);
}

static void do_nothing(void *from, void *into, int *length, MPI_Datatype *type)
{
    (void)from, (void)into, (void)length, (void)type;
}

static void check_operations(void)
{
    MPI_Op own;
    MPI_Op_create(do_nothing, 1, &own);
    MPI_Op wrong[] = {own, MPI_OP_NULL, MPI_MINLOC, MPI_MAXLOC};
    for (int i = 0; i < 4; i++) {
        MPI_Op op = wrong[i];
        REFUSED(MPI_ERR_OP, MPI_Accumulate(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, op, win));
        REFUSED(MPI_ERR_OP, MPI_Get_accumulate(out, 1, MPI_LONG, in, 1, MPI_LONG, right, 0, 1,
                                               MPI_LONG, op, win));
        REFUSED(MPI_ERR_OP, MPI_Fetch_and_op(out, in, MPI_LONG, right, 0, op, win));
    }
    REFUSED(MPI_ERR_OP, MPI_Accumulate(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_NO_OP, win));
    REFUSED(MPI_ERR_OP, MPI_Accumulate(out, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, MPI_BAND, win));
    REFUSED(MPI_ERR_OP, MPI_Fetch_and_op(out, in, MPI_DOUBLE, right, 0, MPI_BXOR, win));
    REFUSED(MPI_ERR_OP, MPI_Accumulate(out, 1, MPI_C_DOUBLE_COMPLEX, right, 0, 1,
                                       MPI_C_DOUBLE_COMPLEX, MPI_MAX, win));
    REFUSED(MPI_ERR_OP, MPI_Accumulate(out, 1, MPI_BYTE, right, 0, 1, MPI_BYTE, MPI_SUM, win));
    MPI_Op_free(&own);
}

/* -- synchronisation --------------------------------------------------------------------------- */

static void check_synchronisation(void)
{
    const int wrong = 1 << 30;
    MPI_Group world;
    REFUSED(MPI_ERR_LOCKTYPE, MPI_Win_lock(0, right, 0, win));
    REFUSED(MPI_ERR_LOCKTYPE, MPI_Win_lock(-1, right, 0, win));
    REFUSED(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win));
    REFUSED(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_ANY_SOURCE, 0, win));
    REFUSED(MPI_ERR_RANK, MPI_Win_unlock(size, win));
    REFUSED(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, right, wrong, win));
    REFUSED(MPI_ERR_ASSERT, MPI_Win_lock_all(wrong, win));
    REFUSED(MPI_ERR_ASSERT, MPI_Win_fence(wrong, win));
    MPI_Win_get_group(win, &world);
    REFUSED(MPI_ERR_ASSERT, MPI_Win_post(world, wrong, win));
    REFUSED(MPI_ERR_ASSERT, MPI_Win_start(world, wrong, win));
    REFUSED(MPI_ERR_GROUP, MPI_Win_post(MPI_GROUP_NULL, 0, win));
    REFUSED(MPI_ERR_GROUP, MPI_Win_start(MPI_GROUP_NULL, 0, win));
    MPI_Group_free(&world);
    check_works("wrong synchronisation");
}

/* A group with ranks that the window does not have. */
static void check_strangers(void)
{
    MPI_Group world;
    MPI_Win alone;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_create(in, sizeof in, 8, MPI_INFO_NULL, MPI_COMM_SELF, &alone);
    MPI_Win_set_errhandler(alone, MPI_ERRORS_RETURN);
    if (size > 1) {
        tap_check(MPI_Win_post(world, 0, alone) != MPI_SUCCESS, "strangers are not posted to");
        tap_check(MPI_Win_start(world, 0, alone) != MPI_SUCCESS, "nor started with");
    }
    ACCEPTED(MPI_Win_fence(0, alone));
    MPI_Group_free(&world);
    MPI_Win_free(&alone);
}

static void check_null(void)
{
    const MPI_Win null = MPI_WIN_NULL;
    MPI_Group group;
    int flag;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    REFUSED(MPI_ERR_WIN, MPI_Put(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, null));
    REFUSED(MPI_ERR_WIN, MPI_Win_fence(0, null));
    REFUSED(MPI_ERR_WIN, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, null));
    REFUSED(MPI_ERR_WIN, MPI_Win_flush_all(null));
    REFUSED(MPI_ERR_WIN, MPI_Win_test(null, &flag));
    REFUSED(MPI_ERR_WIN, MPI_Win_get_group(null, &group));
    REFUSED(MPI_ERR_WIN, MPI_Win_attach(null, in, sizeof in));
}

/* -- making windows ---------------------------------------------------------------------------- */

static void check_sizes(void)
{
    MPI_Win made = MPI_WIN_NULL;
    void *base;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Info no = MPI_INFO_NULL;
    REFUSED(MPI_ERR_SIZE, MPI_Win_create(in, -1, 1, no, world, &made));
    REFUSED(MPI_ERR_SIZE, MPI_Win_allocate(-1, 1, no, world, &base, &made));
    REFUSED(MPI_ERR_SIZE, MPI_Win_allocate_shared(-1, 1, no, world, &base, &made));
    REFUSED(MPI_ERR_DISP, MPI_Win_create(in, 8, 0, no, world, &made));
    REFUSED(MPI_ERR_DISP, MPI_Win_create(in, 8, -8, no, world, &made));
    REFUSED(MPI_ERR_DISP, MPI_Win_allocate(8, 0, no, world, &base, &made));
    REFUSED(MPI_ERR_DISP, MPI_Win_allocate_shared(8, -1, no, world, &base, &made));
    REFUSED(MPI_ERR_COMM, MPI_Win_create(in, 8, 1, no, MPI_COMM_NULL, &made));
    REFUSED(MPI_ERR_COMM, MPI_Win_create_dynamic(no, MPI_COMM_NULL, &made));
    tap_check(made == MPI_WIN_NULL, "no window is made by mistake");
}

static void check_communicators(void)
{
    MPI_Win made = MPI_WIN_NULL;
    MPI_Comm half, inter;
    void *base;
    if (!place_is_one_node())
        REFUSED(MPI_ERR_RMA_SHARED,
                MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made));
    if (size == 1)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    REFUSED(MPI_ERR_COMM, MPI_Win_create(in, 8, 1, MPI_INFO_NULL, inter, &made));
    REFUSED(MPI_ERR_COMM, MPI_Win_allocate(8, 1, MPI_INFO_NULL, inter, &base, &made));
    REFUSED(MPI_ERR_COMM, MPI_Win_create_dynamic(MPI_INFO_NULL, inter, &made));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* -- flavors ----------------------------------------------------------------------------------- */

static void check_attach(MPI_Win dynamic)
{
    static long region[4 * WORDS];
    const MPI_Aint bytes = WORDS * sizeof *region;
    char *middle = (char *)(region + WORDS);
    ACCEPTED(MPI_Win_attach(dynamic, middle, bytes));
    REFUSED(MPI_ERR_RMA_ATTACH, MPI_Win_attach(dynamic, middle, bytes));
    REFUSED(MPI_ERR_RMA_ATTACH, MPI_Win_attach(dynamic, middle + 8, 8));
    REFUSED(MPI_ERR_RMA_ATTACH, MPI_Win_attach(dynamic, region, 4 * bytes));
    REFUSED(MPI_ERR_RMA_ATTACH, MPI_Win_attach(dynamic, middle - 8, 16));
    REFUSED(MPI_ERR_RMA_ATTACH, MPI_Win_attach(dynamic, middle + bytes - 1, 2));
    REFUSED(MPI_ERR_SIZE, MPI_Win_attach(dynamic, region, -1));
    REFUSED(MPI_ERR_RMA_ATTACH, MPI_Win_detach(dynamic, region));
    REFUSED(MPI_ERR_RMA_ATTACH, MPI_Win_detach(dynamic, middle + 8));
    ACCEPTED(MPI_Win_attach(dynamic, region, bytes));
    ACCEPTED(MPI_Win_attach(dynamic, middle + bytes, bytes));
    ACCEPTED(MPI_Win_detach(dynamic, middle));
    REFUSED(MPI_ERR_RMA_ATTACH, MPI_Win_detach(dynamic, middle));
    ACCEPTED(MPI_Win_detach(dynamic, region));
}

static void check_flavors(void)
{
    MPI_Win dynamic, created;
    MPI_Aint bytes;
    int unit;
    void *base;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    MPI_Win_create(in, sizeof in, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
    MPI_Win_set_errhandler(created, MPI_ERRORS_RETURN);
    REFUSED(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, in, sizeof in));
    REFUSED(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(created, in, sizeof in));
    REFUSED(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(win, memory));
    REFUSED(MPI_ERR_RMA_FLAVOR, MPI_Win_shared_query(dynamic, 0, &bytes, &unit, &base));
    REFUSED(MPI_ERR_RANK, MPI_Win_shared_query(win, size, &bytes, &unit, &base));
    check_attach(dynamic);
    MPI_Win_free(&created);
    MPI_Win_free(&dynamic);
}

int main(int argc, char **argv)
{
    begin_errors(&argc, &argv);
    MPI_Win_lock_all(0, win);
    check_ranks();
    check_counts();
    check_types();
    check_operations();
    MPI_Win_unlock_all(win);
    check_works("wrong operations");
    check_synchronisation();
    check_strangers();
    check_null();
    check_sizes();
    check_communicators();
    check_flavors();
    check_works("all mistakes");
    bool good = true;
    for (int i = 0; i < WORDS - 1; i++)
        good &= memory[i] == 0 && in[i] == 0;
    tap_check(good, "no operation that was refused has done anything");
    MPI_Win_free(&win);
    MPI_Finalize();
    return tap_finish();
}
