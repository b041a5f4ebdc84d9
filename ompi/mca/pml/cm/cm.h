/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pml/cm: messages that the network matches. An mtl carries them.
 *
 *   cm.c          the component: whether a network is wanted and which one; start and end
 *   request.c     sends, receives and probes, which the mtl carries out
 *   retry.[ch]    probes that are repeated, since a network does not report unexpected messages
 *   counts.c      performance variables
 *   hybrid.[ch]   two paths: shared memory for ranks of this node, the network for the others
 *
 * A small send needs no request. Other sends, and receives, have one from a pool, blocking ones
 * included, because only the mtl knows how large a request is. The request of a blocking call
 * holds no references.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_PML_CM_H
#define OMPI_PML_CM_H

#include "opal/mca/base/pvar.h"
#include "ompi/mca/mtl/mtl.h"
#include "ompi/mca/pml/pml.h"

/* The chosen mtl, from query to close. */
extern const ompi_mtl_ops_t *cm_mtl;

extern const opal_pvar_row_t cm_pvars[];

/* -- request.c: slots of the pml's contract -- */

int cm_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
             ompi_request_t **request);
int cm_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int cm_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                 ompi_request_t **request);
int cm_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int cm_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode);
int cm_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status);

int cm_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message, MPI_Status *status);
int cm_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status);
int cm_imrecv(ompi_message_t *message, const ompi_data_t *data, ompi_request_t **request);

/* Called after the mtl was started and stopped: the pool of requests. */
void cm_requests_start(void);
void cm_requests_end(void);

#endif
