/* SPDX-License-Identifier: BSD-3-Clause */
/* Address records as bytes. Functions of their arguments. */
#include "opal/process/process_record.h"

#include <stdbool.h>
#include <string.h>

#include "opal/util/bytes.h"

enum { FORMAT = 2 };

/* -- writing ------------------------------------------------------------------------------- */

static unsigned char *put_bytes(unsigned char *at, const void *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return at + length;
}

size_t opal_record_encode(const opal_process_record_t *record,
                          unsigned char bytes[OPAL_RECORD_MOST_BYTES])
{
    size_t id_bytes = strnlen(record->job_id, UINT8_MAX);
    bytes[0] = FORMAT;
    bytes[1] = (unsigned char)id_bytes;
    unsigned char *at = put_bytes(bytes + 2, record->job_id, id_bytes);
    opal_put_le32(at, record->rank);
    opal_put_le32(at + 4, record->node);
    opal_put_le32(at + 8, record->size);
    at = put_bytes(at + 12, record->key, sizeof record->key);
    for (unsigned kind = 0; kind < OPAL_MODEX_KINDS; kind++) {
        opal_put_le16(at, record->modex[kind].length);
        at = put_bytes(at + 2, record->modex[kind].bytes, record->modex[kind].length);
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
    return opal_get_le32(there);
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
