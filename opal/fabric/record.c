/* SPDX-License-Identifier: BSD-3-Clause */
/* See record.h. */
#include "opal/fabric/record.h"

#include <rdma/fabric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_FORMAT = 3, HEAD_BYTES = 10 };

/* -- as bytes -----------------------------------------------------------------------------------
 */

static void put32(unsigned char *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get32(const unsigned char *at)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++)
        value |= (uint32_t)at[i] << 8 * i;
    return value;
}

unsigned char *opal_fabric_record_encode(const opal_fabric_record_t *record, size_t *length)
{
    const char *const texts[] = {record->host, record->provider, record->fabric};
    *length = HEAD_BYTES + record->added_bytes + record->address_bytes;
    for (size_t i = 0; i < OPAL_COUNT_OF(texts); i++)
        *length += strlen(texts[i]) + 1;
    unsigned char *bytes = opal_xmalloc(*length), *at = bytes + HEAD_BYTES;
    bytes[0] = RECORD_FORMAT;
    put32(bytes + 1, record->address_format);
    put32(bytes + 5, record->version);
    bytes[9] = (unsigned char)record->added_bytes;
    if (record->added_bytes > 0)
        memcpy(at, record->added, record->added_bytes);
    at += record->added_bytes;
    for (size_t i = 0; i < OPAL_COUNT_OF(texts); i++) {
        memcpy(at, texts[i], strlen(texts[i]) + 1);
        at += strlen(texts[i]) + 1;
    }
    memcpy(at, record->address, record->address_bytes);
    return bytes;
}

/* Returns the text at *at and moves *at behind it. NULL: the text does not end. */
static const char *read_text(const char **at, const char *end)
{
    const char *text = *at, *zero = memchr(text, 0, (size_t)(end - text));
    if (zero == NULL)
        return NULL;
    *at = zero + 1;
    return text;
}

bool opal_fabric_record_decode(opal_fabric_record_t *record, const void *bytes, size_t length)
{
    const unsigned char *head = bytes;
    if (length < HEAD_BYTES || head[0] != RECORD_FORMAT || length - HEAD_BYTES < head[9])
        return false;
    opal_fabric_record_t read = {.address_format = get32(head + 1),
                                 .version = get32(head + 5),
                                 .added = head + HEAD_BYTES,
                                 .added_bytes = head[9]};
    const char *at = (const char *)bytes + HEAD_BYTES + head[9];
    const char *end = (const char *)bytes + length;
    if ((read.host = read_text(&at, end)) == NULL ||
        (read.provider = read_text(&at, end)) == NULL ||
        (read.fabric = read_text(&at, end)) == NULL)
        return false;
    read.address = at;
    read.address_bytes = (size_t)(end - at);
    *record = read;
    return true;
}

/* A provider does not check how long an address is. */
bool opal_fabric_record_has_address(const opal_fabric_record_t *record, uint32_t format,
                                    size_t bytes)
{
    if (record->address_format != format)
        return false;
    if (format == FI_ADDR_STR)
        return memchr(record->address, 0, record->address_bytes) != NULL;
    return record->address_bytes == bytes;
}

/* -- agreement ----------------------------------------------------------------------------------
 */

/* "rank 3 on node1 (libfabric 1.17)" */
static void add_rank(const opal_fabric_record_t *record, unsigned rank, opal_text_t *message)
{
    opal_text_printf(message, "rank %u on %s (libfabric %u.%u)", rank, record->host,
                     FI_MAJOR(record->version), FI_MINOR(record->version));
}

/* IP is routed between fabrics: libfabric calls each IP network a fabric. */
static bool is_routed(uint32_t format)
{
    return format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
}

static bool is_same_fabric(const opal_fabric_record_t *mine, const opal_fabric_record_t *others)
{
    return mine->address_format == others->address_format &&
           (is_routed(mine->address_format) || strcmp(mine->fabric, others->fabric) == 0);
}

static void differ(opal_fabric_difference_t *difference, const char *what, const char *mine,
                   const char *others)
{
    difference->what = what;
    snprintf(difference->mine, sizeof difference->mine, "%s", mine);
    snprintf(difference->others, sizeof difference->others, "%s", others);
}

bool opal_fabric_records_agree(const opal_fabric_record_t *mine, unsigned rank,
                               const opal_fabric_record_t *others, unsigned other,
                               const char *prefix, opal_fabric_compare_fn_t *compare,
                               opal_text_t *message)
{
    opal_fabric_difference_t difference;
    opal_text_t advice = {0};
    if (strcmp(mine->provider, others->provider) != 0) {
        differ(&difference, "the provider", mine->provider, others->provider);
        opal_text_printf(&advice, "%s_provider_include", prefix);
    } else if (!is_same_fabric(mine, others)) {
        differ(&difference, "the fabric", mine->fabric, others->fabric);
        opal_text_printf(&advice, "%s_domain_include", prefix);
    } else if (!compare(mine->added, mine->added_bytes, others->added, others->added_bytes,
                        &difference)) {
        opal_text_add(&advice, difference.advice);
    } else {
        return true;
    }
    add_rank(mine, rank, message);
    opal_text_printf(message, " has %s %s, and ", difference.what, difference.mine);
    add_rank(others, other, message);
    opal_text_printf(message, " %s; all ranks need the same, and %s can say which",
                     difference.others, opal_text_string(&advice));
    opal_text_free(&advice);
    return false;
}
