/* SPDX-License-Identifier: BSD-3-Clause */
/* Predefined datatypes: sizes, extents, names, and finding them by what they are. */
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "tap.h"

typedef struct known {
    MPI_Datatype type;
    const char *name;
    int size, extent;
} known_t;

#define TYPE(name, size)                                                                           \
    {                                                                                              \
        MPI_##name, "MPI_" #name, (int)(size), (int)(size)                                         \
    }
#define PAIR(name, size, extent)                                                                   \
    {                                                                                              \
        MPI_##name, "MPI_" #name, (int)(size), (int)(extent)                                       \
    }

static const known_t all[] = {
    TYPE(AINT, sizeof(MPI_Aint)),
    TYPE(COUNT, sizeof(MPI_Count)),
    TYPE(OFFSET, sizeof(MPI_Offset)),
    TYPE(PACKED, 1),
    TYPE(BYTE, 1),
    TYPE(SHORT, sizeof(short)),
    TYPE(INT, sizeof(int)),
    TYPE(LONG, sizeof(long)),
    TYPE(LONG_LONG_INT, sizeof(long long)),
    TYPE(UNSIGNED_SHORT, sizeof(short)),
    TYPE(UNSIGNED, sizeof(int)),
    TYPE(UNSIGNED_LONG, sizeof(long)),
    TYPE(UNSIGNED_LONG_LONG, sizeof(long long)),
    TYPE(FLOAT, sizeof(float)),
    TYPE(DOUBLE, sizeof(double)),
    TYPE(LONG_DOUBLE, sizeof(long double)),
    TYPE(C_COMPLEX, 2 * sizeof(float)),
    TYPE(C_DOUBLE_COMPLEX, 2 * sizeof(double)),
    TYPE(C_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double)),
    TYPE(CXX_FLOAT_COMPLEX, 2 * sizeof(float)),
    TYPE(CXX_DOUBLE_COMPLEX, 2 * sizeof(double)),
    TYPE(CXX_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double)),
    TYPE(CHAR, 1),
    TYPE(SIGNED_CHAR, 1),
    TYPE(UNSIGNED_CHAR, 1),
    TYPE(WCHAR, sizeof(wchar_t)),
    TYPE(C_BOOL, sizeof(bool)),
    TYPE(CXX_BOOL, sizeof(bool)),
    TYPE(INT8_T, 1),
    TYPE(INT16_T, 2),
    TYPE(INT32_T, 4),
    TYPE(INT64_T, 8),
    TYPE(UINT8_T, 1),
    TYPE(UINT16_T, 2),
    TYPE(UINT32_T, 4),
    TYPE(UINT64_T, 8),
    TYPE(CHARACTER, 1),
    TYPE(LOGICAL, 4),
    TYPE(INTEGER, 4),
    TYPE(REAL, 4),
    TYPE(DOUBLE_PRECISION, 8),
    TYPE(COMPLEX, 8),
    TYPE(DOUBLE_COMPLEX, 16),
    TYPE(LOGICAL1, 1),
    TYPE(LOGICAL2, 2),
    TYPE(LOGICAL4, 4),
    TYPE(LOGICAL8, 8),
    TYPE(LOGICAL16, 16),
    TYPE(INTEGER1, 1),
    TYPE(INTEGER2, 2),
    TYPE(INTEGER4, 4),
    TYPE(INTEGER8, 8),
    TYPE(INTEGER16, 16),
    TYPE(REAL2, 2),
    TYPE(REAL4, 4),
    TYPE(REAL8, 8),
    TYPE(REAL16, 16),
    TYPE(COMPLEX4, 4),
    TYPE(COMPLEX8, 8),
    TYPE(COMPLEX16, 16),
    TYPE(COMPLEX32, 32),
    PAIR(FLOAT_INT, 8, 8),
    PAIR(DOUBLE_INT, 12, 2 * sizeof(double)),
    PAIR(LONG_INT, sizeof(long) + 4, 2 * sizeof(long)),
    PAIR(2INT, 8, 8),
    PAIR(SHORT_INT, 6, 8),
    PAIR(LONG_DOUBLE_INT, sizeof(long double) + 4, 2 * sizeof(long double)),
    PAIR(2REAL, 8, 8),
    PAIR(2DOUBLE_PRECISION, 16, 16),
    PAIR(2INTEGER, 8, 8),
};

