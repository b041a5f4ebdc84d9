/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One message of the PMI-1 wire protocol, for both ends of it.
 *
 *   cmd=put kvsname=kvs_17 key=sm-0 value=AbC\n
 *
 * A message is a line of key=value words separated by blanks; the first is
 * cmd. A value runs to the next blank, except that of the keys "value" and "msg"
 * when no other word follows: it runs to the end of the line. The one exception
 * to "a line" is spawn: mcmd=spawn, then a line per word, then endcmd; it is
 * read as one message whose cmd is "spawn".
 *
 * Nothing here allocates; a parsed message points into the buffer.
 */
#ifndef OPAL_MCA_PMI_MESSAGE_H
#define OPAL_MCA_PMI_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"

enum {
    OPAL_PMI_MAX_WORDS = 64,          /* words in one message */
    OPAL_PMI_MAX_SPAWN_WORDS = 4096,  /* words in a spawn, which has the arguments of a program */
    OPAL_PMI_MAX_MESSAGE = 64 * 1024, /* bytes in one message, spawn included */
    OPAL_PMI_MAX_KVSNAME = 256,       /* what get_maxes answers; the numbers MPICH uses */
    OPAL_PMI_MAX_KEY = 64,
    OPAL_PMI_MAX_VALUE = 1024,
};

typedef struct opal_pmi_message {
    const char *cmd;
    struct {
        const char *key, *value;
    } words[OPAL_PMI_MAX_SPAWN_WORDS]; /* without cmd */
    size_t count;
} opal_pmi_message_t;

/*
 * Looks for one whole message at the start of `length` bytes. Found: cuts it into
 * `message` (writing zeros into the buffer), sets *used to its bytes. Not whole yet:
 * OPAL_SUCCESS with *used 0. OPAL_ERR_PROTOCOL: not a message, or one that is too long;
 * `*complaint` is a phrase that says what is wrong with it.
 */
OPAL_EXPORT opal_status_t opal_pmi_message_parse(char *bytes, size_t length,
                                                 opal_pmi_message_t *message, size_t *used,
                                                 const char **complaint);

/* The value of a key, or NULL. */
OPAL_EXPORT const char *opal_pmi_message_get(const opal_pmi_message_t *message, const char *key);

/* The value of a key as a whole decimal number in [min, max]; false: missing or no such number. */
OPAL_EXPORT bool opal_pmi_message_get_int(const opal_pmi_message_t *message, const char *key,
                                          int min, int max, int *value);

#endif
