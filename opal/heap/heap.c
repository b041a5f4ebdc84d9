/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A heap as a whole: opening and closing it, fork, trimming, and what is in it.
 */
#include "opal/heap/heap.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "opal/heap/engine.h"
#include "opal/util/say.h"

enum { MOST_ALIGNMENT = 4096, KEEP_BYTES = 64 << 20, KEEP_MSEC = 1000 };

/* -- opening and closing --------------------------------------------------------------- */

static bool is_power_between(size_t number, size_t least, size_t most)
{
    return number >= least && number <= most && (number & (number - 1)) == 0;
}

static int check(const opal_heap_config_t *config)
{
    const opal_heap_source_ops_t *ops = config->ops;
    size_t range = (uintptr_t)config->base | config->bytes;
    bool good = ops != NULL && ops->extend != NULL && ops->commit != NULL &&
                ops->decommit != NULL && config->bytes > 0 && range % OPAL_HEAP_CHUNK_BYTES == 0 &&
                /* An id is a page's number in the range, in 32 bits. */
                config->bytes >> OPAL_HEAP_PAGE_SHIFT < UINT32_MAX &&
                is_power_between(config->alignment, 16, MOST_ALIGNMENT) &&
                is_power_between(config->commit_bytes, OPAL_HEAP_UNIT_BYTES, OPAL_HEAP_CHUNK_BYTES);
    return good ? 0 : EINVAL;
}

int opal_heap_open(opal_heap_t *heap, const opal_heap_config_t *config)
{
    opal_heap_config_t filled = *config;
    if (filled.alignment == 0)
        filled.alignment = 16;
    if (filled.commit_bytes == 0)
        filled.commit_bytes = OPAL_HEAP_CHUNK_BYTES;
    if (filled.keep_bytes == 0)
        filled.keep_bytes = KEEP_BYTES;
    if (filled.keep_msec == 0)
        filled.keep_msec = KEEP_MSEC;
    int error = check(&filled);
    if (error == 0)
        error = opal_heap_threads_open();
    if (error != 0)
        return error;
    *heap = (opal_heap_t){.base = (uintptr_t)filled.base, .bytes = filled.bytes, .config = filled};
    heap->chunks = filled.bytes >> OPAL_HEAP_CHUNK_SHIFT;
    heap->system_page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
    pthread_mutex_init(&heap->lock, NULL);
    pthread_mutex_init(&heap->common_lock, NULL);
    error = opal_heap_directory_open(heap);
    if (error != 0)
        return error;
    /* The state of this thread, and by that the chunk that has the home's mailbox. */
    if (opal_heap_thread_find(heap) == NULL) {
        opal_heap_common_enter(heap);
        opal_heap_common_leave(heap);
    }
    return 0;
}

static void release(void *heap, void *start, size_t bytes)
{
    opal_heap_release(heap, start, bytes, false);
}

void opal_heap_close(opal_heap_t *heap)
{
    opal_heap_thread_forget(heap);
    heap->alone = true;
    opal_heap_each_stretch(heap, release, heap);
    opal_heap_directory_close(heap);
    pthread_mutex_destroy(&heap->lock);
    pthread_mutex_destroy(&heap->common_lock);
    *heap = (opal_heap_t){.base = 0};
}

/* -- fork ------------------------------------------------------------------------------ */

void opal_heap_fork_prepare(opal_heap_t *heap)
{
    pthread_mutex_lock(&heap->common_lock);
    pthread_mutex_lock(&heap->lock);
    heap->alone = true;
}

void opal_heap_fork_parent(opal_heap_t *heap)
{
    heap->alone = false;
    pthread_mutex_unlock(&heap->lock);
    pthread_mutex_unlock(&heap->common_lock);
}

/* The states of other threads stay as they are, perhaps in the middle of a change, and are not used
   again. Blocks that are freed into their pages are lost. */
void opal_heap_fork_child(opal_heap_t *heap)
{
    opal_heap_fork_parent(heap);
}

/* -- looking at it --------------------------------------------------------------------- */

typedef struct stretch_walk {
    opal_heap_stretch_fn_t *call;
    void *context;
} stretch_walk_t;

static void stretches_of(opal_heap_t *heap, opal_heap_chunk_t *chunk, bool used, size_t usable,
                         void *context)
{
    (void)heap;
    const stretch_walk_t *walk = context;
    if (!used) {
        walk->call(walk->context, chunk, usable);
        return;
    }
    if (opal_heap_kind_of(chunk) == OPAL_HEAP_HUGE) {
        walk->call(walk->context, chunk, chunk->huge.end);
        return;
    }
    uint64_t committed = chunk->committed;
    for (uint32_t begin = 0, end; begin < OPAL_HEAP_UNITS; begin = end) {
        bool is = committed >> begin & 1;
        for (end = begin + 1; end < OPAL_HEAP_UNITS && (committed >> end & 1) == is;)
            end++;
        if (is)
            walk->call(walk->context, opal_heap_at(chunk, begin << OPAL_HEAP_UNIT_SHIFT),
                       (size_t)(end - begin) << OPAL_HEAP_UNIT_SHIFT);
    }
}

