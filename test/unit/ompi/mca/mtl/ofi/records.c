/* SPDX-License-Identifier: BSD-3-Clause */
/* mtl/ofi: what a rank says that is wrong, old or hostile, with the words that ranks know. It finds
 * no object that it does not name, and no length that is believed; what is honest goes on. */
#include "test/unit/ompi/mca/mtl/ofi/self.h"

enum { LONG_BYTES = 40000, MAX_BYTES = 4096 };

static void begin(void)
{
    find(OFI_TAG_FULL);
    choice.info->ep_attr->max_msg_size = MAX_BYTES;
    start();
    fill();
}

static void progress(void)
{
    for (int i = 0; i < 1000; i++)
        opal_progress();
}

static void say(ofi_control_kind_t kind, uint64_t name, uint64_t bits, uint32_t number)
{
    const ofi_control_t control = {.kind = kind, .name = name, .bits = bits, .number = number};
    ck_assert(ofi_control_send(ofi_peer(0), control));
    progress();
}

static bool has_left;

static void left(ofi_operation_t *operation OPAL_UNUSED,
                 const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    has_left = true;
}

/* A message of the greatest length, with a head. */
static void send_head(uint64_t total)
{
    static const ofi_operation_kind_t kind = {.completed = left};
    static ofi_operation_t operation = {.kind = &kind};
    static unsigned char bytes[MAX_BYTES];
    const ofi_long_head_t head = {.name = 77, .total = total};
    uint64_t bits =
        ofi_tag_of_message(&ofi.tags, ompi_comm_world.context, OMPI_CONTEXT_USER, 0, 1, false);
    memcpy(bytes, &head, sizeof head);
    has_left = false;
    while (fi_tsenddata(ofi.endpoint.ep, bytes, sizeof bytes, NULL, ofi_data_of(0),
                        ofi_peer(0)->address, bits, &operation.context) == -FI_EAGAIN)
        opal_progress();
    ofi_operation_posted(&operation);
    while (!has_left)
        opal_progress();
}

static ofi_request_t *send_long(void)
{
    ofi_request_t *request = send_as(OMPI_SEND_SYNCHRONOUS, 1, out, LONG_BYTES, MPI_BYTE);
    progress();
    ck_assert(!ompi_request_is_done(&request->base.base));
    return request;
}

static void receive_long(ofi_request_t *sent)
{
    MPI_Status status = wait_for(receive(0, 1, in, LONG_BYTES, MPI_BYTE));
    check_status(&status, 1, MPI_SUCCESS, LONG_BYTES);
    ck_assert_int_eq(memcmp(in, out, LONG_BYTES), 0);
    ck_assert_int_eq(wait_for(sent).MPI_ERROR, MPI_SUCCESS);
}

/* The addresses of what is under way are no names, nor are those near a name. */
START_TEST(names_that_were_not_given)
{
    begin();
    ofi_request_t *sent = send_long();
    const uint64_t wrong[] = {0, UINT64_MAX, (uintptr_t)sent, (uintptr_t)sent->parts, 1, 5};
    for (size_t i = 0; i < OPAL_COUNT_OF(wrong); i++) {
        for (ofi_control_kind_t kind = OFI_MATCHED; kind <= OFI_CONTROL_KINDS; kind++)
            say(kind, wrong[i], 0, 1);
    }
    ck_assert(!ompi_request_is_done(&sent->base.base));
    receive_long(sent);
    finish();
}
END_TEST

/* The bits of no send, those of one that waits in vain for a name, and those of one twice. */
START_TEST(answers_about_others)
{
    begin();
    ofi_request_t *sent = send_as(OMPI_SEND_SYNCHRONOUS, 1, out, 10, MPI_BYTE);
    ofi_request_t *is_long = send_long();
    say(OFI_MATCHED, 0, sent->bits + 1, 0);
    say(OFI_REFUSED, 0, sent->bits + 1, 0);
    ck_assert(!ompi_request_is_done(&sent->base.base));
    wait_for(receive(0, 1, in, 10, MPI_BYTE));
    ck_assert_int_eq(wait_for(sent).MPI_ERROR, MPI_SUCCESS);
    say(OFI_MATCHED, 0, is_long->bits, 0);
    ck_assert(!ompi_request_is_done(&is_long->base.base));
    receive_long(is_long);
    finish();
}
END_TEST

/* With the right name, that of the first long message. */
START_TEST(cts_that_do_not_fit)
{
    begin();
    ofi_request_t *sent = send_long();
    uint64_t name = UINT64_C(1) << 32;
    say(OFI_CTS, name, LONG_BYTES + 1, 1);
    say(OFI_CTS, name, 10, 0);
    say(OFI_CTS, name, 10, UINT32_MAX);
    ck_assert(!ompi_request_is_done(&sent->base.base));
    receive_long(sent);
    finish();
}
END_TEST

START_TEST(heads_that_are_none)
{
    begin();
    ofi_request_t *got = receive(0, 1, in, LONG_BYTES, MPI_BYTE);
    ofi_peer(0);
    send_head(5);
    progress();
    send_head(MAX_BYTES - 1);
    ck_assert(!is_done(got));
    ofi_request_t *sent = send_as(OMPI_SEND_STANDARD, 1, out, LONG_BYTES, MPI_BYTE);
    MPI_Status status = wait_for(got);
    check_status(&status, 1, MPI_SUCCESS, LONG_BYTES);
    ck_assert_int_eq(memcmp(in, out, LONG_BYTES), 0);
    wait_for(sent);

    /* One that was taken out of the matching cannot be waited for again. */
    ompi_mtl_message_t *message = NULL;
    send_head(5);
    ck_assert(probe(1, &message, &status));
    check_status(&status, 1, MPI_SUCCESS, MAX_BYTES);
    got = request_of(0, 1, in, LONG_BYTES, MPI_BYTE);
    ck_assert_int_eq(ops.receive_message(&got->base, message), MPI_SUCCESS);
    ck_assert_int_eq(wait_for(got).MPI_ERROR, MPI_ERR_OTHER);
    finish();
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("records");
    tcase_add_test(cases, names_that_were_not_given);
    tcase_add_test(cases, answers_about_others);
    tcase_add_test(cases, cts_that_do_not_fit);
    tcase_add_test(cases, heads_that_are_none);
    return run_cases(cases);
}
