/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks: ranges of memory that have left the process, written by the handler of memory events and
 * read by the pool.
 *
 * The handler runs anywhere, inside allocators and under their locks. So it takes no lock,
 * allocates and frees nothing, and calls no device: it writes the range into an array of words,
 * and the pool takes the ranges before it next looks for a registration.
 *
 *   handler (many)                             pool (one, by its lock)
 *   H1  free word: compare-exchange 0 -> range   P1  pending: exchange -> 0
 *       (or a word that holds the range: load)
 *   H2  pending == 0? pending = 1                P2  each word: exchange -> 0, and forget the range
 *                                                P3  look for the registration
 *
 * A range is one word, so it is there as a whole or not at all, and the pool never waits for a
 * handler that was interrupted half way. If no word is free, `overflowed` is set instead, and the
 * pool drops all registrations.
 *
 * Why no stale registration is found. Let a thread unmap pages U, and let a pool look for a buffer
 * that lies where U was. The handler has returned before the pages go (the event comes before the
 * call); the pages come back by another call, and the buffer is the application's from then on. The
 * kernel orders both calls (it holds the lock of the address space in each), and so does whatever
 * the application uses to hand an address from thread to thread. So H2 happens before P1. All the
 * above are sequentially consistent:
 *
 *   - H2 saw 0 and wrote 1: P1 reads 1, or another run of P has read it in between, and then that
 *     one has finished P2 before, since it has the lock.
 *   - H2 saw 1: then a P1 that resets it comes later in the total order, so its P2 comes behind H1
 *     and finds the word.
 *
 * A look-up at the same time as the unmapping (P1 before H2) may find the pages of U. They are
 * still there, and the application unmaps a buffer that it has passed to MPI: an error of the
 * application, which cannot harm others. A registration between H2 and the call is such an error,
 * too: only the owner of a buffer in U asks for it. A pool that registers more than it was asked
 * for adds only pages that it knows at P3: if their mark was taken, they were forgotten; if it was
 * not, the mark is still there, and drops the new registration, too.
 *
 * `begin` and `end` are a filter: the pool watches nothing outside. The filter grows before pages
 * are pinned, and shrinks only to nothing, when nothing is registered. A handler that reads an old
 * `begin` and a new `end`, or the other way round, covers at least what was watched when the pages
 * of its range were given to the application.
 *
 * Each range is taken once, so it does not apply to what is registered afterwards.
 */
#ifndef OMPI_MCA_MPOOL_BASE_MARKS_H
#define OMPI_MCA_MPOOL_BASE_MARKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/memory/events/events.h"

enum {
    OMPI_MPOOL_MARK_UNIT_BITS = 12, /* a mark counts units of 4 KiB, whatever a page has */
    OMPI_MPOOL_MARK_COUNT_BITS = 20,
    OMPI_MPOOL_MARK_WORDS = 1024,
};

/* Memory from here on cannot be marked, and so must not be watched. */
#define OMPI_MPOOL_MARK_LIMIT                                                                      \
    ((uintptr_t)1 << (64 - OMPI_MPOOL_MARK_COUNT_BITS + OMPI_MPOOL_MARK_UNIT_BITS))

typedef struct ompi_mpool_marks {
    atomic_uintptr_t begin, end; /* of what is watched; end <= begin: nothing */
    atomic_bool pending;         /* there is something to take */
    atomic_bool overflowed;      /* no word was free for a range */
    unsigned generation;         /* in a child of fork no pool takes them */
    opal_memory_handler_t handler;
    /* First unit << COUNT_BITS | count of units; 0: free. */
    _Alignas(64) _Atomic uint64_t words[OMPI_MPOOL_MARK_WORDS];
} ompi_mpool_marks_t;

/*
 * Adds the handler; the caller keeps the storage until close has returned. `install`: also installs
 * the hooks that catch the events, if they are not there yet. OPAL_ERR_NOT_AVAILABLE: they do not
 * work; the caller calls close all the same.
 */
OPAL_EXPORT opal_status_t ompi_mpool_marks_open(ompi_mpool_marks_t *marks, bool install);
OPAL_EXPORT void ompi_mpool_marks_close(ompi_mpool_marks_t *marks);

/* Called by the pool under its lock: watches this range, too; watches nothing. */
OPAL_EXPORT void ompi_mpool_marks_watch(ompi_mpool_marks_t *marks, uintptr_t begin, uintptr_t end);
OPAL_EXPORT void ompi_mpool_marks_watch_nothing(ompi_mpool_marks_t *marks);

/* Called by the handler, in any thread, also inside of an allocator. */
OPAL_EXPORT void ompi_mpool_marks_add(ompi_mpool_marks_t *marks, uintptr_t begin, uintptr_t end);

/* Called by the pool under its lock. */
static inline bool ompi_mpool_marks_pending(const ompi_mpool_marks_t *marks)
{
    return atomic_load(&marks->pending);
}

/* Called by the pool under its lock: passes each range to `unmapped`, once. False: a range is
 * missing, because no word was free. */
typedef void ompi_mpool_unmapped_fn_t(void *context, uintptr_t begin, uintptr_t end);
OPAL_EXPORT bool ompi_mpool_marks_take(ompi_mpool_marks_t *marks,
                                       ompi_mpool_unmapped_fn_t *unmapped, void *context);

#endif
