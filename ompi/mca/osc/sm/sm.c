/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * osc/sm: the memory of ranks of this node. What is mapped here is accessed by loads, stores and
 * the CPU's atomics, layout to layout. Other memory (stacks, static data, small blocks) goes by
 * process_vm_readv(2) and process_vm_writev(2), where the system permits that. The target does
 * nothing for it, so every access is complete when the call returns.
 */
#include <errno.h>
#include <stdlib.h>

#include "ompi/mca/osc/base/accumulate.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/base/stripe.h"

enum { SEGMENTS = 64, RUN_BYTES = OMPI_OSC_STRIPE_BYTES + 64 };

static unsigned local_rank_of(const ompi_osc_access_t *access)
{
    return access->window->locals[access->target->local].local_rank;
}

static bool reaches(const ompi_osc_window_t *window, int rank)
{
    const ompi_osc_target_t *target = &window->targets[rank];
    if (target->local < 0)
        return false;
    return rank == window->rank || target->here != NULL || window->is_dynamic ||
           target->bytes == 0 || ompi_osc_may_move(window, rank);
}

/* -- private memory ---------------------------------------------------------------------------- */

/* The error of a move that has not copied all. */
static int error_of(ssize_t moved)
{
    return moved == -ESRCH ? MPI_ERR_PROC_ABORTED : MPI_ERR_RMA_RANGE;
}

/* One step for each batch of segments. */
static int move(const ompi_osc_access_t *access, bool write)
{
    const ompi_data_t *origin = &access->origin, *remote = &access->remote;
    size_t total = ompi_datatype_bytes(remote->type, remote->count);
    for (size_t from = 0; from < total;) {
        struct iovec here[SEGMENTS], there[SEGMENTS];
        size_t bytes;
        size_t here_count = ompi_datatype_segments(origin->type, origin->count, origin->buffer,
                                                   from, here, SEGMENTS, &bytes);
        size_t there_count = ompi_datatype_segments(remote->type, remote->count, remote->buffer,
                                                    from, there, SEGMENTS, &bytes);
        ssize_t moved =
            opal_node_move(local_rank_of(access), write, here, here_count, there, there_count);
        if (moved <= 0)
            return error_of(moved);
        from += (size_t)moved;
    }
    return MPI_SUCCESS;
}

static ssize_t move_run(const ompi_osc_access_t *access, bool write, void *here, uintptr_t there,
                        size_t bytes)
{
    struct iovec local = {here, bytes}, remote = {(void *)there, bytes};
    return opal_node_move(local_rank_of(access), write, &local, 1, &remote, 1);
}

/* Under the stripe's lock: a copy is changed and written back. */
static int accumulate_run(ompi_osc_access_t *access, uintptr_t address, const void *in,
                          void *before, size_t count)
{
    _Alignas(64) char copy[RUN_BYTES];
    const ompi_datatype_t *element = ompi_osc_element(access);
    size_t bytes = count * (size_t)ompi_datatype_extent(element);
    if (move_run(access, false, copy, address, bytes) != (ssize_t)bytes)
        return MPI_ERR_RMA_RANGE;
    if (before != NULL)
        opal_copy(before, copy, bytes);
    if (in == NULL)
        return MPI_SUCCESS;
    ompi_op_combine(access->op, in, copy, copy, count, element);
    return move_run(access, true, copy, address, bytes) == (ssize_t)bytes ? MPI_SUCCESS
                                                                          : MPI_ERR_RMA_RANGE;
}

static int compare_there(ompi_osc_access_t *access, const void *with)
{
    char found[16];
    size_t bytes = ompi_datatype_size(access->remote.type);
    uintptr_t address = (uintptr_t)access->remote.buffer;
    ompi_osc_stripe_t *stripe = ompi_osc_stripe_of(local_rank_of(access), address);
    ompi_osc_stripe_acquire(stripe);
    ssize_t moved = move_run(access, false, found, address, bytes);
    if (moved == (ssize_t)bytes && memcmp(found, with, bytes) == 0)
        moved = move_run(access, true, access->origin.buffer, address, bytes);
    ompi_osc_stripe_release(stripe);
    if (moved != (ssize_t)bytes)
        return MPI_ERR_RMA_RANGE;
    memcpy(access->result.buffer, found, bytes);
    return MPI_SUCCESS;
}

/* Whether the access is for another component: dynamic windows have memory of both kinds. */
static bool is_out_of_reach(const ompi_osc_access_t *access)
{
    return access->window->is_dynamic && !ompi_osc_may_move(access->window, access->rank);
}

/* -- the operations ---------------------------------------------------------------------------- */

static void *at(const ompi_osc_access_t *access)
{
    return (void *)((uintptr_t)access->remote.buffer + (uintptr_t)access->shift);
}

static int put(ompi_osc_access_t *access)
{
    const ompi_data_t *origin = &access->origin, *remote = &access->remote;
    if (access->is_here)
        ompi_datatype_copy(origin->type, origin->count, origin->buffer, remote->type, remote->count,
                           at(access));
    else
        return is_out_of_reach(access) ? OMPI_OSC_PASS_ON : move(access, true);
    return MPI_SUCCESS;
}

static int get(ompi_osc_access_t *access)
{
    const ompi_data_t *origin = &access->origin, *remote = &access->remote;
    if (access->is_here)
        ompi_datatype_copy(remote->type, remote->count, at(access), origin->type, origin->count,
                           origin->buffer);
    else
        return is_out_of_reach(access) ? OMPI_OSC_PASS_ON : move(access, false);
    return MPI_SUCCESS;
}

static int accumulate(ompi_osc_access_t *access)
{
    if (!access->is_here)
        return is_out_of_reach(access) ? OMPI_OSC_PASS_ON
                                       : ompi_osc_accumulate_runs(access, accumulate_run);
    ompi_osc_accumulate_here(access);
    return MPI_SUCCESS;
}

static int compare(ompi_osc_access_t *access, const void *with)
{
    if (!access->is_here)
        return is_out_of_reach(access) ? OMPI_OSC_PASS_ON : compare_there(access, with);
    ompi_osc_compare_here(access, with);
    return MPI_SUCCESS;
}

static const ompi_osc_ops_t sm_ops = {
    .name = "sm",
    .is_direct = true,
    .reaches = reaches,
    .put = put,
    .get = get,
    .accumulate = accumulate,
    .compare = compare,
};

static void query(opal_answer_t *answer)
{
    opal_answer_yes(answer, 50, &sm_ops, NULL,
                    "the ranks of a node access each other's memory, and this one its own");
}

OPAL_EXPORT extern const opal_component_t mca_osc_sm_component;
const opal_component_t mca_osc_sm_component = {
    OPAL_COMPONENT_HEAD(osc, sm),
    .prose = "one-sided communication within a node, by shared memory and system calls",
    .query = query,
};
