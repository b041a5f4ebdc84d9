/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter datatype: constructors of parts of arrays. */
#include "ompi/api/bodies.h"
#include "ompi/api/datatype_create.h"
#include "ompi/datatype/array.h"

static int check_order(int order)
{
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return ompi_api_set_error_detail(MPI_ERR_ARG,
                                         "The order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN.");
    return MPI_SUCCESS;
}

static int check_lists(int ndims, const ompi_ints_t *lists, size_t count)
{
    int outcome = MPI_SUCCESS;
    for (size_t i = 0; i < count && outcome == MPI_SUCCESS; i++)
        outcome = ompi_api_check_list(lists[i], ndims);
    return outcome;
}

/* Subarrays. */

static int check_slices(int ndims, ompi_ints_t sizes, ompi_ints_t subsizes, ompi_ints_t starts)
{
    for (size_t i = 0; i < (size_t)ndims; i++) {
        MPI_Count size = ompi_ints_at(sizes, i), subsize = ompi_ints_at(subsizes, i);
        MPI_Count start = ompi_ints_at(starts, i);
        if (subsize < 1 || subsize > size || start < 0 || start > size - subsize)
            return ompi_api_set_error_detail(
                MPI_ERR_ARG, "A part of a dimension is empty, or not all in the dimension.");
    }
    return MPI_SUCCESS;
}

