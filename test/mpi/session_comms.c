/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators of groups, without world: groups that overlap, the empty one, two sides, and
 * several threads with tags of their own at the same time, each in a session of its own.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tap.h"

enum { THREADS = 3, ROUNDS = 20 };

static MPI_Session session;
static MPI_Group world;
static int rank, size;
static atomic_int wrong;

static MPI_Group part_of_world(int first, int last, int stride)
{
    MPI_Group part;
    int range[1][3] = {{first, last, stride}};
    MPI_Group_range_incl(world, 1, range, &part);
    return part;
}

static MPI_Comm make_comm(MPI_Group group, const char *tag)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int error = MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    if (error != MPI_SUCCESS)
        atomic_fetch_add(&wrong, 1);
    return comm;
}

/* Whether all members of the group get the sum of the ranks that these have in world. */
static bool adds_up(MPI_Comm comm, MPI_Group group)
{
    int members, expected = 0, sum = rank;
    MPI_Group_size(group, &members);
    for (int i = 0; i < members; i++) {
        int in_world;
        MPI_Group_translate_ranks(group, 1, &i, world, &in_world);
        expected += in_world;
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum == expected;
}

/* Rank r is in the parts {0 .. r'} for all r' from r on: begun in one order, used in another. */
static void check_overlapping(void)
{
    MPI_Comm comms[64];
    bool right = true;
    for (int last = rank; last < size; last++) {
        MPI_Group part = part_of_world(0, last, 1);
        char tag[32];
        snprintf(tag, sizeof tag, "up to %d", last);
        comms[last] = make_comm(part, tag);
        MPI_Group_free(&part);
    }
    for (int last = size - 1; last >= rank; last--) {
        MPI_Group part = part_of_world(0, last, 1);
        right = right && adds_up(comms[last], part);
        MPI_Group_free(&part);
        MPI_Comm_free(&comms[last]);
    }
    tap_check(right, "communicators of groups that overlap");
}

static void check_empty(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    tap_check(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "nobody", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS &&
                  comm == MPI_COMM_NULL,
              "the empty group makes no communicator");
}

static void check_two_sides(void)
{
    MPI_Group sides[2] = {part_of_world(0, size - 1, 2), part_of_world(1, size - 1, 2)};
    int own = rank % 2, remote = -1, members, got = -1, sent = rank, mate;
    MPI_Comm comm = MPI_COMM_NULL;
    int error = MPI_Intercomm_create_from_groups(sides[own], 0, sides[!own], 0, "sides",
                                                 MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    tap_check(error == MPI_SUCCESS, "an intercommunicator of two groups");
    MPI_Comm_remote_size(comm, &remote);
    MPI_Group_size(sides[!own], &members);
    tap_check(remote == members, "with %d processes on the other side", remote);
    mate = rank / 2;
    if (mate < remote) {
        MPI_Sendrecv(&sent, 1, MPI_INT, mate, 1, &got, 1, MPI_INT, mate, 1, comm,
                     MPI_STATUS_IGNORE);
        tap_check(got == 2 * mate + !own, "and messages between them");
    }
    MPI_Comm_free(&comm);
    MPI_Group_free(&sides[0]);
    MPI_Group_free(&sides[1]);
}

static void *use_session(void *argument)
{
    int thread = (int)(long)argument;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Session own;
        MPI_Group group;
        char tag[32];
        MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &own);
        MPI_Group_from_session_pset(own, "mpi://WORLD", &group);
        snprintf(tag, sizeof tag, "thread %d", thread);
        MPI_Comm comm = make_comm(group, tag);
        if (!adds_up(comm, group))
            atomic_fetch_add(&wrong, 1);
        MPI_Comm_free(&comm);
        MPI_Group_free(&group);
        MPI_Session_finalize(&own);
    }
    MPI_Info_free(&info);
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use_session, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tap_check(atomic_load(&wrong) == 0, "%d threads with sessions of their own", THREADS);
}

/* A derived communicator works like its parent. */
static void check_derived(void)
{
    MPI_Comm comm = make_comm(world, "parent"), copy, half;
    MPI_Group group;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_split(copy, rank % 2, 0, &half);
    MPI_Comm_group(half, &group);
    tap_check(adds_up(half, group), "parts of a communicator of a session");
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
}

int main(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_rank(world, &rank);
    MPI_Group_size(world, &size);
    tap_rank(rank);
    check_overlapping();
    check_empty();
    check_two_sides();
    check_derived();
    check_threads();
    MPI_Session_finalize(&session);
    use_session(NULL); /* with no session around it */
    check_threads();
    MPI_Group_free(&world);
    MPI_Info_free(&info);
    return tap_finish();
}
