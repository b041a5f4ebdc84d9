/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lies in a heap's range. For the engine alone.
 *
 *   range    | chunk | chunk | chunk | ...        of 4 MiB, aligned; each belongs to one heap, its
 *                                                 home, or to none yet. A process has one heap on
 *                                                 a range; several processes may share the range
 *
 *   slabs    | header: 64 pages | slab 1 | slab 2 | ... | slab 63 |      of 64 KiB, aligned
 *              slab: blocks of one size, up to 32 KiB. Its page (opal_heap_page_t) has its state,
 *              and belongs to one thread
 *
 *   runs     | header: maps | run | free | run | ...                     of whole system pages
 *              blocks up to 1 MiB. Under the home's lock
 *
 *   huge     | header | block ...                                        as many chunks as it takes
 *              one block. It may begin at a later chunk's very start, if it must be aligned so
 *              largely; the header is then in the chunk before that
 *
 * So the header of a block is found by its address alone: in the chunk of the byte before it.
 *
 * A free block of a slab begins with a link of 8 bytes. Its upper half is a mark made of the
 * block's own position, its lower half the offset of the next free block in the chunk, 0 for none.
 * The mark distinguishes a free block from one in use, so a double free is noticed, and so is a
 * write to a free block. The mark's lowest bit says that the rest of the block is known to be zero.
 *
 * A page has two lists of free blocks: `free`, which its owner alone uses, and `remote`, to which
 * all other threads and processes push. The owner takes all of `remote` when `free` is empty. A
 * page without a free block is parked: in no list of its thread. The first push to the `remote` of
 * a parked page clears the PARKED bit and puts the page into the owner's mailbox, from where the
 * owner lists it again.
 *
 * Runs and huge blocks that another process frees are pushed to the `remote` of page 0 of their
 * chunk, which is always parked, and that page goes to the mailbox of the home.
 *
 * A mailbox is the last line of a system page, whose number in the range, from 1, is the id of the
 * mailbox's owner: a thread state, or the home, whose mailbox is in the header of its first runs.
 *
 * Pointers in the region (lists of pages, a thread's state) are followed by the home's process
 * alone. What another process follows is an offset, in the chunk or, in units of 64 KiB or of 4
 * KiB, in the range.
 */
#ifndef OPAL_HEAP_LAYOUT_H
#define OPAL_HEAP_LAYOUT_H

#include <stdatomic.h>

#include "opal/heap/heap.h"

enum {
    OPAL_HEAP_CHUNK_SHIFT = 22,
    OPAL_HEAP_CHUNK_MASK = OPAL_HEAP_CHUNK_BYTES - 1,
    OPAL_HEAP_UNIT_SHIFT = 16,
    OPAL_HEAP_UNIT_BYTES = 1 << OPAL_HEAP_UNIT_SHIFT,
    OPAL_HEAP_UNITS = OPAL_HEAP_CHUNK_BYTES / OPAL_HEAP_UNIT_BYTES, /* 64: a bit each in a word */
    OPAL_HEAP_PAGE_SHIFT = 12,                                      /* the system's smallest */
    OPAL_HEAP_PAGE_BYTES = 1 << OPAL_HEAP_PAGE_SHIFT,
    OPAL_HEAP_PAGES = OPAL_HEAP_CHUNK_BYTES / OPAL_HEAP_PAGE_BYTES,
    OPAL_HEAP_LARGEST_SLAB_BLOCK = 32 << 10,
    OPAL_HEAP_LARGEST_RUN = 1 << 20,
    OPAL_HEAP_LINE = 64,
    OPAL_HEAP_MAILBOX = OPAL_HEAP_PAGE_BYTES - OPAL_HEAP_LINE, /* offset in the page */
};

/* What a chunk is; also distinguishes a chunk's header from other memory. */
typedef enum opal_heap_kind {
    OPAL_HEAP_SLABS = 0x51ab51ab,
    OPAL_HEAP_RUNS = 0x52754e73,
    OPAL_HEAP_HUGE = 0x48756765,
} opal_heap_kind_t;

/* -- pages ----------------------------------------------------------------------------- */

/* The word `remote`: offset of the newest block below, then how many, then PARKED. */
#define OPAL_HEAP_REMOTE_ONE    ((uint64_t)1 << 32)
#define OPAL_HEAP_REMOTE_PARKED ((uint64_t)1 << 63)

static inline uint32_t opal_heap_remote_first(uint64_t word)
{
    return (uint32_t)word;
}

static inline uint32_t opal_heap_remote_count(uint64_t word)
{
    return (uint32_t)(word >> 32) & 0x7fffffff;
}

enum {
    OPAL_HEAP_PAGE_LISTED = 1, /* in its thread's list of pages with free blocks */
    OPAL_HEAP_PAGE_PARKED = 2, /* was parked, and has not come back through the mailbox */
    OPAL_HEAP_PAGE_ACTIVE = 4, /* the one that its thread takes blocks from */
    OPAL_HEAP_PAGE_ZERO = 8,   /* what lies behind `fresh` is zero */
};

/* Invariant: used = blocks that are out + blocks in `remote`. Blocks between fresh and end were
   never out since the page was set up. */
typedef struct opal_heap_page {
    /* Used by the owner. */
    _Alignas(OPAL_HEAP_LINE) uint32_t free; /* offset in the chunk, as all offsets here */
    _Atomic uint32_t used;                  /* written by the owner, read by others too */
    uint32_t fresh, end;
    _Atomic uint32_t block_bytes;
    uint16_t size_class;
    uint16_t flags;
    struct opal_heap_page *previous, *next; /* in a list of its thread */
    /* Used by all. A line of its own: a remote free does not take the owner's line away. */
    _Alignas(OPAL_HEAP_LINE) _Atomic uint64_t remote;
    _Atomic uint32_t owner;   /* opal_heap_thread_t.id; 0: the unit is free */
    _Atomic uint32_t divisor; /* for opal_heap_begins */
    uint32_t mail_next;       /* in a mailbox: the next page there */
} opal_heap_page_t;

/* 2^32 / bytes, rounded up. */
static inline uint32_t opal_heap_divisor(uint32_t bytes)
{
    return UINT32_MAX / bytes + 1;
}

/* Whether a block begins at this offset: whether its place n in the slab is a multiple of the
   blocks' size d. With f, 2^32 / d rounded up, n * f modulo 2^32 is less than f exactly if d
   divides n, as both are less than 2^16. */
static inline bool opal_heap_begins(opal_heap_page_t *page, uint32_t offset)
{
    uint32_t divisor = atomic_load_explicit(&page->divisor, memory_order_relaxed);
    return (offset & (OPAL_HEAP_UNIT_BYTES - 1)) * divisor < divisor;
}

/* -- chunks ---------------------------------------------------------------------------- */

typedef struct opal_heap_chunk {
    _Atomic uint32_t kind;
    uint32_t home;                           /* id of the home */
    struct opal_heap_chunk *previous, *next; /* in a list of the home */
    uint64_t committed;                      /* units that are usable; not for huge ones */
    union {
        struct {
            uint64_t free_units;  /* no page there */
            uint64_t dirty_units; /* may differ from zero; of the free ones */
        } slabs;
        struct {
            uint32_t longest; /* free run, in pages */
            uint32_t bin;
        } runs;
        struct {
            uint64_t end;        /* of the usable pages, offset */
            uint32_t block;      /* offset, up to a chunk's size */
            uint32_t idle_pages; /* usable, but not asked for */
        } huge;
    };
    uint32_t changed_msec; /* when something in it became free */
    opal_heap_page_t pages[];
} opal_heap_chunk_t;

enum {
    OPAL_HEAP_SLABS_HEADER = sizeof(opal_heap_chunk_t) + OPAL_HEAP_UNITS * sizeof(opal_heap_page_t),
    OPAL_HEAP_MAP_WORDS = OPAL_HEAP_PAGES / 64,
};

/* Behind page 0 of a chunk of runs. A bit for each page of the system, the header's are set in
   none. */
typedef struct opal_heap_runs {
    uint64_t free[OPAL_HEAP_MAP_WORDS];
    uint64_t dirty[OPAL_HEAP_MAP_WORDS]; /* may differ from zero; for pages in use: unknown */
    uint16_t length[OPAL_HEAP_PAGES];    /* of the run in use that begins here, else 0 */
} opal_heap_runs_t;

/* A header fits the unit, or the page, that is left out for it. */
_Static_assert((int)OPAL_HEAP_SLABS_HEADER <= (int)OPAL_HEAP_UNIT_BYTES, "header of slabs");
_Static_assert(sizeof(opal_heap_chunk_t) + sizeof(opal_heap_page_t) + sizeof(opal_heap_runs_t) <=
                   OPAL_HEAP_MAILBOX,
               "header of runs");

static inline opal_heap_runs_t *opal_heap_runs_of(opal_heap_chunk_t *chunk)
{
    return (opal_heap_runs_t *)(void *)&chunk->pages[1];
}

/* Where the header of a block is. */
static inline opal_heap_chunk_t *opal_heap_chunk_of(const void *block)
{
    return (opal_heap_chunk_t *)(((uintptr_t)block - 1) & ~(uintptr_t)OPAL_HEAP_CHUNK_MASK);
}

static inline opal_heap_chunk_t *opal_heap_chunk_of_page(const opal_heap_page_t *page)
{
    return (opal_heap_chunk_t *)((uintptr_t)page & ~(uintptr_t)OPAL_HEAP_CHUNK_MASK);
}

static inline uint32_t opal_heap_offset(const opal_heap_chunk_t *chunk, const void *block)
{
    return (uint32_t)((uintptr_t)block - (uintptr_t)chunk);
}

static inline void *opal_heap_at(opal_heap_chunk_t *chunk, uint32_t offset)
{
    return (char *)chunk + offset;
}

/* Its number in the range; much too large for what lies outside. */
static inline uintptr_t opal_heap_chunk_number(const opal_heap_t *heap, const void *block)
{
    return ((uintptr_t)block - 1 - heap->base) >> OPAL_HEAP_CHUNK_SHIFT;
}

static inline uint32_t opal_heap_kind_of(opal_heap_chunk_t *chunk)
{
    return atomic_load_explicit(&chunk->kind, memory_order_relaxed);
}

static inline uint32_t opal_heap_owner_of(opal_heap_page_t *page)
{
    return atomic_load_explicit(&page->owner, memory_order_relaxed);
}

/* -- links ----------------------------------------------------------------------------- */

#define OPAL_HEAP_MARK 0xb10c4ee0u /* the lowest bit is not part of it */

static inline uint64_t opal_heap_link(uint32_t offset, uint32_t next, bool zero)
{
    return (uint64_t)(OPAL_HEAP_MARK ^ offset ^ zero) << 32 | next;
}

/* Whether it is the link of a free block at this offset. */
static inline bool opal_heap_is_link(uint64_t link, uint32_t offset)
{
    return ((uint32_t)(link >> 32) ^ OPAL_HEAP_MARK ^ offset) <= 1;
}

static inline bool opal_heap_link_says_zero(uint64_t link)
{
    return link >> 32 & 1;
}

/* A block's first word is the user's data or a link, so it has no type of its own. */
typedef uint64_t __attribute__((may_alias)) opal_heap_word_t;

/* -- threads --------------------------------------------------------------------------- */

enum {
    OPAL_HEAP_CLASSES = 73,      /* 1 to 72; 0 is none */
    OPAL_HEAP_GRANULE_SHIFT = 4, /* sizes up to 1 KiB have a table */
    OPAL_HEAP_TABLE_BYTES = 1 << 10,
    OPAL_HEAP_SPARES = 8,
};

typedef struct opal_heap_page_list {
    opal_heap_page_t *first, *last;
} opal_heap_page_list_t;

/* What a thread has at hand. It outlives the thread: when that ends, its state becomes idle, and
   the next new thread goes on with it. Used by its thread alone, an idle one under the heap's lock,
   the common one under common_lock. Fills a system page, with the mailbox at its end. */
typedef struct opal_heap_thread {
    uint32_t id; /* says where it lies; never 0 */
    uint32_t spare_count;
    uint8_t class_of_granule[(OPAL_HEAP_TABLE_BYTES >> OPAL_HEAP_GRANULE_SHIFT) + 1];
    opal_heap_page_t *active[OPAL_HEAP_CLASSES];     /* never NULL: opal_heap_no_page */
    opal_heap_page_list_t listed[OPAL_HEAP_CLASSES]; /* with free blocks, without the active ones */
    opal_heap_page_t *spare[OPAL_HEAP_SPARES];       /* slabs without a class */
    struct opal_heap_thread *next_idle;
} opal_heap_thread_t;

_Static_assert(sizeof(opal_heap_thread_t) <= OPAL_HEAP_MAILBOX, "a thread's state");

/* -- mailboxes ------------------------------------------------------------------------- */

/* In a mailbox, and in mail_next: the page's unit in the range and 1; 0: none. */
typedef _Atomic uint32_t opal_heap_mailbox_t;

static inline uint32_t opal_heap_id_of(const opal_heap_t *heap, const void *page)
{
    return (uint32_t)(((uintptr_t)page - heap->base) >> OPAL_HEAP_PAGE_SHIFT) + 1;
}

static inline opal_heap_mailbox_t *opal_heap_mailbox(const opal_heap_t *heap, uint32_t id)
{
    uintptr_t page = (uintptr_t)(id - 1) << OPAL_HEAP_PAGE_SHIFT;
    return (opal_heap_mailbox_t *)(heap->base + page + OPAL_HEAP_MAILBOX);
}

static inline uint32_t opal_heap_mail_of(const opal_heap_t *heap, const opal_heap_page_t *page)
{
    opal_heap_chunk_t *chunk = opal_heap_chunk_of_page(page);
    return (uint32_t)(((uintptr_t)chunk - heap->base) >> OPAL_HEAP_UNIT_SHIFT) +
           (uint32_t)(page - chunk->pages) + 1;
}

static inline opal_heap_page_t *opal_heap_page_of_mail(const opal_heap_t *heap, uint32_t mail)
{
    uintptr_t unit = mail - 1;
    opal_heap_chunk_t *chunk =
        (opal_heap_chunk_t *)(heap->base + unit / OPAL_HEAP_UNITS * OPAL_HEAP_CHUNK_BYTES);
    return &chunk->pages[unit % OPAL_HEAP_UNITS];
}

/* A page without an owner and without a block. */
extern opal_heap_page_t opal_heap_no_page;

#endif
