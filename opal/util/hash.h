/* SPDX-License-Identifier: BSD-3-Clause */
/* FNV-1a, 64 bits: for names and short texts, without protection against chosen collisions. */
#ifndef OPAL_UTIL_HASH_H
#define OPAL_UTIL_HASH_H

#include <stdint.h>

#define OPAL_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t opal_hash_byte(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static inline uint64_t opal_hash_text(uint64_t hash, const char *text)
{
    for (; *text != 0; text++)
        hash = opal_hash_byte(hash, (unsigned char)*text);
    return hash;
}

#endif
