/* SPDX-License-Identifier: BSD-3-Clause */
/* Areas: allocation and agreement; waiting for what other ranks write there. */
#include "ompi/mca/osc/base/area.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/btl.h"
#include "opal/process/process.h"
#include "opal/threads/membarrier.h"

/* -- allocation -------------------------------------------------------------------------------- */

static size_t lines_bytes(const ompi_osc_window_t *window)
{
    return sizeof(ompi_osc_area_t) + (size_t)window->local_count * sizeof(ompi_osc_line_t);
}

static size_t area_bytes(const ompi_osc_window_t *window)
{
    size_t ranks = (size_t)window->local_count;
    size_t cells = (ranks + 1) * ranks * sizeof(ompi_osc_cell_t);
    return (lines_bytes(window) + cells + 63) & ~(size_t)63;
}

static void find_locals(ompi_osc_window_t *window)
{
    for (int rank = 0; rank < window->size; rank++) {
        unsigned process = ompi_comm_process(window->comm, rank);
        window->targets[rank].local = -1;
        if (!opal_node_has(process) && rank != window->rank)
            continue;
        ompi_osc_local_t *local = &window->locals[window->local_count];
        local->rank = rank;
        if (opal_node_has(process)) {
            local->local_rank = (unsigned)opal_node_local_rank(process);
            local->doorbell = &opal_node_slot(local->local_rank)->doorbell;
            opal_node_view(local->local_rank, &local->view);
        }
        if (rank == window->rank)
            window->self = window->local_count;
        window->targets[rank].local = window->local_count++;
    }
}

int ompi_osc_area_begin(ompi_osc_window_t *window, uint64_t *offset)
{
    *offset = 0;
    window->locals = calloc((size_t)window->size, sizeof *window->locals);
    if (window->locals == NULL)
        return MPI_ERR_NO_MEM;
    find_locals(window);
    if (window->local_count == 1 || window->self != 0)
        return MPI_SUCCESS;
    size_t bytes = area_bytes(window);
    ompi_lock();
    ompi_osc_area_t *area = (ompi_osc_area_t *)opal_shared_make(bytes, bytes, bytes);
    ompi_unlock();
    window->area = area;
    if (area != NULL)
        *offset = opal_node_offset(area);
    return MPI_SUCCESS;
}

/* Without an area to share this rank is alone in the window's view of its node. */
static int be_alone(ompi_osc_window_t *window)
{
    window->locals[0] = window->locals[window->self];
    for (int rank = 0; rank < window->size; rank++)
        window->targets[rank].local = rank == window->rank ? 0 : -1;
    window->local_count = 1;
    window->self = 0;
    size_t bytes = area_bytes(window);
    void *memory;
    if (posix_memalign(&memory, 64, bytes) != 0)
        return MPI_ERR_NO_MEM;
    memset(memory, 0, bytes);
    window->area = memory;
    return MPI_SUCCESS;
}

int ompi_osc_area_join(ompi_osc_window_t *window, uint64_t offset)
{
    window->area_is_shared = offset != 0;
    if (offset != 0)
        window->area = opal_node_at(offset);
    else if (be_alone(window) != MPI_SUCCESS)
        return MPI_ERR_NO_MEM;
    window->cells = (void *)((char *)window->area + lines_bytes(window));
    window->own = ompi_osc_line(window, window->self);
    return MPI_SUCCESS;
}

void ompi_osc_area_leave(ompi_osc_window_t *window)
{
    if (window->area == NULL) {
        free(window->locals);
        return;
    }
    if (window->own == NULL) { /* nobody has joined */
        opal_shared_release(&window->area->shared, 0);
    } else if (!window->area_is_shared) {
        free(window->area);
    } else {
        if (window->self == 0)
            opal_shared_release(&window->area->shared, window->local_count);
        opal_shared_leave(&window->area->shared);
    }
    window->area = NULL;
    free(window->locals);
}

/* -- waiting ------------------------------------------------------------------------------- */

bool ompi_osc_has_ended(const ompi_osc_window_t *window, int rank)
{
    unsigned process = ompi_comm_process(window->comm, rank);
    const opal_btl_peer_t *peer = opal_process_get_end(process, OPAL_END_BTL);
    if (window->targets[rank].has_ended || (peer != NULL && peer->is_unreachable))
        return true;
    int local = window->targets[rank].local;
    return local >= 0 && local != window->self &&
           opal_node_peer_is_dead(window->locals[local].local_rank);
}

typedef struct wish {
    ompi_osc_window_t *window;
    ompi_osc_look_fn_t *look;
    void *what;
} wish_t;

static ompi_look_t look_for(void *what)
{
    const wish_t *wish = what;
    return wish->look(wish->window, wish->what);
}

int ompi_osc_wait(ompi_osc_window_t *window, ompi_osc_look_fn_t *look, void *what)
{
    return ompi_look_wait(look_for, &(wish_t){window, look, what});
}

int ompi_osc_wait_for(ompi_osc_window_t *window, ompi_osc_look_fn_t *look, void *what, int rank,
                      const char *words)
{
    ompi_look_reason_t reason = {window->comm, rank, words};
    ompi_look_reason = &reason;
    int error = ompi_osc_wait(window, look, what);
    ompi_look_reason = NULL;
    return error;
}
