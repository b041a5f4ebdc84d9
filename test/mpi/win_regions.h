/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The windows of win_random: the memory that they are made of, on the heap, the stack or in static
 * data, with margins; what is stored in it at the beginning of an epoch, and the comparison with
 * the model at its end.
 */
#ifndef TEST_MPI_WIN_REGIONS_H
#define TEST_MPI_WIN_REGIONS_H

#include "win_plan.h"

/* -- memory of windows --------------------------------------------------------------- */

enum { STATIC_BYTES = 12000, SHIFT_MAX = 16 };

/* Memory that this rank gives to a window: `bytes` with a margin on both sides. */
typedef struct block {
    char *start, *memory; /* of what was allocated, and of the first margin */
    size_t bytes;
    bool is_heap;
} block_t;

static _Alignas(64) char bss_memory[REGIONS_MAX][STATIC_BYTES];
static _Alignas(64) char data_memory[REGIONS_MAX][STATIC_BYTES] = {{1}};
static char *stack_memory;
static block_t blocks[REGIONS_MAX];

static inline char margin_byte(size_t i)
{
    return (char)(i * 5 + 1);
}

/* Returns what is between the margins, on the heap, the stack or in static data, now and then where
 * no element is aligned; `aligned` forbids that. */
static inline char *make_block(int region, size_t bytes, bool aligned)
{
    block_t *block = &blocks[region];
    size_t shift = !aligned && one_in(&own_state, 8) ? (size_t)draw(&own_state, SHIFT_MAX) : 0;
    size_t whole = bytes + 2 * (size_t)MARGIN + shift;
    char *const places[] = {bss_memory[region], data_memory[region],
                            stack_memory + (size_t)region * STATIC_BYTES};
    int place = draw(&own_state, 6);
    block->bytes = bytes;
    block->is_heap = place >= 3 || whole > STATIC_BYTES;
    block->start = block->is_heap ? malloc(whole) : places[place];
    block->memory = block->start + shift;
    for (size_t i = 0; i < MARGIN; i++)
        block->memory[i] = block->memory[MARGIN + bytes + i] = margin_byte(i);
    return block->memory + MARGIN;
}

static inline void check_margins(const block_t *block)
{
    for (size_t i = 0; i < MARGIN && block->memory != NULL; i++) {
        if (block->memory[i] != margin_byte(i) ||
            block->memory[MARGIN + block->bytes + i] != margin_byte(i)) {
            fault("memory beside the window has changed, %zu bytes from the margin's begin", i);
            return;
        }
    }
}

static inline void free_block(block_t *block)
{
    check_margins(block);
    if (block->is_heap)
        free(block->start);
    *block = (block_t){0};
}

/* -- windows ------------------------------------------------------------------------- */

static inline size_t draw_bytes(void)
{
    static const int limits[] = {40, 300, 2000, 2000, 10000, 10000, 50000};
    if (one_in(&common_state, 8))
        return 0;
    if (one_in(&common_state, 8 * w.size))
        return (size_t)draw(&common_state, 2 << 20);
    return (size_t)draw(&common_state, limits[draw(&common_state, 7)]);
}

static inline void draw_regions(int rank, size_t bytes)
{
    w.region_counts[rank] = w.flavor == DYNAMIC ? 1 + draw(&common_state, REGIONS_MAX) : 1;
    for (int i = 0; i < w.region_counts[rank]; i++) {
        region_t *region = &w.regions[rank][i];
        free_images(&region->data);
        make_memory(&region->data, w.flavor == DYNAMIC ? 16 + draw_bytes() : bytes, NULL);
        memset(region->data.accepts, 1, region->data.bytes); /* it is to be stored */
    }
}

