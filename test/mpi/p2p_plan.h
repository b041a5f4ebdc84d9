/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of p2p_random: what all ranks draw alike from the seed and the round's number, and the
 * buffers of its messages, whose contents follow from it.
 *
 * A box is what comes to one rank in one communicator. What its receives name follows one rule,
 * such that each way to match them matches all.
 *
 * For one program, and one thread.
 */
#ifndef TEST_MPI_P2P_PLAN_H
#define TEST_MPI_P2P_PLAN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES_MAX = 64, TAGS = 3, MARGIN = 128, BUFFERED_MAX = 64 << 10 };

static uint64_t seed, round_number;
static int world_rank, world_size;

/* -- chance -------------------------------------------------------------------------- */

static uint64_t common_state, own_state;

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x7fb5d329728ea185);
    x = (x ^ (x >> 27)) * UINT64_C(0x81dadef4bc2dd44d);
    return x ^ (x >> 33);
}

static inline int draw(uint64_t *state, int below)
{
    return (int)(mix(*state += UINT64_C(0x9e3779b97f4a7c15)) % (unsigned)below);
}

/* The same for all ranks, of this round. */
static inline uint64_t hash(int a, int b, int c)
{
    uint64_t x = mix(mix(seed + 1) + round_number + 1);
    return mix(mix(mix(x + (uint64_t)a) + (uint64_t)b) + (uint64_t)c);
}

/* -- buffers ------------------------------------------------------------------------- */

enum { LAYOUTS = 5, BLOCKS_MAX = 3 };

/* A type: blocks of units, which are bytes or ints. */
typedef struct layout {
    MPI_Datatype type;
    int units, blocks, block_bytes, offsets[BLOCKS_MAX], extent;
} layout_t;

static layout_t layouts[2][LAYOUTS];
static const MPI_Datatype unit_types[2] = {MPI_BYTE, MPI_INT};
static const int unit_bytes[2] = {1, 4};

/* From here to type, which the layout frees, with another extent if it is not 0. */
static inline void set_layout(layout_t *layout, MPI_Datatype type, int low, int extent)
{
    if (extent != 0) {
        MPI_Type_create_resized(type, low, extent, &layout->type);
        MPI_Type_free(&type);
        layout->extent = extent;
    } else {
        layout->type = type;
    }
    MPI_Type_commit(&layout->type);
}

static inline void make_layouts(bool ints)
{
    layout_t *all = layouts[ints];
    MPI_Datatype type, unit = unit_types[ints];
    int u = unit_bytes[ints];
    all[0] = (layout_t){unit, 1, 1, u, {0}, u};
    all[1] = (layout_t){unit, 6, 3, 2 * u, {0, 4 * u, 8 * u}, 10 * u};
    MPI_Type_vector(3, 2, 4, unit, &type);
    set_layout(&all[1], type, 0, 0);
    all[2] = (layout_t){unit, 3, 3, u, {2 * u, -2 * u, 0}, 0};
    MPI_Type_indexed(3, (int[]){1, 1, 1}, (int[]){2, -2, 0}, unit, &type);
    set_layout(&all[2], type, -2 * u, 7 * u);
    all[3] = (layout_t){unit, 2, 2, u, {0, 3 * u}, 0}; /* elements lie in each other's gaps */
    MPI_Type_create_indexed_block(2, 1, (int[]){0, 3}, unit, &type);
    set_layout(&all[3], type, 0, 2 * u);
    all[4] = (layout_t){unit, 3, 3, u, {0, -2 * u, -4 * u}, 5 * u};
    MPI_Type_vector(3, 1, -2, unit, &type);
    set_layout(&all[4], type, 0, 0);
}

/* Memory for elements of a layout, and the image that it must have in the end. */
typedef struct area {
    const layout_t *layout;
    int count; /* elements */
    size_t bytes;
    char *memory, *image, *buffer;
} area_t;

static inline void make_area(area_t *area, const layout_t *layout, int count)
{
    area->layout = layout;
    area->count = count;
    area->bytes = (size_t)count * (size_t)layout->extent + 2 * (size_t)MARGIN;
    area->memory = malloc(area->bytes);
    area->image = malloc(area->bytes);
    area->buffer = area->memory + MARGIN;
    for (size_t i = 0; i < area->bytes; i++)
        area->memory[i] = (char)(i * 7 + 3);
    memcpy(area->image, area->memory, area->bytes);
}

static inline bool is_right(const area_t *area)
{
    return memcmp(area->memory, area->image, area->bytes) == 0;
}

static inline void free_area(area_t *area)
{
    free(area->memory);
    free(area->image);
}

