/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/check/buffer.c: which buffers overlap, and what was changed. */
#include "ompi/check/buffer.h"

#include "ompi/check/finding.h"
#include "test/unit/opal/support.h"

enum { INTS = 4096 };

static int memory[INTS];
static ompi_communicator_t comm;

static ompi_check_buffer_t buffer(bool is_written, size_t from, size_t count, ompi_datatype_t *type)
{
    return (ompi_check_buffer_t){
        .call = is_written ? "MPI_Irecv" : "MPI_Isend",
        .peer = is_written ? MPI_ANY_SOURCE : 1,
        .tag = is_written ? MPI_ANY_TAG : 7,
        .is_written = is_written,
        .address = memory + from,
        .count = count,
        .type = type,
    };
}

static ompi_check_buffer_t ints(bool is_written, size_t from, size_t count)
{
    return buffer(is_written, from, count, ompi_datatype_of(MPI_INT));
}

/* `count` ints, `stride` ints apart; the extent is that of all. */
static ompi_datatype_t *strided(size_t count, int stride)
{
    ompi_shape_t shape;
    ck_assert_int_eq(ompi_shape_repeat(&ompi_datatype_of(MPI_INT)->shape, count,
                                       stride * (MPI_Count)sizeof(int), &shape),
                     MPI_SUCCESS);
    return ompi_datatype_create(&shape, NULL);
}

static void expect_entered(ompi_check_buffer_t *entered)
{
    ck_assert_int_eq(ompi_check_buffer_enter(entered, &comm), MPI_SUCCESS);
}

static void expect_refused(ompi_check_buffer_t *refused, const char *text)
{
    ck_assert_int_eq(ompi_check_buffer_enter(refused, &comm), MPI_ERR_BUFFER);
    ck_assert_msg(strstr(ompi_check_finding.text, text) != NULL, "%s", ompi_check_finding.text);
    ck_assert_ptr_eq(ompi_check_finding.about, &comm.head);
    ompi_check_buffer_leave(refused); /* no effect */
}

START_TEST(overlaps)
{
    ompi_check_buffer_t first = ints(true, 10, 10), send = ints(false, 30, 10);
    expect_entered(&first);
    expect_entered(&send);
    ompi_check_buffer_t other = ints(true, 19, 5);
    expect_refused(&other, "The buffer of MPI_Irecv from any rank with any tag overlaps that of "
                           "MPI_Irecv from any rank with any tag, which was begun at ");
    expect_refused(&other, "both have byte 36 of the latter");
    other = ints(false, 0, INTS);
    expect_refused(&other, "MPI_Isend to rank 1 with tag 7");
    other = ints(true, 39, 1);
    expect_refused(&other, "both have byte 36");
    ompi_check_buffer_t beside[] = {ints(true, 20, 10), ints(true, 0, 10),   ints(true, 40, 1),
                                    ints(true, 15, 0),  ints(false, 30, 10), ints(false, 35, 1)};
    for (size_t i = 0; i < OPAL_COUNT_OF(beside); i++)
        expect_entered(&beside[i]);
    for (size_t i = 0; i < OPAL_COUNT_OF(beside); i++)
        ompi_check_buffer_leave(&beside[i]);
    ompi_check_buffer_leave(&first);
    ompi_check_buffer_leave(&first);
    other = ints(true, 19, 5);
    expect_entered(&other);
    ompi_check_buffer_leave(&other);
    ompi_check_buffer_leave(&send);
}
END_TEST

