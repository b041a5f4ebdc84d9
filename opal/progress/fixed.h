/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends out of registered memory: buffers whose pages are pinned once and sent from often. Only the
 * engine io_uring has them (its fixed buffers).
 *
 * The pages are pinned (VmPin in /proc/self/status), and a slot sends those pages. If other pages
 * are mapped at the same addresses, a slot that was not withdrawn still sends the old ones.
 *
 * Threading: under the upper layer's lock; opal_fixed_withdraw also without it, by any thread.
 */
#ifndef OPAL_PROGRESS_FIXED_H
#define OPAL_PROGRESS_FIXED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/util/list.h"

/* Fixed sends will be used: an engine that is opened from now on without the user naming it is one
 * that has them. */
OPAL_EXPORT void opal_descriptor_want_fixed(void);

/* Whether there are any slots. Opens the engine if none is. */
OPAL_EXPORT bool opal_fixed_available(void);
/* Why there are none, for a person; NULL: there are, or opal_fixed_available was not called yet. */
OPAL_EXPORT const char *opal_fixed_reason(void);
OPAL_EXPORT unsigned opal_fixed_slots(void);

/*
 * Pins the pages of a range. OPAL_ERR_NO_MEMORY: RLIMIT_MEMLOCK, or no slot is free; the caller may
 * withdraw other slots and try again. OPAL_ERR_TOO_LARGE: beyond 1 GiB. OPAL_ERR_NOT_SUPPORTED:
 * such pages cannot be pinned (files). OPAL_ERR_BAD_PARAM: not all of the range is mapped. No
 * failure is logged.
 */
OPAL_EXPORT opal_status_t opal_fixed_register(void *base, size_t bytes, unsigned *slot);

/* A send that is under way keeps the pages until it is done; the slot is reused after that. */
OPAL_EXPORT void opal_fixed_withdraw(unsigned slot);

/*
 * One send at a time for a descriptor, to which nothing else is written meanwhile. A caller that
 * gives up on a send shuts the descriptor down and still waits for `done`. If the engine is closed
 * with sends under way, `done` is not called.
 */
typedef struct opal_fixed_send {
    int fd; /* a stream socket */
    unsigned slot;
    const void *start; /* inside of the slot's range */
    size_t bytes;
    bool more;   /* follows at once: MSG_MORE */
    bool copies; /* let the system copy: faster if the peer is on this host. opal_fixed_send sets it
                  * where the socket needs a copy */
    /* Called from progress, with the lock held, never nested, with the bytes sent (perhaps fewer
     * than asked for) or -errno. The system does not read the memory any more. No SIGPIPE comes. */
    void (*done)(struct opal_fixed_send *send, ssize_t sent);
    /* Of the engine. */
    opal_list_node_t node;
    ssize_t result;
    bool has_result; /* the system may still read the pages */
    bool waits_for_room;
} opal_fixed_send_t;

OPAL_EXPORT void opal_fixed_send(opal_fixed_send_t *send);

/* -- for descriptor.c ------------------------------------------------------------ */

opal_status_t opal_fixed_params_register(void);
void opal_fixed_params_withdraw(void);
int opal_fixed_finish(void);
void opal_fixed_close(void);

#endif
