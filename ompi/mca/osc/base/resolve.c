/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds of accesses, and views of other ranks' memory. */
#include "ompi/mca/osc/base/resolve.h"

#include "opal/node/region.h"
#include "ompi/mca/osc/base/attach.h"

/* The first byte of the data relative to the buffer, and how many there are to the last one. False:
 * that cannot be counted. */
static bool measure(const ompi_data_t *data, int64_t *first, uint64_t *span)
{
    int64_t apart, first_to_last;
    MPI_Count extent = ompi_datatype_extent(data->type);
    if (data->count > INT64_MAX ||
        __builtin_mul_overflow((int64_t)data->count - 1, extent, &apart) || apart == INT64_MIN ||
        __builtin_add_overflow(ompi_datatype_true_extent(data->type), apart < 0 ? -apart : apart,
                               &first_to_last))
        return false;
    *span = (uint64_t)first_to_last;
    return !__builtin_add_overflow(ompi_datatype_true_lb(data->type), apart < 0 ? apart : 0, first);
}

static bool has_data(const ompi_data_t *data)
{
    return data->count > 0 && ompi_datatype_size(data->type) > 0;
}

/* Where a rank's address is here; NULL: it is not mapped. */
static char *view(const ompi_osc_window_t *window, int rank, uintptr_t address, size_t bytes)
{
    if (rank == window->rank)
        return (char *)address;
    return opal_view_at(&window->locals[window->targets[rank].local].view, address, bytes);
}

int ompi_osc_find_attached(const ompi_osc_window_t *window, int rank, uintptr_t start, size_t bytes,
                           char **here, bool *is_shared)
{
    if (!ompi_osc_is_attached(window, window->targets[rank].local, start, bytes))
        return MPI_ERR_RMA_RANGE;
    *here = view(window, rank, start, bytes);
    *is_shared =
        window->all_map && *here != NULL && (rank != window->rank || opal_region_has(*here, bytes));
    return MPI_SUCCESS;
}

static int resolve_dynamic(ompi_osc_access_t *access, uintptr_t start, size_t bytes)
{
    char *here;
    if (access->target->local < 0)
        return MPI_SUCCESS;
    int error = ompi_osc_find_attached(access->window, access->rank, start, bytes, &here,
                                       &access->is_shared);
    if (error != MPI_SUCCESS)
        return error;
    access->is_here = here != NULL;
    access->shift = (ptrdiff_t)((uintptr_t)here - start);
    return MPI_SUCCESS;
}

int ompi_osc_resolve(ompi_osc_access_t *access, int64_t offset)
{
    const ompi_osc_target_t *target = access->target;
    ompi_data_t *remote = &access->remote;
    remote->buffer = (void *)(target->base + (uintptr_t)offset);
    bool is_own = access->rank == access->window->rank;
    access->is_here = is_own || target->here != NULL;
    access->shift = is_own ? 0 : (ptrdiff_t)((uintptr_t)target->here - target->base);
    access->is_shared = target->is_shared;
    if (!has_data(remote))
        return MPI_SUCCESS;
    int64_t first;
    uint64_t span;
    if (!measure(remote, &first, &span) || __builtin_add_overflow(offset, first, &first))
        return MPI_ERR_RMA_RANGE;
    if (access->window->is_dynamic)
        return resolve_dynamic(access, (uintptr_t)first, span);
    if (first < 0 || (uint64_t)first > target->bytes || span > target->bytes - (uint64_t)first)
        return MPI_ERR_RMA_RANGE;
    return MPI_SUCCESS;
}
