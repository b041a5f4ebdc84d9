/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handshake at the beginning of a connection, as a state machine: bytes of the peer in, bytes
 * for the peer out; no socket, no clock and no memory of its own. wire.h draws the messages.
 *
 *   sock_shake_connect / _accept
 *   loop:  sock_shake_output -> send -> sock_shake_sent
 *          recv -> sock_shake_feed, until the state is no longer SOCK_SHAKE_MORE
 *   SOCK_SHAKE_ASKS   an acceptor whose peer is authenticated: sock_shake_answer
 *   SOCK_SHAKE_DONE   frames follow in both directions
 *   SOCK_SHAKE_REFUSED  send the output, shut down that direction, read until the peer closes, or a
 *                     little while (a close at once could overtake the verdict)
 *
 * Both ends prove that they know the job's key. No end computes an HMAC for a peer that has not
 * proven itself, except the initiator, which begins. The HMACs are over the role, both nonces, the
 * job's id, both ranks, the link and the version, so a recorded handshake is worth nothing on
 * another connection or in the other direction. An acceptor reads 112 bytes before it has checked
 * the proof, an initiator 96 in all; nothing is allocated.
 *
 * The acceptor decides about a connection, when it has the proof. That is why frames wait for two
 * round trips: with one, an acceptor would accept a stranger, or both of two simultaneous
 * connections could be accepted.
 *
 * Simultaneous connects: the connection is used that was begun by the rank that comes first in the
 * order of names (opal_process_is_before). An acceptor that is connecting to that peer and link
 * itself replies
 *     SOCK_CROSSED   if the acceptor comes first: the peer drops this connection and waits
 *     SOCK_ACCEPTED  if the peer comes first; the acceptor drops its own connection
 * and SOCK_CROSSED also if the link is already up. So exactly one connection is used. A rank that
 * got SOCK_CROSSED, and to which no connection comes (the peer cannot reach it), tries again after
 * a while.
 *
 * The caller has the timer; sock_shake_give_up then states the reason. Threading: one thread at a
 * time.
 */
#ifndef OPAL_MCA_BTL_SOCK_HANDSHAKE_H
#define OPAL_MCA_BTL_SOCK_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/mca/btl/sock/wire.h"

/*
 * Why a handshake ended. The first ones are sent as verdicts, and their numbers never change; the
 * others are known to one end only.
 */
/* clang-format off */
#define SOCK_REASON_TABLE(X)                                                                       \
    X(1,  ACCEPTED,     "accepted")                                                                \
    X(2,  CROSSED,      "another connection is kept for this link")                                \
    X(3,  BAD_VERSION,  "another version of the protocol")                                         \
    X(4,  BAD_ORDER,    "another byte order")                                                      \
    X(5,  BAD_JOB,      "another job")                                                             \
    X(6,  BAD_PROOF,    "no proof of the job's key")                                               \
    X(7,  BAD_RANK,     "no rank that could be the peer")                                          \
    X(8,  BAD_TARGET,   "another rank was wanted")                                                 \
    X(9,  BAD_LINK,     "a link that is not used")                                                 \
    X(10, BUSY,         "no room for another connection now")                                      \
    X(11, GARBLED,      "no message of this protocol")                                             \
    X(12, REFLECTED,    "messages that come back to their sender")                                \
    X(13, CLOSED,       "closed in the middle of the handshake")                                   \
    X(14, TIMED_OUT,    "the handshake took too long")                                             \
    X(15, UNPROVEN,     "a verdict that could be anybody's")
/* clang-format on */

typedef enum sock_reason {
    SOCK_NO_REASON = 0,
#define SOCK_REASON_ENUM(number, name, text) SOCK_##name = (number),
    SOCK_REASON_TABLE(SOCK_REASON_ENUM)
#undef SOCK_REASON_ENUM
        SOCK_REASON_COUNT,
    SOCK_LAST_VERDICT = SOCK_BUSY,
} sock_reason_t;

/* "another job"; never NULL. */
const char *sock_reason_text(sock_reason_t reason);

/* Handshakes that have ended, by reason. */
typedef struct sock_shake_counts {
    uint64_t of[SOCK_REASON_COUNT];
} sock_shake_counts_t;

