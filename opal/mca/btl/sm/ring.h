/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of frames from one process to another: one writes, one reads, no lock, no system call.
 *
 *        consumed     frames to be read              free
 *   ....|............|=====|==|===========|0|......................|
 *       freed        head                  tail           freed + size
 *
 *   frame    | control word | bytes ... | up to the next multiple of 64
 *
 * A frame begins on a cache line with its control word, which is written last; its bytes follow,
 * contiguous, so that it is filled and read in place. 56 bytes fit behind the word: such a frame
 * is one cache line. A frame never crosses the end of the ring: a SKIP is there instead.
 *
 * A valid word is never left over from an earlier lap: before a frame is published, the word behind
 * it is cleared. So the word at `head` is 0 until the next frame is complete, also when its writer
 * died while writing. The line that is cleared is the line of the next frame, so this costs no
 * transfer of its own.
 *
 * The reader publishes what it has consumed a quarter of the ring at a time, on a line of its own;
 * the writer keeps the value that it read there last. Positions count bytes and never wrap.
 */
#ifndef BTL_SM_RING_H
#define BTL_SM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "opal/arch/prefetch.h"
#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/btl/sm/pace.h"
#include "opal/progress/wait.h"

enum {
    RING_LINE = 64,
    RING_MIN_BYTES = 4096,
    RING_AHEAD = 9 * RING_LINE, /* measured: more is slower for frames of some KiB */
};

/* The upper half of the control word; the lower half is the length. */
#define RING_VALID      (UINT64_C(1) << 63)
#define RING_SKIP       (UINT64_C(1) << 62)
#define RING_KIND_SHIFT 32

/* A line of its own for the completion slot that the reader has armed (opal_btl_ops_t.arm). Before
 * the completion there may be a request for help (share.c). */
typedef struct ring_completion {
    _Atomic uint32_t number; /* of the slot that is completed */
    _Atomic uint32_t help;   /* number of the request that follows */
    uint32_t block_bytes;
    uint64_t from, to, bytes;
} ring_completion_t;

/* In the node's segment. */
typedef struct ring {
    _Alignas(RING_LINE) uint64_t size;          /* of bytes; a power of 2 */
    uint32_t local_rank, reader;                /* of the writer and of the reader */
    uint32_t older;                             /* another one that the writer has made */
    uint32_t next;                              /* in an inbox: the reader's, or the writer's */
    uint32_t way;                               /* 0: the main one; n + 1: lane n */
    _Atomic uint32_t is_dropped;                /* the reader has stopped */
    _Atomic uint32_t fill_nsec;                 /* the writer's, for long data (pace.h) */
    _Atomic uint32_t advice[PACE_WAYS];         /* the reader's, as pace_t.published */
    _Atomic uint32_t is_finished;               /* the writer has stopped (foreign.h) */
    _Atomic uint64_t populated;                 /* the writer's, of the first lap */
    _Alignas(RING_LINE) _Atomic uint64_t freed; /* by the reader */
    _Alignas(RING_LINE) ring_completion_t completion; /* by the writer */
    _Alignas(RING_LINE) unsigned char bytes[];
} ring_t;

/* The writer's end; in its own memory. All zero: there is no ring. */
typedef struct ring_writer {
    ring_t *ring;
    uint64_t tail;  /* where the next frame begins */
    uint64_t limit; /* a frame fits, without reading `freed`, if its end and the word behind are
                       before it */
    uint64_t size;
    uint64_t populated; /* positions before it have memory; UINT64_MAX: all */
} ring_writer_t;

enum { RING_EXPOSED = 64 };

/* The reader's end. */
typedef struct ring_reader {
    ring_t *ring;
    uint64_t head;
    uint64_t published; /* the last `freed` */
    uint64_t size;
    struct opal_process *process; /* the writer */
    opal_doorbell_t *doorbell;    /* its */
    unsigned local_rank;          /* as in sm_peer_t */
    bool is_damaged;              /* it is not read any more */
    /* The completion slot; 0: not armed. When it is completed, a frame of that kind is delivered.
     */
    bool was_armed; /* at some time: only then the line is read */
    uint32_t armed, last_armed;
    uint32_t helped;      /* the last request for help */
    uint32_t spin_budget; /* how often the line alone is polled before the ring is read */
    struct iovec memory;  /* that the slot is about */
    unsigned completion_kind;
    uint64_t completion_what;
    /* Memory of messages that got no slot: the peer may ask for help with it, too. */
    uint64_t exposed_mask; /* a bit for each */
    struct iovec exposed[RING_EXPOSED];
} ring_reader_t;

/* Whether frames of so many bytes need memory that the ring does not have yet, as the writer and
 * the reader see it. */
static inline bool ring_lacks_memory(const ring_writer_t *writer, size_t bytes)
{
    return writer->populated - writer->tail < bytes && writer->populated != UINT64_MAX;
}

static inline bool ring_reader_lacks_memory(const ring_reader_t *reader, size_t bytes)
{
    uint64_t populated = atomic_load_explicit(&reader->ring->populated, memory_order_relaxed);
    return populated < reader->size && populated < reader->head + bytes;
}

/* How much of the segment a ring takes; the longest frame that always fits in an empty one. */
static inline size_t ring_segment_bytes(size_t size)
{
    return sizeof(ring_t) + size;
}

