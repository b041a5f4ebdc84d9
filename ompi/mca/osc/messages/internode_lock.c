/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of this rank for ranks of other nodes: they wait in a queue of their own, and together
 * are one row of the lock (base/lock.h), so that they and the ranks of this node get it in turn.
 * Shared ones hold it together; while a rank of this node waits, no more of them join.
 */
#include <stdlib.h>

#include "opal/progress/background.h"
#include "ompi/mca/osc/base/lock.h"
#include "ompi/mca/osc/messages/messages.h"

static unsigned asking; /* windows whose row has asked for the lock */

static int row(const messages_window_t *window)
{
    return ompi_osc_internode_row(window->window);
}

static bool may_join(const messages_window_t *window, ompi_osc_lock_kind_t kind, bool is_fresh)
{
    if (window->lock_held == OMPI_OSC_UNLOCKED)
        return false;
    if (window->lock_holders == 0)
        return window->lock_held == kind;
    return window->lock_held == OMPI_OSC_SHARED && kind == OMPI_OSC_SHARED &&
           (is_fresh || !ompi_osc_lock_is_wanted(window->window, window->window->self));
}

static int poll(void *state);

/* A rank of this node grants the lock, and notifies this process by its doorbell. */
static void begin_to_look(void)
{
    opal_progress_add(poll, NULL);
    opal_background_hear(1);
}

static void end_looking(void)
{
    opal_progress_remove(poll, NULL);
    opal_background_hear(-1);
}

/* Asks for the lock on behalf of the first request. True: it is held now. */
static bool ask(messages_window_t *window, ompi_osc_lock_kind_t kind)
{
    if (window->lock_asked == OMPI_OSC_UNLOCKED) {
        if (ompi_osc_lock_ask(window->window, row(window), window->window->self, kind)) {
            window->lock_held = kind;
            return true;
        }
        window->lock_asked = kind;
        if (asking++ == 0)
            begin_to_look();
    }
    return false;
}

/* Grants what can be granted. */
static void serve(messages_window_t *window)
{
    bool is_fresh = false;
    opal_list_node_t *node;
    while ((node = opal_list_first(&window->lock_requests)) != NULL) {
        messages_lock_request_t *request = opal_container_of(node, messages_lock_request_t, node);
        if (window->lock_held == OMPI_OSC_UNLOCKED) {
            if (!ask(window, request->kind))
                return;
            is_fresh = true;
        }
        if (!may_join(window, request->kind, is_fresh)) {
            if (window->lock_holders > 0)
                return;
            /* It was asked for a request that was dropped. */
            ompi_osc_lock_release(window->window, row(window), window->window->self);
            window->lock_held = OMPI_OSC_UNLOCKED;
            continue;
        }
        if (messages_answer(window, request->rank, request->operation, MPI_SUCCESS) ==
            MPI_ERR_NO_MEM)
            return; /* with the next event */
        window->lock_holders++;
        window->ranks[request->rank].lock = (uint8_t)request->kind;
        opal_list_remove(node);
        free(request);
    }
    if (window->lock_holders == 0 && window->lock_held != OMPI_OSC_UNLOCKED) {
        ompi_osc_lock_release(window->window, row(window), window->window->self);
        window->lock_held = OMPI_OSC_UNLOCKED;
    }
}

/* Whether the lock that a window has asked for was granted. */
static bool look(messages_window_t *window)
{
    if (window->lock_asked == OMPI_OSC_UNLOCKED)
        return false;
    if (ompi_osc_has_deaths())
        ompi_osc_lock_recover(window->window, window->window->self);
    if (!ompi_osc_lock_has(window->window, row(window), window->window->self))
        return false;
    window->lock_held = window->lock_asked;
    window->lock_asked = OMPI_OSC_UNLOCKED;
    if (--asking == 0)
        end_looking();
    serve(window);
    return true;
}

static int poll(void *state OPAL_UNUSED)
{
    int count = 0;
    for (opal_list_node_t *node = opal_list_first(&messages_windows); node != NULL;
         node = opal_list_next(&messages_windows, node))
        count += look(opal_container_of(node, messages_window_t, node));
    return count;
}

bool messages_lock_ask(messages_window_t *window, int rank, ompi_osc_lock_kind_t kind,
                       uint64_t operation)
{
    messages_lock_request_t *request = malloc(sizeof *request);
    if (request == NULL)
        return false;
    *request = (messages_lock_request_t){.rank = rank, .kind = kind, .operation = operation};
    opal_list_append(&window->lock_requests, &request->node);
    serve(window);
    return true;
}

void messages_lock_release(messages_window_t *window, int rank)
{
    if (window->ranks[rank].lock == OMPI_OSC_UNLOCKED)
        return;
    window->ranks[rank].lock = OMPI_OSC_UNLOCKED;
    if (--window->lock_holders > 0)
        return;
    ompi_osc_lock_release(window->window, row(window), window->window->self);
    window->lock_held = OMPI_OSC_UNLOCKED;
    serve(window);
}

void messages_lock_forget(messages_window_t *window, int rank)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&window->lock_requests); node != NULL;
         node = next) {
        messages_lock_request_t *request = opal_container_of(node, messages_lock_request_t, node);
        next = opal_list_next(&window->lock_requests, node);
        if (rank >= 0 && request->rank != rank)
            continue;
        opal_list_remove(node);
        free(request);
    }
    if (rank >= 0)
        messages_lock_release(window, rank);
}

void messages_lock_stop(messages_window_t *window)
{
    messages_lock_forget(window, -1);
    if (window->lock_asked != OMPI_OSC_UNLOCKED && --asking == 0)
        end_looking();
    window->lock_asked = OMPI_OSC_UNLOCKED;
}
