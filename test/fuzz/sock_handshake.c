/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A go-between on the wire of two honest ends of btl/sock's handshake. An input is a row of
 * pieces:
 *
 *   byte 0   what happens, modulo 8:
 *            0 1  the bytes that follow go to the initiator, to the acceptor
 *            2 3  so many bytes go on from the initiator, from the acceptor
 *            4    the first byte that goes on next is changed by the number (xor)
 *            5    a new initiator, a new acceptor, or both: of the same ranks
 *            6    the acceptor answers, if it is asked
 *            7    one of them gives up
 *   byte 1   the number
 *
 * Whatever comes: nobody who has not the key gets further than to be asked for it. An acceptor
 * believes in its peer only if an initiator has seen the same hello and the same challenge, and an
 * initiator in a verdict only if the acceptor has given it. Few bytes are taken and few are sent.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/sock/handshake.h"
#include "opal/util/sha256.h"
#include "opal/util/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { LOW = 3, HIGH = 5, SIZE = 8, MOST_TAKEN = SOCK_HELLO_BYTES + SOCK_PROOF_BYTES };

typedef struct end {
    sock_shake_t shake;
    bool is_noted;
    size_t taken; /* by it, of what it was fed */
    size_t given; /* by it, to be sent */
} end_t;

static end_t initiator, acceptor;
static sock_identity_t low, high;
static uint8_t change;
static uint32_t nonces;

/* What the honest ones have said by the key: digests of hello, challenge and verdict, 0 for an
 * initiator's proof. */
static unsigned char (*said)[OPAL_SHA256_BYTES];
static size_t said_count;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void make_nonce(unsigned char nonce[SOCK_NONCE_BYTES])
{
    memset(nonce, 1, SOCK_NONCE_BYTES);
    opal_put_le32(nonce, ++nonces);
}

static void digest(const sock_shake_t *shake, uint8_t verdict, unsigned char to[OPAL_SHA256_BYTES])
{
    opal_sha256_t hash;
    opal_sha256_begin(&hash);
    opal_sha256_add(&hash, &verdict, 1);
    opal_sha256_add(&hash, shake->hello, sizeof shake->hello);
    opal_sha256_add(&hash, shake->challenge, sizeof shake->challenge);
    opal_sha256_end(&hash, to);
}

static void note(const sock_shake_t *shake, uint8_t verdict)
{
    said = opal_xrealloc(said, (said_count + 1) * sizeof *said);
    digest(shake, verdict, said[said_count++]);
}

static bool was_said(const sock_shake_t *shake, uint8_t verdict)
{
    unsigned char wanted[OPAL_SHA256_BYTES];
    digest(shake, verdict, wanted);
    for (size_t i = 0; i < said_count; i++) {
        if (memcmp(said[i], wanted, sizeof wanted) == 0)
            return true;
    }
    return false;
}

static void renew(bool one, bool other)
{
    unsigned char nonce[SOCK_NONCE_BYTES];
    if (one) {
        make_nonce(nonce);
        initiator = (end_t){.taken = 0};
        sock_shake_connect(&initiator.shake, &low, HIGH, 0, nonce);
    }
    if (other) {
        make_nonce(nonce);
        acceptor = (end_t){.taken = 0};
        sock_shake_accept(&acceptor.shake, &high, nonce);
    }
}

static void feed(end_t *end, const uint8_t *bytes, size_t length)
{
    size_t wanted = sock_shake_wants(&end->shake), was_taken = end->taken;
    sock_shake_state_t before = end->shake.state;
    require((wanted == 0) == (before != SOCK_SHAKE_MORE), "who is not done wants more");
    require(wanted <= SOCK_HELLO_BYTES, "no more than a message is wanted");
    end->taken += sock_shake_feed(&end->shake, bytes, length);
    require(end->taken - was_taken <= length, "no more is taken than there is");
    require(end->taken <= MOST_TAKEN, "little is taken in all");
    require(before != SOCK_SHAKE_MORE || end->shake.state != SOCK_SHAKE_MORE ||
                end->taken - was_taken == length,
            "who needs more has taken all");
}

