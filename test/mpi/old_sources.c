/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI 3.0 has removed, by -DMICA_MPI1 (ompi/api/mica_mpi1.h): the old names, and the bounds of
 * types by the rules of MPI-1. test/wrapper/old.test compiles this as C++, too.
 */
#define MICA_MPI1
#include <mpi.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static int handled;

static void count_error(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    handled = *error;
}

static void check_errhandlers(void)
{
    MPI_Handler_function *function = count_error;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL, found = MPI_ERRHANDLER_NULL;
    char buffer = 0;
    MPI_Errhandler_create(function, &handler);
    MPI_Errhandler_set(MPI_COMM_SELF, handler);
    MPI_Errhandler_get(MPI_COMM_SELF, &found);
    tap_check(found == handler, "MPI_Errhandler_get gives what MPI_Errhandler_set was given");
    MPI_Send(&buffer, -1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_SELF);
    tap_check(handled != 0, "the error handler was called");
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static int copied;

static int copy_attribute(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    copied++;
    return MPI_SUCCESS;
}

/* These are deprecated, and still in the ABI. */
static void check_attributes(void)
{
    int keyval = MPI_KEYVAL_INVALID, value = 7, flag = 0;
    void *found = NULL;
    MPI_Copy_function *copy = copy_attribute;
    MPI_Comm twin;
    MPI_Keyval_create(copy, MPI_NULL_DELETE_FN, &keyval, NULL);
    MPI_Attr_put(MPI_COMM_SELF, keyval, &value);
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    MPI_Attr_get(twin, keyval, &found, &flag);
    tap_check(flag && found == &value && copied == 1, "attributes by their old names");
    MPI_Attr_delete(MPI_COMM_SELF, keyval);
    MPI_Comm_free(&twin);
    MPI_Keyval_free(&keyval);
}

/* Frees the type. */
static void check_bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint ub, const char *what)
{
    MPI_Aint found_lb = -1, found_ub = -1, extent = -1;
    MPI_Type_lb(type, &found_lb);
    MPI_Type_ub(type, &found_ub);
    MPI_Type_extent(type, &extent);
    tap_check(found_lb == lb && found_ub == ub && extent == ub - lb,
              "%s: %ld to %ld, and is %ld to %ld", what, (long)lb, (long)ub, (long)found_lb,
              (long)found_ub);
    MPI_Type_free(&type);
}

static MPI_Datatype pair(MPI_Aint first_at, MPI_Datatype first, MPI_Aint second_at,
                         MPI_Datatype second)
{
    int lengths[2] = {1, 1};
    MPI_Aint displacements[2];
    MPI_Datatype types[2], made = MPI_DATATYPE_NULL;
    displacements[0] = first_at;
    displacements[1] = second_at;
    types[0] = first;
    types[1] = second;
    MPI_Type_struct(2, lengths, displacements, types, &made);
    return made;
}

/* Frees both, if they are not predefined. */
static MPI_Datatype pair_of(MPI_Aint first_at, MPI_Datatype first, MPI_Aint second_at,
                            MPI_Datatype second)
{
    MPI_Datatype made = pair(first_at, first, second_at, second);
    if (first != MPI_INT && first != MPI_LB && first != MPI_UB)
        MPI_Type_free(&first);
    if (second != MPI_INT && second != MPI_LB && second != MPI_UB)
        MPI_Type_free(&second);
    return made;
}

static void check_markers(void)
{
    int lengths[5] = {1, 1, 1, 1, 1};
    MPI_Aint displacements[5] = {-3, 0, 6, -8, 20};
    MPI_Datatype types[5] = {MPI_LB, MPI_INT, MPI_UB, MPI_LB, MPI_UB}, type = MPI_DATATYPE_NULL;
    check_bounds(pair(4, MPI_CHAR, 8, MPI_INT), 4, 12, "without markers");
    MPI_Type_struct(3, lengths, displacements, types, &type);
    check_bounds(type, -3, 6, "both markers");
    MPI_Type_struct(5, lengths, displacements, types, &type);
    check_bounds(type, -8, 20, "several of each");
    lengths[3] = lengths[4] = 0;
    MPI_Type_struct(5, lengths, displacements, types, &type);
    check_bounds(type, -3, 6, "some of which are not there");
    MPI_Type_create_struct(3, lengths, displacements, types, &type);
    check_bounds(type, -3, 6, "by the name of MPI-2");
    check_bounds(pair(4, MPI_INT, 20, MPI_UB), 4, 20, "an upper one");
    check_bounds(pair(4, MPI_INT, 2, MPI_UB), 4, 2, "one within the data");
    check_bounds(pair(0, MPI_LB, 4, MPI_INT), 0, 8, "a lower one");
    check_bounds(pair(-3, MPI_LB, 0, MPI_INT), -3, 5, "the extent is a multiple of the alignment");
    check_bounds(pair(-4, MPI_LB, 12, MPI_UB), -4, 12, "no data");
}

