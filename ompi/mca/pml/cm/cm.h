/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pml/cm: messages with matching in the network, by an mtl.
 *
 *   cm.c         the component: whether a network is wanted and which one; start and end
 *   request.c    sends and receives, which the mtl carries out
 *   probe.c      probes, and messages that they have taken
 *   retry.[ch]   what has to be asked for again and again, since the network does not tell of it
 *   hybrid.[ch]    peers of the own node by shared memory, the others by the network
 *
 * A small send needs no request; others, and receives, get one out of a pool, also the blocking
 * ones: how large it is, only the mtl knows. A blocking one has references to nothing.
 *
 * Threading: the contract's, see pml.h: all of it under ompi_lock.
 */
#ifndef OMPI_PML_CM_H
#define OMPI_PML_CM_H

#include "ompi/mca/mtl/mtl.h"
#include "ompi/mca/pml/pml.h"

/* The chosen one's, between start and stop. */
extern const ompi_mtl_ops_t *cm_mtl;

/* -- request.c: the slots of the contract -- */

int cm_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
             ompi_request_t **request);
int cm_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int cm_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                 ompi_request_t **request);
int cm_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int cm_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode);
int cm_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status);

/* A receive that has not begun. NULL: no memory. */
ompi_mtl_request_t *cm_prepare_receive(const ompi_route_t *from, const ompi_data_t *data);

void cm_requests_start(void);
void cm_requests_end(void);

/* -- probe.c: likewise -- */

int cm_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message, MPI_Status *status);
int cm_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status);
int cm_imrecv(ompi_message_t *message, const ompi_data_t *data, ompi_request_t **request);

#endif
