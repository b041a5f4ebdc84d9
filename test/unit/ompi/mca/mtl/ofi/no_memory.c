/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl/ofi without memory: what cannot be done is an error of its call or request, the other side
 * hears of it, and everything ends. libfabric itself, which is another library, has its memory.
 */
#include "test/unit/ompi/mca/mtl/ofi/self.h"

#include "test/unit/opal/no_memory.h"

enum { LONG_BYTES = 40000, MAX_BYTES = 4096, MESSAGES = 5, MOST_ALLOCATIONS = 40 };

static ofi_request_t *requests[2 * MESSAGES];

/* With long messages; `injects`: what peers wait for needs no memory. */
static void begin(ofi_tag_mode_t mode, bool injects)
{
    find(mode);
    choice.info->ep_attr->max_msg_size = MAX_BYTES;
    if (!injects)
        choice.info->tx_attr->inject_size = 0;
    start();
    fill();
}

/* Until all of them are done, without memory. */
static bool end_without_memory(ofi_request_t *const *ending, int count)
{
    bool done = false;
    unit_allocations = 0;
    for (int i = 0; i < 1000000 && !done; i++) {
        opal_progress();
        done = true;
        for (int k = 0; k < count; k++)
            done = done && ompi_request_is_done(&ending[k]->base.base);
    }
    unit_allocations = UINT_MAX;
    return done;
}

static void leave_be(ofi_request_t *request)
{
    ops.release(&request->base);
    free(request);
}

static int try_send(ompi_send_mode_t mode, size_t bytes, unsigned allocations)
{
    ofi_request_t *request = request_of(0, 1, out, bytes, MPI_BYTE);
    request->base.is_send = true;
    request->base.mode = mode;
    unit_allocations = allocations;
    int error = ops.send(&request->base);
    unit_allocations = UINT_MAX;
    if (error == MPI_SUCCESS) {
        wait_for(receive(0, 1, in, bytes, MPI_BYTE));
        wait_for(request);
    } else {
        leave_be(request);
    }
    return error;
}

START_TEST(sends_fail)
{
    begin((ofi_tag_mode_t)_i, true);
    ck_assert_int_eq(try_send(OMPI_SEND_STANDARD, LONG_BYTES, 0), MPI_ERR_NO_MEM);
    ck_assert_int_eq(try_send(OMPI_SEND_SYNCHRONOUS, LONG_BYTES, 0), MPI_ERR_NO_MEM);
    finish();
    begin((ofi_tag_mode_t)_i, false); /* whose addresses are not known yet */
    ck_assert_int_eq(try_send(OMPI_SEND_STANDARD, 100, 0), MPI_ERR_NO_MEM);
    ck_assert_int_eq(try_send(OMPI_SEND_STANDARD, 100, UINT_MAX), MPI_SUCCESS);
    ck_assert_int_eq(try_send(OMPI_SEND_STANDARD, 100, 0), MPI_SUCCESS);
    finish();
}
END_TEST

/* The receives fail; their senders are told, which need not wait for ever. */
static void receive_long(bool injects, int messages)
{
    for (int i = 0; i < messages; i++) {
        requests[2 * i] = receive(0, i, in + i * LONG_BYTES, LONG_BYTES, MPI_BYTE);
        requests[2 * i + 1] = send_as(OMPI_SEND_SYNCHRONOUS, i, out, LONG_BYTES, MPI_BYTE);
    }
    ck_assert_msg(end_without_memory(requests, 2 * messages), "%d messages end, injected: %d",
                  messages, injects);
    for (int i = 0; i < messages; i++) {
        MPI_Status status = wait_for(requests[2 * i]);
        check_status(&status, i, MPI_ERR_NO_MEM, 0);
        ck_assert_int_eq(wait_for(requests[2 * i + 1]).MPI_ERROR, MPI_SUCCESS);
    }
}

