/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator engine: malloc and its family on address space that a source provides.
 *
 * A heap is a range of addresses, and this process' blocks in it. The pages come from the heap's
 * source: anonymous memory of this process (system.h), or a region that all processes of a node
 * have mapped. In a shared region each process opens a heap of its own on the same range; the
 * source gives each of them its own chunks. Any process may free any block of the region: the block
 * goes back to the heap that it came from, its home.
 *
 *   static opal_heap_t heap;
 *   opal_heap_open(&heap, &config);           before the first use, from one thread
 *   p = opal_heap_malloc(&heap, 100);
 *   if (opal_heap_owns(&heap, p))             else it is another allocator's
 *       opal_heap_free(&heap, p);
 *
 * What other processes read lies in the region, without a pointer in it, so the region may be
 * mapped at different addresses (layout.h draws it). What only this process uses lies in
 * opal_heap_t.
 *
 * Threading: any thread may call anything on an open heap. malloc and free of small blocks take no
 * lock and use no locked instruction, unless another thread frees what this one allocated. Nothing
 * here allocates by other means, uses stdio, or needs main to have begun. Not in signal handlers.
 *
 * errno: set to ENOMEM where a function returns NULL for want of memory; otherwise left alone, by
 * free too.
 */
#ifndef OPAL_HEAP_H
#define OPAL_HEAP_H

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

enum {
    OPAL_HEAP_CHUNK_BYTES = 4 << 20, /* the range and what a source gives are multiples of it */
};

/* What a program did wrong with a block. */
typedef enum opal_heap_fault {
    OPAL_HEAP_FREED_TWICE,
    OPAL_HEAP_NO_BLOCK,    /* in the range, but no block begins there */
    OPAL_HEAP_OVERWRITTEN, /* a free block was written to */
} opal_heap_fault_t;

/*
 * Where memory comes from. Addresses and sizes are multiples of the system's page.
 *
 * No slot may allocate from this heap. extend, commit and move are called with the heap's lock
 * held; before_release and decommit are not, so they may take their time. now_msec and fault are
 * called either way.
 */
typedef struct opal_heap_source_ops {
    /* More unused address space of the range: at least *bytes, a multiple of the chunk size, and
       aligned to it. *bytes becomes what was given. NULL: there is no more. Required. */
    void *(*extend)(void *context, size_t *bytes);

    /* Makes unusable pages usable; they read as zero. 0, or an errno value, and nothing has
       changed: ENOMEM, or EEXIST if something is mapped there; then the heap never uses these
       addresses. Required. */
    int (*commit)(void *context, void *start, size_t bytes);

    /* Called before decommit or move takes these pages, all of them usable; the move may fail. NULL
       is legal. */
    void (*before_release)(void *context, void *start, size_t bytes);

    /* Gives the pages back to the system. `again`: they stay usable and read as zero; otherwise
       they are as before commit. Cannot fail: if the system refuses, a source zeroes the pages for
       `again`. Required. */
    void (*decommit)(void *context, void *start, size_t bytes, bool again);

    /* Moves the pages with their contents to addresses where none is usable; the pages at `start`
       are then as before commit. False: nothing has changed. NULL: this source cannot move pages.
     */
    bool (*move)(void *context, void *start, size_t bytes, void *to);

    /* The clock for pages that were not used for long. NULL: the system's. */
    uint32_t (*now_msec)(void *context);

    /* Reports a mistake of the program; the call then leaves the block alone. NULL: the heap writes
       the mistake to standard error and aborts, as glibc does. */
    void (*fault)(void *context, opal_heap_fault_t fault, const void *pointer);
} opal_heap_source_ops_t;

/* A 0 stands for the default, which is named last. */
typedef struct opal_heap_config {
    const opal_heap_source_ops_t
        *ops; /* the caller's, as long as the heap is open; so is context */
    void *context;
    void *base; /* the range, aligned to chunks: all of a region, not only this heap's part */
    size_t bytes;
    size_t alignment;    /* of every block; a power of two, 16 to 4096; 16 */
    size_t commit_bytes; /* committed at a time: a power of two, 64 KiB up to a chunk; a chunk. Less
                            where committing takes memory even if nothing touches it */
    size_t keep_bytes;   /* free memory that is kept although it could go back; 64 MiB */
    uint32_t keep_msec;  /* for how long, if it is not used; 1000 */
} opal_heap_config_t;

typedef struct opal_heap_stats {
    size_t committed_bytes; /* usable pages, this heap's */
    size_t peak_committed_bytes;
    size_t used_bytes; /* in blocks that are handed out, at their full size */
    size_t used_blocks;
    size_t retained_bytes; /* in free chunks and pages that were used and did not go back */
    size_t huge_bytes;     /* of the used ones: in blocks with chunks of their own */
    size_t huge_blocks;
    size_t threads;        /* states of threads, of live ones and in reserve */
    size_t released_bytes; /* given back to the system so far */
} opal_heap_stats_t;

struct opal_heap_thread;
struct opal_heap_chunk;
struct opal_heap_directory;

enum { OPAL_HEAP_RUN_BINS = 32 };

