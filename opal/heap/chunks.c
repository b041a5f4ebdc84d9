/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The chunks of a heap: which are in use, which are free, and how much of the free ones is usable
 * without asking the source again.
 *
 * The directory has an entry for each chunk of the range, in memory of this process. Stretches of
 * chunks have their state and length in their first and last entry, so neighbours are found and
 * free ones joined without a search. A free chunk keeps its pages for a while (trim), from its
 * start up to somewhere; what is taken next is put where the most pages are there already.
 *
 * Threading: the heap's lock. Chunks whose pages come or go are busy, so that no other thread uses
 * them, and the lock need not be held.
 */
#include "opal/heap/engine.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum state {
    FOREIGN = 0, /* the source has given it to another process, or not yet */
    FREE,
    USED,
    BUSY, /* its pages come or go, perhaps without the lock */
    BAD,  /* other code has mapped something there */
} state_t;

enum { STATE_SHIFT = 29, CHUNK_PAGES = OPAL_HEAP_PAGES, RETAINED_SHARE = 4 };

typedef struct entry {
    uint32_t stretch; /* state and length, at its first and its last entry; else 0 */
    uint32_t changed_msec;
    uint16_t dirty;       /* of the usable pages, may differ from zero; when it was taken */
    uint16_t usable : 15; /* pages from the start; of a free chunk */
    uint16_t ours : 1; /* the source gave it to us; not kept if it gave all of the range at once */
} entry_t;

typedef struct opal_heap_directory {
    size_t map_bytes;
    bool all_ours;
    uint32_t chunks;  /* in the range */
    uint32_t top;     /* behind all that the source gave */
    uint32_t touched; /* no free chunk from here on has usable pages */
    uint32_t lowest;  /* begins a stretch; none before it is free */
    entry_t entries[];
} directory_t;

/* -- stretches ------------------------------------------------------------------------- */

static uint32_t length_at(const directory_t *directory, uint32_t at)
{
    return directory->entries[at].stretch & ((1u << STATE_SHIFT) - 1);
}

static state_t state_at(const directory_t *directory, uint32_t at)
{
    return (state_t)(directory->entries[at].stretch >> STATE_SHIFT);
}

static void clear_stretch(directory_t *directory, uint32_t first, uint32_t length)
{
    directory->entries[first].stretch = directory->entries[first + length - 1].stretch = 0;
}

static void set_stretch(directory_t *directory, uint32_t first, uint32_t length, state_t state)
{
    if (length > 0)
        directory->entries[first].stretch = directory->entries[first + length - 1].stretch =
            (uint32_t)state << STATE_SHIFT | length;
}

/* Cuts [first, first + length) out of the stretch that begins at `from`. */
static void cut(directory_t *directory, uint32_t from, uint32_t first, uint32_t length,
                state_t state)
{
    state_t was = state_at(directory, from);
    uint32_t whole = length_at(directory, from);
    clear_stretch(directory, from, whole);
    set_stretch(directory, from, first - from, was);
    set_stretch(directory, first, length, state);
    set_stretch(directory, first + length, from + whole - first - length, was);
}

/* Frees a stretch, and joins it with free neighbours. */
static void set_free(directory_t *directory, uint32_t first, uint32_t length)
{
    clear_stretch(directory, first, length);
    if (first > 0 && state_at(directory, first - 1) == FREE) {
        uint32_t before = length_at(directory, first - 1);
        first -= before;
        clear_stretch(directory, first, before);
        length += before;
    }
    uint32_t behind = first + length;
    if (behind < directory->top && state_at(directory, behind) == FREE) {
        uint32_t more = length_at(directory, behind);
        clear_stretch(directory, behind, more);
        length += more;
    }
    set_stretch(directory, first, length, FREE);
    if (first < directory->lowest)
        directory->lowest = first;
}

static uint32_t index_of(const opal_heap_t *heap, const void *chunk)
{
    return (uint32_t)(((uintptr_t)chunk - heap->base) >> OPAL_HEAP_CHUNK_SHIFT);
}

static void *address_of(const opal_heap_t *heap, uint32_t at)
{
    return (void *)(heap->base + ((uintptr_t)at << OPAL_HEAP_CHUNK_SHIFT));
}

