/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 as FIPS 180-4 writes it down, and what is made of it. See sha256.h. */
#include "opal/util/sha256.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "opal/util/log.h"

/* The beginnings of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* Of the square roots of the first 8. */
static const uint32_t initial_state[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t load(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void store(unsigned char *at, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(word >> (24 - 8 * i));
}

static uint32_t turn(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

/* The message schedule: the block's 16 words, and 48 that follow from them. */
static void expand(uint32_t words[64], const unsigned char *block)
{
    for (int i = 0; i < 16; i++)
        words[i] = load(block + (ptrdiff_t)4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t early = words[i - 15], late = words[i - 2];
        words[i] = words[i - 16] + (turn(early, 7) ^ turn(early, 18) ^ early >> 3) + words[i - 7] +
                   (turn(late, 17) ^ turn(late, 19) ^ late >> 10);
    }
}

/* Letters as in the standard, section 6.2.2. */
static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t words[64];
    expand(words, block);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
        uint32_t first =
            h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + round_constants[i] + words[i];
        uint32_t second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority;
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    const uint32_t mixed[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += mixed[i];
    explicit_bzero(words, sizeof words);
}

void opal_sha256_begin(opal_sha256_t *hash)
{
    memcpy(hash->state, initial_state, sizeof hash->state);
    hash->length = 0;
}

void opal_sha256_add(opal_sha256_t *hash, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    size_t waiting = hash->length % OPAL_SHA256_BLOCK_BYTES;
    hash->length += length;
    while (length > 0) {
        size_t part = OPAL_SHA256_BLOCK_BYTES - waiting;
        if (part > length)
            part = length;
        memcpy(hash->block + waiting, from, part);
        from += part;
        length -= part;
        waiting += part;
        if (waiting == OPAL_SHA256_BLOCK_BYTES) {
            compress(hash->state, hash->block);
            waiting = 0;
        }
    }
}

/* Behind the message a 1 bit, zeros, and its length in bits as the last 8 bytes of a block. */
void opal_sha256_end(opal_sha256_t *hash, unsigned char digest[OPAL_SHA256_BYTES])
{
    static const unsigned char one[OPAL_SHA256_BLOCK_BYTES] = {0x80};
    unsigned char length[8];
    store(length, (uint32_t)(hash->length >> 29));
    store(length + 4, (uint32_t)(hash->length << 3));
    size_t waiting = hash->length % OPAL_SHA256_BLOCK_BYTES;
    opal_sha256_add(hash, one, (waiting < 56 ? 56 : 120) - waiting);
    opal_sha256_add(hash, length, sizeof length);
    for (int i = 0; i < 8; i++)
        store(digest + (ptrdiff_t)4 * i, hash->state[i]);
    explicit_bzero(hash, sizeof *hash);
}

void opal_sha256(const void *bytes, size_t length, unsigned char digest[OPAL_SHA256_BYTES])
{
    opal_sha256_t hash;
    opal_sha256_begin(&hash);
    opal_sha256_add(&hash, bytes, length);
    opal_sha256_end(&hash, digest);
}

/* -- HMAC ----------------------------------------------------------------------------------- */

static void begin_with(opal_sha256_t *hash, const unsigned char *key, unsigned char pad)
{
    unsigned char block[OPAL_SHA256_BLOCK_BYTES];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = key[i] ^ pad;
    opal_sha256_begin(hash);
    opal_sha256_add(hash, block, sizeof block);
    explicit_bzero(block, sizeof block);
}

void opal_hmac_begin(opal_hmac_t *hmac, const void *key, size_t length)
{
    unsigned char block[OPAL_SHA256_BLOCK_BYTES] = {0};
    if (length > sizeof block)
        opal_sha256(key, length, block);
    else if (length > 0)
        memcpy(block, key, length);
    begin_with(&hmac->inner, block, 0x36);
    begin_with(&hmac->outer, block, 0x5c);
    explicit_bzero(block, sizeof block);
}

void opal_hmac_add(opal_hmac_t *hmac, const void *bytes, size_t length)
{
    opal_sha256_add(&hmac->inner, bytes, length);
}

void opal_hmac_end(opal_hmac_t *hmac, unsigned char mac[OPAL_SHA256_BYTES])
{
    unsigned char digest[OPAL_SHA256_BYTES];
    opal_sha256_end(&hmac->inner, digest);
    opal_sha256_add(&hmac->outer, digest, sizeof digest);
    opal_sha256_end(&hmac->outer, mac);
    explicit_bzero(digest, sizeof digest);
}

/* -- secrets -------------------------------------------------------------------------------- */

bool opal_secret_equal(const void *one, const void *other, size_t length)
{
    const volatile unsigned char *left = one, *right = other; /* every byte, whatever came before */
    unsigned char difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= left[i] ^ right[i];
    return difference == 0;
}

opal_status_t opal_secret_random(void *bytes, size_t length)
{
    unsigned char *at = bytes;
    while (length > 0) {
        ssize_t got = getrandom(at, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            opal_log_error("the kernel gives no random bytes: %s", strerror(errno));
            return OPAL_ERR_SYSTEM;
        }
        at += got;
        length -= (size_t)got;
    }
    return OPAL_SUCCESS;
}
