/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a belt, and its slots. See belt.h. */
#include "ompi/file/belt.h"

#include <stdlib.h>
#include <string.h>

#include "opal/node/region.h"
#include "ompi/file/file_lock.h"

/*
 * Where the memory of a belt is, in the area's word: the rank of the node that has made it, an
 * address or offset that is a multiple of 64, and of what kind that is. 0: it is not made yet.
 *
 *   63    48 47                  6 5     0
 *   | maker |  place              | kind  |
 */
enum {
    PAGE_BYTES = 4096,
    KINDS = 64,
    NO_ROOM = 1,    /* the node has none */
    IN_REGION = 2,  /* an address in the maker, in the region that all ranks have mapped */
    IN_SEGMENT = 3, /* an offset */
    IN_PROCESS = 4, /* an address: the rank is alone */
    MAKER_SHIFT = 48,
};

typedef struct ompi_belt_slot {
    _Alignas(64) atomic_uint arrived; /* parts that are through with the window */
    _Atomic uint64_t next;            /* the window that uses the slot now, if it has been used */
    _Atomic uint64_t full;            /* that nobody writes yet; 0: none */
    _Atomic uint64_t claimed, ready;  /* that a rank reads or has read; whose bytes are there */
    uint64_t found_bytes;             /* of it; written before `ready` is, as the error */
    int error;                        /* errno */
} slot_t;

/* In shared memory: the slots of all ranks of the node, a bitmap and a window for each. */
typedef struct ompi_belt_memory {
    opal_shared_t shared; /* of memory in the segment */
    uint64_t window_bytes;
    size_t bitmaps, windows; /* where they begin, in bytes from here */
    slot_t slots[];
} memory_t;

/* -- memory ---------------------------------------------------------------------------------- */

static bool do_all_map_region(const ompi_file_area_t *area)
{
    opal_node_view_t view;
    for (int local = 0; local < area->local_count; local++) {
        if (!opal_node_view(area->locals[local].local_rank, &view) || view.bytes == 0)
            return false;
    }
    return opal_region.bytes > 0;
}

/* Memory for the ranks of the node: their heap has room for large windows, the segment for some
 * small ones. Under ompi_lock. */
static void *allocate(const ompi_file_area_t *area, size_t bytes, uint64_t *kind)
{
    void *block = NULL;
    *kind = area->is_shared ? IN_REGION : IN_PROCESS;
    if (!area->is_shared)
        return posix_memalign(&block, PAGE_BYTES, bytes) == 0 ? block : NULL;
    if (do_all_map_region(area))
        block = opal_region_allocate(PAGE_BYTES, bytes);
    if (block != NULL && opal_region_has(block, bytes))
        return block;
    if (block != NULL)
        opal_region_free(block);
    *kind = IN_SEGMENT;
    return opal_shared_make(bytes, 0, bytes);
}

static void release(memory_t *memory, uint64_t kind, int users)
{
    if (kind == IN_SEGMENT)
        opal_shared_release(&memory->shared, users);
    else
        opal_region_free(memory);
}

