/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's segment: memory that all ranks of a job on one node map, at whatever address.
 *
 *   +---------------------------+ 0
 *   | header: magic, size, job, |
 *   | cursor of what is carved  |
 *   +---------------------------+
 *   | slot of local rank 0      |  doorbell, pid, state; list of what is addressed to it
 *   | slot of local rank 1      |
 *   | ...                       |
 *   +---------------------------+
 *   | carved by transports      |  never given back; sparse, so what is not touched costs nothing
 *   +---------------------------+ size
 *
 * The segment is a memfd, so no file is left behind. The launcher makes it and hands it down
 * (MICA_NODE_FD); otherwise local rank 0 makes it and passes it to the other ranks (fd_pass.h), or
 * the first rank that starts alone makes it, and others find it there (rendezvous.h).
 * Ranks name addresses in it by their offsets.
 */
#ifndef OPAL_NODE_NODE_H
#define OPAL_NODE_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/pmi/pmi.h"
#include "opal/node/alias.h"
#include "opal/progress/wait.h"

enum { OPAL_NODE_CPU_WORDS = 16 }; /* CPUs beyond 1024 are folded */

/* The components that publish a modex record (opal/process/modex.h). Those of OPAL_MODEX_SM are for
 * other jobs alone. */
typedef enum opal_modex_kind {
    OPAL_MODEX_BTL,
    OPAL_MODEX_MTL,
    OPAL_MODEX_SM,
    OPAL_MODEX_KINDS,
} opal_modex_kind_t;

typedef struct opal_node_slot {
    _Alignas(64) opal_doorbell_t doorbell;

    /* Written by the owner when it attaches, `pid` last. */
    _Alignas(64) atomic_int pid; /* 0: not attached yet; -1: detached */
    unsigned rank;               /* in its job */
    int session;
    atomic_uint is_dead; /* it ended without detaching; written by the process that noticed it */
    uint64_t cpus[OPAL_NODE_CPU_WORDS];
    uint64_t region_base, region_id; /* region.h; the address in the owner */
    _Atomic uint64_t
        protocol; /* opal_node_check_protocol: up to 8 letters, the first one lowest; 0: not yet */
    _Atomic uint64_t modex[OPAL_MODEX_KINDS]; /* offsets; 0: not written yet */

    /* A word of the owner that a peer reads to find out whether it may read, and its value. */
    _Alignas(64) _Atomic uint64_t probe_address;
    uint64_t probe_value;
    uint64_t statics, statics_bytes, statics_offset; /* as in opal_region; written with `rank` */
    _Atomic uint64_t aliases; /* where in the region its table of aliases lies; 0: it has none */
    atomic_uint is_reading;   /* the owner reads a long message itself */

    /* For a transport: parts of a long message that the owner and its sender copy together. */
    _Alignas(64) _Atomic uint64_t share_claims;
    atomic_uint share_done;

    /* For a transport: offset >> 6 of the newest ring that leads here, linked; 0: none. Pushed by
     * peers, taken as a whole by the owner. */
    _Alignas(64) atomic_uint inbox;
    uint32_t
        rings; /* linked in the same way: those that the owner has made; it alone writes this */

    /* In local rank 0's slot alone, written by all ranks at the start: how many of them have
     * written their modex records. */
    atomic_uint modex_count[OPAL_MODEX_KINDS];

    /* There, too, found by opal_shared_find: the locks of one-sided communication, and of files. */
    _Atomic uint64_t stripes, file_locks;

    /* The offset of what the owner tells the others about its calls (mpi_check); 0: nothing. */
    _Atomic uint64_t board;

    /* That of what it says of waits that last (opal/roll/roll.h); 0: none has lasted so far. */
    _Atomic uint64_t roll;
} opal_node_slot_t;

/* Which process is the first of several that fail, and so reports (opal/crash). */
typedef struct opal_node_claim {
    atomic_uint owner;   /* its pid; 0: none has failed */
    atomic_uint is_done; /* it has reported; a futex */
} opal_node_claim_t;

#define OPAL_NODE_INBOX_CLOSED UINT32_MAX /* the owner accepts no rings any more */

/* -- of this process --------------------------------------------------------------------- */

/* Parameters (node_...). */
OPAL_EXPORT opal_status_t opal_node_register(void);
OPAL_EXPORT void opal_node_withdraw(void);

/*
 * Attaches, if the job has more than one rank on this node; collective, with one fence, unless the
 * launcher has made the segments. `job` stays valid until detach. A failure was logged, and leaves
 * the process without a segment: transports that need one refuse to run, with the reason.
 */
OPAL_EXPORT opal_status_t opal_node_attach(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                                           void *pmi_state);

/* The same, by this process alone (rendezvous.h). *left_out: opal_node_attach would have had a
 * fence. */
