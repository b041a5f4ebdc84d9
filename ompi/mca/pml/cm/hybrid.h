/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two paths at once: the intranode path, by shared memory, to the processes of this node, and the
 * internode path, by the network, to all others. Each path is the table of a pml and does its own
 * matching.
 *
 * A send takes the path of its receiver. A receive with a source is posted on the path of that
 * source. A receive from any source cannot be posted on both paths, because it could not be
 * cancelled on one of them in time when the other one matches it. So in a communicator that has
 * processes of both kinds such a receive waits in a queue here, and both paths are probed for its
 * message (retry.h), which is then claimed.
 *
 *   queue of a context:   (any, 5)   (3, any)   (any, 7)   (3, 7)
 *                         polls      polls      polls      is covered by (3, any)
 *
 * The order of posting is kept: a receive that could match a message that an earlier receive of
 * the queue could match, too, is queued behind it. When no such earlier receive is left, a receive
 * with a source is posted. A queued receive polls unless an earlier one matches all that it would
 * match. A message that a poll or a user's probe finds goes to the first queued receive that
 * matches it.
 *
 * A receive that polls behind others that overlap with it probes without claiming. The first
 * queued receive that matches what was found then claims its first message from that source: a
 * message for it may have come in between.
 *
 * After a peer failure a queued receive from any source that finds nothing on either path fails,
 * as a receive that was posted on the path of that peer would.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_PML_CM_HYBRID_H
#define OMPI_PML_CM_HYBRID_H

#include "ompi/mca/pml/pml.h"

/* `on_this_node` says of each process whether it is on this node; it must stay valid until
 * cm_hybrid_stop. */
void cm_hybrid_start(const ompi_pml_ops_t *intranode_ops, const ompi_pml_ops_t *internode_ops,
                     const bool *on_this_node);
void cm_hybrid_stop(void);

/* Sets the slots of the contract, except start, stop and the limits. */
void cm_hybrid_fill_in(ompi_pml_ops_t *ops);

#endif
