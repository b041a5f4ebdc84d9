/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/process/port.c, port_dial.c, port_stream.c, port_link.c and port_name.c: who knows a port
 * meets its owner, and nobody else does; both ends are in this process.
 */
#include "opal/process/port.h"

#include <arpa/inet.h>

#include "opal/process/port_stream.h"
#include "test/unit/opal/progress/sleeper.h"

static opal_port_t *port;
static opal_port_name_t name; /* its */

static const uint64_t second_nsec = 1000000000;

static void begin(void)
{
    open_waiting();
    ck_assert_int_eq(opal_port_open(&port), OPAL_SUCCESS);
    ck_assert(opal_port_name_parse(&name, opal_port_name(port)));
}

static void finish(opal_meeting_t *meeting)
{
    opal_wait_until(&meeting->done, NULL);
}

/* -- meetings -------------------------------------------------------------------------------- */

/* Bytes of two lengths, of several chunks, go both ways. */
static void swap(opal_meeting_t *one, opal_meeting_t *other)
{
    static unsigned char forth[30000], back[5];
    memset(forth, 3, sizeof forth);
    memset(back, 4, sizeof back);
    opal_meeting_swap(one, forth, sizeof forth, 0);
    opal_meeting_swap(other, back, sizeof back, 30 * second_nsec);
    finish(one);
    finish(other);
    ck_assert_int_eq(one->status, OPAL_SUCCESS);
    ck_assert_int_eq(other->status, OPAL_SUCCESS);
    ck_assert_uint_eq(one->received_bytes, sizeof back);
    ck_assert_mem_eq(one->received, back, sizeof back);
    ck_assert_uint_eq(other->received_bytes, sizeof forth);
    ck_assert_mem_eq(other->received, forth, sizeof forth);
    free(one->received);
    free(other->received);
}

static void meet(opal_meeting_t *acceptor, opal_meeting_t *connector)
{
    opal_meeting_accept(acceptor, port, 0);
    opal_meeting_connect(connector, opal_port_name(port), 0);
    finish(acceptor);
    finish(connector);
    ck_assert_int_eq(acceptor->status, OPAL_SUCCESS);
    ck_assert_int_eq(connector->status, OPAL_SUCCESS);
}

START_TEST(they_meet_and_swap)
{
    begin();
    unsigned before = unit_descriptors();
    for (int round = 0; round < 3; round++) {
        opal_meeting_t acceptor, connector;
        meet(&acceptor, &connector);
        ck_assert_uint_eq(opal_meeting_number(&acceptor), opal_meeting_number(&connector));
        swap(&acceptor, &connector);
        swap(&connector, &acceptor);
        opal_meeting_end(&acceptor);
        opal_meeting_end(&connector);
    }
    ck_assert_uint_eq(unit_descriptors(), before);
    opal_port_close_all();
    ck_assert_uint_eq(unit_descriptors(), before - 1);
}
END_TEST

START_TEST(accepts_and_callers_meet_in_pairs)
{
    enum { PAIRS = 100 };
    static opal_meeting_t acceptors[PAIRS], connectors[PAIRS];
    begin();
    for (int i = 0; i < PAIRS; i++) {
        opal_meeting_connect(&connectors[i], opal_port_name(port), 0);
        if (i % 2 == 0)
            opal_meeting_accept(&acceptors[i], port, 0);
    }
    for (int i = 1; i < PAIRS; i += 2)
        opal_meeting_accept(&acceptors[i], port, 0);
    for (int i = 0; i < PAIRS; i++) {
        finish(&acceptors[i]);
        finish(&connectors[i]);
        ck_assert_int_eq(acceptors[i].status, OPAL_SUCCESS);
        ck_assert_int_eq(connectors[i].status, OPAL_SUCCESS);
    }
    for (int i = 0; i < PAIRS; i++) {
        opal_meeting_end(&acceptors[i]);
        opal_meeting_end(&connectors[i]);
    }
    opal_port_close_all();
}
END_TEST

/* Both meet over sockets of the program. */
static void join_both(opal_meeting_t *one, opal_meeting_t *other, int fds[2])
{
    open_waiting();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    opal_meeting_join(one, fds[0], 0);
    opal_meeting_join(other, fds[1], 0);
    finish(one);
    finish(other);
    ck_assert_int_eq(one->status, OPAL_SUCCESS);
}

START_TEST(sockets_of_the_program_are_joined)
{
    int fds[2];
    opal_meeting_t one, other;
    join_both(&one, &other, fds);
    swap(&one, &other);
    swap(&other, &one);
    opal_meeting_end(&one);
    opal_meeting_end(&other);
    /* The descriptors are still the program's, and nothing was read that was not to be. */
    ck_assert_int_eq(send(fds[0], "x", 1, 0), 1);
    char byte;
    ck_assert_int_eq(recv(fds[1], &byte, 1, 0), 1);
    opal_meeting_join(&one, STDIN_FILENO, 0);
    ck_assert_int_eq(one.status, OPAL_ERR_BAD_PARAM);
}
END_TEST

