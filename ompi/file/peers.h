/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The views of ranks of other nodes, for which this rank is a proxy. A view is sent once to each
 * proxy, when it is first needed; both sides know when that is.
 *
 * Threading: collective calls, one at a time.
 */
#ifndef OMPI_FILE_PEERS_H
#define OMPI_FILE_PEERS_H

#include "ompi/file/conveyor.h"

typedef struct ompi_file_peers ompi_file_peers_t;

/* Of a file with ranks on several nodes. NULL: no memory. */
ompi_file_peers_t *ompi_file_peers_create(int ranks);
void ompi_file_peers_destroy(ompi_file_peers_t *peers); /* may be NULL */

/* This rank's view has changed. */
void ompi_file_peers_renew(ompi_file_peers_t *peers);

/* The length of this rank's view over the wire, and its number. */
int ompi_file_peers_describe(ompi_file_peers_t *peers, const ompi_view_t *view, uint64_t *bytes,
                             uint32_t *number);

/* Begin sending this rank's view to a proxy, and receiving that of another rank, if need be; and
 * wait until all that was begun is over. */
void ompi_file_peers_send(ompi_file_t *file, int proxy);
void ompi_file_peers_receive(ompi_file_t *file, int rank, const ompi_conveyor_part_t *part);
void ompi_file_peers_finish(ompi_file_t *file);

/* NULL: it could not be received, for want of memory or because the rank has ended. */
const ompi_view_t *ompi_file_peers_view(const ompi_file_t *file, int rank);

/* Begin a message of the conveyor. */
enum { OMPI_FILE_TAG_DATA, OMPI_FILE_TAG_VIEW };
int ompi_file_send(ompi_file_t *file, int rank, int tag, const void *bytes, size_t count,
                   ompi_request_t **request);
int ompi_file_receive(ompi_file_t *file, int rank, int tag, void *bytes, size_t count,
                      ompi_request_t **request);

#endif
