/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/check/compare.c: in what two records differ, and the sentences. */
#include "ompi/datatype/datatype.h"
#include "ompi/check/check.h"
#include "ompi/op/op.h"
#include "test/unit/opal/support.h"

enum { TEXT_BYTES = 256 };

static unsigned handle_of(MPI_Datatype type)
{
    return (unsigned)(uintptr_t)type;
}

/* MPI_Reduce(4 MPI_INT, MPI_SUM, root 0). */
static ompi_check_record_t a_record(void)
{
    return (ompi_check_record_t){
        .kind = OMPI_REDUCE,
        .op = (uint16_t)(uintptr_t)MPI_SUM,
        .type = (uint16_t)handle_of(MPI_INT),
        .count = 4,
        .bytes = 16,
        .history = 5,
    };
}

static void expect(const ompi_check_record_t *one, const ompi_check_record_t *other,
                   ompi_difference_t difference)
{
    ck_assert_int_eq(ompi_check_difference(one, other), difference);
    ck_assert_int_eq(ompi_check_difference(other, one), difference);
}

/* Each one differs in the field, too, of all that follow: the gravest difference is found. */
START_TEST(gravest)
{
    ompi_check_record_t one = a_record(), other = one;
    expect(&one, &other, OMPI_DIFFERS_NOT);
    other.type = (uint16_t)handle_of(MPI_FLOAT);
    expect(&one, &other, OMPI_DIFFERS_TYPE);
    other.bytes = 20;
    expect(&one, &other, OMPI_DIFFERS_COUNT);
    other.op = (uint16_t)(uintptr_t)MPI_MAX;
    expect(&one, &other, OMPI_DIFFERS_OP);
    other.history = 6;
    expect(&one, &other, OMPI_DIFFERS_BEFORE);
    other.root = 1;
    expect(&one, &other, OMPI_DIFFERS_ROOT);
    other.form = OMPI_CHECK_PERSISTENT;
    expect(&one, &other, OMPI_DIFFERS_KIND);
    other = one;
    other.kind = OMPI_BCAST;
    expect(&one, &other, OMPI_DIFFERS_KIND);
}
END_TEST

/* How many elements of which type is a rank's own matter, if the bytes are the same. */
START_TEST(counts_and_hashes)
{
    ompi_check_record_t one = a_record(), other = one;
    other.count = 2;
    expect(&one, &other, OMPI_DIFFERS_NOT);
    one.hash = 7;
    expect(&one, &other, OMPI_DIFFERS_NOT);
    other.hash = 8;
    expect(&one, &other, OMPI_DIFFERS_COUNT);
    one.type = other.type = 0;
    expect(&one, &other, OMPI_DIFFERS_TYPE);
    one.bytes = other.bytes = 0;
    other.type = (uint16_t)handle_of(MPI_FLOAT);
    expect(&one, &other, OMPI_DIFFERS_NOT);
}
END_TEST

START_TEST(types)
{
    static const struct {
        MPI_Datatype one, other;
        bool agree;
    } pairs[] = {
        {MPI_INT, MPI_INT, true},
        {MPI_INT, MPI_INT32_T, true},
        {MPI_INT, MPI_UNSIGNED, false},
        {MPI_INT, MPI_FLOAT, false},
        {MPI_INT, MPI_INT64_T, false},
        {MPI_DOUBLE, MPI_BYTE, true},
        {MPI_PACKED, MPI_SHORT, true},
        {MPI_FLOAT_INT, MPI_FLOAT, false},
        {MPI_CHAR, MPI_SHORT, false},
        {MPI_FLOAT_INT, MPI_FLOAT_INT, true},
        {MPI_C_FLOAT_COMPLEX, MPI_FLOAT, false},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(pairs); i++) {
        unsigned one = handle_of(pairs[i].one), other = handle_of(pairs[i].other);
        ck_assert_msg(ompi_check_types_agree(one, other) == pairs[i].agree &&
                          ompi_check_types_agree(other, one) == pairs[i].agree,
                      "pair %zu", i);
    }
    ck_assert(ompi_check_types_agree(0, handle_of(MPI_INT)));
}
END_TEST

