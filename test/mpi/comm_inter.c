/* SPDX-License-Identifier: BSD-3-Clause */
/* Intercommunicators: even ranks on one side, odd ones on the other, in falling order. */
#include <mpi.h>

#include "tap.h"

enum { MANY = 64 };

static int rank, size, side;
static int own_count, other_count, own_ranks[MANY], other_ranks[MANY];
static MPI_Group world;

static bool is_group(MPI_Group group, int n, const int ranks[])
{
    int count = -1, there = -1;
    MPI_Group_size(group, &count);
    bool same = count == n;
    for (int i = 0; same && i < n; i++) {
        MPI_Group_translate_ranks(group, 1, &i, world, &there);
        same = there == ranks[i];
    }
    MPI_Group_free(&group);
    return same;
}

/* Everybody on this side sends to everybody on the other one. */
static bool talks(MPI_Comm comm, int mine, int others, const int ranks[])
{
    MPI_Request sends[MANY];
    MPI_Status status;
    bool right = true;
    for (int i = 0; i < others; i++)
        MPI_Isend(&rank, 1, MPI_INT, i, mine, comm, &sends[i]);
    for (int i = 0; i < others; i++) {
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, i, MPI_ANY_TAG, comm, &status);
        right &= got == ranks[i] && status.MPI_SOURCE == i && status.MPI_TAG == i;
    }
    MPI_Waitall(others, sends, MPI_STATUSES_IGNORE);
    return right;
}

/* Whether it is the intercommunicator of the lists. */
static bool is(MPI_Comm comm, int own_n, const int own[], int other_n, const int other[])
{
    int flag = 0, mine = -1, count = -1, remote = -1;
    MPI_Group group;
    MPI_Comm_test_inter(comm, &flag);
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &count);
    MPI_Comm_remote_size(comm, &remote);
    if (!flag || count != own_n || remote != other_n || mine < 0 || own[mine] != rank)
        return false;
    MPI_Comm_group(comm, &group);
    bool same = is_group(group, own_n, own);
    MPI_Comm_remote_group(comm, &group);
    return is_group(group, other_n, other) && same && talks(comm, mine, other_n, other);
}

static MPI_Comm create(void)
{
    MPI_Comm part, comm;
    MPI_Comm_split(MPI_COMM_WORLD, side, -rank, &part);
    /* The leader is the last of the side, which is its lowest rank. */
    MPI_Intercomm_create(part, own_count - 1, MPI_COMM_WORLD, 1 - side, 12, &comm);
    MPI_Comm_free(&part);
    return comm;
}

static void check_create(MPI_Comm comm)
{
    int result = -1, remote;
    MPI_Comm again, other;
    MPI_Request request;
    tap_check(is(comm, own_count, own_ranks, other_count, other_ranks), "MPI_Intercomm_create");
    MPI_Comm_dup(comm, &again);
    tap_check(is(again, own_count, own_ranks, other_count, other_ranks), "MPI_Comm_dup");
    MPI_Comm_compare(comm, again, &result);
    tap_check(result == MPI_CONGRUENT, "congruent");
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    tap_check(result == MPI_UNEQUAL, "unlike an intracommunicator");
    MPI_Comm_idup(again, &other, &request);
    MPI_Comm_free(&again);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tap_check(is(other, own_count, own_ranks, other_count, other_ranks), "MPI_Comm_idup");
    MPI_Comm_free(&other);
    tap_check(MPI_Comm_remote_size(MPI_COMM_WORLD, &remote) == MPI_ERR_COMM,
              "the world has no side");
    tap_check(MPI_Send(&rank, 1, MPI_INT, other_count, 0, comm) == MPI_ERR_RANK,
              "ranks are those of the other side");
    tap_check(MPI_Comm_create_group(comm, world, 0, &other) == MPI_ERR_COMM,
              "MPI_Comm_create_group wants an intracommunicator");
}

static void check_merge(MPI_Comm comm)
{
    int merged[MANY], own_first;
    MPI_Comm whole;
    MPI_Group group;
    for (int kind = 0; kind < 4; kind++) {
        int high = kind == 0 ? side : kind == 1 ? 1 - side : kind - 2;
        MPI_Intercomm_merge(comm, high, &whole);
        own_first = kind < 2 ? !high : own_ranks[0] < other_ranks[0];
        for (int i = 0; i < own_count; i++)
            merged[own_first ? i : other_count + i] = own_ranks[i];
        for (int i = 0; i < other_count; i++)
            merged[own_first ? own_count + i : i] = other_ranks[i];
        MPI_Comm_group(whole, &group);
        tap_check(is_group(group, size, merged), "MPI_Intercomm_merge, %s",
                  kind == 0   ? "odd ones high"
                  : kind == 1 ? "even ones high"
                              : "no preference");
        int mine, sum;
        MPI_Comm_rank(whole, &mine);
        MPI_Sendrecv(&rank, 1, MPI_INT, (mine + 1) % size, 3, &sum, 1, MPI_INT,
                     (mine + size - 1) % size, 3, whole, MPI_STATUS_IGNORE);
        tap_check(sum == merged[(mine + size - 1) % size], "messages in it");
        MPI_Comm_free(&whole);
    }
    if (size > 2) { /* a side with different ideas */
        int class;
        int error = MPI_Intercomm_merge(comm, rank < 2, &whole);
        MPI_Error_class(error, &class);
        tap_check(class == MPI_ERR_ARG, "ranks of a side that disagree");
    }
}

