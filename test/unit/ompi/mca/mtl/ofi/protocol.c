/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol of mtl/ofi without pml/cm: a job of one sends to itself over a real provider, in
 * each way of writing tags, and with an info whose limits have been narrowed so that messages are
 * long.
 *
 *   protocol [PROVIDER]     "tcp;ofi_rxm" if not told
 */
#include "test/unit/ompi/mca/mtl/ofi/self.h"

/* -- tests ---------------------------------------------------------------------------------------
 */

static const size_t sizes[] = {0,    1,     8,     15,    16,    17,    64,     65,     255,
                               4079, 4080,  4095,  4096,  4097,  4111,  4112,   8191,   8192,
                               8193, 16384, 40000, 65536, 70001, 99999, 131073, 1 << 20};

/* Every length, the receive first and the message first, as much room and more. */
static void exchange(ompi_send_mode_t mode, size_t bytes, int source, int tag)
{
    fill();
    ofi_request_t *early = receive(source, tag, in, bytes, MPI_BYTE);
    ofi_request_t *sent = send_as(mode, 5, out, bytes, MPI_BYTE);
    MPI_Status status = wait_for(early);
    check_status(&status, 5, MPI_SUCCESS, bytes);
    ck_assert_int_eq(memcmp(in, out, bytes), 0);
    ck_assert_int_eq(wait_for(sent).MPI_ERROR, MPI_SUCCESS);

    fill();
    sent = send_as(mode, 5, out, bytes, MPI_BYTE);
    if (mode == OMPI_SEND_SYNCHRONOUS)
        ck_assert(!is_done(sent));
    ofi_request_t *late = receive(source, tag, in, sizeof in, MPI_BYTE);
    status = wait_for(late);
    check_status(&status, 5, MPI_SUCCESS, bytes);
    ck_assert_int_eq(memcmp(in, out, bytes), 0);
    ck_assert_int_eq(wait_for(sent).MPI_ERROR, MPI_SUCCESS);
}

static void every_length_arrives(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        exchange(OMPI_SEND_STANDARD, sizes[i], 0, 5);
        exchange(OMPI_SEND_STANDARD, sizes[i], MPI_ANY_SOURCE, MPI_ANY_TAG);
        exchange(OMPI_SEND_SYNCHRONOUS, sizes[i], 0, MPI_ANY_TAG);
    }
}

static void what_is_too_long_is_cut(void)
{
    for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t room = 0; room < sizes[i]; room = 2 * room + 1) {
            fill();
            ofi_request_t *cut = receive(0, 1, in, room, MPI_BYTE);
            ofi_request_t *sent = send_as(OMPI_SEND_SYNCHRONOUS, 1, out, sizes[i], MPI_BYTE);
            MPI_Status status = wait_for(cut);
            check_status(&status, 1, MPI_ERR_TRUNCATE, room);
            ck_assert_int_eq(memcmp(in, out, room), 0);
            ck_assert_int_eq(in[room], 0);
            ck_assert_int_eq(wait_for(sent).MPI_ERROR, MPI_SUCCESS);
        }
    }
}

/* Pieces of `piece` ints, every second one. */
static void scatter(int piece, int pieces)
{
    MPI_Datatype type;
    int size;
    MPI_Type_vector(pieces, piece, 2 * piece, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    for (int late = 0; late < 2; late++) {
        fill();
        ofi_request_t *got = late ? NULL : receive(0, 3, in, 1, type);
        ofi_request_t *sent = send_as(OMPI_SEND_STANDARD, 3, out, 1, type);
        if (late)
            got = receive(0, 3, in, 1, type);
        MPI_Status status = wait_for(got);
        check_status(&status, 3, MPI_SUCCESS, (size_t)size);
        wait_for(sent);
        const int *from = (const int *)out, *to = (const int *)in;
        bool same = true;
        for (int i = 0; i < 2 * piece * pieces - piece; i++)
            same = same && to[i] == (i / piece % 2 == 0 ? from[i] : 0);
        ck_assert(same);
    }
    MPI_Type_free(&type);
}

static void pieces_arrive(void)
{
    scatter(1, 2);
    scatter(1, 100);
    scatter(100, 3);
    scatter(512, 2); /* as many bytes as fit one message: the beginning of a long one */
    scatter(1000, 4);
    scatter(10, 2000);
    scatter(3000, 20);
}

static void probes_tell_what_is_there(void)
{
    MPI_Status status;
    ck_assert(!is_there(MPI_ANY_TAG));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill();
        ofi_request_t *first = send_as(OMPI_SEND_STANDARD, 1, out, sizes[i], MPI_BYTE);
        ofi_request_t *second = send_as(OMPI_SEND_SYNCHRONOUS, 2, out, 9, MPI_BYTE);
        ck_assert(probe(MPI_ANY_TAG, NULL, &status));
        check_status(&status, 1, MPI_SUCCESS, sizes[i]);
        ck_assert(probe(2, NULL, &status));
        check_status(&status, 2, MPI_SUCCESS, 9);
        ck_assert(!is_there(3));
        ofi_request_t *got = receive(0, 1, in, sizeof in, MPI_BYTE);
        status = wait_for(got);
        check_status(&status, 1, MPI_SUCCESS, sizes[i]);
        ck_assert_int_eq(memcmp(in, out, sizes[i]), 0);
        wait_for(receive(0, MPI_ANY_TAG, in, sizeof in, MPI_BYTE));
        wait_for(first);
        wait_for(second);
    }
}

