/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: making and ending them. */
#include "ompi/win/win.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/node/alias.h"
#include "opal/node/region.h"
#include "opal/threads/membarrier.h"
#include "ompi/attribute/attribute.h"
#include "ompi/comm_create/create.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/osc/base/attach.h"
#include "ompi/mca/osc/base/background.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/base/exchange.h"
#include "ompi/mca/osc/base/stripe.h"
#include "ompi/tool/bound.h"

static _Thread_local char detail[192];
static _Thread_local bool has_detail;

const char *ompi_win_detail(void)
{
    bool had_detail = has_detail;
    has_detail = false;
    return had_detail ? detail : NULL;
}

int ompi_win_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    has_detail = true;
    return code;
}

/* -- the end ----------------------------------------------------------------------------- */

static void destroy(ompi_object_t *head)
{
    ompi_win_t *win = opal_container_of(head, ompi_win_t, head);
    ompi_tool_unbind(head);
    ompi_osc_window_remove(&win->osc);
    ompi_osc_detach_all(&win->osc);
    ompi_osc_area_leave(&win->osc);
    if (win->info != NULL)
        ompi_object_release(&win->info->head);
    if (win->osc.comm != NULL)
        ompi_object_release(&win->osc.comm->head);
    ompi_win_memory_free(&win->memory);
    free(win->osc.internode_posts);
    free(win->osc.targets);
    free(win->offsets);
    free(win->start_ranks);
    free(win->post_ranks);
    free(win);
}

/* A fence that no access follows begins no epoch. */
int ompi_win_may_free(const ompi_win_t *win)
{
    bool is_fenced = ompi_win_epoch(win) == OMPI_WIN_FENCED && atomic_load(&win->osc.is_used);
    if (ompi_win_epoch(win) <= OMPI_WIN_FENCED && !is_fenced && !win->is_posted)
        return MPI_SUCCESS;
    return ompi_win_fail(MPI_ERR_RMA_SYNC, "The window is in an epoch of %s.",
                         win->is_posted                            ? "MPI_Win_post"
                         : is_fenced                               ? "MPI_Win_fence, with accesses"
                         : ompi_win_epoch(win) == OMPI_WIN_STARTED ? "MPI_Win_start"
                         : ompi_win_epoch(win) == OMPI_WIN_LOCKED  ? "MPI_Win_lock"
                                                                   : "MPI_Win_lock_all");
}

int ompi_win_free(ompi_win_t **win)
{
    int error = ompi_osc_flush(&(*win)->osc, -1, false);
    int status = ompi_win_barrier(*win);
    if (status != MPI_SUCCESS)
        return status;
    ompi_osc_background_leave(&(*win)->osc);
    ompi_lock();
    ompi_object_release(&(*win)->head);
    ompi_unlock();
    *win = NULL;
    return error;
}

/* -- making ------------------------------------------------------------------------------ */

enum { ADDRESS_TRIES = 3 };

/* Instead of an address: this rank cannot have its memory at one that others choose. */
#define NO_ADDRESS UINT64_MAX

/* What all ranks need to know before they allocate: the greatest values of all. */
typedef struct wish {
    uint64_t error;
    uint64_t address; /* that is free in this process */
    uint64_t bytes, alignment;
} wish_t;

/* What each rank tells the others. */
typedef struct item {
    uint64_t base, bytes;
    uint64_t next; /* the address that it would try next; 0: it has got the one that was chosen */
    int64_t unit;
    uint64_t area; /* of the ranks of its node, if it is the first of them */
    uint16_t is_shared, uses_atomics;
    int32_t error;
} item_t;

static int define_attributes(ompi_win_t *win)
{
    const struct {
        int keyval;
        void *value;
    } attributes[] = {
        {MPI_WIN_BASE, win->shape.base},      {MPI_WIN_SIZE, &win->shape.size},
        {MPI_WIN_DISP_UNIT, &win->disp_unit}, {MPI_WIN_CREATE_FLAVOR, &win->shape.flavor},
        {MPI_WIN_MODEL, &win->model},
    };
    int error = MPI_SUCCESS;
    for (size_t i = 0; i < OPAL_COUNT_OF(attributes) && error == MPI_SUCCESS; i++)
        error = ompi_attribute_predefine(&win->head, attributes[i].keyval, attributes[i].value);
    return error;
}

static bool do_all_map(const ompi_osc_window_t *window)
{
    for (int local = 0; local < window->local_count; local++) {
        if (window->locals[local].view.bytes == 0 && window->local_count > 1)
            return false;
    }
    return opal_region.bytes > 0;
}

