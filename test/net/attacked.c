/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job that is attacked (attack.test): messages of all sizes, checked, until the file "stop" is
 * there. Rank 2 is spoken to when the file "go" is there, so that it is connected in the middle of
 * the attack. Each rank tells its pid in "pid.RANK", and what it sends first on a connection in
 * "sent.RANK.DESCRIPTOR", for an attacker who has listened.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 300000, HEARD = 112, MAX_FDS = 1024, CHECK_EVERY = 32 };

static int rank = -1, wrong;
static long rounds;
static size_t heard[MAX_FDS];
static unsigned char out[MOST], in[MOST];

/* What the library calls. */
ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    ssize_t sent = syscall(SYS_sendto, fd, bytes, length, flags, NULL, 0);
    if (sent <= 0 || fd >= MAX_FDS || rank < 0 || heard[fd] >= HEARD)
        return sent;
    char name[64];
    snprintf(name, sizeof name, "sent.%d.%d", rank, fd);
    int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0) {
        if (write(file, bytes, (size_t)sent) == sent)
            heard[fd] += (size_t)sent;
        close(file);
    }
    return sent;
}

static unsigned char byte_of(int from, long round, int at)
{
    return (unsigned char)(from * 17 + round * 31 + at * 7 + (at >> 8));
}

/* Of that many bytes, with both neighbours among the first `ranks`. */
static void exchange(int ranks, int bytes)
{
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    for (int i = 0; i < bytes; i++)
        out[i] = byte_of(rank, rounds, i);
    memset(in, 0xee, (size_t)bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, to, 1, in, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; i++)
        wrong += in[i] != byte_of(from, rounds, i);
}

/* Rank 0 has seen the file. */
static int is_there(const char *file, MPI_Comm comm)
{
    int there = rank == 0 && access(file, F_OK) == 0;
    MPI_Bcast(&there, 1, MPI_INT, 0, comm);
    return there;
}

static void talk_until(const char *file, int ranks, MPI_Comm comm)
{
    static const int sizes[] = {1, 100, 5000, 20000, MOST};
    do {
        for (int i = 0; i < CHECK_EVERY; i++, rounds++)
            exchange(ranks, sizes[rounds % 5]);
    } while (!is_there(file, comm));
}

int main(int argc, char **argv)
{
    MPI_Group world, first;
    MPI_Comm two = MPI_COMM_NULL;
    char name[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "pid.%d", rank);
    FILE *file = fopen(name, "w");
    if (file == NULL || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, (int[]){0, 1}, &first);
    if (rank < 2) {
        MPI_Comm_create_group(MPI_COMM_WORLD, first, 0, &two);
        talk_until("go", 2, two);
        MPI_Comm_free(&two);
    }
    MPI_Bcast(&rounds, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    talk_until("stop", 3, MPI_COMM_WORLD);
    printf("%d: %d wrong, %s\n", rank, wrong, rounds >= 64 ? "many rounds" : "few rounds");
    MPI_Group_free(&world);
    MPI_Group_free(&first);
    MPI_Finalize();
    return wrong != 0;
}
