/* SPDX-License-Identifier: BSD-3-Clause */
/* A snapshot for a person: lines of text, or a drawing. */
#ifndef TOOLS_HEAP_DRAW_H
#define TOOLS_HEAP_DRAW_H

#include <stdio.h>

#include "tools/heap/snapshot.h"

/* A pool's chunks, in rows: as many chunks a row as it takes to have at most `most` of them. */
typedef struct draw_row {
    uint32_t first; /* chunk of the region */
    size_t chunks;
    size_t cells;    /* the last row may be shorter */
    const char *use; /* "slabs", ...; "mixed" */
    uint8_t fill[OPAL_HEAP_LOOK_UNITS];
    opal_heap_use_t uses[OPAL_HEAP_LOOK_UNITS]; /* of most of what is in a cell */
} draw_row_t;

/* Row number `row`; false: there is none. */
bool draw_row(const snapshot_pool_t *pool, size_t most, size_t row, draw_row_t *drawn);

/* "0", or "?" */
enum { DRAW_RANK_BYTES = 12 };
const char *draw_rank(const snapshot_pool_t *pool, char text[DRAW_RANK_BYTES]);

/* "slabs", ... */
const char *draw_use(opal_heap_use_t use);

/* "12.3 MiB", in four digits at most. */
enum { DRAW_SIZE_BYTES = 24 };
const char *draw_size(uint64_t bytes, char text[DRAW_SIZE_BYTES]);

/* Of all pools. */
typedef struct draw_totals {
    uint64_t used_bytes, hole_bytes, resident_bytes, blocks;
} draw_totals_t;
draw_totals_t draw_totals(const snapshot_t *snapshot);

/* At most 79 columns. */
void draw_text(FILE *out, const snapshot_t *snapshot);

/* A file of its own that needs no other, for a light or a dark page. */
void draw_svg(FILE *out, const snapshot_t *snapshot);

#endif
