/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes of other jobs on this host.
 *
 *   this process                                               a process of another job
 *   writer  --> | ring, in memory that the writer makes |  --> reader
 *   reader <--  | ring, in memory that the other makes  | <--  writer
 *
 *   foreign.c      the peers: made, left, dead, forgotten
 *   meet.c         the handshake by which a ring is handed to its reader
 *   foreign_map.c  memory of the other process: a ring, its job's region
 *
 * A process that is described to another job listens on an abstract socket, which its record names
 * with the host. Two processes that are on one host, as their records say, use btl/sm, both of
 * them; others leave each other to another transport. The first frame to a process makes a ring and
 * calls its reader. Until that has the ring, frames go into it as if it had.
 *
 * With the ring go the seat of its writer (seat.h), and the region of its job. A ring is the last
 * of its memory when both ends have unmapped it, so nothing stays of a process that is killed.
 *
 * Threading: the upper layer's lock.
 */
#ifndef BTL_SM_FOREIGN_H
#define BTL_SM_FOREIGN_H

#include "opal/mca/btl/sm/sm.h"
#include "opal/node/seat.h"
#include "opal/progress/descriptor.h"
#include "opal/util/list.h"

/* A ring in a file of its own. */
typedef struct sm_ring_file {
    ring_t *ring; /* NULL: none */
    size_t bytes; /* of the file */
    int fd;       /* -1: it was handed on, or came from the writer */
} sm_ring_file_t;

/* The region of another job. */
typedef struct sm_region {
    opal_node_mapped_t mapped;
    unsigned users;
    opal_list_node_t node;
} sm_region_t;

struct sm_call;

typedef struct sm_foreign {
    sm_peer_t *peer;
    opal_list_node_t node;
    opal_seat_t seat;       /* slot NULL: not known yet */
    sm_region_t *region;    /* NULL: not mapped here */
    bool maps_us;           /* it has our region mapped */
    sm_ring_file_t out, in; /* the ring to it, and the one from it */
    struct sm_call *call;   /* by which it gets `out`; NULL: it has it, or there is none */
    opal_descriptor_t life; /* a pidfd; fd -1: not known yet */
    bool has_failed;        /* it has ended, or cannot be reached */
    bool is_over;           /* forgotten, and freed as soon as nothing uses it */
} sm_foreign_t;

/* -- foreign.c -- */

/* opal_btl_ops_t.offer and .forget; connect for a process of another job. */
void sm_offer(void *state);
void sm_forget(void *state, opal_process_t *process);
opal_status_t sm_foreign_connect(sm_t *self, opal_process_t *process, opal_btl_peer_t **peer);

/* Called before sm_stop frees anything: hands over what was sent, and tells all peers. */
void sm_foreign_stop(sm_t *self);

/* Makes the ring to the peer and calls it. False: no memory, which was logged. */
bool sm_foreign_make_ring(sm_peer_t *peer);

/* Whether the process has ended. */
bool sm_foreign_is_dead(const sm_foreign_t *foreign);

/* For meet.c: the peer that such a call comes from; NULL: not known, or not ready for it.
 * *is_never: it is not for this transport. */
sm_foreign_t *sm_foreign_of_caller(const opal_process_name_t *name, bool *is_never);

/* What the other process has sent. The descriptors stay the caller's. False: it cannot be used. */
bool sm_foreign_meet(sm_foreign_t *foreign, int seat_fd, uint64_t seat_offset, int region_fd);
bool sm_foreign_take_ring(sm_foreign_t *foreign, int fd, size_t bytes);
void sm_foreign_watch(sm_foreign_t *foreign, int pidfd); /* which it owns from now on */
void sm_foreign_lose(sm_foreign_t *foreign);

/* -- foreign_map.c -- */

/* NULL: no memory, or no descriptor, with errno. */
ring_t *sm_ring_file_make(sm_ring_file_t *file, size_t ring_bytes);
ring_t *sm_ring_file_map(sm_ring_file_t *file, int fd, size_t bytes);
void sm_ring_file_close(sm_ring_file_t *file); /* the ring stays mapped */
void sm_ring_file_unmap(sm_ring_file_t *file);

/* The region with that id in the file, mapped once for all its users. NULL: it is none, or there is
 * no room. */
sm_region_t *sm_region_use(int fd, uint64_t id);
void sm_region_leave(sm_region_t *region);

/* -- meet.c -- */

/* What a record says of how a process is called. */
enum { SM_OFFER_BYTES = 8 + OPAL_HOST_BYTES + 4 + 16 };

/* Listens. Writes the offer. A failure was logged. */
opal_status_t sm_meet_start(unsigned char offer[SM_OFFER_BYTES]);
void sm_meet_stop(void);

/* Whether that process can be called from here. */
bool sm_meet_reaches(const opal_process_t *process);

/* Begins to call. If that fails, sm_foreign_lose follows in progress. False: no memory. */
bool sm_meet_call(sm_foreign_t *foreign);

/* Gives up the calls to and from that peer; NULL: all calls. */
void sm_meet_hang_up(const sm_foreign_t *foreign);

/* Whether some calls are not at their end. Takes the next steps; returns how many. */
bool sm_meet_has_calls(void);
int sm_meet_progress(void);

#endif