/* What was taken out is not found again, and comes into any layout, cut or not. */
static void messages_are_taken_out(void)
{
    MPI_Status status;
    MPI_Datatype type;
    MPI_Type_vector(1000, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ompi_mtl_message_t *message = NULL, *other = NULL;
        fill();
        ofi_request_t *sent = send_as(OMPI_SEND_SYNCHRONOUS, 1, out, sizes[i], MPI_BYTE);
        ofi_request_t *next = send_as(OMPI_SEND_STANDARD, 1, out, 4000, MPI_BYTE);
        ck_assert(probe(1, &message, &status));
        check_status(&status, 1, MPI_SUCCESS, sizes[i]);
        ck_assert_int_eq(message->route.rank, 0);
        ck_assert_int_eq(message->route.tag, 1);
        ck_assert(probe(MPI_ANY_TAG, &other, &status));
        check_status(&status, 1, MPI_SUCCESS, 4000);
        ck_assert(!is_there(MPI_ANY_TAG));

        ofi_request_t *got = request_of(0, 1, in, 1, (MPI_Datatype)type);
        ck_assert_int_eq(ops.receive_message(&got->base, other), MPI_SUCCESS);
        status = wait_for(got);
        check_status(&status, 1, MPI_SUCCESS, 4000);
        bool same = true;
        for (int k = 0; k < 1000; k++)
            same = same && ((int *)in)[2 * k] == ((int *)out)[k];
        ck_assert(same);

        size_t room = i % 2 == 0 ? sizes[i] : sizes[i] / 2;
        memset(in, 0, sizeof in);
        got = request_of(0, 1, in, room, MPI_BYTE);
        ck_assert_int_eq(ops.receive_message(&got->base, message), MPI_SUCCESS);
        status = wait_for(got);
        check_status(&status, 1, room < sizes[i] ? MPI_ERR_TRUNCATE : MPI_SUCCESS, room);
        ck_assert_int_eq(memcmp(in, out, room), 0);
        wait_for(sent);
        wait_for(next);
    }
    MPI_Type_free(&type);
}

static void receives_are_cancelled(void)
{
    ofi_request_t *never = receive(0, 1, in, 8, MPI_BYTE);
    ck_assert_int_eq(ops.cancel(&never->base), MPI_SUCCESS);
    MPI_Status status = wait_for(never);
    ck_assert(ompi_status_is_cancelled(&status));
    exchange(OMPI_SEND_STANDARD, 8, 0, 1 + 4);
}

/* A send that has left stays: a receive of the same message gets it, and ends it. */
static void sends_that_have_left_stay(size_t bytes)
{
    ofi_request_t *sent[3];
    for (int i = 0; i < 3; i++) {
        fill();
        memset(out, 'a' + i, bytes);
        sent[i] = send_as(OMPI_SEND_SYNCHRONOUS, 4, out, bytes, MPI_BYTE);
        ck_assert(!is_done(sent[i]));
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ops.cancel(&sent[i]->base), MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        MPI_Status status = wait_for(receive(0, i == 1 ? MPI_ANY_TAG : 4, in, bytes, MPI_BYTE));
        check_status(&status, 4, MPI_SUCCESS, bytes);
        status = wait_for(sent[i]);
        ck_assert_int_eq(status.MPI_ERROR, MPI_SUCCESS);
        ck_assert(!ompi_status_is_cancelled(&status));
    }
    ck_assert(!is_there(MPI_ANY_TAG));
}

