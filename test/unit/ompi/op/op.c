/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/op: what only the inside sees: three operands, operations of one-sided communication. */
#include "ompi/op/op.h"

#include "ompi/api/bodies.h"
#include "test/unit/opal/support.h"

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_op_init();
}

static const ompi_op_t *op_of(MPI_Op handle)
{
    const ompi_op_t *op = ompi_handle_object(handle);
    ck_assert_ptr_nonnull(op);
    return op;
}

/* Every operation on every type: three operands, each place of the result, and two operands. */
START_TEST(three_operands_are_two)
{
    enum { COUNT = 77 };
    static _Alignas(64) char a[COUNT * 32], b[COUNT * 32], wanted[COUNT * 32], got[COUNT * 32 + 1];
    int pairs = 0;
    for (uintptr_t number = 0x21; number < 0x40; number++) {
        const ompi_op_t *op = ompi_handle_object((MPI_Op)number);
        if (op == NULL)
            continue;
        for (uintptr_t handle = 0x200; handle < 0x300; handle++) {
            ompi_datatype_t *type = ompi_datatype_of((MPI_Datatype)handle);
            if (!ompi_datatype_is_type(type) || !ompi_op_is_valid_for_rma(op, type))
                continue;
            pairs++;
            size_t bytes = COUNT * (size_t)ompi_datatype_extent(type);
            for (size_t i = 0; i < sizeof a; i++) {
                /* Small numbers in any format, no NaN. */
                a[i] = i % 4 == 0 ? (char)(i % 3) : 0;
                wanted[i] = b[i] = i % 4 == 0 ? (char)(i % 5) : 0;
            }
            memset(got, 0x55, sizeof got);
            ompi_op_reduce(op, a, wanted, COUNT, type);
            ompi_op_combine(op, a, b, got, COUNT, type);
            bool is_pair = ompi_op_type(type).class == OMPI_OP_PAIR;
            bool is_padded = is_pair || ompi_op_type(type).kind == OMPI_OP_LONG_DOUBLE ||
                             ompi_op_type(type).kind == OMPI_OP_COMPLEX_LONG_DOUBLE;
            if (!is_padded) /* padding has what it had */
                ck_assert_mem_eq(got, wanted, bytes);
            ck_assert_int_eq(got[bytes], 0x55);
            memcpy(got, a, bytes);
            ompi_op_combine(op, got, b, got, COUNT, type);
            if (!is_padded)
                ck_assert_mem_eq(got, wanted, bytes);
        }
    }
    ck_assert_int_gt(pairs, 300);
}
END_TEST

START_TEST(replace_and_no_op)
{
    ompi_datatype_t *type = ompi_datatype_of(MPI_INT), *bytes = ompi_datatype_of(MPI_PACKED);
    const ompi_op_t *replace = op_of(MPI_REPLACE), *no_op = op_of(MPI_NO_OP);
    int origin[] = {1, 2}, target[] = {3, 4};
    ck_assert(!ompi_op_is_valid_for(replace, type));
    ck_assert(!ompi_op_is_valid_for(no_op, type));
    ck_assert(ompi_op_is_valid_for_rma(replace, bytes));
    ck_assert(ompi_op_is_valid_for_rma(no_op, type));
    ck_assert(!ompi_op_is_commutative(replace));
    ompi_op_reduce(no_op, origin, target, 2, type);
    ck_assert_int_eq(target[0] + target[1], 7);
    ompi_op_reduce(replace, origin, target, 2, type);
    ck_assert_int_eq(target[0], 1);
    ck_assert_int_eq(target[1], 2);
}
END_TEST

static void ignore(void *in OPAL_UNUSED, void *inout OPAL_UNUSED, int *count OPAL_UNUSED,
                   MPI_Datatype *type OPAL_UNUSED)
{
}

START_TEST(operations_of_programs_are_not_for_windows)
{
    ompi_op_t *op = ompi_op_create(ompi_op_fn_small(ignore), true);
    ck_assert_ptr_nonnull(op);
    ck_assert(!ompi_op_is_predefined(op));
    ck_assert(ompi_op_is_valid_for(op, ompi_datatype_of(MPI_PACKED)));
    ck_assert(!ompi_op_is_valid_for_rma(op, ompi_datatype_of(MPI_INT)));
    ompi_object_retain(&op->head); /* as a collective in progress does */
    ompi_object_release(&op->head);
    ck_assert(ompi_object_is(op, OMPI_OP));
    ompi_object_release(&op->head);
}
END_TEST

/* What a function in Fortran got; it adds int. */
static struct {
    int calls;
    MPI_Count count;
    MPI_Fint type;
} seen;

static void add(const int *in, int *inout, MPI_Count count, MPI_Fint type)
{
    seen.calls++;
    seen.count = count;
    seen.type = type;
    for (MPI_Count i = 0; i < count; i++)
        inout[i] += in[i];
}

static void add_small(void *in, void *inout, MPI_Fint *count, MPI_Fint *type)
{
    add(in, inout, *count, *type);
}

static void add_large(void *in, void *inout, MPI_Count *count, MPI_Fint *type)
{
    add(in, inout, *count, *type);
}

/* A function in Fortran gets the number of the type; both forms, a predefined and a derived type.
 */
START_TEST(functions_in_fortran)
{
    ompi_datatype_t *predefined = ompi_datatype_of(MPI_INTEGER), *derived;
    ck_assert_int_eq(ompi_api_type_contiguous(1, predefined, &derived, false), MPI_SUCCESS);
    ompi_datatype_t *type = _i % 2 == 0 ? predefined : derived;
    ompi_op_t *op = _i < 2
                        ? ompi_op_create(ompi_op_fn_small((MPI_User_function *)add_small), true)
                        : ompi_op_create(ompi_op_fn_large((MPI_User_function_c *)add_large), true);
    ck_assert_ptr_nonnull(op);
    ompi_op_set_fortran(op);
    int in[] = {1, 2, 3}, inout[] = {10, 20, 30};
    ompi_op_reduce(op, in, inout, 3, type);
    ck_assert_int_eq(seen.calls, 1);
    ck_assert_int_eq(seen.count, 3);
    ck_assert_int_eq(inout[0], 11);
    ck_assert_int_eq(inout[2], 33);
    ck_assert_ptr_eq(ompi_handle_from_int(OMPI_DATATYPE, seen.type), ompi_object_handle(type));
    ompi_object_release(&op->head);
    ompi_object_release(&derived->head);
}
END_TEST

START_TEST(handles_end)
{
    ck_assert_ptr_nonnull(ompi_handle_object(MPI_MAXLOC));
    ompi_op_fini();
    ck_assert_ptr_null(ompi_handle_object(MPI_MAXLOC));
    ck_assert_ptr_null(ompi_handle_object(MPI_SUM));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &three_operands_are_two},
    {.test = &replace_and_no_op},
    {.test = &operations_of_programs_are_not_for_windows},
    {.test = &functions_in_fortran, .repeats = 4},
    {.test = &handles_end},
};

UNIT_MAIN("op", tests, setup);
