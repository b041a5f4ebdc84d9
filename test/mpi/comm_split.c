/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of communicators, by color and by group. */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"

static int rank, size;
static MPI_Group world;

/* Whether the communicator is these ranks of MPI_COMM_WORLD, and messages get around in it. Frees
 * it. */
static bool is(MPI_Comm *comm, int n, const int ranks[])
{
    int own = -1, count = -1, got = -1;
    MPI_Group group;
    MPI_Comm_rank(*comm, &own);
    MPI_Comm_size(*comm, &count);
    bool same = count == n && own >= 0 && own < n && ranks[own] == rank;
    MPI_Comm_group(*comm, &group);
    for (int i = 0; same && i < n; i++) {
        int there;
        MPI_Group_translate_ranks(group, 1, &i, world, &there);
        same = there == ranks[i];
    }
    MPI_Group_free(&group);
    if (same) {
        MPI_Sendrecv(&rank, 1, MPI_INT, (own + 1) % n, 1, &got, 1, MPI_INT, (own + n - 1) % n, 1,
                     *comm, MPI_STATUS_IGNORE);
        same = got == ranks[(own + n - 1) % n];
    }
    return MPI_Comm_free(comm) == MPI_SUCCESS && *comm == MPI_COMM_NULL && same;
}

static void check_split(void)
{
    int ranks[64], n = 0;
    MPI_Comm comm;
    for (int i = rank % 3; i < size; i += 3)
        ranks[n++] = i;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, 0, &comm);
    tap_check(is(&comm, n, ranks), "three colors, equal keys: the order stays");

    for (int i = 0; i < size; i++)
        ranks[i] = size - 1 - i;
    MPI_Comm_split(MPI_COMM_WORLD, INT_MAX, -rank, &comm);
    tap_check(is(&comm, size, ranks), "one color, keys the other way round");

    MPI_Comm_split(MPI_COMM_WORLD, rank, INT_MIN, &comm);
    tap_check(is(&comm, 1, &rank), "a color for each");

    n = 0;
    for (int i = 1; i < size; i++)
        ranks[n++] = i;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 4, 0, &comm);
    tap_check(rank == 0 ? comm == MPI_COMM_NULL : is(&comm, n, ranks), "MPI_UNDEFINED");
    MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &comm);
    tap_check(comm == MPI_COMM_NULL, "MPI_UNDEFINED for all");
    comm = MPI_COMM_SELF;
    tap_check(MPI_Comm_split(MPI_COMM_WORLD, -1, 0, &comm) == MPI_ERR_ARG && comm == MPI_COMM_NULL,
              "a negative color");
}

static void check_create(void)
{
    int ranks[64], half = (size + 1) / 2, none = 0;
    MPI_Group group;
    MPI_Comm comm, part;
    for (int i = 0; i < half; i++)
        ranks[i] = 2 * (half - 1 - i);
    MPI_Group_incl(world, half, ranks, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    tap_check(rank % 2 == 0 ? is(&comm, half, ranks) : comm == MPI_COMM_NULL,
              "MPI_Comm_create, backwards");
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm);
    tap_check(comm == MPI_COMM_NULL, "MPI_Comm_create of nobody");

    if (rank % 2 == 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &comm);
        tap_check(is(&comm, half, ranks), "MPI_Comm_create_group");
        MPI_Comm_create_from_group(group, "org.example.evens", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                   &comm);
        MPI_Errhandler handler;
        MPI_Comm_get_errhandler(comm, &handler);
        tap_check(handler == MPI_ERRORS_RETURN && is(&comm, half, ranks),
                  "MPI_Comm_create_from_group");
    } else {
        tap_check(true, "not in the group");
        tap_check(true, "likewise");
    }
    MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, 3, &comm);
    MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "nobody", MPI_INFO_NULL, MPI_ERRORS_RETURN, &part);
    tap_check(comm == MPI_COMM_NULL && part == MPI_COMM_NULL, "of MPI_GROUP_EMPTY");
    MPI_Group_free(&group);

    /* Different groups at the same time. */
    MPI_Group_incl(world, 1, &rank, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    tap_check(is(&comm, 1, &rank), "MPI_Comm_create of disjoint groups");
    int *tag_ub = NULL, has_ub = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &has_ub);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, has_ub ? *tag_ub : 32767, &comm);
    tap_check(is(&comm, 1, &rank), "MPI_Comm_create_group of oneself, with the largest tag");
    if (size > 1) {
        tap_check(MPI_Comm_create(MPI_COMM_SELF, world, &comm) == MPI_ERR_GROUP,
                  "a group that is larger than the communicator");
        tap_check(MPI_Comm_create_group(MPI_COMM_SELF, world, 0, &comm) == MPI_ERR_GROUP,
                  "likewise");
    }
    tap_check(MPI_Comm_create_group(MPI_COMM_WORLD, group, -1, &comm) == MPI_ERR_TAG,
              "a negative tag");
    MPI_Group_free(&group);

    /* Of a part that does not begin with rank 0. */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    MPI_Comm_size(part, &none);
    MPI_Comm_group(part, &group);
    for (int i = 0; i < none; i++) {
        int there;
        MPI_Group_translate_ranks(group, 1, &i, world, &there);
        ranks[i] = there;
    }
    MPI_Comm_create_group(part, group, 0, &comm);
    tap_check(is(&comm, none, ranks), "MPI_Comm_create_group of a part");
    MPI_Group_free(&group);
    MPI_Comm_free(&part);
}

static void check_compare(void)
{
    int result = -1;
    MPI_Comm forwards, backwards, part;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &forwards);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &part);
    MPI_Comm_compare(MPI_COMM_WORLD, forwards, &result);
    tap_check(result == MPI_CONGRUENT, "congruent");
    MPI_Comm_compare(MPI_COMM_WORLD, backwards, &result);
    tap_check(result == (size > 1 ? MPI_SIMILAR : MPI_CONGRUENT), "similar");
    MPI_Comm_compare(MPI_COMM_WORLD, part, &result);
    tap_check(result == (size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT), "unequal");
    MPI_Comm_free(&forwards);
    MPI_Comm_free(&backwards);
    MPI_Comm_free(&part);
}

/* Rank 0 is late: the others' messages for the new communicator are there before it is. */
static void check_early(void)
{
    int numbers[64], flag = 0;
    MPI_Comm comm, gate;
    MPI_Comm_dup(MPI_COMM_WORLD, &gate);
    if (rank == 0) {
        for (int i = 1; i < size; i++) /* everybody waits in the creation, or is behind it */
            MPI_Recv(&numbers[0], 1, MPI_INT, i, 9, gate, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&rank, 1, MPI_INT, 0, 9, gate);
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    if (rank != 0) {
        MPI_Send(&rank, 1, MPI_INT, size - 1, 4, comm);
        MPI_Send(&size, 1, MPI_INT, size - 1, 4, comm);
    } else {
        bool ordered = true;
        for (int i = 1; i < size; i++) {
            int first = -1, second = -1;
            MPI_Recv(&first, 1, MPI_INT, size - 1 - i, 4, comm, MPI_STATUS_IGNORE);
            MPI_Recv(&second, 1, MPI_INT, size - 1 - i, 4, comm, MPI_STATUS_IGNORE);
            ordered &= first == i && second == size;
        }
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
        tap_check(ordered && !flag, "early messages, each once, in their order");
    }
    MPI_Comm_free(&comm);
    MPI_Comm_free(&gate);
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
    check_split();
    check_create();
    check_compare();
    check_early();
    MPI_Group_free(&world);
    MPI_Finalize();
    return tap_finish();
}
