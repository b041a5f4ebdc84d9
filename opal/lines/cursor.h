/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading numbers and strings of ELF and DWARF in the byte order of this machine. A file may be
 * damaged, so every read is checked against the end: a read that goes beyond it gives 0 or "" and
 * sets `failed`, and so do all reads after it. So a reader checks once, at its end.
 *
 * Threading: functions of their arguments.
 */
#ifndef OPAL_LINES_CURSOR_H
#define OPAL_LINES_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct opal_bytes {
    const unsigned char *at; /* may be NULL if there are none */
    size_t count;
} opal_bytes_t;

typedef struct opal_cursor {
    const unsigned char *at, *end;
    bool failed;
} opal_cursor_t;

static inline opal_cursor_t opal_cursor(opal_bytes_t bytes)
{
    return (opal_cursor_t){bytes.at, bytes.at + bytes.count, false};
}

/* At an offset of the bytes; failed at once if it is behind them. */
static inline opal_cursor_t opal_cursor_from(opal_bytes_t bytes, uint64_t offset)
{
    opal_cursor_t cursor = opal_cursor(bytes);
    cursor.failed = offset > bytes.count;
    cursor.at = cursor.failed ? cursor.end : cursor.at + offset;
    return cursor;
}

static inline size_t opal_cursor_left(const opal_cursor_t *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static inline void opal_cursor_fail(opal_cursor_t *cursor)
{
    cursor->failed = true;
    cursor->at = cursor->end;
}

/* The bytes, or NULL. */
static inline const unsigned char *opal_cursor_take(opal_cursor_t *cursor, uint64_t count)
{
    const unsigned char *at = cursor->at;
    if (cursor->failed || count > opal_cursor_left(cursor)) {
        opal_cursor_fail(cursor);
        return NULL;
    }
    cursor->at += count;
    return at;
}

static inline uint64_t opal_cursor_number(opal_cursor_t *cursor, unsigned bytes)
{
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    uint64_t number;
    const unsigned char *at = opal_cursor_take(cursor, bytes);
    if (at == NULL)
        return 0;
    switch (bytes) {
    case 1:
        memcpy(&byte, at, sizeof byte);
        return byte;
    case 2:
        memcpy(&half, at, sizeof half);
        return half;
    case 4:
        memcpy(&word, at, sizeof word);
        return word;
    case 8:
        memcpy(&number, at, sizeof number);
        return number;
    default:
        opal_cursor_fail(cursor);
        return 0;
    }
}

static inline uint64_t opal_cursor_uleb(opal_cursor_t *cursor)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned byte = (unsigned)opal_cursor_number(cursor, 1);
        if (shift < 64)
            number |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return number;
    }
}

static inline int64_t opal_cursor_sleb(opal_cursor_t *cursor)
{
    uint64_t number = 0;
    unsigned shift = 0, byte;
    do {
        byte = (unsigned)opal_cursor_number(cursor, 1);
        if (shift < 64)
            number |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0)
        number |= ~UINT64_C(0) << shift;
    return (int64_t)number;
}

/* A string that ends in 0. Never NULL. */
static inline const char *opal_cursor_string(opal_cursor_t *cursor)
{
    const unsigned char *at = cursor->at;
    size_t left = opal_cursor_left(cursor);
    const unsigned char *zero = left > 0 ? memchr(at, 0, left) : NULL;
    if (cursor->failed || zero == NULL) {
        opal_cursor_fail(cursor);
        return "";
    }
    cursor->at = zero + 1;
    return (const char *)at;
}

/* The string at an offset of the bytes; "": there is none. */
static inline const char *opal_bytes_string(opal_bytes_t bytes, uint64_t offset)
{
    opal_cursor_t cursor = opal_cursor_from(bytes, offset);
    return opal_cursor_string(&cursor);
}

#endif
