/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of the program, which predefined operation is for which type, and what is refused. */
#include <mpi.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

static struct {
    int calls;
    MPI_Count elements, longest;
    char *in, *inout; /* of the last call */
    MPI_Datatype type;
} called;

static void note(void *in, void *inout, MPI_Count count, MPI_Datatype type)
{
    called.calls++;
    called.elements += count;
    called.longest = count > called.longest ? count : called.longest;
    called.in = in;
    called.inout = inout;
    called.type = type;
}

/* Touches nothing. */
static void count_small(void *in, void *inout, int *count, MPI_Datatype *type)
{
    note(in, inout, *count, *type);
}

static void count_large(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    note(in, inout, *count, *type);
}

/* a op b = 10 a + b, which is not commutative. */
static void append_small(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    for (int i = 0; i < *count; i++)
        b[i] = 10 * a[i] + b[i];
    *type = MPI_DATATYPE_NULL; /* it is a copy */
}

static void append_large(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    int length = (int)*count;
    append_small(in, inout, &length, type);
    *count = 0;
}

static void check_small_and_large(void)
{
    int a[] = {1, 2, 3}, b[] = {4, 5, 6}, c[] = {7, 8, 9}, commute = -1;
    MPI_Op small = MPI_OP_NULL, large = MPI_OP_NULL;
    tap_check(MPI_Op_create(append_small, 0, &small) == MPI_SUCCESS && small != MPI_OP_NULL,
              "MPI_Op_create");
    tap_check(MPI_Op_create_c(append_large, 5, &large) == MPI_SUCCESS && large != MPI_OP_NULL,
              "MPI_Op_create_c");
    MPI_Op_commutative(small, &commute);
    tap_check(commute == 0, "one is not commutative");
    MPI_Op_commutative(large, &commute);
    tap_check(commute == 1, "one says it is");
    MPI_Reduce_local(a, b, 3, MPI_INT, small);
    tap_check(b[0] == 14 && b[1] == 25 && b[2] == 36, "MPI_Reduce_local: in op inout");
    MPI_Reduce_local(a, c, 3, MPI_INT, large);
    tap_check(c[0] == 17 && c[1] == 28 && c[2] == 39, "by a function that counts in MPI_Count");
    MPI_Reduce_local_c(a, c, 3, MPI_INT, small);
    tap_check(c[0] == 27 && c[1] == 48 && c[2] == 69, "MPI_Reduce_local_c");
    MPI_Op freed = MPI_Op_fromint(MPI_Op_toint(small));
    tap_check(freed == small && MPI_Op_free(&small) == MPI_SUCCESS && small == MPI_OP_NULL,
              "MPI_Op_free");
    MPI_Op_free(&large);
}

/* More elements than an int can count, at addresses that nobody looks at. */
static void check_large_counts(void)
{
    char *in = (char *)(uintptr_t)4096, *inout = (char *)(uintptr_t)((int64_t)1 << 40);
    MPI_Count count = 2 * (MPI_Count)INT_MAX + 17;
    MPI_Op small, large;
    MPI_Op_create(count_small, 1, &small);
    MPI_Op_create_c(count_large, 1, &large);
    MPI_Reduce_local_c(in, inout, count, MPI_DOUBLE, small);
    tap_check(called.calls == 3 && called.elements == count && called.longest == INT_MAX &&
                  called.type == MPI_DOUBLE,
              "a function that counts in int gets parts");
    tap_check(called.in == in + 16 * (MPI_Aint)INT_MAX && called.inout == inout + (called.in - in),
              "one behind the other");
    memset(&called, 0, sizeof called);
    MPI_Reduce_local_c(in, inout, count, MPI_DOUBLE, large);
    tap_check(called.calls == 1 && called.elements == count && called.in == in &&
                  called.inout == inout,
              "another one gets all of it");
    memset(&called, 0, sizeof called);
    MPI_Reduce_local(in, inout, 0, MPI_DOUBLE, small);
    tap_check(called.calls == 0, "nothing is nothing");
    MPI_Op_free(&small);
    MPI_Op_free(&large);
}

static void check_derived_type(void)
{
    int a[] = {1, -1, 2, -1}, b[] = {3, -3, 4, -3};
    MPI_Datatype type;
    MPI_Op op;
    MPI_Op_create(count_small, 1, &op);
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    tap_check(MPI_Reduce_local(a, b, 1, type, op) == MPI_ERR_TYPE, "a type must be committed");
    MPI_Type_commit(&type);
    memset(&called, 0, sizeof called);
    tap_check(MPI_Reduce_local(a, b, 1, type, op) == MPI_SUCCESS && called.calls == 1 &&
                  called.type == type && called.in == (char *)a,
              "a function of the program gets any type");
    tap_check(MPI_Reduce_local(a, b, 1, type, MPI_SUM) == MPI_ERR_OP,
              "a predefined operation does not");
    MPI_Type_free(&type);
    MPI_Op_free(&op);
}

/* What the standard lists, and MPI_CHAR as an integer, logical operations on reals. */
enum { INTEGER = 1, REAL = 2, COMPLEX = 4, LOGICAL = 8, BYTE = 16, PAIR = 32, NONE = 0 };

