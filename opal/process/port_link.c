/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake at a port, and the messages behind it. See port_link.h. */
#include "opal/process/port_link.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/bytes.h"

enum { MAGIC_BYTES = 8, LABEL_BYTES = 16, SENDS = 0, RECEIVES = 1 };

static const uint32_t last_chunk = UINT32_C(1) << 31;

/* What a key is for. The bytes are hashed, so they are part of the protocol. */
static const char label_connector[LABEL_BYTES] = "connector proves";
static const char label_acceptor[LABEL_BYTES] = "acceptor proves.";
static const char label_forth[LABEL_BYTES] = "to the acceptor.";
static const char label_back[LABEL_BYTES] = "to the connector";
static const char label_stream[LABEL_BYTES] = "keystream block.";
static const char label_seal[LABEL_BYTES] = "seal of a chunk.";

static const char *magic_of(const opal_link_t *link)
{
    return link->role == OPAL_LINK_JOINER ? "MicaJoin" : "MicaPort";
}

static void fail(opal_link_t *link, const char *trouble)
{
    if (link->state == OPAL_LINK_FAILED)
        return;
    link->state = OPAL_LINK_FAILED;
    link->trouble = trouble;
}

/* -- proofs and keys ------------------------------------------------------------------------- */

/* HMAC by the port's key of a label and both nonces. */
static void derive(const opal_link_t *link, const char label[LABEL_BYTES],
                   unsigned char mac[OPAL_SHA256_BYTES])
{
    opal_hmac_t hmac;
    opal_hmac_begin(&hmac, link->key, sizeof link->key);
    opal_hmac_add(&hmac, label, LABEL_BYTES);
    opal_hmac_add(&hmac, link->nonces, sizeof link->nonces);
    opal_hmac_end(&hmac, mac);
}

static void open_link(opal_link_t *link)
{
    bool sends_forth = link->role == OPAL_LINK_CONNECTOR;
    derive(link, label_forth, link->keys[sends_forth ? SENDS : RECEIVES]);
    derive(link, label_back, link->keys[sends_forth ? RECEIVES : SENDS]);
    link->state = OPAL_LINK_OPEN;
}

/* Encrypts and decrypts. */
static void apply_keystream(const unsigned char key[OPAL_SHA256_BYTES], uint64_t number,
                            unsigned char *bytes, size_t length)
{
    opal_hmac_t begun, hmac;
    unsigned char block[OPAL_SHA256_BYTES], counter[4], chunk[8];
    opal_put_le64(chunk, number);
    opal_hmac_begin(&begun, key, OPAL_SHA256_BYTES);
    opal_hmac_add(&begun, label_stream, LABEL_BYTES);
    opal_hmac_add(&begun, chunk, sizeof chunk);
    for (size_t at = 0; at < length; at++) {
        if (at % sizeof block == 0) {
            hmac = begun;
            opal_put_le32(counter, (uint32_t)(at / sizeof block));
            opal_hmac_add(&hmac, counter, sizeof counter);
            opal_hmac_end(&hmac, block);
        }
        bytes[at] ^= block[at % sizeof block];
    }
    explicit_bzero(&begun, sizeof begun);
    explicit_bzero(block, sizeof block);
}

static void seal(const unsigned char key[OPAL_SHA256_BYTES], uint64_t number,
                 const unsigned char *chunk, size_t length, unsigned char mac[OPAL_SHA256_BYTES])
{
    opal_hmac_t hmac;
    unsigned char which[8];
    opal_put_le64(which, number);
    opal_hmac_begin(&hmac, key, OPAL_SHA256_BYTES);
    opal_hmac_add(&hmac, label_seal, LABEL_BYTES);
    opal_hmac_add(&hmac, which, sizeof which);
    opal_hmac_add(&hmac, chunk, length);
    opal_hmac_end(&hmac, mac);
}

/* -- sending --------------------------------------------------------------------------------- */

static void put(opal_link_t *link, const void *bytes, size_t length)
{
    memcpy(link->out + link->out_bytes, bytes, length);
    link->out_bytes += length;
}

static void put_hello(opal_link_t *link, const unsigned char nonce[OPAL_LINK_NONCE_BYTES])
{
    unsigned char hello[OPAL_LINK_HELLO_BYTES] = {0};
    memcpy(hello, magic_of(link), MAGIC_BYTES);
    opal_put_le16(hello + 8, OPAL_PORT_VERSION);
    memcpy(hello + 16, nonce, OPAL_LINK_NONCE_BYTES);
    put(link, hello, sizeof hello);
}

