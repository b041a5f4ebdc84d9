/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of a target: shared or exclusive, fair, in the window's area.
 *
 *   63      62   61       40   39         20   19        0
 *   queued | -  | guard      | exclusive    | shared       |     line->lock
 *
 *   shared      how many rows hold it shared
 *   exclusive   1 + the row that holds it
 *   guard       1 + the rank that changes the word and the cells, for a few instructions
 *   queued      a row waits, so that no other one takes the lock past it
 *
 * A free lock is taken and released by one compare-and-swap. Otherwise a row writes into its cell
 * that it waits, and the rank that releases the lock grants it to the waiting rows in turn: from
 * the row behind the last one on, to one exclusive row or to all shared ones up to the next
 * exclusive one. So each row gets the lock within one round.
 *
 * The cells say what each row has or wants, so when a rank has died, a rank that waits makes the
 * word anew out of the cells of those that live. While it looks, no rank may be between its cell
 * and the word: it says so in the cell, OMPI_OSC_CELL_MOVES.
 *
 * A row is the index of a rank of this node, or ompi_osc_internode_row.
 *
 * Threading: any, but one thread for a row and target.
 */
#ifndef OMPI_OSC_LOCK_H
#define OMPI_OSC_LOCK_H

#include "ompi/mca/osc/base/area.h"

enum {
    OMPI_OSC_CELL_NONE,
    OMPI_OSC_CELL_MOVES,
    OMPI_OSC_CELL_WANTS_SHARED,
    OMPI_OSC_CELL_WANTS_EXCLUSIVE,
    OMPI_OSC_CELL_HAS_SHARED,
    OMPI_OSC_CELL_HAS_EXCLUSIVE,
};

/* True: the row has the lock. False: it will be granted, and the process whose row it is notified;
 * that of the internode row is the target. */
OPAL_EXPORT bool ompi_osc_lock_ask(ompi_osc_window_t *window, int row, int local,
                                   ompi_osc_lock_kind_t kind);

/* Whether a row that has asked has the lock now. */
OPAL_EXPORT bool ompi_osc_lock_has(ompi_osc_window_t *window, int row, int local);

OPAL_EXPORT void ompi_osc_lock_release(ompi_osc_window_t *window, int row, int local);

/* Whether a row waits for the lock. */
OPAL_EXPORT bool ompi_osc_lock_is_wanted(const ompi_osc_window_t *window, int local);

/* Takes back what ranks that have died hold or want. */
OPAL_EXPORT void ompi_osc_lock_recover(ompi_osc_window_t *window, int local);

#endif
