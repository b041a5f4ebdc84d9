/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of windows when a rank has died: while it had an exclusive lock, while it waited for
 * one, in front of its part in an epoch, a fence, the end of a window. What needs it ends with an
 * error; nothing hangs; locks that it had nothing to do with work. The last rank only seems to die:
 * the others are told so as a transport would tell them. One of them is told while it waits for the
 * lock. The next one gets a lock that the dead rank had.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "asleep.h"
#include "place.h"
#include "declare_dead.h"

/* HELD: the victim has an exclusive lock of rank 0. WAITED: rank 1 has it, the victim wants it. */
enum { HELD, WAITED, POST, COMPLETE, FENCE, TARGET, END, WINDOWS };
enum { WORDS = 4, TAG_PID, TAG_DEAD };

static int rank, size, victim, victim_pid;
static MPI_Comm living; /* all but the victim */
static MPI_Win wins[WINDOWS], living_win;
static long *memories[WINDOWS], *living_memory;
static MPI_Group dead_group;

static void expect_failure(int error, const char *what)
{
    int class = -1, length;
    char text[MPI_MAX_ERROR_STRING], name[16];
    MPI_Error_class(error, &class);
    MPI_Error_string(error, text, &length);
    snprintf(name, sizeof name, "Rank %d ", victim);
    tap_check(class == MPI_ERR_PROC_ABORTED && strstr(text, name) != NULL,
              "%s ends with MPI_ERR_PROC_ABORTED, and the sentence \"%s\"", what, text);
}

/* With success, too. What matters is that it ends, and that no other error is told. */
static void expect_end(int error, const char *what)
{
    int class = -1;
    MPI_Error_class(error, &class);
    tap_check(class == MPI_SUCCESS || class == MPI_ERR_PROC_ABORTED, "%s ends, with error class %d",
              what, class);
}

static int first_error(int error, int other)
{
    return error != MPI_SUCCESS ? error : other;
}

/* -- locks ------------------------------------------------------------------------------------- */

/* Returns an error, or adds one to the first word of a target. */
static int lock_and_add(MPI_Win win, int type, int target)
{
    static const long one = 1;
    int error = MPI_Win_lock(type, target, 0, win);
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
    error = first_error(error, MPI_Win_flush(target, win));
    return first_error(error, MPI_Win_unlock(target, win));
}

/* Without an answer no lock is sure. */
static void take(MPI_Win win, int target)
{
    long value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
}

/* -- the victim -------------------------------------------------------------------------------- */

static sigset_t news;

/* At the end, the victim's own wait for the lock ends because the others seem to be dead. */
static void *tell_victim(void *unused)
{
    int signal;
    (void)unused;
    sigwait(&news, &signal);
    for (int other = 0; other < victim; other++)
        declare_dead(other);
    return NULL;
}

static void seem_to_die(void)
{
    pthread_t teller;
    int pid = (int)getpid();
    pthread_create(&teller, NULL, tell_victim, NULL);
    take(wins[HELD], 0);
    for (int other = 0; other < victim; other++)
        MPI_Send(&pid, 1, MPI_INT, other, TAG_PID, MPI_COMM_WORLD);
    int error = lock_and_add(wins[WAITED], MPI_LOCK_EXCLUSIVE, 0);
    pthread_join(teller, NULL);
    expect_end(error, "the dead rank's own lock");
}

/* -- the others learn of it -------------------------------------------------------------------- */

/* Rank 1 is told when its main thread is asleep in MPI_Win_lock; then it tells rank 0. */
static void *tell_waiting(void *unused)
{
    char thread[16];
    const char *state;
    (void)unused;
    snprintf(thread, sizeof thread, "%d", (int)getpid());
    do {
        sched_yield();
        state = status_of((int)getpid(), thread, "State:\t");
    } while (state != NULL && *state != 'S');
    declare_dead(victim);
    MPI_Send(NULL, 0, MPI_INT, 0, TAG_DEAD, MPI_COMM_WORLD);
    return NULL;
}

static void learn_while_waiting(void)
{
    pthread_t teller;
    pthread_create(&teller, NULL, tell_waiting, NULL);
    int error = lock_and_add(wins[HELD], MPI_LOCK_EXCLUSIVE, 0);
    pthread_join(teller, NULL);
    tap_check(error == MPI_SUCCESS, "the wait for a lock of a rank that dies");
}

static void learn(void)
{
    MPI_Recv(&victim_pid, 1, MPI_INT, victim, TAG_PID, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    await_sleep(&victim_pid, 1); /* in its lock of WAITED */
    MPI_Barrier(living);
    if (rank == 1) {
        learn_while_waiting();
    } else if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_INT, 1, TAG_DEAD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        declare_dead(victim);
    } else {
        declare_dead(victim);
    }
    MPI_Barrier(living);
}

/* -- afterwards -------------------------------------------------------------------------------- */

