/* SPDX-License-Identifier: BSD-3-Clause */
/* Showing a snapshot as text or as an SVG picture. */
#ifndef TOOLS_HEAP_DRAW_H
#define TOOLS_HEAP_DRAW_H

#include <stdio.h>

#include "tools/heap/snapshot.h"

/* A row of a pool's map. A row has as many chunks as are needed for at most `most` rows. */
typedef struct draw_row {
    uint32_t first; /* number of its first chunk in the region */
    size_t chunks;
    size_t cells;    /* fewer in the last row */
    const char *use; /* "slabs", ...; "mixed" */
    uint8_t fill[OPAL_HEAP_LOOK_UNITS];
    opal_heap_use_t uses[OPAL_HEAP_LOOK_UNITS]; /* the use of most bytes of a cell */
} draw_row_t;

/* Row number `row`. False: there is no such row. */
bool draw_row(const snapshot_pool_t *pool, size_t most, size_t row, draw_row_t *drawn);

/* "0", or "?" */
enum { DRAW_RANK_BYTES = 12 };
const char *draw_rank(const snapshot_pool_t *pool, char text[DRAW_RANK_BYTES]);

/* "slabs", ... */
const char *draw_use(opal_heap_use_t use);

/* "12.3 MiB", with at most four digits. */
enum { DRAW_SIZE_BYTES = 24 };
const char *draw_size(uint64_t bytes, char text[DRAW_SIZE_BYTES]);

/* Sums over all pools. */
typedef struct draw_totals {
    uint64_t used_bytes, hole_bytes, resident_bytes, blocks;
} draw_totals_t;
draw_totals_t draw_totals(const snapshot_t *snapshot);

/* At most 79 columns. */
void draw_text(FILE *out, const snapshot_t *snapshot);

/* A complete SVG file, for a light or a dark page. */
void draw_svg(FILE *out, const snapshot_t *snapshot);

#endif
