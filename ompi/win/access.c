/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses. What most programs do, a run of bytes into or out of memory that is mapped here, is
 * done at once; everything else becomes an access for a component of osc.
 */
#include "opal/arch/copy.h"
#include "opal/progress/wait.h"
#include "ompi/mca/osc/base/accumulate.h"
#include "ompi/mca/osc/base/atomic.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/base/resolve.h"
#include "ompi/win/win.h"

static void mark(ompi_osc_window_t *window)
{
    atomic_store_explicit(&window->is_used, true, memory_order_relaxed);
    atomic_store_explicit(&window->is_dirty, true, memory_order_relaxed);
}

/* -- the short way ----------------------------------------------------------------------- */

/* A run of bytes at a target, as mapped here. */
typedef struct run {
    char *here;
    size_t bytes;
    bool is_shared; /* as in the target, of this memory */
} run_t;

/* A run in memory that a rank has attached. */
static bool find_attached(const ompi_osc_window_t *window, int rank, uint64_t first, run_t *run)
{
    const ompi_osc_target_t *target = &window->targets[rank];
    if (target->local < 0 || !target->ops->is_direct)
        return false;
    return ompi_osc_find_attached(window, rank, (uintptr_t)first, run->bytes, &run->here,
                                  &run->is_shared) == MPI_SUCCESS &&
           run->here != NULL;
}

/* Whether the data is a run of bytes at both ends, and that is all there is to it. */
static OPAL_ALWAYS_INLINE bool find_run(const ompi_osc_window_t *window, const ompi_data_t *origin,
                                        const ompi_win_remote_t *place, run_t *run)
{
    size_t bytes;
    int64_t offset;
    if ((unsigned)place->rank >= (unsigned)window->size)
        return false;
    const ompi_osc_target_t *target = &window->targets[place->rank];
    if (opal_unlikely(ompi_osc_permit(window, target) != OMPI_OSC_OPEN ||
                      !ompi_datatype_run_bytes(origin->type, origin->count, &bytes) ||
                      !ompi_datatype_run_bytes(place->type, place->count, &run->bytes) ||
                      run->bytes != bytes ||
                      __builtin_mul_overflow(place->displacement, target->unit, &offset)))
        return false;
    uint64_t first = (uint64_t)offset + (uint64_t)place->type->shape.origin;
    if (opal_unlikely(target->here == NULL))
        return window->is_dynamic && find_attached(window, place->rank, first, run);
    if (opal_unlikely(first > target->bytes || bytes > target->bytes - first))
        return false;
    run->here = target->here + first;
    run->is_shared = target->is_shared;
    return true;
}

static const void *run_of(const ompi_data_t *origin)
{
    return (const void *)ompi_datatype_origin(origin->type, origin->buffer);
}

/* -- the long way ------------------------------------------------------------------------ */

static int check_range(const ompi_win_t *win, const ompi_win_remote_t *place)
{
    const ompi_osc_target_t *target = &win->osc.targets[place->rank];
    if (win->osc.is_dynamic)
        return ompi_win_fail(MPI_ERR_RMA_RANGE,
                             "Memory of rank %d at address %#llx is not attached to the window.",
                             place->rank, (unsigned long long)place->displacement);
    return ompi_win_fail(MPI_ERR_RMA_RANGE,
                         "Rank %d has %llu bytes in units of %lld; the access of %llu elements at "
                         "displacement %lld is outside.",
                         place->rank, (unsigned long long)target->bytes, (long long)target->unit,
                         (unsigned long long)place->count, (long long)place->displacement);
}

static int check_lengths(const ompi_data_t *origin, const ompi_win_remote_t *place)
{
    size_t bytes = ompi_datatype_bytes(origin->type, origin->count);
    size_t remote_bytes = ompi_datatype_bytes(place->type, place->count);
    if (bytes == remote_bytes)
        return MPI_SUCCESS;
    return ompi_win_fail(MPI_ERR_TYPE, "The data has %zu bytes here and %zu bytes at rank %d.",
                         bytes, remote_bytes, place->rank);
}

