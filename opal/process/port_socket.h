/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sockets of ports, and links over them (port_link.h). Nothing here blocks: the caller waits
 * for the events that it is told, by the descriptors of progress (port_stream.h) or in a thread of
 * its own (port_fetch.h). Threading: one thread at a time for each link.
 */
#ifndef OPAL_PROCESS_PORT_SOCKET_H
#define OPAL_PROCESS_PORT_SOCKET_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/process/port_link.h"
#include "opal/process/port_name.h"

/* Moves bytes in both directions, as far as that goes now. Returns the events to wait for
 * (OPAL_READABLE, OPAL_WRITABLE). *error: of the system, if that has closed the link; else it is
 * unchanged, or 0. */
unsigned opal_link_move(opal_link_t *link, int fd, int *error);

/* Makes a port here: its name, with a new key, and a socket that listens for both families, or for
 * IPv4 where the system has no IPv6. A failure was logged. */
OPAL_EXPORT opal_status_t opal_port_listen(opal_port_name_t *name, int *fd);

/* A socket that connects there. -1: errno says why. */
int opal_port_call(const opal_port_address_t *address, uint16_t number,
                   struct sockaddr_storage *peer);

#endif
