/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block changes its owner by a control message (note) in a context of its own with the user's
 * tag, so that notes are matched as messages are, but never match the user's messages. It carries:
 *
 *   to the own process                 the address of the block
 *   to a process that maps the region  the offset of the block in the region
 *   to any other process               the length; the bytes follow in the collective context, with
 *                                      a tag that is in the note. The giver's block is freed when
 *                                      they have left
 *
 * Threading: the caller holds ompi_lock, which is released while a function waits.
 */
#ifndef OMPI_OWNERSHIP_PASS_H
#define OMPI_OWNERSHIP_PASS_H

#include "ompi/communicator/communicator.h"
#include "ompi/ownership/blocks.h"

/* Gives the first `bytes` of a block, which the caller has disowned, to rank `dest`. An MPI error
 * code; on an error the block is still the caller's. */
int ompi_ownership_give(const ompi_block_t *block, size_t bytes, int dest, int tag,
                        ompi_communicator_t *comm);

/* Takes a block. The caller has reserved a slot, and enters the block with ompi_block_own. Fills in
 * the status as a receive does, with the bytes that were given. */
int ompi_ownership_take(ompi_block_t *block, int source, int tag, ompi_communicator_t *comm,
                        MPI_Status *status);

/* Waits until all blocks that were given have left. */
void ompi_ownership_flush(void);

#endif
