/* SPDX-License-Identifier: BSD-3-Clause */
/* Walking through accumulates element by element, run by run. See accumulate.h. */
#include "ompi/mca/osc/base/accumulate.h"

#include <sched.h>

#include "opal/arch/copy.h"
#include "opal/arch/pause.h"
#include "opal/threads/membarrier.h"
#include "ompi/mca/osc/base/atomic.h"
#include "ompi/mca/osc/base/stripe.h"

enum {
    PIECE_BYTES = 8 << 10, /* of packed data at a time */
    SEGMENTS = 32,
    SHORT_BYTES = 1 << 10,
    ELEMENT_BYTES = 64, /* the longest element in memory, and more */
};

/* -- the mode ---------------------------------------------------------------------------------- */

static void wait_outside(ompi_osc_window_t *window, int local)
{
    for (unsigned spins = 0;
         atomic_load_explicit(&ompi_osc_line(window, local)->inside, memory_order_acquire) != 0;
         spins++) {
        if (ompi_osc_has_deaths() && ompi_osc_has_ended(window, window->locals[local].rank))
            return;
        opal_cpu_pause();
        if (spins % 64 != 63)
            continue;
        opal_node_watch();
        sched_yield(); /* it may need this core */
    }
}

/* Called before every access under a lock to what others may change by the CPU. Several processes
 * may do this at once, and one may die at it: each does all of it. */
static void raise_mode(ompi_osc_window_t *window, int target)
{
    atomic_uint *mode = &ompi_osc_line(window, target)->mode;
    if (opal_likely(atomic_load_explicit(mode, memory_order_acquire) == OMPI_OSC_BY_LOCK)) {
        /* So the threads of this process have left, also in the eyes of those (sanitizers) that do
         * not see the process which waited for that. */
        (void)atomic_load_explicit(&window->own->inside, memory_order_acquire);
        return;
    }
    unsigned by_cpu = OMPI_OSC_BY_CPU;
    atomic_compare_exchange_strong(mode, &by_cpu, OMPI_OSC_CHANGES);
    opal_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    for (int local = 0; local < window->local_count; local++)
        wait_outside(window, local);
    atomic_store(mode, OMPI_OSC_BY_LOCK);
}

/* -- runs -------------------------------------------------------------------------------------- */

/* A walk through the packed data of an accumulate. */
typedef struct walk {
    ompi_osc_access_t *access;
    ompi_osc_run_fn_t *run;
    const ompi_datatype_t *element;
    size_t bytes;   /* of an element when packed */
    size_t extent;  /* in memory */
    bool has_holes; /* its extent is longer */
    unsigned local_rank;
} walk_t;

static unsigned local_rank_of(const ompi_osc_access_t *access)
{
    return access->window->locals[access->target->local].local_rank;
}

/* A short run that begins in one stripe and ends in the next one, under both locks: programs expect
 * that short accumulates exclude each other as a whole, although the standard speaks of elements.
 */
static int run_between(const walk_t *walk, uintptr_t address, const char *in, char *before,
                       size_t count)
{
    ompi_osc_stripe_t *one = ompi_osc_stripe_of(walk->local_rank, address);
    ompi_osc_stripe_t *two = ompi_osc_stripe_of(walk->local_rank, address + OMPI_OSC_STRIPE_BYTES);
    ompi_osc_stripe_t *first = one < two ? one : two, *second = one < two ? two : one;
    ompi_osc_stripe_acquire(first);
    if (second != first)
        ompi_osc_stripe_acquire(second);
    int error = walk->run(walk->access, address, in, before, count);
    if (second != first)
        ompi_osc_stripe_release(second);
    ompi_osc_stripe_release(first);
    return error;
}

/* A run within memory, cut into stripes. */
static int run_stripes(const walk_t *walk, uintptr_t address, const char *in, char *before,
                       size_t count)
{
    int error = MPI_SUCCESS;
    size_t begun = address % OMPI_OSC_STRIPE_BYTES, bytes = count * walk->extent;
    if (bytes <= SHORT_BYTES && begun + bytes > OMPI_OSC_STRIPE_BYTES)
        return run_between(walk, address, in, before, count);
    while (count > 0 && error == MPI_SUCCESS) {
        size_t room = OMPI_OSC_STRIPE_BYTES - address % OMPI_OSC_STRIPE_BYTES;
        size_t part = count;
        if (count * walk->extent > room) /* what is short does without a division */
            part = (room + walk->extent - 1) / walk->extent;
        ompi_osc_stripe_t *stripe = ompi_osc_stripe_of(walk->local_rank, address);
        ompi_osc_stripe_acquire(stripe);
        error = walk->run(walk->access, address, in, before, part);
        ompi_osc_stripe_release(stripe);
        address += part * walk->extent;
        in += in != NULL ? part * walk->extent : 0;
        before += before != NULL ? part * walk->extent : 0;
        count -= part;
    }
    return error;
}

/* An element with a hole, such as of MPI_SHORT_INT, lies in two segments and is packed without the
 * hole. */