START_TEST(long_receives_fail)
{
    for (int injects = 0; injects < 2; injects++) {
        begin((ofi_tag_mode_t)_i, injects != 0);
        receive_long(injects, 1);
        receive_long(injects, MESSAGES);
        wait_for(send_as(OMPI_SEND_STANDARD, 1, out, 10, MPI_BYTE));
        wait_for(receive(0, 1, in, 10, MPI_BYTE));
        finish();
    }
}
END_TEST

START_TEST(answers_leave)
{
    begin((ofi_tag_mode_t)_i, false);
    for (int i = 0; i < MESSAGES; i++) {
        requests[2 * i] = receive(0, i, in, 100, MPI_BYTE);
        requests[2 * i + 1] = send_as(OMPI_SEND_SYNCHRONOUS, i, out, 100, MPI_BYTE);
    }
    ck_assert(end_without_memory(requests, 2 * MESSAGES));
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Status status = wait_for(requests[2 * i]);
        check_status(&status, i, MPI_SUCCESS, 100);
        ck_assert_int_eq(wait_for(requests[2 * i + 1]).MPI_ERROR, MPI_SUCCESS);
    }
    finish();
}
END_TEST

static int probe_without_memory(ompi_mtl_message_t **message, bool *found)
{
    ompi_route_t from = {&ompi_comm_world, OMPI_CONTEXT_USER, 0, 1};
    MPI_Status status;
    unit_allocations = 0;
    int error = ops.probe(&from, found, message, &status);
    unit_allocations = UINT_MAX;
    return error;
}

START_TEST(probes_fail)
{
    static const size_t bytes[] = {100, LONG_BYTES};
    MPI_Status status;
    begin((ofi_tag_mode_t)_i, true);
    for (size_t i = 0; i < OPAL_COUNT_OF(bytes); i++) {
        ompi_mtl_message_t *message = NULL;
        bool found = true;
        ofi_request_t *sent = send_as(OMPI_SEND_STANDARD, 1, out, bytes[i], MPI_BYTE);
        /* Until it is there a probe finds nothing, for which no memory is needed. */
        for (int k = 0; k < 200; k++)
            opal_progress();
        ck_assert_int_eq(probe_without_memory(&message, &found), MPI_ERR_NO_MEM);
        ck_assert(!found && message == NULL);
        ck_assert(probe(1, &message, &status));
        check_status(&status, 1, MPI_SUCCESS, bytes[i]);
        ofi_request_t *got = request_of(0, 1, in, bytes[i], MPI_BYTE);
        ck_assert_int_eq(ops.receive_message(&got->base, message), MPI_SUCCESS);
        wait_for(got);
        wait_for(sent);
    }
    finish();
}
END_TEST

/* What a probe has taken, and there is no memory to receive, is the next receive's. */
START_TEST(taken_messages_stay)
{
    MPI_Datatype pieces;
    ompi_mtl_message_t *message = NULL;
    MPI_Status status;
    begin((ofi_tag_mode_t)_i, true);
    MPI_Type_vector(10, 1, 2, MPI_INT, &pieces);
    MPI_Type_commit(&pieces);
    ofi_request_t *sent = send_as(OMPI_SEND_SYNCHRONOUS, 1, out, 40, MPI_BYTE);
    while (!probe(1, &message, &status))
        continue;
    ofi_request_t *got = request_of(0, 1, in, 1, pieces);
    unit_allocations = 0;
    int error = ops.receive_message(&got->base, message);
    unit_allocations = UINT_MAX;
    ck_assert_int_eq(error, MPI_ERR_NO_MEM);
    leave_be(got);
    status = wait_for(receive(0, 1, in, 40, MPI_BYTE));
    check_status(&status, 1, MPI_SUCCESS, 40);
    ck_assert_int_eq(wait_for(sent).MPI_ERROR, MPI_SUCCESS);
    MPI_Type_free(&pieces);
    finish();
}
END_TEST

/* A message is received in order to be thrown away. */
START_TEST(contexts_are_not_forgotten)
{
    begin((ofi_tag_mode_t)_i, true);
    ofi_request_t *sent = send_as(OMPI_SEND_STANDARD, 1, out, 100, MPI_BYTE);
    while (!is_there(1))
        continue;
    unit_allocations = 0;
    bool forgotten = ops.forget_context(ompi_comm_world.context);
    unit_allocations = UINT_MAX;
    ck_assert(!forgotten && is_there(1));
    ck_assert(ops.forget_context(ompi_comm_world.context));
    ck_assert(!is_there(1));
    wait_for(sent);
    finish();
}
END_TEST

