/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl: byte transports between processes.
 *
 * Contract of the framework. Every usable component is chosen; the first one by priority that
 * reaches a process carries everything to it. Transports move frames and memory, and know nothing
 * of MPI. Their clients (messages, one-sided communication, control) choose the protocols.
 *
 *   frame             up to max_frame_bytes: reserve, fill, commit; or send; or send_now
 *   placed frame      zcopy: of any length, from the sender's memory to where the client places it
 *   put, get, atomic  on memory that the peer has exposed, or that both have mapped
 *   rndv_get          rendezvous: the receiver copies out of the sender's memory
 *
 * Frames between two processes are delivered once, in the order in which they were sent, whichever
 * client sent them. Payload of long placed frames and operations on memory are not ordered. When a
 * put is done its bytes are in the peer's memory, before any frame that is sent afterwards. Atomics
 * on a location are atomic for all processes. On peer failure, or when the peer leaves, operations
 * end with OPAL_ERR_DISCONNECTED.
 *
 * Threading: the caller holds the upper layer's lock, except for lanes (lane.h). Only start and
 * stop block. Callbacks are called from progress; they may send, but not call progress.
 */
#ifndef OPAL_MCA_BTL_H
#define OPAL_MCA_BTL_H

#include <sys/types.h>
#include <sys/uio.h>

#include "opal/mca/btl/lane.h"
#include "opal/process/process.h"
#include "opal/util/list.h"

/* -- clients --------------------------------------------------------------------------------- */

enum {
    OPAL_BTL_KINDS = 16,
    OPAL_BTL_MAX_SEGMENTS = 64,
    OPAL_BTL_NO_SLOT = 1 << 30,
    OPAL_BTL_HEAD = 12,   /* bytes of the head of a short frame */
    OPAL_BTL_SHORT = 512, /* the most behind that head */
};

/* Client c has the kinds of frames from c * OPAL_BTL_KINDS on, in all processes. */
typedef enum opal_btl_client_id {
    OPAL_BTL_MESSAGES,
    OPAL_BTL_ONE_SIDED,
    OPAL_BTL_CONTROL,
    OPAL_BTL_TRANSPORTS = 15, /* their own */
    OPAL_BTL_CLIENTS,
} opal_btl_client_id_t;

typedef struct opal_btl_client {
    /* Takes a frame, whose bytes are aligned to 8. False: not now; the transport delivers the frame
     * again later, and before that no other frame from that process. */
    bool (*receive)(opal_process_t *from, unsigned kind, const void *bytes, size_t length);

    /* Takes a frame of that lane without the upper layer's lock. False: it cannot, and nothing was
     * done. May be NULL. */
    bool (*take)(unsigned lane, unsigned kind, const void *bytes, size_t length);

    /* Placement: writes where the next bytes of a placed frame go, 1 to `bytes` of them, in at most
     * `max` segments; returns how many. `name` and the first `offset` are the sender's. The next
     * callback is `placed`, with the number of bytes written there, or 0. Both slots or none. */
    size_t (*place)(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                    struct iovec *segments, size_t max);
    void (*placed)(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes);

    /* Peer failure: the process has died, or has ended without ever having started (NOT_FOUND), or
     * there is no memory for a connection (NO_MEMORY). left:
     * it has stopped its transports, and all that it had sent was delivered; only for a process
     * that this one has sent to, and `failed` if that came too late. Once a process. May be NULL.
     */
    void (*failed)(opal_process_t *process, opal_status_t why);
    void (*left)(opal_process_t *process);
} opal_btl_client_t;

/* The first client starts all transports, the last one stops them. A failure was logged. */
OPAL_EXPORT opal_status_t opal_btl_open(opal_btl_client_id_t id, const opal_btl_client_t *client);
OPAL_EXPORT void opal_btl_close(opal_btl_client_id_t id);

/* In place of open and close, for a client that does not keep the transports open, because
 * something else carries its frames: it is told of failures. NULL: not any more. */
OPAL_EXPORT void opal_btl_watch(opal_btl_client_id_t id, const opal_btl_client_t *client);

struct opal_btl_ops;

/* An observer is told when a transport is chosen for a process, and, once, that the process has
 * failed, before the clients are. Its functions are called as the clients' are, and do not call the
 * transports. There is one observer, and it stays. */
typedef struct opal_btl_observer {
    void (*connected)(const opal_process_t *process, const struct opal_btl_ops *transport);
    void (*failed)(const opal_process_t *process, opal_status_t why);
} opal_btl_observer_t;