/* -- those who do not meet ------------------------------------------------------------------- */

static opal_status_t connect_to(const char *text, uint64_t timeout_nsec)
{
    opal_meeting_t connector;
    opal_meeting_connect(&connector, text, timeout_nsec);
    finish(&connector);
    ck_assert(connector.status == OPAL_SUCCESS || strlen(connector.trouble) > 20);
    opal_meeting_end(&connector);
    return connector.status;
}

START_TEST(time_limits_end_steps)
{
    opal_meeting_t meeting;
    begin();
    ck_assert_int_eq(connect_to(opal_port_name(port), second_nsec / 20), OPAL_ERR_TIMEOUT);
    opal_meeting_accept(&meeting, port, second_nsec / 20); /* its caller has gone */
    finish(&meeting);
    ck_assert_int_eq(meeting.status, OPAL_ERR_TIMEOUT);
    opal_meeting_end(&meeting);
}
END_TEST

/* As one that was stopped after the handshake: it reads nothing and sends nothing. */
START_TEST(a_peer_that_falls_silent_ends_the_swap)
{
    static unsigned char much[8 << 20]; /* more than the sockets hold */
    int fds[2];
    opal_meeting_t one, silent;
    join_both(&one, &silent, fds);
    opal_descriptor_want(&silent.stream->descriptor, 0);
    opal_meeting_swap(&one, much, sizeof much, second_nsec / 20);
    finish(&one);
    ck_assert_int_eq(one.status, OPAL_ERR_TIMEOUT);
    ck_assert_ptr_null(one.received);
    unit_assert_part(one.trouble, "not answered within 0.05 s");
    unit_assert_part(one.trouble, " of 8388608 bytes were sent, and 0 of its");
    ck_assert_ptr_null(strstr(one.trouble, "8388608 of 8388608"));
    opal_meeting_end(&one);
    opal_meeting_end(&silent);
}
END_TEST

