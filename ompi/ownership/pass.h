/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block changes its owner by a note, a small message in a context of its own, which has the
 * user's tag, so that notes are matched as messages are and never mixed up with them:
 *
 *   to oneself                         the block's address
 *   to who sees the block, too         its place in the region
 *   to anybody else                    its length; the bytes follow, in the collective context with
 *                                      a tag that the note tells. The giver's block is freed when
 *                                      they have left
 *
 * Threading: the caller holds ompi_lock, which is given back while it waits.
 */
#ifndef OMPI_OWNERSHIP_PASS_H
#define OMPI_OWNERSHIP_PASS_H

#include "ompi/communicator/communicator.h"
#include "ompi/ownership/blocks.h"

/* Gives a block, of which `bytes` are of interest, and which is not owned any more. An error: it
 * is still here. `dest` is a rank. */
int ompi_ownership_give(const ompi_block_t *block, size_t bytes, int dest, int tag,
                        ompi_communicator_t *comm);

/* Takes one, which is not owned yet, though there is a place reserved for it. The status is told
 * as a receive does, and has the bytes of interest. */
int ompi_ownership_take(ompi_block_t *block, int source, int tag, ompi_communicator_t *comm,
                        MPI_Status *status);

/* Waits until all that was given has left. */
void ompi_ownership_flush(void);

#endif