OPAL_EXPORT void opal_btl_observe(const opal_btl_observer_t *observer);

/* For what carries frames: a client has refused one, or there is no room for one, and no event
 * comes when that ends: the next sleep is short. */
OPAL_EXPORT void opal_btl_retry_soon(void);

/* -- what is sent ---------------------------------------------------------------------------- */

/* The head of a short frame, OPAL_BTL_HEAD bytes: it is passed in two registers. */
typedef struct opal_btl_head {
    uint64_t first;
    uint32_t last;
} opal_btl_head_t;

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

/* A long placed frame. The caller keeps it from send_long until it is done. */
typedef struct opal_btl_long {
    opal_btl_frame_t frame;
    void *registration; /* of the one segment, set by `pin`; NULL: not registered */
    void (*done)(struct opal_btl_long *message); /* not if the peer fails or leaves */
    opal_list_node_t node;                       /* the transport's, as the next line */
    size_t begun, ended, segment, skip;
} opal_btl_long_t;

enum { OPAL_BTL_ADD, OPAL_BTL_AND, OPAL_BTL_OR, OPAL_BTL_XOR, OPAL_BTL_SWAP, OPAL_BTL_CAS };

/* An operation on `bytes` of a peer's memory. The client keeps it, unchanged, until it is done. */
typedef struct opal_btl_operation {
    void *local;       /* of put and get */
    uint64_t address;  /* of the peer's */
    uint64_t exposure; /* what opal_btl_expose returned there; 0: the address is in the region */
    size_t bytes;      /* of an atomic: 4 or 8, and the address is a multiple of it */
    unsigned atomic;   /* OPAL_BTL_ADD ... */
    uint64_t operand, compare; /* compare: of OPAL_BTL_CAS */
    uint64_t result;           /* the value before */
    opal_status_t status;      /* when it is done; BAD_PARAM: not exposed, if that is noticed */
    void (*done)(struct opal_btl_operation *operation);
    opal_list_node_t node; /* the transport's, as the next lines */
    struct opal_btl_peer *peer;
    uint64_t name, begun, ended;
    unsigned kind;
} opal_btl_operation_t;

/* Lets peers operate on this memory. Returns a name for it; 0: no memory. */
enum { OPAL_BTL_READ = 1, OPAL_BTL_WRITE = 2 };
OPAL_EXPORT uint64_t opal_btl_expose(void *base, size_t bytes, unsigned access);
OPAL_EXPORT void opal_btl_hide(uint64_t exposure);

/* -- transports ------------------------------------------------------------------------------ */

/* A peer as a transport sees it: a component's own structure begins with this one. */
typedef struct opal_btl_peer {
    const struct opal_btl_ops *ops;
    opal_process_t *process;
    bool is_unreachable; /* set by the base: it has failed or left */
    bool has_failed;     /* set by the base, too */
} opal_btl_peer_t;

/* How many failures were reported so far. Code that waits for a peer by other means than a
 * transport compares the number with what it saw last. */
OPAL_EXPORT extern unsigned opal_btl_failures;

/* Begins an operation on the peer's memory. True: it is done, and `done` is not called. */
typedef bool opal_btl_operate_fn_t(opal_btl_peer_t *peer, opal_btl_operation_t *operation);