START_TEST(a_closed_port_is_not_there)
{
    char text[OPAL_PORT_NAME_BYTES];
    opal_meeting_t acceptor, connector;
    begin();
    strcpy(text, opal_port_name(port));
    ck_assert_ptr_eq(opal_port_find(text), port);
    opal_meeting_accept(&acceptor, port, 0);
    opal_port_close(port);
    ck_assert_int_eq(acceptor.status, OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_null(opal_port_find(text));
    opal_meeting_connect(&connector, text, 0);
    finish(&connector);
    ck_assert_int_eq(connector.status, OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(connector.trouble, "127.0.0.1"));
    ck_assert_ptr_nonnull(strstr(connector.trouble, "refused"));
    ck_assert_int_eq(connect_to("mica:1:hello", 0), OPAL_ERR_BAD_PARAM);
}
END_TEST

/* The accept goes on, and nothing that is logged has the key. */
START_TEST(a_guessed_port_is_refused)
{
    char text[OPAL_PORT_NAME_BYTES], key[2 * OPAL_PORT_KEY_BYTES + 1];
    opal_meeting_t acceptor, connector;
    begin();
    unit_capture();
    for (size_t i = 0; i < sizeof name.key; i++)
        sprintf(key + 2 * i, "%02x", name.key[i]);
    opal_meeting_accept(&acceptor, port, 0);
    name.key[OPAL_PORT_KEY_BYTES - 1] ^= 1;
    opal_port_name_print(&name, text);
    opal_meeting_connect(&connector, text, second_nsec / 5);
    finish(&connector);
    ck_assert(connector.status == OPAL_ERR_TIMEOUT || connector.status == OPAL_ERR_NOT_FOUND);
    opal_meeting_end(&connector);
    ck_assert_ptr_nonnull(strstr(unit_stderr(), "no proof of the port's key"));
    ck_assert_ptr_null(strstr(unit_stderr(), key));
    ck_assert_int_eq(atomic_load(&acceptor.done), 0);
    opal_meeting_connect(&connector, opal_port_name(port), 0);
    finish(&connector);
    finish(&acceptor);
    ck_assert_int_eq(acceptor.status, OPAL_SUCCESS);
}
END_TEST

/* -- links ----------------------------------------------------------------------------------- */

static opal_link_t connector_link, acceptor_link;
static unsigned char recorded[4096]; /* what the connector has said */
static size_t recorded_bytes;

static void carry(opal_link_t *from, opal_link_t *to)
{
    const unsigned char *bytes;
    size_t length;
    while ((length = opal_link_output(from, &bytes)) > 0) {
        size_t part = opal_link_wants(to);
        part = part < length ? part : length;
        if (part == 0)
            return;
        if (from == &connector_link && recorded_bytes + part <= sizeof recorded) {
            memcpy(recorded + recorded_bytes, bytes, part);
            recorded_bytes += part;
        }
        opal_link_feed(to, bytes, part);
        opal_link_sent(from, part);
    }
}

static void shake_hands(void)
{
    static const unsigned char key[OPAL_PORT_KEY_BYTES] = {7};
    unsigned char nonces[2][OPAL_LINK_NONCE_BYTES];
    ck_assert_int_eq(opal_secret_random(nonces, sizeof nonces), OPAL_SUCCESS);
    recorded_bytes = 0;
    opal_link_begin(&connector_link, OPAL_LINK_CONNECTOR, key, nonces[0]);
    opal_link_begin(&acceptor_link, OPAL_LINK_ACCEPTOR, key, nonces[1]);
    carry(&connector_link, &acceptor_link);
    carry(&acceptor_link, &connector_link);
    carry(&connector_link, &acceptor_link);
    ck_assert_int_eq(acceptor_link.state, OPAL_LINK_PROVEN);
    ck_assert_int_eq(connector_link.state, OPAL_LINK_PROVING);
    opal_link_admit(&acceptor_link);
    carry(&acceptor_link, &connector_link);
    ck_assert_int_eq(connector_link.state, OPAL_LINK_OPEN);
}

/* What a connector has said before is no proof on another connection. */
START_TEST(a_replay_is_refused)
{
    static const unsigned char key[OPAL_PORT_KEY_BYTES] = {7};
    unsigned char nonce[OPAL_LINK_NONCE_BYTES];
    shake_hands();
    ck_assert_int_eq(opal_secret_random(nonce, sizeof nonce), OPAL_SUCCESS);
    opal_link_begin(&acceptor_link, OPAL_LINK_ACCEPTOR, key, nonce);
    opal_link_feed(&acceptor_link, recorded, recorded_bytes);
    ck_assert_int_eq(acceptor_link.state, OPAL_LINK_FAILED);
    ck_assert_ptr_nonnull(strstr(acceptor_link.trouble, "no proof"));
}
END_TEST

/* The text does not travel in clear, and a changed bit ends the link. */
START_TEST(messages_are_sealed)
{
    static const char secret[] = "the key of a job, which nobody may read";
    const unsigned char *bytes;
    size_t length;
    for (size_t changed = 0; changed < sizeof secret + 36; changed++) {
        unsigned char copy[OPAL_LINK_ROOM_BYTES];
        shake_hands();
        opal_link_send(&connector_link, secret, sizeof secret);
        length = opal_link_output(&connector_link, &bytes);
        ck_assert_uint_eq(length, sizeof secret + 36);
        ck_assert_ptr_null(memmem(bytes, length, secret, 8));
        memcpy(copy, bytes, length);
        copy[changed] ^= 1;
        opal_link_feed(&acceptor_link, copy, length);
        ck_assert(!acceptor_link.has_message);
        if (changed > 1) /* else it may wait for a longer chunk */
            ck_assert_int_eq(acceptor_link.state, OPAL_LINK_FAILED);
        opal_link_end(&acceptor_link);
    }
}
END_TEST

/* -- names ----------------------------------------------------------------------------------- */

START_TEST(names_come_back)
{
    char text[OPAL_PORT_NAME_BYTES], again[OPAL_PORT_NAME_BYTES];
    opal_port_name_t made = {.number = 65535, .count = OPAL_PORT_ADDRESSES}, read_name;
    memset(made.key, 0xab, sizeof made.key);
    for (size_t i = 0; i < made.count; i++) {
        made.addresses[i] = i % 2 == 0
                                ? (opal_port_address_t){.s6_addr = {[10] = 0xff, [11] = 0xff}}
                                : in6addr_loopback;
        made.addresses[i].s6_addr[15] = (unsigned char)(i + 1);
    }
    opal_port_name_print(&made, text);
    ck_assert(opal_port_name_parse(&read_name, text));
    ck_assert_mem_eq(&read_name, &made, sizeof made);
    for (size_t length = 0; length < strlen(text); length++) {
        memcpy(again, text, length);
        again[length] = 0;
        if (opal_port_name_parse(&read_name, again)) /* it ends behind an address */
            ck_assert_uint_lt(read_name.count, made.count + 1);
    }
    static const char *const wrong[] = {"", "mica:2:", "mica:1::1:2:", "hello", "mica:1:00"};
    for (size_t i = 0; i < OPAL_COUNT_OF(wrong); i++)
        ck_assert(!opal_port_name_parse(&read_name, wrong[i]));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &they_meet_and_swap},
    {.test = &accepts_and_callers_meet_in_pairs},
    {.test = &sockets_of_the_program_are_joined},
    {.test = &time_limits_end_steps},
    {.test = &a_peer_that_falls_silent_ends_the_swap},
    {.test = &a_closed_port_is_not_there},
    {.test = &a_guessed_port_is_refused},
    {.test = &a_replay_is_refused},
    {.test = &messages_are_sealed},
    {.test = &names_come_back},
};

UNIT_MAIN("port", tests, set_up_sleeper);
