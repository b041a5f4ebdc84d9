/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks of a test are, for those that look at a node from within. Such a test says so at
 * its head, and skips that part where the launcher has put the ranks on several nodes.
 */
#ifndef TEST_MPI_PLACE_H
#define TEST_MPI_PLACE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a synchronous or long send that has left can still be cancelled. By pml/ob1 it can. A
 * script whose network matches sets the variable. */
static inline bool place_cancels_sends(void)
{
    return getenv("MICA_TEST_SENDS_STAY") == NULL;
}

/* How many ranks share this one's node. All ranks call this. */
static inline int place_size(void)
{
    MPI_Comm node;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size;
}

/* Whether another rank shares this one's node. All ranks call this. */
static inline bool place_is_near(int other)
{
    MPI_Comm node;
    MPI_Group world, near;
    int there;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(node, &near);
    MPI_Group_translate_ranks(world, 1, &other, near, &there);
    MPI_Group_free(&near);
    MPI_Group_free(&world);
    MPI_Comm_free(&node);
    return there != MPI_UNDEFINED;
}

/* Whether a pid of one rank means the same process to all others: they run on one system, and in
 * one namespace of processes. All ranks call this, and get the same. */
static inline bool place_has_common_pids(void)
{
    enum { BYTES = 128 };
    char own[BYTES] = "";
    int size, same = 1;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL && fgets(own, BYTES / 2, file) == NULL)
        own[0] = 0;
    if (file != NULL)
        fclose(file);
    size_t length = strlen(own);
    if (readlink("/proc/self/ns/pid", own + length, BYTES - length - 1) < 0)
        own[length] = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *all = (char *)malloc((size_t)size * BYTES);
    MPI_Allgather(own, BYTES, MPI_CHAR, all, BYTES, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        same &= strcmp(all + (size_t)i * BYTES, own) == 0;
    free(all);
    return same;
}

/* Whether all ranks are on one node. All ranks call this, and get the same. */
static inline bool place_is_one_node(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return place_size() == size;
}

#endif
