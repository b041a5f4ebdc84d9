/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether this machine has a network that reads and writes a process' memory past the operating
 * system, and so gains by buffers that stay pinned: device nodes and sysfs. Allocates nothing.
 */
#ifndef MEMORY_PTMALLOC2_NETWORK_H
#define MEMORY_PTMALLOC2_NETWORK_H

/* The first one below `root` ("" for the machine itself): "InfiniBand"; NULL: none. */
const char *ptmalloc2_network(const char *root);

#endif
