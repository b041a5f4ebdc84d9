/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the data of a message lies for the provider. One run of bytes stays where it is. A few runs
 * are handed over as segments, unless each would have to be registered. All else is packed into a
 * copy before it is sent, or unpacked from one after it was received.
 */
#include <stdlib.h>

#include "ompi/mca/mtl/ofi/ofi.h"

static bool is_one_run(const ompi_data_t *data)
{
    return ompi_datatype_is_contiguous(data->type) ||
           (data->count == 1 && ompi_datatype_is_run(data->type));
}

static bool fits_segments(const ompi_data_t *data, size_t bytes, size_t limit)
{
    struct iovec segments[OFI_MAX_SEGMENTS];
    size_t described;
    if (limit < 2 || ofi.needs_registration)
        return false;
    ompi_datatype_segments(data->type, data->count, data->buffer, 0, segments, limit, &described);
    return described == bytes;
}

/* False: no memory. */
static bool make_copy(ofi_buffer_t *buffer, size_t bytes)
{
    buffer->start = malloc(bytes);
    buffer->is_packed = buffer->start != NULL;
    return buffer->is_packed;
}

static int make_known(ofi_buffer_t *buffer, size_t bytes)
{
    if (opal_likely(!ofi.needs_registration))
        return MPI_SUCCESS;
    int error = ofi_register(&buffer->registration, buffer->start, bytes, &buffer->descriptor);
    if (error != MPI_SUCCESS)
        ofi_buffer_free(buffer);
    return error;
}

int ofi_buffer_for_send(ofi_buffer_t *buffer, const ompi_data_t *data, size_t bytes)
{
    *buffer = (ofi_buffer_t){0};
    if (opal_likely(is_one_run(data)) || bytes == 0) {
        buffer->start = (void *)ompi_datatype_origin(data->type, data->buffer);
    } else if (bytes < ofi.max_bytes && fits_segments(data, bytes, ofi.send_segments)) {
        buffer->is_segments = true;
        return MPI_SUCCESS;
    } else {
        if (!make_copy(buffer, bytes))
            return MPI_ERR_NO_MEM;
        ompi_datatype_pack(data->type, data->count, data->buffer, 0, buffer->start, bytes);
    }
    return make_known(buffer, bytes);
}

int ofi_buffer_for_receive(ofi_buffer_t *buffer, const ompi_data_t *data, size_t capacity)
{
    size_t least = ofi.has_long ? OFI_LONG_HEAD_BYTES : 0;
    size_t room = capacity > least ? capacity : least;
    *buffer = (ofi_buffer_t){0};
    if (opal_likely(is_one_run(data) && capacity >= least)) {
        buffer->start = (void *)ompi_datatype_origin(data->type, data->buffer);
    } else if (!ofi.has_long && fits_segments(data, capacity, ofi.receive_segments)) {
        buffer->is_segments = true;
        return MPI_SUCCESS;
    } else if (room > 0 && !make_copy(buffer, room)) {
        return MPI_ERR_NO_MEM;
    }
    return make_known(buffer, room);
}

void ofi_buffer_unpack(ofi_buffer_t *buffer, const ompi_data_t *data, size_t bytes)
{
    if (opal_unlikely(buffer->is_packed))
        ompi_datatype_unpack(data->type, data->count, data->buffer, 0, buffer->start, bytes);
}

void ofi_buffer_free(ofi_buffer_t *buffer)
{
    if (opal_unlikely(ofi.needs_registration))
        ofi_deregister(&buffer->registration);
    if (opal_unlikely(buffer->is_packed))
        free(buffer->start);
    *buffer = (ofi_buffer_t){0};
}