static int run_with_hole(const walk_t *walk, size_t from, const char *in, char *before)
{
    _Alignas(64) char given[ELEMENT_BYTES], found[ELEMENT_BYTES];
    const ompi_data_t *remote = &walk->access->remote;
    struct iovec first = {0};
    size_t bytes;
    ompi_datatype_segments(remote->type, remote->count, remote->buffer, from, &first, 1, &bytes);
    if (in != NULL)
        ompi_datatype_unpack(walk->element, 1, given, 0, in, walk->bytes);
    int error = run_stripes(walk, (uintptr_t)first.iov_base, in != NULL ? given : NULL,
                            before != NULL ? found : NULL, 1);
    if (before != NULL && error == MPI_SUCCESS)
        ompi_datatype_pack(walk->element, 1, found, 0, before, walk->bytes);
    return error;
}

/* A piece of the packed data: `in` and `before` are packed. */
static int run_piece(const walk_t *walk, size_t from, size_t length, const char *in, char *before)
{
    int error = MPI_SUCCESS;
    const ompi_data_t *remote = &walk->access->remote;
    from += walk->access->part_from;
    for (size_t done = 0, bytes; done < length && error == MPI_SUCCESS; done += bytes) {
        const char *given = in != NULL ? in + done : NULL;
        char *found = before != NULL ? before + done : NULL;
        if (walk->has_holes) {
            bytes = walk->bytes;
            error = run_with_hole(walk, from + done, given, found);
            continue;
        }
        struct iovec segments[SEGMENTS];
        size_t count = ompi_datatype_segments(remote->type, remote->count, remote->buffer,
                                              from + done, segments, SEGMENTS, &bytes);
        size_t at = 0;
        for (size_t i = 0; i < count && at < length - done && error == MPI_SUCCESS; i++) {
            size_t part = segments[i].iov_len;
            if (part > length - done - at)
                part = length - done - at;
            error = run_stripes(walk, (uintptr_t)segments[i].iov_base,
                                given != NULL ? given + at : NULL,
                                found != NULL ? found + at : NULL, part / walk->bytes);
            at += part;
        }
        bytes = at;
    }
    return error;
}

/* The data's bytes, if they lie packed and can be used where they are. */
static char *packed_at(const walk_t *walk, const ompi_data_t *data)
{
    if (data->type == NULL || !ompi_datatype_is_contiguous(data->type) || walk->has_holes)
        return NULL;
    uintptr_t origin = ompi_datatype_origin(data->type, data->buffer);
    return origin % walk->element->shape.alignment == 0 ? (char *)origin : NULL;
}

static size_t total_bytes(const ompi_osc_access_t *access)
{
    return access->part_bytes > 0 ? access->part_bytes
                                  : ompi_datatype_bytes(access->remote.type, access->remote.count);
}

static int run_all(const walk_t *walk)
{
    _Alignas(64) char given[PIECE_BYTES], found[PIECE_BYTES];
    ompi_osc_access_t *access = walk->access;
    const ompi_data_t *origin = &access->origin, *result = &access->result;
    bool has_in = access->op->action != OMPI_OP_KEEP, has_result = result->type != NULL;
    char *in = packed_at(walk, origin), *before = packed_at(walk, result);
    bool in_place = (in != NULL || !has_in) && (before != NULL || !has_result);
    size_t total = total_bytes(access);
    size_t most = in_place ? SIZE_MAX : PIECE_BYTES / walk->bytes * walk->bytes;
    int error = MPI_SUCCESS;
    for (size_t from = 0, length; from < total && error == MPI_SUCCESS; from += length) {
        length = total - from < most ? total - from : most;
        const char *source = !has_in ? NULL : in != NULL ? in + from : given;
        char *values = !has_result ? NULL : before != NULL ? before + from : found;
        if (source == given)
            ompi_datatype_pack(origin->type, origin->count, origin->buffer, from, given, length);
        error = run_piece(walk, from, length, source, values);
        if (values == found && error == MPI_SUCCESS)
            ompi_datatype_unpack(result->type, result->count, result->buffer, from, found, length);
    }
    return error;
}

int ompi_osc_accumulate_runs(ompi_osc_access_t *access, ompi_osc_run_fn_t *run)
{
    const ompi_datatype_t *element = ompi_osc_element(access);
    size_t bytes = ompi_datatype_size(element), extent = (size_t)ompi_datatype_extent(element);
    walk_t walk = {.access = access,
                   .run = run,
                   .element = element,
                   .bytes = bytes,
                   .extent = extent,
                   .has_holes = bytes != extent,
                   .local_rank = local_rank_of(access)};
    return run_all(&walk);
}

/* -- memory that is mapped here ---------------------------------------------------------------- */

static void combine(const ompi_osc_access_t *access, char *where, const void *in, void *before,
                    size_t count)
{
    const ompi_datatype_t *element = ompi_osc_element(access);
    if (before != NULL)
        opal_copy(before, where, count * (size_t)ompi_datatype_extent(element));
    if (in != NULL)
        ompi_op_combine(access->op, in, where, where, count, element);
}

