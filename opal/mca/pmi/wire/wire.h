/* SPDX-License-Identifier: BSD-3-Clause */
/* The launcher's description of which rank runs on which node. */
#ifndef OPAL_MCA_PMI_WIRE_H
#define OPAL_MCA_PMI_WIRE_H

#include <stdbool.h>

/*
 * Cuts "(vector,(first node,nodes,ranks per node),...)" into a node number, below `size`, for
 * each of `size` ranks; the blocks begin anew when there are more ranks. False: it is no such
 * text.
 */
bool wire_parse_mapping(const char *text, unsigned size, unsigned *node_of, unsigned *node_count);

#endif