START_TEST(errors)
{
    ck_assert_int_eq(ompi_check_error_of(OMPI_DIFFERS_NOT), MPI_SUCCESS);
    ck_assert_int_eq(ompi_check_error_of(OMPI_DIFFERS_KIND), MPI_ERR_OTHER);
    ck_assert_int_eq(ompi_check_error_of(OMPI_DIFFERS_ROOT), MPI_ERR_ROOT);
    ck_assert_int_eq(ompi_check_error_of(OMPI_DIFFERS_BEFORE), MPI_ERR_OTHER);
    ck_assert_int_eq(ompi_check_error_of(OMPI_DIFFERS_OP), MPI_ERR_OP);
    ck_assert_int_eq(ompi_check_error_of(OMPI_DIFFERS_TYPE), MPI_ERR_TYPE);
    ck_assert_int_eq(ompi_check_error_of(OMPI_DIFFERS_COUNT), MPI_ERR_TRUNCATE);
}
END_TEST

static void expect_text(const ompi_check_record_t *record, const char *wanted)
{
    char text[TEXT_BYTES];
    ompi_check_describe(record, text, sizeof text);
    ck_assert_str_eq(text, wanted);
}

START_TEST(descriptions)
{
    ompi_check_record_t record = a_record();
    expect_text(&record, "MPI_Reduce(4 MPI_INT, MPI_SUM, root 0)");
    record.form = OMPI_CHECK_NONBLOCKING;
    expect_text(&record, "MPI_Ireduce(4 MPI_INT, MPI_SUM, root 0)");
    record.form = OMPI_CHECK_PERSISTENT;
    record.op = OMPI_CHECK_OWN_OP;
    record.root = 2;
    record.type = 0;
    expect_text(&record, "MPI_Reduce_init(4 elements, 16 bytes, an operation of the program's, "
                         "root 2)");
    record = (ompi_check_record_t){.kind = OMPI_BARRIER, .root = OMPI_CHECK_NO_ROOT};
    expect_text(&record, "MPI_Barrier()");
    record.form = OMPI_CHECK_NONBLOCKING;
    expect_text(&record, "MPI_Ibarrier()");
    record.kind = OMPI_NEIGHBOR_ALLTOALLW;
    expect_text(&record, "MPI_Ineighbor_alltoallw()");
}
END_TEST

/* The bytes of a rank decide how many, not its count of a derived type. */
START_TEST(elements)
{
    char text[OMPI_CHECK_DATA_BYTES];
    ompi_check_describe_data(handle_of(MPI_DOUBLE), 2, 48, text);
    ck_assert_str_eq(text, "6 MPI_DOUBLE");
    ompi_check_describe_data(0, 2, 48, text);
    ck_assert_str_eq(text, "2 elements, 48 bytes");
    ompi_check_describe_data(0, UINT64_MAX, UINT64_MAX, text);
    ck_assert_str_eq(text, "18446744073709551615 elements, 18446744073709551615 bytes");
}
END_TEST

START_TEST(sentences)
{
    static const char *const begins[] = {
        [OMPI_DIFFERS_KIND] = "The ranks make different calls: rank 3 calls MPI_Reduce(",
        [OMPI_DIFFERS_ROOT] = "The ranks give different roots: ",
        [OMPI_DIFFERS_BEFORE] = "The ranks have made different calls before, in number or order: ",
        [OMPI_DIFFERS_OP] = "The ranks give different operations: ",
        [OMPI_DIFFERS_TYPE] = "The ranks give different datatypes: ",
        [OMPI_DIFFERS_COUNT] = "The ranks give different amounts of data: ",
    };
    char text[TEXT_BYTES];
    ompi_check_record_t one = a_record(), other = one;
    other.kind = OMPI_BCAST;
    other.op = 0;
    for (ompi_difference_t i = OMPI_DIFFERS_KIND; i <= OMPI_DIFFERS_COUNT; i++) {
        ompi_check_explain(i, &one, 3, &other, 17, text, sizeof text);
        ck_assert_msg(strncmp(text, begins[i], strlen(begins[i])) == 0, "%s", text);
        ck_assert_ptr_nonnull(strstr(text, "rank 3 calls MPI_Reduce(4 MPI_INT, MPI_SUM, root 0), "
                                           "rank 17 MPI_Bcast(4 MPI_INT, root 0)."));
    }
    ompi_check_explain(OMPI_DIFFERS_KIND, &one, 3, &other, 17, text, 24);
    ck_assert_str_eq(text, "The ranks make differen");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &gravest},      {.test = &counts_and_hashes}, {.test = &types},    {.test = &errors},
    {.test = &descriptions}, {.test = &elements},          {.test = &sentences}};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_op_init();
}

UNIT_MAIN("ompi/check/compare", tests, setup);