static uint32_t chunks_for(size_t bytes)
{
    return (uint32_t)((bytes + OPAL_HEAP_CHUNK_MASK) >> OPAL_HEAP_CHUNK_SHIFT);
}

/* How many pages of chunk number `i` of a stretch lie below so many bytes. */
static uint16_t pages_below(size_t bytes, uint32_t i)
{
    size_t begin = (size_t)i << OPAL_HEAP_CHUNK_SHIFT;
    if (bytes <= begin)
        return 0;
    size_t pages = (bytes - begin + OPAL_HEAP_PAGE_BYTES - 1) >> OPAL_HEAP_PAGE_SHIFT;
    return (uint16_t)(pages < CHUNK_PAGES ? pages : CHUNK_PAGES);
}

static size_t bytes_of(uint32_t pages)
{
    return (size_t)pages << OPAL_HEAP_PAGE_SHIFT;
}

/* -- the directory --------------------------------------------------------------------- */

int opal_heap_directory_open(opal_heap_t *heap)
{
    size_t chunks = heap->bytes >> OPAL_HEAP_CHUNK_SHIFT;
    size_t bytes = sizeof(directory_t) + chunks * (sizeof(entry_t) + sizeof(uint8_t));
    /* Directly, as the program's mmap may be ours by way of a patch. */
    long at = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (at == -1)
        return errno;
    heap->directory = (directory_t *)at;
    heap->directory->map_bytes = bytes;
    heap->directory->chunks = (uint32_t)chunks;
    heap->is_slabs = (_Atomic uint8_t *)&heap->directory->entries[chunks];
    return 0;
}

void opal_heap_directory_close(opal_heap_t *heap)
{
    syscall(SYS_munmap, heap->directory, heap->directory->map_bytes);
    heap->directory = NULL;
}

/* More chunks from the source. They may lie anywhere in the range. */
static bool extend(opal_heap_t *heap, uint32_t chunks)
{
    directory_t *directory = heap->directory;
    size_t bytes = (size_t)chunks << OPAL_HEAP_CHUNK_SHIFT;
    void *start = heap->config.ops->extend(heap->config.context, &bytes);
    if (start == NULL)
        return false;
    uint32_t first = index_of(heap, start), length = (uint32_t)(bytes >> OPAL_HEAP_CHUNK_SHIFT);
    if (first >= directory->top) {
        set_stretch(directory, directory->top, first - directory->top, FOREIGN);
        directory->top = first + length;
        set_stretch(directory, first, length, USED);
    } else {
        uint32_t from = 0;
        while (from + length_at(directory, from) <= first)
            from += length_at(directory, from);
        cut(directory, from, first, length, USED);
    }
    set_free(directory, first, length);
    directory->all_ours = length == directory->chunks;
    if (!directory->all_ours)
        for (uint32_t i = first; i < first + length; i++)
            directory->entries[i].ours = 1;
    return true;
}

opal_heap_standing_t opal_heap_standing(const opal_heap_t *heap, const opal_heap_chunk_t *chunk)
{
    const directory_t *directory = heap->directory;
    uint32_t at = index_of(heap, chunk);
    if (!directory->all_ours && !directory->entries[at].ours)
        return OPAL_HEAP_OTHERS;
    if (state_at(directory, at) != USED)
        return OPAL_HEAP_NOBODYS;
    uint32_t kind = opal_heap_kind_of((opal_heap_chunk_t *)(uintptr_t)chunk);
    /* The last chunk of a stretch has a length too. */
    if (kind == OPAL_HEAP_HUGE && length_at(directory, at) != chunks_for(chunk->huge.end))
        return OPAL_HEAP_NOBODYS;
    return OPAL_HEAP_OURS;
}

/* -- taking ---------------------------------------------------------------------------- */

typedef struct search {
    uint32_t chunks, pages; /* in all; and of the last chunk */
    size_t alignment, skip;
    bool fresh;           /* without any usable page */
    uint32_t from, first; /* the best until now, and the stretch that it is in */
    int64_t value;        /* -1: none was found */
} search_t;

