/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl: byte transports between processes.
 *
 * Contract of the framework. Every usable component is taken; for each process the first one, by
 * priority, that reaches it carries everything. Transports move frames and memory and know nothing
 * of MPI. They serve several clients: messages, one-sided communication, control.
 *
 *   frame        up to max_frame_bytes, written where the peer reads it: reserve, fill, commit;
 *                or out of the sender's memory: send_now
 *   placed frame of any length, out of the sender's memory to where the receiving client says
 *   pull         copies out of the memory of a sender that waits for it (rendezvous)
 *
 * Frames between two processes are delivered once and in the order in which they were sent,
 * whichever client sent them; the payload of long placed frames is ordered with nothing. Which
 * protocol a message takes is the client's decision.
 *
 * Threading: the caller holds the upper layer's lock in every call, but for frames up to
 * `unlocked_bytes`. Nothing blocks, but for start and stop. Callbacks come from progress, in which
 * they may send and begin operations, but not call progress.
 */
#ifndef OPAL_MCA_BTL_H
#define OPAL_MCA_BTL_H

#include <sys/types.h>
#include <sys/uio.h>

#include "opal/runtime/process.h"
#include "opal/util/list.h"

/* -- clients --------------------------------------------------------------------------------- */

enum { OPAL_BTL_KINDS = 16, OPAL_BTL_MAX_SEGMENTS = 64 };

/* Client c has the kinds of frames from c * OPAL_BTL_KINDS on, in all processes. */
typedef enum opal_btl_client_id {
    OPAL_BTL_MESSAGES,
    OPAL_BTL_ONE_SIDED,
    OPAL_BTL_CONTROL,
    OPAL_BTL_TRANSPORTS = 15, /* their own */
    OPAL_BTL_CLIENTS,
} opal_btl_client_id_t;

typedef struct opal_btl_client {
    const char *name;

    /* Takes a frame; `bytes` is aligned to 8 and readable until it returns. False: it cannot be
     * taken now. Then it is delivered again later, and nothing behind it from there before. */
    bool (*receive)(opal_process_t *from, unsigned kind, const void *bytes, size_t length);

    /* Where the next bytes of a placed frame go: at least 1, at most `bytes` of them, in at most
     * `max` segments; how many segments. `name` is what the sender has written into the frame,
     * `offset` that of the next byte, counted from where the sender began. Then, before any other
     * callback, `placed` tells how many have been written there, perhaps none. Both or none. */
    size_t (*place)(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                    struct iovec *segments, size_t max);
    void (*placed)(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes);

    /* The process has died, or there is no memory for the way to it (`why` is OPAL_ERR_NO_MEMORY);
     * or it has left, behind everything that it has sent: it has stopped its
     * transports and takes nothing more. Departures are told of those only that this process has
     * sent something to; if that came too late, they may be told as deaths. Once for each. May be
     * NULL. */
    void (*failed)(opal_process_t *process, opal_status_t why);
    void (*left)(opal_process_t *process);
} opal_btl_client_t;

/* The first client starts every transport that was chosen, the last one stops them. A failure has
 * been reported, and nothing is open. */
OPAL_EXPORT opal_status_t opal_btl_open(opal_btl_client_id_t id, const opal_btl_client_t *client);
OPAL_EXPORT void opal_btl_close(opal_btl_client_id_t id);

/* -- what is sent ---------------------------------------------------------------------------- */

/* A frame whose payload lies in the client's memory. */
typedef struct opal_btl_frame {
    unsigned kind;
    bool is_placed;
    uint64_t name; /* of a placed frame, which has no head */
    size_t offset;
    const void *head; /* before the payload */
    size_t head_bytes;
    const struct iovec *segments; /* the payload */
    size_t segment_count, bytes;
} opal_btl_frame_t;

/* A long placed frame: the sender's, from send_long until it is done. */
typedef struct opal_btl_long {
    opal_list_node_t node; /* the transport's, as what has no comment below */
    opal_btl_frame_t frame;
    void *registration; /* what `pin` said of the one segment; NULL: it was not asked */
    void (*done)(struct opal_btl_long *message); /* not if the peer fails or leaves */
    size_t begun, ended, segment, skip;
} opal_btl_long_t;

/* -- transports ------------------------------------------------------------------------------ */

/* A peer as a transport sees it: a component's own structure begins with this one. */
typedef struct opal_btl_peer {
    const struct opal_btl_ops *ops;
    opal_process_t *process;
} opal_btl_peer_t;

