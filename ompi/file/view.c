/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making views, and finding positions and bytes in them.
 *
 * The data engine does the work: the file stands for a buffer, so an address that it lists is an
 * offset of the file, and a window is a buffer whose begin is moved by the window's first byte.
 * Addresses are numbers all the way, so that none has to lie in memory.
 */
#include "ompi/file/view.h"

#include <stdlib.h>

#include "ompi/datatype/order.h"

enum { LISTED_AT_ONCE = 64 };

/* Types of MPI_BYTE stand for any data. */
static bool is_of_bytes(const ompi_datatype_t *type)
{
    const ompi_datatype_t *element = ompi_datatype_element(type);
    return element == ompi_datatype_of(MPI_BYTE) || element == ompi_datatype_of(MPI_PACKED);
}

static bool is_made_of(const ompi_datatype_t *filetype, const ompi_datatype_t *etype)
{
    size_t elements = ompi_datatype_elements(etype);
    if (ompi_datatype_size(filetype) % ompi_datatype_size(etype) != 0)
        return false;
    if (is_of_bytes(etype) || is_of_bytes(filetype))
        return true;
    return ompi_datatype_elements(filetype) % elements == 0 &&
           ompi_datatype_signature_hash(filetype) ==
               ompi_signature_hash(etype->shape.signature,
                                   ompi_datatype_elements(filetype) / elements);
}

static int check_types(const ompi_datatype_t *etype, const ompi_datatype_t *filetype,
                       const char **reason)
{
    if (ompi_datatype_size(etype) == 0)
        *reason = "The etype has no data.";
    else if (!is_made_of(filetype, etype))
        *reason = "The filetype is not made of whole etypes.";
    else
        return MPI_SUCCESS;
    return MPI_ERR_TYPE;
}

/* How many elements of the layout have bytes and offsets below 2^63. The first one has. */
static size_t countable(const ompi_datatype_t *layout, MPI_Offset disp)
{
    MPI_Count extent = ompi_datatype_extent(layout), true_lb = ompi_datatype_true_lb(layout);
    MPI_Count true_ub = true_lb + ompi_datatype_true_extent(layout), count = 0;
    if (ompi_datatype_size(layout) == 0)
        return 0;
    if (extent > 0)
        count = (INT64_MAX - disp - true_ub) / extent;
    else if (extent < 0) /* towards the begin of the file */
        count = -((disp + true_lb) / extent);
    MPI_Count most = INT64_MAX / (MPI_Count)ompi_datatype_size(layout);
    return (size_t)(extent != 0 && count < most ? count + 1 : most);
}

static int place_data(ompi_view_t *view, const char **reason)
{
    MPI_Offset end;
    const ompi_shape_t *shape = &view->layout->shape;
    if (__builtin_add_overflow(view->disp, shape->bounds.true_ub, &end)) {
        *reason = "The displacement is so large that no byte of the view can be counted.";
        return MPI_ERR_ARG;
    }
    view->start = view->disp + shape->origin;
    view->count = countable(view->layout, view->disp);
    view->tree = ompi_layout_repeat(shape->layout, view->count, ompi_datatype_extent(view->layout));
    if (view->tree == NULL)
        return MPI_ERR_NO_MEM;
    view->is_run = view->tree->kind == OMPI_LAYOUT_RUN && view->count > 0;
    view->is_ordered = ompi_layout_span(view->tree).is_ordered;
    return MPI_SUCCESS;
}

static int measure_types(ompi_view_t *view, const char **reason)
{
    int outcome = ompi_datarep_layout(view->datarep, view->filetype, &view->layout);
    view->etype_bytes = ompi_datarep_bytes(view->datarep, view->etype, 1);
    if (outcome == MPI_SUCCESS && view->etype_bytes == SIZE_MAX)
        outcome = MPI_ERR_CONVERSION;
    if (outcome == MPI_ERR_CONVERSION)
        *reason = "The data representation has no size for an element of the view.";
    else if (outcome == MPI_ERR_VALUE_TOO_LARGE)
        *reason = "The filetype's size or a bound in the file is more than 63 bits.";
    return outcome;
}

