/* SPDX-License-Identifier: BSD-3-Clause */
/* Notices. See notice.h. */
#include "opal/process/notice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "opal/process/job.h"
#include "opal/util/hex.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

enum { PIECE_BYTES = 1000, MOST_BYTES = 1 << 20 };

bool opal_notice_is_possible(const opal_pmi_ops_t *pmi, void *pmi_state)
{
    if (pmi->is_prompt)
        return true;
    return pmi->publish != NULL && pmi->lookup != NULL &&
           (pmi->keeps_names == NULL || pmi->keeps_names(pmi_state));
}

static char *name_piece(unsigned rank, const char *key, size_t piece)
{
    return opal_xprintf("mica.%s.%s-%u-%zu", opal_job()->job_id, key, rank, piece);
}

/* -- putting --------------------------------------------------------------------------------- */

static opal_status_t publish_piece(unsigned rank, const char *key, size_t piece,
                                   const unsigned char *bytes, size_t length)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    char hex[2 * PIECE_BYTES + 1], *name = name_piece(rank, key, piece);
    size_t part = length - piece * PIECE_BYTES;
    opal_hex_print(hex, bytes + piece * PIECE_BYTES, part < PIECE_BYTES ? part : PIECE_BYTES);
    char *value = piece == 0 ? opal_xprintf("%zu:%s", length, hex) : opal_xstrdup(hex);
    opal_status_t status = pmi->publish(state, name, value);
    explicit_bzero(value, strlen(value)); /* it may be a key */
    explicit_bzero(hex, sizeof hex);
    free(value);
    free(name);
    return status;
}

static opal_status_t publish(unsigned rank, const char *key, const void *bytes, size_t length)
{
    opal_status_t status = OPAL_SUCCESS;
    size_t pieces = length == 0 ? 1 : (length + PIECE_BYTES - 1) / PIECE_BYTES;
    while (pieces-- > 0 && status == OPAL_SUCCESS)
        status = publish_piece(rank, key, pieces, bytes, length);
    return status;
}

opal_status_t opal_notice_put(const char *key, const void *bytes, size_t length)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    if (pmi->is_prompt)
        return pmi->put(state, key, bytes, length);
    return publish(opal_job()->rank, key, bytes, length);
}

/* -- getting --------------------------------------------------------------------------------- */

typedef struct value {
    unsigned char *bytes; /* malloc'ed when piece 0 has come */
    size_t total, done;
} value_t;

static opal_status_t take_piece(value_t *value, size_t piece, const char *text)
{
    if (piece == 0) {
        char *colon;
        unsigned long total = strtoul(text, &colon, 10);
        if (!isdigit((unsigned char)*text) || *colon != ':' || total > MOST_BYTES)
            return OPAL_ERR_PROTOCOL;
        value->total = total;
        value->bytes = malloc(total + 1);
        if (value->bytes == NULL)
            return OPAL_ERR_NO_MEMORY;
        text = colon + 1;
    }
    size_t before = value->done;
    bool is_good = opal_hex_append(text, value->bytes, value->total, &value->done) &&
                   (value->done > before || value->total == 0);
    return is_good ? OPAL_SUCCESS : OPAL_ERR_PROTOCOL;
}

static opal_status_t find_piece(value_t *value, unsigned rank, const char *key, size_t piece)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    char *text, *name = name_piece(rank, key, piece);
    opal_status_t status = pmi->lookup(state, name, &text);
    free(name);
    if (status == OPAL_ERR_NOT_FOUND && piece > 0)
        return OPAL_ERR_PROTOCOL;
    if (status != OPAL_SUCCESS)
        return status;
    status = take_piece(value, piece, text);
    explicit_bzero(text, strlen(text));
    free(text);
    return status;
}

static opal_status_t find(unsigned rank, const char *key, void **bytes, size_t *length)
{
    value_t value = {0};
    opal_status_t status = OPAL_SUCCESS;
    for (size_t piece = 0; status == OPAL_SUCCESS && (piece == 0 || value.done < value.total);
         piece++)
        status = find_piece(&value, rank, key, piece);
    if (status == OPAL_ERR_PROTOCOL)
        opal_log_error("the launcher's value of the name mica.%s.%s-%u is damaged",
                       opal_job()->job_id, key, rank);
    if (status != OPAL_SUCCESS) {
        free(value.bytes);
        return status;
    }
    *bytes = value.bytes;
    *length = value.total;
    return OPAL_SUCCESS;
}

opal_status_t opal_notice_get(unsigned rank, const char *key, void **bytes, size_t *length)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    if (pmi->is_prompt)
        return pmi->get(state, rank, key, bytes, length);
    return find(rank, key, bytes, length);
}

/* Some servers refuse a second value of a name, and others keep both and show the first one: what
 * is found counts. */
opal_status_t opal_notice_agree(const char *key, void *bytes, size_t length)
{
    void *found;
    size_t found_bytes;
    opal_status_t status = publish(0, key, bytes, length);
    if (status == OPAL_SUCCESS || status == OPAL_ERR_EXISTS)
        status = find(0, key, &found, &found_bytes);
    if (status != OPAL_SUCCESS)
        return status;
    if (found_bytes == length)
        memcpy(bytes, found, length);
    else
        status = OPAL_ERR_PROTOCOL;
    explicit_bzero(found, found_bytes);
    free(found);
    return status;
}
