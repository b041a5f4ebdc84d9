/* SPDX-License-Identifier: BSD-3-Clause */
/* The snapshot as text: a table of the pools, then a map of each. */
#include "tools/heap/draw.h"

#include "opal/heap/heap.h"

enum { MOST_ROWS = 12 };

static char character(unsigned fill)
{
    if (fill == 0)
        return '.';
    if (fill >= OPAL_HEAP_LOOK_FULL)
        return '#';
    return fill < OPAL_HEAP_LOOK_FULL / 2 ? '-' : '+';
}

static void head(FILE *out, const snapshot_t *snapshot)
{
    char sizes[5][DRAW_SIZE_BYTES];
    draw_totals_t totals = draw_totals(snapshot);
    fprintf(out, "region of %s, %s of them given to %zu pool%s, made by process %d\n",
            draw_size(snapshot->bytes, sizes[0]),
            draw_size((uint64_t)snapshot->given * OPAL_HEAP_CHUNK_BYTES, sizes[1]),
            snapshot->pool_count, snapshot->pool_count == 1 ? "" : "s", snapshot->creator);
    fprintf(out, "%s in %llu blocks, %s in holes, %s of memory\n\n",
            draw_size(totals.used_bytes, sizes[2]), (unsigned long long)totals.blocks,
            draw_size(totals.hole_bytes, sizes[3]), draw_size(totals.resident_bytes, sizes[4]));
}

static void leftovers(FILE *out, const snapshot_t *snapshot)
{
    char size[DRAW_SIZE_BYTES];
    if (snapshot->spare > 0)
        fprintf(out, "%s of addresses that processes have left can be had again\n\n",
                draw_size((uint64_t)snapshot->spare * OPAL_HEAP_CHUNK_BYTES, size));
}

static void table(FILE *out, const snapshot_t *snapshot)
{
    char used[DRAW_SIZE_BYTES], holes[DRAW_SIZE_BYTES], there[DRAW_SIZE_BYTES];
    char free_text[DRAW_SIZE_BYTES], rank[DRAW_RANK_BYTES];
    fprintf(out, "%5s %8s %10s %9s %10s %6s %10s %10s\n", "rank", "process", "used", "blocks",
            "holes", "of all", "free", "memory");
    for (size_t i = 0; i < snapshot->pool_count; i++) {
        const snapshot_pool_t *pool = &snapshot->pools[i];
        fprintf(out, "%5s %8d %10s %9llu %10s %4u %% %10s %10s%s%s\n", draw_rank(pool, rank),
                pool->pid, draw_size(pool->used_bytes, used), (unsigned long long)pool->blocks,
                draw_size(pool->hole_bytes, holes), snapshot_fragmentation(pool),
                draw_size(pool->free_bytes, free_text), draw_size(pool->resident_bytes, there),
                pool->has_ended ? "\n      has ended" : "",
                pool->base != snapshot->base && pool->pid != 0
                    ? "\n      sees the region at an address of its own"
                    : "");
    }
}

static void map(FILE *out, const snapshot_pool_t *pool)
{
    draw_row_t row;
    char size[DRAW_SIZE_BYTES], rank[DRAW_RANK_BYTES];
    if (!draw_row(pool, MOST_ROWS, 0, &row))
        return;
    size_t per_row = row.chunks;
    fprintf(out, "\nrank %s, %zu chunks with pages, a character is %s\n", draw_rank(pool, rank),
            pool->chunk_count,
            draw_size(per_row * OPAL_HEAP_CHUNK_BYTES / OPAL_HEAP_LOOK_UNITS, size));
    for (size_t i = 0; draw_row(pool, MOST_ROWS, i, &row); i++) {
        fprintf(out, "%7u %-5s ", row.first, row.use);
        for (size_t cell = 0; cell < row.cells; cell++)
            fputc(character(row.fill[cell]), out);
        fputc('\n', out);
    }
}

void draw_text(FILE *out, const snapshot_t *snapshot)
{
    head(out, snapshot);
    leftovers(out, snapshot);
    table(out, snapshot);
    for (size_t i = 0; i < snapshot->pool_count; i++)
        map(out, &snapshot->pools[i]);
    fprintf(out, "\n# full   + half and more   - less   . free\n");
}