static uint64_t make(const ompi_file_area_t *area, uint64_t window_bytes)
{
    size_t slots = (size_t)area->local_count * OMPI_BELT_SLOTS_PER_RANK;
    size_t bitmaps = sizeof(memory_t) + slots * sizeof(slot_t);
    size_t windows =
        (bitmaps + slots * (window_bytes / 8) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    uint64_t kind;
    memory_t *memory = allocate(area, windows + slots * window_bytes, &kind);
    if (memory == NULL)
        return NO_ROOM;
    size_t own = kind == IN_SEGMENT ? sizeof memory->shared : 0; /* the list of such memory */
    memset((char *)memory + own, 0, windows - own);
    memory->window_bytes = window_bytes;
    memory->bitmaps = bitmaps;
    memory->windows = windows;
    uint64_t place = kind == IN_SEGMENT ? opal_node_offset(memory) : (uintptr_t)memory;
    return (uint64_t)area->self << MAKER_SHIFT | place | kind;
}

static memory_t *find(const ompi_file_area_t *area, uint64_t word)
{
    opal_node_view_t view;
    int maker = (int)(word >> MAKER_SHIFT);
    uint64_t place = word & ((UINT64_C(1) << MAKER_SHIFT) - KINDS);
    switch (word % KINDS) {
    case IN_SEGMENT:
        return opal_node_at(place);
    case IN_REGION:
        if (maker == area->self)
            return (memory_t *)(uintptr_t)place;
        return opal_node_view(area->locals[maker].local_rank, &view) ? opal_view_of(&view, place)
                                                                     : NULL;
    case IN_PROCESS:
        return (memory_t *)(uintptr_t)place;
    default:
        return NULL;
    }
}

/* One rank makes it when it is first needed. */
bool ompi_belt_open(ompi_belt_t *belt)
{
    ompi_file_area_t *area = belt->area;
    uint64_t window_bytes = belt->access->file->hints.cb_buffer_bytes / PAGE_BYTES * PAGE_BYTES;
    uint64_t word = atomic_load_explicit(&area->memory->belt, memory_order_acquire);
    if (word == 0) {
        ompi_lock();
        uint64_t made = make(area, window_bytes);
        if (atomic_compare_exchange_strong(&area->memory->belt, &word, made))
            word = made;
        else if (made != NO_ROOM)
            release(find(area, made), made % KINDS, 0);
        ompi_unlock();
    }
    belt->memory = find(area, word);
    return belt->memory != NULL;
}

/* All ranks have closed the file. */
void ompi_belt_leave(ompi_file_area_t *area)
{
    uint64_t word = atomic_load(&area->memory->belt), kind = word % KINDS;
    memory_t *memory = find(area, word);
    if (memory == NULL)
        return;
    if ((int)(word >> MAKER_SHIFT) == area->self)
        release(memory, kind, area->local_count);
    if (kind == IN_SEGMENT)
        opal_shared_leave(&memory->shared);
}

uint64_t ompi_belt_window_bytes(const ompi_belt_t *belt)
{
    return belt->memory->window_bytes;
}

/* -- windows and slots ----------------------------------------------------------------------- */

static uint64_t stamp(const ompi_belt_t *belt, uint64_t window)
{
    return belt->call << 32 | (window + 1);
}

static uint32_t window_of(uint64_t stamp)
{
    return (uint32_t)stamp - 1;
}

/* Each rank of the crew brings its slots. */
static size_t slot_index(const ompi_belt_t *belt, uint32_t window)
{
    uint32_t slot = window / belt->nodes % belt->slot_count;
    return (size_t)belt->members[slot / OMPI_BELT_SLOTS_PER_RANK] * OMPI_BELT_SLOTS_PER_RANK +
           slot % OMPI_BELT_SLOTS_PER_RANK;
}

static slot_t *slot_of(const ompi_belt_t *belt, uint32_t window)
{
    return &belt->memory->slots[slot_index(belt, window)];
}

char *ompi_belt_memory(const ompi_belt_t *belt, uint32_t window)
{
    memory_t *memory = belt->memory;
    return (char *)memory + memory->windows + slot_index(belt, window) * memory->window_bytes;
}

static _Atomic uint64_t *bitmap_of(const ompi_belt_t *belt, uint32_t window)
{
    memory_t *memory = belt->memory;
    return (void *)((char *)memory + memory->bitmaps +
                    slot_index(belt, window) * (memory->window_bytes / 8));
}

uint64_t ompi_belt_start(const ompi_belt_t *belt, uint32_t window)
{
    return belt->base + window * belt->memory->window_bytes;
}

ompi_run_t ompi_belt_range(const ompi_belt_t *belt, uint32_t window)
{
    uint64_t start = ompi_belt_start(belt, window), end = start + belt->memory->window_bytes;
    start = start < belt->first ? belt->first : start;
    end = end > belt->end ? belt->end : end;
    return (ompi_run_t){start, end - start};
}

bool ompi_belt_has_part(const ompi_belt_t *belt, int rank, uint32_t window)
{
    ompi_run_t range = ompi_belt_range(belt, window);
    const ompi_conveyor_part_t *part = &belt->parts[rank];
    return part->first < range.offset + range.bytes && range.offset < part->end;
}

static unsigned expected(const ompi_belt_t *belt, uint32_t window)
{
    unsigned count = 0;
    for (int i = 0; i < belt->crew_count; i++)
        count += ompi_belt_has_part(belt, belt->crew[i], window);
    return count;
}

/* The first windows of this node: one for each of its slots that is used. */
static uint32_t next_first(const ompi_belt_t *belt, uint32_t window)
{
    window += belt->nodes;
    return window / belt->nodes < belt->slot_count ? window : UINT32_MAX;
}

#define FOR_SLOTS(belt, window)                                                                    \
    for (uint32_t window = (belt)->node; window < (belt)->window_count;                            \
         window = next_first(belt, window))

/* -- steps ----------------------------------------------------------------------------------- */

static bool is_at(const _Atomic uint64_t *word, uint64_t stamp)
{
    return atomic_load_explicit(word, memory_order_acquire) == stamp;
}

bool ompi_belt_is_free(const ompi_belt_t *belt, uint32_t window)
{
    return window / belt->nodes < belt->slot_count ||
           is_at(&slot_of(belt, window)->next, stamp(belt, window));
}

bool ompi_belt_is_ready(const ompi_belt_t *belt, uint32_t window)
{
    return is_at(&slot_of(belt, window)->ready, stamp(belt, window));
}

static void notify(const ompi_belt_t *belt)
{
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < belt->member_count; i++) {
        if (i != belt->self)
            ompi_file_area_notify(belt->area, belt->members[i]);
    }
}

