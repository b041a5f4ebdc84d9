/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes that roots exchange. See records.h. */
#include "ompi/dynamic/records.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/process/process_record.h"
#include "opal/util/bytes.h"
#include "ompi/errhandler/error_code.h"

_Static_assert(OPAL_RECORD_MOST_BYTES <= UINT16_MAX, "a length has 2 bytes");

static unsigned char *reserve(ompi_records_t *records, size_t bytes)
{
    if (records->no_memory)
        return NULL;
    if (records->length == 0)
        records->length = OMPI_SIDE_HEAD_BYTES;
    if (records->length + bytes > records->capacity) {
        size_t capacity = 2 * (records->length + bytes);
        unsigned char *grown = realloc(records->bytes, capacity);
        records->no_memory = grown == NULL;
        if (grown == NULL)
            return NULL;
        records->bytes = grown;
        records->capacity = capacity;
    }
    unsigned char *room = records->bytes + records->length;
    records->length += bytes;
    return room;
}

void ompi_records_add(ompi_records_t *records, const void *record, size_t length)
{
    unsigned char *room = reserve(records, 2 + length);
    if (room == NULL)
        return;
    opal_put_le16(room, (uint16_t)length);
    memcpy(room + 2, record, length);
}

bool ompi_records_finish(ompi_records_t *records, const ompi_side_head_t *head)
{
    if (reserve(records, 0) == NULL)
        return false;
    opal_put_le32(records->bytes, (uint32_t)head->error);
    opal_put_le32(records->bytes + 4, (uint32_t)head->count);
    opal_put_le32(records->bytes + 8, (uint32_t)head->leader);
    memcpy(records->bytes + 12, head->pml, OMPI_SIDE_PML_BYTES);
    return true;
}

void ompi_records_free(ompi_records_t *records)
{
    if (records->bytes != NULL)
        explicit_bzero(records->bytes, records->length);
    free(records->bytes);
    *records = (ompi_records_t){0};
}

static bool check_head(ompi_side_head_t *head, const unsigned char *bytes, size_t length)
{
    if (length < OMPI_SIDE_HEAD_BYTES)
        return false;
    uint32_t error = opal_get_le32(bytes), count = opal_get_le32(bytes + 4);
    uint32_t leader = opal_get_le32(bytes + 8);
    if (error > INT_MAX || count > INT_MAX || (count > 0 && leader >= count))
        return false;
    int class = ompi_error_is_standard((int)error) ? (int)error : MPI_ERR_OTHER;
    *head = (ompi_side_head_t){.error = class, .count = (int)count, .leader = (int)leader};
    memcpy(head->pml, bytes + 12, sizeof head->pml);
    return memchr(head->pml, 0, sizeof head->pml) != NULL;
}

bool ompi_records_check(ompi_side_head_t *head, const void *bytes, size_t length)
{
    const unsigned char *at = bytes, *end = at + length;
    int count = 0;
    if (!check_head(head, bytes, length))
        return false;
    for (at += OMPI_SIDE_HEAD_BYTES; at != end; count++) {
        if (end - at < 2)
            return false;
        size_t record = opal_get_le16(at);
        if (record > OPAL_RECORD_MOST_BYTES || (size_t)(end - at - 2) < record)
            return false;
        at += 2 + record;
    }
    return count == head->count;
}