int ompi_view_create(MPI_Offset disp, ompi_datatype_t *etype, ompi_datatype_t *filetype,
                     const ompi_datarep_t *datarep, ompi_view_t **view, const char **reason)
{
    *reason = "The displacement is negative.";
    if (disp < 0)
        return MPI_ERR_ARG;
    int outcome = check_types(etype, filetype, reason);
    if (outcome != MPI_SUCCESS)
        return outcome;
    *reason = "The etype or the filetype has data at a negative displacement.";
    if (ompi_datatype_true_lb(etype) < 0 || ompi_datatype_true_lb(filetype) < 0)
        return MPI_ERR_IO;
    *reason = "There is no memory for the view.";
    ompi_view_t *made = calloc(1, sizeof *made);
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    atomic_init(&made->references, 1);
    made->disp = disp;
    made->etype = etype;
    made->filetype = filetype;
    made->datarep = datarep;
    ompi_datatype_retain(etype);
    ompi_datatype_retain(filetype);
    outcome = measure_types(made, reason);
    if (outcome == MPI_SUCCESS)
        outcome = place_data(made, reason);
    if (outcome == MPI_SUCCESS)
        *view = made;
    else
        ompi_view_release(made);
    return outcome;
}

void ompi_view_retain(ompi_view_t *view)
{
    atomic_fetch_add_explicit(&view->references, 1, memory_order_relaxed);
}

void ompi_view_release(ompi_view_t *view)
{
    if (view == NULL || atomic_fetch_sub_explicit(&view->references, 1, memory_order_acq_rel) > 1)
        return;
    ompi_datatype_release(view->etype);
    ompi_datatype_release(view->filetype);
    if (view->layout != NULL)
        ompi_datatype_release(view->layout);
    ompi_layout_release(view->tree);
    free(view);
}

/* Where the buffer is that stands for byte `disp`, of one whose begin stands for byte `first`. */
static void *buffer_of(const ompi_view_t *view, const void *window, uint64_t first)
{
    return (void *)((uintptr_t)window - first + (uint64_t)view->disp);
}

MPI_Offset ompi_view_byte(const ompi_view_t *view, uint64_t position)
{
    ompi_run_t run = {0};
    uint64_t listed;
    if (position >= view->tree->bytes)
        return -1;
    ompi_view_runs(view, position, 1, &run, 1, &listed);
    return (MPI_Offset)run.offset;
}

uint64_t ompi_view_position(const ompi_view_t *view, uint64_t byte)
{
    MPI_Offset offset = byte < INT64_MAX ? (MPI_Offset)byte : INT64_MAX;
    return ompi_layout_bytes_until(view->tree, offset - view->start, true);
}

uint64_t ompi_view_bytes_before(const ompi_view_t *view, MPI_Offset size)
{
    return ompi_layout_bytes_until(view->tree, size - view->start, view->is_ordered);
}

size_t ompi_view_runs(const ompi_view_t *view, uint64_t position, uint64_t bytes, ompi_run_t *runs,
                      size_t max, uint64_t *listed)
{
    struct iovec segments[LISTED_AT_ONCE];
    size_t count = 0, found = 1;
    if (view->is_run && max > 0 && bytes > 0 && position < view->tree->bytes) {
        uint64_t left = view->tree->bytes - position;
        *listed = bytes < left ? bytes : left;
        runs[0] = (ompi_run_t){(uint64_t)view->start + position, *listed};
        return 1;
    }
    *listed = 0;
    while (count < max && *listed < bytes && found > 0) {
        size_t most = max - count < LISTED_AT_ONCE ? max - count : LISTED_AT_ONCE, total;
        found = ompi_datatype_segments(view->layout, view->count, buffer_of(view, NULL, 0),
                                       position + *listed, segments, most, &total);
        for (size_t i = 0; i < found && *listed < bytes; i++) {
            uint64_t left = bytes - *listed, length = segments[i].iov_len;
            length = length < left ? length : left;
            runs[count++] = (ompi_run_t){(uintptr_t)segments[i].iov_base, length};
            *listed += length;
        }
    }
    return count;
}

void ompi_view_to_window(const ompi_view_t *view, uint64_t position, size_t bytes, const void *data,
                         void *window, uint64_t first)
{
    ompi_datatype_unpack(view->layout, view->count, buffer_of(view, window, first), position, data,
                         bytes);
}

void ompi_view_from_window(const ompi_view_t *view, uint64_t position, size_t bytes, void *data,
                           const void *window, uint64_t first)
{
    ompi_datatype_pack(view->layout, view->count, buffer_of(view, window, first), position, data,
                       bytes);
}
