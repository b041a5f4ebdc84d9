/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether this machine has a network with RDMA, by its device nodes and sysfs. Such a network gains
 * by buffers that stay pinned, and has its own library. Allocates nothing; may be called before
 * main.
 */
#ifndef OPAL_UTIL_NETWORK_H
#define OPAL_UTIL_NETWORK_H

#include "opal/include/compiler.h"

typedef enum opal_network_kind {
    OPAL_NETWORK_ANY,
    OPAL_NETWORK_OF_LIBFABRIC, /* libfabric has a provider for it */
} opal_network_kind_t;

/* The first one below `root` ("" for the machine itself), such as "InfiniBand"; NULL: none. */
OPAL_EXPORT const char *opal_network(const char *root, opal_network_kind_t kind);

#endif
