/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast. Ranks are counted from the root.
 *
 *   linear             (n-1) (a + m b)                 the root sends to each rank
 *   binomial           log2(n) (a + m b)               a binomial tree
 *   scatter_allgather  (log2(n) + n) a + 2 m b         pieces down a tree, then around a ring
 *   chain              (n - 2 + m/s) (a + s b)         a pipeline of pieces of s bytes, from rank
 *                                                      to rank
 *
 * The last two cut the data at any byte, so they work on the bytes of the buffer if its type is
 * contiguous, else on a packed copy. scatter_allgather sends most bytes twice, so between nodes a
 * chain is better.
 */
#include "ompi/mca/coll/base/tuning.h"
#include "ompi/mca/coll/p2p/p2p.h"

/* A rank's data as contiguous bytes. */
static char *flat_bytes(ompi_data_t data, ompi_schedule_t *schedule, bool is_root)
{
    if (ompi_datatype_is_contiguous(data.type))
        return ompi_coll_at(data.buffer, ompi_datatype_true_lb(data.type));
    char *bytes = ompi_schedule_room(schedule, ompi_coll_bytes(data));
    if (is_root)
        ompi_schedule_copy(schedule, data,
                           ompi_coll_packed(schedule, bytes, ompi_coll_bytes(data)));
    return bytes;
}

static void unpack_bytes(ompi_data_t data, ompi_schedule_t *schedule, char *bytes, bool is_root)
{
    if (!is_root && !ompi_datatype_is_contiguous(data.type))
        ompi_schedule_copy(schedule, ompi_coll_packed(schedule, bytes, ompi_coll_bytes(data)),
                           data);
}

int p2p_bcast_linear(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    ompi_data_t data = ompi_coll_whole(&call->recv);
    if (schedule->rank != call->root) {
        ompi_schedule_recv(schedule, call->root, data);
        return MPI_SUCCESS;
    }
    for (int rank = 0; rank < schedule->size; rank++) {
        if (rank != call->root)
            ompi_schedule_send(schedule, rank, data);
    }
    return MPI_SUCCESS;
}

int p2p_bcast_binomial(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int size = schedule->size, from_root = p2p_shift(schedule->rank, -call->root, size);
    int distance = 1;
    ompi_data_t data = ompi_coll_whole(&call->recv);
    while (distance < size && (from_root & distance) == 0)
        distance *= 2;
    if (from_root != 0) {
        ompi_schedule_recv(schedule, p2p_shift(schedule->rank, -distance, size), data);
        ompi_schedule_wait(schedule);
    }
    for (distance /= 2; distance > 0; distance /= 2) {
        if (from_root + distance < size)
            ompi_schedule_send(schedule, p2p_shift(schedule->rank, distance, size), data);
    }
    return MPI_SUCCESS;
}

/* The data in pieces of `length` bytes; the last ones may be shorter or empty. After the scatter
 * each rank has its piece. */
typedef struct pieces {
    char *bytes;
    size_t total, length;
} pieces_t;

static ompi_data_t piece_range(const ompi_schedule_t *schedule, const pieces_t *pieces, int first,
                               int end)
{
    size_t from = (size_t)first * pieces->length, to = (size_t)end * pieces->length;
    if (to > pieces->total)
        to = pieces->total;
    if (from > to)
        from = to;
    return ompi_coll_packed(schedule, pieces->bytes + from, to - from);
}

static void scatter_pieces(ompi_schedule_t *schedule, const pieces_t *pieces, int from_root)
{
    int size = schedule->size, distance = 1;
    while (distance < size && (from_root & distance) == 0)
        distance *= 2;
    if (from_root != 0) {
        ompi_data_t ours = piece_range(schedule, pieces, from_root, from_root + distance);
        ompi_coll_recv(schedule, p2p_shift(schedule->rank, -distance, size), ours);
        ompi_schedule_wait(schedule);
    }
    for (distance /= 2; distance > 0; distance /= 2) {
        int child = from_root + distance;
        if (child < size)
            ompi_coll_send(schedule, p2p_shift(schedule->rank, distance, size),
                           piece_range(schedule, pieces, child, child + distance));
    }
}

/* Whether a rank, counted from the root, has a piece after the scatter. */
static bool has_piece(int from_root, int piece, int size)
{
    int span = from_root == 0 ? size : from_root & -from_root;
    return piece >= from_root && piece < from_root + span;
}

int p2p_bcast_scatter_allgather(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int size = schedule->size, from_root = p2p_shift(schedule->rank, -call->root, size);
    int next = p2p_shift(from_root, 1, size);
    ompi_data_t data = ompi_coll_whole(&call->recv);
    char *bytes = flat_bytes(data, schedule, from_root == 0);
    size_t total = ompi_coll_bytes(data), each = (size_t)size;
    pieces_t pieces = {bytes, total, total / each + (total % each != 0)};
    scatter_pieces(schedule, &pieces, from_root);
    for (int round = 0; round < size - 1; round++) {
        int out = p2p_shift(from_root, -round, size), in = p2p_shift(out, -1, size);
        if (!has_piece(next, out, size))
            ompi_coll_send(schedule, p2p_shift(schedule->rank, 1, size),
                           piece_range(schedule, &pieces, out, out + 1));
        if (!has_piece(from_root, in, size))
            ompi_coll_recv(schedule, p2p_shift(schedule->rank, -1, size),
                           piece_range(schedule, &pieces, in, in + 1));
        ompi_schedule_wait(schedule);
    }
    unpack_bytes(data, schedule, bytes, from_root == 0);
    return MPI_SUCCESS;
}

static size_t chain_piece(size_t bytes)
{
    size_t piece = bytes / OMPI_COLL_CHAIN_PIECES;
    if (piece < OMPI_COLL_CHAIN_PIECE_MIN)
        piece = OMPI_COLL_CHAIN_PIECE_MIN;
    return piece < p2p_segment_bytes ? piece : p2p_segment_bytes;
}

int p2p_bcast_chain(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int size = schedule->size, from_root = p2p_shift(schedule->rank, -call->root, size);
    ompi_data_t data = ompi_coll_whole(&call->recv);
    char *bytes = flat_bytes(data, schedule, from_root == 0);
    pieces_t pieces = {bytes, ompi_coll_bytes(data), chain_piece(ompi_coll_bytes(data))};
    int count = (int)((pieces.total - 1) / pieces.length) + 1;
    int before = p2p_shift(schedule->rank, -1, size), behind = p2p_shift(schedule->rank, 1, size);
    /* A piece is sent on while the next one is received. */
    for (int i = 0; i <= count; i++) {
        if (i > 0 && from_root < size - 1)
            ompi_schedule_send(schedule, behind, piece_range(schedule, &pieces, i - 1, i));
        if (i < count && from_root > 0)
            ompi_schedule_recv(schedule, before, piece_range(schedule, &pieces, i, i + 1));
        ompi_schedule_wait(schedule);
    }
    unpack_bytes(data, schedule, bytes, from_root == 0);
    return MPI_SUCCESS;
}