/* Types that not every compiler has: where there is none, the size says so and nothing else works.
 */
static void check_optional(const known_t *known)
{
    MPI_Aint lb = 0, extent = 0;
    tap_check(known->size == 16 || known->size == 32 || known->type == MPI_REAL2 ||
                  known->type == MPI_COMPLEX4,
              "%s may be missing", known->name);
    tap_check(MPI_Type_get_extent(known->type, &lb, &extent) == MPI_ERR_TYPE,
              "%s has no extent where there is no such type", known->name);
}

static void check_one(const known_t *known)
{
    char name[MPI_MAX_OBJECT_NAME];
    int size, length, combiner, integers, addresses, types;
    MPI_Count size_c, size_x, lb_x, extent_x, lb_c, extent_c;
    MPI_Aint lb, extent, true_lb, true_extent, data_extent = known->extent;
    MPI_Type_size(known->type, &size);
    MPI_Type_get_name(known->type, name, &length);
    tap_check(strcmp(name, known->name) == 0 && length == (int)strlen(name), "%s has its name",
              known->name);
    if (size == MPI_UNDEFINED) {
        check_optional(known);
        return;
    }
    MPI_Type_size_c(known->type, &size_c);
    MPI_Type_size_x(known->type, &size_x);
    MPI_Type_get_extent(known->type, &lb, &extent);
    MPI_Type_get_extent_c(known->type, &lb_c, &extent_c);
    MPI_Type_get_extent_x(known->type, &lb_x, &extent_x);
    MPI_Type_get_true_extent(known->type, &true_lb, &true_extent);
    if (size < known->extent) /* the bytes behind the index are no data */
        data_extent = known->type == MPI_SHORT_INT ? 8 : known->extent / 2 + 4;
    MPI_Type_get_envelope(known->type, &integers, &addresses, &types, &combiner);
    tap_check(size == known->size && size_c == size && size_x == size && lb == 0 && lb_c == 0 &&
                  lb_x == 0 && extent == known->extent && extent_c == extent &&
                  extent_x == extent && true_lb == 0 && true_extent == data_extent &&
                  combiner == MPI_COMBINER_NAMED && integers + addresses + types == 0,
              "%s: %d bytes, an extent of %d", known->name, known->size, known->extent);
}

static void check_match_size(void)
{
    static const struct {
        int class, size;
        MPI_Datatype type;
    } matches[] = {
        {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},  {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},  {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
        {MPI_TYPECLASS_REAL, 4, MPI_REAL4},        {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
        {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},  {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
        {MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4},
    };
    MPI_Datatype type;
    for (size_t i = 0; i < sizeof matches / sizeof matches[0]; i++)
        tap_check(MPI_Type_match_size(matches[i].class, matches[i].size, &type) == MPI_SUCCESS &&
                      type == matches[i].type,
                  "match_size: class %d, %d bytes", matches[i].class, matches[i].size);
    tap_check(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &type) == MPI_ERR_ARG &&
                  MPI_Type_match_size(MPI_TYPECLASS_REAL, -4, &type) == MPI_ERR_ARG &&
                  MPI_Type_match_size(7, 4, &type) == MPI_ERR_ARG,
              "match_size: no such type");
}

static void check_value_index(void)
{
    MPI_Datatype pair = MPI_INT;
    tap_check(
        MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair) == MPI_SUCCESS &&
            pair == MPI_DOUBLE_INT &&
            MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair) == MPI_SUCCESS && pair == MPI_2INT &&
            MPI_Type_get_value_index(MPI_REAL, MPI_REAL, &pair) == MPI_SUCCESS && pair == MPI_2REAL,
        "get_value_index finds the pairs that have names");
    tap_check(MPI_Type_get_value_index(MPI_CHAR, MPI_DOUBLE, &pair) == MPI_SUCCESS &&
                  pair == MPI_DATATYPE_NULL,
              "get_value_index: no such pair");
}

