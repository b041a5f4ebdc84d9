/* SPDX-License-Identifier: BSD-3-Clause */
/* How a rank uses libfabric, for the others. See card.h. */
#include "ompi/mca/mtl/ofi/card.h"

#include <rdma/fabric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CARD_FORMAT = 2, HEAD_BYTES = 12 };

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

unsigned char *ofi_card_encode(const ofi_card_t *card, size_t *length)
{
    const char *const texts[] = {card->host, card->provider, card->fabric};
    *length = HEAD_BYTES + card->address_bytes;
    for (size_t i = 0; i < OPAL_COUNT_OF(texts); i++)
        *length += strlen(texts[i]) + 1;
    unsigned char *bytes = opal_xmalloc(*length), *at = bytes + HEAD_BYTES;
    bytes[0] = CARD_FORMAT;
    bytes[1] = (unsigned char)card->mode;
    bytes[2] = (unsigned char)card->comm_bits;
    put32(bytes + 3, card->address_format);
    put32(bytes + 7, card->version);
    bytes[11] = (unsigned char)card->word_bits;
    for (size_t i = 0; i < OPAL_COUNT_OF(texts); i++) {
        memcpy(at, texts[i], strlen(texts[i]) + 1);
        at += strlen(texts[i]) + 1;
    }
    memcpy(at, card->address, card->address_bytes);
    return bytes;
}

/* Behind the text at *at, which is left there; NULL: it does not end. */
static const char *read_text(const char **at, const char *end)
{
    const char *text = *at, *zero = memchr(text, 0, (size_t)(end - text));
    if (zero == NULL)
        return NULL;
    *at = zero + 1;
    return text;
}

bool ofi_card_decode(ofi_card_t *card, const void *bytes, size_t length)
{
    const unsigned char *head = bytes;
    const char *at = (const char *)bytes + HEAD_BYTES, *end = (const char *)bytes + length;
    if (length < HEAD_BYTES || head[0] != CARD_FORMAT || head[1] <= OFI_TAG_AUTO ||
        head[1] >= OFI_TAG_MODE_COUNT)
        return false;
    ofi_card_t read = {.mode = (ofi_tag_mode_t)head[1],
                       .comm_bits = head[2],
                       .address_format = get32(head + 3),
                       .version = get32(head + 7),
                       .word_bits = head[11]};
    if ((read.host = read_text(&at, end)) == NULL ||
        (read.provider = read_text(&at, end)) == NULL ||
        (read.fabric = read_text(&at, end)) == NULL)
        return false;
    read.address = at;
    read.address_bytes = (size_t)(end - at);
    *card = read;
    return true;
}

/* -- agreement ----------------------------------------------------------------------------------
 */

/* "rank 3 on node1 (libfabric 1.17)" */
static void say_who(const ofi_card_t *card, unsigned rank, opal_text_t *message)
{
    opal_text_printf(message, "rank %u on %s (libfabric %u.%u)", rank, card->host,
                     FI_MAJOR(card->version), FI_MINOR(card->version));
}

/* What they are for, with a number each, if the two are not the same. */
static const char *compare_bits(const ofi_card_t *mine, const ofi_card_t *others, char *my_bits,
                                char *other_bits, size_t room)
{
    bool is_comm = mine->comm_bits != others->comm_bits;
    if (!is_comm && mine->word_bits == others->word_bits)
        return NULL;
    snprintf(my_bits, room, "%u", is_comm ? mine->comm_bits : mine->word_bits);
    snprintf(other_bits, room, "%u", is_comm ? others->comm_bits : others->word_bits);
    return is_comm ? "as the bits of a tag for communicators"
                   : "as the bits of a message's data for the job's word";
}

/* Addresses of the Internet's are routed from one fabric to the other: libfabric calls each network
 * one. */
static bool is_routed(uint32_t format)
{
    return format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
}

bool ofi_cards_agree(const ofi_card_t *mine, unsigned rank, const ofi_card_t *others,
                     unsigned other, opal_text_t *message)
{
    char my_bits[16], other_bits[16];
    const char *what, *my_way, *other_way, *advice;
    if (strcmp(mine->provider, others->provider) != 0) {
        what = "the provider";
        my_way = mine->provider;
        other_way = others->provider;
        advice = "mtl_ofi_provider_include";
    } else if (mine->address_format != others->address_format ||
               (!is_routed(mine->address_format) && strcmp(mine->fabric, others->fabric) != 0)) {
        what = "the fabric";
        my_way = mine->fabric;
        other_way = others->fabric;
        advice = "mtl_ofi_domain_include";
    } else if (mine->mode != others->mode) {
        what = "the tag mode";
        my_way = ofi_tag_mode_name(mine->mode);
        other_way = ofi_tag_mode_name(others->mode);
        advice = "mtl_ofi_tag_mode";
    } else if ((what = compare_bits(mine, others, my_bits, other_bits, sizeof my_bits)) != NULL) {
        my_way = my_bits;
        other_way = other_bits;
        advice = "another mtl_ofi_tag_mode, or mtl_ofi_provider_include,";
    } else {
        return true;
    }
    say_who(mine, rank, message);
    opal_text_printf(message, " has %s %s, and ", what, my_way);
    say_who(others, other, message);
    opal_text_printf(message, " %s; all ranks need the same, and %s can say which", other_way,
                     advice);
    return false;
}
