/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Type_get_envelope and MPI_Type_get_contents, of types made with counts of both widths. */
#include <mpi.h>
#include <string.h>

#include "tap.h"

enum { ROOM = 32, END = 1 << 30 }; /* END ends a list of values */

static int length_of(const MPI_Count *list)
{
    int length = 0;
    while (list[length] != END)
        length++;
    return length;
}

/* Of a type that was made without large counts, by both forms of the functions. */
static void check_small(MPI_Datatype type, int combiner, const MPI_Count *integers,
                        const MPI_Count *addresses, const char *what)
{
    int number_of_integers, number_of_addresses, number_of_types, found, list[ROOM], right = 1;
    MPI_Count counts[4];
    MPI_Aint address_list[ROOM];
    MPI_Datatype types[ROOM];
    MPI_Type_get_envelope(type, &number_of_integers, &number_of_addresses, &number_of_types,
                          &found);
    tap_check(found == combiner && number_of_integers == length_of(integers) &&
                  number_of_addresses == length_of(addresses) && number_of_types == 1,
              "%s has its envelope", what);
    MPI_Type_get_envelope_c(type, &counts[0], &counts[1], &counts[2], &counts[3], &found);
    tap_check(found == combiner && counts[0] == number_of_integers &&
                  counts[1] == number_of_addresses && counts[2] == 0 && counts[3] == 1,
              "%s has the same large envelope", what);
    MPI_Type_get_contents(type, ROOM, ROOM, ROOM, list, address_list, types);
    for (int i = 0; i < number_of_integers; i++)
        right &= list[i] == integers[i];
    for (int i = 0; i < number_of_addresses; i++)
        right &= address_list[i] == addresses[i];
    tap_check(right && types[0] == MPI_INT, "%s has its contents", what);
    tap_check(MPI_Type_get_contents(type, number_of_integers - 1, ROOM, ROOM, list, address_list,
                                    types) ==
                  (number_of_integers > 0 ? MPI_ERR_ARG : MPI_ERR_COUNT),
              "%s: a list that is too short", what);
    MPI_Type_free(&type);
}

/* Of one that was made with large counts: only the _c functions can tell. */
static void check_large(MPI_Datatype type, int combiner, const MPI_Count *integers,
                        const MPI_Count *larges, const char *what)
{
    int found, small[3], list[ROOM], right = 1;
    MPI_Count counts[4], large_list[ROOM];
    MPI_Aint addresses[ROOM];
    MPI_Datatype types[ROOM];
    MPI_Type_get_envelope_c(type, &counts[0], &counts[1], &counts[2], &counts[3], &found);
    tap_check(found == combiner && counts[0] == length_of(integers) && counts[1] == 0 &&
                  counts[2] == length_of(larges) && counts[3] == 1,
              "%s has its envelope", what);
    tap_check(
        MPI_Type_get_envelope(type, &small[0], &small[1], &small[2], &found) == MPI_ERR_TYPE &&
            MPI_Type_get_contents(type, ROOM, ROOM, ROOM, list, addresses, types) == MPI_ERR_TYPE,
        "%s cannot be told by the small functions", what);
    MPI_Type_get_contents_c(type, ROOM, ROOM, ROOM, ROOM, list, addresses, large_list, types);
    for (int i = 0; i < counts[0]; i++)
        right &= list[i] == integers[i];
    for (int i = 0; i < counts[2]; i++)
        right &= large_list[i] == larges[i];
    tap_check(right && types[0] == MPI_INT, "%s has its contents", what);
    MPI_Type_free(&type);
}

#define LIST(...)        ((const MPI_Count[]){__VA_ARGS__, END})
#define NONE             ((const MPI_Count[]){END})
#define SMALL(name, ...) check_small(type, MPI_COMBINER_##name, __VA_ARGS__, #name)
#define LARGE(name, ...) check_large(type, MPI_COMBINER_##name, __VA_ARGS__, #name " (large)")

static void check_vectors(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_INT, &type);
    SMALL(CONTIGUOUS, LIST(3), NONE);
    MPI_Type_contiguous_c(3, MPI_INT, &type);
    LARGE(CONTIGUOUS, NONE, LIST(3));
    MPI_Type_vector(3, 2, -5, MPI_INT, &type);
    SMALL(VECTOR, LIST(3, 2, -5), NONE);
    MPI_Type_vector_c(3, 2, -5, MPI_INT, &type);
    LARGE(VECTOR, NONE, LIST(3, 2, -5));
    MPI_Type_create_hvector(3, 2, 9, MPI_INT, &type);
    SMALL(HVECTOR, LIST(3, 2), LIST(9));
    MPI_Type_create_hvector_c(3, 2, 9, MPI_INT, &type);
    LARGE(HVECTOR, NONE, LIST(3, 2, 9));
    MPI_Type_create_resized(MPI_INT, -4, 12, &type);
    SMALL(RESIZED, NONE, LIST(-4, 12));
    MPI_Type_create_resized_c(MPI_INT, -4, 12, &type);
    LARGE(RESIZED, NONE, LIST(-4, 12));
    MPI_Type_dup(MPI_INT, &type);
    SMALL(DUP, NONE, NONE);
}