static void check_f90(void)
{
    MPI_Datatype single, again, twice, integer, complex, none = MPI_DATATYPE_NULL;
    int size, integers, addresses, types, combiner, values[2];
    MPI_Type_create_f90_real(6, 30, &single);
    MPI_Type_create_f90_real(6, 30, &again);
    MPI_Type_create_f90_real(MPI_UNDEFINED, 300, &twice);
    tap_check(single == again && single != twice, "f90_real: one handle for the same arguments");
    MPI_Type_size(single, &size);
    tap_check(size == 4, "f90_real: 6 digits are 4 bytes");
    MPI_Type_size(twice, &size);
    tap_check(size == 8, "f90_real: a range of 300 is 8 bytes");
    MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &complex);
    MPI_Type_size(complex, &size);
    tap_check(size == 16, "f90_complex: 15 digits are 16 bytes");
    MPI_Type_create_f90_integer(9, &integer);
    MPI_Type_size(integer, &size);
    tap_check(size == 4, "f90_integer: 9 digits are 4 bytes");

    MPI_Type_get_envelope(single, &integers, &addresses, &types, &combiner);
    MPI_Type_get_contents(single, 2, 0, 0, values, NULL, NULL);
    tap_check(combiner == MPI_COMBINER_F90_REAL && integers == 2 && addresses == 0 && types == 0 &&
                  values[0] == 6 && values[1] == 30,
              "f90_real: envelope and contents");
    MPI_Type_get_envelope(integer, &integers, &addresses, &types, &combiner);
    MPI_Type_get_contents(integer, 1, 0, 0, values, NULL, NULL);
    tap_check(combiner == MPI_COMBINER_F90_INTEGER && integers == 1 && values[0] == 9,
              "f90_integer: envelope and contents");
    again = integer;
    tap_check(MPI_Type_free(&again) == MPI_ERR_TYPE && again == integer,
              "f90 types cannot be freed");
    tap_check(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &none) == MPI_ERR_ARG &&
                  MPI_Type_create_f90_real(100, 4, &none) == MPI_ERR_ARG &&
                  MPI_Type_create_f90_complex(4, 9999, &none) == MPI_ERR_ARG &&
                  MPI_Type_create_f90_integer(39, &none) == MPI_ERR_ARG &&
                  none == MPI_DATATYPE_NULL,
              "f90: kinds that there are not");
}

static void check_names(void)
{
    char name[MPI_MAX_OBJECT_NAME], long_name[2 * MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Datatype type;
    MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length);
    tap_check(strcmp(name, "MPI_DATATYPE_NULL") == 0 && length == 17, "the null handle has a name");
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    tap_check(name[0] == 0 && length == 0, "a new type has no name");
    MPI_Type_set_name(type, "two");
    MPI_Type_get_name(type, name, &length);
    tap_check(strcmp(name, "two") == 0 && length == 3, "a type has the name that it was given");
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    MPI_Type_set_name(type, long_name);
    MPI_Type_get_name(type, name, &length);
    tap_check(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length,
              "a name that is too long is cut");
    MPI_Type_free(&type);
    MPI_Type_set_name(MPI_INT, "mine");
    MPI_Type_get_name(MPI_INT, name, &length);
    tap_check(strcmp(name, "mine") == 0, "a predefined type can be renamed");
    MPI_Type_set_name(MPI_INT, "MPI_INT");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check_one(&all[i]);
    check_match_size();
    check_value_index();
    check_f90();
    check_names();
    MPI_Finalize();
    return tap_finish();
}
