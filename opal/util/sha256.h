/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104), a comparison in constant time, and random bytes:
 * for proofs that a process knows a secret.
 *
 * For handshakes, not for bulk data: plain C, without special instructions. Any thread; one thread
 * at a time uses an object.
 */
#ifndef OPAL_UTIL_SHA256_H
#define OPAL_UTIL_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"

enum { OPAL_SHA256_BYTES = 32, OPAL_SHA256_BLOCK_BYTES = 64 };

/* `length` counts all bytes so far; the last length % 64 of them wait in `block`. */
typedef struct opal_sha256 {
    uint32_t state[8];
    uint64_t length;
    unsigned char block[OPAL_SHA256_BLOCK_BYTES];
} opal_sha256_t;

OPAL_EXPORT void opal_sha256_begin(opal_sha256_t *hash);
OPAL_EXPORT void opal_sha256_add(opal_sha256_t *hash, const void *bytes, size_t length);

/* Wipes the object; it can begin again. */
OPAL_EXPORT void opal_sha256_end(opal_sha256_t *hash, unsigned char digest[OPAL_SHA256_BYTES]);

/* begin, add and end for contiguous bytes. */
OPAL_EXPORT void opal_sha256(const void *bytes, size_t length,
                             unsigned char digest[OPAL_SHA256_BYTES]);

typedef struct opal_hmac {
    opal_sha256_t inner, outer; /* behind the key's block */
} opal_hmac_t;

OPAL_EXPORT void opal_hmac_begin(opal_hmac_t *hmac, const void *key, size_t length);
OPAL_EXPORT void opal_hmac_add(opal_hmac_t *hmac, const void *bytes, size_t length);
OPAL_EXPORT void opal_hmac_end(opal_hmac_t *hmac, unsigned char mac[OPAL_SHA256_BYTES]);

/* Whether they are equal, in a time that depends on `length` alone. */
OPAL_EXPORT bool opal_secret_equal(const void *one, const void *other, size_t length);

/* Unpredictable bytes from the kernel. A failure was logged. */
OPAL_EXPORT opal_status_t opal_secret_random(void *bytes, size_t length);

#endif
