/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks whose other end has gone. A rank gives blocks and ends: they live on. And a rank that
 * seems to have died (peer_death.c says how): what it gave before is taken, what is to be given to
 * it stays with the giver. Of a rank on another node nobody here sees the end.
 */
#include <mica.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "place.h"
#include "declare_dead.h"
#include "tap.h"

enum { BLOCKS = 40, TAG = 3 };

static int rank, size, victim;

static MPI_Count length_of(int i)
{
    return 100 + (MPI_Count)i * i * 1500;
}

static void give_all(int dest)
{
    for (int i = 0; i < BLOCKS; i++) {
        char *block = NULL;
        MICA_Alloc((MPI_Aint)length_of(i), &block);
        memset(block, rank + i, (size_t)length_of(i));
        MICA_Give(block, length_of(i), dest, TAG, MPI_COMM_WORLD);
    }
}

static bool is_filled(const char *block, int i, int from)
{
    for (MPI_Count at = 0; at < length_of(i); at++)
        if (block[at] != (char)(from + i))
            return false;
    return true;
}

/* Takes them, with `meanwhile` in between. */
static void take_all(int source, void (*meanwhile)(int argument), int argument)
{
    char *blocks[BLOCKS];
    bool good = true;
    for (int i = 0; i < BLOCKS; i++) {
        MPI_Count bytes;
        good &= MICA_Take(&blocks[i], &bytes, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
                    MPI_SUCCESS &&
                bytes == length_of(i);
    }
    meanwhile(argument);
    for (int i = 0; i < BLOCKS; i++) {
        good &= is_filled(blocks[i], i, source);
        memset(blocks[i], 1, (size_t)length_of(i));
        good &= MICA_Free(blocks[i]) == MPI_SUCCESS;
    }
    tap_check(good, "blocks of a rank that has gone can be used and freed");
}

/* -- a rank that has ended ---------------------------------------------------------------- */

static void await_end(int process)
{
    struct pollfd ended = {.fd = process, .events = POLLIN};
    int got = process < 0 ? -1 : poll(&ended, 1, -1);
    tap_check(got == 1, "the giver has ended");
    close(process);
}

static void await_nothing(int unused)
{
    (void)unused;
    tap_skip("the giver has ended", "it is on another node");
}

static void check_ended(void)
{
    int pid = getpid();
    bool is_near = place_is_near(victim);
    if (rank == victim) {
        MPI_Send(&pid, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        give_all(0);
    } else if (rank == 0) {
        MPI_Recv(&pid, 1, MPI_INT, victim, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (is_near)
            take_all(victim, await_end, (int)syscall(SYS_pidfd_open, pid, 0));
        else
            take_all(victim, await_nothing, 0);
    }
}

/* -- one that seems to have died ---------------------------------------------------------- */

static void expect_failure(int error, const char *what)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    tap_check(class == MPI_ERR_PROC_ABORTED, "%s ends with MPI_ERR_PROC_ABORTED", what);
}

static void outlive(void)
{
    char *block = NULL, *taken = NULL;
    MPI_Count bytes;
    take_all(victim, declare_dead, victim);
    MICA_Alloc(300000, &block);
    memset(block, 5, 300000);
    expect_failure(MICA_Give(block, 300000, victim, TAG, MPI_COMM_WORLD), "to give it something");
    tap_check(block[299999] == 5 && MICA_Free(block) == MPI_SUCCESS, "which stays here");
    expect_failure(MICA_Take(&taken, &bytes, victim, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                   "to take from it");
    tap_check(taken == NULL, "nothing is taken");
}

/* A message goes round, over a rank that knows of no death: who has left through MPI_Finalize
 * cannot die any more. */
static void check_died(void)
{
    if (rank == victim)
        give_all(0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        outlive();
    else
        MPI_Recv(NULL, 0, MPI_INT, rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != victim)
        MPI_Send(NULL, 0, MPI_INT, rank + 1, TAG, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    victim = size - 1;
    if (argc > 1 && strcmp(argv[1], "dead") == 0)
        check_died();
    else
        check_ended();
    MPI_Finalize();
    return tap_finish();
}