static void carry(end_t *from, end_t *to, size_t most)
{
    uint8_t bytes[256];
    const unsigned char *output;
    size_t length = sock_shake_output(&from->shake, &output);
    require(length <= MOST_TAKEN, "little waits to be sent");
    if (length > most)
        length = most;
    if (length == 0)
        return;
    memcpy(bytes, output, length);
    bytes[0] ^= change;
    change = 0;
    sock_shake_sent(&from->shake, length);
    from->given += length;
    require(from->given <= MOST_TAKEN, "little is sent in all");
    feed(to, bytes, length);
}

static void check(void)
{
    const sock_shake_t *one = &initiator.shake, *other = &acceptor.shake;
    char text[SOCK_EXPLANATION_BYTES];
    if (one->has_challenge && !initiator.is_noted) {
        initiator.is_noted = true;
        note(one, 0);
    }
    if (one->state == SOCK_SHAKE_DONE || one->reason == SOCK_CROSSED)
        require(was_said(one, (uint8_t)one->reason), "an acceptor has told the initiator");
    if (other->state == SOCK_SHAKE_ASKS || other->state == SOCK_SHAKE_DONE ||
        other->reason == SOCK_CROSSED) {
        require(was_said(other, 0), "an initiator has told the acceptor");
        require(other->peer == LOW && other->link == 0, "the peer is the peer");
    }
    require(one->state != SOCK_SHAKE_ASKS, "an initiator asks nobody");
    require(one->state != SOCK_SHAKE_REFUSED || one->reason > SOCK_ACCEPTED, "there is a reason");
    require(strlen(sock_shake_explain(one, text)) > 0, "there is an explanation");
    require(strlen(sock_shake_explain(other, text)) > 0, "there is an explanation");
}

static void answer(uint8_t number)
{
    static const sock_reason_t answers[] = {SOCK_ACCEPTED, SOCK_CROSSED, SOCK_BUSY};
    if (acceptor.shake.state != SOCK_SHAKE_ASKS)
        return;
    sock_shake_answer(&acceptor.shake, answers[number % 3]);
    note(&acceptor.shake, (uint8_t)answers[number % 3]);
}

static const uint8_t *play(const uint8_t *bytes, const uint8_t *end)
{
    uint8_t what = bytes[0] % 8, number = bytes[1];
    bytes += 2;
    size_t length = number < end - bytes ? number : (size_t)(end - bytes);
    switch (what) {
    case 0:
    case 1:
        feed(what == 0 ? &initiator : &acceptor, bytes, length);
        bytes += length;
        break;
    case 2:
        carry(&initiator, &acceptor, number);
        break;
    case 3:
        carry(&acceptor, &initiator, number);
        break;
    case 4:
        change = number;
        break;
    case 5:
        renew(number % 3 != 1, number % 3 != 0);
        break;
    case 6:
        answer(number);
        break;
    default:
        sock_shake_give_up(number % 2 == 0 ? &initiator.shake : &acceptor.shake,
                           number % 3 == 0   ? SOCK_TIMED_OUT
                           : number % 3 == 1 ? SOCK_CLOSED
                                             : SOCK_BUSY);
        break;
    }
    check();
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const uint8_t *end = bytes + length;
    low = (sock_identity_t){.rank = LOW, .size = SIZE, .links = 1, .version = SOCK_WIRE_VERSION};
    memset(low.key, 7, sizeof low.key);
    sock_identity_set_job(&low, "fuzz");
    high = low;
    high.rank = HIGH;
    change = 0;
    nonces = 0;
    said_count = 0;
    renew(true, true);
    while (end - bytes >= 2)
        bytes = play(bytes, end);
    free(said);
    said = NULL;
    return 0;
}
