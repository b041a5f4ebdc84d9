/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the engine declare for each other. "Locked": the caller holds the heap's lock,
 * which it has taken by opal_heap_enter and releases by opal_heap_leave: that also gives back pages
 * which were free for long.
 */
#ifndef OPAL_HEAP_ENGINE_H
#define OPAL_HEAP_ENGINE_H

#include "opal/heap/classes.h"
#include "opal/heap/layout.h"

/* -- chunks.c: the directory, a heap's chunks and which of their pages are usable ------ */

int opal_heap_directory_open(opal_heap_t *heap);
void opal_heap_directory_close(opal_heap_t *heap);

/* Takes as many chunks in a row as `bytes` need, the one with number `skip` aligned as said, and
   makes the first so many bytes of them usable, and perhaps more. Locked; it may be released in
   between. NULL: no memory. */
opal_heap_chunk_t *opal_heap_chunks_take(opal_heap_t *heap, size_t bytes, size_t alignment,
                                         size_t skip);

/* How much from the start of each of these chunks may differ from zero, as they were taken; and how
   much is usable in the last one, at least what was asked for. */
size_t opal_heap_chunk_dirty_bytes(const opal_heap_t *heap, const opal_heap_chunk_t *chunk);
size_t opal_heap_chunk_usable_bytes(const opal_heap_t *heap, const opal_heap_chunk_t *chunk);

/* Gives back what was taken together, or all but the first `skip` chunks of it. Of the whole,
   `usable` bytes from the start are usable, `dirty` may differ from zero. Locked. */
void opal_heap_chunks_give(opal_heap_t *heap, opal_heap_chunk_t *first, uint32_t skip,
                           size_t usable, size_t dirty);

/* opal_heap_chunks_give, and the pages go back to the system. Locked; it is released in between. */
void opal_heap_chunks_drop(opal_heap_t *heap, opal_heap_chunk_t *first, uint32_t skip,
                           size_t usable);

/* All of it to another place, with more room behind. NULL: nothing has changed. Locked; the pages'
   release was reported. */
opal_heap_chunk_t *opal_heap_chunks_move(opal_heap_t *heap, opal_heap_chunk_t *first, size_t usable,
                                         size_t bytes);

/* More room behind chunks that are usable up to `usable`. Locked. */
bool opal_heap_chunks_grow(opal_heap_t *heap, opal_heap_chunk_t *first, size_t usable,
                           size_t bytes);

/* Makes these units of a chunk in use usable. Locked. */
bool opal_heap_commit_units(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint64_t units);

/* Whose chunk begins there, by the directory alone. Locked, or the caller has a block in it. */
typedef enum opal_heap_standing {
    OPAL_HEAP_OURS,    /* in use */
    OPAL_HEAP_OTHERS,  /* of another process, or of none */
    OPAL_HEAP_NOBODYS, /* none that is in use */
} opal_heap_standing_t;
opal_heap_standing_t opal_heap_standing(const opal_heap_t *heap, const opal_heap_chunk_t *chunk);

/* Calls `call` for the first chunk of each stretch in use, and of free ones with usable pages. */
typedef void opal_heap_chunk_fn_t(opal_heap_t *heap, opal_heap_chunk_t *first, bool used,
                                  size_t usable, void *context);
void opal_heap_each_chunk(opal_heap_t *heap, opal_heap_chunk_fn_t *call, void *context);

/* before_release and decommit of the source. Not locked. */
void opal_heap_release(opal_heap_t *heap, void *start, size_t bytes, bool again);

/* Gives back pages of free chunks until there are at most so many bytes of them and none unused for
   so long. Locked; it is released in between. Whether something went. */
bool opal_heap_chunks_trim(opal_heap_t *heap, size_t keep_bytes, uint32_t keep_msec);

/* -- tidy.c ---------------------------------------------------------------------------- */

void opal_heap_enter(opal_heap_t *heap);
void opal_heap_leave(opal_heap_t *heap);

/* Gives back what is free and was not used for so long. Not locked. Whether something went. */
bool opal_heap_tidy(opal_heap_t *heap, size_t keep_bytes, uint32_t keep_msec);

/* A list of chunks, by its first. */
void opal_heap_chunk_list(opal_heap_chunk_t **list, opal_heap_chunk_t *chunk);
void opal_heap_chunk_unlist(opal_heap_chunk_t **list, opal_heap_chunk_t *chunk);

/* -- runs.c ---------------------------------------------------------------------------- */

/* NULL: no memory. *zero becomes whether all of it is zero. Locked. */
void *opal_heap_run_take(opal_heap_t *heap, uint32_t pages, uint32_t alignment_pages, bool *zero);
void opal_heap_run_give(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t page);

/* Without moving it; false if that cannot be. Locked. */
bool opal_heap_run_resize(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t page,
                          uint32_t pages);
bool opal_heap_runs_trim(opal_heap_t *heap, uint32_t keep_msec);