/* This process, for all its handshakes; it outlives them. */
typedef struct sock_identity {
    unsigned char key[32];
    unsigned char job[32];                 /* SHA-256 of the job's id; by sock_identity_set_job */
    unsigned char tag[SOCK_JOB_TAG_BYTES]; /* the first bytes of that */
    uint32_t rank, size;
    /* Whether a rank of another job may call. NULL: none may. */
    bool (*knows)(const unsigned char job[SOCK_JOB_TAG_BYTES], uint32_t rank);
    uint16_t links;   /* links to a peer are 0 to links - 1 */
    uint16_t version; /* SOCK_WIRE_VERSION; tests have others */
} sock_identity_t;

void sock_identity_set_job(sock_identity_t *identity, const char *job_id);

/* For an initiator that connects to a process of another job: both ends prove that they know that
 * job's key. */
void sock_identity_meet_job(sock_identity_t *identity, const unsigned char job[32],
                            const unsigned char key[32]);

typedef enum sock_shake_state {
    SOCK_SHAKE_MORE,    /* send, and feed more */
    SOCK_SHAKE_ASKS,    /* peer and link are proven: may they? -> sock_shake_answer */
    SOCK_SHAKE_DONE,    /* `reason` is SOCK_ACCEPTED; output may be left to be sent */
    SOCK_SHAKE_REFUSED, /* `reason` says why; output may be left to be sent before closing */
} sock_shake_state_t;

typedef struct sock_shake {
    /* For the caller to read. Peer and link of an acceptor are not proven before SOCK_SHAKE_ASKS.
     */
    sock_shake_state_t state;
    sock_reason_t reason;
    bool by_peer;                               /* the peer has refused, and sent the reason */
    uint32_t peer;                              /* rank, in ... */
    unsigned char peer_job[SOCK_JOB_TAG_BYTES]; /* ... that job; of an acceptor */
    uint16_t link;
    uint16_t peer_version; /* 0: has said nothing yet */

    /* Internal. */
    const sock_identity_t *identity;
    bool is_initiator;
    bool has_challenge; /* initiator: received; acceptor: made */
    unsigned char hello[SOCK_HELLO_BYTES];
    unsigned char challenge[SOCK_CHALLENGE_BYTES];
    unsigned char input[SOCK_HELLO_BYTES]; /* a message that is not complete */
    size_t got;                            /* bytes in it */
    unsigned char output[SOCK_HELLO_BYTES + SOCK_PROOF_BYTES];
    size_t put, sent; /* bytes in it; of these, sent */
} sock_shake_t;

/* `nonce` is fresh from opal_secret_random for every handshake. */
void sock_shake_connect(sock_shake_t *shake, const sock_identity_t *identity, uint32_t peer,
                        uint16_t link, const unsigned char nonce[SOCK_NONCE_BYTES]);
void sock_shake_accept(sock_shake_t *shake, const sock_identity_t *identity,
                       const unsigned char nonce[SOCK_NONCE_BYTES]);

/*
 * Takes bytes of the peer, and returns how many of them belong to the handshake; the others, after
 * SOCK_SHAKE_DONE, are frames. The caller checks `state` afterwards. Takes bytes only in
 * SOCK_SHAKE_MORE.
 */
size_t sock_shake_feed(sock_shake_t *shake, const void *bytes, size_t length);

/* The most bytes that sock_shake_feed would take now: a caller that reads no more reads no frame.
 */
size_t sock_shake_wants(const sock_shake_t *shake);

/* In SOCK_SHAKE_ASKS: SOCK_ACCEPTED, SOCK_CROSSED or SOCK_BUSY. */
void sock_shake_answer(sock_shake_t *shake, sock_reason_t verdict);

/* The bytes to be sent; how many of them have left. */
size_t sock_shake_output(const sock_shake_t *shake, const unsigned char **bytes);
void sock_shake_sent(sock_shake_t *shake, size_t length);

/*
 * Refuses, if the handshake has not ended: SOCK_CLOSED, SOCK_TIMED_OUT, or for an acceptor
 * SOCK_BUSY, which is sent to the peer.
 */
void sock_shake_give_up(sock_shake_t *shake, sock_reason_t reason);

/* Adds an ended handshake to the counts. */
void sock_shake_count(sock_shake_counts_t *counts, const sock_shake_t *shake);

/*
 * Why a handshake was refused, for a log message; the peer is the subject: "speaks version 2 of the
 * protocol, this process version 1", "is refused: another job", "refuses: another job".
 */
enum { SOCK_EXPLANATION_BYTES = 160 };
const char *sock_shake_explain(const sock_shake_t *shake, char text[SOCK_EXPLANATION_BYTES]);

/* Overwrites secrets. */
void sock_shake_wipe(sock_shake_t *shake);

#endif
