/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends out of pages that the system holds: registered once, sent from often. Only the engine
 * io_uring has them.
 *
 * The pages are really pinned (VmPin in /proc/self/status), and it is those pages that are sent:
 * if other ones are mapped to the same addresses, a slot that was not withdrawn sends the old ones.
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

/* They will be asked for: an engine that is opened from now on, and chosen by itself, is one that
 * has them. */
OPAL_EXPORT void opal_descriptor_want_fixed(void);

/* Whether there are any slots. Opens the engine if none is. */
OPAL_EXPORT bool opal_fixed_available(void);
/* Why not, for a person; NULL: they are there, or nobody asked yet. */
OPAL_EXPORT const char *opal_fixed_reason(void);
OPAL_EXPORT unsigned opal_fixed_slots(void);

/*
 * Pins the pages of a range. OPAL_ERR_NO_MEMORY: RLIMIT_MEMLOCK, or no slot is free: who withdraws
 * others may try again. OPAL_ERR_TOO_LARGE: beyond 1 GiB. OPAL_ERR_NOT_SUPPORTED: such pages
 * cannot be (files). OPAL_ERR_BAD_PARAM: not all of it is there. Nothing of it is reported.
 */
OPAL_EXPORT opal_status_t opal_fixed_register(void *base, size_t bytes, unsigned *slot);

/* A send that is under way keeps the pages until it is done, and the slot is not used before. */
OPAL_EXPORT void opal_fixed_withdraw(unsigned slot);

/*
 * One at a time and descriptor; nobody else writes to it meanwhile. Whoever gives up on it shuts
 * the descriptor down and still waits for `done`. When the engine is closed with sends under way,
 * they are forgotten.
 */
typedef struct opal_fixed_send {
    int fd; /* a stream socket */
    unsigned slot;
    const void *start; /* inside of the slot's range */
    size_t bytes;
    bool more;   /* follows at once: MSG_MORE */
    bool copies; /* let the system copy: faster if the peer is on this host. Set here too, where the
                  * socket cannot do without */
    /* From progress, with the lock held, never nested: the bytes sent (perhaps fewer than asked
     * for), or -errno. The system does not look at the memory any more. No SIGPIPE comes. */
    void (*done)(struct opal_fixed_send *send, ssize_t sent);
    /* Ours. */
    opal_list_node_t node;
    ssize_t result;
    bool has_result; /* the pages may still be looked at */
    bool waits_for_room;
} opal_fixed_send_t;

OPAL_EXPORT void opal_fixed_send(opal_fixed_send_t *send);

/* -- for descriptor.c ------------------------------------------------------------ */

opal_status_t opal_fixed_params_register(void);
void opal_fixed_params_withdraw(void);
int opal_fixed_finish(void);
void opal_fixed_close(void);

#endif