OPAL_EXPORT opal_status_t opal_node_attach_alone(const opal_pmi_job_t *job, bool *left_out);

/* Detaches and unmaps. Peers can still read what this rank has written for them. */
OPAL_EXPORT void opal_node_detach(void);

/* NULL, 0 and -1: there is none. */
OPAL_EXPORT void *opal_node_base(void);
OPAL_EXPORT size_t opal_node_bytes(void);
OPAL_EXPORT int opal_node_fd(void);

/* The claim of the ranks of the segment; NULL: there is no segment. */
OPAL_EXPORT opal_node_claim_t *opal_node_claim(void);

/* The number of ranks of the segment, that is of this node. The pid of the launcher that watches
 * the ranks. 0: there is no segment; no launcher watches. */
OPAL_EXPORT unsigned opal_node_ranks(void);
OPAL_EXPORT int opal_node_launcher(void);

/* Writes what peers must know of this process into its slot, except `pid`. */
OPAL_EXPORT void opal_slot_introduce(opal_node_slot_t *own, unsigned rank);

/* The slot of a local rank; that of this process. */
OPAL_EXPORT opal_node_slot_t *opal_node_slot(unsigned local_rank);
OPAL_EXPORT opal_node_slot_t *opal_node_own_slot(void);

/* Whether a process (opal/process/process.h: its index) is of this job, and on this node, which has
 * a segment. */
OPAL_EXPORT bool opal_node_has(unsigned rank);

/* The local rank of a process (opal/process/process.h: its index); -1: it is on another node, or of
 * another job. */
OPAL_EXPORT int opal_node_local_rank(unsigned rank);

/*
 * Publishes the name of the protocol by which this process sends its messages, which must be the
 * same in all ranks, and compares it with those that the ranks before and behind this one on the
 * node have published. Of two ranks that differ, the later one notices. So all are compared, and no
 * rank waits. Returns the local rank of one that differs, with its protocol; -1: none does.
 */
enum { OPAL_NODE_PROTOCOL_BYTES = 9 };
OPAL_EXPORT int opal_node_check_protocol(const char *protocol,
                                         char other[OPAL_NODE_PROTOCOL_BYTES]);

/*
 * Allocates `bytes` of the segment, zeroed, aligned to 64; returns the offset. 0: the segment is
 * full, which is not logged. Any process, any time. This takes addresses only: memory comes with
 * the first touch, or by opal_node_populate.
 */
OPAL_EXPORT uint64_t opal_node_carve(size_t bytes);

/*
 * opal_node_carve for memory that the caller can do without. All ranks together get no more than a
 * quarter of the segment (and 32 MiB) in this way, so that the transports find room for their
 * rings.
 */
OPAL_EXPORT uint64_t opal_node_carve_spare(size_t bytes);

/* Populates pages, so that a lack of memory is an error, which is logged, and no signal. */
OPAL_EXPORT opal_status_t opal_node_populate(void *begin, size_t bytes);

static inline void *opal_node_at(uint64_t offset)
{
    return (char *)opal_node_base() + offset;
}

static inline uint64_t opal_node_offset(const void *address)
{
    return (uint64_t)((const char *)address - (const char *)opal_node_base());
}

/* -- a peer's memory (node_read.c) ------------------------------------------------------- */

/* The addresses of a peer that this process has mapped too: ours = theirs + shift. */
typedef struct opal_node_view {
    uintptr_t base;
    size_t bytes; /* 0: none */
    uintptr_t shift;
    uintptr_t statics; /* its static data, with a shift of its own */
    size_t statics_bytes;
    uintptr_t statics_shift;
    const _Atomic uint64_t *aliases; /* of its slot; NULL: none */
} opal_node_view_t;

/* A region as it is mapped here: that of the own job, or another job's. */
typedef struct opal_node_mapped {
    uintptr_t base;
    size_t bytes; /* 0: none */
    uint64_t id;
} opal_node_mapped_t;

/* Of the process whose slot that is, and which uses that region; of a peer of the own job. False:
 * it has not attached yet; the caller tries again later. */
OPAL_EXPORT bool opal_slot_view(const opal_node_slot_t *slot, const opal_node_mapped_t *region,
                                opal_node_view_t *view);
OPAL_EXPORT bool opal_node_view(unsigned local_rank, opal_node_view_t *view);

/* For an address in an alias of the peer's. NULL: it is in none. */
OPAL_EXPORT void *opal_view_alias(const opal_node_view_t *view, uintptr_t address, size_t bytes);

