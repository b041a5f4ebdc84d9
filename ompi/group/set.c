/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups made of groups. See group.h.
 *
 * Every operation goes once through the processes of its groups: O(n), and memory only if the
 * result is a list. Those that name ranks also mark these, a byte for each rank of the group,
 * while they run.
 */
#include "ompi/group/group.h"

#include <stdlib.h>
#include <string.h>

static int finish(ompi_group_builder_t *builder, ompi_group_t **result)
{
    *result = ompi_group_builder_finish(builder);
    return *result != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* Adds the processes of a group that the other one has, or has not. */
static void add_if(ompi_group_builder_t *builder, const ompi_group_t *group, ompi_group_t *other,
                   bool is_in_other)
{
    for (int rank = 0; rank < group->size; rank++) {
        int process = ompi_group_process(group, rank);
        if ((ompi_group_rank_of(other, process) != MPI_UNDEFINED) == is_in_other)
            ompi_group_builder_add(builder, process);
    }
}

/* MPI_GROUP_EMPTY derives from no session, so that of the other group counts. */
static ompi_object_t *session_of(const ompi_group_t *group1, const ompi_group_t *group2)
{
    return group1->session != NULL ? group1->session : group2->session;
}

int ompi_group_union(ompi_group_t *group1, ompi_group_t *group2, ompi_group_t **result)
{
    ompi_group_builder_t builder = {.session = session_of(group1, group2)};
    add_if(&builder, group1, &ompi_group_empty, false);
    add_if(&builder, group2, group1, false);
    return finish(&builder, result);
}

int ompi_group_intersection(ompi_group_t *group1, ompi_group_t *group2, ompi_group_t **result)
{
    ompi_group_builder_t builder = {.session = session_of(group1, group2)};
    add_if(&builder, group1, group2, true);
    return finish(&builder, result);
}

int ompi_group_difference(ompi_group_t *group1, ompi_group_t *group2, ompi_group_t **result)
{
    ompi_group_builder_t builder = {.session = session_of(group1, group2)};
    add_if(&builder, group1, group2, false);
    return finish(&builder, result);
}

/* Marks ranks of the group; each is there, and once. */
static int mark(const ompi_group_t *group, int n, const int ranks[], char *marks)
{
    for (int i = 0; i < n; i++) {
        if (!ompi_group_has_rank(group, ranks[i]) || marks[ranks[i]])
            return MPI_ERR_RANK;
        marks[ranks[i]] = 1;
    }
    return MPI_SUCCESS;
}

/* The ranks that are named, in their order; or all others, in the order of the group. */
static int select_ranks(const ompi_group_t *group, int n, const int ranks[], bool named,
                        ompi_group_t **result)
{
    ompi_group_builder_t builder = {.session = group->session};
    char *marks = calloc((size_t)group->size + 1, 1);
    if (marks == NULL)
        return MPI_ERR_NO_MEM;
    int error = mark(group, n, ranks, marks);
    if (error == MPI_SUCCESS) {
        for (int i = 0; i < n && named; i++)
            ompi_group_builder_add(&builder, ompi_group_process(group, ranks[i]));
        for (int rank = 0; rank < group->size && !named; rank++) {
            if (!marks[rank])
                ompi_group_builder_add(&builder, ompi_group_process(group, rank));
        }
        error = finish(&builder, result);
    }
    free(marks);
    return error;
}

int ompi_group_incl(const ompi_group_t *group, int n, const int ranks[], ompi_group_t **result)
{
    return select_ranks(group, n, ranks, true, result);
}

int ompi_group_excl(const ompi_group_t *group, int n, const int ranks[], ompi_group_t **result)
{
    return select_ranks(group, n, ranks, false, result);
}

/* How many ranks {first, last, stride} are. */
static int measure(const ompi_group_t *group, const int range[3], int64_t *count)
{
    int64_t first = range[0], last = range[1], stride = range[2];
    if (stride == 0 || (stride > 0 && last < first) || (stride < 0 && last > first))
        return MPI_ERR_ARG;
    *count = (last - first) / stride + 1;
    last = first + (*count - 1) * stride; /* the one that the stride leads to */
    /* If both ends of the range are ranks, all between them are. */
    bool is_valid = ompi_group_has_rank(group, range[0]) && last >= 0 && last < group->size;
    return is_valid ? MPI_SUCCESS : MPI_ERR_RANK;
}

/* Writes out the ranks that the ranges name, into a list of the group's size. */
static int expand(const ompi_group_t *group, int n, int ranges[][3], int *ranks, int *used)
{
    *used = 0;
    for (int i = 0; i < n; i++) {
        int64_t count;
        int error = measure(group, ranges[i], &count);
        if (error != MPI_SUCCESS)
            return error;
        if (count > group->size - *used)
            return MPI_ERR_RANK; /* some rank is there twice */
        for (int64_t k = 0; k < count; k++)
            ranks[(*used)++] = (int)(ranges[i][0] + k * ranges[i][2]);
    }
    return MPI_SUCCESS;
}

static int select_ranges(const ompi_group_t *group, int n, int ranges[][3], bool named,
                         ompi_group_t **result)
{
    int used;
    int *ranks = malloc(((size_t)group->size + 1) * sizeof *ranks);
    if (ranks == NULL)
        return MPI_ERR_NO_MEM;
    int error = expand(group, n, ranges, ranks, &used);
    if (error == MPI_SUCCESS)
        error = select_ranks(group, used, ranks, named, result);
    free(ranks);
    return error;
}

int ompi_group_range_incl(const ompi_group_t *group, int n, int ranges[][3], ompi_group_t **result)
{
    return select_ranges(group, n, ranges, true, result);
}

int ompi_group_range_excl(const ompi_group_t *group, int n, int ranges[][3], ompi_group_t **result)
{
    return select_ranges(group, n, ranges, false, result);
}

static bool are_identical(const ompi_group_t *group1, const ompi_group_t *group2)
{
    if (group1->processes == NULL && group2->processes == NULL)
        return group1->first == group2->first &&
               (group1->stride == group2->stride || group1->size == 1);
    /* The builder never makes a list of what is a range. */
    return group1->processes != NULL && group2->processes != NULL &&
           memcmp(group1->processes, group2->processes,
                  (size_t)group1->size * sizeof group1->processes[0]) == 0;
}

int ompi_group_compare(ompi_group_t *group1, ompi_group_t *group2)
{
    if (group1->size != group2->size)
        return MPI_UNEQUAL;
    if (group1->size == 0 || are_identical(group1, group2))
        return MPI_IDENT;
    for (int rank = 0; rank < group1->size; rank++) {
        if (ompi_group_rank_of(group2, ompi_group_process(group1, rank)) == MPI_UNDEFINED)
            return MPI_UNEQUAL;
    }
    return MPI_SIMILAR;
}
