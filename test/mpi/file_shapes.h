/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random views: an etype and for each rank a filetype, as a datatype and as a list of slots, which
 * is made without the library's help. A slot is the room of one etype. The slots of two ranks do
 * not overlap, and those of a rank rise.
 *
 * All ranks draw the same from a common state, and know the slots of all ranks.
 */
#ifndef TEST_MPI_FILE_SHAPES_H
#define TEST_MPI_FILE_SHAPES_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { RANKS_MAX = 16, SLOTS_MAX = 4096, UNITS = 7, UNIT_BYTES_MAX = 8, DIMS_MAX = 4 };

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x7fb5d329728ea185);
    x = (x ^ (x >> 27)) * UINT64_C(0x81dadef4bc2dd44d);
    return x ^ (x >> 33);
}

static inline int draw(uint64_t *state, int below)
{
    return (int)(mix(*state += UINT64_C(0x9e3779b97f4a7c15)) % (uint64_t)below);
}

static inline bool one_in(uint64_t *state, int n)
{
    return draw(state, n) == 0;
}

/* An etype: its bytes of data, where they are, and its extent. */
typedef struct unit {
    MPI_Datatype type;
    int bytes, extent, offsets[UNIT_BYTES_MAX];
} unit_t;

static unit_t units[UNITS];

static inline void set_unit(int i, MPI_Datatype type, int bytes, int extent)
{
    units[i] = (unit_t){.type = type, .bytes = bytes, .extent = extent};
    for (int k = 0; k < bytes; k++)
        units[i].offsets[k] = k;
}

static inline void make_units(void)
{
    MPI_Datatype type, pair;
    const int lengths[] = {1, 1};
    const MPI_Aint displs[] = {0, 4};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_INT};
    set_unit(0, MPI_BYTE, 1, 1);
    set_unit(1, MPI_SHORT, 2, 2);
    set_unit(2, MPI_INT, 4, 4);
    set_unit(3, MPI_DOUBLE, 8, 8);
    MPI_Type_contiguous(3, MPI_BYTE, &type);
    set_unit(4, type, 3, 3);
    MPI_Type_create_resized(MPI_INT, 0, 6, &type);
    set_unit(5, type, 4, 6);
    MPI_Type_create_struct(2, lengths, displs, types, &pair);
    MPI_Type_create_resized(pair, 0, 8, &type);
    MPI_Type_free(&pair);
    set_unit(6, type, 5, 8);
    for (int k = 1; k < 5; k++)
        units[6].offsets[k] = 3 + k;
    for (int i = 4; i < UNITS; i++)
        MPI_Type_commit(&units[i].type);
}

static inline void free_units(void)
{
    for (int i = 4; i < UNITS; i++)
        MPI_Type_free(&units[i].type);
}

/* What a rank sees of a tile. */
typedef struct shape {
    int count, tile; /* slots of this rank, and of the whole */
    int slots[SLOTS_MAX];
    MPI_Datatype type; /* MPI_DATATYPE_NULL: that of another rank */
} shape_t;

/* What all ranks' shapes are made of. */
typedef struct plan {
    const unit_t *unit;
    int kind, ranks, scale;
    int a, b, c; /* as the kind likes */
    int dims, sizes[DIMS_MAX], subsizes[DIMS_MAX], starts[DIMS_MAX], split, order;
    int distribs[DIMS_MAX], arguments[DIMS_MAX], grid[DIMS_MAX];
    uint64_t key;
    int repeats, gap; /* the tile is repeated within a type */
} plan_t;

enum { CONTIGUOUS, VECTOR, INDEXED, STRUCT, SUBARRAY, DARRAY, KINDS };

static const char *const kind_names[KINDS] = {"contiguous", "vector",   "indexed",
                                              "struct",     "subarray", "darray"};

static inline void replace(MPI_Datatype *type, MPI_Datatype by)
{
    MPI_Type_free(type);
    *type = by;
}

/* The type begins at a slot of a tile. */
static inline void set_in_tile(const plan_t *p, MPI_Datatype *type, int slot, int tile)
{
    MPI_Datatype moved, result;
    MPI_Aint displ = (MPI_Aint)slot * p->unit->extent;
    MPI_Type_create_hindexed_block(1, 1, &displ, *type, &moved);
    MPI_Type_create_resized(moved, 0, (MPI_Aint)tile * p->unit->extent, &result);
    MPI_Type_free(&moved);
    replace(type, result);
}

static inline void make_contiguous(const plan_t *p, int r, shape_t *s, bool has_type)
{
    s->count = p->a;
    s->tile = p->a * p->ranks + p->b;
    for (int i = 0; i < s->count; i++)
        s->slots[i] = r * p->a + i;
    if (has_type) {
        MPI_Type_contiguous(p->a, p->unit->type, &s->type);
        set_in_tile(p, &s->type, r * p->a, s->tile);
    }
}

