/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of a handshake. Only make_mac computes with the job's key. See handshake.h.
 */
#include "opal/mca/btl/sock/handshake.h"

#include <assert.h>
#include <stdio.h>

#include "opal/include/compiler.h"
#include "opal/util/sha256.h"

const char *sock_reason_text(sock_reason_t reason)
{
    switch (reason) {
#define REASON_TEXT(number, name, text)                                                            \
    case SOCK_##name:                                                                              \
        return text;
        SOCK_REASON_TABLE(REASON_TEXT)
#undef REASON_TEXT
    default:
        return "no reason";
    }
}

void sock_identity_set_job(sock_identity_t *identity, const char *job_id)
{
    opal_sha256(job_id, strlen(job_id), identity->job);
    memcpy(identity->tag, identity->job, sizeof identity->tag);
}

void sock_identity_meet_job(sock_identity_t *identity, const unsigned char job[32],
                            const unsigned char key[32])
{
    memcpy(identity->job, job, sizeof identity->job);
    memcpy(identity->key, key, sizeof identity->key);
}

/* -- what is sent --------------------------------------------------------------------------- */

static unsigned char *add_message(sock_shake_t *shake, sock_message_t message, size_t length)
{
    const sock_prefix_t prefix = {
        .version = shake->identity->version, .order = SOCK_OWN_ORDER, .message = (uint8_t)message};
    unsigned char *at = shake->output + shake->put;
    assert(length <= sizeof shake->output - shake->put);
    sock_encode_prefix(at, &prefix);
    shake->put += length;
    return at;
}

/*
 * All parts have fixed lengths, so the signed bytes have one meaning only. `verdict` is 0 in the
 * initiator's proof, so that the proof is not valid as a verdict.
 */
static void make_mac(const sock_shake_t *shake, uint8_t verdict, unsigned char mac[SOCK_MAC_BYTES])
{
    const sock_identity_t *identity = shake->identity;
    const unsigned char role = verdict == 0 ? 'i' : 'a';
    opal_hmac_t hmac;
    opal_hmac_begin(&hmac, identity->key, sizeof identity->key);
    opal_hmac_add(&hmac, &role, 1);
    opal_hmac_add(&hmac, &verdict, 1);
    opal_hmac_add(&hmac, identity->job, sizeof identity->job);
    opal_hmac_add(&hmac, shake->hello, sizeof shake->hello);
    opal_hmac_add(&hmac, shake->challenge, sizeof shake->challenge);
    opal_hmac_end(&hmac, mac);
}

static void end(sock_shake_t *shake, sock_reason_t reason)
{
    shake->state = reason == SOCK_ACCEPTED ? SOCK_SHAKE_DONE : SOCK_SHAKE_REFUSED;
    shake->reason = reason;
}

/* Refuses an initiator that has proven nothing, and sends it the reason. */
static void turn_away(sock_shake_t *shake, sock_reason_t reason)
{
    static const unsigned char no_mac[SOCK_MAC_BYTES];
    unsigned char *at = add_message(shake, SOCK_VERDICT, SOCK_VERDICT_BYTES);
    sock_encode_verdict(at, (uint8_t)reason, no_mac);
    end(shake, reason);
}

static void refuse(sock_shake_t *shake, sock_reason_t reason)
{
    if (shake->is_initiator || reason > SOCK_LAST_VERDICT)
        end(shake, reason);
    else
        turn_away(shake, reason);
}

void sock_shake_connect(sock_shake_t *shake, const sock_identity_t *identity, uint32_t peer,
                        uint16_t link, const unsigned char nonce[SOCK_NONCE_BYTES])
{
    *shake = (sock_shake_t){.identity = identity, .is_initiator = true, .peer = peer, .link = link};
    sock_hello_t hello = {.rank = identity->rank, .target = peer, .link = link};
    memcpy(hello.job, identity->tag, sizeof hello.job);
    memcpy(hello.nonce, nonce, sizeof hello.nonce);
    unsigned char *at = add_message(shake, SOCK_HELLO, SOCK_HELLO_BYTES);
    sock_encode_hello(at, &hello);
    memcpy(shake->hello, at, sizeof shake->hello);
}

/* The challenge is made now, and sent after the hello. */
void sock_shake_accept(sock_shake_t *shake, const sock_identity_t *identity,
                       const unsigned char nonce[SOCK_NONCE_BYTES])
{
    *shake = (sock_shake_t){.identity = identity};
    unsigned char *at = add_message(shake, SOCK_CHALLENGE, SOCK_CHALLENGE_BYTES);
    sock_encode_secret(at, nonce);
    memcpy(shake->challenge, at, sizeof shake->challenge);
    shake->put = 0;
}

/* -- what is received, one function for each message ----------------------------------------- */

static bool is_of_own_job(const sock_identity_t *identity, const sock_hello_t *hello)
{
    return memcmp(hello->job, identity->tag, sizeof hello->job) == 0;
}

static bool is_known(const sock_identity_t *identity, const sock_hello_t *hello)
{
    return is_of_own_job(identity, hello) ||
           (identity->knows != NULL && identity->knows(hello->job, hello->rank));
}

