/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that not all ranks make, or not the same one. See hang.h. */
#include "hang.h"

#include <stddef.h>

enum { TAG = 7 };

static void receive_from(int source)
{
    MPI_Recv(&size, 1, MPI_INT, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @instead */
}

/* Rank 1 waits for a message instead. */
static void missing_rank(void)
{
    int sum;
    if (rank == 1)
        receive_from(0);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* @allreduce */
}

/* The order of two collectives is not the same everywhere. */
static void swapped(void)
{
    int value = rank;
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);                  /* @swapped_barrier */
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* @swapped_bcast */
    if (rank != 0)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* The root is a variable that is not the same everywhere. */
static void different_roots(void)
{
    int value = rank, root = rank == 0 ? 1 : 2;
    MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD); /* @root */
    MPI_Barrier(MPI_COMM_WORLD);                         /* @after_root */
}

/* A collective in one branch of an if that not all take. */
static void different_collectives(void)
{
    int value = rank;
    if (rank == 0)
        MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* @differ_sum */
    else
        MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD); /* @differ_bcast */
    MPI_Barrier(MPI_COMM_WORLD);                          /* @differ_barrier */
}

static MPI_Comm split(const char *name)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    if (name != NULL)
        MPI_Comm_set_name(half, name);
    return half;
}

/* One member of a part of the ranks has forgotten the call. */
static void forgotten_in_a_part(void)
{
    MPI_Comm half = split(rank % 2 == 0 ? "even ranks" : "odd ranks");
    if (rank != 2)
        MPI_Barrier(half);       /* @half */
    MPI_Barrier(MPI_COMM_WORLD); /* @whole */
}

/* The same, on a communicator without a name. */
static void forgotten_without_a_name(void)
{
    MPI_Comm half = split(NULL);
    if (rank != 2)
        MPI_Barrier(half);       /* @nameless_half */
    MPI_Barrier(MPI_COMM_WORLD); /* @nameless_whole */
}

/* MPI_Comm_dup is collective, too. */
static void dup_by_some(void)
{
    MPI_Comm copy;
    if (rank == 2)
        receive_from(0);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy); /* @dup */
}

/* So is MPI_Comm_split, for all ranks: those that are in no part give MPI_UNDEFINED. */
static void split_by_some(void)
{
    MPI_Comm part;
    if (rank < 2)
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part); /* @split */
    else
        MPI_Barrier(MPI_COMM_WORLD); /* @no_split */
}

/* A rank has called MPI_Finalize, and the other ones another collective. */
static void finalize_early(void)
{
    if (rank == 0)
        MPI_Finalize(); /* @finalize */
    else
        MPI_Barrier(MPI_COMM_WORLD); /* @no_finalize */
}

/* A loop that has one round more in one rank. */
static void one_round_more(void)
{
    int sum = 0;
    for (int i = 0; i < (rank == 3 ? 11 : 10); i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* @round */
    if (rank != 3)
        receive_from(3);
}

/* The two sides of an intercommunicator have to make a call both. */
static void one_side(void)
{
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank / 2 == 0 ? 2 : 0, TAG, &between);
    MPI_Comm_set_name(between, "between");
    if (rank < 2)
        MPI_Barrier(between); /* @side */
    else
        MPI_Barrier(half);       /* @after_side */
    MPI_Barrier(MPI_COMM_WORLD); /* @end_of_side */
}

const hang_case_t collective_cases[] = {
    {"missing_rank", missing_rank, 0},
    {"swapped", swapped, 0},
    {"different_roots", different_roots, 0},
    {"different_collectives", different_collectives, 0},
    {"forgotten_in_a_part", forgotten_in_a_part, 0},
    {"forgotten_without_a_name", forgotten_without_a_name, 0},
    {"dup_by_some", dup_by_some, 0},
    {"split_by_some", split_by_some, 0},
    {"finalize_early", finalize_early, 0},
    {"one_round_more", one_round_more, 0},
    {"one_side", one_side, 0},
    {0},
};
