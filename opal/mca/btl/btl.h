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
 *   landing  a frame of any length out of the sender's memory, that is not read where it arrives
 *            but lands, piece by piece, where the receiving process says
 *
 * A frame is written where it will be read (reserve, fill, commit): the upper layer packs a
 * message straight into it, and unpacks it straight out of it.
 *
 *   sender      room = reserve(peer, 300)      receiver
 *               pack into room
 *               commit(peer, room, kind, 300)     progress -> handler(rank, kind, bytes, 300)
 *
 * Threading: one thread at a time in all of a component, the one that has the upper layer's lock,
 * but for short frames where a transport allows that (`beside_bytes`). Nothing blocks, but for
 * connect and stop.
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
#include "opal/util/list.h"

/*
 * Takes a frame. `bytes` is readable until it returns and aligned to 8. It may reserve and commit
 * frames, to the same peer too, but not call progress.
 */
typedef void opal_btl_handler_fn_t(unsigned rank, unsigned kind, const void *bytes, size_t length);

/*
 * Where the payload of landing frames goes. `name` is what the upper layer of the sender wrote into
 * the frame, `offset` that of the next byte, counted from the number that the sender began with.
 *
 * land says where the next bytes go, at least 1 and at most `bytes`, which is the rest of the
 * frame, in at most `max` segments; returns how many segments. Then as many of them as have come
 * have been written, perhaps none, and landed is told, before anything else is asked or delivered.
 */
typedef struct opal_btl_lander {
    size_t (*land)(unsigned rank, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                   struct iovec *segments, size_t max);
    void (*landed)(unsigned rank, unsigned kind, uint64_t name, size_t offset, size_t bytes);
} opal_btl_lander_t;

struct opal_btl_ops;

enum { OPAL_BTL_MAX_SEGMENTS = 64 }; /* of one frame that is sent now */

/* A frame whose payload lies in memory of the upper layer. */
typedef struct opal_btl_frame {
    unsigned kind;
    bool lands;
    uint64_t name; /* of one that lands, which has no head */
    size_t offset;
    const void *head; /* before the payload */
    size_t head_bytes;
    const struct iovec *segments; /* the payload */
    size_t segment_count, bytes;
} opal_btl_frame_t;

/* A long message on its way: the sender's, from send_long until it is done. */
typedef struct opal_btl_long {
    opal_list_node_t node; /* the transport's */
    opal_btl_frame_t frame;
    void *registration; /* what the transport's pin said of the memory; NULL: it was not asked */
    /* From progress: the memory may be changed, and this is forgotten. Not called if the peer's
     * death or departure is reported instead. */
    void (*done)(struct opal_btl_long *message);
    /* The transport's: bytes whose sending has begun, and ended; where the next ones are. */
    size_t begun, ended;
    size_t segment, skip;
} opal_btl_long_t;

/* A peer as a transport sees it; a component's own structure begins with this one. */
typedef struct opal_btl_peer {
    const struct opal_btl_ops *ops;
    unsigned rank; /* in MPI_COMM_WORLD */
} opal_btl_peer_t;