/* Begins an access; *target is NULL if there is nothing to do: the target is MPI_PROC_NULL. */
static int begin(ompi_osc_access_t *access, ompi_win_t *win, const ompi_win_remote_t *place,
                 bool wants_request)
{
    ompi_osc_window_t *window = &win->osc;
    *access = (ompi_osc_access_t){.window = window, .rank = place->rank};
    if (place->rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (place->rank < 0 || place->rank >= window->size)
        return ompi_win_fail(MPI_ERR_RANK, "The window has ranks 0 to %d; the target is %d.",
                             window->size - 1, place->rank);
    ompi_osc_target_t *target = &window->targets[place->rank];
    int error = ompi_win_open(win, place->rank);
    if (error != MPI_SUCCESS)
        return error;
    if (wants_request && ompi_osc_lock_held(target) == OMPI_OSC_UNLOCKED)
        return ompi_win_fail(MPI_ERR_RMA_SYNC, "Operations with a request need a lock of rank %d.",
                             place->rank);
    access->target = target;
    access->remote = (ompi_data_t){NULL, place->count, place->type};
    access->wants_request = wants_request;
    int64_t offset;
    if (__builtin_mul_overflow(place->displacement, target->unit, &offset) ||
        ompi_osc_resolve(access, offset) != MPI_SUCCESS)
        return check_range(win, place);
    mark(window);
    return MPI_SUCCESS;
}

static int hand_to(const ompi_osc_ops_t *ops, ompi_osc_access_t *access, size_t slot,
                   const void *with)
{
    return with != NULL ? ops->compare(access, with)
                        : (*(ompi_osc_access_fn_t *const *)((const char *)ops + slot))(access);
}

/* Hands an access to the components that reach the target, one after the other. */
static int carry_out(ompi_win_t *win, ompi_osc_access_t *access, size_t slot, const void *with)
{
    const ompi_osc_ops_t *first = access->window->accumulates;
    const ompi_osc_ops_t *ops = access->target->ops;
    bool accumulates = with != NULL || access->op != NULL;
    int error =
        first != NULL && accumulates ? hand_to(first, access, slot, with) : (int)OMPI_OSC_PASS_ON;
    while (ops != NULL && error == OMPI_OSC_PASS_ON) {
        if (ops != first || !accumulates)
            error = hand_to(ops, access, slot, with);
        if (error == OMPI_OSC_PASS_ON)
            ops = ompi_osc_next(access->window, access->rank, ops);
    }
    if (error == OMPI_OSC_PASS_ON)
        return ompi_win_fail(MPI_ERR_RMA_RANGE,
                             "This process may not access that memory of rank %d.", access->rank);
    if (error == MPI_ERR_RMA_RANGE)
        return ompi_win_fail(error, "Memory of rank %d is not there, at %p.", access->rank,
                             access->remote.buffer);
    (void)win;
    return error;
}

/* Gives the program its request. A program may wait for a value by asking for it with requests,
 * which are complete and make no progress. */
static int finish(int error, ompi_win_t *win, const ompi_osc_access_t *access,
                  ompi_request_t **request)
{
    if (error != MPI_SUCCESS || request == NULL)
        return error;
    *request = access->request != NULL ? access->request : &ompi_request_sent;
    ompi_win_flushed(win);
    return MPI_SUCCESS;
}

static int move(ompi_win_t *win, const ompi_data_t *origin, const ompi_win_remote_t *place,
                size_t slot, ompi_request_t **request)
{
    ompi_osc_access_t access;
    int error = begin(&access, win, place, request != NULL);
    if (error == MPI_SUCCESS && access.target != NULL) {
        error = check_lengths(origin, place);
        access.origin = *origin;
        size_t bytes = ompi_datatype_bytes(place->type, place->count);
        if (error == MPI_SUCCESS && bytes > 0)
            error = carry_out(win, &access, slot, NULL);
        if (error == MPI_SUCCESS)
            ompi_win_count(slot == offsetof(ompi_osc_ops_t, put) ? &win->counts.puts
                                                                 : &win->counts.gets,
                           bytes);
    }
    return finish(error, win, &access, request);
}

int ompi_win_put(ompi_win_t *win, ompi_data_t origin, const ompi_win_remote_t *place,
                 ompi_request_t **request)
{
    run_t run;
    if (opal_unlikely(request != NULL || !find_run(&win->osc, &origin, place, &run)))
        return move(win, &origin, place, offsetof(ompi_osc_ops_t, put), request);
    mark(&win->osc);
    ompi_win_count(&win->counts.puts, run.bytes);
    opal_copy(run.here, run_of(&origin), run.bytes);
    return MPI_SUCCESS;
}

int ompi_win_get(ompi_win_t *win, ompi_data_t origin, const ompi_win_remote_t *place,
                 ompi_request_t **request)
{
    run_t run;
    if (opal_unlikely(request != NULL || !find_run(&win->osc, &origin, place, &run)))
        return move(win, &origin, place, offsetof(ompi_osc_ops_t, get), request);
    atomic_store_explicit(&win->osc.is_used, true, memory_order_relaxed);
    ompi_win_count(&win->counts.gets, run.bytes);
    opal_copy((void *)(uintptr_t)run_of(&origin), run.here, run.bytes);
    return MPI_SUCCESS;
}

/* -- programs that spin ------------------------------------------------------------------ */

/* A program that waits for another rank by asking for a value again and again makes no progress,
 * and keeps the other one from the core that they may share. An answer that brings nothing new is
 * such a turn. */
static unsigned count_turn(ompi_win_t *win)
{
    unsigned count = atomic_load_explicit(&win->turns, memory_order_relaxed);
    atomic_store_explicit(&win->turns, count + 1, memory_order_relaxed);
    return count;
}

static void make_progress(void)
{
    ompi_lock();
    ompi_request_look();
    ompi_unlock();
}

static void spin(ompi_win_t *win)
{
    if (count_turn(win) % 8 == 0)
        make_progress();
}

void ompi_win_flushed(ompi_win_t *win)
{
    unsigned count = count_turn(win);
    if (opal_likely(count % 64 != 0) && (!win->osc.is_mixed || count % 4 != 0))
        return;
    if (win->osc.is_mixed || opal_wait_is_oversubscribed() || count % 1024 == 0)
        make_progress();
}

/* -- accumulates ------------------------------------------------------------------------- */

/* Whether data of a type is of elements like those at the target. */
static bool is_like(const ompi_datatype_t *type, const ompi_datatype_t *remote)
{
    const ompi_datatype_t *element = ompi_datatype_element(type);
    const ompi_datatype_t *remote_element = ompi_datatype_element(remote);
    return element == remote_element ||
           (element != NULL && ompi_datatype_signature_hash(element) ==
                                   ompi_datatype_signature_hash(remote_element)) ||
           (element != NULL && ompi_op_type(element).kind != OMPI_OP_NOTHING &&
            ompi_op_type(element).kind == ompi_op_type(remote_element).kind);
}

static int check_types(const ompi_osc_access_t *access)
{
    const ompi_datatype_t *element = ompi_osc_element(access);
    bool has_data = ompi_datatype_bytes(access->remote.type, access->remote.count) > 0;
    if (!ompi_op_is_predefined(access->op))
        return ompi_win_fail(MPI_ERR_OP, "Accumulates take predefined operations only.");
    if (access->op->action == OMPI_OP_KEEP && access->result.type == NULL)
        return ompi_win_fail(MPI_ERR_OP, "MPI_NO_OP needs an operation with a result.");
    if (!has_data)
        return MPI_SUCCESS;
    if (element == NULL)
        return ompi_win_fail(MPI_ERR_TYPE, "Accumulates need elements of one predefined type.");
    if (!ompi_op_is_valid_for_rma(access->op, element))
        return ompi_win_fail(MPI_ERR_OP, "%s is not for %s.", access->op->name,
                             element->predefined_name);
    if ((access->op->action != OMPI_OP_KEEP &&
         !is_like(access->origin.type, access->remote.type)) ||
        (access->result.type != NULL && !is_like(access->result.type, access->remote.type)))
        return ompi_win_fail(MPI_ERR_TYPE, "The elements here and at the target differ in type.");
    return MPI_SUCCESS;
}

/* Whether the CPU can change one element there, as all others do that. */
static OPAL_ALWAYS_INLINE bool is_atomic(const ompi_osc_window_t *window, const run_t *run)
{
    return window->uses_atomics && run->is_shared &&
           ompi_osc_atomic_fits((uintptr_t)run->here, run->bytes);
}

/* Of NULL, too. */
static OPAL_ALWAYS_INLINE bool is_aligned(const ompi_datatype_t *type, const void *buffer)
{
    return ((uintptr_t)buffer & (type->shape.alignment - 1)) == 0;
}

/* Several elements, or one under a lock. False: the long way. */
static bool accumulate_run(ompi_osc_window_t *window, const run_t *run, const void *in,
                           void *before, const ompi_win_remote_t *place, const ompi_op_t *op)
{
    const ompi_datatype_t *type = place->type;
    ompi_osc_target_t *target = &window->targets[place->rank];
    if (!is_aligned(type, run->here) || (in != NULL && !is_aligned(type, in)) ||
        (before != NULL && !is_aligned(type, before)))
        return false;
    uintptr_t address = (uintptr_t)run->here;
    if (!window->is_dynamic)
        address += target->base - (uintptr_t)target->here;
    else
        address = (uintptr_t)place->displacement;
    ompi_osc_access_t access; /* to set all of it to 0 would take a tenth of the time */
    access.window = window;
    access.target = target;
    access.rank = place->rank;
    access.remote = (ompi_data_t){(void *)address, place->count, place->type};
    access.shift = (ptrdiff_t)((uintptr_t)run->here - address);
    access.is_here = true;
    access.is_shared = run->is_shared;
    access.op = op;
    ompi_osc_accumulate_run(&access, in, before);
    return true;
}

/* Elements of one predefined type, which lie one after the other at both ends. False: the long
 * way. */
static OPAL_ALWAYS_INLINE bool accumulate_now(ompi_win_t *win, const ompi_data_t *origin,
                                              const ompi_data_t *result,
                                              const ompi_win_remote_t *place, const ompi_op_t *op)
{
    run_t run;
    ompi_osc_window_t *window = &win->osc;
    const ompi_datatype_t *type = place->type;
    bool has_data = op->action != OMPI_OP_KEEP;
    const ompi_data_t *data = has_data ? origin : result;
    if (window->accumulates != NULL || !ompi_op_is_predefined(op) || data == NULL ||
        data->type != type || !type->is_predefined ||
        (result != NULL && (result->type != type || result->count != place->count)) ||
        !find_run(window, data, place, &run) || !ompi_op_is_valid_for_rma(op, type))
        return false;
    const void *in = has_data ? origin->buffer : NULL;
    void *before = result != NULL ? result->buffer : NULL;
    if (place->count == 1 && is_atomic(window, &run) &&
        ompi_osc_enter(window, window->targets[place->rank].local)) {
        ompi_osc_atomic(op, type, run.bytes, run.here, in, before);
        ompi_osc_leave(window);
    } else if (!accumulate_run(window, &run, in, before, place, op)) {
        return false;
    }
    mark(window);
    if (!has_data)
        spin(win);
    return true;
}

static void count_accumulate(ompi_win_t *win, const ompi_win_remote_t *place)
{
    ompi_win_count(&win->counts.accumulates, ompi_datatype_bytes(place->type, place->count));
}

int ompi_win_accumulate(ompi_win_t *win, ompi_data_t origin, const ompi_data_t *result,
                        const ompi_win_remote_t *place, const ompi_op_t *op,
                        ompi_request_t **request)
{
    ompi_osc_access_t access;
    if (request == NULL && accumulate_now(win, &origin, result, place, op)) {
        count_accumulate(win, place);
        return MPI_SUCCESS;
    }
    int error = begin(&access, win, place, request != NULL);
    if (error == MPI_SUCCESS && access.target != NULL) {
        access.origin = origin;
        access.op = op;
        if (result != NULL)
            access.result = *result;
        error = op->action != OMPI_OP_KEEP ? check_lengths(&origin, place) : MPI_SUCCESS;
        if (error == MPI_SUCCESS && result != NULL)
            error = check_lengths(result, place);
        if (error == MPI_SUCCESS)
            error = check_types(&access);
        if (error == MPI_SUCCESS && ompi_datatype_bytes(place->type, place->count) > 0)
            error = carry_out(win, &access, offsetof(ompi_osc_ops_t, accumulate), NULL);
        if (error == MPI_SUCCESS)
            count_accumulate(win, place);
        if (op->action == OMPI_OP_KEEP)
            spin(win);
    }
    return finish(error, win, &access, request);
}

/* The standard names the types: integers, logicals, MPI_BYTE. */
static bool may_compare(const ompi_datatype_t *type)
{
    unsigned classes = OMPI_OP_INTEGER | OMPI_OP_LOGICAL | OMPI_OP_BYTE;
    return type->is_predefined && (ompi_op_type(type).class & classes) != 0;
}

static bool compare_now(ompi_win_t *win, const ompi_data_t *origin, const void *compare,
                        void *result, const ompi_win_remote_t *place)
{
    run_t run;
    ompi_osc_window_t *window = &win->osc;
    if (!find_run(window, origin, place, &run))
        return false;
    size_t bytes = run.bytes;
    if (!is_atomic(window, &run) || !may_compare(place->type) ||
        !ompi_osc_enter(window, window->targets[place->rank].local))
        return false;
    char found[8]; /* `result` may be `compare` */
    ompi_osc_atomic_compare(bytes, run.here, origin->buffer, compare, found);
    ompi_osc_leave(window);
    mark(window);
    bool is_equal = memcmp(found, compare, bytes) == 0;
    opal_copy(result, found, bytes);
    if (!is_equal)
        spin(win);
    return true;
}

int ompi_win_compare_and_swap(ompi_win_t *win, const void *origin, const void *compare,
                              void *result, const ompi_win_remote_t *place)
{
    ompi_osc_access_t access;
    ompi_data_t data = {(void *)(uintptr_t)origin, 1, place->type};
    if (compare_now(win, &data, compare, result, place)) {
        count_accumulate(win, place);
        return MPI_SUCCESS;
    }
    int error = begin(&access, win, place, false);
    if (error != MPI_SUCCESS || access.target == NULL)
        return error;
    if (!may_compare(place->type))
        return ompi_win_fail(MPI_ERR_TYPE, "MPI_Compare_and_swap needs a predefined type of "
                                           "integers, logicals or bytes.");
    access.origin = data;
    access.result = (ompi_data_t){result, 1, place->type};
    error = carry_out(win, &access, 0, compare);
    if (error == MPI_SUCCESS)
        count_accumulate(win, place);
    return error;
}
