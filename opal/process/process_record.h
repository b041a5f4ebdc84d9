/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The address record of a process, by which processes of other jobs know it: its name, the key of
 * its job, and its modex records.
 *
 *   0        1          2      2 + n    +4     +4     +32    +2       + length
 *   +--------+----------+------+--------+------+------+------+--------+- - - - - - - -+- - -
 *   | format | n        | job  | rank   | node | size | key  | length | modex record  | the next
 *   +--------+----------+------+--------+------+------+------+--------+- - - - - - - -+- - -
 *
 * Numbers are little-endian. `node` is the number of the host in its job. There is a modex record
 * of each kind (opal_modex_kind_t); one of length 0 was not published.
 */
#ifndef OPAL_PROCESS_PROCESS_RECORD_H
#define OPAL_PROCESS_PROCESS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/process/modex.h"
#include "opal/process/key.h"
#include "opal/util/sha256.h"

enum { OPAL_JOB_ID_BYTES = 256 };

typedef struct opal_process_record {
    char job_id[OPAL_JOB_ID_BYTES];
    unsigned char job[OPAL_SHA256_BYTES]; /* SHA-256 of the id */
    unsigned char key[OPAL_JOB_KEY_BYTES];
    uint32_t rank, node, size; /* in its job, of its job */
    struct {
        uint16_t length;
        unsigned char bytes[OPAL_MODEX_MAX_BYTES];
    } modex[OPAL_MODEX_KINDS];
} opal_process_record_t;

enum {
    OPAL_RECORD_MOST_BYTES = 2 + OPAL_JOB_ID_BYTES + 12 + OPAL_JOB_KEY_BYTES +
                             OPAL_MODEX_KINDS * (2 + OPAL_MODEX_MAX_BYTES)
};

/* Returns the number of bytes written. */
size_t opal_record_encode(const opal_process_record_t *record,
                          unsigned char bytes[OPAL_RECORD_MOST_BYTES]);

/* False: these bytes are no record, and *record is undefined. */
bool opal_record_decode(opal_process_record_t *record, const void *bytes, size_t length);

#endif