/* Writes the data that belongs to a key into the memory or the image. */
static inline void write_data(const area_t *area, char *memory, uint64_t key, int bytes)
{
    const layout_t *layout = area->layout;
    char *element = memory + MARGIN;
    uint64_t word = 0;
    for (int p = 0; p < bytes; element += layout->extent) {
        for (int b = 0; b < layout->blocks; b++) {
            for (int i = 0; i < layout->block_bytes && p < bytes; i++, p++) {
                if (p % 8 == 0)
                    word = mix(key + (uint64_t)p);
                element[layout->offsets[b] + i] = (char)(word >> p % 8 * 8);
            }
        }
    }
}

/* Whatever is in its data is right; not so what is around it. */
static inline void accept_data(area_t *area)
{
    const layout_t *layout = area->layout;
    for (int e = 0; e < area->count; e++) {
        for (int b = 0; b < layout->blocks; b++) {
            int at = MARGIN + e * layout->extent + layout->offsets[b];
            memcpy(area->image + at, area->memory + at, (size_t)layout->block_bytes);
        }
    }
}

/* -- the plan ------------------------------------------------------------------------ */

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;
typedef enum send_mode { STANDARD, BUFFERED, SYNCHRONOUS, READY, MODES } send_mode_t;

/* A request and what became of it. */
typedef struct operation {
    MPI_Request request;
    MPI_Status status;
    int error;
    bool is_persistent;
} operation_t;

typedef struct message {
    int id, comm, source, dest, tag, units;
    send_mode_t mode;
    form_t form;
    bool is_taken;
    area_t area;
    operation_t operation;
} message_t;

/* World, and all its ranks in the other direction. The third is for what all do together. */
enum { COMMS = 2, TOGETHER = COMMS };
static MPI_Comm comms[COMMS + 1];
static int ranks[COMMS + 1];

static message_t messages[MESSAGES_MAX];
static int message_count;

/* What the receives of a box name. BY_CHOICE: all messages have the same source or tag or both, and
 * each receive names it or not. */
typedef enum wildcard { BY_NAME, BY_TAG, BY_SOURCE, BY_ORDER, BY_CHOICE, WILDCARDS } wildcard_t;
typedef enum early { NO_EARLY, SOME_EARLY, ALL_EARLY, EARLIES } early_t;

static inline wildcard_t box_wildcard(int comm, int dest)
{
    return (wildcard_t)(hash(1, comm, dest) % WILDCARDS);
}

static inline early_t box_early(int comm, int dest)
{
    return (early_t)(hash(2, comm, dest) % EARLIES);
}

static inline bool box_fixes_source(int comm, int dest)
{
    return box_wildcard(comm, dest) == BY_CHOICE && hash(8, comm, dest) % 3 != 0;
}

static inline bool box_fixes_tag(int comm, int dest)
{
    return box_wildcard(comm, dest) == BY_CHOICE && hash(8, comm, dest) % 3 != 1;
}

/* One for a box, so that the types of sends and receives agree whatever matches. */
static inline bool box_has_ints(int comm, int dest)
{
    return hash(3, comm, dest) % 2 == 0;
}

static inline uint64_t message_key(int id)
{
    return hash(4, id, 0);
}

static inline int draw_bytes(void)
{
    static const int limits[] = {1,    16,   64,   300,   1000,  5000,
                                 8192, 9000, 3000, 20000, 40000, BUFFERED_MAX};
    enum { LIMITS = sizeof limits / sizeof *limits };
    if (draw(&common_state, 40) == 0)
        return draw(&common_state, 1 << 20);
    return draw(&common_state, limits[draw(&common_state, LIMITS)]);
}

static inline void draw_message(int id)
{
    int comm = draw(&common_state, COMMS), dest = draw(&common_state, world_size);
    bool is_early = box_early(comm, dest) == ALL_EARLY;
    int bytes = draw_bytes(), units = bytes / unit_bytes[box_has_ints(comm, dest)];
    message_t *message = &messages[id];
    *message = (message_t){.id = id, .comm = comm, .dest = dest, .units = units};
    message->source = draw(&common_state, world_size);
    message->tag = draw(&common_state, TAGS);
    if (box_fixes_source(comm, dest))
        message->source = (int)(hash(9, comm, dest) % (unsigned)world_size);
    if (box_fixes_tag(comm, dest))
        message->tag = (int)(hash(10, comm, dest) % TAGS);
    message->mode = (send_mode_t)draw(&common_state, is_early ? MODES : READY);
    if (bytes > BUFFERED_MAX && message->mode == BUFFERED)
        message->mode = STANDARD;
    message->form = (form_t)draw(&common_state, FORMS);
    if (!is_early && message->form == BLOCKING && message->mode != BUFFERED)
        message->form = NONBLOCKING;
}

#endif