typedef struct opal_btl_ops {
    const char *name;
    size_t eager_bytes;     /* messages up to here are best sent as one frame */
    size_t stream_bytes;    /* up to here without asking the receiver; 0: the client chooses */
    size_t direct_bytes;    /* from here on by rndv_get, if the peer has them mapped */
    size_t max_frame_bytes; /* of frames that are not placed; >= 512, >= eager_bytes + 128 */
    size_t lane_bytes;      /* the longest frame of a lane */

    /* -- required. After stop nothing is delivered and peers are freed; start may follow. -- */
    opal_status_t (*start)(void *state);
    void (*stop)(void *state);

    /* Creates the peer of a process; memory and traffic wait for the first frame.
     * OPAL_ERR_NOT_AVAILABLE, without a log message: not by this transport. */
    opal_status_t (*connect)(void *state, opal_process_t *process, opal_btl_peer_t **peer);

    /* Optional, for processes of other jobs. offer: this one is about to be described to them:
     * hands in a modex record by which they reach it (opal_modex_offer), or none. forget: no client
     * uses that process any more: frees its peer, if there is one. */
    void (*offer)(void *state);
    void (*forget)(void *state, opal_process_t *process);

    /* Optional: takes what the first frame to the peer needs, without telling the peer. */
    void (*prepare)(opal_btl_peer_t *peer);

    /* Room for a frame, aligned to 8, to be filled and committed (cut to `length`) before any other
     * call. NULL: not now; when there is room, waits wake up, so a poll function tries again. */
    void *(*reserve)(opal_btl_peer_t *peer, size_t length);
    void (*commit)(opal_btl_peer_t *peer, void *room, unsigned kind, size_t length);

    /* A short frame: its head, and `length` bytes behind it. False: not now. */
    bool (*send_short)(opal_btl_peer_t *peer, unsigned kind, opal_btl_head_t head,
                       const void *bytes, size_t length);

    opal_btl_operate_fn_t *put, *get, *atomic;

    /* Delivers frames in bounded batches, peers in turns; returns how many frames. NULL: the
     * transport adds and removes its poll function itself. */
    int (*progress)(void *state);

    /* -- optional: zcopy, out of the client's memory. send_now: one or two frames (heads of at most
     * 64 bytes; together stream_bytes + 512, OPAL_BTL_MAX_SEGMENTS), whose memory is free when it
     * returns; false: not now. send_long: in parts, between which other frames go. -- */
    bool (*send_now)(opal_btl_peer_t *peer, const opal_btl_frame_t *frames, size_t count);
    void (*send_long)(opal_btl_peer_t *peer, opal_btl_long_t *message);

    /* Registers (pins) pages, so that send_long sends from them; only if can_pin returns true. */
    bool (*can_pin)(void);
    opal_status_t (*pin)(void *base, size_t bytes, void **registration);
    void (*unpin)(void *registration, void *base, size_t bytes);

    /* -- optional: rendezvous within a node. rndv_get copies between segments of equal size, then
     * completes the slot unless that is 0, and returns the bytes, or -OPAL_ERR_NOT_SUPPORTED (the
     * system never permits it), or -OPAL_ERR_SYSTEM (that memory is not there). is_mapped: the peer
     * has our memory mapped; map: where its memory is here, or NULL. rndv_get_pays: faster than
     * frames, as measured, for data at that address of the sender, the peer if `incoming`. arm: a
     * completion slot; when the peer completes it, a frame of that kind with 8 bytes `what` comes.
     * None is free: 0, or from OPAL_BTL_NO_SLOT on, to be disarmed, just to expose `memory`, the
     * run that rndv_get reads, or empty. awaited_bytes: of a wait for that alone. -- */
    ssize_t (*rndv_get)(opal_btl_peer_t *peer, const struct iovec *to, size_t to_count,
                        const struct iovec *from, size_t from_count, uint32_t slot);
    bool (*can_rndv_get)(opal_btl_peer_t *peer);
    bool (*is_mapped)(opal_btl_peer_t *peer, const void *start, size_t bytes);
    const void *(*map)(opal_btl_peer_t *peer, uintptr_t start, size_t bytes);
    bool (*rndv_get_pays)(opal_btl_peer_t *peer, uintptr_t start, size_t bytes, bool incoming);
    uint32_t (*arm)(opal_btl_peer_t *peer, unsigned kind, uint64_t what, const struct iovec *memory,
                    size_t awaited_bytes);
    void (*disarm)(opal_btl_peer_t *peer, uint32_t slot);
    void (*complete)(opal_btl_peer_t *peer, uint32_t slot);

    /* -- optional: lanes (lane.h). lane: the peer's end of that lane, which the transport frees
     * with the peer; reserve, commit and send_short take it, of any thread, but of one at a time.
     * NULL: no memory. follow: what is sent to `behind` from now on is delivered after what was
     * sent to `before` until now; both are ends of one peer, or the peer itself. False: no room.
     * poll_lane: as opal_btl_poll_lane. All or none. -- */
    opal_btl_peer_t *(*lane)(opal_btl_peer_t *peer, unsigned number);
    bool (*follow)(opal_btl_peer_t *behind, opal_btl_peer_t *before);
    int (*poll_lane)(void *state, unsigned number);

    const char *(*describe)(opal_btl_peer_t *peer); /* a phrase for --explain, or NULL */
} opal_btl_ops_t;

/* The peer of a process, by the first transport that reaches it; NULL: none (logged); no memory. */
OPAL_EXPORT opal_btl_peer_t *opal_btl_connect(opal_process_t *process);

/* The transports that were started, one after the other; NULL begins and ends. */
OPAL_EXPORT const opal_btl_ops_t *opal_btl_next(const opal_btl_ops_t *previous);

#endif