/* c blocks of a, those of the ranks in turn. */
static inline void make_vector(const plan_t *p, int r, shape_t *s, bool has_type)
{
    s->count = p->c * p->a;
    s->tile = p->c * p->a * p->ranks + p->b;
    for (int i = 0; i < s->count; i++)
        s->slots[i] = (i / p->a * p->ranks + r) * p->a + i % p->a;
    if (has_type) {
        MPI_Type_vector(p->c, p->a, p->a * p->ranks, p->unit->type, &s->type);
        set_in_tile(p, &s->type, r * p->a, s->tile);
    }
}

/* Slots belong to a rank by chance, in blocks of b; each rank has one more at the end. */
static inline void list_by_chance(const plan_t *p, int r, shape_t *s)
{
    s->count = 0;
    s->tile = p->c + p->ranks;
    for (int slot = 0; slot < p->c; slot++) {
        if ((int)(mix(p->key + (uint64_t)(slot / p->b)) % (uint64_t)(p->ranks + 1)) == r)
            s->slots[s->count++] = slot;
    }
    s->slots[s->count++] = p->c + r;
}

/* Blocks of adjacent slots; returns how many. */
static inline int list_blocks(const shape_t *s, int *lengths, int *first)
{
    int blocks = 0;
    for (int i = 0; i < s->count; i++) {
        if (i > 0 && s->slots[i] == s->slots[i - 1] + 1) {
            lengths[blocks - 1]++;
        } else {
            first[blocks] = s->slots[i];
            lengths[blocks++] = 1;
        }
    }
    return blocks;
}

static inline void make_indexed(const plan_t *p, int r, shape_t *s, bool has_type)
{
    static int lengths[SLOTS_MAX], first[SLOTS_MAX];
    list_by_chance(p, r, s);
    if (has_type) {
        int blocks = list_blocks(s, lengths, first);
        MPI_Type_indexed(blocks, lengths, first, p->unit->type, &s->type);
        set_in_tile(p, &s->type, 0, s->tile);
    }
}

/* Every second block is one of a type of its own, and there is an empty one at the end. */
static inline void make_struct(const plan_t *p, int r, shape_t *s, bool has_type)
{
    static int lengths[SLOTS_MAX], first[SLOTS_MAX];
    static MPI_Aint displs[SLOTS_MAX];
    static MPI_Datatype types[SLOTS_MAX];
    list_by_chance(p, r, s);
    if (!has_type)
        return;
    int blocks = list_blocks(s, lengths, first);
    for (int i = 0; i < blocks; i++) {
        displs[i] = (MPI_Aint)first[i] * p->unit->extent;
        types[i] = p->unit->type;
        if (i % 2 == 1) {
            MPI_Type_contiguous(lengths[i], p->unit->type, &types[i]);
            lengths[i] = 1;
        }
    }
    displs[blocks] = 0;
    lengths[blocks] = 0;
    types[blocks] = p->unit->type;
    MPI_Type_create_struct(blocks + 1, lengths, displs, types, &s->type);
    for (int i = 1; i < blocks; i += 2)
        MPI_Type_free(&types[i]);
    set_in_tile(p, &s->type, 0, s->tile);
}

/* Whether a rank has an index of a dimension. */
static inline bool has_index(const plan_t *p, int r, int dim, int index)
{
    if (p->kind == SUBARRAY) {
        int start = p->starts[dim] + (dim == p->split ? r * p->sizes[dim] / p->ranks : 0);
        return index >= start && index < start + p->subsizes[dim];
    }
    int coords[2] = {r / p->grid[1], r % p->grid[1]}, along = p->grid[dim];
    if (p->distribs[dim] == MPI_DISTRIBUTE_NONE)
        return true;
    if (p->distribs[dim] == MPI_DISTRIBUTE_BLOCK)
        return index / ((p->sizes[dim] + along - 1) / along) == coords[dim];
    int block = p->arguments[dim] == MPI_DISTRIBUTE_DFLT_DARG ? 1 : p->arguments[dim];
    return index / block % along == coords[dim];
}

/* Of an array: the slots whose indices the rank has, in the order of the file. */
static inline void list_array(const plan_t *p, int r, shape_t *s)
{
    s->count = 0;
    s->tile = 1;
    for (int d = 0; d < p->dims; d++)
        s->tile *= p->sizes[d];
    for (int slot = 0; slot < s->tile; slot++) {
        int rest = slot;
        bool is_there = true;
        for (int i = 0; i < p->dims && is_there; i++) {
            int d = p->order == MPI_ORDER_C ? p->dims - 1 - i : i;
            is_there = has_index(p, r, d, rest % p->sizes[d]);
            rest /= p->sizes[d];
        }
        if (is_there)
            s->slots[s->count++] = slot;
    }
}

