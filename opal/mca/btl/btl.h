/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl: byte transports between the processes of a job.
 *
 * Contract of the framework. Every usable component is taken; for each peer the first one, by
 * priority, that reaches it carries everything. A transport knows frames and memory, and
 * nothing of MPI:
 *
 *   frame    up to max_frame_bytes, delivered once, in the order in which they were committed,
 *            to the handler of the receiving process
 *   get      copies out of the memory of a peer that is waiting for it, without its help
 *
 * A frame is written where it will be read (reserve, fill, commit): the upper layer packs a
 * message straight into it, and unpacks it straight out of it.
 *
 *   sender      room = reserve(peer, 300)      receiver
 *               pack into room
 *               commit(peer, room, kind, 300)     progress -> handler(rank, kind, bytes, 300)
 *
 * Threading: one thread at a time in all of a component, unless a slot says otherwise; the upper
 * layer holds its lock. Nothing blocks, but for connect and stop.
 */
#ifndef OPAL_MCA_BTL_H
#define OPAL_MCA_BTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"

/*
 * Takes a frame. `bytes` is readable until it returns and aligned to 8. It may reserve and commit
 * frames, to the same peer too, but not call progress.
 */
typedef void opal_btl_handler_fn_t(unsigned rank, unsigned kind, const void *bytes, size_t length);

struct opal_btl_ops;

/* A peer as a transport sees it; a component's own structure begins with this one. */
typedef struct opal_btl_peer {
    const struct opal_btl_ops *ops;
    unsigned rank; /* in MPI_COMM_WORLD */
} opal_btl_peer_t;

typedef struct opal_btl_ops {
    const char *name;

    /* A message up to here is best sent as one frame (upper layer's header not counted). */
    size_t eager_bytes;

    /* The longest frame; at least 512 and at least eager_bytes + 128. */
    size_t max_frame_bytes;

    /* -- required -- */

    /* Called once, before any other: from now on frames that arrive go to the handler. */
    opal_status_t (*start)(void *state, opal_btl_handler_fn_t *handler);

    /*
     * Makes a peer reachable. OPAL_ERR_NOT_AVAILABLE, without a message: not by this transport.
     * Cheap: what costs memory or traffic waits for the first frame. The peer belongs to the
     * component until stop.
     */
    opal_status_t (*connect)(void *state, unsigned rank, opal_btl_peer_t **peer);

    /*
     * Room for one frame of `length` bytes, aligned to 8; NULL: there is none now, try again after
     * progress. A wait (opal/runtime/wait.h) is woken when there is room again, so a poll function
     * has to try. One reservation per peer at a time, to be committed before the next call of
     * anything but its own filling. A transport that cannot go on (no memory for its buffers) says
     * why and ends the job.
     */
    void *(*reserve)(opal_btl_peer_t *peer, size_t length);

    /* Sends it, cut to `length` bytes (not more than reserved). `kind` is 0 to 254. Wakes a peer
     * that sleeps. */
    void (*commit)(opal_btl_peer_t *peer, void *room, unsigned kind, size_t length);

    /* Delivers what has arrived, in bounded batches, in turns among the peers. Returns how many
     * frames. */
    int (*progress)(void *state);

    /* Ends: no frame is delivered afterwards, and peers are gone. What was committed still arrives
     * at those who poll on. Start may come again. */
    void (*stop)(void *state);

    /* -- optional -- */

    /*
     * Copies from the peer's memory to ours, both given as segments of the same total size, which
     * do not overlap.
     * Returns the bytes copied; OPAL_ERR_NOT_SUPPORTED as a negative number when the system does
     * not permit it (then never again), -OPAL_ERR_SYSTEM when the peer's memory is not there.
     */
    ssize_t (*get)(opal_btl_peer_t *peer, const struct iovec *to, size_t to_count,
                   const struct iovec *from, size_t from_count);

    /* Whether get can work with this peer, as far as is known. NULL: as `get` is there or not. */
    bool (*can_get)(opal_btl_peer_t *peer);

    /*
     * Whether get is faster than frames for a message of that many bytes, which comes from the peer
     * (`incoming`) or goes to it. Only where it can work. NULL: always.
     */
    bool (*get_pays)(opal_btl_peer_t *peer, size_t bytes, bool incoming);

    /* NULL, or a phrase for --explain: "ring of 64 KiB, get by process_vm_readv". */
    const char *(*describe)(opal_btl_peer_t *peer);
} opal_btl_ops_t;

/*
 * All transports of the process together. Starts every chosen one, with its progress; a failure
 * has been reported, and opal_btl_stop ends what had begun.
 */
OPAL_EXPORT opal_status_t opal_btl_start(opal_btl_handler_fn_t *handler);
OPAL_EXPORT void opal_btl_stop(void);

/*
 * Who is told that a process of the job has died, once for each; from opal_btl_start to
 * opal_btl_stop, inside of progress. NULL, as in the beginning: nobody. Transports that notice
 * say it by opal_btl_report_death; not under a launcher that then ends the job anyway.
 */
typedef void opal_btl_death_fn_t(unsigned rank);
OPAL_EXPORT void opal_btl_on_death(opal_btl_death_fn_t *died);
OPAL_EXPORT void opal_btl_report_death(unsigned rank);

/* The way to a peer, by the first transport that reaches it; NULL: none does, which is reported. */
OPAL_EXPORT opal_btl_peer_t *opal_btl_connect(unsigned rank);

#endif