/* Sizes, units, what accumulates promise, and the hints that follow. */
static inline void draw_window(MPI_Info info)
{
    bool same_size = one_in(&common_state, 4), same_unit = one_in(&common_state, 4);
    static const int units[] = {1, 1, 2, 4, 8, 8, 16, 3, 5, 12, 24, 240};
    enum { GRANULARITIES = 4 };
    static const char *const granularities[GRANULARITIES] = {"1", "8", "16", "4096"};
    size_t bytes = 0;
    w.is_ordered = !one_in(&common_state, 4);
    w.has_one_op = one_in(&common_state, 8);
    for (int i = 0; i < w.size; i++) {
        int unit = units[draw(&common_state, 12)];
        w.units[i] = w.flavor == DYNAMIC ? 1 : same_unit && i > 0 ? w.units[0] : unit;
        bytes = same_size && i > 0 ? bytes : draw_bytes();
        if (w.flavor == SHARED_MEMORY) /* what lies behind it is aligned, too */
            bytes = bytes / ELEMENT_MAX * ELEMENT_MAX;
        draw_regions(i, bytes);
    }
    if (!w.has_locks && one_in(&common_state, 2))
        MPI_Info_set(info, "no_locks", "true");
    if (!w.is_ordered || one_in(&common_state, 2))
        MPI_Info_set(info, "accumulate_ordering",
                     w.is_ordered               ? "rar,raw,war,waw"
                     : one_in(&common_state, 2) ? "none"
                                                : "raw,waw");
    if (w.has_one_op || one_in(&common_state, 2))
        MPI_Info_set(info, "accumulate_ops", w.has_one_op ? "same_op" : "same_op_no_op");
    if (w.flavor != DYNAMIC && same_size && one_in(&common_state, 2))
        MPI_Info_set(info, "same_size", "true");
    if (same_unit && one_in(&common_state, 2))
        MPI_Info_set(info, "same_disp_unit", "true");
    if (one_in(&common_state, 4))
        MPI_Info_set(info, "mpi_accumulate_granularity",
                     granularities[draw(&common_state, GRANULARITIES)]);
    if (one_in(&common_state, 2))
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    if (one_in(&common_state, 4))
        MPI_Info_set(info, "mpi_minimum_memory_alignment", "256");
    if (one_in(&common_state, 4))
        MPI_Info_set(info, "win_random_colour", "blue");
}

static inline void attach_regions(void)
{
    MPI_Aint mine[REGIONS_MAX] = {0}, all[RANKS_MAX * REGIONS_MAX];
    for (int i = 0; i < w.region_counts[w.rank]; i++) {
        memory_t *data = &w.regions[w.rank][i].data;
        data->memory = make_block(i, data->bytes, w.has_compute);
        TRY(MPI_Win_attach(w.win, data->memory, (MPI_Aint)data->bytes));
        MPI_Get_address(data->memory, &mine[i]);
    }
    MPI_Allgather(mine, REGIONS_MAX, MPI_AINT, all, REGIONS_MAX, MPI_AINT, w.comm);
    for (int i = 0; i < w.size * REGIONS_MAX; i++)
        w.regions[i / REGIONS_MAX][i % REGIONS_MAX].address = all[i];
}

static inline void detach_regions(bool is_last)
{
    for (int i = 0; i < w.region_counts[w.rank]; i++) {
        if (!is_last)
            TRY(MPI_Win_detach(w.win, w.regions[w.rank][i].data.memory));
        free_block(&blocks[i]);
    }
}

/* Other memory for a dynamic window, or the same again. Nobody accesses it. */
static inline void change_regions(void)
{
    detach_regions(false);
    for (int i = 0; i < w.size; i++)
        draw_regions(i, 0);
    attach_regions();
}

static inline void query_shared(void)
{
    for (int i = 0; i < w.size; i++) {
        memory_t *data = &w.regions[i][0].data;
        MPI_Aint bytes, large_unit;
        int unit;
        if (one_in(&own_state, 2)) {
            TRY(MPI_Win_shared_query(w.win, i, &bytes, &unit, &data->memory));
        } else {
            TRY(MPI_Win_shared_query_c(w.win, i, &bytes, &large_unit, &data->memory));
            unit = (int)large_unit;
        }
        if ((size_t)bytes != data->bytes || unit != w.units[i])
            fault("MPI_Win_shared_query says %ld bytes and unit %d of rank %d, it has %zu and %d",
                  (long)bytes, unit, i, data->bytes, w.units[i]);
    }
}

static inline void make_window(MPI_Info info)
{
    memory_t *own = &w.regions[w.rank][0].data;
    MPI_Aint bytes = (MPI_Aint)own->bytes;
    int unit = w.units[w.rank];
    MPI_Info hints = one_in(&common_state, 3) ? MPI_INFO_NULL : info;
    if (!w.is_ordered || w.has_one_op || !w.has_locks)
        hints = info;
    if (w.flavor == CREATE) {
        own->memory = make_block(0, own->bytes, w.has_compute);
        void *base = bytes == 0 && one_in(&own_state, 2) ? NULL : own->memory;
        TRY(CALL(Win_create, base, bytes, unit, hints, w.comm, &w.win));
    } else if (w.flavor == ALLOCATE) {
        TRY(CALL(Win_allocate, bytes, unit, hints, w.comm, &own->memory, &w.win));
    } else if (w.flavor == SHARED_MEMORY) {
        TRY(CALL(Win_allocate_shared, bytes, unit, hints, w.comm, &own->memory, &w.win));
    } else {
        TRY(MPI_Win_create_dynamic(hints, w.comm, &w.win));
    }
    MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
    if (w.flavor == SHARED_MEMORY)
        query_shared();
    if (w.flavor == DYNAMIC)
        attach_regions();
}