static uint32_t next_aligned(const opal_heap_t *heap, const search_t *search, uint32_t at)
{
    if (search->alignment <= OPAL_HEAP_CHUNK_BYTES)
        return at;
    uintptr_t wanted = (uintptr_t)address_of(heap, at + (uint32_t)search->skip);
    uintptr_t aligned = (wanted + search->alignment - 1) & ~(search->alignment - 1);
    return at + (uint32_t)((aligned - wanted) >> OPAL_HEAP_CHUNK_SHIFT);
}

/* The value of a position: usable pages there, less those that would lie idle behind the end. */
static int64_t value_of(const directory_t *directory, const search_t *search, uint32_t first)
{
    int64_t value = 0;
    for (uint32_t i = 0; i < search->chunks; i++)
        value += 4 * (int64_t)directory->entries[first + i].usable;
    int64_t last = directory->entries[first + search->chunks - 1].usable;
    if (last > search->pages)
        value -= 5 * (last - search->pages);
    return value > 0 ? value : 0;
}

static bool is_fresh(const directory_t *directory, uint32_t first, uint32_t chunks)
{
    for (uint32_t i = first; i < first + chunks && i < directory->touched; i++)
        if (directory->entries[i].usable > 0)
            return false;
    return true;
}

static void search_stretch(const opal_heap_t *heap, search_t *search, uint32_t from)
{
    const directory_t *directory = heap->directory;
    uint32_t behind = from + length_at(directory, from);
    uint32_t first = next_aligned(heap, search, from);
    while (first < behind && behind - first >= search->chunks) {
        int64_t value = first < directory->touched ? value_of(directory, search, first) : 0;
        bool fits = !search->fresh || is_fresh(directory, first, search->chunks);
        if (fits && value > search->value) {
            search->value = value;
            search->from = from;
            search->first = first;
        }
        /* Nothing lies there, and what is further up is worth no more. */
        if (first >= directory->touched || heap->stats.retained_bytes == 0)
            return;
        first = next_aligned(heap, search, first + 1);
    }
}

static bool find(const opal_heap_t *heap, search_t *search)
{
    directory_t *directory = heap->directory;
    while (directory->lowest < directory->top && state_at(directory, directory->lowest) != FREE)
        directory->lowest += length_at(directory, directory->lowest);
    search->value = -1;
    for (uint32_t at = directory->lowest; at < directory->top; at += length_at(directory, at)) {
        if (state_at(directory, at) != FREE || length_at(directory, at) < search->chunks)
            continue;
        search_stretch(heap, search, at);
        if (search->value >= 0 && (heap->stats.retained_bytes == 0 ||
                                   at + length_at(directory, at) >= directory->touched))
            break;
    }
    return search->value >= 0;
}

/* Makes these pages usable. */
static int commit(opal_heap_t *heap, void *start, size_t bytes)
{
    int error = heap->config.ops->commit(heap->config.context, start, bytes);
    if (error != 0)
        return error;
    heap->stats.committed_bytes += bytes;
    if (heap->stats.committed_bytes > heap->stats.peak_committed_bytes)
        heap->stats.peak_committed_bytes = heap->stats.committed_bytes;
    return 0;
}

/* Makes the first bytes of a used stretch usable where they are not, in as few steps as there are
   gaps. If it fails, the entries say how far it came. */
static int commit_gaps(opal_heap_t *heap, uint32_t first, size_t bytes)
{
    entry_t *entries = &heap->directory->entries[first];
    uint32_t chunks = chunks_for(bytes);
    for (uint32_t i = 0, behind; i < chunks; i = behind) {
        behind = i + 1;
        if (entries[i].usable >= pages_below(bytes, i))
            continue;
        while (behind < chunks && entries[behind].usable == 0)
            behind++;
        size_t begin = ((size_t)i << OPAL_HEAP_CHUNK_SHIFT) + bytes_of(entries[i].usable);
        size_t end = ((size_t)(behind - 1) << OPAL_HEAP_CHUNK_SHIFT) +
                     bytes_of(pages_below(bytes, behind - 1));
        int error = commit(heap, (char *)address_of(heap, first) + begin, end - begin);
        if (error != 0)
            return error;
        for (uint32_t k = i; k < behind; k++)
            entries[k].usable = pages_below(bytes, k);
    }
    return 0;
}

