/* SPDX-License-Identifier: BSD-3-Clause */
/* See hex.h. */
#include "opal/util/hex.h"

void opal_hex_print(char *text, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) {
        text[2 * i] = digits[at[i] >> 4];
        text[2 * i + 1] = digits[at[i] & 15];
    }
    text[2 * length] = 0;
}

static int value_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool opal_hex_append(const char *text, void *bytes, size_t room, size_t *done)
{
    for (; text[0] != 0; text += 2) {
        int high = value_of(text[0]);
        int low = high < 0 ? -1 : value_of(text[1]);
        if (low < 0 || *done == room)
            return false;
        ((unsigned char *)bytes)[(*done)++] = (unsigned char)(high << 4 | low);
    }
    return true;
}
