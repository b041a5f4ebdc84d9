/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recording where the time of a program goes in MPI, for mpi_profile and mpi_trace.
 *
 *   wrapper      opal_profile_count, or begin ... end       each call of the program
 *   waits        opal_profile_wait_begin, _end              around waits, within calls
 *   messages     opal_profile_sent, opal_profile_matched    it has left; it has found its receive
 *   collectives  opal_profile_collective                    which algorithm carries it out
 *
 * To look at the clock takes as long as a third of a short call. So of calls that are short only a
 * sample is timed, by a stride for each place in the program that calls; it is 1 where calls take
 * longer than some microseconds. Calls, messages and bytes are all counted. Waits are seen without
 * sampling once they have lasted for some microseconds.
 *
 * With a trace every call is timed, by as few looks as can be: a wait begins with its call, and the
 * end of a short call that has not waited is mostly taken from the shortest one of its place.
 *
 * Threading: each thread writes to a block of its own, without locks. start and stop: one thread,
 * while no other is in MPI. Of nested calls (a callback that calls MPI) the outer one is recorded,
 * or both if that was only counted.
 */
#ifndef OPAL_PROFILE_PROFILE_H
#define OPAL_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/arch/ticks.h"
#include "opal/include/compiler.h"
#include "opal/profile/layout.h"

/* What a thread is doing. */
typedef struct opal_profile_thread {
    opal_profile_site_t *current; /* the call that runs, or the last one; NULL: none, or it ends */
    opal_profile_block_t *block;
    bool is_inside; /* between begin and end; a call that was counted alone has neither */
    bool is_noted;  /* the call is timed, has waited long, or is a collective */
    bool is_at_end; /* with a trace: the call does nothing worth mentioning after last_look */
    bool must_look; /* with a trace: a message has come, or takes long to copy */
    opal_profile_collective_t *collective;     /* of the call; NULL: it is none */
    uint64_t begin;                            /* ticks; 0: the call is not timed */
    uint64_t short_waits;                      /* ticks in waits, while the call is timed */
    uint64_t long_waits, long_begin, long_end; /* ticks; 0: none */
    uint64_t last_look; /* of the call that is timed: its begin, or the end of its last wait */
    uint64_t last_end;  /* with a trace: of the last call */
    uint64_t wait_begin, wait_end; /* with a trace: that is not recorded yet; 0: none */
    unsigned skipped;              /* short calls that the time line lacks, with a trace */
    uint32_t random;
    struct opal_trace *trace; /* NULL: calls are not traced */
} opal_profile_thread_t;

/* NULL: nothing is recorded, or this thread has not called MPI yet. */
OPAL_EXPORT extern _Thread_local opal_profile_thread_t *opal_profile_self
    __attribute__((tls_model("initial-exec")));

/* Whether records are written, and whether traces are. Written by start and stop. */
OPAL_EXPORT extern bool opal_profile_is_on, opal_profile_traces;

typedef struct opal_profile_setup {
    const char *folder; /* exists, or can be made */
    unsigned rank, size, node;
    const char *job;      /* its id */
    bool traces;          /* also writes a file for each thread */
    uint64_t trace_bytes; /* the most of such a file */
} opal_profile_setup_t;

/* Makes the file. False: an error was logged, and nothing is recorded. */
OPAL_EXPORT bool opal_profile_start(const opal_profile_setup_t *setup);

/* MPI_Init is about to return; MPI_Finalize has begun. */
OPAL_EXPORT void opal_profile_note_begin(void);
OPAL_EXPORT void opal_profile_note_end(void);

/* This thread ends MPI, or its part in it: what it waits for belongs to none of its calls. */
OPAL_EXPORT void opal_profile_leave(void);

/* Closes the file. */
OPAL_EXPORT void opal_profile_stop(void);

/* -- calls. opal_profile_is_on -- */

/* The slow parts of begin and end. */
OPAL_EXPORT opal_profile_thread_t *opal_profile_begin_thread(const char *function,
                                                             uintptr_t address);
OPAL_EXPORT opal_profile_site_t *opal_profile_find_site(opal_profile_thread_t *self,
                                                        const char *function, uintptr_t address);
OPAL_EXPORT void opal_profile_begin_timed(opal_profile_thread_t *self);
OPAL_EXPORT void opal_profile_end_noted(opal_profile_thread_t *self);

