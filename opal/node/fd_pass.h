/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passing descriptors to other processes of this host.
 *
 * To the other ranks of the node, where the launcher has not handed the descriptor down.
 * Local rank 0 listens on an abstract socket, whose name goes through PMI, and sends the descriptor
 * to each of the others once. It takes no file and no right to trace other processes, and leaves
 * nothing behind.
 */
#ifndef OPAL_NODE_FD_PASS_H
#define OPAL_NODE_FD_PASS_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"

enum { OPAL_NODE_PASS_NAME_BYTES = 64 };

/* A listening socket and its name. -1: it failed, which was logged. */
OPAL_EXPORT int opal_node_pass_listen(char name[OPAL_NODE_PASS_NAME_BYTES]);

/* Sends `fd` to `count` processes of this user. */
OPAL_EXPORT opal_status_t opal_node_pass_serve(int listener, int fd, unsigned count);

/* Receives it from the process that listens as `name`. */
OPAL_EXPORT opal_status_t opal_node_pass_fetch(const char *name, int *fd);

/* The address of an abstract socket, which begins with a zero byte and ends where its length says.
 */
OPAL_EXPORT socklen_t opal_pass_address(struct sockaddr_un *address, const char *name);

/* A stream socket that listens there; `flags` as for socket(2). -1 and errno: EADDRINUSE, if
 * another process does. */
OPAL_EXPORT int opal_pass_listen(const struct sockaddr_un *address, socklen_t length, int flags);

/* One message of bytes and descriptors over a local socket; as sendmsg(2) and recvmsg(2). What is
 * received is the caller's to close; less than was sent if this process has no room for more. */
enum { OPAL_PASS_FDS = 4 };
OPAL_EXPORT ssize_t opal_pass_send(int to, const void *bytes, size_t length, const int fds[],
                                   unsigned count);
OPAL_EXPORT ssize_t opal_pass_receive(int from, void *bytes, size_t length, int fds[OPAL_PASS_FDS],
                                      unsigned *count);

#endif
