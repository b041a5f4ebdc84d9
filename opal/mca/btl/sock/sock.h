/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl/sock: TCP between the ranks of a job.
 *
 *   sock.c            the component, its parameters, start and stop, progress
 *   peer.c            a peer: the table of operations, peer failure
 *   link.c            a connection that is up: bytes out, bytes in
 *   dial.c            connecting to a peer
 *   listen.c          accepting connections
 *   health.c          whether the peer still confirms what was sent
 *   state.c           what peers and links share
 *   queue.h           bytes that the system has not taken yet
 *   handshake.h       authentication of the peer
 *   handshake_io.c    the handshake over a socket
 *   addresses.h       modex records: which addresses lead to a peer
 *   wire.h            the bytes of a connection
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

/* The rest of a placed frame that is being received. */
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

/* What `pin` returns: a slot, counted from 1. */
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
    unsigned heat;     /* how often progress still reads it without asking epoll */
    bool is_loop;      /* both ends are on this host */
    bool was_used;     /* a part has begun, or something has come */
    size_t part_bytes; /* of long messages, at a time */
    bool cannot_send;  /* the peer is unreachable; what it has sent is still to be read */
    int error;         /* of the send that has failed */
    unsigned char *in; /* SOCK_IN_BYTES */
    size_t begin, end; /* the bytes in it that are not delivered yet */
    sock_placement_t placement;
    sock_part_t part;
    opal_fixed_send_t fixed; /* of a payload in registered pages */
    bool is_fixed_busy;      /* it is under way: nothing else may be sent */
    bool is_closed;          /* it is freed when that is over */
    bool is_refused;         /* the client cannot take the next frame for now */
} sock_link_t;

typedef enum sock_peer_state {
    SOCK_IDLE,
    SOCK_DIALS, /* connects, or waits for the peer to connect or to publish its modex record */
    SOCK_UP,    /* link 0 is */
    SOCK_LEFT,  /* said goodbye */
    SOCK_FAILED,
} sock_peer_state_t;

typedef struct sock_peer {
    opal_btl_peer_t base;
    opal_list_node_t node; /* of all peers */
    sock_peer_state_t state;
    opal_status_t why_failed; /* mostly OPAL_ERR_DISCONNECTED */
    sock_queue_t queue;
    opal_list_t longs; /* opal_btl_long_t of which parts have not begun */
    opal_list_t sent;  /* of which all have begun */
    sock_link_t *links[SOCK_MAX_LINKS];
    struct sock_dial
        *dial;           /* while it is called, and its modex record; NULL: no modex record yet */
    uint64_t pause_nsec; /* before its modex record is asked for again */
    opal_timer_t grace;  /* until that, or until its failure or departure is reported */
} sock_peer_t;

/* Parameters. */
extern size_t sock_eager_limit, sock_stream_limit, sock_part_bytes, sock_buffer_bytes;
extern unsigned sock_max_links, sock_timeout_sec, sock_connect_sec;

/* -- state.c -- */

typedef struct sock {
    sock_identity_t identity;
    sock_modex_t modex;
    char interfaces[96];          /* their names: "lo, eth0" */
    opal_list_t peers;            /* sock_peer_t */
    sock_link_t **hot;            /* links with heat */
    unsigned hot_count, hot_room; /* room for all links */
    unsigned link_count;
    sock_shake_counts_t counts;
    unsigned closing; /* links that are closed but for a send that is under way */
    bool is_stopping;
    bool is_for_others; /* no rank of the own job needs sock, only processes of other jobs */
    bool is_asleep;     /* ... and there were none until now */
} sock_t;

extern sock_t sock;

/* Makes the system confirm at once what has come. */
void sock_confirm(int fd);

/* Whether both ends of a connection are on this host. */
bool sock_is_loop(int fd);

/* Options of every connection. */
void sock_set_options(int fd);

/* The modex record of a process. */
opal_status_t sock_get_modex(const opal_process_t *process, sock_modex_t *modex);