static inline size_t ring_max_frame(size_t size)
{
    return size / 4 - sizeof(uint64_t);
}

/* Begin to use a ring, which is zeroed or was opened by a peer. False: the beginning that the peer
 * has written is damaged; there are `room` bytes for the whole ring. */
void ring_writer_init(ring_writer_t *writer, ring_t *ring, size_t size);
bool ring_reader_init(ring_reader_t *reader, ring_t *ring, size_t room,
                      struct opal_process *writer);

/* Takes memory for the whole ring, so that a frame never fails for want of it. */
opal_status_t ring_populate_all(ring_writer_t *writer);

/* The slow path of ring_reserve. */
opal_status_t ring_make_room(ring_writer_t *writer, uint64_t frame_bytes);

static inline uint64_t ring_frame_bytes(size_t length)
{
    return (length + sizeof(uint64_t) + RING_LINE - 1) & ~(uint64_t)(RING_LINE - 1);
}

static inline _Atomic uint64_t *ring_word(ring_t *ring, uint64_t size, uint64_t position)
{
    return (_Atomic uint64_t *)(void *)(ring->bytes + (position & (size - 1)));
}

/* Whether there is a ring, and a frame of so many bytes, and the word behind it, fit into what is
 * known to be free. */
static inline bool ring_has_room(const ring_writer_t *writer, uint64_t bytes)
{
    return opal_likely(writer->tail + bytes + RING_LINE <= writer->limit);
}

/* Where the next frame goes: its word, which its bytes follow. */
static inline _Atomic uint64_t *ring_next(const ring_writer_t *writer)
{
    return ring_word(writer->ring, writer->size, writer->tail);
}

/*
 * Room for `length` bytes. NULL: not now (*status OPAL_ERR_BUSY), or never: the memory has run
 * out, which was reported.
 */
static inline void *ring_reserve(ring_writer_t *writer, size_t length, opal_status_t *status)
{
    uint64_t bytes = ring_frame_bytes(length);
    if (opal_unlikely(!ring_has_room(writer, bytes))) {
        *status = ring_make_room(writer, bytes);
        if (*status != OPAL_SUCCESS)
            return NULL;
    }
    return (void *)(ring_next(writer) + 1);
}

/* Publishes a frame by its word; `next` is the word behind it. */
static inline void ring_publish(_Atomic uint64_t *word, _Atomic uint64_t *next, unsigned kind,
                                size_t length)
{
    atomic_store_explicit(next, 0, memory_order_relaxed);
    atomic_store_explicit(word, RING_VALID | (uint64_t)kind << RING_KIND_SHIFT | length,
                          memory_order_release);
    /* Prefetches the lines of the next frame, assuming that it is as long: the reader has them from
     * the lap before. Not the first one, which was cleared just now. Behind the ring this is in
     * vain, and does no harm. */
    uint64_t ahead = ring_frame_bytes(length), line = RING_LINE;
    if (ahead > RING_AHEAD)
        ahead = RING_AHEAD;
    do
        opal_prefetch_write((unsigned char *)next + line);
    while (opal_unlikely((line += RING_LINE) <= ahead));
}

/* Publishes the frame that was reserved, cut to `length`. */
static inline void ring_commit(ring_writer_t *writer, unsigned kind, size_t length)
{
    uint64_t tail = writer->tail;
    writer->tail += ring_frame_bytes(length);
    ring_publish(ring_word(writer->ring, writer->size, tail),
                 ring_word(writer->ring, writer->size, writer->tail), kind, length);
}

/* The bytes of the next frame, or NULL. A frame that crosses the end of the ring, or a SKIP at the
 * beginning, comes from a damaged writer. */
static inline const void *ring_peek(ring_reader_t *reader, unsigned *kind, size_t *length)
{
    for (;;) {
        uint64_t position = reader->head & (reader->size - 1);
        _Atomic uint64_t *word = ring_word(reader->ring, reader->size, position);
        uint64_t control = atomic_load_explicit(word, memory_order_acquire);
        if (control == 0)
            return NULL;
        if (opal_unlikely((control & RING_SKIP) != 0) && position != 0) {
            reader->head += reader->size - position;
            continue;
        }
        *kind = (control >> RING_KIND_SHIFT) & 0xff;
        *length = (uint32_t)control;
        if (opal_likely(position + sizeof control + *length <= reader->size &&
                        (control & RING_SKIP) == 0))
            return (const void *)(word + 1);
        reader->is_damaged = true;
        return NULL;
    }
}

/* Asks for help with the get whose slot is going to be completed. A peer that sleeps is not woken
 * for it. */
static inline void ring_ask(ring_completion_t *line, uint32_t number,
                            const ring_completion_t *request)
{
    line->block_bytes = request->block_bytes;
    line->from = request->from;
    line->to = request->to;
    line->bytes = request->bytes;
    atomic_store_explicit(&line->help, number, memory_order_release);
}

/* Consumes the frame that ring_peek has returned. True: there is more room, as published now: the
 * caller notifies the writer. */
static inline bool ring_pop(ring_reader_t *reader, size_t length)
{
    reader->head += ring_frame_bytes(length);
    if (opal_likely(reader->head - reader->published < reader->size / 4))
        return false;
    reader->published = reader->head;
    atomic_store_explicit(&reader->ring->freed, reader->head, memory_order_release);
    return true;
}

#endif