static void free_slot(const ompi_belt_t *belt, uint32_t window)
{
    uint64_t next = (uint64_t)window + (uint64_t)belt->slot_count * belt->nodes;
    atomic_store_explicit(&slot_of(belt, window)->next, stamp(belt, next), memory_order_release);
    notify(belt);
}

/* How many ranks of this node may transfer; 0: all. One hint counts those of all nodes, the other
 * one those of each. */
static uint64_t limit_of(const ompi_belt_t *belt)
{
    const ompi_file_hints_t *hints = &belt->access->file->hints;
    uint64_t of_all = (hints->cb_nodes + belt->nodes - 1) / belt->nodes, limit = hints->cb_per_node;
    return limit == 0 || (of_all != 0 && of_all < limit) ? of_all : limit;
}

/* With a limit, the first ones of the crew transfer what is theirs to transfer. */
static bool may_transfer(const ompi_belt_t *belt, uint32_t window)
{
    uint64_t limit = limit_of(belt);
    if (limit == 0 || (uint64_t)belt->self < limit)
        return true;
    for (uint64_t i = 0; i < limit; i++) {
        int rank = belt->area->locals[belt->members[i]].rank;
        if (belt->access->is_write || ompi_belt_has_part(belt, rank, window))
            return false;
    }
    return true;
}

void ompi_belt_mark(const ompi_belt_t *belt, uint32_t window, const ompi_view_t *view,
                    uint64_t position, uint64_t bytes)
{
    enum { RUNS = 64 };
    ompi_run_t runs[RUNS];
    uint64_t start = ompi_belt_start(belt, window), listed;
    for (uint64_t done = 0; done < bytes; done += listed) {
        size_t count = ompi_view_runs(view, position + done, bytes - done, runs, RUNS, &listed);
        for (size_t i = 0; i < count; i++)
            ompi_cover_mark(bitmap_of(belt, window), runs[i].offset - start,
                            runs[i].offset - start + runs[i].bytes);
    }
}