START_TEST(refusals_wait)
{
    begin((ofi_tag_mode_t)_i, true);
    ofi_request_t *sent = send_as(OMPI_SEND_SYNCHRONOUS, 1, out, 100, MPI_BYTE);
    ck_assert(!is_done(sent));
    unit_allocations = 0;
    bool any = ops.finalize_drain();
    unit_allocations = UINT_MAX;
    ck_assert(!any && !is_done(sent));
    while (!ompi_request_is_done(&sent->base.base)) {
        ops.finalize_drain();
        opal_progress();
    }
    ck_assert_int_eq(wait_for(sent).MPI_ERROR, MPI_ERR_PROC_ABORTED);
    finish();
}
END_TEST

/* Wherever memory ends, both sides end. */
static void exchange_with(unsigned allocations, ompi_send_mode_t mode, size_t bytes)
{
    ofi_request_t *got = request_of(0, 1, in, bytes, MPI_BYTE);
    ofi_request_t *sent = request_of(0, 1, out, bytes, MPI_BYTE);
    sent->base.is_send = true;
    sent->base.mode = mode;
    unit_allocations = allocations;
    int got_error = ops.receive(&got->base), sent_error = ops.send(&sent->base);
    for (int i = 0; i < 2000; i++)
        opal_progress();
    unit_allocations = UINT_MAX;
    ck_assert(got_error == MPI_SUCCESS || got_error == MPI_ERR_NO_MEM);
    ck_assert(sent_error == MPI_SUCCESS || sent_error == MPI_ERR_NO_MEM);
    if (got_error != MPI_SUCCESS && sent_error == MPI_SUCCESS)
        wait_for(receive(0, 1, in, bytes, MPI_BYTE));
    if (sent_error != MPI_SUCCESS && got_error == MPI_SUCCESS)
        wait_for(send_as(OMPI_SEND_STANDARD, 1, out, bytes, MPI_BYTE));
    int error = got_error == MPI_SUCCESS ? wait_for(got).MPI_ERROR : MPI_SUCCESS;
    ck_assert(error == MPI_SUCCESS || error == MPI_ERR_NO_MEM);
    if (sent_error == MPI_SUCCESS)
        ck_assert_int_eq(wait_for(sent).MPI_ERROR, MPI_SUCCESS);
    if (got_error != MPI_SUCCESS)
        leave_be(got);
    if (sent_error != MPI_SUCCESS)
        leave_be(sent);
}

START_TEST(exchanges_end)
{
    static const size_t bytes[] = {0, 100, MAX_BYTES, LONG_BYTES};
    for (unsigned allocations = 0; allocations < MOST_ALLOCATIONS; allocations++) {
        begin((ofi_tag_mode_t)_i, allocations % 2 == 0);
        for (size_t i = 0; i < OPAL_COUNT_OF(bytes); i++) {
            exchange_with(allocations / 2, OMPI_SEND_STANDARD, bytes[i]);
            exchange_with(allocations / 2, OMPI_SEND_SYNCHRONOUS, bytes[i]);
        }
        finish();
    }
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("no_memory");
    tcase_add_loop_test(cases, sends_fail, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    tcase_add_loop_test(cases, long_receives_fail, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    tcase_add_loop_test(cases, answers_leave, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    tcase_add_loop_test(cases, probes_fail, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    tcase_add_loop_test(cases, taken_messages_stay, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    tcase_add_loop_test(cases, contexts_are_not_forgotten, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    tcase_add_loop_test(cases, refusals_wait, OFI_TAG_1, OFI_TAG_MODE_COUNT);
    tcase_add_loop_test(cases, exchanges_end, OFI_TAG_FULL, OFI_TAG_FULL + 1);
    return run_cases(cases);
}