/* A heap. The members are the engine's; opal_heap_owns reads `base` and `bytes`. */
typedef struct opal_heap {
    uintptr_t base;
    size_t bytes;
    size_t chunks; /* in the range */
    opal_heap_config_t config;
    _Atomic uint8_t *is_slabs; /* for each chunk of the range, whether it is ours, of slabs */
    uint32_t home;             /* id in the region: where other processes send what they free */
    uint32_t system_page_bytes;
    /* `common` serves threads that have no state of their own: they are about to end, or there was
       no memory for one. common_lock protects it; it is taken before `lock`. */
    pthread_mutex_t common_lock;
    struct opal_heap_thread *common;
    /* Protects all below, and in the chunks what is said in layout.h. */
    pthread_mutex_t lock;
    bool alone; /* no other thread is in the heap: it is closed, or locked for a fork */
    struct opal_heap_directory *directory;  /* what this heap knows of each chunk of the range */
    struct opal_heap_chunk *slab_chunks[2]; /* with free units, [1] with some that were used */
    struct opal_heap_chunk *run_chunks[OPAL_HEAP_RUN_BINS]; /* by the longest free run */
    struct opal_heap_thread *_Atomic idle; /* states whose threads have ended; a queue */
    struct opal_heap_thread *last_idle;
    opal_heap_stats_t stats;  /* without what opal_heap_stats counts */
    size_t peak_needed_bytes; /* of what was usable, less what was kept */
    size_t idle_bytes;        /* behind the ends of huge blocks */
    uint32_t now_msec, swept_msec;
} opal_heap_t;

/* 0, or an errno value: EINVAL for a config that cannot be, ENOMEM. A zeroed or closed heap. */
int opal_heap_open(opal_heap_t *heap, const opal_heap_config_t *config);

/* Gives all pages of this heap back (and reports them), also those of blocks in use. No other
   thread is in the heap or will enter it. Not needed at the end of a process. */
void opal_heap_close(opal_heap_t *heap);

/* Whether the address lies in the heap's range. Not whether a block begins there. */
static inline bool opal_heap_owns(const opal_heap_t *heap, const void *pointer)
{
    return (uintptr_t)pointer - heap->base < heap->bytes;
}

/* -- the family of malloc: as in glibc's manual, except as said ------------------------ */

OPAL_EXPORT void *opal_heap_malloc(opal_heap_t *heap, size_t bytes);
void *opal_heap_calloc(opal_heap_t *heap, size_t count, size_t bytes);

/* NULL is legal; else a block of a heap on this range, of this process or another one. */
OPAL_EXPORT void opal_heap_free(opal_heap_t *heap, void *block);

/* realloc(block, 0) frees and returns NULL. The block may be another process'; what is returned is
   then this one's. */
void *opal_heap_realloc(opal_heap_t *heap, void *block, size_t bytes);
void *opal_heap_reallocarray(opal_heap_t *heap, void *block, size_t count, size_t bytes);

/* aligned_alloc is the same function. EINVAL for an alignment that no power of two reaches. */
OPAL_EXPORT void *opal_heap_memalign(opal_heap_t *heap, size_t alignment, size_t bytes);

/* 0, EINVAL or ENOMEM; errno and, if it failed, *block are as before. */
int opal_heap_posix_memalign(opal_heap_t *heap, void **block, size_t alignment, size_t bytes);
void *opal_heap_valloc(opal_heap_t *heap, size_t bytes);
void *opal_heap_pvalloc(opal_heap_t *heap, size_t bytes);

/* 0 for NULL. The block may be another process'. */
size_t opal_heap_usable_size(opal_heap_t *heap, const void *block);

/* -- trimming and statistics ----------------------------------------------------------- */

/* Gives all free pages back but for about `keep_bytes`, and but for the free blocks that other live
   threads have at hand. 1 if something went back, else 0. */
OPAL_EXPORT int opal_heap_trim(opal_heap_t *heap, size_t keep_bytes);

/* Exact while no other thread allocates or frees, roughly right otherwise. */
OPAL_EXPORT void opal_heap_stats(opal_heap_t *heap, opal_heap_stats_t *stats);
struct mallinfo2 opal_heap_mallinfo2(opal_heap_t *heap);

/* malloc_stats: on standard error. */
void opal_heap_print_stats(opal_heap_t *heap);

/* Calls `call` for each stretch of usable pages of this heap, used or not. Takes the heap's lock,
   unless it is held for a fork. For a copy of a shared region, this thread alone may write to the
   pages between opal_heap_fork_prepare and the first step of the child. */
typedef void opal_heap_stretch_fn_t(void *context, void *start, size_t bytes);
void opal_heap_each_stretch(opal_heap_t *heap, opal_heap_stretch_fn_t *call, void *context);

/* -- fork: the handlers for pthread_atfork, with the heap ------------------------------ */

/* The child has all blocks, and may allocate and free. The free blocks that other threads of the
   parent had at hand are lost to it. For a heap in a shared region, `child` is called when the
   region's pages have become private to the child, at the same addresses. */
void opal_heap_fork_prepare(opal_heap_t *heap);
void opal_heap_fork_parent(opal_heap_t *heap);
void opal_heap_fork_child(opal_heap_t *heap);
#endif
