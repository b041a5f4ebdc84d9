/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ways at once: near to the processes of the own node, far to all others. Each is the table of
 * a pml, and does its own matching.
 *
 * A message goes the way of its receiver. A receive with a source is posted where that one's
 * messages come. One of any source could be posted in both and not be taken back from one in time;
 * so in a communicator that has processes of both kinds it waits here, and both ways are asked for
 * a message that it would take (retry.h), which is then taken out of the matching.
 *
 *   waiting, of a context:   (any, 5)   (3, any)   (any, 7)   (3, 7)
 *                            asks       asks       asks       is covered by the second one
 *
 * What is posted behind it keeps its place: a receive that some message could go to as well as to
 * one that waits before it, waits too, until none does. Then it is posted, if it has a source. It
 * asks as well, unless one before it takes all that it would take. A message that is found goes to
 * the first one that takes it, whoever has asked; so do those that a probe finds and somebody waits
 * for.
 *
 * Who has asked and is not the first in line only looks; the first one in line then takes what is
 * its first message from that source. For a message between the two may have come meanwhile.
 *
 * If a process has died, a receive of any source that finds nothing in either way fails, as it
 * would have done in the way of that process.
 *
 * Threading: under ompi_lock.
 */
#ifndef OMPI_PML_CM_HYBRID_H
#define OMPI_PML_CM_HYBRID_H

#include "ompi/mca/pml/pml.h"

/* The two ways, and where each process is: an array that stays. */
void cm_both_start(const ompi_pml_ops_t *near_ops, const ompi_pml_ops_t *far_ops,
                   const bool *is_near);
void cm_both_stop(void);

/* The slots of the contract, but for start and stop; the limits are those of both. */
void cm_both_fill_in(ompi_pml_ops_t *ops);

#endif
