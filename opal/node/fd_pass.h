/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passing a descriptor to the other ranks of the node, where the launcher has not handed it down.
 * Local rank 0 listens on an abstract socket, whose name goes through PMI, and sends the descriptor
 * to each of the others once. It takes no file and no right to trace other processes, and leaves
 * nothing behind.
 */
#ifndef OPAL_NODE_FD_PASS_H
#define OPAL_NODE_FD_PASS_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"

enum { OPAL_NODE_PASS_NAME_BYTES = 64 };

/* A listening socket and its name. -1: it failed, which was logged. */
OPAL_EXPORT int opal_node_pass_listen(char name[OPAL_NODE_PASS_NAME_BYTES]);

/* Sends `fd` to `count` processes of this user. */
OPAL_EXPORT opal_status_t opal_node_pass_serve(int listener, int fd, unsigned count);

/* Receives it from the process that listens as `name`. */
OPAL_EXPORT opal_status_t opal_node_pass_fetch(const char *name, int *fd);

#endif
