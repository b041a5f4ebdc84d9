/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process table: an entry for every process that this one knows.
 *
 *   index     0 .. size - 1    the ranks of this process's own job, in their order
 *             size ..          processes of other jobs, as they are added
 *
 * An index is what groups list and what a process is named by within this process. Between
 * processes it means nothing: there a process is named by its job and its rank in that job.
 *
 * Entries do not move. Those of the own job take no memory until they are asked for, so a job of
 * 1,000,000 ranks costs as much as the ranks that this process communicates with. A process of
 * another job is added by its address record, which that process makes and any process may pass on.
 * It is forgotten when its last user has released it; then its index may be reused.
 *
 * Threading: adding, releasing and finding under the lock of the upper layer; the rest by any
 * thread, of a process that has a user meanwhile.
 */
#ifndef OPAL_PROCESS_PROCESS_H
#define OPAL_PROCESS_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/pmi/pmi.h"

/* The state of other components for a process: each has a pointer in the entry. */
typedef enum opal_process_end {
    OPAL_END_BTL,      /* opal_btl_peer_t, of the transports */
    OPAL_END_MESSAGES, /* of the clients of the transports, each */
    OPAL_END_ONE_SIDED,
    OPAL_END_CONTROL,
    OPAL_END_NETWORK, /* of the component whose network matches messages */
    OPAL_ENDS,
} opal_process_end_t;

enum { OPAL_JOB_TAG_BYTES = 8 };

/* The name of a process, equal in all processes. */
typedef struct opal_process_name {
    unsigned char job[OPAL_JOB_TAG_BYTES]; /* the first bytes of SHA-256 of the job's id */
    uint32_t rank;
} opal_process_name_t;

struct opal_process_record;

typedef struct opal_process {
    /* What a process of another job has published; NULL: of the own job. */
    struct opal_process_record *record;
    uint32_t index;
    uint32_t rank;     /* in its job */
    uint32_t node;     /* a number for each host of each job */
    atomic_uint users; /* 0: the entry is not filled in, or was released */
    void *_Atomic ends[OPAL_ENDS];
} opal_process_t;

/* -- start and end, of opal_init and opal_finalize ----------------------------------------- */

opal_status_t opal_process_start(const opal_pmi_job_t *job);
void opal_process_stop(void);

/* -- looking up ---------------------------------------------------------------------------- */

OPAL_EXPORT extern opal_process_t *opal_process_own_job; /* by rank */
OPAL_EXPORT extern uint32_t opal_process_own_size;

/* The entry of another job's process, which has been added. */
OPAL_EXPORT opal_process_t *opal_process_foreign_entry(uint32_t index);

/* The entry, filled in or not. */
static inline opal_process_t *opal_process_entry(uint32_t index)
{
    return opal_likely(index < opal_process_own_size) ? &opal_process_own_job[index]
                                                      : opal_process_foreign_entry(index);
}

/* The entry of a process that is in the table, filled in. */
OPAL_EXPORT opal_process_t *opal_process(uint32_t index);
OPAL_EXPORT opal_process_t *opal_process_self(void);

/* A component's state for the process; NULL: none yet. */
static inline void *opal_process_get_end(uint32_t index, opal_process_end_t end)
{
    return atomic_load_explicit(&opal_process_entry(index)->ends[end], memory_order_acquire);
}

static inline void *opal_process_end(const opal_process_t *process, opal_process_end_t end)
{
    return atomic_load_explicit(&process->ends[end], memory_order_acquire);
}

static inline void opal_process_set_end(opal_process_t *process, opal_process_end_t end, void *what)
{
    atomic_store_explicit(&process->ends[end], what, memory_order_release);
}

static inline bool opal_process_is_foreign(uint32_t index)
{
    return index >= opal_process_own_size;
}

OPAL_EXPORT opal_process_name_t opal_process_name(uint32_t index);

/* For messages: "rank 3", "rank 3 of job 42.host". */
enum { OPAL_PROCESS_TEXT_BYTES = 96 };
OPAL_EXPORT const char *opal_process_text(const opal_process_t *process,
                                          char text[OPAL_PROCESS_TEXT_BYTES]);

/* NULL: it is not in the table. */
OPAL_EXPORT opal_process_t *opal_process_find(const opal_process_name_t *name);

/* Whether one precedes the other in the order of names, which is the same in all processes. */
OPAL_EXPORT bool opal_process_is_before(uint32_t one, uint32_t other);

/* -- processes of other jobs --------------------------------------------------------------- */

/*
 * Writes what others need to reach this process: a record of up to OPAL_RECORD_MOST_BYTES. It
 * contains the key of this job: a process that has it can speak for a rank of the job.
 */
OPAL_EXPORT opal_status_t opal_process_describe(void *record, size_t *length);

/* `prepare` is called before this process is described: components hand in what others need
 * (opal_modex_offer). NULL: no function. */
OPAL_EXPORT void opal_process_on_describe(void (*prepare)(void));

/* Adds the process that a record describes, or one user if the process is known. A failure was
 * logged: OPAL_ERR_PROTOCOL, the bytes are no record; OPAL_ERR_NO_MEMORY. */
OPAL_EXPORT opal_status_t opal_process_add(const void *record, size_t length,
                                           opal_process_t **process);

/* One user more, one user less; nothing for ranks of the own job, which stay. The last release
 * forgets the process. `drop` is a release by any thread, without the lock: a process without users
 * is forgotten by the next call that adds or releases one. */
OPAL_EXPORT void opal_process_retain(uint32_t index);
OPAL_EXPORT void opal_process_release(uint32_t index);
OPAL_EXPORT void opal_process_drop(uint32_t index);

/* `forget` is called before a process is forgotten, to free the state at that end. It is called for
 * a NULL end, too: a transport may have a peer that only a client of it has used. One for each end.
 */
OPAL_EXPORT void opal_process_on_forget(opal_process_end_t end,
                                        void (*forget)(opal_process_t *process));

/* That end stops: it forgets the processes of other jobs that are still in use, too. */
OPAL_EXPORT void opal_process_forget_end(opal_process_end_t end);

/* What a process of another job has published (process_record.h); NULL: it is of the own job. */
static inline const struct opal_process_record *opal_process_record(const opal_process_t *process)
{
    return process->record;
}

#endif