/* The part of the work that does not depend on the other ranks. */
static int prepare(ompi_win_t *win, ompi_info_t *info, uint64_t *area)
{
    ompi_osc_window_t *window = &win->osc;
    *area = 0;
    window->rank = window->comm->rank;
    window->size = window->comm->size;
    window->flavor = win->shape.flavor;
    window->is_dynamic = window->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    window->targets = calloc((size_t)window->size, sizeof *window->targets);
    window->internode_posts = calloc((size_t)window->size, sizeof *window->internode_posts);
    win->offsets = calloc((size_t)window->size + 1, sizeof *win->offsets);
    if (window->targets == NULL || window->internode_posts == NULL || win->offsets == NULL)
        return MPI_ERR_NO_MEM;
    int error = ompi_osc_area_begin(window, area);
    if (error != MPI_SUCCESS)
        return error;
    window->all_map = do_all_map(window);
    ompi_lock();
    bool has_stripes = ompi_osc_stripes_start();
    ompi_unlock();
    error = has_stripes ? ompi_win_begin_hints(win, info) : MPI_ERR_NO_MEM;
    if (error != MPI_SUCCESS)
        return error;
    window->has_same_op = ompi_win_hint_is(win, "accumulate_ops", "same_op");
    win->alignment = (size_t)ompi_win_hint_number(win, "mpi_minimum_memory_alignment");
    return MPI_SUCCESS;
}

static bool needs_memory(const ompi_win_t *win)
{
    return win->shape.flavor == MPI_WIN_FLAVOR_ALLOCATE ||
           win->shape.flavor == MPI_WIN_FLAVOR_SHARED;
}

/* An error of any rank. */
static int agree(ompi_communicator_t *comm, int own)
{
    uint64_t result = (uint64_t)own;
    int error = ompi_osc_maximum(comm, &result, 1);
    return error != MPI_SUCCESS ? error : (int)result;
}

static void set_target(ompi_osc_window_t *window, int rank, const item_t *item)
{
    ompi_osc_target_t *target = &window->targets[rank];
    target->base = item->base;
    target->bytes = item->bytes;
    target->unit = item->unit;
    target->is_shared = target->is_shared || (item->is_shared && window->all_map);
    if (target->mapped == NULL && !window->is_dynamic && target->local >= 0) {
        if (rank == window->rank)
            target->mapped = (char *)(uintptr_t)item->base;
        else if (item->is_shared)
            target->mapped = opal_view_at(&window->locals[target->local].view,
                                          (uintptr_t)item->base, item->bytes);
    }
    target->here = target->mapped;
}

static bool lies_in_region(const ompi_win_t *win)
{
    return win->shape.base != NULL && opal_region_has(win->shape.base, (size_t)win->shape.size);
}

/* Without a membarrier that reaches this process an atomic and a longer accumulate cannot be told
 * apart (base/accumulate.h); a program that says that its accumulates are long does not need
 * atomics. All ranks must be able to. */
static bool uses_atomics(const ompi_win_t *win)
{
    return opal_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) &&
           ompi_win_hint_number(win, "mpi_accumulate_granularity") <= 8;
}

/* Makes the targets of what all ranks have told. */
static int set_up(ompi_win_t *win, const item_t *items)
{
    ompi_osc_window_t *window = &win->osc;
    window->uses_atomics = true;
    for (int rank = 0; rank < window->size; rank++) {
        set_target(window, rank, &items[rank]);
        window->uses_atomics = window->uses_atomics && items[rank].uses_atomics;
    }
    int error = ompi_osc_area_join(window, items[window->locals[0].rank].area);
    error = ompi_osc_window_add(window, error);
    return error == MPI_SUCCESS ? define_attributes(win) : error;
}

static int first_error(const item_t *items, int size)
{
    int error = MPI_SUCCESS;
    for (int rank = 0; rank < size && error == MPI_SUCCESS; rank++)
        error = items[rank].error;
    return error;
}

static void describe(const ompi_win_t *win, item_t *own)
{
    own->base = (uintptr_t)win->shape.base;
    own->bytes = (uint64_t)win->shape.size;
    own->unit = win->shape.disp_unit;
    own->is_shared = lies_in_region(win);
    own->uses_atomics = uses_atomics(win);
}

/* The address that this rank would try next; 0: its memory is where it was wanted. */
static uint64_t place(ompi_win_t *win, uintptr_t address, const wish_t *wish)
{
    uint64_t next = opal_alias_propose(), behind = address + wish->bytes;
    int error = ompi_win_memory_place(win, address);
    if (error == 0)
        return 0;
    return error == EEXIST ? (next > behind ? next : behind) : NO_ADDRESS;
}

/* 0: all ranks have the last address, or one cannot have any. */
static uintptr_t next_address(const ompi_win_t *win, const item_t *items, const wish_t *wish)
{
    uint64_t next = 0;
    for (int rank = 0; rank < win->osc.size; rank++)
        next = items[rank].next > next ? items[rank].next : next;
    return next == 0 || next == NO_ADDRESS ? 0
                                           : opal_alias_choose(next, wish->bytes, wish->alignment);
}

/* Tells the others about this rank's memory, which is moved to the same address in all ranks, if
 * that can be. Another thread may be making a window at the address that was chosen first. */
