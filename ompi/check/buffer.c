/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers in use are in an interval tree. Data with gaps may lie between other data, as the columns
 * of a matrix do; so where ranges overlap and one of them has gaps, the bytes of both are compared.
 */
#include "ompi/check/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/check/finding.h"

enum { SEGMENTS = 64, PIECE_BYTES = 4096, NAME_BYTES = 96 };

static opal_interval_tree_t in_use;

/* -- names ----------------------------------------------------------------------------------- */

/* Writes "MPI_Irecv from rank 1 with tag 5". */
static void describe(const ompi_check_buffer_t *buffer, char text[NAME_BYTES])
{
    char rank[24] = "any rank", tag[24] = "any tag";
    if (buffer->peer != MPI_ANY_SOURCE)
        snprintf(rank, sizeof rank, "rank %d", buffer->peer);
    if (buffer->tag != MPI_ANY_TAG)
        snprintf(tag, sizeof tag, "tag %d", buffer->tag);
    snprintf(text, NAME_BYTES, "%s %s %s with %s", buffer->call, buffer->is_written ? "from" : "to",
             rank, tag);
}

/* -- where data lies ------------------------------------------------------------------------- */

static bool has_gaps(const ompi_check_buffer_t *buffer)
{
    return !ompi_datatype_is_contiguous(buffer->type);
}

/* From the first byte of data to behind the last one; the elements may go backwards. */
static void set_range(ompi_check_buffer_t *buffer)
{
    MPI_Count apart = (MPI_Count)(buffer->count - 1) * ompi_datatype_extent(buffer->type);
    buffer->range.begin =
        (uintptr_t)buffer->address + (uintptr_t)ompi_datatype_true_lb(buffer->type);
    if (apart < 0)
        buffer->range.begin += (uintptr_t)apart;
    buffer->range.end =
        buffer->range.begin + (uintptr_t)ompi_datatype_span(buffer->type, buffer->count);
}

/* Bytes of memory, one bit each, from `begin` on. */
typedef struct bytes {
    uintptr_t begin, end;
    unsigned char *bits;
} bytes_t;

/* Marks the bytes [begin, end), or looks whether one of them is marked already: the first one, or
 * `end`. */
static uintptr_t mark_or_find(bytes_t *bytes, uintptr_t begin, uintptr_t end, bool finds)
{
    for (uintptr_t at = begin; at < end; at++) {
        unsigned char *bits = &bytes->bits[(at - bytes->begin) / 8];
        unsigned char bit = (unsigned char)(1U << (at - bytes->begin) % 8);
        if (finds && *bits & bit)
            return at;
        if (!finds)
            *bits |= bit;
    }
    return end;
}

/* Goes through the data of a buffer that lies within `bytes`. Returns the first byte found; 0:
 * there is none. */
static uintptr_t go_through(const ompi_check_buffer_t *buffer, bytes_t *bytes, bool finds)
{
    struct iovec segments[SEGMENTS];
    size_t length, from = 0, total = ompi_datatype_bytes(buffer->type, buffer->count);
    for (; from < total; from += length) {
        size_t count = ompi_datatype_segments(buffer->type, buffer->count, buffer->address, from,
                                              segments, SEGMENTS, &length);
        for (size_t i = 0; i < count; i++) {
            uintptr_t begin = (uintptr_t)segments[i].iov_base, end = begin + segments[i].iov_len;
            begin = begin > bytes->begin ? begin : bytes->begin;
            end = end < bytes->end ? end : bytes->end;
            if (begin >= end)
                continue;
            uintptr_t found = mark_or_find(bytes, begin, end, finds);
            if (found != end)
                return found;
        }
    }
    return 0;
}

/* The first byte found that both have; 0: they have none in common, or there is no memory to find
 * it out. Their ranges overlap. */
static uintptr_t common_byte(const ompi_check_buffer_t *one, const ompi_check_buffer_t *other)
{
    bytes_t bytes = {.begin = one->range.begin, .end = one->range.end};
    if (bytes.begin < other->range.begin)
        bytes.begin = other->range.begin;
    if (bytes.end > other->range.end)
        bytes.end = other->range.end;
    if (!has_gaps(one) && !has_gaps(other))
        return bytes.begin;
    bytes.bits = calloc(1, (bytes.end - bytes.begin) / 8 + 1);
    if (bytes.bits == NULL)
        return 0;
    go_through(one, &bytes, false);
    uintptr_t found = go_through(other, &bytes, true);
    free(bytes.bits);
    return found;
}