void ompi_belt_arrive(const ompi_belt_t *belt, uint32_t window)
{
    slot_t *slot = slot_of(belt, window);
    if (atomic_fetch_add_explicit(&slot->arrived, 1, memory_order_acq_rel) + 1 <
        expected(belt, window))
        return;
    atomic_store_explicit(&slot->arrived, 0, memory_order_relaxed);
    if (!belt->access->is_write) {
        free_slot(belt, window);
        return;
    }
    /* A rank that waits writes it. This one, which others wait for, goes on. */
    atomic_store_explicit(&slot->full, stamp(belt, window), memory_order_release);
    notify(belt);
}

static void write_window(const ompi_belt_t *belt, uint32_t window)
{
    ompi_access_t *access = belt->access;
    ompi_run_t range = ompi_belt_range(belt, window);
    uint64_t start = ompi_belt_start(belt, window);
    char *data = ompi_belt_memory(belt, window);
    if (belt->is_tiled) {
        ompi_file_hold_t hold = {0};
        ompi_file_lock(access, OMPI_FILE_LOCK_PIECE, range, &hold);
        ompi_access_transfer(access, true, range, data + (range.offset - start));
        ompi_file_unlock(&hold);
    } else {
        ompi_cover_write(access, bitmap_of(belt, window), data, start, belt->memory->window_bytes,
                         range);
    }
    free_slot(belt, window);
}

bool ompi_belt_write(const ompi_belt_t *belt)
{
    FOR_SLOTS(belt, window)
    {
        slot_t *slot = slot_of(belt, window);
        uint64_t full = atomic_load_explicit(&slot->full, memory_order_acquire);
        if (full != 0 && may_transfer(belt, window_of(full)) &&
            atomic_compare_exchange_strong(&slot->full, &full, 0)) {
            write_window(belt, window_of(full));
            return true;
        }
    }
    return false;
}

bool ompi_belt_has_full(const ompi_belt_t *belt)
{
    FOR_SLOTS(belt, window)
    {
        uint64_t full = atomic_load_explicit(&slot_of(belt, window)->full, memory_order_acquire);
        if (full != 0 && may_transfer(belt, window_of(full)))
            return true;
    }
    return false;
}

/* The last window of each slot has freed it. */
bool ompi_belt_is_written(const ompi_belt_t *belt)
{
    uint64_t round = (uint64_t)belt->slot_count * belt->nodes;
    FOR_SLOTS(belt, window)
    {
        uint64_t last = window + (belt->window_count - 1 - window) / round * round;
        if (!is_at(&slot_of(belt, window)->next, stamp(belt, last + round)))
            return false;
    }
    return true;
}

bool ompi_belt_may_read(const ompi_belt_t *belt, uint32_t window)
{
    const slot_t *slot = slot_of(belt, window);
    return !is_at(&slot->claimed, stamp(belt, window)) && ompi_belt_is_free(belt, window) &&
           may_transfer(belt, window);
}

/* An error is that of the ranks whose data is there. */
bool ompi_belt_read(const ompi_belt_t *belt, uint32_t window)
{
    slot_t *slot = slot_of(belt, window);
    uint64_t claimed = atomic_load_explicit(&slot->claimed, memory_order_relaxed);
    if (!ompi_belt_may_read(belt, window) || claimed == stamp(belt, window) ||
        !atomic_compare_exchange_strong(&slot->claimed, &claimed, stamp(belt, window)))
        return false;
    ompi_run_t range = ompi_belt_range(belt, window);
    size_t inset = range.offset - ompi_belt_start(belt, window);
    ompi_access_t access = *belt->access;
    access.system_error = 0;
    slot->found_bytes =
        ompi_access_transfer(&access, false, range, ompi_belt_memory(belt, window) + inset);
    slot->error = access.system_error;
    atomic_store_explicit(&slot->ready, stamp(belt, window), memory_order_release);
    notify(belt);
    return true;
}

uint64_t ompi_belt_found_end(const ompi_belt_t *belt, uint32_t window, int *system_error)
{
    const slot_t *slot = slot_of(belt, window);
    *system_error = slot->error;
    return ompi_belt_range(belt, window).offset + slot->found_bytes;
}
