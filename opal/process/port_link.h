/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What two processes say to each other that meet at a port: a handshake in which both prove that
 * they know the port's key, and then messages, encrypted and authenticated. A state machine: bytes
 * of the peer in, bytes for the peer out; no socket and no clock. The key is never sent.
 *
 *   connector                                       acceptor
 *      | hello      "MicaPort" version nonce           |
 *      |---------------------------------------------->|
 *      |            "MicaPort" version nonce  hello    |
 *      |<----------------------------------------------|
 *      | proof      HMAC of both nonces                |
 *      |---------------------------------------------->|  OPAL_LINK_PROVEN, until an accept
 *      |            HMAC of both nonces  proof         |  admits it
 *      |<----------------------------------------------|
 *      |            messages, both ways                |  OPAL_LINK_OPEN
 *
 *     0          8         10       16                   48
 *     +----------+---------+--------+---------------------+
 *     | MicaPort | version | zeros  | nonce               |    hello
 *     +----------+---------+--------+---------------------+
 *
 *     0                        4           4 + n        +32
 *     +------------------------+------------+-----------+
 *     | n, and 1 << 31: last   | ciphertext | HMAC      |      chunk; a message is some of them
 *     +------------------------+------------+-----------+
 *
 * All proofs and keys are HMAC-SHA-256 by the port's key over a label and both nonces, so that
 * nothing that was recorded is worth anything on another connection or in the other direction. The
 * acceptor computes nothing for a peer that has not proven itself. A chunk is encrypted by HMACs of
 * its number and of a counter, and authenticated by one over its number, length and ciphertext.
 *
 * A joined link (OPAL_LINK_JOINER) has no port. Each end sends its hello, with "MicaJoin"; there is
 * no secret, so who listens to that socket can read what it carries.
 *
 * Threading: one thread at a time.
 */
#ifndef OPAL_PROCESS_PORT_LINK_H
#define OPAL_PROCESS_PORT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/util/sha256.h"

enum {
    OPAL_PORT_VERSION = 1,
    OPAL_PORT_KEY_BYTES = 32,
    OPAL_LINK_NONCE_BYTES = 32,
    OPAL_LINK_HELLO_BYTES = 48,
    OPAL_LINK_CHUNK_BYTES = 4096, /* the most that a chunk carries */
    OPAL_LINK_ROOM_BYTES = 4 + OPAL_LINK_CHUNK_BYTES + OPAL_SHA256_BYTES,
};

typedef enum opal_link_role {
    OPAL_LINK_CONNECTOR,
    OPAL_LINK_ACCEPTOR,
    OPAL_LINK_JOINER,
} opal_link_role_t;

typedef enum opal_link_state {
    OPAL_LINK_GREETING, /* the peer's hello is missing */
    OPAL_LINK_PROVING,  /* the peer's proof is missing */
    OPAL_LINK_PROVEN,   /* of an acceptor: opal_link_admit is missing */
    OPAL_LINK_OPEN,     /* messages */
    OPAL_LINK_FAILED,   /* `trouble` says why */
} opal_link_state_t;

typedef struct opal_link {
    opal_link_state_t state;
    opal_link_role_t role;
    const char *trouble; /* of a failed link, with the peer as the subject */
    bool is_closed;      /* ... which has failed because the stream has ended */

    /* The message that has come; `has_message` until it is taken. */
    bool has_message;
    unsigned char *message; /* malloc'ed */
    size_t message_bytes;

    /* Private. */
    unsigned char key[OPAL_PORT_KEY_BYTES];
    unsigned char nonces[2][OPAL_LINK_NONCE_BYTES]; /* of the connector, of the acceptor */
    unsigned char keys[2][OPAL_SHA256_BYTES];       /* of what this end sends, receives */
    uint64_t numbers[2];                            /* of the next chunk */
    const unsigned char *rest;                      /* of the message that is being sent */
    size_t rest_bytes;
    bool is_sending;
    unsigned char in[OPAL_LINK_ROOM_BYTES], out[OPAL_LINK_ROOM_BYTES];
    size_t in_bytes, out_bytes, out_sent;
} opal_link_t;

/* `nonce` is fresh from opal_secret_random for every link. `key` is not read for a joiner. */
void opal_link_begin(opal_link_t *link, opal_link_role_t role,
                     const unsigned char key[OPAL_PORT_KEY_BYTES],
                     const unsigned char nonce[OPAL_LINK_NONCE_BYTES]);

/* The most bytes that the link takes now; 0: none. A caller that reads no more leaves everything
 * behind the message to the next reader. */
size_t opal_link_wants(const opal_link_t *link);

/* Takes up to that many bytes of the peer. The caller checks `state` and `has_message`. */
void opal_link_feed(opal_link_t *link, const void *bytes, size_t length);

/* The bytes to be sent, and how many of them have left. */
size_t opal_link_output(opal_link_t *link, const unsigned char **bytes);
void opal_link_sent(opal_link_t *link, size_t length);

/* The stream has ended. */
void opal_link_close(opal_link_t *link);

/* An accept takes the proven connector. */
void opal_link_admit(opal_link_t *link);

/* Sends a message over an open link; it stays the caller's, unchanged until it is sent. One at a
 * time. */
void opal_link_send(opal_link_t *link, const void *bytes, size_t length);
bool opal_link_is_sending(const opal_link_t *link);

/* The message that has come, for the caller to free; NULL if it is empty. */
void *opal_link_take(opal_link_t *link, size_t *length);

/* A number that both ends of an open link have alike, and no other link. */
uint64_t opal_link_number(const opal_link_t *link);

/* Wipes it, and frees a message that was not taken. */
void opal_link_end(opal_link_t *link);

#endif