/* The peers, one after the other; NULL begins and ends. */
static inline sock_peer_t *sock_next_peer(const sock_peer_t *previous)
{
    const opal_list_node_t *node = previous != NULL ? opal_list_next(&sock.peers, &previous->node)
                                                    : opal_list_first(&sock.peers);
    return node != NULL ? opal_container_of(node, sock_peer_t, node) : NULL;
}

/* Whether there is memory to poll one link more. */
bool sock_has_room_to_warm(void);

/* Adds a link to those that progress reads without asking epoll, for a while; removes it. A frame
 * that was refused is delivered again only by that, so sock_warm cannot fail. */
void sock_warm(sock_link_t *link);
void sock_cool(sock_link_t *link);

/* -- peer.c -- */

extern opal_btl_ops_t sock_ops;
opal_status_t sock_pin(void *base, size_t bytes, void **registration);

/* The peer of a process. find: NULL, it has none; sock_peer creates it: NULL, no memory. */
sock_peer_t *sock_peer_find(const opal_process_t *process);
sock_peer_t *sock_peer(opal_process_t *process);
void sock_peer_free(sock_peer_t *peer);

/* A handshake has succeeded: the descriptor becomes this link of the peer. */
void sock_peer_connected(sock_peer_t *peer, unsigned number, int fd);

/* A link has ended that carried only parts of long messages; or the peer has said goodbye, and the
 * link is read to the end. After its last link the peer has left. */
void sock_peer_unlink(sock_peer_t *peer, unsigned number);

/* Peer failure: the connection has ended, or there can be none; `why` is a clause for the log. */
void sock_peer_failed(sock_peer_t *peer, const char *why);

/* -- link.c -- */

sock_link_t *sock_link_open(sock_peer_t *peer, unsigned number, int fd);
void sock_link_close(sock_link_t *link);

/* Passes bytes to the system; `more`: other bytes follow at once. Returns how many it has taken. */
size_t sock_link_send(sock_link_t *link, struct iovec *vectors, size_t count, bool more);

/* Sends what waits, as far as the system takes it. */
void sock_link_flush(sock_link_t *link);

/* A send has failed: nothing is sent any more. The failure is reported when everything has been
 * read that came before. The link stays open until then. */
void sock_link_end_sending(sock_link_t *link, int error);

/* Delivers what has come, up to a bound. Returns a count of what it did. Afterwards the peer may
 * have failed, and the link may be freed. */
int sock_link_read(sock_link_t *link);

/* Whether nothing waits to be sent before new bytes. */
bool sock_link_can_send_now(const sock_link_t *link);

/* Whether the system has bytes that it could not send yet, or that the peer's system has not
 * confirmed. They are lost if the link is closed now and the peer sends something. */
bool sock_link_has_unsent(const sock_link_t *link);
bool sock_link_has_unconfirmed(const sock_link_t *link);

/* The addresses of both ends: "10.0.0.1:4000 - 10.0.0.2:5000". */
const char *sock_link_ends(const sock_link_t *link, char text[2 * SOCK_IP_TEXT_BYTES]);

/* -- handshake_io.c -- */

/* Sends and receives until the handshake ends, asks, or has to wait. Returns the events to wait
 * for; 0: none. */
unsigned sock_shake_io(int fd, sock_shake_t *shake);

/* -- dial.c -- */

/* Begins to connect to the peer. */
void sock_dial(sock_peer_t *peer);

/* The peer has connected for that link: whether to accept. */
sock_reason_t sock_dial_judge(sock_peer_t *peer, unsigned number);

/* The link is up: ends the attempts for it. */
void sock_dial_end(sock_peer_t *peer, unsigned number);
void sock_dial_stop(sock_peer_t *peer);
void sock_dial_free(sock_peer_t *peer);

/* The peer's modex record; NULL: it has none, or no memory. */
const sock_modex_t *sock_dial_modex(sock_peer_t *peer);

/* -- listen.c -- */

opal_status_t sock_listen_start(const char *ports);
void sock_listen_stop(void);

/* -- health.c -- */

void sock_health_start(void);
void sock_health_stop(void);

/* A link has sent: from now on it is checked whether the peer confirms. */
void sock_health_watch(void);

#endif
