/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is covered of a window: a bit for each byte that a rank has written there. The pieces
 * between are not touched in the file; or they are read and written back, under a lock, where the
 * pieces are short and that costs less.
 */
#include <string.h>

#include "ompi/file/belt.h"
#include "ompi/file/file_lock.h"

enum { CHUNK_BYTES = 1 << 17 };

/* A window whose pieces are written. */
typedef struct window {
    ompi_access_t *access;
    const _Atomic uint64_t *bitmap;
    char *data;
    uint64_t start;
} window_t;

static uint64_t mask_of(uint64_t from, uint64_t to)
{
    return (~UINT64_C(0) << from % 64) & (~UINT64_C(0) >> (63 - (to - 1) % 64));
}

/* Ranks that share a word set their bits by atomics. */
void ompi_cover_mark(_Atomic uint64_t *bitmap, uint64_t from, uint64_t to)
{
    while (from < to) {
        uint64_t end = (from / 64 + 1) * 64;
        end = end < to ? end : to;
        uint64_t mask = mask_of(from, end);
        if (mask == ~UINT64_C(0))
            atomic_store_explicit(&bitmap[from / 64], mask, memory_order_relaxed);
        else
            atomic_fetch_or_explicit(&bitmap[from / 64], mask, memory_order_relaxed);
        from = end;
    }
}

/* The first bit from `from` on that is `value`; `limit`: there is none before it. */
static uint64_t next_bit(const _Atomic uint64_t *bitmap, uint64_t from, uint64_t limit, bool value)
{
    while (from < limit) {
        uint64_t word = atomic_load_explicit(&bitmap[from / 64], memory_order_relaxed);
        word = (value ? word : ~word) & (~UINT64_C(0) << from % 64);
        if (word != 0) {
            uint64_t found = from / 64 * 64 + (uint64_t)__builtin_ctzll(word);
            return found < limit ? found : limit;
        }
        from = (from / 64 + 1) * 64;
    }
    return limit;
}

/* Calls `each`, which may be NULL, with all pieces of a range that are covered, or all that are
 * not. Returns how many there are; *bytes is their total. */
typedef void piece_fn_t(const window_t *window, ompi_run_t piece, const char *before);

static size_t for_pieces(const window_t *window, ompi_run_t range, bool is_covered,
                         piece_fn_t *each, const char *before, uint64_t *bytes)
{
    uint64_t at = range.offset - window->start, limit = at + range.bytes;
    size_t count = 0;
    *bytes = 0;
    while ((at = next_bit(window->bitmap, at, limit, is_covered)) < limit) {
        uint64_t end = next_bit(window->bitmap, at, limit, !is_covered);
        if (each != NULL)
            each(window, (ompi_run_t){window->start + at, end - at}, before);
        *bytes += end - at;
        count++;
        at = end;
    }
    return count;
}

static void write_piece(const window_t *window, ompi_run_t piece, const char *before OPAL_UNUSED)
{
    ompi_file_hold_t hold = {0};
    ompi_file_lock(window->access, OMPI_FILE_LOCK_PIECE, piece, &hold);
    ompi_access_transfer(window->access, true, piece,
                         window->data + (piece.offset - window->start));
    ompi_file_unlock(&hold);
}

/* `before` stands for the file from the piece's chunk on. */
static void fill_gap(const window_t *window, ompi_run_t piece, const char *before)
{
    memcpy(window->data + (piece.offset - window->start), before + piece.offset % CHUNK_BYTES,
           piece.bytes);
}

/* Reads what is between the pieces of a range, by chunks that stay in the CPU's cache. */
static void fill_gaps(const window_t *window, ompi_run_t range, char *chunk)
{
    uint64_t end = range.offset + range.bytes, bytes;
    for (uint64_t from = range.offset, to; from < end && window->access->error == MPI_SUCCESS;
         from = to) {
        to = from / CHUNK_BYTES * CHUNK_BYTES + CHUNK_BYTES;
        to = to < end ? to : end;
        char *data = chunk + from % CHUNK_BYTES;
        uint64_t read =
            ompi_access_transfer(window->access, false, (ompi_run_t){from, to - from}, data);
        memset(data + read, 0, to - from - read);
        for_pieces(window, (ompi_run_t){from, to - from}, false, fill_gap, chunk, &bytes);
    }
}

/* Writes a range with what is between the pieces as it was. False: no memory. */
static bool rewrite(const window_t *window, ompi_run_t range)
{
    char *chunk = ompi_access_take_buffer(window->access->file, CHUNK_BYTES);
    ompi_file_hold_t hold = {0};
    if (chunk == NULL)
        return false;
    ompi_file_lock(window->access, OMPI_FILE_LOCK_WINDOW, range, &hold);
    fill_gaps(window, range, chunk);
    if (window->access->error == MPI_SUCCESS)
        ompi_access_transfer(window->access, true, range,
                             window->data + (range.offset - window->start));
    ompi_file_unlock(&hold);
    ompi_access_give_buffer(window->access->file, chunk);
    return true;
}

/* The range from the first to the last covered byte of a range; empty: none is. */
static ompi_run_t span_of(const window_t *window, ompi_run_t range)
{
    uint64_t low = range.offset - window->start, limit = low + range.bytes, high = limit;
    low = next_bit(window->bitmap, low, limit, true);
    while (high > low && next_bit(window->bitmap, high - 1, high, true) == high) {
        bool is_word = high % 64 == 0 && atomic_load(&window->bitmap[high / 64 - 1]) == 0;
        high -= is_word ? 64 : 1;
    }
    return (ompi_run_t){window->start + low, high - low};
}

void ompi_cover_write(ompi_access_t *access, _Atomic uint64_t *bitmap, char *data, uint64_t start,
                      uint64_t window_bytes, ompi_run_t range)
{
    window_t window = {access, bitmap, data, start};
    ompi_run_t span = span_of(&window, range);
    uint64_t covered;
    size_t count = for_pieces(&window, span, true, NULL, NULL, &covered);
    ompi_file_cost_t cost = ompi_file_costs_now(&access->file->costs, true);
    bool is_rewritten = count > 1 &&
                        ompi_file_cost_favors_sieve(&cost, true, span.bytes, covered, count) &&
                        ompi_file_may_sieve_writes(access->file) && rewrite(&window, span);
    if (!is_rewritten)
        for_pieces(&window, span, true, write_piece, NULL, &covered);
    memset((void *)bitmap, 0, window_bytes / 8);
}