static size_t missing_bytes(const opal_heap_t *heap, uint32_t first, size_t bytes)
{
    const entry_t *entries = &heap->directory->entries[first];
    size_t missing = 0;
    for (uint32_t i = 0; i < chunks_for(bytes); i++)
        if (entries[i].usable < pages_below(bytes, i))
            missing += bytes_of(pages_below(bytes, i) - entries[i].usable);
    return missing;
}

static void claim(opal_heap_t *heap, const search_t *search)
{
    directory_t *directory = heap->directory;
    cut(directory, search->from, search->first, search->chunks, BUSY);
    for (uint32_t i = 0; i < search->chunks; i++)
        heap->stats.retained_bytes -= bytes_of(directory->entries[search->first + i].dirty);
    if (directory->touched < search->first + search->chunks)
        directory->touched = search->first + search->chunks;
}

/* Free chunks that are kept must not make the process much larger than it ever had to be: if they
   would, they are given back before new memory is taken. */
static void make_room(opal_heap_t *heap, size_t bytes)
{
    size_t retained = heap->stats.retained_bytes, all = heap->stats.committed_bytes + bytes;
    if (all - retained > heap->peak_needed_bytes)
        heap->peak_needed_bytes = all - retained;
    size_t most = heap->peak_needed_bytes + heap->peak_needed_bytes / RETAINED_SHARE;
    if (retained > 0 && all > most)
        opal_heap_chunks_trim(heap, retained > all - most ? retained - (all - most) : 0,
                              UINT32_MAX);
}

/* A stretch goes back as it is now. */
static void unclaim(opal_heap_t *heap, uint32_t first, uint32_t chunks)
{
    for (uint32_t i = 0; i < chunks; i++) {
        entry_t *entry = &heap->directory->entries[first + i];
        if (entry->dirty > entry->usable)
            entry->dirty = entry->usable;
        entry->changed_msec = heap->now_msec;
        heap->stats.retained_bytes += bytes_of(entry->dirty);
    }
    set_free(heap->directory, first, chunks);
}

opal_heap_chunk_t *opal_heap_chunks_take(opal_heap_t *heap, size_t bytes, size_t alignment,
                                         size_t skip)
{
    if (bytes > heap->bytes || alignment > heap->bytes)
        return NULL;
    search_t search = {.chunks = chunks_for(bytes), .alignment = alignment, .skip = skip};
    search.pages = pages_below(bytes, search.chunks - 1);
    for (;;) {
        if (!find(heap, &search)) {
            if (!extend(heap, search.chunks + (uint32_t)(alignment >> OPAL_HEAP_CHUNK_SHIFT)))
                return NULL;
            continue;
        }
        claim(heap, &search);
        make_room(heap, missing_bytes(heap, search.first, bytes));
        int error = commit_gaps(heap, search.first, bytes);
        if (error == 0) {
            set_stretch(heap->directory, search.first, search.chunks, USED);
            return address_of(heap, search.first);
        }
        if (error == EEXIST) {
            set_stretch(heap->directory, search.first, search.chunks, BAD);
            continue;
        }
        unclaim(heap, search.first, search.chunks);
        if (!opal_heap_chunks_trim(heap, 0, 0))
            return NULL;
    }
}

size_t opal_heap_chunk_dirty_bytes(const opal_heap_t *heap, const opal_heap_chunk_t *chunk)
{
    return bytes_of(heap->directory->entries[index_of(heap, chunk)].dirty);
}

size_t opal_heap_chunk_usable_bytes(const opal_heap_t *heap, const opal_heap_chunk_t *chunk)
{
    return bytes_of(heap->directory->entries[index_of(heap, chunk)].usable);
}