static const struct {
    MPI_Op op;
    int classes;
} ops[] = {
    {MPI_SUM, INTEGER | REAL | COMPLEX},
    {MPI_PROD, INTEGER | REAL | COMPLEX},
    {MPI_MAX, INTEGER | REAL},
    {MPI_MIN, INTEGER | REAL},
    {MPI_LAND, INTEGER | REAL | LOGICAL},
    {MPI_LOR, INTEGER | REAL | LOGICAL},
    {MPI_LXOR, INTEGER | REAL | LOGICAL},
    {MPI_BAND, INTEGER | BYTE},
    {MPI_BOR, INTEGER | BYTE},
    {MPI_BXOR, INTEGER | BYTE},
    {MPI_MINLOC, PAIR},
    {MPI_MAXLOC, PAIR},
    {MPI_REPLACE, NONE}, /* these two are for one-sided communication */
    {MPI_NO_OP, NONE},
};

static const struct {
    MPI_Datatype type;
    int class;
} types[] = {
    {MPI_SIGNED_CHAR, INTEGER}, {MPI_SHORT, INTEGER},
    {MPI_INT, INTEGER},         {MPI_LONG, INTEGER},
    {MPI_LONG_LONG, INTEGER},   {MPI_UNSIGNED_CHAR, INTEGER},
    {MPI_UNSIGNED, INTEGER},    {MPI_UNSIGNED_LONG_LONG, INTEGER},
    {MPI_CHAR, INTEGER},        {MPI_INT8_T, INTEGER},
    {MPI_UINT64_T, INTEGER},    {MPI_AINT, INTEGER},
    {MPI_OFFSET, INTEGER},      {MPI_COUNT, INTEGER},
    {MPI_INTEGER, INTEGER},     {MPI_FLOAT, REAL},
    {MPI_DOUBLE, REAL},         {MPI_LONG_DOUBLE, REAL},
    {MPI_REAL8, REAL},          {MPI_C_FLOAT_COMPLEX, COMPLEX},
    {MPI_COMPLEX16, COMPLEX},   {MPI_CXX_DOUBLE_COMPLEX, COMPLEX},
    {MPI_LOGICAL, LOGICAL},     {MPI_C_BOOL, LOGICAL},
    {MPI_CXX_BOOL, LOGICAL},    {MPI_BYTE, BYTE},
    {MPI_FLOAT_INT, PAIR},      {MPI_2INT, PAIR},
    {MPI_2REAL, PAIR},          {MPI_PACKED, NONE},
    {MPI_WCHAR, NONE},          {MPI_CHARACTER, NONE},
};

enum { OPS = sizeof ops / sizeof ops[0], TYPES = sizeof types / sizeof types[0] };

static void check_validity(void)
{
    static _Alignas(16) char a[64], b[64];
    int wrong = 0;
    for (int i = 0; i < OPS; i++) {
        for (int k = 0; k < TYPES; k++) {
            int wanted = (ops[i].classes & types[k].class) != 0 ? MPI_SUCCESS : MPI_ERR_OP;
            if (MPI_Reduce_local(a, b, 1, types[k].type, ops[i].op) != wanted &&
                !tap_check(false, "operation %d, type %d", i, k))
                wrong++;
        }
    }
    tap_check(wrong == 0, "%d operations fit %d types, or do not", OPS, TYPES);
}

static void check_predefined(void)
{
    int commute, commutative = 0;
    for (int i = 0; i < OPS; i++) {
        MPI_Op_commutative(ops[i].op, &commute);
        commutative += commute;
    }
    tap_check(commutative == OPS - 2, "all but MPI_REPLACE and MPI_NO_OP are commutative");
}

#define REFUSED(call, code) tap_check((call) == (code), "%s: %s", #call, #code)

static void check_errors(void)
{
    int a = 1, b = 2, flag;
    MPI_Op op, sum = MPI_SUM, null = MPI_OP_NULL;
    REFUSED(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG);
    REFUSED(MPI_Op_create_c(NULL, 1, &op), MPI_ERR_ARG);
    REFUSED(MPI_Op_create(count_small, 1, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Op_free(&sum), MPI_ERR_OP);
    REFUSED(MPI_Op_free(&null), MPI_ERR_OP);
    REFUSED(MPI_Op_free(NULL), MPI_ERR_OP);
    REFUSED(MPI_Op_commutative(null, &flag), MPI_ERR_OP);
    REFUSED(MPI_Op_commutative(MPI_SUM, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Reduce_local(&a, &b, 1, MPI_INT, null), MPI_ERR_OP);
    REFUSED(MPI_Reduce_local(&a, &b, 1, MPI_INT, (MPI_Op)MPI_COMM_WORLD), MPI_ERR_OP);
    REFUSED(MPI_Reduce_local(&a, &b, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    REFUSED(MPI_Reduce_local_c(&a, &b, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    REFUSED(MPI_Reduce_local(&a, &b, 1, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE);
    REFUSED(MPI_Reduce_local(&a, &a, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    REFUSED(MPI_Reduce_local(MPI_IN_PLACE, &b, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    REFUSED(MPI_Reduce_local(&a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    REFUSED(MPI_Reduce_local(NULL, &b, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    REFUSED(MPI_Reduce_local(&a, NULL, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    REFUSED(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM), MPI_SUCCESS);
    tap_check(a == 1 && b == 2, "nothing was written");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    tap_rank(0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_small_and_large();
    check_large_counts();
    check_derived_type();
    check_validity();
    check_predefined();
    check_errors();
    MPI_Finalize();
    return tap_finish();
}
