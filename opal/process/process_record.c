/* SPDX-License-Identifier: BSD-3-Clause */
/* Address records as bytes. Functions of their arguments. */
#include "opal/process/process_record.h"

#include <stdbool.h>
#include <string.h>

enum { FORMAT = 1 };

/* -- writing ------------------------------------------------------------------------------- */

static unsigned char *put(unsigned char *at, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        *at++ = (unsigned char)(number >> (8 * i));
    return at;
}

static unsigned char *put_bytes(unsigned char *at, const void *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return at + length;
}

size_t opal_record_encode(const opal_process_record_t *record,
                          unsigned char bytes[OPAL_RECORD_MOST_BYTES])
{
    size_t id_bytes = strnlen(record->job_id, UINT8_MAX);
    unsigned char *at = put(put(bytes, FORMAT, 1), id_bytes, 1);
    at = put_bytes(at, record->job_id, id_bytes);
    at = put(put(put(at, record->rank, 4), record->node, 4), record->size, 4);
    at = put_bytes(at, record->key, sizeof record->key);
    for (unsigned kind = 0; kind < OPAL_MODEX_KINDS; kind++) {
        at = put(at, record->modex[kind].length, 2);
        at = put_bytes(at, record->modex[kind].bytes, record->modex[kind].length);
    }
    return (size_t)(at - bytes);
}

/* -- reading ------------------------------------------------------------------------------- */

typedef struct reader {
    const unsigned char *at, *end;
    bool is_short; /* more was asked for than there is */
} reader_t;

static void take_bytes(reader_t *reader, void *to, size_t length)
{
    if (reader->is_short || length > (size_t)(reader->end - reader->at)) {
        reader->is_short = true;
        return;
    }
    memcpy(to, reader->at, length);
    reader->at += length;
}

static uint32_t take(reader_t *reader, unsigned bytes)
{
    unsigned char there[4] = {0};
    take_bytes(reader, there, bytes);
    return there[0] | (uint32_t)there[1] << 8 | (uint32_t)there[2] << 16 | (uint32_t)there[3] << 24;
}

bool opal_record_decode(opal_process_record_t *record, const void *bytes, size_t length)
{
    reader_t reader = {.at = bytes, .end = (const unsigned char *)bytes + length};
    memset(record, 0, sizeof *record);
    if (take(&reader, 1) != FORMAT)
        return false;
    take_bytes(&reader, record->job_id, take(&reader, 1));
    record->rank = take(&reader, 4);
    record->node = take(&reader, 4);
    record->size = take(&reader, 4);
    take_bytes(&reader, record->key, sizeof record->key);
    for (unsigned kind = 0; kind < OPAL_MODEX_KINDS; kind++) {
        uint32_t modex_bytes = take(&reader, 2);
        if (modex_bytes > OPAL_MODEX_MAX_BYTES)
            return false;
        record->modex[kind].length = (uint16_t)modex_bytes;
        take_bytes(&reader, record->modex[kind].bytes, modex_bytes);
    }
    opal_sha256(record->job_id, strlen(record->job_id), record->job);
    return !reader.is_short && reader.at == reader.end && record->rank < record->size;
}