typedef struct opal_btl_ops {
    const char *name;
    size_t eager_bytes;  /* a message up to here is best sent as one frame (without its header) */
    size_t stream_bytes; /* up to here without asking the receiver; 0: nothing is said */
    size_t direct_bytes; /* from here on best left where it is, if the peer has that mapped */
    size_t max_frame_bytes; /* of what is not placed; >= 512, >= eager_bytes + 128 */
    /* Frames up to here may be sent without the upper layer's lock, by one thread at a time for a
     * peer, once a frame to it was sent under that lock. 0: never. */
    size_t unlocked_bytes;

    /* -- required. Start comes first, and may come again behind stop, after which nothing is
     * delivered and peers are gone; what was sent still arrives at those who poll on. -- */
    opal_status_t (*start)(void *state);
    void (*stop)(void *state);

    /* Makes a process reachable, cheaply: what costs memory or traffic waits for the first frame.
     * OPAL_ERR_NOT_AVAILABLE, without a message: not by this transport. */
    opal_status_t (*connect)(void *state, opal_process_t *process, opal_btl_peer_t **peer);

    /* Room for a frame, aligned to 8, to be filled and committed (cut to `length`) before any other
     * call. NULL: not now; try again in a poll function, as a wait is woken when there is room. A
     * transport that has no memory for its buffers reports the peer as failed. */
    void *(*reserve)(opal_btl_peer_t *peer, size_t length);
    void (*commit)(opal_btl_peer_t *peer, void *room, unsigned kind, size_t length);

    /* Delivers what has arrived, in bounded batches, in turns; how many frames. */
    int (*progress)(void *state);

    /* -- optional: placed frames out of the client's memory. send_now: all frames, one behind the
     * other, copied when it returns, or none (false: not now); at most stream_bytes + 512, and
     * OPAL_BTL_MAX_SEGMENTS. send_long goes in parts, between which other frames go. -- */
    bool (*send_now)(opal_btl_peer_t *peer, const opal_btl_frame_t *frames, size_t count);
    void (*send_long)(opal_btl_peer_t *peer, opal_btl_long_t *message);

    /* Registers pages so that send_long sends them from where they are; if can_pin says yes. */
    bool (*can_pin)(void);
    opal_status_t (*pin)(void *base, size_t bytes, void **registration);
    void (*unpin)(void *registration, void *base, size_t bytes);

    /* -- optional: rendezvous within a node. pull copies between segments of the same size; the
     * bytes copied, or a status, negative: OPAL_ERR_NOT_SUPPORTED, the system does not permit it
     * (never again), OPAL_ERR_SYSTEM, that memory is not there. Then it completes `slot`, if all is
     * there and that is not 0. can_pull: as far as is known. is_mapped: the peer has our memory
     * mapped; map: where we have its memory, or NULL. pull_pays: it is faster than frames, by what
     * was measured, for data at that address of the sender's; `incoming`: the peer is the sender.
     * arm: a completion slot; when the peer has completed it, a frame of that kind with 8 bytes
     * `what` is delivered. `memory`: the one run that the peer pulls, or an empty one;
     * awaited_bytes: of a message that the caller waits for alone, else 0. 0: none is free. -- */
    ssize_t (*pull)(opal_btl_peer_t *peer, const struct iovec *to, size_t to_count,
                    const struct iovec *from, size_t from_count, uint32_t slot);
    bool (*can_pull)(opal_btl_peer_t *peer);
    bool (*is_mapped)(opal_btl_peer_t *peer, const void *start, size_t bytes);
    const void *(*map)(opal_btl_peer_t *peer, uintptr_t start, size_t bytes);
    bool (*pull_pays)(opal_btl_peer_t *peer, uintptr_t start, size_t bytes, bool incoming);
    uint32_t (*arm)(opal_btl_peer_t *peer, unsigned kind, uint64_t what, const struct iovec *memory,
                    size_t awaited_bytes);
    void (*disarm)(opal_btl_peer_t *peer, uint32_t slot);
    void (*complete)(opal_btl_peer_t *peer, uint32_t slot);

    const char *(*describe)(opal_btl_peer_t *peer); /* a phrase for --explain; may be NULL */
} opal_btl_ops_t;

/* The way to a process, by the first transport that reaches it; NULL: none does, as reported. */
OPAL_EXPORT opal_btl_peer_t *opal_btl_connect(opal_process_t *process);

/* The transports that were started, one after the other: NULL begins, and ends. */
OPAL_EXPORT const opal_btl_ops_t *opal_btl_next(const opal_btl_ops_t *previous);

#endif
