/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sockets of ports, and links over them (port_link.h). Nothing here blocks: the caller waits
 * for the events that it is told, by the descriptors of progress (port_stream.h) or in a thread of
 * its own (port_fetch.h). Threading: one thread at a time for each link.
 */
#ifndef OPAL_PROCESS_PORT_SOCKET_H
#define OPAL_PROCESS_PORT_SOCKET_H

#include "opal/process/port_link.h"
#include "opal/process/port_name.h"

/* Moves bytes in both directions, as far as that goes now. Returns the events to wait for
 * (OPAL_READABLE, OPAL_WRITABLE). *error: of the system, if that has closed the link; else it is
 * unchanged, or 0. */
unsigned opal_link_move(opal_link_t *link, int fd, int *error);

/* A socket that listens for both families. -1: errno says why. */
int opal_port_listen(uint16_t *number);

/* A socket that connects there. -1: errno says why. */
int opal_port_call(const opal_port_address_t *address, uint16_t number,
                   struct sockaddr_storage *peer);

#endif