/* -- use ------------------------------------------------------------------------------------- */

static int refuse(const ompi_check_buffer_t *buffer, const ompi_check_buffer_t *other,
                  uintptr_t byte, ompi_communicator_t *comm)
{
    char own[NAME_BYTES], name[NAME_BYTES], caller[OMPI_CHECK_CALLER_BYTES];
    describe(buffer, own);
    describe(other, name);
    ompi_check_caller_describe(&other->caller, caller);
    return ompi_check_find(MPI_ERR_BUFFER, comm != NULL ? &comm->head : NULL,
                           "The buffer of %s overlaps that of %s, which was begun at %s and has "
                           "not been waited for; both have byte %zu of the latter.",
                           own, name, caller, (size_t)(byte - other->range.begin));
}

int ompi_check_buffer_enter(ompi_check_buffer_t *buffer, ompi_communicator_t *comm)
{
    buffer->is_entered = false;
    if (ompi_datatype_bytes(buffer->type, buffer->count) == 0)
        return MPI_SUCCESS;
    set_range(buffer);
    const uintptr_t begin = buffer->range.begin, end = buffer->range.end;
    opal_interval_t *node = opal_interval_first(&in_use, begin, end);
    for (; node != NULL; node = opal_interval_next(node, begin, end)) {
        const ompi_check_buffer_t *other = opal_container_of(node, ompi_check_buffer_t, range);
        if ((!buffer->is_written && !other->is_written) ||
            (other->request != NULL && other->request->orphan != OMPI_ORPHAN_NOT))
            continue;
        uintptr_t byte = common_byte(buffer, other);
        if (byte != 0)
            return refuse(buffer, other, byte, comm);
    }
    ompi_check_caller_here(&buffer->caller);
    opal_interval_insert(&in_use, &buffer->range);
    buffer->is_entered = true;
    return MPI_SUCCESS;
}

void ompi_check_buffer_leave(ompi_check_buffer_t *buffer)
{
    free(buffer->copy);
    buffer->copy = NULL;
    if (buffer->is_entered)
        opal_interval_remove(&in_use, &buffer->range);
    buffer->is_entered = false;
}

void ompi_check_buffer_keep(ompi_check_buffer_t *buffer)
{
    size_t bytes = ompi_datatype_bytes(buffer->type, buffer->count);
    buffer->copy = bytes > 0 ? malloc(bytes) : NULL;
    if (buffer->copy != NULL)
        ompi_datatype_pack(buffer->type, buffer->count, buffer->address, 0, buffer->copy, bytes);
}

static int report_change(const ompi_check_buffer_t *buffer, size_t at, unsigned now,
                         ompi_communicator_t *comm)
{
    char name[NAME_BYTES], caller[OMPI_CHECK_CALLER_BYTES];
    describe(buffer, name);
    ompi_check_caller_describe(&buffer->caller, caller);
    return ompi_check_find(MPI_ERR_BUFFER, &comm->head,
                           "The buffer of %s, which was begun at %s, was changed before the send "
                           "was waited for: byte %zu of the %zu sent was 0x%02x and is 0x%02x.",
                           name, caller, at, ompi_datatype_bytes(buffer->type, buffer->count),
                           buffer->copy[at], now);
}

int ompi_check_buffer_compare(const ompi_check_buffer_t *buffer, ompi_communicator_t *comm)
{
    unsigned char piece[PIECE_BYTES];
    size_t length, total = ompi_datatype_bytes(buffer->type, buffer->count);
    if (buffer->copy == NULL)
        return MPI_SUCCESS;
    for (size_t from = 0; from < total; from += length) {
        length = ompi_datatype_pack(buffer->type, buffer->count, buffer->address, from, piece,
                                    sizeof piece);
        if (memcmp(piece, buffer->copy + from, length) == 0)
            continue;
        size_t at = 0;
        while (piece[at] == buffer->copy[from + at])
            at++;
        return report_change(buffer, from + at, piece[at], comm);
    }
    return MPI_SUCCESS;
}
