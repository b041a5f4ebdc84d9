/* SPDX-License-Identifier: BSD-3-Clause */
/* What text.c and svg.c share. */
#include "tools/heap/draw.h"

static const char *const names[] = {
    [OPAL_HEAP_USE_NONE] = "free",
    [OPAL_HEAP_USE_SLABS] = "slabs",
    [OPAL_HEAP_USE_RUNS] = "runs",
    [OPAL_HEAP_USE_HUGE] = "huge",
};

const char *draw_rank(const snapshot_pool_t *pool, char text[DRAW_RANK_BYTES])
{
    if (pool->rank >= 0)
        snprintf(text, DRAW_RANK_BYTES, "%d", pool->rank);
    else
        snprintf(text, DRAW_RANK_BYTES, "?");
    return text;
}

const char *draw_use(opal_heap_use_t use)
{
    return names[use];
}

bool draw_row(const snapshot_pool_t *pool, size_t most, size_t row, draw_row_t *drawn)
{
    size_t per_row = (pool->chunk_count + most - 1) / most, begin = row * per_row;
    if (per_row == 0 || begin >= pool->chunk_count)
        return false;
    size_t left = pool->chunk_count - begin, chunks = left < per_row ? left : per_row;
    const snapshot_chunk_t *first = &pool->chunks[begin];
    *drawn = (draw_row_t){.first = first->number, .chunks = chunks, .use = names[first->use]};
    /* Each cell is as many units in a row as a row has chunks. */
    size_t units = chunks * OPAL_HEAP_LOOK_UNITS;
    drawn->cells = (units + per_row - 1) / per_row;
    for (size_t cell = 0; cell < drawn->cells; cell++) {
        size_t sum = 0, most_here = 0;
        for (size_t i = cell * per_row; i < (cell + 1) * per_row && i < units; i++) {
            const snapshot_chunk_t *chunk = &first[i / OPAL_HEAP_LOOK_UNITS];
            uint8_t fill = chunk->fill[i % OPAL_HEAP_LOOK_UNITS];
            sum += fill;
            if (fill > most_here) {
                most_here = fill;
                drawn->uses[cell] = chunk->use;
            }
        }
        drawn->fill[cell] = (uint8_t)((sum + per_row - 1) / per_row);
    }
    for (size_t i = 1; i < chunks; i++)
        if (first[i].use != first->use)
            drawn->use = "mixed";
    return true;
}

const char *draw_size(uint64_t bytes, char text[DRAW_SIZE_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    double size = (double)bytes / 1024;
    size_t unit = 0;
    while (size >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        size /= 1024;
        unit++;
    }
    snprintf(text, DRAW_SIZE_BYTES, size < 99.95 && bytes > 0 ? "%.1f %s" : "%.0f %s", size,
             units[unit]);
    return text;
}

draw_totals_t draw_totals(const snapshot_t *snapshot)
{
    draw_totals_t totals = {0};
    for (size_t i = 0; i < snapshot->pool_count; i++) {
        const snapshot_pool_t *pool = &snapshot->pools[i];
        totals.used_bytes += pool->used_bytes;
        totals.hole_bytes += pool->hole_bytes;
        totals.resident_bytes += pool->resident_bytes;
        totals.blocks += pool->blocks;
    }
    return totals;
}
