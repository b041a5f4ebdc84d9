/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl/sock: TCP between the ranks of a job.
 *
 *   sock.c        the component, its parameters, what all peers share
 *   peer.c        a peer: the table of operations, and what becomes of it
 *   link.c        a connection that is up: bytes out, bytes in
 *   queue.h       bytes that the system has not taken yet
 *   dial.c        making a connection
 *   listen.c      being connected
 *   handshake_io.c        a handshake over a socket
 *   health.c      whether the other end is still there
 *   handshake.h   who is at the other end
 *   addresses.h   which addresses lead there
 *   wire.h        what travels
 *
 *                +- link 0: frames in order, parts of long messages
 *   peer --------+- link 1: parts of long messages, over another network
 *                +- ...
 *
 * Nothing connects before the first frame is sent. Frames wait in the peer's queue until link 0 is
 * up and the system takes them. Parts of long messages, and frames that are sent out of the user's
 * memory, do not go through it, but straight to the system.
 *
 * Threading: all under the upper layer's lock.
 */
#ifndef OPAL_MCA_BTL_SOCK_H
#define OPAL_MCA_BTL_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/mca/btl/btl.h"
#include "opal/mca/btl/sock/addresses.h"
#include "opal/mca/btl/sock/handshake.h"
#include "opal/mca/btl/sock/queue.h"
#include "opal/mca/btl/sock/wire.h"
#include "opal/progress/descriptor.h"
#include "opal/progress/fixed.h"

enum {
    SOCK_MAX_LINKS = 8,
    SOCK_BYE = 255, /* a kind of frame: nothing follows it */
};

struct sock_peer;

/* The rest of a placed frame. */
typedef struct sock_placement {
    unsigned kind;
    uint64_t name;
    size_t offset, left; /* of the next byte; bytes of the payload */
    unsigned padding;    /* bytes behind it */
    bool confirms;       /* the sender waits for the system's confirmation */
} sock_placement_t;

/* The part of a long message that is being sent. */
typedef struct sock_part {
    opal_btl_long_t *message; /* NULL: none */
    size_t left;              /* bytes of the payload */
    size_t segment, skip;     /* where the next one is */
    unsigned padding, header_left;
    unsigned char header[SOCK_PLACED_BYTES];
} sock_part_t;

/* What a pin said: a slot, counted from 1. */
static inline void *sock_registration(unsigned slot)
{
    return (void *)(uintptr_t)(slot + 1);
}

static inline unsigned sock_registered_slot(const void *registration)
{
    return (unsigned)(uintptr_t)registration - 1;
}

/* A connection that is up. */
typedef struct sock_link {
    opal_descriptor_t descriptor;
    struct sock_peer *peer;
    unsigned number;
    unsigned heat;     /* how often it is still read without asking whether there is something */
    bool is_loop;      /* both ends are on this host */
    size_t part_bytes; /* of long messages, at a time */
    bool cannot_send;  /* the other end is gone; what it has sent is still to be read */
    int error;         /* of the send that told it */
    unsigned char *in; /* SOCK_IN_BYTES */
    size_t begin, end; /* what of it has come and was not taken */
    sock_placement_t placement;
    sock_part_t part;
    opal_fixed_send_t fixed; /* of a payload whose pages the system has pinned */
    bool is_fixed_busy;      /* it is under way: nothing else may be sent */
    bool is_closed;          /* and goes when that is over */
    bool is_refused;         /* the client cannot take what has come, for now */
} sock_link_t;

typedef enum sock_peer_state {
    SOCK_IDLE,
    SOCK_DIALS, /* or waits for the peer to do so */
    SOCK_UP,    /* link 0 is */
    SOCK_LEFT,  /* said goodbye */
    SOCK_FAILED,
} sock_peer_state_t;

typedef struct sock_peer {
    opal_btl_peer_t base;
    opal_list_node_t node; /* of all peers */
    sock_peer_state_t state;
    opal_status_t why_failed; /* unless it is something else: OPAL_ERR_DISCONNECTED */
    sock_queue_t queue;
    opal_list_t longs; /* opal_btl_long_t of which parts have not begun */
    opal_list_t sent;  /* of which all have begun */
    sock_link_t *links[SOCK_MAX_LINKS];
    struct sock_dial
        *dial;          /* while it is called, and its modex record; NULL: no modex record yet */
    opal_timer_t grace; /* until it is reported as dead, or as having left */
} sock_peer_t;

/* Parameters. */
extern size_t sock_eager_limit, sock_stream_limit, sock_part_bytes, sock_buffer_bytes;
extern unsigned sock_max_links, sock_timeout_sec, sock_connect_sec, sock_user_timeout_sec;

/* -- state.c -- */

