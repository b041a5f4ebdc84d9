/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The card by which a rank tells the others how it uses libfabric, and where it can be reached. All
 * have to use it in the same way: each compares its card with that of the next rank, and so all are
 * compared.
 *
 *   0        1      2           3        7         11     12
 *   +--------+------+-----------+--------+---------+------+- - - - +- - - - - +- - - - -+- - - - -+
 *   | format | mode | comm bits | format | version | word | host 0 | provider | fabric  | address |
 *   |        |      |           | of it  |         | bits |        | 0        | 0       |         |
 *   +--------+------+-----------+--------+---------+------+- - - - +- - - - - +- - - - -+- - - - -+
 *
 * Numbers are little-endian; texts end with a zero; the address takes what is left.
 *
 * Functions of their arguments. Start-up; one thread.
 */
#ifndef OMPI_MCA_MTL_OFI_CARD_H
#define OMPI_MCA_MTL_OFI_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/util/text.h"
#include "ompi/mca/mtl/ofi/tag.h"

/* The texts and the address belong to whoever made it: of one that was read they are in its bytes.
 */
typedef struct ofi_card {
    ofi_tag_mode_t mode;
    unsigned comm_bits;
    uint32_t address_format; /* FI_SOCKADDR_IN ... */
    uint32_t version;        /* of libfabric, fi_version() */
    unsigned word_bits;      /* of the job's word in the data: stranger.c */
    const char *host, *provider, *fabric;
    const void *address;
    size_t address_bytes;
} ofi_card_t;

/* Returns malloc'ed bytes. */
unsigned char *ofi_card_encode(const ofi_card_t *card, size_t *length);

/* False: these bytes are no card; `*card` is as it was. */
bool ofi_card_decode(ofi_card_t *card, const void *bytes, size_t length);

/* Whether both can send to each other. If not, `message` gets a sentence that names both. */
bool ofi_cards_agree(const ofi_card_t *mine, unsigned rank, const ofi_card_t *others,
                     unsigned other, opal_text_t *message);

#endif