static void check_indexed(void)
{
    static const int lengths[] = {1, 2}, places[] = {5, 7};
    static const MPI_Aint bytes[] = {50, 70};
    static const MPI_Count lengths_c[] = {1, 2}, places_c[] = {5, 7}, bytes_c[] = {50, 70};
    MPI_Datatype type;
    MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
    SMALL(INDEXED, LIST(2, 1, 2, 5, 7), NONE);
    MPI_Type_indexed_c(2, lengths_c, places_c, MPI_INT, &type);
    LARGE(INDEXED, NONE, LIST(2, 1, 2, 5, 7));
    MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type);
    SMALL(HINDEXED, LIST(2, 1, 2), LIST(50, 70));
    MPI_Type_create_hindexed_c(2, lengths_c, bytes_c, MPI_INT, &type);
    LARGE(HINDEXED, NONE, LIST(2, 1, 2, 50, 70));
    MPI_Type_create_indexed_block(2, 3, places, MPI_INT, &type);
    SMALL(INDEXED_BLOCK, LIST(2, 3, 5, 7), NONE);
    MPI_Type_create_indexed_block_c(2, 3, places_c, MPI_INT, &type);
    LARGE(INDEXED_BLOCK, NONE, LIST(2, 3, 5, 7));
    MPI_Type_create_hindexed_block(2, 3, bytes, MPI_INT, &type);
    SMALL(HINDEXED_BLOCK, LIST(2, 3), LIST(50, 70));
    MPI_Type_create_hindexed_block_c(2, 3, bytes_c, MPI_INT, &type);
    LARGE(HINDEXED_BLOCK, NONE, LIST(2, 3, 50, 70));
}

static void check_arrays(void)
{
    static const int sizes[] = {4, 5}, parts[] = {2, 3}, starts[] = {1, 2}, psizes[] = {1, 2};
    static const int distribs[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC};
    static const int dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    static const MPI_Count sizes_c[] = {4, 5}, parts_c[] = {2, 3}, starts_c[] = {1, 2};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
    SMALL(SUBARRAY, LIST(2, 4, 5, 2, 3, 1, 2, MPI_ORDER_C), NONE);
    MPI_Type_create_subarray_c(2, sizes_c, parts_c, starts_c, MPI_ORDER_C, MPI_INT, &type);
    LARGE(SUBARRAY, LIST(2, MPI_ORDER_C), LIST(4, 5, 2, 3, 1, 2));
    MPI_Type_create_darray(2, 1, 2, sizes, distribs, dargs, psizes, MPI_ORDER_FORTRAN, MPI_INT,
                           &type);
    SMALL(DARRAY,
          LIST(2, 1, 2, 4, 5, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG,
               2, 1, 2, MPI_ORDER_FORTRAN),
          NONE);
    MPI_Type_create_darray_c(2, 1, 2, sizes_c, distribs, dargs, psizes, MPI_ORDER_FORTRAN, MPI_INT,
                             &type);
    LARGE(DARRAY,
          LIST(2, 1, 2, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 2, 1,
               2, MPI_ORDER_FORTRAN),
          LIST(4, 5));
}

static void check_struct(void)
{
    static const int lengths[] = {1, 2};
    static const MPI_Count lengths_c[] = {1, 2}, bytes_c[] = {0, 16};
    MPI_Aint bytes[] = {0, 16}, address_list[ROOM];
    MPI_Count counts[4], larges[ROOM];
    int list[ROOM], number[3], combiner;
    MPI_Datatype inner, type, types[2] = {MPI_INT, MPI_DATATYPE_NULL}, got[ROOM];
    MPI_Type_contiguous(2, MPI_CHAR, &inner);
    types[1] = inner;
    MPI_Type_create_struct(2, lengths, bytes, types, &type);
    MPI_Type_free(&types[1]);
    MPI_Type_get_envelope(type, &number[0], &number[1], &number[2], &combiner);
    MPI_Type_get_contents(type, 3, 2, 2, list, address_list, got);
    tap_check(combiner == MPI_COMBINER_STRUCT && number[0] == 3 && number[1] == 2 &&
                  number[2] == 2 && list[0] == 2 && list[1] == 1 && list[2] == 2 &&
                  address_list[0] == 0 && address_list[1] == 16 && got[0] == MPI_INT,
              "STRUCT has its envelope and contents");
    MPI_Type_free(&type);
    MPI_Type_get_envelope(got[1], &number[0], &number[1], &number[2], &combiner);
    tap_check(combiner == MPI_COMBINER_CONTIGUOUS,
              "a type among the contents lives on, and is the caller's to free");

    types[1] = got[1];
    MPI_Type_create_struct_c(2, lengths_c, bytes_c, types, &type);
    MPI_Type_get_envelope_c(type, &counts[0], &counts[1], &counts[2], &counts[3], &combiner);
    MPI_Type_get_contents_c(type, 0, 0, 5, 2, NULL, NULL, larges, got);
    tap_check(counts[0] == 0 && counts[1] == 0 && counts[2] == 5 && counts[3] == 2 &&
                  larges[0] == 2 && larges[1] == 1 && larges[2] == 2 && larges[3] == 0 &&
                  larges[4] == 16,
              "STRUCT (large) has its envelope and contents");
    MPI_Type_free(&got[1]);
    MPI_Type_free(&types[1]);
    MPI_Type_free(&type);
    tap_check(MPI_Type_get_contents(MPI_INT, 0, 0, 0, NULL, NULL, NULL) == MPI_ERR_TYPE,
              "a named type has no contents");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_vectors();
    check_indexed();
    check_arrays();
    check_struct();
    MPI_Finalize();
    return tap_finish();
}