static inline unsigned opal_profile_slot_of(uintptr_t address)
{
    return (unsigned)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 54) % OPAL_PROFILE_SITES;
}

/* The place, or what else is in its first slot. */
static inline opal_profile_site_t *opal_profile_likely_site(const opal_profile_thread_t *self,
                                                            uintptr_t address)
{
    return &self->block->sites[opal_profile_slot_of(address)];
}

/* All that most brief calls need. It takes so few registers that a wrapper need not save any for
 * it. `function`: its name, a constant. `address`: where the program goes on behind the call.
 * False: nothing was done, begin and end are needed. */
static inline bool opal_profile_count(const char *function, uintptr_t address)
{
    opal_profile_thread_t *self = opal_profile_self;
    if (opal_unlikely(self == NULL || self->is_inside))
        return false;
    opal_profile_site_t *site = opal_profile_likely_site(self, address);
    if (opal_unlikely(site->key != (address ^ (uintptr_t)function)))
        return false;
    uint64_t calls = site->calls + 1;
    if (opal_unlikely(calls == site->next_timed))
        return false;
    site->calls = calls;
    self->current = site;
    return true;
}

/* Returns what opal_profile_end takes; NULL: the call is not recorded. */
static inline opal_profile_thread_t *opal_profile_begin(const char *function, uintptr_t address)
{
    opal_profile_thread_t *self = opal_profile_self;
    if (opal_unlikely(self == NULL || self->is_inside))
        return opal_profile_begin_thread(function, address);
    opal_profile_site_t *site = opal_profile_likely_site(self, address);
    if (opal_unlikely(site->key != (address ^ (uintptr_t)function)))
        site = opal_profile_find_site(self, function, address);
    self->current = site;
    self->is_inside = true;
    if (opal_unlikely(++site->calls == site->next_timed))
        opal_profile_begin_timed(self);
    return self;
}

static inline void opal_profile_end(opal_profile_thread_t *self)
{
    if (opal_unlikely(self == NULL))
        return;
    if (opal_unlikely(self->is_noted))
        opal_profile_end_noted(self);
    self->is_inside = false;
}

/* -- waits -- */

/* Returns the ticks, or 0 if the wait is not timed. */
static inline uint64_t opal_profile_wait_begin(void)
{
    const opal_profile_thread_t *self = opal_profile_self;
    if (self == NULL || self->begin == 0)
        return 0;
    return self->trace != NULL && !self->must_look ? self->last_look : opal_ticks();
}

/* `begin`: that of wait_begin. `long_since`: ticks, since when the wait is a long one; 0: it is
 * none. At least one is not 0. */
OPAL_EXPORT void opal_profile_wait_end(uint64_t begin, uint64_t long_since);

/* -- messages -- */

/* How a message is found in the records of both sides: by a context and a tag, and the order. */
typedef struct opal_profile_message {
    unsigned peer;    /* index of its process; that of another job is SIZE or more */
    uint32_t context; /* as it goes over the wire */
    int tag;
    bool is_own; /* the program has sent it itself */
    uint64_t bytes;
} opal_profile_message_t;

OPAL_EXPORT void opal_profile_sent(const opal_profile_message_t *message);

/* The usual case of opal_profile_sent: the program sends a rank of this job another message like
 * the last one of this place, and no trace is written. True: it was counted. */
static inline bool opal_profile_sent_again(unsigned peer, uint64_t bytes)
{
    const opal_profile_thread_t *self = opal_profile_self;
    if (opal_unlikely(self == NULL || self->trace != NULL || self->current == NULL))
        return false;
    opal_profile_site_t *site = self->current;
    if (opal_unlikely(site->peer != peer || site->each_bytes != bytes))
        return false;
    site->repeats++;
    return true;
}

/* It has not left after all. */
static inline void opal_profile_not_sent_again(void)
{
    opal_profile_self->current->repeats--;
}

OPAL_EXPORT void opal_profile_matched(const opal_profile_message_t *message); /* if traces */

/* -- collectives -- */

/* The call that runs was carried out by the component and its algorithm ("": it has one alone);
 * `bytes` are what this rank contributed. Both strings stay where they are. Called before the call
 * returns. */
OPAL_EXPORT void opal_profile_collective(const char *component, const char *algorithm,
                                         uint64_t bytes);

#endif
