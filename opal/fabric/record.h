/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record by which a rank tells the others how it uses libfabric, and where an endpoint of it
 * can be reached. All have to use libfabric in the same way: each compares its record with that of
 * the next rank, and so all are compared.
 *
 *   0        1           5         9       10
 *   +--------+-----------+---------+-------+- - - -+- - - -+- - - - - +- - - - -+- - - - -+
 *   | format | address   | version | added | added | host  | provider | fabric  | address |
 *   |        | format    |         | bytes |       | 0     | 0        | 0       |         |
 *   +--------+-----------+---------+-------+- - - -+- - - -+- - - - - +- - - - -+- - - - -+
 *
 * Numbers are little-endian; texts end with a zero; the address takes what is left. `added` is of
 * the endpoint's user.
 *
 * Functions of their arguments. Start-up; one thread.
 */
#ifndef OPAL_FABRIC_RECORD_H
#define OPAL_FABRIC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/util/text.h"

/* The texts, `added` and the address belong to the caller: of a record that was read they are in
 * its bytes. */
typedef struct opal_fabric_record {
    uint32_t address_format; /* FI_SOCKADDR_IN ... */
    uint32_t version;        /* of libfabric, fi_version() */
    const char *host, *provider, *fabric;
    const void *added;
    size_t added_bytes; /* at most 255 */
    const void *address;
    size_t address_bytes;
} opal_fabric_record_t;

/* Returns malloc'ed bytes. */
unsigned char *opal_fabric_record_encode(const opal_fabric_record_t *record, size_t *length);

/* False: these bytes are no record; `*record` is as it was. */
bool opal_fabric_record_decode(opal_fabric_record_t *record, const void *bytes, size_t length);

/* Whether its address can be given to a provider whose addresses have this format, and so many
 * bytes unless they are text. */
bool opal_fabric_record_has_address(const opal_fabric_record_t *record, uint32_t format,
                                    size_t bytes);

/* "the tag mode" of two ranks, and the parameters that can make it the same. */
typedef struct opal_fabric_difference {
    const char *what;
    char mine[128], others[128];
    const char *advice;
} opal_fabric_difference_t;

/* Compares what a user has added, of this rank and of another one. False: the two differ. */
typedef bool opal_fabric_compare_fn_t(const void *mine, size_t mine_bytes, const void *others,
                                      size_t other_bytes, opal_fabric_difference_t *difference);

/* Whether both can send to each other. If not, `message` gets a sentence that names both. `prefix`
 * is that of the parameters. */
bool opal_fabric_records_agree(const opal_fabric_record_t *mine, unsigned rank,
                               const opal_fabric_record_t *others, unsigned other,
                               const char *prefix, opal_fabric_compare_fn_t *compare,
                               opal_text_t *message);

#endif