bool opal_heap_chunks_grow(opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t usable, size_t bytes)
{
    directory_t *directory = heap->directory;
    uint32_t first = index_of(heap, chunk), old = length_at(directory, first);
    if (bytes > heap->bytes)
        return false;
    uint32_t chunks = chunks_for(bytes), behind = first + old;
    if (chunks > old) {
        if (behind >= directory->top || state_at(directory, behind) != FREE ||
            length_at(directory, behind) < chunks - old)
            return false;
        search_t more = {.chunks = chunks - old, .from = behind, .first = behind};
        claim(heap, &more);
        clear_stretch(directory, behind, chunks - old);
        clear_stretch(directory, first, old);
        set_stretch(directory, first, chunks, USED);
        if (directory->lowest == behind) /* where no stretch begins any more */
            directory->lowest = first;
    }
    for (uint32_t i = 0; i < old; i++)
        directory->entries[first + i].usable = pages_below(usable, i);
    if (commit_gaps(heap, first, bytes) == 0)
        return true;
    if (chunks > old) {
        clear_stretch(directory, first, chunks);
        set_stretch(directory, first, old, USED);
        unclaim(heap, behind, chunks - old);
    }
    return false;
}

bool opal_heap_commit_units(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint64_t units)
{
    uint32_t step = (uint32_t)(heap->config.commit_bytes >> OPAL_HEAP_UNIT_SHIFT);
    uint64_t group = step < OPAL_HEAP_UNITS ? ((uint64_t)1 << step) - 1 : ~(uint64_t)0;
    units &= ~chunk->committed;
    while (units != 0) {
        uint32_t first = (uint32_t)__builtin_ctzll(units) / step * step;
        uint64_t missing = group << first & ~chunk->committed;
        while (missing != 0) {
            uint32_t begin = (uint32_t)__builtin_ctzll(missing);
            uint64_t rest = ~(missing >> begin);
            uint32_t count = rest == 0 ? OPAL_HEAP_UNITS : (uint32_t)__builtin_ctzll(rest);
            uint64_t these = (count < 64 ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0) << begin;
            if (commit(heap, opal_heap_at(chunk, begin << OPAL_HEAP_UNIT_SHIFT),
                       (size_t)count << OPAL_HEAP_UNIT_SHIFT) != 0)
                return false;
            chunk->committed |= these;
            missing &= ~these;
        }
        units &= ~(group << first);
    }
    return true;
}

/* -- giving back ----------------------------------------------------------------------- */

void opal_heap_chunks_give(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t skip,
                           size_t usable, size_t dirty)
{
    uint32_t first = index_of(heap, chunk), length = length_at(heap->directory, first);
    for (uint32_t i = skip; i < length; i++) {
        entry_t *entry = &heap->directory->entries[first + i];
        entry->usable = pages_below(usable, i);
        entry->dirty = pages_below(dirty, i);
    }
    cut(heap->directory, first, first + skip, length - skip, BUSY);
    unclaim(heap, first + skip, length - skip);
}

void opal_heap_release(opal_heap_t *heap, void *start, size_t bytes, bool again)
{
    const opal_heap_source_ops_t *ops = heap->config.ops;
    if (ops->before_release != NULL)
        ops->before_release(heap->config.context, start, bytes);
    ops->decommit(heap->config.context, start, bytes, again);
}

/* The free chunk that was not used for the longest time; its stretch begins at *from. */
static bool find_oldest(const opal_heap_t *heap, uint32_t *from, uint32_t *oldest)
{
    const directory_t *directory = heap->directory;
    uint32_t age = 0;
    bool found = false;
    for (uint32_t at = directory->lowest; at < directory->touched; at += length_at(directory, at)) {
        if (state_at(directory, at) != FREE)
            continue;
        uint32_t behind = at + length_at(directory, at);
        for (uint32_t i = at; i < behind && i < directory->touched; i++) {
            const entry_t *entry = &directory->entries[i];
            if (entry->usable == 0 || (found && heap->now_msec - entry->changed_msec <= age))
                continue;
            found = true;
            age = heap->now_msec - entry->changed_msec;
            *from = at;
            *oldest = i;
        }
    }
    return found;
}

/* Usable pages of a used stretch go, each gapless part of them at once. */
static void release_stretch(opal_heap_t *heap, uint32_t first, uint32_t chunks)
{
    const entry_t *entries = &heap->directory->entries[first];
    for (uint32_t i = 0, behind; i < chunks; i = behind) {
        behind = i + 1;
        if (entries[i].usable == 0)
            continue;
        while (behind < chunks && entries[behind - 1].usable == CHUNK_PAGES &&
               entries[behind].usable > 0)
            behind++;
        size_t bytes = ((size_t)(behind - 1 - i) << OPAL_HEAP_CHUNK_SHIFT) +
                       bytes_of(entries[behind - 1].usable);
        opal_heap_release(heap, address_of(heap, first + i), bytes, false);
    }
}