typedef struct sock {
    sock_identity_t identity;
    sock_modex_t modex;
    opal_list_t peers;            /* sock_peer_t */
    sock_link_t **hot;            /* links with heat */
    unsigned hot_count, hot_room; /* room for all links */
    unsigned link_count;
    sock_shake_counts_t counts;
    unsigned closing; /* links that are closed but for a send that is under way */
    bool is_stopping;
} sock_t;

extern sock_t sock;

/* Makes the system confirm at once what has come. */
void sock_confirm(int fd);

/* Whether both ends of a connection are on this host. */
bool sock_is_loop(int fd);

/* Options of every connection. */
void sock_set_options(int fd);

/* What a process has published. */
opal_status_t sock_get_modex(const opal_process_t *process, sock_modex_t *modex);

/* The peers, one after the other: NULL begins, and ends. */
static inline sock_peer_t *sock_next_peer(const sock_peer_t *previous)
{
    const opal_list_node_t *node = previous != NULL ? opal_list_next(&sock.peers, &previous->node)
                                                    : opal_list_first(&sock.peers);
    return node != NULL ? opal_container_of(node, sock_peer_t, node) : NULL;
}

/* Whether there is memory to warm one link more. */
bool sock_has_room_to_warm(void);

/* For a while a link is read without asking whether there is something; not any more. Also a frame
 * that was refused is tried again only by that: so it cannot fail. */
void sock_warm(sock_link_t *link);
void sock_cool(sock_link_t *link);

/* -- peer.c -- */

extern opal_btl_ops_t sock_ops;

/* NULL: there is none; no memory. */
sock_peer_t *sock_peer_find(const opal_process_t *process);
sock_peer_t *sock_peer(opal_process_t *process);
void sock_peer_free(sock_peer_t *peer);

/* A handshake with it has succeeded: the descriptor becomes its link. */
void sock_peer_connected(sock_peer_t *peer, unsigned number, int fd);

/* One of its links is gone, which carried parts of long messages only; or it has said goodbye, and
 * this one is read to the end. Behind the last one it has left. */
void sock_peer_unlink(sock_peer_t *peer, unsigned number);

/* Its connection is gone, or there is none to be had; `why` is a clause for a person. */
void sock_peer_failed(sock_peer_t *peer, const char *why);

/* -- link.c -- */

sock_link_t *sock_link_open(sock_peer_t *peer, unsigned number, int fd);
void sock_link_close(sock_link_t *link);

/* Gives it to the system; `more` follows at once. Returns how much that has taken. */
size_t sock_link_send(sock_link_t *link, struct iovec *vectors, size_t count, bool more);

/* Sends what there is, as far as the system takes it. */
void sock_link_flush(sock_link_t *link);

/* Nothing can be sent any more. That is told when all has been read that came before, and then it
 * is the end, also where the other one does not know. The link is still there: it may be read. */
void sock_link_end_sending(sock_link_t *link, int error);

/* Delivers what has come, up to a bound. Returns how many things it did; the peer may be lost
 * afterwards, and the link gone. */
int sock_link_read(sock_link_t *link);

/* Whether bytes may go to the system right now, before all others. */
bool sock_link_can_send_now(const sock_link_t *link);

/* Whether the system has bytes that it could not send yet. If it is closed then, and the other end
 * sends something, they are lost. */
bool sock_link_has_unsent(const sock_link_t *link);

/* The address at either end: "10.0.0.1:4000 - 10.0.0.2:5000". */
const char *sock_link_ends(const sock_link_t *link, char text[2 * SOCK_IP_TEXT_BYTES]);

/* -- handshake_io.c -- */

/* Sends and receives until the handshake ends, asks, or has to wait; for what, is returned. */
unsigned sock_shake_io(int fd, sock_shake_t *shake);

/* -- dial.c -- */

/* Begins to connect it. */
void sock_dial(sock_peer_t *peer);

/* A connection of the peer's for that link wants in: whether to take it. */
sock_reason_t sock_dial_judge(sock_peer_t *peer, unsigned number);

/* The link is up: whatever was tried for it is over. */
void sock_dial_end(sock_peer_t *peer, unsigned number);
void sock_dial_stop(sock_peer_t *peer);
void sock_dial_free(sock_peer_t *peer);

/* The peer's modex record; NULL, reported: it has none. */
const sock_modex_t *sock_dial_modex(sock_peer_t *peer);

/* -- listen.c -- */

opal_status_t sock_listen_start(const char *ports);
void sock_listen_stop(void);

/* -- health.c -- */

void sock_health_start(void);
void sock_health_stop(void);

/* A link has sent: the system may wait in vain for the other end to confirm it. */
void sock_health_watch(void);

#endif
