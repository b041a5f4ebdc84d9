/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's segment: memory that all ranks of a job on one node map, at whatever address.
 *
 *   +---------------------------+ 0
 *   | header: magic, size, who  |
 *   | cursor of what is carved  |
 *   +---------------------------+
 *   | slot of local rank 0      |  doorbell, pid, state; list of what is addressed to it
 *   | slot of local rank 1      |
 *   | ...                       |
 *   +---------------------------+
 *   | carved: rings ...         |  never given back; sparse, so what is not touched costs nothing
 *   +---------------------------+ size
 *
 * It is a memfd, so nothing of it is left behind: mpirun's, handed down by MICA_NODE_FD, or, under
 * another launcher, that of local rank 0, who hands it to the others (node_pass.h). Places in it
 * are told as offsets.
 */
#ifndef OPAL_NODE_NODE_H
#define OPAL_NODE_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/pmi/pmi.h"
#include "opal/progress/wait.h"

enum { OPAL_NODE_CPU_WORDS = 16 }; /* CPUs beyond 1024 are folded */

/* Of which components a rank's modex record is; modex.h. */
typedef enum opal_modex_kind {
    OPAL_MODEX_BTL,
    OPAL_MODEX_MTL,
    OPAL_MODEX_KINDS,
} opal_modex_kind_t;

typedef struct opal_node_slot {
    _Alignas(64) opal_doorbell_t doorbell;

    /* Written by the owner when it attaches, `pid` last. */
    _Alignas(64) atomic_int pid; /* 0: not attached yet; -1: said goodbye */
    unsigned rank;               /* in its job */
    int session;
    atomic_uint is_dead; /* it ended without goodbye; by who noticed it */
    uint64_t cpus[OPAL_NODE_CPU_WORDS];
    uint64_t region_base, region_id; /* region.h, as the owner sees it */
    _Atomic uint64_t
        protocol; /* opal_node_check_protocol: up to 8 letters, the first one lowest; 0: not yet */
    _Atomic uint64_t modex[OPAL_MODEX_KINDS]; /* offsets; 0: not laid yet */

    /* A word that a peer reads to learn whether it may, and what it finds there; node_read.c. */
    _Alignas(64) _Atomic uint64_t probe_address;
    uint64_t probe_value;
    atomic_uint is_reading; /* the owner reads a long message itself */

    /* For btl/sm: the long message that the owner is reading; see share.c. */
    _Alignas(64) _Atomic uint64_t share_claims;
    atomic_uint share_done;

    /* For btl/sm: offset >> 6 of the newest ring that leads here, linked; 0: none. Pushed by
     * peers, taken as a whole by the owner. */
    _Alignas(64) atomic_uint inbox;
    uint32_t rings; /* likewise, those that the owner has made; it alone writes this */

    /* Written by peers at the start, and of local rank 0's slot alone: how many ranks have laid
     * their modex. */
    atomic_uint modex_count[OPAL_MODEX_KINDS];
} opal_node_slot_t;

#define OPAL_NODE_INBOX_CLOSED UINT32_MAX /* the owner takes no rings any more */

/* -- of this process --------------------------------------------------------------------- */

/* Parameters (node_...). */
OPAL_EXPORT opal_status_t opal_node_register(void);
OPAL_EXPORT void opal_node_withdraw(void);

/*
 * Attaches, if the job has more than one rank on this node; collective, with one fence, unless
 * mpirun has made the segments. `job` stays valid until detach. A failure is reported and leaves
 * the process without a segment: transports that need it say so.
 */
OPAL_EXPORT opal_status_t opal_node_attach(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                                           void *pmi_state);

/* Says goodbye and unmaps. What was written for peers stays readable for them. */
OPAL_EXPORT void opal_node_detach(void);

/* NULL and 0: there is none. */
OPAL_EXPORT void *opal_node_base(void);
OPAL_EXPORT size_t opal_node_bytes(void);

/* How many ranks the segment is for, on this node; the pid of the launcher that watches. 0: without
 * a segment, and where nobody watches. */
OPAL_EXPORT unsigned opal_node_ranks(void);
OPAL_EXPORT int opal_node_launcher(void);

/* The slot of a local rank; that of this process. */
OPAL_EXPORT opal_node_slot_t *opal_node_slot(unsigned local_rank);
OPAL_EXPORT opal_node_slot_t *opal_node_own_slot(void);

/* The local rank of a process (opal/process/process.h: its index); -1: it is on another node, or of
 * another job. */
