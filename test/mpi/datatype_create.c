/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constructors of datatypes, in both forms: bounds, and which elements of an array they take. The
 * array holds its own indices, so that what is packed tells where it came from.
 */
#include <mpi.h>
#include <stddef.h>
#include <string.h>

#include "tap.h"

enum { ITEMS = 64 };

static int memory[ITEMS];

/* Packs one element of the type, which becomes committed and is freed; compares with a list that
 * ends with -1. */
static void check_items(MPI_Datatype type, const int *wanted, const char *what)
{
    int packed[ITEMS], position = 0, count = 0, size;
    while (wanted[count] >= 0)
        count++;
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    MPI_Pack(memory, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    tap_check(size == count * (int)sizeof(int) && position == size &&
                  memcmp(packed, wanted, (size_t)size) == 0,
              "%s takes the right items", what);
    MPI_Type_free(&type);
    tap_check(type == MPI_DATATYPE_NULL, "%s is freed", what);
}

static void check_bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent, MPI_Aint true_lb,
                         MPI_Aint true_extent, const char *what)
{
    MPI_Aint is_lb, is_extent, is_true_lb, is_true_extent;
    MPI_Count lb_c, extent_c, lb_x, extent_x, true_lb_c, true_extent_c, true_lb_x, true_extent_x;
    MPI_Type_get_extent(type, &is_lb, &is_extent);
    MPI_Type_get_extent_c(type, &lb_c, &extent_c);
    MPI_Type_get_extent_x(type, &lb_x, &extent_x);
    MPI_Type_get_true_extent(type, &is_true_lb, &is_true_extent);
    MPI_Type_get_true_extent_c(type, &true_lb_c, &true_extent_c);
    MPI_Type_get_true_extent_x(type, &true_lb_x, &true_extent_x);
    tap_check(is_lb == lb && lb_c == lb && lb_x == lb && is_extent == extent &&
                  extent_c == extent && extent_x == extent && is_true_lb == true_lb &&
                  true_lb_c == true_lb && true_lb_x == true_lb && is_true_extent == true_extent &&
                  true_extent_c == true_extent && true_extent_x == true_extent,
              "%s has the bounds %ld + %ld, %ld + %ld", what, (long)lb, (long)extent, (long)true_lb,
              (long)true_extent);
}

static void check_vectors(void)
{
    static const int row[] = {0, 1, 2, 3, 4, -1}, vector[] = {0, 1, 5, 6, 10, 11, -1};
    MPI_Datatype type;
    MPI_Type_contiguous(5, MPI_INT, &type);
    check_bounds(type, 0, 20, 0, 20, "contiguous");
    check_items(type, row, "contiguous");
    MPI_Type_contiguous_c(5, MPI_INT, &type);
    check_items(type, row, "contiguous_c");
    MPI_Type_vector(3, 2, 5, MPI_INT, &type);
    check_bounds(type, 0, 48, 0, 48, "vector");
    check_items(type, vector, "vector");
    MPI_Type_vector_c(3, 2, 5, MPI_INT, &type);
    check_items(type, vector, "vector_c");
    MPI_Type_create_hvector(3, 2, 20, MPI_INT, &type);
    check_items(type, vector, "hvector");
    MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &type);
    check_items(type, vector, "hvector_c");
    MPI_Type_vector(3, 1, -2, MPI_INT, &type);
    check_bounds(type, -16, 20, -16, 20, "a vector with a negative stride");
    MPI_Type_free(&type);
    MPI_Type_contiguous(0, MPI_INT, &type);
    check_bounds(type, 0, 0, 0, 0, "contiguous of nothing");
    check_items(type, (const int[]){-1}, "contiguous of nothing");
}

static void check_indexed(void)
{
    static const int lengths[] = {2, 0, 1, 3}, places[] = {8, 1, 4, 20};
    static const int items[] = {8, 9, 4, 20, 21, 22, -1};
    static const int block_items[] = {8, 9, 1, 2, 4, 5, 20, 21, -1};
    MPI_Count lengths_c[4], places_c[4], bytes_c[4];
    MPI_Aint bytes[4];
    MPI_Datatype type;
    for (int i = 0; i < 4; i++) {
        lengths_c[i] = lengths[i];
        places_c[i] = places[i];
        bytes_c[i] = bytes[i] = places[i] * (MPI_Aint)sizeof(int);
    }
    MPI_Type_indexed(4, lengths, places, MPI_INT, &type);
    check_bounds(type, 16, 76, 16, 76, "indexed");
    check_items(type, items, "indexed");
    MPI_Type_indexed_c(4, lengths_c, places_c, MPI_INT, &type);
    check_items(type, items, "indexed_c");
    MPI_Type_create_hindexed(4, lengths, bytes, MPI_INT, &type);
    check_items(type, items, "hindexed");
    MPI_Type_create_hindexed_c(4, lengths_c, bytes_c, MPI_INT, &type);
    check_items(type, items, "hindexed_c");
    MPI_Type_create_indexed_block(4, 2, places, MPI_INT, &type);
    check_items(type, block_items, "indexed_block");
    MPI_Type_create_indexed_block_c(4, 2, places_c, MPI_INT, &type);
    check_items(type, block_items, "indexed_block_c");
    MPI_Type_create_hindexed_block(4, 2, bytes, MPI_INT, &type);
    check_items(type, block_items, "hindexed_block");
    MPI_Type_create_hindexed_block_c(4, 2, bytes_c, MPI_INT, &type);
    check_items(type, block_items, "hindexed_block_c");
}