static void take_hello(sock_shake_t *shake)
{
    const sock_identity_t *identity = shake->identity;
    sock_hello_t hello;
    if (!sock_decode_hello(shake->input, &hello)) {
        refuse(shake, SOCK_GARBLED);
        return;
    }
    memcpy(shake->hello, shake->input, sizeof shake->hello);
    shake->peer = hello.rank;
    shake->link = hello.link;
    memcpy(shake->peer_job, hello.job, sizeof shake->peer_job);
    if (!is_known(identity, &hello))
        refuse(shake, SOCK_BAD_JOB);
    else if (is_of_own_job(identity, &hello) &&
             (hello.rank >= identity->size || hello.rank == identity->rank))
        refuse(shake, SOCK_BAD_RANK);
    else if (hello.target != identity->rank)
        refuse(shake, SOCK_BAD_TARGET);
    else if (hello.link >= identity->links)
        refuse(shake, SOCK_BAD_LINK);
    else {
        unsigned char *at = add_message(shake, SOCK_CHALLENGE, SOCK_CHALLENGE_BYTES);
        memcpy(at, shake->challenge, sizeof shake->challenge);
        shake->has_challenge = true;
    }
}

static void take_challenge(sock_shake_t *shake)
{
    unsigned char nonce[SOCK_NONCE_BYTES], mac[SOCK_MAC_BYTES];
    sock_hello_t own;
    sock_decode_hello(shake->hello, &own);
    if (!sock_decode_secret(shake->input, nonce)) {
        refuse(shake, SOCK_GARBLED);
        return;
    }
    if (memcmp(nonce, own.nonce, sizeof nonce) == 0) {
        refuse(shake, SOCK_REFLECTED);
        return;
    }
    memcpy(shake->challenge, shake->input, sizeof shake->challenge);
    shake->has_challenge = true;
    make_mac(shake, 0, mac);
    sock_encode_secret(add_message(shake, SOCK_PROOF, SOCK_PROOF_BYTES), mac);
}

static void take_proof(sock_shake_t *shake)
{
    unsigned char mac[SOCK_MAC_BYTES], right[SOCK_MAC_BYTES];
    if (!sock_decode_secret(shake->input, mac)) {
        refuse(shake, SOCK_GARBLED);
        return;
    }
    make_mac(shake, 0, right);
    if (opal_secret_equal(mac, right, sizeof right))
        shake->state = SOCK_SHAKE_ASKS;
    else
        refuse(shake, SOCK_BAD_PROOF);
}

/* A refusal needs no proof. A verdict that lets this process continue, or wait for another
 * connection, has to be proven. */
static void take_verdict(sock_shake_t *shake)
{
    uint8_t verdict;
    unsigned char mac[SOCK_MAC_BYTES], right[SOCK_MAC_BYTES];
    if (!sock_decode_verdict(shake->input, &verdict, mac) || verdict == 0 ||
        verdict > SOCK_LAST_VERDICT) {
        refuse(shake, SOCK_GARBLED);
        return;
    }
    if (verdict > SOCK_CROSSED) {
        shake->by_peer = true;
        end(shake, (sock_reason_t)verdict);
        return;
    }
    if (!shake->has_challenge) {
        refuse(shake, SOCK_UNPROVEN);
        return;
    }
    make_mac(shake, verdict, right);
    shake->by_peer = opal_secret_equal(mac, right, sizeof right);
    end(shake, shake->by_peer ? (sock_reason_t)verdict : SOCK_BAD_PROOF);
}

/* The length of the message that this prefix begins; 0: no such message may come now. */
static size_t message_bytes(const sock_shake_t *shake, uint8_t message)
{
    if (shake->is_initiator) {
        if (message == SOCK_VERDICT)
            return SOCK_VERDICT_BYTES;
        return message == SOCK_CHALLENGE && !shake->has_challenge ? SOCK_CHALLENGE_BYTES : 0;
    }
    if (message == SOCK_HELLO && !shake->has_challenge)
        return SOCK_HELLO_BYTES;
    return message == SOCK_PROOF && shake->has_challenge ? SOCK_PROOF_BYTES : 0;
}

static bool is_of_own_role(const sock_shake_t *shake, uint8_t message)
{
    if (shake->is_initiator)
        return message == SOCK_HELLO || message == SOCK_PROOF;
    return message == SOCK_CHALLENGE || message == SOCK_VERDICT;
}

static void look_at_prefix(sock_shake_t *shake)
{
    sock_prefix_t prefix;
    if (!sock_decode_prefix(shake->input, &prefix) || prefix.version == 0) {
        refuse(shake, SOCK_GARBLED);
        return;
    }
    shake->peer_version = prefix.version;
    if (prefix.version != shake->identity->version)
        refuse(shake, SOCK_BAD_VERSION);
    else if (is_of_own_role(shake, prefix.message))
        refuse(shake, SOCK_REFLECTED);
    else if (message_bytes(shake, prefix.message) == 0)
        refuse(shake, SOCK_GARBLED);
    else if (prefix.order != SOCK_OWN_ORDER)
        refuse(shake, SOCK_BAD_ORDER);
}

