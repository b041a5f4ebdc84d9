/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on windows in the wrong epoch: each mistake is MPI_ERR_RMA_SYNC, changes nothing, and the
 * epoch goes on. Between mistakes, the window is seen to work.
 */
#include <mpi.h>

#include "win_errors.h"

static const long out[WORDS] = {1}, none[WORDS];
static long in[WORDS];
static MPI_Group to, from;

/* -- no epoch ---------------------------------------------------------------------------------- */

static void refuse_operations(int target)
{
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Put(out, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Get(in, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
    REFUSED(MPI_ERR_RMA_SYNC,
            MPI_Accumulate(out, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Get_accumulate(out, 1, MPI_LONG, in, 1, MPI_LONG, target, 0, 1,
                                                 MPI_LONG, MPI_SUM, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Fetch_and_op(out, in, MPI_LONG, target, 0, MPI_SUM, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Compare_and_swap(out, none, in, MPI_LONG, target, 0, win));
}

static void refuse_requests(int target)
{
    MPI_Request request;
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Rput(out, 1, MPI_LONG, target, 0, 1, MPI_LONG, win, &request));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Rget(in, 1, MPI_LONG, target, 0, 1, MPI_LONG, win, &request));
    REFUSED(MPI_ERR_RMA_SYNC,
            MPI_Raccumulate(out, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win, &request));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Rget_accumulate(out, 1, MPI_LONG, in, 1, MPI_LONG, target, 0, 1,
                                                  MPI_LONG, MPI_SUM, win, &request));
}

static void refuse_flushes(int target)
{
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_flush(target, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(target, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(win));
}

static void refuse_waits(void)
{
    int flag;
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &flag));
}

static void check_no_epoch(const char *when)
{
    refuse_operations(right);
    refuse_operations(rank);
    refuse_requests(right);
    refuse_flushes(right);
    check_works("operations without an epoch");
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock(rank, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    refuse_waits();
    check_works(when);
}

/* -- fences ------------------------------------------------------------------------------------ */

static void check_fence(void)
{
    MPI_Win same = win;
    ACCEPTED(MPI_Win_fence(0, win));
    ACCEPTED(MPI_Put(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_post(from, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_free(&same));
    tap_check(same == win, "the window is still there");
    refuse_requests(right);
    refuse_flushes(right);
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_start(to, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    refuse_waits();
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    ACCEPTED(MPI_Win_fence(0, win));
    tap_check(memory[0] == 1, "what was put before the mistakes is there");
    memory[0] = 0;
    ACCEPTED(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    refuse_operations(right);
    check_works("MPI_MODE_NOSUCCEED");
}

/* -- locks ------------------------------------------------------------------------------------- */

static void refuse_other_epochs(void)
{
    MPI_Win same = win;
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_start(to, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_free(&same));
    tap_check(same == win, "the window is still there");
}

static void check_lock(int type)
{
    ACCEPTED(MPI_Win_lock(type, right, 0, win));
    ACCEPTED(MPI_Put(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
    refuse_other_epochs();
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    if (size > 1) {
        refuse_operations(rank);
        refuse_requests(rank);
        REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_flush(rank, win));
        REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(rank, win));
        REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock(rank, win));
    }
    ACCEPTED(MPI_Win_flush_all(win));
    ACCEPTED(MPI_Put(out, 1, MPI_LONG, right, 1, 1, MPI_LONG, win));
    ACCEPTED(MPI_Win_unlock(right, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, win));
    check_works(type == MPI_LOCK_SHARED ? "mistakes under a shared lock"
                                        : "mistakes under an exclusive lock");
    tap_check(memory[0] == 1 && memory[1] == 1, "what was put between them is there");
    memory[0] = memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_lock_all(void)
{
    ACCEPTED(MPI_Win_lock_all(0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    refuse_other_epochs();
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_post(from, 0, win));
    ACCEPTED(MPI_Put(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    ACCEPTED(MPI_Win_unlock_all(win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    check_works("mistakes under MPI_Win_lock_all");
    tap_check(memory[0] == 1, "what was put after them is there");
    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The program has promised that there are none. */
static void check_no_locks(void)
{
    MPI_Info info;
    MPI_Win kept = win;
    long word = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_create(&word, sizeof word, sizeof word, info, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, MPI_MODE_NOCHECK, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    refuse_operations(right);
    ACCEPTED(MPI_Win_fence(0, win));
    ACCEPTED(MPI_Accumulate(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win));
    ACCEPTED(MPI_Win_fence(0, win));
    MPI_Info_set(info, "no_locks", "false");
    ACCEPTED(MPI_Win_set_info(win, info));
    ACCEPTED(MPI_Win_lock_all(0, win));
    ACCEPTED(MPI_Win_unlock_all(win));
    tap_check(word == out[0], "a window without locks works");
    MPI_Info_free(&info);
    ACCEPTED(MPI_Win_free(&win));
    win = kept;
}

/* -- groups ------------------------------------------------------------------------------------ */

/* The epoch of MPI_Win_start is over, that of MPI_Win_post is not. */
static void refuse_beside_post(void)
{
    MPI_Win same = win;
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, MPI_MODE_NOCHECK, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_post(from, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_free(&same));
    tap_check(same == win, "the window is still there");
}

static void check_groups(void)
{
    ACCEPTED(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_post(from, 0, win));
    ACCEPTED(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD); /* no lock is left */
    ACCEPTED(MPI_Win_post(from, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_post(from, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    ACCEPTED(MPI_Win_start(to, 0, win));
    ACCEPTED(MPI_Put(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    refuse_other_epochs();
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_post(from, 0, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    refuse_requests(right);
    refuse_flushes(right);
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    if (size > 1)
        refuse_operations(rank); /* it is not in the group */
    ACCEPTED(MPI_Put(out, 1, MPI_LONG, right, 1, 1, MPI_LONG, win));
    ACCEPTED(MPI_Win_complete(win));
    REFUSED(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    refuse_beside_post();
    ACCEPTED(MPI_Win_wait(win));
    refuse_waits();
    refuse_operations(right);
    tap_check(memory[0] == 1 && memory[1] == 1, "what was put between the mistakes is there");
    memory[0] = memory[1] = 0;
    check_works("mistakes in epochs of groups");
}

/* -- the handler ------------------------------------------------------------------------------- */

static int handled, handled_times;
static MPI_Win handled_win;

static void note_error(MPI_Win *which, int *code, ...)
{
    handled = *code;
    handled_win = *which;
    handled_times++;
}

static void check_handler(void)
{
    MPI_Errhandler own;
    MPI_Win_create_errhandler(note_error, &own);
    MPI_Win_set_errhandler(win, own);
    int error = MPI_Put(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
    tap_check(is_class(error, MPI_ERR_RMA_SYNC) && handled == error && handled_win == win &&
                  handled_times == 1,
              "the error handler of the window is called once");
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&own);
}

int main(int argc, char **argv)
{
    MPI_Group world;
    begin_errors(&argc, &argv);
    MPI_Win_get_group(win, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    check_no_epoch("synchronisation without an epoch");
    check_fence();
    check_lock(MPI_LOCK_SHARED);
    check_lock(MPI_LOCK_EXCLUSIVE);
    check_lock_all();
    check_no_locks();
    check_groups();
    check_no_epoch("the end of all epochs");
    check_handler();
    bool good = in[0] == 0;
    for (int i = 0; i < WORDS - 1; i++)
        good &= memory[i] == 0;
    tap_check(good, "no operation that was refused has done anything");
    MPI_Group_free(&world);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Win_free(&win);
    MPI_Finalize();
    return tap_finish();
}