void opal_heap_each_stretch(opal_heap_t *heap, opal_heap_stretch_fn_t *call, void *context)
{
    stretch_walk_t walk = {call, context};
    bool lock = !heap->alone;
    if (lock)
        pthread_mutex_lock(&heap->lock);
    opal_heap_each_chunk(heap, stretches_of, &walk);
    if (lock)
        pthread_mutex_unlock(&heap->lock);
}

static void count_slabs(opal_heap_chunk_t *chunk, opal_heap_stats_t *stats)
{
    uint64_t free_units = chunk->slabs.free_units;
    stats->retained_bytes += (size_t)__builtin_popcountll(free_units & chunk->slabs.dirty_units)
                             << OPAL_HEAP_UNIT_SHIFT;
    for (int i = 1; i < OPAL_HEAP_UNITS; i++) {
        opal_heap_page_t *page = &chunk->pages[i];
        if (free_units >> i & 1)
            continue;
        size_t used = atomic_load_explicit(&page->used, memory_order_relaxed);
        stats->used_blocks += used;
        stats->used_bytes += used * atomic_load_explicit(&page->block_bytes, memory_order_relaxed);
    }
}

static void count_runs(opal_heap_chunk_t *chunk, opal_heap_stats_t *stats)
{
    opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    for (uint32_t i = 0; i < OPAL_HEAP_MAP_WORDS; i++)
        stats->retained_bytes += (size_t)__builtin_popcountll(runs->free[i] & runs->dirty[i])
                                 << OPAL_HEAP_PAGE_SHIFT;
    for (uint32_t i = 1, pages; i<OPAL_HEAP_PAGES; i += pages> 0 ? pages : 1) {
        pages = runs->length[i];
        stats->used_blocks += pages > 0;
        stats->used_bytes += (size_t)pages << OPAL_HEAP_PAGE_SHIFT;
    }
}

static void count(opal_heap_t *heap, opal_heap_chunk_t *chunk, bool used, size_t usable,
                  void *context)
{
    (void)heap;
    (void)usable;
    opal_heap_stats_t *stats = context;
    if (!used)
        return;
    switch (opal_heap_kind_of(chunk)) {
    case OPAL_HEAP_SLABS:
        count_slabs(chunk, stats);
        break;
    case OPAL_HEAP_RUNS:
        count_runs(chunk, stats);
        break;
    default:
        stats->used_blocks++;
        stats->used_bytes += chunk->huge.end;
    }
}

void opal_heap_stats(opal_heap_t *heap, opal_heap_stats_t *stats)
{
    pthread_mutex_lock(&heap->lock);
    *stats = heap->stats;
    opal_heap_each_chunk(heap, count, stats);
    /* Thread states are runs of one page, but no blocks of the program. */
    stats->used_blocks -= stats->threads;
    stats->used_bytes -= stats->threads * OPAL_HEAP_PAGE_BYTES;
    pthread_mutex_unlock(&heap->lock);
}

struct mallinfo2 opal_heap_mallinfo2(opal_heap_t *heap)
{
    opal_heap_stats_t stats;
    opal_heap_stats(heap, &stats);
    struct mallinfo2 info = {
        .arena = stats.committed_bytes - stats.huge_bytes,
        .hblks = stats.huge_blocks,
        .hblkhd = stats.huge_bytes,
        .uordblks = stats.used_bytes,
        .fordblks = stats.committed_bytes - stats.used_bytes,
        .keepcost = stats.retained_bytes,
    };
    return info;
}

/* Not by opal_say: the log level does not count for what the program asks for. */
static void print_number(size_t number, const char *what)
{
    char line[96];
    int saved = errno;
    opal_say_into(line, sizeof line, "heap: %zu %s\n", number, what);
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written; /* there is no other way to report it */
    errno = saved;
}

void opal_heap_print_stats(opal_heap_t *heap)
{
    opal_heap_stats_t stats;
    opal_heap_stats(heap, &stats);
    print_number(stats.committed_bytes, "bytes usable");
    print_number(stats.peak_committed_bytes, "bytes usable at the peak");
    print_number(stats.used_bytes, "bytes in blocks");
    print_number(stats.used_blocks, "blocks");
    print_number(stats.huge_bytes, "bytes of them in huge blocks");
    print_number(stats.huge_blocks, "huge blocks");
    print_number(stats.retained_bytes, "bytes free and kept");
    print_number(stats.released_bytes, "bytes given back so far");
    print_number(stats.threads, "states of threads");
}

int opal_heap_trim(opal_heap_t *heap, size_t keep_bytes)
{
    int saved = errno;
    opal_heap_thread_t *thread = opal_heap_thread_here(heap);
    if (thread != NULL)
        opal_heap_thread_trim(heap, thread);
    opal_heap_idle_trim(heap);
    pthread_mutex_lock(&heap->common_lock);
    if (heap->common != NULL)
        opal_heap_thread_trim(heap, heap->common);
    pthread_mutex_unlock(&heap->common_lock);
    opal_heap_enter(heap);
    opal_heap_take_home(heap);
    pthread_mutex_unlock(&heap->lock);
    bool any = opal_heap_slabs_trim(heap, 0);
    any |= opal_heap_runs_trim(heap, 0);
    pthread_mutex_lock(&heap->lock);
    any |= opal_heap_chunks_trim(heap, keep_bytes, UINT32_MAX);
    pthread_mutex_unlock(&heap->lock);
    errno = saved;
    return any;
}
