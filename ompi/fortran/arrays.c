/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of handles and of logicals, and how long they are. See fortran.h. */
#include <stdlib.h>

#include "ompi/api/wrapper.h"
#include "ompi/fortran/fortran.h"

int ompi_fortran_fail(int error, const char *function)
{
    if (error == MPI_ERR_BUFFER)
        ompi_api_set_error_detail(error, "The array section is not contiguous: MPI uses its memory "
                                         "after the call, so it needs an array without gaps.");
    return ompi_api_fail(NULL, error, function);
}

/* Room for `count` elements; NULL: there are none, or no memory. */
static void *room(void *few, int count, size_t element_bytes)
{
    if (count <= 0)
        return NULL;
    return count <= OMPI_FORTRAN_SHORT ? few : malloc((size_t)count * element_bytes);
}

void ompi_fortran_handles_get(ompi_fortran_handles_t *array, ompi_kind_t kind,
                              const MPI_Fint *numbers, int count)
{
    array->handles = room(array->few, count, sizeof *array->handles);
    array->is_lost = count > 0 && array->handles == NULL;
    array->count = array->handles != NULL ? count : 0;
    for (int i = 0; i < array->count; i++)
        array->handles[i] = numbers != NULL ? ompi_fortran_handle(kind, numbers[i]) : NULL;
}

void ompi_fortran_handles_free(ompi_fortran_handles_t *array)
{
    if (array->handles != array->few)
        free(array->handles);
}

void ompi_fortran_handles_put(ompi_fortran_handles_t *array, ompi_kind_t kind, MPI_Fint *numbers)
{
    for (int i = 0; i < array->count; i++) {
        if (array->handles[i] != NULL)
            numbers[i] = ompi_fortran_number(kind, array->handles[i]);
    }
    ompi_fortran_handles_free(array);
}

void ompi_fortran_flags_get(ompi_fortran_flags_t *array, const MPI_Fint *logicals, int count)
{
    array->flags = room(array->few, count, sizeof *array->flags);
    array->is_lost = count > 0 && array->flags == NULL;
    array->count = array->flags != NULL ? count : 0;
    for (int i = 0; i < array->count; i++)
        array->flags[i] = ompi_fortran_is_true(logicals[i]);
}

void ompi_fortran_flags_free(ompi_fortran_flags_t *array)
{
    if (array->flags != array->few)
        free(array->flags);
}

void ompi_fortran_flags_put(ompi_fortran_flags_t *array, MPI_Fint *logicals)
{
    for (int i = 0; i < array->count; i++)
        logicals[i] = ompi_fortran_logical(array->flags[i]);
    ompi_fortran_flags_free(array);
}

/* A communicator without a topology has none; the call that asks is no user's, so it has no error
 * handler: the functions that the user has called come to the same end. */
static bool has_topology(MPI_Comm comm, int kind)
{
    const void *object = ompi_handle_object(comm);
    int found = MPI_UNDEFINED;
    return ompi_object_is(object, OMPI_COMM) && PMPI_Topo_test(comm, &found) == MPI_SUCCESS &&
           (kind == MPI_UNDEFINED ? found != MPI_UNDEFINED : found == kind);
}

int ompi_fortran_cart_dims(MPI_Comm comm)
{
    int dims = 0;
    if (has_topology(comm, MPI_CART))
        PMPI_Cartdim_get(comm, &dims);
    return dims;
}

int ompi_fortran_peers(MPI_Comm comm)
{
    int size = 0, is_inter = 0;
    if (!ompi_object_is(ompi_handle_object(comm), OMPI_COMM))
        return 0;
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

static void degrees(MPI_Comm comm, int *in, int *out)
{
    int weighted, rank, dims = 0;
    *in = *out = 0;
    if (has_topology(comm, MPI_CART)) {
        PMPI_Cartdim_get(comm, &dims);
        *in = *out = 2 * dims;
    } else if (has_topology(comm, MPI_GRAPH)) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, in);
        *out = *in;
    } else if (has_topology(comm, MPI_DIST_GRAPH)) {
        PMPI_Dist_graph_neighbors_count(comm, in, out, &weighted);
    }
}

int ompi_fortran_in_degree(MPI_Comm comm)
{
    int in, out;
    degrees(comm, &in, &out);
    return in;
}

int ompi_fortran_out_degree(MPI_Comm comm)
{
    int in, out;
    degrees(comm, &in, &out);
    return out;
}
