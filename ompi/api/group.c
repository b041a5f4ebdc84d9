/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter group. */
#include "ompi/api/bodies.h"

/* A list of n things that is not there. */
static int missing_list(void)
{
    return ompi_api_set_error_detail(MPI_ERR_ARG, "The list of ranks is NULL, but n is not 0.");
}

/* Adds a sentence to what is wrong with ranks. */
static int add_detail(int error)
{
    switch (error) {
    case MPI_ERR_RANK:
        return ompi_api_set_error_detail(error,
                                         "A rank is not one of the group, or is there twice.");
    case MPI_ERR_ARG:
        return ompi_api_set_error_detail(
            error, "The stride of a range is 0 or leads away from its last rank.");
    default:
        return error;
    }
}

int ompi_api_group_size(ompi_group_t *group, int *size)
{
    *size = group->size;
    return MPI_SUCCESS;
}

int ompi_api_group_rank(ompi_group_t *group, int *rank)
{
    *rank = group->rank;
    return MPI_SUCCESS;
}

int ompi_api_group_free(ompi_group_t **group)
{
    ompi_object_release(&(*group)->head);
    *group = NULL;
    return MPI_SUCCESS;
}

int ompi_api_group_compare(ompi_group_t *group1, ompi_group_t *group2, int *result)
{
    *result = ompi_group_compare(group1, group2);
    return MPI_SUCCESS;
}

int ompi_api_group_translate_ranks(ompi_group_t *group1, int n, const int ranks1[],
                                   ompi_group_t *group2, int ranks2[])
{
    if (n > 0 && (ranks1 == NULL || ranks2 == NULL))
        return missing_list();
    for (int i = 0; i < n; i++) {
        if (ranks1[i] != MPI_PROC_NULL && !ompi_group_has_rank(group1, ranks1[i]))
            return MPI_ERR_RANK;
    }
    for (int i = 0; i < n; i++) {
        ranks2[i] = ranks1[i] == MPI_PROC_NULL
                        ? MPI_PROC_NULL
                        : ompi_group_rank_of(group2, ompi_group_process(group1, ranks1[i]));
    }
    return MPI_SUCCESS;
}

int ompi_api_group_union(ompi_group_t *group1, ompi_group_t *group2, ompi_group_t **newgroup)
{
    return ompi_group_union(group1, group2, newgroup);
}

int ompi_api_group_intersection(ompi_group_t *group1, ompi_group_t *group2, ompi_group_t **newgroup)
{
    return ompi_group_intersection(group1, group2, newgroup);
}

int ompi_api_group_difference(ompi_group_t *group1, ompi_group_t *group2, ompi_group_t **newgroup)
{
    return ompi_group_difference(group1, group2, newgroup);
}

int ompi_api_group_incl(ompi_group_t *group, int n, const int ranks[], ompi_group_t **newgroup)
{
    if (n > 0 && ranks == NULL)
        return missing_list();
    return add_detail(ompi_group_incl(group, n, ranks, newgroup));
}

int ompi_api_group_excl(ompi_group_t *group, int n, const int ranks[], ompi_group_t **newgroup)
{
    if (n > 0 && ranks == NULL)
        return missing_list();
    return add_detail(ompi_group_excl(group, n, ranks, newgroup));
}

int ompi_api_group_range_incl(ompi_group_t *group, int n, int ranges[][3], ompi_group_t **newgroup)
{
    if (n > 0 && ranges == NULL)
        return missing_list();
    return add_detail(ompi_group_range_incl(group, n, ranges, newgroup));
}

int ompi_api_group_range_excl(ompi_group_t *group, int n, int ranges[][3], ompi_group_t **newgroup)
{
    if (n > 0 && ranges == NULL)
        return missing_list();
    return add_detail(ompi_group_range_excl(group, n, ranges, newgroup));
}