int ompi_api_type_create_subarray(int ndims, ompi_ints_t array_of_sizes,
                                  ompi_ints_t array_of_subsizes, ompi_ints_t array_of_starts,
                                  int order, ompi_datatype_t *oldtype, ompi_datatype_t **newtype)
{
    ompi_ints_t lists[] = {array_of_sizes, array_of_subsizes, array_of_starts};
    int outcome = check_order(order);
    if (outcome == MPI_SUCCESS)
        outcome = check_lists(ndims, lists, OPAL_COUNT_OF(lists));
    if (outcome == MPI_SUCCESS)
        outcome = check_slices(ndims, array_of_sizes, array_of_subsizes, array_of_starts);
    if (outcome != MPI_SUCCESS)
        return outcome;

    ompi_shape_t shape;
    outcome = ompi_array_slice(&oldtype->shape, ndims, array_of_sizes, array_of_subsizes,
                               array_of_starts, order, &shape);
    if (outcome != MPI_SUCCESS)
        return ompi_api_shape_error(outcome);

    size_t dims = (size_t)ndims;
    ompi_envelope_t *envelope =
        array_of_sizes.wide ? ompi_envelope_create(MPI_COMBINER_SUBARRAY, 2, 0, 3 * dims, 1)
                            : ompi_envelope_create(MPI_COMBINER_SUBARRAY, 2 + 3 * dims, 0, 0, 1);
    if (envelope != NULL) {
        ompi_envelope_add_integer(envelope, ndims);
        for (size_t i = 0; i < OPAL_COUNT_OF(lists); i++)
            ompi_api_record_counts(envelope, lists[i], ndims);
        ompi_envelope_add_integer(envelope, order);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}

/* Distributed arrays. */

static int bad_distribution(const char *reason)
{
    return ompi_api_set_error_detail(MPI_ERR_ARG, reason);
}

static int check_processes(int size, int rank, int ndims, const int psizes[])
{
    MPI_Count product = 1;
    for (int i = 0; i < ndims; i++) {
        if (psizes[i] < 1)
            return bad_distribution("A dimension of the processes is not positive.");
        if (__builtin_mul_overflow(product, psizes[i], &product))
            product = -1;
    }
    if (product != size)
        return bad_distribution("The dimensions of the processes do not make up their number.");
    if (rank < 0 || rank >= size)
        return ompi_api_set_error_detail(MPI_ERR_RANK, "The rank is none of the processes.");
    return MPI_SUCCESS;
}

static int check_distribution(int distribution, int argument, MPI_Count size, int processes)
{
    if (size < 1)
        return bad_distribution("A dimension of the array is not positive.");
    if (argument != MPI_DISTRIBUTE_DFLT_DARG && argument < 1 && distribution != MPI_DISTRIBUTE_NONE)
        return bad_distribution("A distribution's argument is not positive.");
    switch (distribution) {
    case MPI_DISTRIBUTE_NONE:
        return processes == 1 ? MPI_SUCCESS
                              : bad_distribution("A dimension with MPI_DISTRIBUTE_NONE has more "
                                                 "than one process.");
    case MPI_DISTRIBUTE_BLOCK:
        return argument == MPI_DISTRIBUTE_DFLT_DARG ||
                       argument >= size / processes + (size % processes > 0)
                   ? MPI_SUCCESS
                   : bad_distribution("The blocks of MPI_DISTRIBUTE_BLOCK do not cover the array.");
    case MPI_DISTRIBUTE_CYCLIC:
        return MPI_SUCCESS;
    default:
        return bad_distribution("There is no such distribution.");
    }
}

static int check_darray(int size, int rank, int ndims, ompi_ints_t gsizes, const int distribs[],
                        const int dargs[], const int psizes[], int order)
{
    int outcome = check_order(order);
    if (outcome == MPI_SUCCESS)
        outcome = ompi_api_check_list(gsizes, ndims);
    if (outcome != MPI_SUCCESS)
        return outcome;
    if (distribs == NULL || dargs == NULL || psizes == NULL)
        return bad_distribution("A list is NULL.");
    outcome = check_processes(size, rank, ndims, psizes);
    for (int i = 0; i < ndims && outcome == MPI_SUCCESS; i++)
        outcome =
            check_distribution(distribs[i], dargs[i], ompi_ints_at(gsizes, (size_t)i), psizes[i]);
    return outcome;
}

static void record_darray(ompi_envelope_t *envelope, int size, int rank, int ndims,
                          ompi_ints_t gsizes, const int distribs[], const int dargs[],
                          const int psizes[], int order)
{
    const int *lists[] = {distribs, dargs, psizes};
    ompi_envelope_add_integer(envelope, size);
    ompi_envelope_add_integer(envelope, rank);
    ompi_envelope_add_integer(envelope, ndims);
    ompi_api_record_counts(envelope, gsizes, ndims);
    for (size_t i = 0; i < OPAL_COUNT_OF(lists); i++)
        ompi_api_record_counts(envelope, ompi_ints_small(lists[i]), ndims);
    ompi_envelope_add_integer(envelope, order);
}

int ompi_api_type_create_darray(int size, int rank, int ndims, ompi_ints_t array_of_gsizes,
                                const int array_of_distribs[], const int array_of_dargs[],
                                const int array_of_psizes[], int order, ompi_datatype_t *oldtype,
                                ompi_datatype_t **newtype)
{
    int outcome = check_darray(size, rank, ndims, array_of_gsizes, array_of_distribs,
                               array_of_dargs, array_of_psizes, order);
    if (outcome != MPI_SUCCESS)
        return outcome;

    ompi_shape_t shape;
    ompi_array_deal_t deal = {
        rank, ndims, order, array_of_gsizes, array_of_distribs, array_of_dargs, array_of_psizes};
    outcome = ompi_array_deal(&oldtype->shape, &deal, &shape);
    if (outcome != MPI_SUCCESS)
        return ompi_api_shape_error(outcome);

    bool large = array_of_gsizes.wide;
    size_t dims = (size_t)ndims;
    ompi_envelope_t *envelope = ompi_envelope_create(
        MPI_COMBINER_DARRAY, 4 + (large ? 3 : 4) * dims, 0, large ? dims : 0, 1);
    if (envelope != NULL) {
        record_darray(envelope, size, rank, ndims, array_of_gsizes, array_of_distribs,
                      array_of_dargs, array_of_psizes, order);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}