/* Even and odd columns, also backwards. */
START_TEST(gaps)
{
    ompi_datatype_t *apart = strided(100, 2), *back = strided(100, -2);
    ompi_check_buffer_t even = buffer(true, 0, 1, apart), odd = buffer(true, 1, 1, apart);
    expect_entered(&even);
    expect_entered(&odd);
    ompi_check_buffer_leave(&odd);
    odd = buffer(true, 199, 1, back); /* 199, 197, ... 1 */
    expect_entered(&odd);
    ompi_check_buffer_t other = ints(true, 199, 1);
    expect_refused(&other, "both have byte 792"); /* from 1 on */
    ompi_check_buffer_leave(&odd);
    expect_entered(&other);
    ompi_check_buffer_leave(&other);
    other = buffer(true, 198, 1, back); /* the even ones */
    expect_refused(&other, "both have byte");
    other = ints(false, 1, 1);
    expect_entered(&other);
    ompi_check_buffer_leave(&other);
    other = ints(false, 1, 2);
    expect_refused(&other, "both have byte 8");
    ompi_check_buffer_leave(&even);
    ompi_datatype_release(apart);
    ompi_datatype_release(back);
}
END_TEST

/* More pieces than are looked at in one go; the last one is the one in common. */
START_TEST(many_pieces)
{
    ompi_datatype_t *apart = strided(1000, 2);
    ompi_check_buffer_t first = buffer(true, 0, 1, apart), last = ints(true, 1998, 1);
    expect_entered(&first);
    expect_refused(&last, "both have byte 7992");
    last = ints(true, 1997, 1);
    expect_entered(&last);
    ompi_check_buffer_leave(&last);
    ompi_check_buffer_leave(&first);
    ompi_datatype_release(apart);
}
END_TEST

/* Nobody is told of the end of a request that was freed. */
START_TEST(orphans)
{
    static const ompi_request_ops_t none;
    ompi_request_t request;
    ompi_request_init_bare(&request, &none, NULL);
    ompi_check_buffer_t first = ints(true, 0, 4), other = ints(true, 0, 4);
    first.request = &request;
    expect_entered(&first);
    expect_refused(&other, "overlaps");
    request.orphan = true;
    expect_entered(&other);
    ompi_check_buffer_leave(&other);
    ompi_check_buffer_leave(&first);
}
END_TEST

static void expect_changed(const ompi_check_buffer_t *kept, const char *text)
{
    ck_assert_int_eq(ompi_check_buffer_compare(kept, &comm), MPI_ERR_BUFFER);
    ck_assert_msg(strstr(ompi_check_finding.text, text) != NULL, "%s", ompi_check_finding.text);
}

START_TEST(changes)
{
    ompi_check_buffer_t kept = ints(false, 0, INTS);
    memset(memory, 0x11, sizeof memory);
    expect_entered(&kept);
    ck_assert_int_eq(ompi_check_buffer_compare(&kept, &comm), MPI_SUCCESS); /* no copy */
    ompi_check_buffer_keep(&kept);
    ck_assert_int_eq(ompi_check_buffer_compare(&kept, &comm), MPI_SUCCESS);
    ((char *)memory)[sizeof memory - 1] = 0x12; /* in the last piece */
    expect_changed(&kept, "byte 16383 of the 16384 sent was 0x11 and is 0x12");
    ((char *)memory)[5000] = 0x13;
    expect_changed(&kept, "byte 5000 of the 16384 sent was 0x11 and is 0x13");
    ompi_check_buffer_leave(&kept);
    ck_assert_int_eq(ompi_check_buffer_compare(&kept, &comm), MPI_SUCCESS);
}
END_TEST

START_TEST(changes_in_gaps)
{
    ompi_datatype_t *apart = strided(100, 2);
    ompi_check_buffer_t kept = buffer(false, 0, 2, apart);
    memset(memory, 0, sizeof memory);
    expect_entered(&kept);
    ompi_check_buffer_keep(&kept);
    memory[1] = memory[197] = 1;
    ck_assert_int_eq(ompi_check_buffer_compare(&kept, &comm), MPI_SUCCESS);
    memory[6] = 1;
    expect_changed(&kept, "byte 12 of the 800 sent was 0x00 and is 0x01");
    ompi_check_buffer_leave(&kept);
    ompi_datatype_release(apart);
}
END_TEST

static const unit_test_t tests[] = {{.test = &overlaps},    {.test = &gaps},
                                    {.test = &many_pieces}, {.test = &orphans},
                                    {.test = &changes},     {.test = &changes_in_gaps}};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
}

UNIT_MAIN("ompi/check/buffer", tests, setup);
