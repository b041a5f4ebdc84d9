/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The snapshot as an SVG picture: for each pool a line of figures, a bar of the use of its memory,
 * and a map whose rows are chunks. The colour of a cell is its use, the strength of the colour how
 * full it is. Colours are set by classes, for a light and for a dark page. No text of the region
 * gets into the picture.
 */
#include <string.h>

#include "tools/heap/draw.h"

enum {
    MOST_ROWS = 24,
    MARGIN = 24,
    WIDTH = 860,
    LABEL = 110, /* left of the map */
    CELL = 11,
    ROW = 13,
    HEAD = 96,
    POOL_HEAD = 54,
    SHADES = 4,
};

static const char style[] =
    "<style>\n"
    "text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1f2430}\n"
    ".t{font-size:18px;font-weight:600}.s{fill:#5b6472}.r{font-size:10px;fill:#5b6472}\n"
    ".p{fill:#ffffff}.e{fill:#e9ecf1}.u{fill:#5b6472}.h{fill:#e0a33a}\n"
    ".slabs{fill:#3b6fb5}.runs{fill:#2f8f6b}.huge{fill:#8a5bb8}\n"
    ".f1{opacity:.3}.f2{opacity:.55}.f3{opacity:.8}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#e4e7ee}.s,.r{fill:#9aa3b2}.p{fill:#151820}.e{fill:#262b36}\n"
    ".u{fill:#9aa3b2}.h{fill:#e6b657}\n"
    ".slabs{fill:#6ea2ea}.runs{fill:#55bd95}.huge{fill:#b58be0}}\n"
    "</style>\n";

/* 0: nothing; to SHADES: all of it. */
static int shade(unsigned fill)
{
    if (fill >= OPAL_HEAP_LOOK_FULL)
        return SHADES;
    return (int)(fill * (SHADES - 1) + OPAL_HEAP_LOOK_FULL - 1) / OPAL_HEAP_LOOK_FULL;
}

static size_t rows_of(const snapshot_pool_t *pool)
{
    draw_row_t row;
    size_t rows = 0;
    while (draw_row(pool, MOST_ROWS, rows, &row))
        rows++;
    return rows;
}

static void rectangle(FILE *out, const char *class, int shade_of, double x, double y, double width,
                      double height)
{
    fprintf(out, "<rect class=\"%s", class);
    if (shade_of > 0 && shade_of < SHADES)
        fprintf(out, " f%d", shade_of);
    fprintf(out, "\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x, y, width,
            height);
}

static bool is_same(const draw_row_t *row, size_t a, size_t b)
{
    return shade(row->fill[a]) == shade(row->fill[b]) && row->uses[a] == row->uses[b];
}

/* Cells of one kind and shade become one rectangle. */
static void map_row(FILE *out, const draw_row_t *row, double y)
{
    fprintf(out, "<text class=\"r\" x=\"%d\" y=\"%.1f\">%u %s</text>\n", MARGIN, y + ROW - 4,
            row->first, row->use);
    rectangle(out, "e", 0, MARGIN + LABEL, y, (double)row->cells * CELL, ROW - 2);
    for (size_t begin = 0, end; begin < row->cells; begin = end) {
        int strength = shade(row->fill[begin]);
        for (end = begin + 1; end < row->cells && is_same(row, begin, end);)
            end++;
        if (strength > 0)
            rectangle(out, draw_use(row->uses[begin]), strength,
                      MARGIN + LABEL + (double)begin * CELL, y, (double)(end - begin) * CELL,
                      ROW - 2);
    }
}

static void bar(FILE *out, const snapshot_pool_t *pool, double y)
{
    double all = (double)(pool->used_bytes + pool->hole_bytes), width = WIDTH - 2 * MARGIN;
    double used = all > 0 ? (double)pool->used_bytes / all * width : 0;
    rectangle(out, "e", 0, MARGIN, y, width, 10);
    rectangle(out, "u", 0, MARGIN, y, used, 10);
    if (all > 0)
        rectangle(out, "h", 0, MARGIN + used, y, width - used, 10);
}

static double draw_pool(FILE *out, const snapshot_pool_t *pool, double y)
{
    char used[DRAW_SIZE_BYTES], holes[DRAW_SIZE_BYTES], there[DRAW_SIZE_BYTES];
    char rank[DRAW_RANK_BYTES];
    draw_row_t row;
    fprintf(out,
            "<text x=\"%d\" y=\"%.1f\">rank %s<tspan class=\"s\">, process %d%s: %s in %llu "
            "blocks, %s in holes (%u %%), %s of memory</tspan></text>\n",
            MARGIN, y + 14, draw_rank(pool, rank), pool->pid, pool->has_ended ? " (has ended)" : "",
            draw_size(pool->used_bytes, used), (unsigned long long)pool->blocks,
            draw_size(pool->hole_bytes, holes), snapshot_fragmentation(pool),
            draw_size(pool->resident_bytes, there));
    bar(out, pool, y + 22);
    y += POOL_HEAD - 14;
    for (size_t i = 0; draw_row(pool, MOST_ROWS, i, &row); i++, y += ROW)
        map_row(out, &row, y);
    return y + 14;
}

static void legend(FILE *out, double y)
{
    static const char *const names[] = {"slabs", "runs", "huge", "u", "h"};
    static const char *const words[] = {"blocks up to 32 KiB (slabs)", "up to 1 MiB (runs)",
                                        "larger ones (huge)", "all blocks", "holes between them"};
    double x = MARGIN;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rectangle(out, names[i], 0, x, y, 11, 11);
        fprintf(out, "<text class=\"s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 16, y + 10,
                words[i]);
        x += 40 + 6.6 * (double)strlen(words[i]);
    }
}

void draw_svg(FILE *out, const snapshot_t *snapshot)
{
    char sizes[4][DRAW_SIZE_BYTES];
    draw_totals_t totals = draw_totals(snapshot);
    double height = HEAD + MARGIN;
    for (size_t i = 0; i < snapshot->pool_count; i++)
        height += POOL_HEAD + (double)rows_of(&snapshot->pools[i]) * ROW;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
            "viewBox=\"0 0 %d %.0f\" role=\"img\">\n<title>The shared heap of a job</title>\n%s",
            WIDTH, height, WIDTH, height, style);
    rectangle(out, "p", 0, 0, 0, WIDTH, height);
    fprintf(out,
            "<text class=\"t\" x=\"%d\" y=\"34\">%s in %llu blocks of %zu pools</text>\n"
            "<text class=\"s\" x=\"%d\" y=\"55\">%s in holes between them, %s of memory; the "
            "region has %s of addresses</text>\n",
            MARGIN, draw_size(totals.used_bytes, sizes[0]), (unsigned long long)totals.blocks,
            snapshot->pool_count, MARGIN, draw_size(totals.hole_bytes, sizes[1]),
            draw_size(totals.resident_bytes, sizes[2]), draw_size(snapshot->bytes, sizes[3]));
    legend(out, 68);
    double y = HEAD;
    for (size_t i = 0; i < snapshot->pool_count; i++)
        y = draw_pool(out, &snapshot->pools[i], y);
    fprintf(out, "</svg>\n");
}