static inline void free_window(void)
{
    bool is_detached = w.flavor == DYNAMIC && one_in(&own_state, 2);
    if (is_detached)
        detach_regions(false);
    TRY(MPI_Win_free(&w.win));
    if (w.flavor == DYNAMIC && !is_detached)
        detach_regions(true);
    if (w.flavor == CREATE)
        free_block(&blocks[0]);
    for (int i = 0; i < w.size; i++) {
        for (int k = 0; k < REGIONS_MAX; k++)
            free_images(&w.regions[i][k].data);
    }
}

/* -- stores and loads ---------------------------------------------------------------- */

/* Stores what the plan says where memory holds it not yet. All ranks know who has stored it. */
static inline void store_regions(int rank)
{
    for (int i = 0; i < w.region_counts[rank]; i++) {
        memory_t *data = &w.regions[rank][i].data;
        for (size_t at = 0; at < data->bytes; at++) {
            if (data->accepts[at])
                data->memory[at] = data->image[at];
        }
    }
    for (int r = 0; r < w.size; r++) {
        for (int i = 0; i < w.region_counts[r]; i++)
            memset(w.regions[r][i].data.accepts, 0, w.regions[r][i].data.bytes);
    }
}

/* Of this rank, or in shared memory of the next one. */
static inline void store_values(bool is_passive)
{
    bool is_next = w.flavor == SHARED_MEMORY && w.has_locks && one_in(&common_state, 2);
    int whose = is_next ? (w.rank + 1) % w.size : w.rank;
    if (!is_passive && !is_next) {
        store_regions(whose);
        if (one_in(&common_state, 2))
            MPI_Barrier(w.comm);
        return;
    }
    TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, whose, one_in(&own_state, 2) ? MPI_MODE_NOCHECK : 0,
                     w.win));
    store_regions(whose);
    TRY(MPI_Win_sync(w.win));
    TRY(MPI_Win_unlock(whose, w.win));
    MPI_Barrier(w.comm);
}

static inline const segment_t *segment_of(int rank, int region, long at)
{
    for (int i = 0; i < segment_count; i++) {
        const segment_t *s = &segments[i];
        if (s->target == rank && s->region == region && at >= s->start && at < s->start + s->bytes)
            return s;
    }
    return NULL;
}

static inline void check_region(int rank, int region, const char *what)
{
    static const char *const role_names[] = {"owned", "shared", "read", "idle"};
    const memory_t *data = &w.regions[rank][region].data;
    long at = find_difference(data);
    if (at < 0)
        return;
    const segment_t *s = segment_of(rank, region, at);
    if (s == NULL)
        fault("%s: byte %ld of %zu, of region %d of rank %d, which is in no segment, is %02x, not "
              "%02x",
              what, at, data->bytes, region, rank, data->memory[at] & 255, data->image[at] & 255);
    else
        fault("%s: byte %ld of region %d of rank %d is %02x, not %02x; its %s segment of rank %d "
              "has %s for %s from %ld on",
              what, at, region, rank, data->memory[at] & 255, data->image[at] & 255,
              role_names[s->role], s->owner, s->element->name, fold_names[s->fold], (long)s->start);
}

static inline void check_rank(int rank, const char *what)
{
    for (int i = 0; i < w.region_counts[rank]; i++)
        check_region(rank, i, what);
}

/* The memory of this rank, and shared memory of all. All operations are completed at their
 * origins. */
static inline void check_values(bool is_passive, const char *what)
{
    if (is_passive) {
        int type = one_in(&own_state, 2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
        MPI_Barrier(w.comm);
        TRY(MPI_Win_lock(type, w.rank, 0, w.win));
        check_rank(w.rank, what);
        TRY(MPI_Win_unlock(w.rank, w.win));
    } else {
        check_rank(w.rank, what);
    }
    if (w.flavor == SHARED_MEMORY && w.has_locks) {
        MPI_Barrier(w.comm);
        TRY(MPI_Win_lock_all(0, w.win));
        TRY(MPI_Win_sync(w.win));
        for (int i = 0; i < w.size; i++)
            check_rank(i, "shared memory");
        TRY(MPI_Win_unlock_all(w.win));
    }
    for (int i = 0; i < REGIONS_MAX; i++)
        check_margins(&blocks[i]);
    MPI_Barrier(w.comm);
}

#endif