static void check_struct(void)
{
    static const int lengths[] = {1, 2}, items[] = {3, 10, 11, 14, 15, -1};
    MPI_Count lengths_c[] = {1, 2}, bytes_c[] = {12, 40};
    MPI_Aint bytes[] = {12, 40};
    MPI_Datatype pair, type, types[2] = {MPI_INT, MPI_DATATYPE_NULL};
    MPI_Type_vector(1, 2, 2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 16, &types[1]);
    MPI_Type_free(&pair);
    MPI_Type_create_struct(2, lengths, bytes, types, &type);
    check_bounds(type, 40, 32, 12, 52, "a structure with a member that has markers");
    check_items(type, items, "struct");
    MPI_Type_create_struct_c(2, lengths_c, bytes_c, types, &type);
    MPI_Type_free(&types[1]); /* the structure keeps it */
    check_items(type, items, "struct_c");
}

static void check_markers(void)
{
    struct item {
        double value;
        char tag;
    };
    static const int lengths[] = {1, 1};
    MPI_Aint bytes[] = {0, offsetof(struct item, tag)};
    MPI_Datatype type, resized, dup, types[] = {MPI_DOUBLE, MPI_CHAR};
    MPI_Type_create_struct(2, lengths, bytes, types, &type);
    check_bounds(type, 0, sizeof(struct item), 0, 9, "a structure is rounded up to its alignment");
    MPI_Type_create_resized(type, -3, 11, &resized);
    check_bounds(resized, -3, 11, 0, 9, "resized");
    MPI_Type_free(&type);
    MPI_Type_contiguous(3, resized, &type);
    check_bounds(type, -3, 33, 0, 31, "three that are resized");
    MPI_Type_free(&type);
    MPI_Type_create_resized_c(resized, 4, -8, &type);
    check_bounds(type, 4, -8, 0, 9, "resized_c to a negative extent");
    MPI_Type_dup(type, &dup);
    check_bounds(dup, 4, -8, 0, 9, "dup");
    MPI_Type_free(&type);
    MPI_Type_free(&dup);
    MPI_Type_free(&resized);
}

static void check_subarrays(void)
{
    static const int sizes[] = {4, 5}, parts[] = {2, 3}, starts[] = {1, 2};
    static const int by_row[] = {7, 8, 9, 12, 13, 14, -1};
    static const int by_column[] = {9, 10, 13, 14, 17, 18, -1};
    MPI_Count sizes_c[] = {4, 5}, parts_c[] = {2, 3}, starts_c[] = {1, 2};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
    check_bounds(type, 0, 80, 28, 32, "subarray");
    check_items(type, by_row, "a subarray in C's order");
    MPI_Type_create_subarray_c(2, sizes_c, parts_c, starts_c, MPI_ORDER_C, MPI_INT, &type);
    check_items(type, by_row, "subarray_c");
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    check_items(type, by_column, "a subarray in Fortran's order");
}

static void check_darrays(void)
{
    static const int gsizes[] = {5, 6}, psizes[] = {2, 3}, dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, 1};
    static const int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    /* Rank 4 of 6 is (1, 1): rows 3 and 4, columns 1 and 4. */
    static const int items[] = {19, 22, 25, 28, -1};
    /* In Fortran's order the first index is dense. */
    static const int fortran_items[] = {8, 9, 23, 24, -1};
    MPI_Count gsizes_c[] = {5, 6};
    MPI_Datatype type;
    MPI_Type_create_darray(6, 4, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &type);
    check_bounds(type, 0, 120, 76, 40, "darray");
    check_items(type, items, "darray");
    MPI_Type_create_darray_c(6, 4, 2, gsizes_c, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT,
                             &type);
    check_items(type, items, "darray_c");
    MPI_Type_create_darray(6, 4, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_FORTRAN, MPI_INT,
                           &type);
    check_items(type, fortran_items, "a darray in Fortran's order");
}

static void check_addresses(void)
{
    int a = 5, b = 6, packed[2] = {0, 0}, position = 0;
    static const int lengths[] = {1, 1};
    MPI_Aint addresses[2];
    MPI_Datatype type;
    MPI_Get_address(&a, &addresses[0]);
    MPI_Get_address(&b, &addresses[1]);
    tap_check(MPI_Aint_add(addresses[0], MPI_Aint_diff(addresses[1], addresses[0])) == addresses[1],
              "addresses can be added and subtracted");
    MPI_Type_create_hindexed(2, lengths, addresses, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Pack(MPI_BOTTOM, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    tap_check(packed[0] == 5 && packed[1] == 6, "absolute addresses, from MPI_BOTTOM");
    MPI_Type_free(&type);
}

static void check_large(void)
{
    MPI_Datatype type, wider;
    MPI_Count size, lb, extent;
    MPI_Aint small_extent, small_lb;
    int small;
    MPI_Type_contiguous_c((MPI_Count)1 << 40, MPI_DOUBLE, &type);
    MPI_Type_size_c(type, &size);
    MPI_Type_get_extent_c(type, &lb, &extent);
    MPI_Type_get_extent(type, &small_lb, &small_extent);
    tap_check(size == (MPI_Count)1 << 43 && extent == size && small_extent == size,
              "8 TiB of doubles");
    tap_check(MPI_Type_size(type, &small) == MPI_SUCCESS && small == MPI_UNDEFINED,
              "a size that is no int is MPI_UNDEFINED");
    tap_check(MPI_Type_contiguous_c((MPI_Count)1 << 40, type, &wider) == MPI_ERR_VALUE_TOO_LARGE &&
                  MPI_Type_vector_c(2, 1, (MPI_Count)1 << 40, type, &wider) ==
                      MPI_ERR_VALUE_TOO_LARGE,
              "a size of more than 63 bits is refused");
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < ITEMS; i++)
        memory[i] = i;
    check_vectors();
    check_indexed();
    check_struct();
    check_markers();
    check_subarrays();
    check_darrays();
    check_addresses();
    check_large();
    MPI_Finalize();
    return tap_finish();
}