static void take_message(sock_shake_t *shake)
{
    switch ((sock_message_t)shake->input[SOCK_PREFIX_BYTES - 1]) {
    case SOCK_HELLO:
        take_hello(shake);
        break;
    case SOCK_CHALLENGE:
        take_challenge(shake);
        break;
    case SOCK_PROOF:
        take_proof(shake);
        break;
    case SOCK_VERDICT:
        take_verdict(shake);
        break;
    }
    shake->got = 0;
}

/* How many bytes of input are needed for the next check. */
static size_t next_look(const sock_shake_t *shake)
{
    if (shake->got < SOCK_PREFIX_BYTES)
        return SOCK_PREFIX_BYTES;
    return message_bytes(shake, shake->input[SOCK_PREFIX_BYTES - 1]);
}

size_t sock_shake_feed(sock_shake_t *shake, const void *bytes, size_t length)
{
    size_t used = 0;
    while (shake->state == SOCK_SHAKE_MORE && used < length) {
        size_t until = next_look(shake), part = until - shake->got;
        if (part > length - used)
            part = length - used;
        memcpy(shake->input + shake->got, (const unsigned char *)bytes + used, part);
        shake->got += part;
        used += part;
        if (shake->got < until)
            break;
        if (until == SOCK_PREFIX_BYTES)
            look_at_prefix(shake);
        else
            take_message(shake);
    }
    return used;
}

size_t sock_shake_wants(const sock_shake_t *shake)
{
    if (shake->state != SOCK_SHAKE_MORE)
        return 0;
    if (shake->got >= SOCK_PREFIX_BYTES)
        return next_look(shake) - shake->got;
    bool hello = !shake->is_initiator && !shake->has_challenge;
    return (hello ? SOCK_HELLO_BYTES : SOCK_VERDICT_BYTES) -
           shake->got; /* the others have equal lengths */
}

/* -- the decision of the caller --------------------------------------------------------------- */

void sock_shake_answer(sock_shake_t *shake, sock_reason_t verdict)
{
    unsigned char mac[SOCK_MAC_BYTES];
    assert(shake->state == SOCK_SHAKE_ASKS);
    assert(verdict == SOCK_ACCEPTED || verdict == SOCK_CROSSED || verdict == SOCK_BUSY);
    make_mac(shake, (uint8_t)verdict, mac);
    sock_encode_verdict(add_message(shake, SOCK_VERDICT, SOCK_VERDICT_BYTES), (uint8_t)verdict,
                        mac);
    end(shake, verdict);
}

void sock_shake_give_up(sock_shake_t *shake, sock_reason_t reason)
{
    assert(reason > SOCK_CROSSED);
    if (shake->state == SOCK_SHAKE_MORE || shake->state == SOCK_SHAKE_ASKS)
        refuse(shake, reason);
}

size_t sock_shake_output(const sock_shake_t *shake, const unsigned char **bytes)
{
    *bytes = shake->output + shake->sent;
    return shake->put - shake->sent;
}

void sock_shake_sent(sock_shake_t *shake, size_t length)
{
    assert(length <= shake->put - shake->sent);
    shake->sent += length;
    if (shake->sent == shake->put)
        shake->sent = shake->put = 0;
}

void sock_shake_wipe(sock_shake_t *shake)
{
    explicit_bzero(shake, sizeof *shake);
}

/* -- results ----------------------------------------------------------------------------------- */

void sock_shake_count(sock_shake_counts_t *counts, const sock_shake_t *shake)
{
    if (shake->state == SOCK_SHAKE_DONE || shake->state == SOCK_SHAKE_REFUSED)
        counts->of[shake->reason]++;
}

const char *sock_shake_explain(const sock_shake_t *shake, char text[SOCK_EXPLANATION_BYTES])
{
    const sock_identity_t *identity = shake->identity;
    const size_t size = SOCK_EXPLANATION_BYTES;
    sock_hello_t hello = {0};
    sock_decode_hello(shake->hello, &hello);
    if (shake->reason == SOCK_BAD_VERSION && shake->peer_version != identity->version)
        snprintf(text, size, "speaks version %u of the protocol, this process version %u",
                 shake->peer_version, identity->version);
    else if (shake->reason == SOCK_BAD_TARGET && !shake->is_initiator)
        snprintf(text, size, "wants rank %u, but this is rank %u", hello.target, identity->rank);
    else if (shake->reason == SOCK_BAD_TARGET)
        snprintf(text, size, "is another rank than %u", shake->peer);
    else if (shake->reason == SOCK_BAD_RANK && !shake->is_initiator)
        snprintf(text, size, "says that it is rank %u, to rank %u of %u", hello.rank,
                 identity->rank, identity->size);
    else
        snprintf(text, size, "%s: %s", shake->by_peer ? "refuses" : "is refused",
                 sock_reason_text(shake->reason));
    return text;
}