/* A marker of a part holds for the whole, and does not make one for the other side. */
static void check_inherited(void)
{
    MPI_Datatype type;
    check_bounds(pair_of(0, MPI_INT, 8, pair(0, MPI_INT, 32, MPI_UB)), 0, 40,
                 "an upper one of a part");
    check_bounds(pair_of(0, MPI_INT, 8, pair(-2, MPI_LB, 0, MPI_INT)), 6, 14,
                 "a lower one of a part");
    check_bounds(pair_of(0, pair(-4, MPI_LB, 0, MPI_INT), 8, pair(0, MPI_INT, 16, MPI_UB)), -4, 24,
                 "one of each");
    check_bounds(pair_of(0, pair(0, MPI_INT, 16, MPI_UB), 12, MPI_UB), 0, 16,
                 "the outermost, a part's");
    check_bounds(pair_of(0, pair(0, MPI_INT, 16, MPI_UB), 24, MPI_UB), 0, 24,
                 "the outermost, the whole's");
    MPI_Type_create_resized(MPI_INT, -4, 12, &type);
    check_bounds(pair_of(0, MPI_INT, 100, type), 96, 108, "a resized part has both");
    MPI_Type_create_resized(MPI_INT, -4, 12, &type);
    check_bounds(pair_of(0, MPI_LB, 100, type), 0, 108, "beside one of the whole");
    MPI_Type_struct(0, NULL, NULL, NULL, &type);
    check_bounds(pair_of(0, type, 8, MPI_UB), 0, 8, "a part of nothing");
}

/* Types between the markers and the struct. */
static void check_between(void)
{
    int lengths[2] = {2, 1}, none[2] = {0, 0};
    MPI_Aint displacements[2] = {0, 48};
    MPI_Datatype inner = pair(4, MPI_INT, 20, MPI_UB), type; /* 4 to 20 */
    MPI_Type_contiguous(3, inner, &type);
    check_bounds(pair_of(0, MPI_INT, 8, type), 0, 60, "contiguous copies of an upper one");
    MPI_Type_hvector(2, 1, 40, inner, &type);
    check_bounds(pair_of(0, MPI_INT, 0, type), 0, 60, "a vector");
    MPI_Type_hindexed(2, lengths, displacements, inner, &type);
    check_bounds(pair_of(0, MPI_INT, 0, type), 0, 68, "blocks");
    MPI_Type_hindexed(2, none, displacements, inner, &type);
    check_bounds(pair_of(0, MPI_INT, 0, type), 0, 4, "empty blocks");
    MPI_Type_dup(inner, &type);
    check_bounds(pair_of(0, MPI_INT, 4, type), 0, 24, "a duplicate");
    check_bounds(pair_of(0, MPI_INT, 4, pair(0, inner, 60, MPI_INT)), 0, 24, "a struct");
    MPI_Type_free(&inner);
}

typedef struct particle {
    char kind;
    double at[3];
    int cell;
    char unsent[20];
} particle_t;

/* What old programs have them for: a struct whose rest is not sent. */
static void check_message(void)
{
    particle_t out[5], in[5];
    int lengths[4] = {1, 3, 1, 1}, i, good = 1;
    MPI_Aint displacements[4], base;
    MPI_Datatype types[4] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_UB}, type;
    memset(out, 0, sizeof out);
    memset(in, 0, sizeof in);
    MPI_Address(out, &base);
    MPI_Address(&out[0].kind, &displacements[0]);
    MPI_Address(out[0].at, &displacements[1]);
    MPI_Address(&out[0].cell, &displacements[2]);
    MPI_Address(&out[1], &displacements[3]);
    for (i = 0; i < 4; i++)
        displacements[i] -= base;
    for (i = 0; i < 5; i++) {
        out[i].kind = (char)('a' + i);
        out[i].at[2] = i * 0.5;
        out[i].cell = i * 7;
        out[i].unsent[3] = 'x';
    }
    MPI_Type_struct(4, lengths, displacements, types, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(out, 5, type, 0, 1, in, 5, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (i = 0; i < 5; i++)
        good &= in[i].kind == out[i].kind && in[i].at[2] == out[i].at[2] &&
                in[i].cell == out[i].cell && in[i].unsent[3] == 0;
    tap_check(good != 0, "structs with MPI_UB at their end are sent");
    check_bounds(type, 0, (MPI_Aint)sizeof(particle_t), "such a struct");
}

/* Names that a program may only mention. */
static void check_names(void)
{
    int integers, addresses, types, combiner = 0, known = 0;
    MPI_Type_get_envelope(MPI_INT, &integers, &addresses, &types, &combiner);
    switch (combiner) {
    case MPI_COMBINER_NAMED:
        known = 1;
        break;
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_HVECTOR_INTEGER:
    case MPI_COMBINER_HINDEXED_INTEGER:
    case MPI_COMBINER_STRUCT_INTEGER:
        break;
    }
    tap_check(known != 0, "the combiners of Fortran's integers differ from others");
}

/* The function of today checks what it is given, also behind the old name. */
static void check_null_output(void)
{
    int error_class;
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Type_ub(MPI_INT, NULL), &error_class);
    tap_check(error_class == MPI_ERR_ARG,
              "MPI_Type_ub without a place for the result is MPI_ERR_ARG");
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    check_errhandlers();
    check_attributes();
    check_markers();
    check_inherited();
    check_between();
    check_message();
    check_names();
    check_null_output();
    MPI_Finalize();
    return tap_finish();
}