/* The pages of a busy stretch go, then it is free. The lock is released meanwhile. */
static void drop(opal_heap_t *heap, uint32_t first, uint32_t chunks)
{
    entry_t *entries = &heap->directory->entries[first];
    size_t bytes = 0;
    for (uint32_t i = 0; i < chunks; i++)
        bytes += bytes_of(entries[i].usable);
    pthread_mutex_unlock(&heap->lock);
    release_stretch(heap, first, chunks);
    pthread_mutex_lock(&heap->lock);
    for (uint32_t i = 0; i < chunks; i++)
        entries[i].usable = 0;
    unclaim(heap, first, chunks);
    heap->stats.committed_bytes -= bytes;
    heap->stats.released_bytes += bytes;
}

void opal_heap_chunks_drop(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t skip,
                           size_t usable)
{
    uint32_t first = index_of(heap, chunk), length = length_at(heap->directory, first);
    for (uint32_t i = skip; i < length; i++)
        heap->directory->entries[first + i].usable = pages_below(usable, i);
    cut(heap->directory, first, first + skip, length - skip, BUSY);
    drop(heap, first + skip, length - skip);
}

opal_heap_chunk_t *opal_heap_chunks_move(opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t usable,
                                         size_t bytes)
{
    const opal_heap_source_ops_t *ops = heap->config.ops;
    search_t search = {.chunks = chunks_for(bytes), .fresh = true};
    if (ops->move == NULL || bytes > heap->bytes || !find(heap, &search))
        return NULL;
    claim(heap, &search);
    char *to = address_of(heap, search.first);
    if (commit(heap, to + usable, bytes - usable) != 0) {
        unclaim(heap, search.first, search.chunks);
        return NULL;
    }
    if (!ops->move(heap->config.context, chunk, usable, to)) {
        ops->decommit(heap->config.context, to + usable, bytes - usable, false);
        heap->stats.committed_bytes -= bytes - usable;
        unclaim(heap, search.first, search.chunks);
        return NULL;
    }
    set_stretch(heap->directory, search.first, search.chunks, USED);
    uint32_t old = index_of(heap, chunk), length = length_at(heap->directory, old);
    for (uint32_t i = 0; i < length; i++)
        heap->directory->entries[old + i].usable = 0;
    unclaim(heap, old, length);
    return address_of(heap, search.first);
}

bool opal_heap_chunks_trim(opal_heap_t *heap, size_t keep_bytes, uint32_t keep_msec)
{
    directory_t *directory = heap->directory;
    bool any = false;
    search_t these;
    while (find_oldest(heap, &these.from, &these.first)) {
        uint32_t age = heap->now_msec - directory->entries[these.first].changed_msec;
        size_t retained = heap->stats.retained_bytes;
        if (retained <= keep_bytes && age < keep_msec)
            break;
        uint32_t behind = these.from + length_at(directory, these.from);
        these.chunks = 0;
        for (uint32_t i = these.first; i < behind && directory->entries[i].usable > 0; i++) {
            const entry_t *entry = &directory->entries[i];
            if (these.chunks > 0 && retained <= keep_bytes &&
                heap->now_msec - entry->changed_msec < keep_msec)
                break;
            these.chunks++;
            retained -= bytes_of(entry->dirty);
        }
        claim(heap, &these);
        drop(heap, these.first, these.chunks);
        any = true;
    }
    return any;
}

void opal_heap_each_chunk(opal_heap_t *heap, opal_heap_chunk_fn_t *call, void *context)
{
    const directory_t *directory = heap->directory;
    for (uint32_t at = 0, behind; at < directory->top; at = behind) {
        behind = at + length_at(directory, at);
        if (state_at(directory, at) == USED)
            call(heap, address_of(heap, at), true, 0, context);
        if (state_at(directory, at) != FREE)
            continue;
        for (uint32_t i = at; i < behind && i < directory->touched; i++)
            if (directory->entries[i].usable > 0)
                call(heap, address_of(heap, i), false, bytes_of(directory->entries[i].usable),
                     context);
    }
}
