/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The beginning of a connection, as a state machine: bytes of the peer in, bytes for the peer
 * out, no socket, no clock and no memory of its own. The messages are drawn in wire.h.
 *
 *   sock_shake_connect / _accept
 *   loop:  sock_shake_output -> send -> sock_shake_sent
 *          recv -> sock_shake_feed, until it says something else than SOCK_SHAKE_MORE
 *   SOCK_SHAKE_ASKS   an acceptor whose peer has proven itself: sock_shake_answer
 *   SOCK_SHAKE_DONE   what follows in either direction are frames
 *   SOCK_SHAKE_REFUSED  send what there is to be sent, shut down that direction, read until the
 *                     peer closes, or a little while (a close at once could overtake the verdict)
 *
 * Both ends prove that they know the job's key; nobody computes anything with it for who has not
 * shown that he knows it, but for the initiator, who begins. The HMACs are over the role, both
 * nonces, the job's id, both ranks, the link and the version, so what was heard on one connection
 * is worth nothing on another one, nor in the other direction. An acceptor reads 112 bytes before
 * the proof has been judged, an initiator 96 in all; nothing is allocated.
 *
 * All decisions about connections fall when the proof is there, in one place: at the acceptor.
 * That is why frames wait for two round trips and not for one: with one, an acceptor would promise
 * something to a stranger, or both of two simultaneous connections could be promised.
 *
 * Simultaneous connects: the connection is kept that the rank began which comes first in the order
 * of names (opal_process_is_before). An acceptor that has one of its own to that peer and link in
 * its handshake answers
 *     SOCK_CROSSED   if it comes first: the peer drops this one and waits for ours
 *     SOCK_ACCEPTED  if the peer does, and drops its own
 * and SOCK_CROSSED too if the link is already established. So exactly one is kept. Who was told
 * "crossed" and sees nothing come (the other one cannot reach it) tries again after a while.
 *
 * How long all this may take is for the caller to say, by a timer; sock_shake_give_up then states
 * the reason. One thread at a time.
 */
#ifndef OPAL_MCA_BTL_SOCK_HANDSHAKE_H
#define OPAL_MCA_BTL_SOCK_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/mca/btl/sock/wire.h"

/*
 * Why a handshake ended. The first ones travel as verdicts, and their numbers stay what they are
 * for ever; the others are known to one end only.
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
    X(12, REFLECTED,    "messages that come back to who sent them")                                \
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

/* What happened so far, by reason; sock_shake_count adds a handshake that has ended. */
typedef struct sock_shake_counts {
    uint64_t of[SOCK_REASON_COUNT];
} sock_shake_counts_t;

/* Who this process is, for all its handshakes; it outlives them. */
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

/* For an initiator that calls a process of another job: both prove that they know that job's key.
 */
void sock_identity_meet_job(sock_identity_t *identity, const unsigned char job[32],
                            const unsigned char key[32]);

typedef enum sock_shake_state {
    SOCK_SHAKE_MORE,    /* send, and feed more */
    SOCK_SHAKE_ASKS,    /* peer and link are proven: may they? -> sock_shake_answer */
    SOCK_SHAKE_DONE,    /* `reason` is SOCK_ACCEPTED; output may be left to be sent */
    SOCK_SHAKE_REFUSED, /* `reason` says why; output may be left to be sent before closing */
} sock_shake_state_t;

typedef struct sock_shake {
    /* To be read. Peer and link of an acceptor are a claim until SOCK_SHAKE_ASKS. */
    sock_shake_state_t state;
    sock_reason_t reason;
    bool by_peer;  /* the reason is what the peer says of us, not what we say of it */
    uint32_t peer; /* rank, in ... */
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
 * Takes bytes of the peer and returns how many of them belong to the handshake; the others, behind
 * SOCK_SHAKE_DONE, are frames. Look at `state` afterwards. Takes none in any state but
 * SOCK_SHAKE_MORE.
 */
size_t sock_shake_feed(sock_shake_t *shake, const void *bytes, size_t length);

/* The same for who wants to read no more than that: how many bytes it would take now at most. */
size_t sock_shake_wants(const sock_shake_t *shake);

/* In SOCK_SHAKE_ASKS: SOCK_ACCEPTED, SOCK_CROSSED or SOCK_BUSY. */
void sock_shake_answer(sock_shake_t *shake, sock_reason_t verdict);

/* What is to be sent, and how much of it has been. */
size_t sock_shake_output(const sock_shake_t *shake, const unsigned char **bytes);
void sock_shake_sent(sock_shake_t *shake, size_t length);

/*
 * Refuses, if it has not ended. SOCK_CLOSED or SOCK_TIMED_OUT; an acceptor's SOCK_BUSY, of which
 * the peer is told.
 */
void sock_shake_give_up(sock_shake_t *shake, sock_reason_t reason);

/* Adds an ended handshake to the counts. */
void sock_shake_count(sock_shake_counts_t *counts, const sock_shake_t *shake);

/*
 * Why an ended one was refused, for a person; the peer is the subject: "speaks version 2 of the
 * protocol, this process version 1", "is refused: another job", "refuses: another job".
 */
enum { SOCK_EXPLANATION_BYTES = 160 };
const char *sock_shake_explain(const sock_shake_t *shake, char text[SOCK_EXPLANATION_BYTES]);

/* Forgets what is secret. */
void sock_shake_wipe(sock_shake_t *shake);

#endif
