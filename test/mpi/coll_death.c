/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long nonblocking and persistent collectives with a rank that has died, or only seems to: rank 0
 * is told so as a transport of pml/ob1 would tell it. They end with an error, and the other one's
 * buffers stay as they are: nothing is known of what it does with them. It is sent a signal, so it
 * has to be a process that rank 0 sees.
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "place.h"
#include "declare_dead.h"
#include "tap.h"

enum { COUNT = 200000 };

static void expect_failure(int error, const char *what)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    tap_check(class == MPI_ERR_PROC_ABORTED, "%s ends with MPI_ERR_PROC_ABORTED", what);
}

static int all_are(const int *numbers, int wanted)
{
    int right = 1;
    for (int i = 0; i < COUNT; i++)
        right &= numbers[i] == wanted;
    return right;
}

int main(int argc, char **argv)
{
    int rank, pid = (int)getpid(), signal;
    MPI_Request persistent, other;
    sigset_t news;
    sigemptyset(&news);
    sigaddset(&news, SIGUSR1);
    sigprocmask(SIG_BLOCK, &news, NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    if (!place_has_common_pids()) {
        tap_skip("a rank that seems to have died", "it could be sent no signal");
        MPI_Finalize();
        return tap_finish();
    }
    int *send = malloc(COUNT * sizeof(int)), *recv = malloc(COUNT * sizeof(int));
    for (int i = 0; i < COUNT; i++)
        send[i] = 1 + rank;
    MPI_Allreduce_init(send, recv, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &persistent);
    MPI_Start(&persistent);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    tap_check(all_are(recv, 3), "all goes well while both live");
    for (int i = 0; i < COUNT; i++)
        recv[i] = 99;
    if (rank == 0) {
        MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        declare_dead(1);
        MPI_Start(&persistent);
        expect_failure(MPI_Wait(&persistent, MPI_STATUS_IGNORE), "a persistent one");
        MPI_Iallreduce(send, recv, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &other);
        expect_failure(MPI_Wait(&other, MPI_STATUS_IGNORE), "a nonblocking one");
        kill(pid, SIGUSR1);
    } else {
        MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        sigwait(&news, &signal);
        tap_check(all_are(recv, 99), "the buffer is as it was");
    }
    MPI_Request_free(&persistent);
    free(send);
    free(recv);
    MPI_Finalize();
    return tap_finish();
}