typedef struct opal_btl_ops {
    const char *name;

    /* A message up to here is best sent as one frame (upper layer's header not counted). */
    size_t eager_bytes;

    /* From here on a message is best left where it is, if the peer sees it there (`shows`). */
    size_t direct_bytes;

    /* A message up to here is best sent without asking the receiver; 0: nothing is said. */
    size_t stream_bytes;

    /* The longest frame, but for those that land; at least 512 and at least eager_bytes + 128. */
    size_t max_frame_bytes;

    /*
     * Frames up to here may be reserved and committed beside the lock: when a frame to that peer
     * has been committed under it, by one thread at a time for each peer, from reserve to commit,
     * while others are in any other call of the component, for this peer too. The upper layer has a
     * lock for each peer that it also takes under its big one, around reserve and commit, or
     * send_now. 0: never.
     */
    size_t beside_bytes;

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
     * Then the peer is answered with the number that it expects, if that is not 0 (`answer`,
     * below): not if something is missing. Returns the bytes copied; OPAL_ERR_NOT_SUPPORTED as a
     * negative number when the system does not permit it (then never again), -OPAL_ERR_SYSTEM when
     * the peer's memory is not there.
     */
    ssize_t (*get)(opal_btl_peer_t *peer, const struct iovec *to, size_t to_count,
                   const struct iovec *from, size_t from_count, uint32_t number);

    /* Whether get can work with this peer, as far as is known. NULL: as `get` is there or not. */
    bool (*can_get)(opal_btl_peer_t *peer);

    /* Whether the peer has this memory of ours mapped, so that its get is nothing but a copy; where
     * we have that of the peer's, or NULL. Both or none. */
    bool (*shows)(opal_btl_peer_t *peer, const void *start, size_t bytes);
    const void *(*see)(opal_btl_peer_t *peer, uintptr_t start, size_t bytes);

    /*
     * Whether get is faster than frames for a message of that many bytes, which comes from the peer
     * (`incoming`) or goes to it, and begins at that address of the one who sends. Only where it
     * can work. NULL: always.
     */
    bool (*get_pays)(opal_btl_peer_t *peer, uintptr_t start, size_t bytes, bool incoming);

    /*
     * An answer that is sooner there than a frame, since nothing else shares its line, for one
     * message at a time. Who waits for it calls `expect` and tells the peer the number that it
     * returns, which is never 0; 0: not now, the answer has to be a frame. When the peer has called
     * `answer` with it, a frame of that kind is delivered, with the 8 bytes of `what`. `bytes` are
     * those of the message if nothing else is waited for, as in a blocking send, else 0. `forget`:
     * it will not come. All or none.
     */
    uint32_t (*expect)(opal_btl_peer_t *peer, unsigned kind, uint64_t what, size_t bytes);
    void (*forget)(opal_btl_peer_t *peer, uint32_t number);
    void (*answer)(opal_btl_peer_t *peer, uint32_t number);

    /*
     * Sends frames out of the caller's memory, which may be changed when this returns: all of them,
     * one behind the other, or none (false: no room, try again after progress). The longest
     * together is stream_bytes and 512 more, of at most OPAL_BTL_MAX_SEGMENTS.
     */
    bool (*send_now)(opal_btl_peer_t *peer, const opal_btl_frame_t *frames, size_t count);

    /* Sends one frame that lands, of any length, in parts, between which other frames go. Both or
     * none. */
    void (*send_long)(opal_btl_peer_t *peer, opal_btl_long_t *message);

    /*
     * For send_long, of one segment: makes whole pages known to the system, so that they are sent
     * from where they are. As the slots of a device of ompi/mca/mpool. All or none; where
     * `can_pin` says no, the others are not called.
     */
    bool (*can_pin)(void);
    opal_status_t (*pin)(void *base, size_t bytes, void **registration);
    void (*unpin)(void *registration, void *base, size_t bytes);

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

/*
 * Who is told that a process has left: it has stopped this component, as MPI_Finalize does, and
 * takes nothing more. Likewise, but under every launcher; behind everything that it has sent; and
 * only of those whom this process has sent something to, who may get it reported as a death if that
 * was the first thing, and came too late. What is sent to it goes nowhere.
 */
typedef void opal_btl_departure_fn_t(unsigned rank);
OPAL_EXPORT void opal_btl_on_departure(opal_btl_departure_fn_t *left);
OPAL_EXPORT void opal_btl_report_departure(unsigned rank);

/* The transports that were started, one after the other: NULL begins, and ends. */
OPAL_EXPORT const opal_btl_ops_t *opal_btl_next(const opal_btl_ops_t *previous);

/* Who says where frames land; set before opal_btl_start. */
OPAL_EXPORT void opal_btl_set_lander(const opal_btl_lander_t *lander);
OPAL_EXPORT const opal_btl_lander_t *opal_btl_lander(void);

/* The way to a peer, by the first transport that reaches it; NULL: none does, which is reported. */
OPAL_EXPORT opal_btl_peer_t *opal_btl_connect(unsigned rank);

#endif
