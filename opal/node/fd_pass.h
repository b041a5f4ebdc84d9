/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handing a descriptor to the other ranks of the node when the launcher did not: local rank 0
 * listens on an abstract socket, whose name goes through PMI, and serves each of the others once.
 * No file, no rights to look into other processes needed, nothing left behind.
 */
#ifndef OPAL_NODE_FD_PASS_H
#define OPAL_NODE_FD_PASS_H

#include "opal/include/status.h"

enum { OPAL_NODE_PASS_NAME_BYTES = 64 };

/* A listening socket and the name that leads to it. -1 after it has said why. */
int opal_node_pass_listen(char name[OPAL_NODE_PASS_NAME_BYTES]);

/* Hands `fd` to `count` processes of this user. */
opal_status_t opal_node_pass_serve(int listener, int fd, unsigned count);

/* Fetches it from the process behind `name`. */
opal_status_t opal_node_pass_fetch(const char *name, int *fd);

#endif
