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
 * Entries stay where they are. Those of the own job are addresses until they are asked for, so a
 * job of 1,000,000 ranks costs what the ranks cost that are talked to. A process of another job is
 * added by its address record, which its own process makes and anybody may hand on, and is
 * forgotten when its last user has released it; then its index may become another process's.
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

/* What the layers keep of a process: each has a pointer in the entry. */
typedef enum opal_process_end {
    OPAL_END_BTL,      /* opal_btl_peer_t: the transport's */
    OPAL_END_MESSAGES, /* those of the clients of the transports */
    OPAL_END_ONE_SIDED,
    OPAL_END_CONTROL,
    OPAL_END_NETWORK, /* of what matches messages in the network */
    OPAL_ENDS,
} opal_process_end_t;

enum { OPAL_JOB_TAG_BYTES = 8 };

/* The same in all processes. */
typedef struct opal_process_name {
    unsigned char job[OPAL_JOB_TAG_BYTES]; /* the first bytes of SHA-256 of the job's id */
    uint32_t rank;
} opal_process_name_t;

struct opal_process_record;

typedef struct opal_process {
    /* NULL: of the own job; what another job's process has published. */
    struct opal_process_record *record;
    uint32_t index;
    uint32_t rank;     /* in its job */
    uint32_t node;     /* a number for each host of each job */
    atomic_uint users; /* 0: nobody has asked for this entry yet, or any more */
    void *_Atomic ends[OPAL_ENDS];
} opal_process_t;

/* -- start and end, of opal_init and opal_finalize ------------------------------------------- */

opal_status_t opal_process_start(const opal_pmi_job_t *job);
void opal_process_stop(void);

/* -- looking up ------------------------------------------------------------------------------ */

OPAL_EXPORT extern opal_process_t *opal_process_own_job; /* by rank */
OPAL_EXPORT extern uint32_t opal_process_own_size;

/* The place of another job's process, which has been added. */
OPAL_EXPORT opal_process_t *opal_process_foreign_entry(uint32_t index);

/* Where the entry is, whether somebody has asked for it or not. */
static inline opal_process_t *opal_process_entry(uint32_t index)
{
    return opal_likely(index < opal_process_own_size) ? &opal_process_own_job[index]
                                                      : opal_process_foreign_entry(index);
}

/* The entry of a process that is in the table. */
OPAL_EXPORT opal_process_t *opal_process(uint32_t index);
OPAL_EXPORT opal_process_t *opal_process_self(void);

/* What a layer keeps of it; NULL: nothing yet. */
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

/* NULL: it is not in the table. */
OPAL_EXPORT opal_process_t *opal_process_find(const opal_process_name_t *name);

/* Whether one comes before the other in the order of names, which all processes agree on. */
OPAL_EXPORT bool opal_process_is_before(uint32_t one, uint32_t other);

/* -- processes of other jobs ------------------------------------------------------------------ */

/*
 * What others need to reach this process: a record of malloc'ed bytes. It contains the key of this
 * job: whoever has it can speak for one of its ranks.
 */
OPAL_EXPORT opal_status_t opal_process_describe(void **record, size_t *length);

/* The process that a record describes, with one user more; it may be known already. A failure has
 * been logged: OPAL_ERR_PROTOCOL, this is no record; OPAL_ERR_NO_MEMORY. */
OPAL_EXPORT opal_status_t opal_process_add(const void *record, size_t length,
                                           opal_process_t **process);

/* One user more, one less; nothing for ranks of the own job, which stay. The last release forgets
 * the process. `drop` is a release by any thread, without the lock: what nobody uses is forgotten
 * by the next one who adds a process or releases one. */
OPAL_EXPORT void opal_process_retain(uint32_t index);
OPAL_EXPORT void opal_process_release(uint32_t index);
OPAL_EXPORT void opal_process_drop(uint32_t index);

/* Who is told, before a process is forgotten, to end what it keeps of it, also where that end is
 * NULL: a transport has peers that only others talk to. One for each end. */
OPAL_EXPORT void opal_process_on_forget(opal_process_end_t end,
                                        void (*forget)(opal_process_t *process));

/* What another job's process has published, process_record.h; NULL: it is one of the own job. */
static inline const struct opal_process_record *opal_process_record(const opal_process_t *process)
{
    return process->record;
}

#endif