static void put_proof(opal_link_t *link, const char label[LABEL_BYTES])
{
    unsigned char proof[OPAL_SHA256_BYTES];
    derive(link, label, proof);
    put(link, proof, sizeof proof);
}

/* The next chunk of the message. */
static void put_chunk(opal_link_t *link)
{
    size_t length = link->rest_bytes;
    if (length > OPAL_LINK_CHUNK_BYTES)
        length = OPAL_LINK_CHUNK_BYTES;
    bool is_last = length == link->rest_bytes;
    uint64_t number = link->numbers[SENDS]++;
    opal_put_le32(link->out, (uint32_t)length | (is_last ? last_chunk : 0));
    if (length > 0)
        memcpy(link->out + 4, link->rest, length);
    apply_keystream(link->keys[SENDS], number, link->out + 4, length);
    seal(link->keys[SENDS], number, link->out, 4 + length, link->out + 4 + length);
    link->out_bytes = 4 + length + OPAL_SHA256_BYTES;
    link->rest += length;
    link->rest_bytes -= length;
    link->is_sending = !is_last;
}

size_t opal_link_output(opal_link_t *link, const unsigned char **bytes)
{
    if (link->out_sent == link->out_bytes)
        link->out_sent = link->out_bytes = 0;
    if (link->out_bytes == 0 && link->is_sending && link->state == OPAL_LINK_OPEN)
        put_chunk(link);
    *bytes = link->out + link->out_sent;
    return link->out_bytes - link->out_sent;
}

void opal_link_sent(opal_link_t *link, size_t length)
{
    link->out_sent += length;
}

void opal_link_send(opal_link_t *link, const void *bytes, size_t length)
{
    link->rest = bytes;
    link->rest_bytes = length;
    link->is_sending = true;
}

bool opal_link_is_sending(const opal_link_t *link)
{
    return link->is_sending || link->out_sent < link->out_bytes;
}

/* -- receiving ------------------------------------------------------------------------------- */

/* How long what comes next is, as far as that is known. */
static size_t expected_bytes(const opal_link_t *link)
{
    switch (link->state) {
    case OPAL_LINK_GREETING:
        return OPAL_LINK_HELLO_BYTES;
    case OPAL_LINK_PROVING:
        return OPAL_SHA256_BYTES;
    case OPAL_LINK_OPEN:
        if (link->has_message)
            return 0;
        if (link->in_bytes < 4)
            return 4;
        return 4 + (opal_get_le32(link->in) & ~last_chunk) + OPAL_SHA256_BYTES;
    case OPAL_LINK_PROVEN:
    case OPAL_LINK_FAILED:
        break;
    }
    return 0;
}

size_t opal_link_wants(const opal_link_t *link)
{
    size_t expected = expected_bytes(link);
    return expected > link->in_bytes ? expected - link->in_bytes : 0;
}

/* The end whose nonce is the larger one is the connector, from now on. */
static void join(opal_link_t *link, const unsigned char nonce[OPAL_LINK_NONCE_BYTES])
{
    int order = memcmp(link->nonces[0], nonce, OPAL_LINK_NONCE_BYTES);
    if (order == 0) {
        fail(link, "sends what comes back from this process");
        return;
    }
    if (order < 0)
        memcpy(link->nonces[1], link->nonces[0], OPAL_LINK_NONCE_BYTES);
    memcpy(link->nonces[order < 0 ? 0 : 1], nonce, OPAL_LINK_NONCE_BYTES);
    link->role = order > 0 ? OPAL_LINK_CONNECTOR : OPAL_LINK_ACCEPTOR;
    open_link(link);
}

static void take_hello(opal_link_t *link)
{
    static const unsigned char zeros[6];
    const unsigned char *nonce = link->in + 16;
    if (memcmp(link->in, magic_of(link), MAGIC_BYTES) != 0) {
        fail(link, "does not speak the protocol of ports");
    } else if (opal_get_le16(link->in + 8) != OPAL_PORT_VERSION ||
               memcmp(link->in + 10, zeros, sizeof zeros) != 0) {
        fail(link, "speaks another version of the protocol of ports");
    } else if (link->role == OPAL_LINK_JOINER) {
        join(link, nonce);
    } else if (link->role == OPAL_LINK_CONNECTOR) {
        memcpy(link->nonces[1], nonce, OPAL_LINK_NONCE_BYTES);
        put_proof(link, label_connector);
        link->state = OPAL_LINK_PROVING;
    } else {
        memcpy(link->nonces[0], nonce, OPAL_LINK_NONCE_BYTES);
        put_hello(link, link->nonces[1]);
        link->state = OPAL_LINK_PROVING;
    }
}

