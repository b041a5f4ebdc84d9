/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session begins in one process alone. Ranks that have none do not hold up the others, and a rank
 * that comes late, or that has had sessions before, is met; so is one that calls MPI_Init first. No
 * rank knows in which round the others are: only the messages tell.
 *
 *   rank 0 and 1   many sessions, also with each other
 *   rank 2         begins its only session when rank 0 has written a byte into a pipe of the job's
 *   the last one   has none until MPI_Init
 *
 * Ends with MPI_Init (init), or without (some); else rank 0 waits for the last one in vain. world:
 * rank 0 is one of those that begin with MPI_Init.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

enum { ROUNDS = 10 };

static MPI_Session begin(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    return session;
}

/* Of the first `count` ranks, or of rank 0 and another one. */
static MPI_Comm make_comm(MPI_Session session, int count, const int ranks[], const char *tag)
{
    MPI_Group world, group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_incl(world, count, ranks, &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    return comm;
}

static int add(MPI_Comm comm, int value)
{
    int sum = -1;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static void meet(const int ranks[2], const char *tag, int expected)
{
    MPI_Session session = begin();
    MPI_Comm comm = make_comm(session, 2, ranks, tag);
    int sum = add(comm, tap_known_rank);
    tap_check(sum == expected, "%s: the sum is %d", tag, sum);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

/* The name of a pipe that all ranks of the job know; SESSION_PIPE for another launcher's job. */
static void find_pipe(char *path, size_t room)
{
    const char *folder = getenv("TMPDIR"), *job = getenv("MICA_JOBID");
    const char *given = getenv("SESSION_PIPE");
    if (given != NULL)
        snprintf(path, room, "%s", given);
    else
        snprintf(path, room, "%s/session_some.%s", folder != NULL ? folder : "/tmp", job);
    mkfifo(path, 0600);
}

/* The last rank ends without a session: rank 0, which waits for it, gets an error. */
static void wait_for_nobody(int last)
{
    MPI_Session session;
    MPI_Group world, group;
    MPI_Comm comm = MPI_COMM_WORLD;
    const int ranks[] = {0, last};
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_incl(world, 2, ranks, &group);
    int error =
        MPI_Comm_create_from_group(group, "nobody", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    tap_check(error == MPI_ERR_PROC_ABORTED && comm == MPI_COMM_NULL,
              "a rank that has ended is not met");
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
}

static void use_sessions(int rank)
{
    static const int first[] = {0, 1}, second[] = {0, 2};
    char path[4096], byte = 1;
    find_pipe(path, sizeof path);
    if (rank < 2) {
        for (int i = 0; i < ROUNDS; i++)
            meet(first, "two of them", 1);
    }
    if (rank == 0) {
        MPI_Session session = begin(); /* stays open while rank 1 goes on */
        int fd = open(path, O_WRONLY);
        tap_check(write(fd, &byte, 1) == 1, "the late one may begin");
        close(fd);
        meet(second, "the late one", 2);
        for (int i = 0; i < ROUNDS; i++)
            meet(first, "two again", 1);
        MPI_Session_finalize(&session);
        unlink(path);
    } else if (rank == 1) {
        for (int i = 0; i < ROUNDS; i++)
            meet(first, "two again", 1);
    } else if (rank == 2) {
        int fd = open(path, O_RDONLY);
        tap_check(read(fd, &byte, 1) == 1, "rank 0 has written");
        close(fd);
        meet(second, "the late one", 2);
    }
}

/* Sessions of a job of one, one after the other. */
static void repeat(void)
{
    static const int self[] = {0};
    for (int i = 0; i < 3; i++) {
        MPI_Session session = begin();
        MPI_Comm comm = make_comm(session, 1, self, "one");
        tap_check(add(comm, 5) == 5, "session %d of one process", i);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
    }
}

/* Ranks 0 and 3 wait in MPI_Init meanwhile. */
static void use_few(int rank)
{
    static const int middle[] = {1, 2};
    for (int i = 0; i < ROUNDS && (rank == 1 || rank == 2); i++)
        meet(middle, "two while others wait", 3);
}

/* What launchers call it. */
static int number(const char *name, const char *other)
{
    const char *value = getenv(name) != NULL ? getenv(name) : getenv(other);
    return value != NULL ? atoi(value) : -1;
}

int main(int argc, char **argv)
{
    int rank = number("PMI_RANK", "OMPI_COMM_WORLD_RANK"), sum;
    int size = number("PMI_SIZE", "OMPI_COMM_WORLD_SIZE");
    const char *mode = argc > 1 ? argv[1] : "";
    bool is_world_first = strcmp(mode, "world") == 0;
    tap_rank(rank);
    if (size == 1) {
        repeat();
        return tap_finish();
    }
    if (is_world_first)
        use_few(rank);
    else if (rank < size - 1)
        use_sessions(rank);
    if (is_world_first || strcmp(mode, "init") == 0) {
        MPI_Init(NULL, NULL);
        sum = add(MPI_COMM_WORLD, 1);
        tap_check(sum == size, "all %d ranks meet in world", sum);
        MPI_Finalize();
    } else if (rank == 0 && argc == 1) { /* mpirun knows; some launchers do not */
        wait_for_nobody(size - 1);
    }
    return tap_finish();
}
