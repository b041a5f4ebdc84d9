/* SPDX-License-Identifier: BSD-3-Clause */
/* What is wrong with the arguments of the functions of datatypes, and the class that says so. */
#include <mpi.h>
#include <stddef.h>

#include "tap.h"

#define CHECK(call, class)                                                                         \
    do {                                                                                           \
        int outcome = (call);                                                                      \
        tap_check(outcome == (class), "%s is %s (%d)", #call, #class, outcome);                    \
    } while (0)

static MPI_Datatype none = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;

static void check_handles(void)
{
    MPI_Datatype predefined = MPI_INT, loose, wild = (MPI_Datatype)(uintptr_t)0xfff;
    MPI_Aint lb, extent;
    char buffer[16];
    int value = 0, position = 0;
    CHECK(MPI_Type_commit(&none), MPI_ERR_TYPE);
    CHECK(MPI_Type_commit(NULL), MPI_ERR_TYPE);
    CHECK(MPI_Type_free(&none), MPI_ERR_TYPE);
    CHECK(MPI_Type_free(&predefined), MPI_ERR_TYPE);
    CHECK(MPI_Type_dup(none, &type), MPI_ERR_TYPE);
    CHECK(MPI_Type_dup(wild, &type), MPI_ERR_TYPE);
    CHECK(MPI_Type_size(none, &value), MPI_ERR_TYPE);
    CHECK(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG);
    CHECK(MPI_Type_get_extent(none, &lb, &extent), MPI_ERR_TYPE);
    CHECK(MPI_Type_get_extent(MPI_INT, NULL, &extent), MPI_ERR_ARG);
    CHECK(MPI_Type_set_name(none, "x"), MPI_ERR_TYPE);
    CHECK(MPI_Type_set_name(MPI_INT, NULL), MPI_ERR_ARG);
    CHECK(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    CHECK(MPI_Type_get_value_index(none, MPI_INT, &type), MPI_ERR_TYPE);
    CHECK(MPI_Get_address(&value, NULL), MPI_ERR_ARG);

    MPI_Type_contiguous(2, MPI_INT, &loose);
    CHECK(MPI_Pack(buffer, 1, loose, buffer, 8, &position, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK(MPI_Unpack(buffer, 8, &position, buffer, 1, loose, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK(MPI_Type_dup(loose, &type), MPI_SUCCESS);
    CHECK(MPI_Pack(buffer, 0, type, buffer, 8, &position, MPI_COMM_WORLD), MPI_ERR_TYPE);
    MPI_Type_free(&type);
    MPI_Type_commit(&loose);
    CHECK(MPI_Type_commit(&loose), MPI_SUCCESS);
    CHECK(MPI_Type_dup(loose, &type), MPI_SUCCESS);
    CHECK(MPI_Pack(buffer, 0, type, buffer, 8, &position, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK(MPI_Pack(buffer, 1, loose, buffer, 8, &position, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK(MPI_Pack(buffer, -1, loose, buffer, 8, &position, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK(MPI_Pack(buffer, 1, loose, buffer, -8, &position, MPI_COMM_WORLD), MPI_ERR_ARG);
    CHECK(MPI_Pack(buffer, 1, loose, buffer, 8, NULL, MPI_COMM_WORLD), MPI_ERR_ARG);
    MPI_Type_free(&type);
    MPI_Type_free(&loose);
}

static void check_constructors(void)
{
    int lengths[] = {1, -1}, places[] = {0, 5};
    MPI_Aint bytes[] = {0, 20};
    MPI_Datatype types[] = {MPI_INT, MPI_DATATYPE_NULL};
    CHECK(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK(MPI_Type_contiguous(1, none, &type), MPI_ERR_TYPE);
    CHECK(MPI_Type_vector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK(MPI_Type_vector(1, -1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK(MPI_Type_create_hvector(1, 1, 1, none, &type), MPI_ERR_TYPE);
    CHECK(MPI_Type_indexed(2, lengths, places, MPI_INT, &type), MPI_ERR_ARG);
    CHECK(MPI_Type_indexed(2, NULL, places, MPI_INT, &type), MPI_ERR_ARG);
    CHECK(MPI_Type_indexed(2, places, NULL, MPI_INT, &type), MPI_ERR_ARG);
    CHECK(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type), MPI_ERR_ARG);
    CHECK(MPI_Type_create_indexed_block(2, -1, places, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK(MPI_Type_create_hindexed_block(2, 1, NULL, MPI_INT, &type), MPI_ERR_ARG);
    CHECK(MPI_Type_create_struct(2, lengths, bytes, types, &type), MPI_ERR_ARG);
    lengths[1] = 1;
    CHECK(MPI_Type_create_struct(2, lengths, bytes, types, &type), MPI_ERR_TYPE);
    CHECK(MPI_Type_create_struct(2, lengths, bytes, NULL, &type), MPI_ERR_ARG);
    CHECK(MPI_Type_create_resized(none, 0, 1, &type), MPI_ERR_TYPE);
    tap_check(type == MPI_DATATYPE_NULL, "no type was made");
    CHECK(MPI_Type_create_struct(0, NULL, NULL, NULL, &type), MPI_SUCCESS);
    MPI_Type_free(&type);
}

static void check_arrays(void)
{
    int sizes[] = {4, 5}, parts[] = {2, 6}, starts[] = {1, 0}, psizes[] = {2, 2};
    int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, dargs[] = {1, 1};
    CHECK(MPI_Type_create_subarray(0, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type),
          MPI_ERR_DIMS);
    CHECK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type),
          MPI_ERR_ARG);
    parts[1] = 0;
    CHECK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type),
          MPI_ERR_ARG);
    parts[1] = 5;
    starts[1] = 1;
    CHECK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type),
          MPI_ERR_ARG);
    starts[1] = 0;
    CHECK(MPI_Type_create_subarray(2, sizes, parts, starts, 99, MPI_INT, &type), MPI_ERR_ARG);
    CHECK(MPI_Type_create_subarray(2, sizes, NULL, starts, MPI_ORDER_C, MPI_INT, &type),
          MPI_ERR_ARG);
#define DARRAY(size, rank)                                                                         \
    MPI_Type_create_darray(size, rank, 2, sizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT,    \
                           &type)
    CHECK(DARRAY(3, 0), MPI_ERR_ARG); /* 2 x 2 processes */
    CHECK(DARRAY(4, 4), MPI_ERR_RANK);
    CHECK(DARRAY(4, -1), MPI_ERR_RANK);
    CHECK(DARRAY(4, 0), MPI_ERR_ARG); /* blocks of 1 do not cover 4 with 2 */
    dargs[0] = 2;
    CHECK(DARRAY(4, 0), MPI_ERR_ARG); /* a dimension that is not distributed has 2 processes */
    distribs[1] = 77;
    CHECK(DARRAY(4, 0), MPI_ERR_ARG);
    distribs[1] = MPI_DISTRIBUTE_CYCLIC;
    dargs[1] = 0;
    CHECK(DARRAY(4, 0), MPI_ERR_ARG);
    dargs[1] = 3;
    sizes[1] = 0;
    CHECK(DARRAY(4, 0), MPI_ERR_ARG);
    sizes[1] = 5;
    psizes[0] = -2;
    CHECK(DARRAY(4, 0), MPI_ERR_ARG);
    psizes[0] = 2;
    tap_check(type == MPI_DATATYPE_NULL, "no type was made");
    CHECK(DARRAY(4, 3), MPI_SUCCESS);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_handles();
    check_constructors();
    check_arrays();
    MPI_Finalize();
    return tap_finish();
}