OPAL_EXPORT int opal_node_local_rank(unsigned rank);

/*
 * How this process sends its messages, which has to be the same in all: says it, and looks at what
 * the ranks before and behind this one on the node have said. Of two that differ, whoever comes
 * later sees it; so all are compared, and nobody waits. The local rank of one that differs, and its
 * word; -1: none.
 */
enum { OPAL_NODE_PROTOCOL_BYTES = 9 };
OPAL_EXPORT int opal_node_check_protocol(const char *protocol,
                                         char other[OPAL_NODE_PROTOCOL_BYTES]);

/*
 * Carves `bytes`, zeroed, aligned to 64; 0: the segment is full, which is not reported. Any
 * process, any time. Only addresses are taken: memory comes with the first touch, or by
 * opal_node_populate.
 */
OPAL_EXPORT uint64_t opal_node_carve(size_t bytes);

/*
 * The same for who can do without: it takes no more than a quarter of the segment (and 32 MiB), all
 * ranks together, so that the rings, which cannot be done without, find room.
 */
OPAL_EXPORT uint64_t opal_node_carve_spare(size_t bytes);

/* Makes memory be there, so that running out is an error and no signal. Reports it. */
OPAL_EXPORT opal_status_t opal_node_populate(void *begin, size_t bytes);

static inline void *opal_node_at(uint64_t offset)
{
    return (char *)opal_node_base() + offset;
}

static inline uint64_t opal_node_offset(const void *address)
{
    return (uint64_t)((const char *)address - (const char *)opal_node_base());
}

/* -- a peer's memory (node_read.c) -------------------------------------------------------- */

/* The addresses of a peer that this process has mapped too: ours = theirs + shift. */
typedef struct opal_node_view {
    uintptr_t base;
    size_t bytes; /* 0: it has none that we see */
    uintptr_t shift;
} opal_node_view_t;

/* False: the peer has not attached yet, so it has to be asked again. */
OPAL_EXPORT bool opal_node_view(unsigned local_rank, opal_node_view_t *view);

/* Where we see it; NULL: not all of it, or nothing. */
static inline void *opal_view_at(const opal_node_view_t *view, uintptr_t address, size_t bytes)
{
    uintptr_t offset = address - view->base;
    if (offset >= view->bytes || bytes > view->bytes - offset)
        return NULL;
    return (void *)(address + view->shift);
}

/* Lets the peers of this node read this process's memory, as far as it is ours to say. */
OPAL_EXPORT void opal_node_permit_reading(void);

/* Whether that peer's can be read, by trying. OPAL_ERR_NOT_AVAILABLE: it has not said that it may
 * be, which it does in MPI_Init or never; OPAL_ERR_NOT_SUPPORTED: the system does not permit it. */
OPAL_EXPORT opal_status_t opal_node_probe_reading(unsigned local_rank);

/* Copies from an address of that peer's. OPAL_ERR_SYSTEM: something of it is not there. */
OPAL_EXPORT opal_status_t opal_node_read(unsigned local_rank, void *to, uintptr_t from,
                                         size_t bytes);

/* -- death ------------------------------------------------------------------------------- */

/*
 * How many ranks of the node have died so far: a poll function compares it with what it saw last
 * and asks about its peers when it has grown. Every wait is woken then. Under a launcher that does
 * not watch, a waiting process looks once a second.
 */
OPAL_EXPORT unsigned opal_node_deaths(void);

/* For who waits for a peer other than by a wait of wait.h: call it now and then. */
OPAL_EXPORT void opal_node_watch(void);
OPAL_EXPORT bool opal_node_peer_is_dead(unsigned local_rank);

/* -- for who makes a segment: mpirun, and local rank 0 under another launcher ------------- */

typedef struct opal_node_segment {
    int fd; /* -1: none */
    void *base;
    size_t bytes;
} opal_node_segment_t;

/* `launcher` is the pid of who will declare ranks dead; 0: nobody, the ranks watch themselves. */
OPAL_EXPORT opal_status_t opal_node_create(const char *job_id, unsigned ranks, int launcher,
                                           opal_node_segment_t *segment);
OPAL_EXPORT void opal_node_destroy(opal_node_segment_t *segment);

/*
 * The process of a local rank has ended. If it had attached and not said goodbye, it is marked
 * dead and everybody is woken.
 */
OPAL_EXPORT void opal_node_declare_ended(const opal_node_segment_t *segment, unsigned local_rank);

#endif
