/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The roll: what the ranks of a node say of calls that have waited for long, for a person who asks
 * who waits for whom. mpirun and mica-ps read it (census.h); a rank need not be awake for that, or
 * even alive.
 *
 *   a rank's roll, in the node's segment; of a rank without one, in a memfd "mica-roll"
 *   +-----------------------------+
 *   | job, rank, pid              |
 *   | entry 0    a loop of tests  |  since when, and a text:  wait call=MPI_Recv place=0x5581...
 *   | entry 1    a thread's wait  |                           receive comm=0 peer=1 tag=8 bytes=400
 *   | ...                         |                           message comm=0 peer=1 tag=7 bytes=4
 *   +-----------------------------+                           comm id=0 rank=2 members=0-3 ...
 *
 * An entry is written when a call has waited for 100 ms (opal_wait_observer_t), by plain stores,
 * and withdrawn when something comes. Shorter waits write nothing.
 *
 * Lines of a text are a word and NAME=VALUE pairs, the last of which may contain blanks; story.h
 * says what they mean.
 *
 * Threading: an entry has one writer at a time. Readers are other processes: they copy it, and look
 * whether the version has changed.
 */
#ifndef OPAL_ROLL_H
#define OPAL_ROLL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/mca/pmi/pmi.h"

enum {
    OPAL_ROLL_ENTRIES = 8,
    OPAL_ROLL_LOOP = 0, /* the entry of loops */
    OPAL_ROLL_TEXT_BYTES = 4032,
};

#define OPAL_ROLL_NAME "mica-roll" /* of a memfd */

typedef struct opal_roll_entry {
    _Alignas(64) atomic_uint version; /* odd while the rest is written */
    atomic_uint length;               /* of the text; 0: nothing waits here */
    _Atomic uint64_t since;           /* nothing has come since; opal_clock_nsec */
    _Atomic uint64_t written;         /* of a loop: it still went round then */
    atomic_int thread;                /* the system's number of the one that waits */
    _Alignas(64) _Atomic uint64_t text[OPAL_ROLL_TEXT_BYTES / 8]; /* a thread may read it, too */
} opal_roll_entry_t;

typedef struct opal_roll {
    _Atomic uint64_t magic; /* OPAL_ROLL_MAGIC, written last */
    int pid;
    unsigned rank, size; /* in the job */
    bool has_threads;    /* more than one thread of the process may call MPI */
    char job_id[64];
    atomic_uint taken; /* entries of waits that have a writer, a bit for each */
    opal_roll_entry_t entries[OPAL_ROLL_ENTRIES];
} opal_roll_t;

#define OPAL_ROLL_MAGIC (UINT64_C(0x6c6c6f7261636901) + (sizeof(opal_roll_t) << 40))

/* -- of this process ------------------------------------------------------------------------- */

/* Between start and stop this process has a roll. A process that is in no segment makes its memory
 * at once, so that it is found; others when an entry is written first. */
OPAL_EXPORT void opal_roll_start(const opal_pmi_job_t *job, bool has_threads);
OPAL_EXPORT void opal_roll_stop(void);

/* Writes this thread's entry, or that of loops. Without memory, or if all entries are taken, it
 * does nothing. */
OPAL_EXPORT void opal_roll_write(bool is_loop, uint64_t since, const char *text, size_t length);

/* The roll of a process that is in no segment; NULL: none was made. */
const opal_roll_t *opal_roll_alone(void);

/* Withdraws the entry. */
OPAL_EXPORT void opal_roll_withdraw(bool is_loop);

/* -- the text ---------------------------------------------------------------------------------- */

/* A text that is being written. What does not fit is left out, by whole lines, and opal_roll_end
 * says so. */
typedef struct opal_roll_text {
    size_t length, line; /* line: where the last one begins */
    bool is_full;
    char bytes[OPAL_ROLL_TEXT_BYTES];
} opal_roll_text_t;

/* Begins a line; adds to it. */
OPAL_EXPORT void opal_roll_line(opal_roll_text_t *text, const char *word);
OPAL_EXPORT void opal_roll_add(opal_roll_text_t *text, const char *format, ...) OPAL_PRINTF(2, 3);
OPAL_EXPORT void opal_roll_end(opal_roll_text_t *text);

#endif
