/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes as hexadecimal text, in lower case. Threading: pure functions. */
#ifndef OPAL_UTIL_HEX_H
#define OPAL_UTIL_HEX_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

/* Writes 2 * length letters and a zero. */
OPAL_EXPORT void opal_hex_print(char *text, const void *bytes, size_t length);

/* Appends the bytes that the text stands for at *done, of `room` in all. False: it is no such text,
 * or too long; some bytes may have been written. */
OPAL_EXPORT bool opal_hex_append(const char *text, void *bytes, size_t room, size_t *done);

#endif