/* The address of the peer's bytes in this process; NULL: not all of them are mapped here. */
static inline void *opal_view_at(const opal_node_view_t *view, uintptr_t address, size_t bytes)
{
    uintptr_t offset = address - view->base;
    if (offset < view->bytes)
        return bytes <= view->bytes - offset ? (void *)(address + view->shift) : NULL;
    offset = address - view->statics;
    if (offset < view->statics_bytes)
        return bytes <= view->statics_bytes - offset ? (void *)(address + view->statics_shift)
                                                     : NULL;
    return address - OPAL_ALIAS_BASE < OPAL_ALIAS_BYTES ? opal_view_alias(view, address, bytes)
                                                        : NULL;
}

/* The same for an address that the peer says is in the region. */
static inline void *opal_view_of(const opal_node_view_t *view, uintptr_t address)
{
    if (address - OPAL_ALIAS_BASE < OPAL_ALIAS_BYTES && view->aliases != NULL)
        return opal_view_at(view, address, 0);
    bool is_static = address - view->statics < view->statics_bytes;
    return (void *)(address + (is_static ? view->statics_shift : view->shift));
}

/* Permits the peers of this node to read this process's memory, as far as a process can. `own` is
 * the slot in which they find this process. */
OPAL_EXPORT void opal_node_permit_reading(opal_node_slot_t *own);

/* Whether that peer's memory can be read, by reading a word. OPAL_ERR_NOT_AVAILABLE: the peer has
 * not called opal_node_permit_reading, which it does at its start or never; OPAL_ERR_NOT_SUPPORTED:
 * the system does not permit it. */
OPAL_EXPORT opal_status_t opal_slot_probe_reading(const opal_node_slot_t *slot);
static inline opal_status_t opal_node_probe_reading(unsigned local_rank)
{
    return opal_slot_probe_reading(opal_node_slot(local_rank));
}

/* Copies from an address of that peer. OPAL_ERR_SYSTEM: not all of the bytes are mapped there. */
OPAL_EXPORT opal_status_t opal_node_read(unsigned local_rank, void *to, uintptr_t from,
                                         size_t bytes);

/* Copies between segments of this process and segments of that peer, by system calls, until one
 * side ends. Returns the bytes, or -errno, and then some may have been copied. */
OPAL_EXPORT ssize_t opal_slot_move(const opal_node_slot_t *slot, bool write,
                                   const struct iovec *here, size_t here_count,
                                   const struct iovec *there, size_t there_count);
static inline ssize_t opal_node_move(unsigned local_rank, bool write, const struct iovec *here,
                                     size_t here_count, const struct iovec *there,
                                     size_t there_count)
{
    return opal_slot_move(opal_node_slot(local_rank), write, here, here_count, there, there_count);
}

/* -- peer failure -------------------------------------------------------------------------- */

/*
 * How many ranks of the node have died so far. A poll function compares the number with what it saw
 * last, and checks its peers when the number has grown. A death wakes every wait. Where no launcher
 * watches the ranks, a waiting process checks them once a second.
 */
OPAL_EXPORT unsigned opal_node_deaths(void);

/* Called now and then by code that waits for a peer, but not by a wait of opal/progress/wait.h. Any
 * thread. */
OPAL_EXPORT void opal_node_watch(void);
OPAL_EXPORT bool opal_node_peer_is_dead(unsigned local_rank);

/* -- making a segment: the launcher, or a rank ------------------------------------------- */

#define OPAL_NODE_SEGMENT_NAME "mica-node" /* of the memfd */

/* Whether the descriptor is that of a segment of this job. */
bool opal_node_is_of(int fd, const opal_pmi_job_t *job);

typedef struct opal_node_segment {
    int fd; /* -1: none */
    void *base;
    size_t bytes;
} opal_node_segment_t;

/* `launcher` is the pid of the process that declares ranks dead; 0: the ranks watch each other. */
OPAL_EXPORT opal_status_t opal_node_create(const char *job_id, unsigned ranks, int launcher,
                                           opal_node_segment_t *segment);
OPAL_EXPORT void opal_node_destroy(opal_node_segment_t *segment);

/* Maps a segment of any job, for a reader: nothing is written. The descriptor stays the caller's,
 * and is not closed by opal_node_destroy. False: it is no segment of this version. */
OPAL_EXPORT bool opal_node_view_segment(int fd, opal_node_segment_t *segment);
OPAL_EXPORT const char *opal_segment_job_id(const opal_node_segment_t *segment);
OPAL_EXPORT unsigned opal_segment_ranks(const opal_node_segment_t *segment);
OPAL_EXPORT const opal_node_slot_t *opal_segment_slot(const opal_node_segment_t *segment,
                                                      unsigned local_rank);

/*
 * The process of a local rank has ended. Unless it had detached, it is marked dead, and all ranks
 * of the node are woken: one that has never attached may be waited for by ranks that have a
 * session.
 */
OPAL_EXPORT void opal_node_declare_ended(const opal_node_segment_t *segment, unsigned local_rank);

#endif
