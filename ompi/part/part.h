/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned messages: a send whose partitions any thread makes ready, one by one, and a receive
 * whose partitions can be tested. The two may have different numbers of partitions.
 *
 * They are made of messages of the pml, in two contexts:
 *
 *   OMPI_CONTEXT_PARTITIONED   with the user's tag: one offer for each MPI_Psend_init, with the
 *                              sender's partitions and the tag of the first. MPI_Precv_init
 *                              receives one offer, so the inits match in order.
 *   OMPI_CONTEXT_COLLECTIVE    partition i of a sender has the tag of its first plus i, in every
 *                              round (OMPI_TAGS_PARTITION). No two living senders of a process
 *                              share a tag, so the number of their partitions is limited.
 *
 * The receive posts a persistent receive for each partition of the sender, directly into its
 * buffer; a partition that does not begin and end with elements of its type goes through a bounce
 * buffer.
 *
 * Threading: the caller holds the message lock.
 */
#ifndef OMPI_PART_H
#define OMPI_PART_H

#include "ompi/mca/pml/pml.h"

/* Inactive persistent requests; the data of one partition is data->count elements. The peer may be
 * MPI_PROC_NULL; the route's context is set here. */
int ompi_part_send_init(const ompi_route_t *to, const ompi_data_t *data, size_t partitions,
                        ompi_request_t **request);
int ompi_part_recv_init(const ompi_route_t *from, const ompi_data_t *data, size_t partitions,
                        ompi_request_t **request);

bool ompi_part_is_send(const ompi_request_t *request);
bool ompi_part_is_receive(const ompi_request_t *request);

/* The number of partitions of the request. */
size_t ompi_part_count(const ompi_request_t *request);

/* Whether the partition of an active send was not yet made ready in this round. */
bool ompi_part_is_open(const ompi_request_t *send, size_t partition);
int ompi_part_ready(ompi_request_t *send, size_t partition);

/* Whether the partition of a receive has arrived; all have of an inactive receive. */
bool ompi_part_has_arrived(const ompi_request_t *receive, size_t partition);

#endif
