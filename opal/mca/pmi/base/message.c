/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts PMI-1 messages into words, in place. */
#include "opal/mca/pmi/base/message.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char spawn_begins[] = "mcmd=";
static const char spawn_ends[] = "endcmd\n";

/*
 * The bytes of the message at the start of the buffer, its closing newline
 * included; 0: not whole yet.
 */
static size_t whole_message(const char *bytes, size_t length)
{
    const char *newline = memchr(bytes, '\n', length);
    if (newline == NULL)
        return 0;
    if (length < sizeof spawn_begins - 1 ||
        memcmp(bytes, spawn_begins, sizeof spawn_begins - 1) != 0)
        return (size_t)(newline - bytes) + 1;

    for (const char *line = newline + 1; line < bytes + length; line = newline + 1) {
        newline = memchr(line, '\n', (size_t)(bytes + length - line));
        if (newline == NULL)
            break;
        if ((size_t)(newline - line) + 1 == sizeof spawn_ends - 1 &&
            memcmp(line, spawn_ends, sizeof spawn_ends - 1) == 0)
            return (size_t)(newline - bytes) + 1;
    }
    return 0;
}

/* True for the keys whose value may hold blanks, when no other word follows. */
static bool takes_the_rest(const char *key, const char *value)
{
    return (strcmp(key, "value") == 0 || strcmp(key, "msg") == 0) && strchr(value, '=') == NULL;
}

/* Cuts the next key=value off *cursor. A word without '=' has the value "". */
static void next_word(char **cursor, const char *blanks, const char **key, const char **value)
{
    char *word = *cursor;
    size_t key_length = strcspn(word, blanks);
    char *equals = memchr(word, '=', key_length);

    *key = word;
    if (equals == NULL) {
        *value = "";
    } else {
        *equals = 0;
        *value = equals + 1;
        bool rest = *blanks == ' ' && takes_the_rest(word, equals + 1);
        key_length =
            (size_t)(equals + 1 - word) + (rest ? strlen(equals + 1) : strcspn(equals + 1, blanks));
    }
    char *end = word + key_length;
    if (*end != 0)
        *end++ = 0;
    *cursor = end;
}

opal_status_t opal_pmi_message_parse(char *bytes, size_t length, opal_pmi_message_t *message,
                                     size_t *used, const char **complaint)
{
    *used = 0;
    *complaint = NULL;
    message->cmd = "";
    message->count = 0;

    size_t size = whole_message(bytes, length);
    if (size > OPAL_PMI_MAX_MESSAGE || (size == 0 && length >= OPAL_PMI_MAX_MESSAGE)) {
        *complaint = "it is longer than 64 KiB";
        return OPAL_ERR_PROTOCOL;
    }
    if (size == 0)
        return OPAL_SUCCESS;
    if (memchr(bytes, 0, size) != NULL) {
        *complaint = "it has a zero byte in it";
        return OPAL_ERR_PROTOCOL;
    }

    bool spawn = memcmp(bytes, spawn_begins, size < 5 ? size : 5) == 0;
    const char *blanks = spawn ? "\n" : " ";
    bytes[size - 1] = 0;
    *used = size;

    for (char *cursor = bytes + strspn(bytes, blanks); *cursor != 0;
         cursor += strspn(cursor, blanks)) {
        const char *key, *value;
        next_word(&cursor, blanks, &key, &value);
        if (message->cmd[0] == 0) {
            if (strcmp(key, "cmd") != 0 && strcmp(key, "mcmd") != 0) {
                *complaint = "it does not begin with cmd=";
                return OPAL_ERR_PROTOCOL;
            }
            message->cmd = value;
            if (value[0] == 0) {
                *complaint = "its cmd is empty";
                return OPAL_ERR_PROTOCOL;
            }
        } else if (message->count == (spawn ? OPAL_PMI_MAX_SPAWN_WORDS : OPAL_PMI_MAX_WORDS)) {
            *complaint = spawn ? "it has more than 4096 words" : "it has more than 64 words";
            return OPAL_ERR_PROTOCOL;
        } else {
            message->words[message->count].key = key;
            message->words[message->count++].value = value;
        }
    }
    if (message->cmd[0] == 0) {
        *complaint = "it is empty";
        return OPAL_ERR_PROTOCOL;
    }
    return OPAL_SUCCESS;
}

const char *opal_pmi_message_get(const opal_pmi_message_t *message, const char *key)
{
    for (size_t i = 0; i < message->count; i++) {
        if (strcmp(message->words[i].key, key) == 0)
            return message->words[i].value;
    }
    return NULL;
}

bool opal_pmi_message_get_int(const opal_pmi_message_t *message, const char *key, int min, int max,
                              int *value)
{
    const char *text = opal_pmi_message_get(message, key);
    if (text == NULL || text[0] == 0 || strspn(text, "-0123456789") != strlen(text))
        return false;
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || *end != 0 || number < min || number > max)
        return false;
    *value = (int)number;
    return true;
}