/* Answers of one envelope are for the first of its sends that was not answered. */
static void answers_come_in_order(void)
{
    ofi_request_t *sent[3];
    for (int i = 0; i < 3; i++)
        sent[i] = send_as(OMPI_SEND_SYNCHRONOUS, i == 1 ? 9 : 8, out, 10, MPI_BYTE);
    for (int i = 0; i < 3; i++) {
        ck_assert(!is_done(sent[i == 0 ? 1 : 2]));
        wait_for(receive(0, i == 1 ? 9 : 8, in, 10, MPI_BYTE));
        ck_assert(is_done(sent[i]));
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(wait_for(sent[i]).MPI_ERROR, MPI_SUCCESS);
}

/* In MPI_Finalize: a send that waits for a receive fails, one that was cancelled is cancelled. */
static void messages_are_refused(size_t bytes)
{
    ofi_request_t *sent[3];
    for (int i = 0; i < 3; i++)
        sent[i] = send_as(OMPI_SEND_SYNCHRONOUS, 4, out, bytes, MPI_BYTE);
    ofi_request_t *standard = send_as(OMPI_SEND_STANDARD, 5, out, 10, MPI_BYTE);
    ofi_request_t *got = receive(0, 4, in, bytes, MPI_BYTE);
    ck_assert_int_eq(ops.cancel(&sent[2]->base), MPI_SUCCESS);
    while (!ompi_request_is_done(&sent[1]->base.base) ||
           !ompi_request_is_done(&sent[2]->base.base)) {
        ops.finalize_drain();
        opal_progress();
    }
    MPI_Status status = wait_for(sent[2]);
    ck_assert(ompi_status_is_cancelled(&status));
    status = wait_for(got);
    check_status(&status, 4, MPI_SUCCESS, bytes);
    ck_assert_int_eq(wait_for(sent[0]).MPI_ERROR, MPI_SUCCESS);
    ck_assert(sent[1]->base.is_unreceived);
    ck_assert_int_eq(wait_for(sent[1]).MPI_ERROR, MPI_ERR_PROC_ABORTED);
    ck_assert_int_eq(wait_for(standard).MPI_ERROR, MPI_SUCCESS);
    ck_assert(!is_there(MPI_ANY_TAG));
}

/* Of a communicator that ends. */
static void messages_are_forgotten(void)
{
    ompi_route_t to = {&ompi_comm_world, OMPI_CONTEXT_COLLECTIVE, 0, 7};
    ompi_data_t data = {out, 5, ompi_datatype_of(MPI_BYTE)};
    while (!ops.send_now(&to, &data))
        opal_progress();
    to.context = OMPI_CONTEXT_OWNERSHIP;
    while (!ops.send_now(&to, &data))
        opal_progress();
    ofi_request_t *sent = send_as(OMPI_SEND_STANDARD, 1, out, 100, MPI_BYTE);
    wait_for(sent);
    while (!is_there(1))
        continue;
    ops.forget_context(ompi_comm_world.context);
    ck_assert(!is_there(MPI_ANY_TAG));
    exchange(OMPI_SEND_STANDARD, 8, 0, MPI_ANY_TAG);
}

static void run_all(void)
{
    start();
    every_length_arrives();
    what_is_too_long_is_cut();
    pieces_arrive();
    probes_tell_what_is_there();
    messages_are_taken_out();
    receives_are_cancelled();
    sends_that_have_left_stay(100);
    sends_that_have_left_stay(200000);
    answers_come_in_order();
    messages_are_refused(100);
    messages_are_refused(200000);
    messages_are_forgotten();
    finish();
}

START_TEST(in_each_mode)
{
    find((ofi_tag_mode_t)_i);
    run_all();
}
END_TEST

START_TEST(in_parts)
{
    find((ofi_tag_mode_t)_i);
    choice.info->ep_attr->max_msg_size = 4096;
    run_all();
}
END_TEST

START_TEST(in_parts_of_one_segment)
{
    find((ofi_tag_mode_t)_i);
    choice.info->ep_attr->max_msg_size = 8192;
    choice.info->tx_attr->iov_limit = 1;
    run_all();
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1)
        provider = argv[1];
    TCase *cases = tcase_create("protocol");
    tcase_add_loop_test(cases, in_each_mode, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    tcase_add_loop_test(cases, in_parts, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    tcase_add_loop_test(cases, in_parts_of_one_segment, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    return run_cases(cases);
}
