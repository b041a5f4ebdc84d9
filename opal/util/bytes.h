/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers as bytes, little-endian whatever the processor: for what goes to another process. A
 * buffer needs no alignment.
 */
#ifndef OPAL_UTIL_BYTES_H
#define OPAL_UTIL_BYTES_H

#include <stdint.h>

static inline void opal_put_le16(unsigned char *at, uint16_t number)
{
    at[0] = (unsigned char)number;
    at[1] = (unsigned char)(number >> 8);
}

static inline void opal_put_le32(unsigned char *at, uint32_t number)
{
    opal_put_le16(at, (uint16_t)number);
    opal_put_le16(at + 2, (uint16_t)(number >> 16));
}

static inline void opal_put_le64(unsigned char *at, uint64_t number)
{
    opal_put_le32(at, (uint32_t)number);
    opal_put_le32(at + 4, (uint32_t)(number >> 32));
}

static inline uint16_t opal_get_le16(const unsigned char *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t opal_get_le32(const unsigned char *at)
{
    return opal_get_le16(at) | (uint32_t)opal_get_le16(at + 2) << 16;
}

static inline uint64_t opal_get_le64(const unsigned char *at)
{
    return opal_get_le32(at) | (uint64_t)opal_get_le32(at + 4) << 32;
}

#endif
