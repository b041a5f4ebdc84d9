/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file in which a thread records each of its calls and messages (mpi_trace), made for size and
 * for being written fast; mica-profile makes a Chrome trace of the files of all ranks.
 *
 * The file has words of 8 bytes, in pieces of OPAL_TRACE_PIECE bytes:
 *
 *   piece 0     opal_trace_head_t
 *   piece 1     the window, which is mapped: the last records
 *   piece 2...  the records before them, in their order
 *
 * A window that is full is written to the end of the file, and begins anew, so that its pages stay
 * the same. What was recorded is there whatever ends the process. A record is not divided between
 * pieces; it begins with a word whose low 4 bits are its kind:
 *
 *   call, wait         ticks << 4 | kind     duration << 16 | site             ticks; saturated
 *   message            bytes << 4 | kind     peer << 32 | tag     order << 32 | context
 *   again              order << 32 | slot << 4 | kind       as the last message of that slot
 *
 * A program mostly sends a few messages again and again. Each has a slot by its kind, peer, tag and
 * context (opal_trace_slot_of), for which the thread and a reader remember the last one.
 * The order is that of the messages of all threads of the process, if there are several; else 0.
 * A wait and a message belong to the call whose record follows them. A piece ends with a word 0,
 * or at its end. Names of sites are in the profile of the rank (layout.h), block `thread`.
 *
 * Threading: a trace belongs to one thread.
 */
#ifndef OPAL_PROFILE_TRACE_H
#define OPAL_PROFILE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

#define OPAL_TRACE_MAGIC  UINT64_C(0x334352544143494d) /* "MICATRC3" */
#define OPAL_TRACE_SUFFIX ".trace" /* of thread 2 of rank 3: DIR/rank.3.2.trace */

enum {
    OPAL_TRACE_END = 0,
    OPAL_TRACE_CALL = 1,
    OPAL_TRACE_WAIT = 2,
    OPAL_TRACE_SENT = 3,    /* 3 words */
    OPAL_TRACE_MATCHED = 4, /* 3 words */
    OPAL_TRACE_AGAIN = 5,   /* 1 word */
    OPAL_TRACE_WAITED = 6,  /* a call that has waited from its begin to its end */
};

enum { OPAL_TRACE_SLOTS = 16 };

#define OPAL_TRACE_PIECE ((size_t)1 << 16)

typedef struct opal_trace_head {
    uint64_t magic;  /* OPAL_TRACE_MAGIC */
    uint64_t cut;    /* ticks, since when nothing is recorded as there was no room; 0: never */
    uint64_t pieces; /* behind the window */
} opal_trace_head_t;

/* The words of its record, without the order. */
typedef struct opal_trace_message {
    uint64_t bytes, who;
    uint32_t context;
} opal_trace_message_t;

static inline unsigned opal_trace_slot_of(const opal_trace_message_t *message)
{
    uint64_t mixed =
        (message->who ^ message->context ^ message->bytes << 60) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(mixed >> 60) % OPAL_TRACE_SLOTS;
}

typedef struct opal_trace {
    uint64_t *next, *end; /* in the window; equal: it is full, or the trace is */
    opal_trace_head_t *head;
    uint64_t most; /* pieces behind the window */
    int fd;
    opal_trace_message_t last[OPAL_TRACE_SLOTS];
} opal_trace_t;

/* NULL: the file cannot be made, or there is no memory; this was logged. */
opal_trace_t *opal_trace_open(const char *path, uint64_t most_bytes);
void opal_trace_close(opal_trace_t *trace);

/* Empties the window so that a record has room. False: the trace is full. */
bool opal_trace_advance(opal_trace_t *trace);

enum { OPAL_TRACE_RECORD_WORDS = 3 };

/* Room for a record, of which `words` are written. NULL: the trace is full. */
static inline uint64_t *opal_trace_reserve(opal_trace_t *trace, unsigned words)
{
    if (opal_unlikely(trace->next + OPAL_TRACE_RECORD_WORDS > trace->end) &&
        !opal_trace_advance(trace))
        return NULL;
    uint64_t *record = trace->next;
    trace->next += words;
    return record;
}

static inline uint64_t opal_trace_saturated(uint64_t ticks, unsigned bits)
{
    uint64_t most = (UINT64_C(1) << bits) - 1;
    return ticks < most ? ticks : most;
}

static inline void opal_trace_interval(opal_trace_t *trace, unsigned kind, uint64_t begin,
                                       uint64_t end, uint64_t site)
{
    uint64_t *record = opal_trace_reserve(trace, 2);
    if (opal_unlikely(record == NULL))
        return;
    record[0] = begin << 4 | kind;
    record[1] = opal_trace_saturated(end - begin, 48) << 16 | site;
}

static inline void opal_trace_message(opal_trace_t *trace, unsigned kind, unsigned peer, int tag,
                                      uint32_t context, uint32_t order, uint64_t bytes)
{
    opal_trace_message_t message = {.bytes = bytes << 4 | kind,
                                    .who = (uint64_t)peer << 32 | (uint32_t)tag,
                                    .context = context};
    unsigned slot = opal_trace_slot_of(&message);
    opal_trace_message_t *last = &trace->last[slot];
    bool is_again =
        last->bytes == message.bytes && last->who == message.who && last->context == context;
    uint64_t *record = opal_trace_reserve(trace, is_again ? 1 : 3);
    if (opal_unlikely(record == NULL))
        return;
    if (is_again) {
        record[0] = (uint64_t)order << 32 | slot << 4 | OPAL_TRACE_AGAIN;
        return;
    }
    *last = message;
    record[0] = message.bytes;
    record[1] = message.who;
    record[2] = (uint64_t)order << 32 | context;
}

#endif