static int exchange(ompi_win_t *win, const wish_t *wish, item_t *own, item_t *items)
{
    bool is_wanted = win->osc.flavor == MPI_WIN_FLAVOR_ALLOCATE && win->osc.size > 1;
    uintptr_t address = 0;
    if (is_wanted && wish->bytes > 0)
        address = opal_alias_choose(wish->address, wish->bytes, wish->alignment);
    for (int tries = 0;; tries++) {
        if (own->error != MPI_SUCCESS)
            own->next = NO_ADDRESS;
        else if (address != 0)
            own->next = place(win, address, wish);
        describe(win, own);
        int error = ompi_osc_exchange(win->parent, own, sizeof *own, items);
        if (error != MPI_SUCCESS || address == 0 || tries == ADDRESS_TRIES - 1)
            return error;
        address = next_address(win, items, wish);
        if (address == 0)
            return MPI_SUCCESS;
    }
}

/* All ranks take part in what is collective, also those with an error. */
static int agree_to_begin(ompi_communicator_t *comm, wish_t *wish)
{
    int error = ompi_osc_maximum(comm, &wish->error, sizeof *wish / sizeof wish->error);
    return error != MPI_SUCCESS ? error : (int)wish->error;
}

/* Also with an error: the other ranks wait for this one. Then there may be no window. */
static int make(ompi_win_t *win, ompi_communicator_t *parent, ompi_info_t *info, int error)
{
    item_t own = {0}, *items = NULL;
    wish_t wish = {.address = opal_alias_propose()};
    if (error == MPI_SUCCESS) {
        items = calloc((size_t)parent->size, sizeof *items);
        error = items != NULL ? prepare(win, info, &own.area) : MPI_ERR_NO_MEM;
        wish.bytes = (uint64_t)win->shape.size;
        wish.alignment = win->alignment;
    }
    wish.error = (uint64_t)error;
    error = agree_to_begin(parent, &wish);
    if (error == MPI_SUCCESS && items != NULL) {
        own.error = needs_memory(win) ? ompi_win_memory_allocate(win) : MPI_SUCCESS;
        error = exchange(win, &wish, &own, items);
    }
    if (error == MPI_SUCCESS && items != NULL)
        error = first_error(items, parent->size);
    if (error == MPI_SUCCESS && items != NULL)
        error = agree(parent, set_up(win, items));
    free(items);
    return error;
}

/* NULL: no memory. */
static ompi_win_t *new_window(const ompi_win_shape_t *shape, ompi_communicator_t *parent)
{
    ompi_win_t *win = calloc(1, sizeof *win);
    if (win == NULL)
        return NULL;
    ompi_object_init(&win->head, OMPI_WIN, destroy);
    ompi_errhandler_attach(&win->head, &ompi_errors_are_fatal);
    win->shape = *shape;
    win->parent = parent;
    win->disp_unit = (int)shape->disp_unit;
    win->model = MPI_WIN_UNIFIED;
    return win;
}

int ompi_win_create(const ompi_win_shape_t *shape, ompi_info_t *info, ompi_communicator_t *comm,
                    ompi_win_t **result)
{
    ompi_communicator_t *own = NULL;
    ompi_win_t *win = new_window(shape, comm);
    int error = ompi_comm_split(comm, 0, comm->rank, NULL, &own);
    if (error == MPI_SUCCESS && win == NULL)
        error = MPI_ERR_NO_MEM;
    if (win != NULL)
        win->osc.comm = own;
    if (error == MPI_SUCCESS)
        ompi_comm_set_name(own, "a window"); /* for a person who asks what ranks wait for */
    error = make(win, comm, info, error);
    if (error == MPI_SUCCESS) {
        ompi_osc_background_enter(&win->osc);
        *result = win;
        return MPI_SUCCESS;
    }
    if (win != NULL)
        ompi_attributes_delete_all(&win->head);
    ompi_lock();
    if (win != NULL)
        ompi_object_release(&win->head);
    else if (own != NULL)
        ompi_object_release(&own->head);
    ompi_unlock();
    return error;
}

/* -- dynamic windows --------------------------------------------------------------------- */

static int check_dynamic(const ompi_win_t *win)
{
    if (win->osc.is_dynamic)
        return MPI_SUCCESS;
    return ompi_win_fail(MPI_ERR_RMA_FLAVOR,
                         "Memory can be attached to windows of MPI_Win_create_dynamic only.");
}

int ompi_win_attach(ompi_win_t *win, void *base, MPI_Aint size)
{
    int error = check_dynamic(win);
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    error = ompi_osc_attach(&win->osc, (uintptr_t)base, (size_t)size);
    ompi_unlock();
    return error == MPI_ERR_RMA_ATTACH
               ? ompi_win_fail(error, "The memory of %lld bytes at %p overlaps attached memory.",
                               (long long)size, base)
               : error;
}

int ompi_win_detach(ompi_win_t *win, const void *base)
{
    int error = check_dynamic(win);
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    error = ompi_osc_detach(&win->osc, (uintptr_t)base);
    ompi_unlock();
    return error == MPI_SUCCESS
               ? error
               : ompi_win_fail(error, "No memory that begins at %p is attached.", base);
}