static void check_locks(void)
{
    for (int type = 0; type < 2; type++) {
        int lock = type == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
        tap_check(lock_and_add(wins[HELD], lock, 0) == MPI_SUCCESS,
                  "a lock that the dead rank had");
        MPI_Barrier(living);
        tap_check(lock_and_add(wins[HELD], lock, 1) == MPI_SUCCESS,
                  "a lock of another rank in the same window works");
    }
    if (rank == 1)
        tap_check(MPI_Win_unlock(0, wins[WAITED]) == MPI_SUCCESS,
                  "the lock that the dead rank waited for is given back");
    MPI_Barrier(living);
    tap_check(lock_and_add(wins[WAITED], MPI_LOCK_EXCLUSIVE, 0) == MPI_SUCCESS,
              "a lock that the dead rank waited for");
    tap_check(lock_and_add(wins[WAITED], MPI_LOCK_EXCLUSIVE, 1) == MPI_SUCCESS,
              "a lock beside it works");
    MPI_Barrier(living);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, wins[HELD]);
    if (rank == 1)
        tap_check(memories[HELD][0] == 2 * victim, "and has all updates");
    MPI_Win_unlock(rank, wins[HELD]);
}

static void check_target(void)
{
    expect_failure(lock_and_add(wins[TARGET], MPI_LOCK_SHARED, victim), "a lock of the dead");
    int error = MPI_Win_lock_all(0, wins[TARGET]);
    if (error == MPI_SUCCESS) {
        static const long one = 1;
        error = MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, wins[TARGET]);
        tap_check(first_error(error, MPI_Win_flush(0, wins[TARGET])) == MPI_SUCCESS,
                  "an operation on the living in an epoch with all");
        error = MPI_Win_unlock_all(wins[TARGET]);
    }
    expect_end(error, "an epoch with all ranks");
    tap_check(lock_and_add(wins[TARGET], MPI_LOCK_EXCLUSIVE, 0) == MPI_SUCCESS,
              "a lock of the living works after it");
}

/* The dead rank never does its part. */
static void check_epochs(void)
{
    static const long one = 1;
    int error = MPI_Win_start(dead_group, 0, wins[POST]);
    if (error == MPI_SUCCESS) {
        MPI_Put(&one, 1, MPI_LONG, victim, 0, 1, MPI_LONG, wins[POST]);
        error = MPI_Win_complete(wins[POST]);
    }
    expect_failure(error, "an epoch that the dead rank has not posted");
    error = MPI_Win_post(dead_group, 0, wins[COMPLETE]);
    expect_failure(first_error(error, MPI_Win_wait(wins[COMPLETE])),
                   "an epoch that the dead rank has not completed");
    expect_failure(MPI_Win_fence(0, wins[FENCE]), "a fence without the dead rank");
    expect_failure(MPI_Win_fence(0, wins[FENCE]), "another fence");
    expect_failure(MPI_Win_free(&wins[END]), "the end of a window");
}

/* A window that the dead rank has no part in. */
static void check_living(void)
{
    static const long one = 1;
    int error = MPI_Win_fence(0, living_win);
    error |= MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, living_win);
    error |= MPI_Win_fence(MPI_MODE_NOSUCCEED, living_win);
    error |= lock_and_add(living_win, MPI_LOCK_EXCLUSIVE, 0);
    MPI_Barrier(living);
    tap_check(error == MPI_SUCCESS && (rank != 0 || living_memory[0] == 2 * victim),
              "a window of the living works");
    tap_check(MPI_Win_free(&living_win) == MPI_SUCCESS, "and ends");
}

/* -- together ---------------------------------------------------------------------------------- */

static void make_windows(void)
{
    MPI_Group world;
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                         &memories[i], &wins[i]);
        memories[i][0] = 0;
        MPI_Win_set_errhandler(wins[i], MPI_ERRORS_RETURN);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &living);
    MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, living, &living_memory,
                     &living_win);
    living_memory[0] = 0;
    MPI_Win_set_errhandler(living_win, MPI_ERRORS_RETURN);
    MPI_Win_get_group(wins[0], &world);
    MPI_Group_incl(world, 1, &victim, &dead_group);
    MPI_Group_free(&world);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        take(wins[WAITED], 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int provided;
    sigemptyset(&news);
    sigaddset(&news, SIGUSR1);
    sigprocmask(SIG_BLOCK, &news, NULL);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    victim = size - 1;
    tap_rank(rank);
    if (!place_has_common_pids() || size < 3) {
        tap_skip("a rank that seems to have died", "the others cannot see it, or there are none");
        MPI_Finalize();
        return tap_finish();
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    make_windows();
    if (rank == victim) {
        seem_to_die();
    } else {
        learn();
        check_locks();
        check_target();
        check_epochs();
        check_living();
        MPI_Barrier(living);
        if (rank == 0)
            kill(victim_pid, SIGUSR1);
    }
    MPI_Group_free(&dead_group);
    MPI_Finalize();
    return tap_finish();
}