static inline uint32_t opal_heap_pages_for(size_t bytes)
{
    return (uint32_t)((bytes + OPAL_HEAP_PAGE_BYTES - 1) >> OPAL_HEAP_PAGE_SHIFT);
}

/* -- huge.c: blocks with chunks of their own. Not locked ------------------------------- */

/* *dirty becomes whether its beginning may differ from zero. */
void *opal_heap_huge_take(opal_heap_t *heap, size_t bytes, size_t alignment, bool zero,
                          bool *dirty);
void opal_heap_huge_give(opal_heap_t *heap, opal_heap_chunk_t *chunk);

/* The block, moved or not; NULL: it cannot be, and nothing has changed. */
void *opal_heap_huge_resize(opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t bytes);

/* -- slabs.c: the units of chunks of slabs. Not locked --------------------------------- */

/* A page that belongs to the thread with this id, not set up; or NULL. */
opal_heap_page_t *opal_heap_slab_take(opal_heap_t *heap, uint32_t owner);
void opal_heap_slab_give(opal_heap_t *heap, opal_heap_page_t *page);
bool opal_heap_slabs_trim(opal_heap_t *heap, uint32_t keep_msec);

/* -- pages.c: a thread's pages. The caller may use the thread's state ------------------ */

/* Makes a page with a free block active and returns it, or NULL. Not locked. */
opal_heap_page_t *opal_heap_refill(opal_heap_t *heap, opal_heap_thread_t *thread,
                                   unsigned size_class);

/* A block was freed into a page that had none free, or that has none out any more. Not locked. */
void opal_heap_settle(opal_heap_t *heap, opal_heap_thread_t *thread, opal_heap_page_t *page);

/* Takes in what others freed, and gives pages without blocks in use to the heap. Not locked. */
void opal_heap_thread_trim(opal_heap_t *heap, opal_heap_thread_t *thread);

/* The states of threads that have ended, in a queue. Locked. */
void opal_heap_idle_add(opal_heap_t *heap, opal_heap_thread_t *thread);
opal_heap_thread_t *opal_heap_idle_take(opal_heap_t *heap);

/* opal_heap_thread_trim of all idle states. Not locked. */
void opal_heap_idle_trim(opal_heap_t *heap);

/* -- remote.c: freeing blocks of other threads and processes --------------------------- */

/* Frees a block of a page that has another owner. Locked or not. */
void opal_heap_push(opal_heap_t *heap, opal_heap_page_t *page, void *block);

/* Takes the pages out of a mailbox, linked by `next`. Called by the mailbox's owner. */
opal_heap_page_t *opal_heap_take_mail(opal_heap_t *heap, uint32_t id);

/* Runs and huge blocks that came home. Locked; it may be released in between. */
void opal_heap_take_home(opal_heap_t *heap);

/* -- threads.c ------------------------------------------------------------------------- */

enum { OPAL_HEAP_SLOTS = 4 }; /* heaps that a thread can have states in */

typedef struct opal_heap_slot {
    opal_heap_t *heap;
    opal_heap_thread_t *thread;
} opal_heap_slot_t;

extern __thread opal_heap_slot_t opal_heap_slots[OPAL_HEAP_SLOTS]
    __attribute__((tls_model("initial-exec")));

int opal_heap_threads_open(void);

/* This thread's state; a new one if it has none. NULL: it must use the common one. Not locked. */
opal_heap_thread_t *opal_heap_thread_find(opal_heap_t *heap);

/* This thread's state, or NULL. */
static inline opal_heap_thread_t *opal_heap_thread_here(const opal_heap_t *heap)
{
    for (int i = 0; i < OPAL_HEAP_SLOTS; i++)
        if (opal_heap_slots[i].heap == heap)
            return opal_heap_slots[i].thread;
    return NULL;
}

/* The common state, with common_lock held, or NULL without. */
opal_heap_thread_t *opal_heap_common_enter(opal_heap_t *heap);
void opal_heap_common_leave(opal_heap_t *heap);

/* Forgets this thread's state. */
void opal_heap_thread_forget(const opal_heap_t *heap);

/* -- malloc.c: blocks of any kind. Not locked ------------------------------------------ */

typedef struct opal_heap_block {
    uint32_t kind; /* of its chunk; 0: no block begins there */
    bool ours;     /* of this process' heap */
    opal_heap_chunk_t *chunk;
} opal_heap_block_t;

/* `pointer` may be any pointer. */
opal_heap_block_t opal_heap_find_block(opal_heap_t *heap, const void *pointer);

/* Any size and alignment, a power of two or 0. NULL, with errno. */
void *opal_heap_take(opal_heap_t *heap, size_t bytes, size_t alignment, bool zero);

/* Reports a mistake to the source; without its `fault`, opal_heap_say and abort. */
void opal_heap_fault(opal_heap_t *heap, opal_heap_fault_t fault, const void *pointer);

/* Writes the mistake to standard error as one line. */
void opal_heap_say(opal_heap_fault_t fault, const void *pointer);

#endif
