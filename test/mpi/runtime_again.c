/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime below MPI starts again after MPI_Finalize, in all ranks together, as often as a later
 * user wants it, and each time all of them reach one another. This user starts in all ranks, which
 * a session does not, so it is found by its internal name; it talks by the transports.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/btl.h"
#include "opal/runtime/init.h"
#include "resident.h"
#include "tap.h"

enum { ROUNDS = 20, CLIENT = OPAL_BTL_CONTROL + 1, KIND = CLIENT * OPAL_BTL_KINDS };

enum { MOST_RANKS = 64, TOGETHER = 0 /* ompi_runtime_start_t */ };

static int rank, size, round_number, received, failed;
static bool has_sent[MOST_RANKS];

static void *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL)
        tap_check(false, "%s is there", name);
    return found;
}

#define FIND(type, name) __extension__((type)find(name))

static bool receive(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    int number;
    memcpy(&number, (const char *)bytes + OPAL_BTL_HEAD, sizeof number);
    failed += from->rank == (unsigned)rank || kind != KIND ||
              length != OPAL_BTL_HEAD + sizeof number || number != round_number;
    has_sent[from->rank] = true;
    received++;
    return true;
}

/* Who has sent its frame and has all others may leave. */
static void leave(opal_process_t *process)
{
    if (has_sent[process->rank])
        return;
    failed++;
    received = size; /* nobody waits any more */
}

static void fail(opal_process_t *process, opal_status_t why)
{
    (void)why;
    has_sent[process->rank] = false;
    leave(process);
}

static void talk_to_all(void)
{
    static const opal_btl_client_t client = {.receive = receive, .failed = fail, .left = leave};
    opal_btl_peer_t *(*connect)(opal_process_t *) =
        FIND(opal_btl_peer_t * (*)(opal_process_t *), "opal_btl_connect");
    opal_process_t *(*process)(uint32_t) = FIND(opal_process_t * (*)(uint32_t), "opal_process");
    int (*progress)(void) = FIND(int (*)(void), "opal_progress");
    received = 0;
    memset(has_sent, 0, sizeof has_sent);
    failed += FIND(int (*)(int, const opal_btl_client_t *), "opal_btl_open")(CLIENT, &client) != 0;
    for (int i = 1; i < size; i++) {
        opal_btl_peer_t *peer = connect(process((uint32_t)((rank + i) % size)));
        while (received < size && !peer->ops->send_short(peer, KIND, (opal_btl_head_t){0},
                                                         &round_number, sizeof round_number))
            progress();
    }
    while (received < size - 1) {
        if (progress() == 0)
            sched_yield();
    }
    FIND(void (*)(int), "opal_btl_close")(CLIENT);
}

int main(int argc, char **argv)
{
    int got, level, descriptors = 0;
    int (*acquire)(int, int, opal_failure_t, int *) =
        FIND(int (*)(int, int, opal_failure_t, int *), "ompi_runtime_acquire");
    int (*release)(void) = FIND(int (*)(void), "ompi_runtime_release");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tap_check(got == (rank + size - 1) % size, "rank %d has a message", rank);
    MPI_Finalize();
    for (round_number = 0; round_number < ROUNDS && failed == 0; round_number++) {
        failed +=
            acquire(TOGETHER, MPI_THREAD_SINGLE, OPAL_FAILURE_ENDS_JOB, &level) != MPI_SUCCESS;
        talk_to_all();
        failed += release() != MPI_SUCCESS;
        if (round_number == 0)
            descriptors = count_descriptors();
    }
    tap_check(failed == 0, "rank %d has started again %d times", rank, ROUNDS);
    tap_check(count_descriptors() == descriptors, "and has as many descriptors as before");
    return tap_finish();
}
