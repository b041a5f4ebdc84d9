/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of ports: what MPI_Open_port returns, and what leads a connector there.
 *
 *   mica:1:<host>:<TCP port>:<key>:<address>,<address> ...
 *
 * The host is a hash of this boot and network namespace, 16 digits: a connector with the same one
 * uses loopback. The key, 64 digits, is a secret: a process that has the name may connect.
 * Addresses are in the numeric form of inet_pton(3). There may be none.
 */
#ifndef OPAL_PROCESS_PORT_NAME_H
#define OPAL_PROCESS_PORT_NAME_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "opal/process/port_link.h"

enum {
    OPAL_PORT_NAME_BYTES = 1024, /* MPI_MAX_PORT_NAME */
    OPAL_PORT_HOST_BYTES = 8,
    OPAL_PORT_ADDRESSES = 12,                 /* more are left out */
    OPAL_PORT_WAYS = OPAL_PORT_ADDRESSES + 2, /* and loopback */
    OPAL_PORT_END_BYTES = 64,                 /* "10.0.0.2:4000", "[fd00::1]:4000" */
};

/* All families in one: family 4 is mapped into 6. */
typedef struct in6_addr opal_port_address_t;

typedef struct opal_port_name {
    unsigned char host[OPAL_PORT_HOST_BYTES];
    unsigned char key[OPAL_PORT_KEY_BYTES];
    uint16_t number; /* of TCP */
    size_t count;
    opal_port_address_t addresses[OPAL_PORT_ADDRESSES];
} opal_port_name_t;

void opal_port_name_print(const opal_port_name_t *name, char text[OPAL_PORT_NAME_BYTES]);

/* False: the text is no name of a port, and *name is undefined. */
bool opal_port_name_parse(opal_port_name_t *name, const char *text);

/* Sets host and addresses: what this process has, without loopback and link-local ones. */
void opal_port_name_set_here(opal_port_name_t *name);

/* The addresses by which this process reaches the port, best first; returns how many. */
size_t opal_port_reach(const opal_port_name_t *there,
                       opal_port_address_t addresses[OPAL_PORT_WAYS]);

/* For the system's calls. Returns the length. */
socklen_t opal_port_address_to_system(const opal_port_address_t *address, uint16_t number,
                                      struct sockaddr_storage *to);

/* For messages; never with the key. */
const char *opal_port_end_text(const opal_port_address_t *address, uint16_t number,
                               char text[OPAL_PORT_END_BYTES]);
const char *opal_port_socket_text(const struct sockaddr_storage *address,
                                  char text[OPAL_PORT_END_BYTES]);

#endif
