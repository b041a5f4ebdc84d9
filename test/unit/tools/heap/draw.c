/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/heap/text.c, svg.c, rows.c: a known state becomes these very lines. */
#include "tools/heap/draw.h"

#include "opal/heap/heap.h"
#include "test/unit/opal/support.h"

enum { MIB = 1 << 20 };

static snapshot_chunk_t chunks[40];
static snapshot_pool_t pools[3];
static snapshot_t known = {.bytes = (uint64_t)24 << 30,
                           .base = (uint64_t)1 << 44,
                           .chunks = 6144,
                           .given = 1000,
                           .creator = 4711,
                           .pools = pools,
                           .pool_count = 3};

static void make(void)
{
    pools[0] = (snapshot_pool_t){.pid = 4712,
                                 .rank = 0,
                                 .base = known.base,
                                 .given = 500,
                                 .used_bytes = 9 * MIB + 300 * 1024,
                                 .hole_bytes = 3 * MIB,
                                 .free_bytes = (uint64_t)1988 * MIB,
                                 .resident_bytes = 10 * MIB,
                                 .blocks = 1234,
                                 .chunks = chunks,
                                 .chunk_count = 3};
    pools[1] = (snapshot_pool_t){.pid = 4713,
                                 .rank = 1,
                                 .has_ended = true,
                                 .base = 4096,
                                 .used_bytes = (uint64_t)150 * MIB,
                                 .hole_bytes = 10 * MIB,
                                 .resident_bytes = (uint64_t)160 * MIB,
                                 .blocks = 37,
                                 .chunks = chunks + 3,
                                 .chunk_count = 37};
    pools[2] = (snapshot_pool_t){.rank = -1};
    for (uint32_t i = 0; i < 40; i++) {
        chunks[i].number = i < 3 ? 1 + i : 500 + i;
        chunks[i].use = i == 0   ? OPAL_HEAP_USE_SLABS
                        : i == 1 ? OPAL_HEAP_USE_RUNS
                        : i == 2 ? OPAL_HEAP_USE_NONE
                                 : OPAL_HEAP_USE_HUGE;
        for (uint32_t unit = 0; unit < OPAL_HEAP_LOOK_UNITS; unit++)
            chunks[i].fill[unit] = (uint8_t)(i == 0   ? unit / 4
                                             : i == 1 ? 16 - unit % 17
                                             : i == 2 ? 0
                                                      : 16);
    }
    memset(chunks[39].fill, 0, sizeof chunks[39].fill);
}

static char *draw(void (*draw_it)(FILE *, const snapshot_t *))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    draw_it(out, &known);
    fclose(out);
    return text;
}

static const char expected[] =
    "region of 24.0 GiB, 3.9 GiB of them given to 3 pools, made by process 4711\n"
    "159 MiB in 1271 blocks, 13.0 MiB in holes, 170 MiB of memory\n"
    "\n"
    " rank  process       used    blocks      holes of all       free     memory\n"
    "    0     4712    9.3 MiB      1234    3.0 MiB   24 %    1.9 GiB   10.0 MiB\n"
    "    1     4713    150 MiB        37   10.0 MiB    6 %      0 KiB    160 MiB\n"
    "      has ended\n"
    "      sees the region at an address of its own\n"
    "    ?        0      0 KiB         0      0 KiB    0 %      0 KiB      0 KiB\n"
    "\n"
    "rank 0, 3 chunks with pages, a character is 64.0 KiB\n"
    "      1 slabs ....----------------------------++++++++++++++++++++++++++++++++\n"
    "      2 runs  #++++++++-------.#++++++++-------.#++++++++-------.#++++++++----\n"
    "      3 free  ................................................................\n"
    "\n"
    "rank 1, 37 chunks with pages, a character is 256 KiB\n"
    "    503 huge  ################################################################\n"
    "    507 huge  ################################################################\n"
    "    511 huge  ################################################################\n"
    "    515 huge  ################################################################\n"
    "    519 huge  ################################################################\n"
    "    523 huge  ################################################################\n"
    "    527 huge  ################################################################\n"
    "    531 huge  ################################################################\n"
    "    535 huge  ################################################################\n"
    "    539 huge  ................\n"
    "\n"
    "# full   + half and more   - less   . free\n";

START_TEST(the_text)
{
    char *text = draw(draw_text);
    ck_assert_str_eq(text, expected);
    for (const char *line = text; *line != 0; line += strcspn(line, "\n") + 1)
        ck_assert_uint_lt(strcspn(line, "\n"), 80);
    free(text);
}
END_TEST

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

START_TEST(the_drawing)
{
    char *text = draw(draw_svg);
    ck_assert(strncmp(text, "<?xml ", 6) == 0);
    ck_assert_int_eq(count_of(text, "<svg "), 1);
    ck_assert_int_eq(count_of(text, "</svg>\n"), 1);
    ck_assert_int_eq(count_of(text, "<text"), count_of(text, "</text>"));
    ck_assert_int_eq(count_of(text, "prefers-color-scheme:dark"), 1);
    ck_assert_ptr_nonnull(strstr(text, "rank 0<tspan class=\"s\">, process 4712: 9.3 MiB in 1234 "
                                       "blocks, 3.0 MiB in holes (24 %), 10.0 MiB of memory"));
    ck_assert_ptr_nonnull(strstr(text, "process 4713 (has ended)"));
    /* Slabs: a free part, and four shades. */
    ck_assert_int_eq(count_of(text, "<rect class=\"slabs f"), 3);
    free(text);
}
END_TEST

START_TEST(sizes)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } table[] = {
        {0, "0 KiB"},           {100, "0.1 KiB"},          {1024, "1.0 KiB"},
        {102400, "100 KiB"},    {1023 * 1024, "1.0 MiB"},  {(uint64_t)5 << 40, "5.0 TiB"},
        {99 * MIB, "99.0 MiB"}, {UINT64_MAX, "16384 PiB"},
    };
    char text[DRAW_SIZE_BYTES];
    for (size_t i = 0; i < OPAL_COUNT_OF(table); i++)
        ck_assert_str_eq(draw_size(table[i].bytes, text), table[i].text);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_text},
    {.test = &the_drawing},
    {.test = &sizes},
};

UNIT_MAIN("tools/heap/draw", tests, make);
