/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a connection of btl/sock: sizes, offsets, numbers.
 *
 * Numbers are little-endian (opal/util/bytes.h), so a buffer needs no alignment, and no structure
 * is laid over bytes from the network. Bytes called zero have to be zero. Nothing is trusted:
 * decode returns false for bytes that are no such message.
 *
 * A connection begins with four messages of fixed sizes (handshake.h); frames follow.
 *
 *   initiator                    acceptor
 *      hello      ------------>              my rank, the target rank, my nonce
 *                 <------------  challenge   its nonce
 *      proof      ------------>              HMAC by the job's key: of all of the above
 *                 <------------  verdict     and HMAC of all of that, and of the verdict
 *      frames     <----------->  frames
 *
 * Every message begins alike, in every version, so that an end can say which version the peer has.
 *
 *             0                       8       10    11        12
 *             +-----------------------+-------+-----+---------+- - -
 *   prefix    | magic "MicaSock"      |version|order| message |
 *             +-----------------------+-------+-----+---------+- - -
 *                                      12      16      20     22     24        32        64
 *             +------------------------+-------+-------+------+------+---------+---------+
 *   hello     | prefix, message 1      | rank  | target| link | zero | job     | nonce   |
 *             +------------------------+-------+-------+------+------+---------+---------+
 *                                      12             16                                 48
 *             +------------------------+--------------+----------------------------------+
 *   challenge | prefix, message 2      | zero         | nonce                            |
 *             +------------------------+--------------+----------------------------------+
 *   proof     | prefix, message 3      | zero         | HMAC                             |
 *             +------------------------+--------------+----------------------------------+
 *                                      12        13  16                                 48
 *             +------------------------+---------+----+----------------------------------+
 *   verdict   | prefix, message 4      | verdict |zero| HMAC; zero if no proof was right |
 *             +------------------------+---------+----+----------------------------------+
 *
 *   order     of the bytes in what frames carry, which upper layers write as they are: 1 little-
 *             endian, 2 big-endian. Both ends have to have the same.
 *   job       the first 8 bytes of SHA-256 of the job's id: tells a process of another job from one
 *             that does not know the key. No proof.
 *
 * A frame is a header, `head` bytes that belong to the upper layer's head, and then the rest of
 * `length`:
 *
 *             0          4      5       6       8                    16        16 + length
 *             +----------+------+-------+-------+--------------------+--------+-----------+
 *   frame     | length   | kind | flags | head  | tag                | head   | payload   |
 *             +----------+------+-------+-------+--------------------+--------+-----------+
 */
#ifndef OPAL_MCA_BTL_SOCK_WIRE_H
#define OPAL_MCA_BTL_SOCK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "opal/util/bytes.h"

enum {
    SOCK_WIRE_VERSION = 1, /* goes up with every change of this file */

    SOCK_NONCE_BYTES = 32,
    SOCK_MAC_BYTES = 32,
    SOCK_JOB_TAG_BYTES = 8,

    SOCK_PREFIX_BYTES = 12,
    SOCK_HELLO_BYTES = 64,
    SOCK_CHALLENGE_BYTES = 48,
    SOCK_PROOF_BYTES = 48,
    SOCK_VERDICT_BYTES = 48,
    SOCK_FRAME_BYTES = 16,
};

typedef enum sock_message {
    SOCK_HELLO = 1,
    SOCK_CHALLENGE = 2,
    SOCK_PROOF = 3,
    SOCK_VERDICT = 4,
} sock_message_t;

static inline bool sock_is_zero(const unsigned char *at, size_t length)
{
    unsigned char any = 0;
    for (size_t i = 0; i < length; i++)
        any |= at[i];
    return any == 0;
}

/* -- what every message begins with ------------------------------------------------------------ */

typedef struct sock_prefix {
    uint16_t version;
    uint8_t order;   /* SOCK_OWN_ORDER */
    uint8_t message; /* sock_message_t */
} sock_prefix_t;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { SOCK_OWN_ORDER = 1 };
#else
enum { SOCK_OWN_ORDER = 2 };
#endif

static const char sock_magic[8] = {'M', 'i', 'c', 'a', 'S', 'o', 'c', 'k'};

static inline void sock_encode_prefix(unsigned char *at, const sock_prefix_t *prefix)
{
    memcpy(at, sock_magic, sizeof sock_magic);
    opal_put_le16(at + 8, prefix->version);
    at[10] = prefix->order;
    at[11] = prefix->message;
}

/* False: the peer does not speak this protocol. */
static inline bool sock_decode_prefix(const unsigned char *at, sock_prefix_t *prefix)
{
    if (memcmp(at, sock_magic, sizeof sock_magic) != 0)
        return false;
    *prefix = (sock_prefix_t){.version = opal_get_le16(at + 8), .order = at[10], .message = at[11]};
    return true;
}

