/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports, and meetings: how one process of a job gets to talk with one of another job, before either
 * knows the other one's address record.
 *
 *   acceptor   opal_port_open -> name ... opal_meeting_accept ---+--> opal_meeting_swap ... _end
 *   connector                    name -> opal_meeting_connect ---+
 *   either     a socket of the program -> opal_meeting_join -----+
 *
 * A port is a socket that listens, with a key in its name (port_name.h). A caller that does not
 * prove that it knows the key, or sends again what another one has sent, is refused and logged, and
 * accepts go on waiting. A proven caller waits until an accept takes it; accepts and callers are
 * served in their order. What a meeting swaps is encrypted (port_link.h), and over a joined socket
 * it is not secret.
 *
 * Threading: under the upper layer's lock. Nothing blocks: a step sets `done` when it has ended,
 * from progress or at once, and the caller waits by opal_wait_until. A waiting step takes no CPU.
 */
#ifndef OPAL_PROCESS_PORT_H
#define OPAL_PROCESS_PORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/process/port_name.h"
#include "opal/progress/descriptor.h"
#include "opal/util/list.h"

/* -- ports ----------------------------------------------------------------------------------- */

typedef struct opal_port opal_port_t;

/* A failure was logged. */
OPAL_EXPORT opal_status_t opal_port_open(opal_port_t **port);

/* Accepts on the port end with OPAL_ERR_NOT_FOUND, callers are refused. */
OPAL_EXPORT void opal_port_close(opal_port_t *port);
OPAL_EXPORT void opal_port_close_all(void);

OPAL_EXPORT const char *opal_port_name(const opal_port_t *port);

/* The port of this process with that name; NULL: none. */
OPAL_EXPORT opal_port_t *opal_port_find(const char *name);

/* -- meetings -------------------------------------------------------------------------------- */

enum { OPAL_MEETING_TROUBLE_BYTES = 512 };

typedef struct opal_meeting {
    atomic_int done; /* of the last step */
    /*
     * OPAL_ERR_BAD_PARAM: the name is that of no port, or the descriptor no socket
     * OPAL_ERR_NOT_FOUND: nobody listens there any more
     * OPAL_ERR_TIMEOUT, OPAL_ERR_NO_MEMORY, OPAL_ERR_SYSTEM
     * OPAL_ERR_NOT_AVAILABLE: opal_meeting_give_up
     * OPAL_ERR_DISCONNECTED, OPAL_ERR_PROTOCOL: the peer is gone, or is none of ours
     */
    opal_status_t status;
    char trouble[OPAL_MEETING_TROUBLE_BYTES]; /* a sentence about a failure: what was tried */

    /* What the last swap has got; malloc'ed, and the caller's. NULL: nothing. */
    void *received;
    size_t received_bytes;

    /* Private. */
    struct opal_port *port;          /* it waits for a caller there */
    struct opal_port_stream *stream; /* to the peer; NULL: not met yet */
    struct opal_port_dial *dial;     /* of a connector that has not met its peer */
    opal_list_node_t node;           /* in the port's list */
    bool is_swapping;
    uint64_t timeout_nsec; /* of the step */
    size_t swap_bytes;     /* of this process */
    opal_timer_t timer;
} opal_meeting_t;

/* The first step; `timeout_nsec` 0: no limit. A meeting that has ended may begin again. */
OPAL_EXPORT void opal_meeting_accept(opal_meeting_t *meeting, opal_port_t *port,
                                     uint64_t timeout_nsec);
OPAL_EXPORT void opal_meeting_connect(opal_meeting_t *meeting, const char *port,
                                      uint64_t timeout_nsec);

/* Ends the wait of an accept with OPAL_ERR_NOT_AVAILABLE: nobody will connect. `trouble` is a
 * sentence. Nothing happens if the peer has connected already. */
OPAL_EXPORT void opal_meeting_give_up(opal_meeting_t *meeting, const char *trouble);

/* Over a connected stream socket, which stays the caller's, and from which nothing is read that is
 * not of the meeting. */
OPAL_EXPORT void opal_meeting_join(opal_meeting_t *meeting, int fd, uint64_t timeout_nsec);

/* The next steps: both ends send bytes, and get those of the other one. The end of the peer ends
 * the step, and so does the time limit (0: none), as a peer may be stopped. The bytes stay until
 * the step has ended. */
OPAL_EXPORT void opal_meeting_swap(opal_meeting_t *meeting, const void *bytes, size_t length,
                                   uint64_t timeout_nsec);

/* After a successful first step: a number that both ends have alike, and no other meeting. */
OPAL_EXPORT uint64_t opal_meeting_number(const opal_meeting_t *meeting);

/* Ends a meeting that was begun, whatever it waits for. */
OPAL_EXPORT void opal_meeting_end(opal_meeting_t *meeting);

#endif
