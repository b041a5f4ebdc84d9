/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modex record of an endpoint: its address, and how its rank uses libfabric. All ranks must use
 * libfabric in the same way. Each rank compares its record with that of the next rank, so all ranks
 * are compared.
 *
 *   0        1           5         9       10
 *   +--------+-----------+---------+-------+- - - -+- - - -+- - - - - +- - - - -+- - - - -+
 *   | format | address   | version | added | added | host  | provider | fabric  | address |
 *   |        | format    |         | bytes |       | 0     | 0        | 0       |         |
 *   +--------+-----------+---------+-------+- - - -+- - - -+- - - - - +- - - - -+- - - - -+
 *
 * Numbers are little-endian. Texts end with a zero. The address takes the remaining bytes. `added`
 * belongs to the user of the endpoint.
 *
 * Threading: pure functions, called at start-up by one thread.
 */
#ifndef OPAL_FABRIC_RECORD_H
#define OPAL_FABRIC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/util/text.h"

/* The caller owns the texts, `added` and the address; decode makes them point into its bytes. */
typedef struct opal_fabric_record {
    uint32_t address_format; /* FI_SOCKADDR_IN ... */
    uint32_t version;        /* of libfabric, fi_version() */
    const char *host, *provider, *fabric;
    const void *added;
    size_t added_bytes; /* at most 255 */
    const void *address;
    size_t address_bytes;
} opal_fabric_record_t;

/* Returns the record as bytes, for free(). */
unsigned char *opal_fabric_record_encode(const opal_fabric_record_t *record, size_t *length);

/* False: the bytes are not a record, and *record is unchanged. */
bool opal_fabric_record_decode(opal_fabric_record_t *record, const void *bytes, size_t length);

/* Whether a provider can insert the address: its addresses have this format and, unless they are
 * text, this length. */
bool opal_fabric_record_has_address(const opal_fabric_record_t *record, uint32_t format,
                                    size_t bytes);

/* A difference of two ranks, such as in "the tag mode", and the parameters that set it. */
typedef struct opal_fabric_difference {
    const char *what;
    char mine[128], others[128];
    const char *advice;
} opal_fabric_difference_t;

/* Compares what the user has added in this rank and in another one. False: they differ, and
 * *difference says how. */
typedef bool opal_fabric_compare_fn_t(const void *mine, size_t mine_bytes, const void *others,
                                      size_t other_bytes, opal_fabric_difference_t *difference);

/* Whether the two ranks can send to each other. If not, adds a sentence to `message` that names
 * both and what to set. `prefix` begins the names of the parameters. */
bool opal_fabric_records_agree(const opal_fabric_record_t *mine, unsigned rank,
                               const opal_fabric_record_t *others, unsigned other,
                               const char *prefix, opal_fabric_compare_fn_t *compare,
                               opal_text_t *message);

#endif