/* -- the handshake; the caller encodes and checks the prefix ---------------------------- */

typedef struct sock_hello {
    uint32_t rank, target; /* of the sender; of the process that it connects to */
    uint16_t link;
    unsigned char job[SOCK_JOB_TAG_BYTES];
    unsigned char nonce[SOCK_NONCE_BYTES];
} sock_hello_t;

static inline void sock_encode_hello(unsigned char *at, const sock_hello_t *hello)
{
    opal_put_le32(at + 12, hello->rank);
    opal_put_le32(at + 16, hello->target);
    opal_put_le16(at + 20, hello->link);
    opal_put_le16(at + 22, 0);
    memcpy(at + 24, hello->job, sizeof hello->job);
    memcpy(at + 32, hello->nonce, sizeof hello->nonce);
}

static inline bool sock_decode_hello(const unsigned char *at, sock_hello_t *hello)
{
    if (!sock_is_zero(at + 22, 2))
        return false;
    hello->rank = opal_get_le32(at + 12);
    hello->target = opal_get_le32(at + 16);
    hello->link = opal_get_le16(at + 20);
    memcpy(hello->job, at + 24, sizeof hello->job);
    memcpy(hello->nonce, at + 32, sizeof hello->nonce);
    return true;
}

/* The nonce of a challenge, the HMAC of a proof. */
static inline void sock_encode_secret(unsigned char *at, const unsigned char secret[32])
{
    memset(at + 12, 0, 4);
    memcpy(at + 16, secret, 32);
}

static inline bool sock_decode_secret(const unsigned char *at, unsigned char secret[32])
{
    if (!sock_is_zero(at + 12, 4))
        return false;
    memcpy(secret, at + 16, 32);
    return true;
}

static inline void sock_encode_verdict(unsigned char *at, uint8_t verdict,
                                       const unsigned char mac[SOCK_MAC_BYTES])
{
    at[12] = verdict;
    memset(at + 13, 0, 3);
    memcpy(at + 16, mac, SOCK_MAC_BYTES);
}

static inline bool sock_decode_verdict(const unsigned char *at, uint8_t *verdict,
                                       unsigned char mac[SOCK_MAC_BYTES])
{
    if (!sock_is_zero(at + 13, 3))
        return false;
    *verdict = at[12];
    memcpy(mac, at + 16, SOCK_MAC_BYTES);
    return true;
}

/* -- frames ------------------------------------------------------------------------------ */

typedef struct sock_frame {
    uint32_t length; /* of what follows the header: head and payload */
    uint8_t kind, flags;
    uint16_t head; /* at most length */
    uint64_t tag;
} sock_frame_t;

static inline void sock_encode_frame(unsigned char *at, const sock_frame_t *frame)
{
    opal_put_le32(at, frame->length);
    at[4] = frame->kind;
    at[5] = frame->flags;
    opal_put_le16(at + 6, frame->head);
    opal_put_le64(at + 8, frame->tag);
}

/* The zeros behind so many bytes: every frame begins at a multiple of 8. */
static inline size_t sock_padding(size_t length)
{
    return -length & 7;
}

/* The header of a placed frame: the tag is the client's name for the place, the head is the offset
 * there. SOCK_CONFIRM: the sender's pages are free when the system confirms the bytes. */
enum { SOCK_PLACED = 1, SOCK_CONFIRM = 2, SOCK_PLACED_BYTES = SOCK_FRAME_BYTES + 8 };

static inline void sock_encode_placed(unsigned char *at, uint8_t kind, uint8_t flags, size_t bytes,
                                      uint64_t name, uint64_t offset)
{
    sock_frame_t frame = {.length = (uint32_t)bytes + SOCK_PLACED_BYTES - SOCK_FRAME_BYTES,
                          .kind = kind,
                          .flags = SOCK_PLACED | flags,
                          .head = SOCK_PLACED_BYTES - SOCK_FRAME_BYTES,
                          .tag = name};
    sock_encode_frame(at, &frame);
    opal_put_le64(at + SOCK_FRAME_BYTES, offset);
}

/* False: the head is longer than the frame. The caller checks length, kind and flags. */
static inline bool sock_decode_frame(const unsigned char *at, sock_frame_t *frame)
{
    *frame = (sock_frame_t){.length = opal_get_le32(at),
                            .kind = at[4],
                            .flags = at[5],
                            .head = opal_get_le16(at + 6),
                            .tag = opal_get_le64(at + 8)};
    return frame->head <= frame->length;
}

#endif
