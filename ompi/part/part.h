/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned messages: a send whose partitions any thread makes ready, one by one, and a receive
 * whose partitions can be tested. The two may have different numbers of partitions.
 *
 * Each MPI_Psend_init sends an offer in OMPI_CONTEXT_PARTITIONED with the user's tag, and each
 * MPI_Precv_init receives one, so the inits match in order. The receiver decides how the partitions
 * go, in every round:
 *
 *   direct     within a node, if the data of both sides is contiguous and fits, and lies in the
 *              region or is short: MPI_Pready sets a flag in the node's segment, and copies the
 *              partition if the receiver cannot read it where it is, or has its buffer in the
 * region (area.h). A send completes when the receiver has started and has all partitions messages
 * of the pml in OMPI_CONTEXT_COLLECTIVE. Partition i of a sender has the tag of its first plus i
 * (OMPI_TAGS_PARTITION). No two living senders of a process share a tag, so the number of their
 * partitions is limited. The receive posts a persistent receive for each partition of the sender,
 * directly into its buffer; a partition that does not begin and end with elements of its type goes
 * through a bounce buffer
 *
 * Threading: the caller holds ompi_lock, unless a function says that it does not.
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

/* MPI_Pready: called without ompi_lock, by any thread. The send may complete, and be freed by
 * another thread, before ready of the last partition returns. MPI_ERR_REQUEST: it is no active
 * send; MPI_ERR_ARG: it has no such partition, or that was made ready before in this round. */
int ompi_part_ready(ompi_request_t *send, size_t partition);

/* Whether the partition of a receive has arrived; all have of an inactive receive. is_here is
 * called without ompi_lock, copies nothing, and may be false though the partition has arrived. */
bool ompi_part_is_here(const ompi_request_t *receive, size_t partition);
bool ompi_part_has_arrived(ompi_request_t *receive, size_t partition);

/* MPI_Finalize: no other process needs this one any more. */
void ompi_part_stop(void);

#endif
