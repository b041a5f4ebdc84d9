/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks: which memory has left the process, from the handler of memory events to the pool.
 *
 * The handler runs anywhere, inside allocators and under their locks. So it takes no lock,
 * allocates and frees nothing, and calls no device: it writes the range into an array of words,
 * and the pool does the rest before it looks for a registration the next time.
 *
 *   handler (many)                             pool (one, by its lock)
 *   H1  free word: compare-exchange 0 -> range   P1  pending: exchange -> 0
 *       (or a word that holds the range: load)
 *   H2  pending == 0? pending = 1                P2  each word: exchange -> 0, and forget the range
 *                                                P3  look for the registration
 *
 * A range is one word, so it is there whole or not at all: nobody waits for a handler that was
 * interrupted half way. If no word is free, `lost` is set in place of one, and everything the pool
 * knows is suspect.
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
 * still there, and the application unmaps a buffer that it has handed to MPI: its mistake, which
 * cannot harm others. That also holds for a registration that comes between H2 and the call: only
 * who was given a buffer in U asks for it. A pool that registers more than it was asked for takes
 * in only pages that it knows at P3: had their mark been taken, they were forgotten; had it not,
 * it still lies there, and takes the new registration too.
 *
 * `begin` and `end` are a filter: the pool watches nothing outside. They grow before pages are
 * pinned, and shrink only when nothing is registered, to nothing. A handler that sees one of them
 * old and the other one new sees at least what was watched when the pages of its range were given
 * to the application.
 *
 * Each range is taken once, so what was registered after it was taken is not reported in its name.
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

/* What begins above cannot be marked, and so must not be watched. */
#define OMPI_MPOOL_MARK_LIMIT                                                                      \
    ((uintptr_t)1 << (64 - OMPI_MPOOL_MARK_COUNT_BITS + OMPI_MPOOL_MARK_UNIT_BITS))

typedef struct ompi_mpool_marks {
    atomic_uintptr_t begin, end; /* of what is watched; end <= begin: nothing */
    atomic_bool pending;         /* there is something to take */
    atomic_bool lost;            /* and a range was not written down */
    unsigned generation;         /* in a child of fork there is nobody to take it */
    opal_memory_handler_t handler;
    /* First unit << COUNT_BITS | count of units; 0: free. */
    _Alignas(64) _Atomic uint64_t words[OMPI_MPOOL_MARK_WORDS];
} ompi_mpool_marks_t;

/*
 * Begins to hear; the marks' storage stays until close has returned. `install`: what catches the
 * events is installed if it is not there yet, and OPAL_ERR_NOT_AVAILABLE says that it does not
 * work; close is due all the same.
 */
OPAL_EXPORT opal_status_t ompi_mpool_marks_open(ompi_mpool_marks_t *marks, bool install);
OPAL_EXPORT void ompi_mpool_marks_close(ompi_mpool_marks_t *marks);

/* The pool's, under its lock: watches this too, from now on; nothing any more. */
OPAL_EXPORT void ompi_mpool_marks_watch(ompi_mpool_marks_t *marks, uintptr_t begin, uintptr_t end);
OPAL_EXPORT void ompi_mpool_marks_watch_nothing(ompi_mpool_marks_t *marks);

/* What the handler does: any thread, any place. */
OPAL_EXPORT void ompi_mpool_marks_add(ompi_mpool_marks_t *marks, uintptr_t begin, uintptr_t end);

/* The pool's, under its lock. */
static inline bool ompi_mpool_marks_pending(const ompi_mpool_marks_t *marks)
{
    return atomic_load(&marks->pending);
}

/* Hands each range over, once. Returns false if one was lost. Under the pool's lock. */
typedef void ompi_mpool_gone_fn_t(void *context, uintptr_t begin, uintptr_t end);
OPAL_EXPORT bool ompi_mpool_marks_take(ompi_mpool_marks_t *marks, ompi_mpool_gone_fn_t *gone,
                                       void *context);

#endif