static inline void make_array(const plan_t *p, int r, shape_t *s, bool has_type)
{
    int starts[DIMS_MAX];
    list_array(p, r, s);
    for (int d = 0; d < p->dims; d++)
        starts[d] = p->starts[d] + (d == p->split ? r * p->sizes[d] / p->ranks : 0);
    if (has_type && p->kind == SUBARRAY)
        MPI_Type_create_subarray(p->dims, p->sizes, p->subsizes, starts, p->order, p->unit->type,
                                 &s->type);
    else if (has_type)
        MPI_Type_create_darray(p->ranks, r, p->dims, p->sizes, p->distribs, p->arguments, p->grid,
                               p->order, p->unit->type, &s->type);
}

static inline void draw_subarray(plan_t *p, uint64_t *state)
{
    p->dims = 2 + draw(state, 3);
    p->split = draw(state, p->dims);
    for (int d = 0; d < p->dims; d++) {
        int part = 1 + draw(state, p->dims == 4 ? 3 : 4 + p->scale);
        p->sizes[d] = d == p->split ? part * p->ranks : part;
        p->subsizes[d] = 1 + draw(state, part);
        p->starts[d] = draw(state, part - p->subsizes[d] + 1);
    }
}

/* Two dimensions; each rank has something. */
static inline void draw_darray(plan_t *p, uint64_t *state)
{
    int first = p->ranks % 2 == 0 && one_in(state, 2) ? 2 : one_in(state, 2) ? p->ranks : 1;
    p->dims = 2;
    p->split = -1;
    p->grid[0] = first;
    p->grid[1] = p->ranks / first;
    for (int d = 0; d < 2; d++) {
        int along = p->grid[d], kind = draw(state, along == 1 ? 3 : 2);
        int block = 1 + draw(state, 3), blocks = 1 + draw(state, 2 + p->scale);
        p->arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
        p->distribs[d] = kind == 0   ? MPI_DISTRIBUTE_BLOCK
                         : kind == 1 ? MPI_DISTRIBUTE_CYCLIC
                                     : MPI_DISTRIBUTE_NONE;
        p->sizes[d] = along * block * blocks + (kind == 0 ? 0 : draw(state, 3));
        if (kind == 1 && !one_in(state, 3))
            p->arguments[d] = block;
    }
}

static inline void draw_plan(plan_t *p, uint64_t *state, int ranks, int scale)
{
    *p = (plan_t){.unit = &units[draw(state, UNITS)], .ranks = ranks, .scale = scale};
    p->kind = draw(state, KINDS);
    p->order = one_in(state, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    p->a = 1 + draw(state, 4 * scale);
    p->b = draw(state, 4);
    p->c = 1 + draw(state, 6);
    p->key = mix(*state);
    if (p->kind == INDEXED || p->kind == STRUCT) {
        p->c = 1 + draw(state, 20 * scale);
        p->b = 1 + draw(state, 3);
    }
    if (p->kind == SUBARRAY)
        draw_subarray(p, state);
    if (p->kind == DARRAY)
        draw_darray(p, state);
    p->repeats = one_in(state, 4) ? 2 + draw(state, 2) : 1;
    p->gap = draw(state, 5);
}

/* The tile `repeats` times, with gaps. */
static inline void repeat_shape(const plan_t *p, shape_t *s)
{
    int count = s->count, step = s->tile + p->gap;
    if (p->repeats == 1 || count * p->repeats > SLOTS_MAX)
        return;
    for (int i = count; i < count * p->repeats; i++)
        s->slots[i] = s->slots[i % count] + i / count * step;
    s->count = count * p->repeats;
    s->tile = step * p->repeats;
    if (s->type != MPI_DATATYPE_NULL) {
        MPI_Datatype type;
        MPI_Type_create_hvector(p->repeats, 1, (MPI_Aint)step * p->unit->extent, s->type, &type);
        replace(&s->type, type);
        set_in_tile(p, &s->type, 0, s->tile);
    }
}

/* The shape of rank r, also as a type, if it is wanted. */
static inline void make_shape(const plan_t *p, int r, shape_t *s, bool has_type)
{
    s->type = MPI_DATATYPE_NULL;
    if (p->kind == CONTIGUOUS)
        make_contiguous(p, r, s, has_type);
    else if (p->kind == VECTOR)
        make_vector(p, r, s, has_type);
    else if (p->kind == INDEXED)
        make_indexed(p, r, s, has_type);
    else if (p->kind == STRUCT)
        make_struct(p, r, s, has_type);
    else
        make_array(p, r, s, has_type);
    repeat_shape(p, s);
    if (has_type)
        MPI_Type_commit(&s->type);
}

#endif