static void take_proof(opal_link_t *link)
{
    unsigned char proof[OPAL_SHA256_BYTES];
    bool is_acceptor = link->role == OPAL_LINK_ACCEPTOR;
    derive(link, is_acceptor ? label_connector : label_acceptor, proof);
    if (!opal_secret_equal(proof, link->in, sizeof proof))
        fail(link, "has no proof of the port's key");
    else if (is_acceptor)
        link->state = OPAL_LINK_PROVEN;
    else
        open_link(link);
    explicit_bzero(proof, sizeof proof);
}

static void take_chunk(opal_link_t *link)
{
    unsigned char mac[OPAL_SHA256_BYTES];
    uint32_t head = opal_get_le32(link->in);
    size_t length = head & ~last_chunk;
    uint64_t number = link->numbers[RECEIVES]++;
    seal(link->keys[RECEIVES], number, link->in, 4 + length, mac);
    if (!opal_secret_equal(mac, link->in + 4 + length, sizeof mac)) {
        fail(link, "has sent bytes that were changed on the way");
        return;
    }
    unsigned char *grown = realloc(link->message, link->message_bytes + length + 1);
    if (grown == NULL) {
        fail(link, "has sent more than there is memory for");
        return;
    }
    apply_keystream(link->keys[RECEIVES], number, link->in + 4, length);
    memcpy(grown + link->message_bytes, link->in + 4, length);
    link->message = grown;
    link->message_bytes += length;
    link->has_message = (head & last_chunk) != 0;
}

static void take_input(opal_link_t *link)
{
    opal_link_state_t state = link->state;
    if (state == OPAL_LINK_OPEN && link->in_bytes == 4) {
        if ((opal_get_le32(link->in) & ~last_chunk) > OPAL_LINK_CHUNK_BYTES)
            fail(link, "has sent bytes that were changed on the way");
        return;
    }
    if (state == OPAL_LINK_GREETING)
        take_hello(link);
    else if (state == OPAL_LINK_PROVING)
        take_proof(link);
    else
        take_chunk(link);
    link->in_bytes = 0;
}

void opal_link_feed(opal_link_t *link, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    size_t wants;
    while (length > 0 && (wants = opal_link_wants(link)) > 0) {
        size_t part = length < wants ? length : wants;
        memcpy(link->in + link->in_bytes, at, part);
        link->in_bytes += part;
        at += part;
        length -= part;
        if (part == wants)
            take_input(link);
    }
}

void opal_link_close(opal_link_t *link)
{
    link->is_closed = link->state != OPAL_LINK_FAILED;
    fail(link, link->state == OPAL_LINK_OPEN ? "has closed the connection"
                                             : "has closed the connection in the handshake");
}

void *opal_link_take(opal_link_t *link, size_t *length)
{
    void *message = link->message;
    *length = link->message_bytes;
    link->message = NULL;
    link->message_bytes = 0;
    link->has_message = false;
    return message;
}

/* -- begin and end --------------------------------------------------------------------------- */

void opal_link_begin(opal_link_t *link, opal_link_role_t role,
                     const unsigned char key[OPAL_PORT_KEY_BYTES],
                     const unsigned char nonce[OPAL_LINK_NONCE_BYTES])
{
    *link = (opal_link_t){.state = OPAL_LINK_GREETING, .role = role};
    if (role != OPAL_LINK_JOINER)
        memcpy(link->key, key, sizeof link->key);
    memcpy(link->nonces[role == OPAL_LINK_ACCEPTOR ? 1 : 0], nonce, OPAL_LINK_NONCE_BYTES);
    if (role != OPAL_LINK_ACCEPTOR)
        put_hello(link, nonce);
}

void opal_link_admit(opal_link_t *link)
{
    put_proof(link, label_acceptor);
    open_link(link);
}

uint64_t opal_link_number(const opal_link_t *link)
{
    opal_sha256_t hash;
    unsigned char digest[OPAL_SHA256_BYTES];
    opal_sha256_begin(&hash);
    opal_sha256_add(&hash, link->nonces, sizeof link->nonces);
    opal_sha256_end(&hash, digest);
    return opal_get_le64(digest);
}

void opal_link_end(opal_link_t *link)
{
    if (link->message != NULL)
        explicit_bzero(link->message, link->message_bytes);
    free(link->message);
    explicit_bzero(link, sizeof *link);
    link->state = OPAL_LINK_FAILED;
}