/* Parts of both sides, and of one only. */
static void check_parts(MPI_Comm comm)
{
    int own[MANY], other[MANY], own_n = 0, other_n = 0, all[MANY];
    MPI_Comm part;
    MPI_Group group, some;
    int color = rank / 2 % 2;
    for (int i = own_count; i > 0; i--) { /* keys turn the order round */
        if (own_ranks[i - 1] / 2 % 2 == color)
            own[own_n++] = own_ranks[i - 1];
    }
    for (int i = other_count; i > 0; i--) {
        if (other_ranks[i - 1] / 2 % 2 == color)
            other[other_n++] = other_ranks[i - 1];
    }
    MPI_Comm_split(comm, color, rank, &part);
    tap_check(other_n == 0 ? part == MPI_COMM_NULL : is(part, own_n, own, other_n, other),
              "MPI_Comm_split");
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
    MPI_Comm_split(comm, side, 0, &part);
    tap_check(part == MPI_COMM_NULL, "MPI_Comm_split: colors of one side only");
    MPI_Comm_split(comm, side == 0 ? 0 : MPI_UNDEFINED, 0, &part);
    tap_check(part == MPI_COMM_NULL, "MPI_Comm_split: one side does not want to");

    MPI_Comm_group(comm, &group);
    for (int i = 0; i < own_count; i++)
        all[i] = own_count - 1 - i;
    MPI_Group_incl(group, side == 0 ? own_count : 1, all, &some);
    own_n = other_n = 0;
    for (int i = 0; i < (side == 0 ? own_count : 1); i++)
        own[own_n++] = own_ranks[own_count - 1 - i];
    for (int i = 0; i < (side == 1 ? other_count : 1); i++)
        other[other_n++] = other_ranks[other_count - 1 - i];
    MPI_Comm_create(comm, some, &part);
    int in;
    MPI_Group_rank(some, &in);
    tap_check(in == MPI_UNDEFINED ? part == MPI_COMM_NULL : is(part, own_n, own, other_n, other),
              "MPI_Comm_create");
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
    MPI_Group_free(&some);
    MPI_Comm_create(comm, side == 0 ? group : MPI_GROUP_EMPTY, &part);
    tap_check(part == MPI_COMM_NULL, "MPI_Comm_create with nobody on a side");
    MPI_Group_free(&group);
}

static void check_from_groups(void)
{
    MPI_Group own, other;
    MPI_Comm comm;
    int result;
    MPI_Group_incl(world, own_count, own_ranks, &own);
    MPI_Group_incl(world, other_count, other_ranks, &other);
    MPI_Intercomm_create_from_groups(own, side == 0 ? 0 : own_count - 1, other,
                                     side == 1 ? 0 : other_count - 1, "example", MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, &comm);
    tap_check(is(comm, own_count, own_ranks, other_count, other_ranks),
              "MPI_Intercomm_create_from_groups");
    MPI_Comm_free(&comm);
    result = MPI_Intercomm_create_from_groups(own, 0, own, 0, "example", MPI_INFO_NULL,
                                              MPI_ERRORS_RETURN, &comm);
    tap_check(result == MPI_ERR_GROUP, "groups that overlap");
    MPI_Group_free(&own);
    MPI_Group_free(&other);
}

static void check_errors(void)
{
    MPI_Comm comm;
    tap_check(MPI_Intercomm_create(MPI_COMM_WORLD, size, MPI_COMM_WORLD, 0, 0, &comm) ==
                  MPI_ERR_RANK,
              "a leader that is none");
    tap_check(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_NULL, 0, 0, &comm) == MPI_ERR_COMM,
              "no peer communicator");
    tap_check(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, size, 0, &comm) ==
                  MPI_ERR_RANK,
              "a remote leader that is none");
    tap_check(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, rank, 0, &comm) ==
                  MPI_ERR_COMM,
              "both sides are oneself");
    tap_check(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &comm) == MPI_ERR_COMM,
              "merging an intracommunicator");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    tap_rank(rank);
    side = rank % 2;
    for (int i = size; i > 0; i--) {
        if ((i - 1) % 2 == side)
            own_ranks[own_count++] = i - 1;
        else
            other_ranks[other_count++] = i - 1;
    }
    MPI_Comm comm = create();
    check_create(comm);
    check_merge(comm);
    check_parts(comm);
    MPI_Comm_free(&comm);
    check_from_groups();
    check_errors();
    MPI_Group_free(&world);
    MPI_Finalize();
    return tap_finish();
}
