/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of another side become known to this one, by their address records
 * (opal/process/process_record.h): each process gives its record to the leader of its side, the
 * leaders swap what they have, and each hands the other side's records to all of its side.
 *
 *   0        2           2 + length
 *   +--------+- - - - - -+--------+- - -
 *   | length | record    | length | the next                         little-endian
 *   +--------+- - - - - -+--------+- - -
 *
 * Records travel within a side in pages of a fixed size, so that no process drops out for want of
 * memory.
 *
 * Threading: under the message lock, which sends and receives release while they wait.
 */
#ifndef OMPI_COMM_CREATE_REMOTE_PROCESSES_H
#define OMPI_COMM_CREATE_REMOTE_PROCESSES_H

#include "opal/process/process_record.h"
#include "opal/util/bytes.h"
#include "ompi/comm_create/exchange.h"

enum { OMPI_RECORD_LENGTH_BYTES = 2, OMPI_RECORD_PAGE_BYTES = 2 * OPAL_RECORD_MOST_BYTES };

/* The record that begins at `at`, of bytes that are well formed. Returns where the next begins. */
static inline const unsigned char *ompi_record_next(const unsigned char *at,
                                                    const unsigned char **record, size_t *length)
{
    *length = opal_get_le16(at);
    *record = at + OMPI_RECORD_LENGTH_BYTES;
    return *record + *length;
}

/* A member gives its record to the leader. One that cannot describe itself gives no bytes. */
void ompi_record_send(const ompi_side_t *side, int leader);

/* The leader gets the record of a member, or its own. `record` has room for
 * OPAL_RECORD_MOST_BYTES. Returns an MPI error code; *length is 0 then. */
int ompi_record_receive(const ompi_side_t *side, int index, unsigned char *record, size_t *length);

/* The processes of the other side while they are added. Each has a user until `end`. */
typedef struct ompi_remote_processes {
    uint32_t *indices;
    int expected, count;
    int error; /* of this process; then nothing more is added */
} ompi_remote_processes_t;

void ompi_remote_processes_begin(ompi_remote_processes_t *remote, int expected);

/* Adds `count` records, which begin at `at`. */
void ompi_remote_processes_add(ompi_remote_processes_t *remote, const unsigned char *at, int count);

/* All of them as a group. NULL: there was an error, there is no memory, or, which is an error, too,
 * a process is listed twice. `session`: of the group, may be NULL. */
ompi_group_t *ompi_remote_processes_group(ompi_remote_processes_t *remote, ompi_object_t *session);

void ompi_remote_processes_end(ompi_remote_processes_t *remote);

#endif