/* The elements of packed structures may not be aligned, which the loops rely on. */
static void combine_misaligned(const ompi_osc_access_t *access, char *where, const char *in,
                               char *before, size_t count)
{
    _Alignas(64) char value[ELEMENT_BYTES];
    size_t extent = (size_t)ompi_datatype_extent(ompi_osc_element(access));
    for (size_t i = 0; i < count; i++) {
        memcpy(value, where, extent);
        combine(access, value, in, before, 1);
        memcpy(where, value, extent);
        where += extent;
        in += in != NULL ? extent : 0;
        before += before != NULL ? extent : 0;
    }
}

static int run_here(ompi_osc_access_t *access, uintptr_t address, const void *in, void *before,
                    size_t count)
{
    char *where = (char *)(address + (uintptr_t)access->shift);
    if (opal_likely(((uintptr_t)where & (ompi_osc_element(access)->shape.alignment - 1)) == 0))
        combine(access, where, in, before, count);
    else
        combine_misaligned(access, where, in, before, count);
    return MPI_SUCCESS;
}

/* The address of an access of one element. */
static uintptr_t address_of_one(const ompi_osc_access_t *access)
{
    struct iovec first = {0};
    size_t bytes;
    const ompi_data_t *remote = &access->remote;
    if (ompi_datatype_is_contiguous(remote->type))
        return ompi_datatype_origin(remote->type, remote->buffer) + access->part_from;
    ompi_datatype_segments(remote->type, remote->count, remote->buffer, access->part_from, &first,
                           1, &bytes);
    return (uintptr_t)first.iov_base;
}

static bool may_use_cpu(const ompi_osc_access_t *access)
{
    return access->is_shared && access->window->uses_atomics;
}

/* A single element by the CPU. False: it takes a lock. */
static bool accumulate_one(const ompi_osc_access_t *access, size_t bytes)
{
    char given[8], found[8];
    uintptr_t address = address_of_one(access);
    if (!ompi_osc_atomic_fits(address, bytes))
        return false;
    if (!ompi_osc_enter(access->window, access->target->local)) {
        raise_mode(access->window, access->target->local);
        return false;
    }
    const ompi_data_t *origin = &access->origin, *result = &access->result;
    if (access->op->action != OMPI_OP_KEEP)
        ompi_datatype_pack(origin->type, origin->count, origin->buffer, 0, given, bytes);
    ompi_osc_atomic(access->op, ompi_osc_element(access), bytes,
                    (void *)(address + (uintptr_t)access->shift), given, found);
    ompi_osc_leave(access->window);
    if (result->type != NULL)
        ompi_datatype_unpack(result->type, result->count, result->buffer, 0, found, bytes);
    return true;
}

void ompi_osc_accumulate_here(ompi_osc_access_t *access)
{
    const ompi_datatype_t *element = ompi_osc_element(access);
    size_t bytes = ompi_datatype_size(element), total = total_bytes(access);
    if (may_use_cpu(access) && (MPI_Count)bytes == ompi_datatype_extent(element)) {
        if (total == bytes && accumulate_one(access, bytes))
            return;
        if (total > bytes && bytes <= 8)
            raise_mode(access->window, access->target->local);
    }
    ompi_osc_accumulate_runs(access, run_here);
}

void ompi_osc_accumulate_run(ompi_osc_access_t *access, const void *in, void *before)
{
    const ompi_data_t *remote = &access->remote;
    size_t bytes = ompi_datatype_size(remote->type);
    walk_t walk = {.access = access,
                   .run = run_here,
                   .element = remote->type,
                   .bytes = bytes,
                   .extent = bytes,
                   .local_rank = local_rank_of(access)};
    /* A single element that comes here is one that the CPU cannot change, or not any more. */
    if (may_use_cpu(access) && bytes <= 8)
        raise_mode(access->window, access->target->local);
    run_stripes(&walk, (uintptr_t)remote->buffer, in, before, remote->count);
}

void ompi_osc_compare_here(ompi_osc_access_t *access, const void *with)
{
    size_t bytes = ompi_datatype_size(access->remote.type);
    uintptr_t address = address_of_one(access);
    char *where = (char *)(address + (uintptr_t)access->shift);
    const void *in = access->origin.buffer;
    void *before = access->result.buffer;
    if (may_use_cpu(access) && ompi_osc_atomic_fits(address, bytes)) {
        if (ompi_osc_enter(access->window, access->target->local)) {
            ompi_osc_atomic_compare(bytes, where, in, with, before);
            ompi_osc_leave(access->window);
            return;
        }
        raise_mode(access->window, access->target->local);
    }
    ompi_osc_stripe_t *stripe = ompi_osc_stripe_of(local_rank_of(access), address);
    ompi_osc_stripe_acquire(stripe);
    char found[ELEMENT_BYTES]; /* `before` may be `with` */
    memcpy(found, where, bytes);
    if (memcmp(found, with, bytes) == 0)
        memcpy(where, in, bytes);
    ompi_osc_stripe_release(stripe);
    memcpy(before, found, bytes);
}
