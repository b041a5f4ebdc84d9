/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The area of a window: what its ranks on one node use together to synchronize.
 *
 *   +--------------------------------------------------------------+
 *   | how many ranks have left                                     |
 *   | lines:  of rank 0, of rank 1, ...                            |
 *   | cells:  row of rank 0: a cell for each rank; row of rank 1;  |
 *   |         ...; row of those on other nodes                     |
 *   +--------------------------------------------------------------+
 *
 * Ranks are those of this node, by their index in window->locals. The first of them makes the area
 * in the node's segment. A rank that has its node for itself, or finds no room in the segment, uses
 * an area in its own memory; then it reaches the others by messages, and messages from them are
 * carried out on its area, so that the code is the same.
 *
 * Threading: the fields are atomic. Each line says who writes it.
 */
#ifndef OMPI_OSC_AREA_H
#define OMPI_OSC_AREA_H

#include "opal/mca/btl/btl.h"
#include "opal/node/shared.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/request/look.h"

/* How one-element accumulates to a rank's memory are done; it only rises. */
typedef enum ompi_osc_mode {
    OMPI_OSC_BY_CPU,  /* by the CPU's atomics alone */
    OMPI_OSC_CHANGES, /* by either; a longer accumulate waits until nobody is at it */
    OMPI_OSC_BY_LOCK, /* under a stripe's lock, as longer ones are */
} ompi_osc_mode_t;

typedef struct ompi_osc_line {
    _Alignas(64) _Atomic uint64_t lock; /* base/lock.h */
    atomic_uint turn;                   /* of the lock: the row that got it last */
    atomic_uint completions;            /* of MPI_Win_complete, by all origins */

    _Alignas(64) atomic_uint mode; /* ompi_osc_mode_t */
    /* Its memory regions, if the window is dynamic (base/attach.h); written by the rank itself. */
    atomic_uint regions_version;
    atomic_uint region_count;
    _Atomic uint64_t regions; /* their offset in the node's segment, or their address */

    /* Threads of this rank that are in an atomic; written by the rank itself. */
    _Alignas(64) atomic_uint inside;
} ompi_osc_line_t;

/* In the row of rank r, the cell of rank t. */
typedef struct ompi_osc_cell {
    atomic_uint posts; /* how many times t has posted to r; written by t */
    atomic_uint lock;  /* what r wants or has of t's lock; written by r, and by who grants it */
} ompi_osc_cell_t;

typedef struct ompi_osc_area {
    opal_shared_t shared;
    ompi_osc_line_t lines[];
} ompi_osc_area_t;

/* Finds the ranks of this node, and makes an area if this rank is the first of them. `offset` is
 * what the first one tells the others; 0: there is no area to share. */
int ompi_osc_area_begin(ompi_osc_window_t *window, uint64_t *offset);

/* Uses that area, or one in this process' memory. */
int ompi_osc_area_join(ompi_osc_window_t *window, uint64_t offset);

/* After ompi_osc_area_begin, in any case. Under ompi_lock. */
void ompi_osc_area_leave(ompi_osc_window_t *window);

static inline ompi_osc_line_t *ompi_osc_line(const ompi_osc_window_t *window, int local)
{
    return &window->area->lines[local];
}

static inline ompi_osc_cell_t *ompi_osc_cell(const ompi_osc_window_t *window, int row, int local)
{
    return &window->cells[row * window->local_count + local];
}

/* The row of the ranks on other nodes. */
static inline int ompi_osc_internode_row(const ompi_osc_window_t *window)
{
    return window->local_count;
}

static inline void ompi_osc_notify(const ompi_osc_window_t *window, int local)
{
    if (local != window->self)
        opal_doorbell_notify(window->locals[local].doorbell);
    else
        opal_wait_notify_self();
}

/* -- waiting ------------------------------------------------------------------------------- */

/* Whether a rank of the window has failed or left. */
OPAL_EXPORT bool ompi_osc_has_ended(const ompi_osc_window_t *window, int rank);

/* Whether any process has, so that it is worth to ask. */
static inline bool ompi_osc_has_deaths(void)
{
    return opal_btl_failures != 0 || opal_node_deaths() != 0;
}

/* Looks whether what is waited for has happened. */
typedef ompi_look_t ompi_osc_look_fn_t(ompi_osc_window_t *window, void *what);

/* ompi_look_wait. The one that makes it happen calls ompi_osc_notify, or holds ompi_lock and is in
 * progress. */
OPAL_EXPORT int ompi_osc_wait(ompi_osc_window_t *window, ompi_osc_look_fn_t *look, void *what);

/* The same for what a rank of the window has to do, in words (ompi_describe_act); -1: it is not
 * known which. */
OPAL_EXPORT int ompi_osc_wait_for(ompi_osc_window_t *window, ompi_osc_look_fn_t *look, void *what,
                                  int rank, const char *words);

#endif
