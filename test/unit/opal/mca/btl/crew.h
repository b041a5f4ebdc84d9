/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of one node without a launcher: forked processes that attach to one segment, each with a
 * transport that is started. For tests and bench/btl.c.
 */
#ifndef OPAL_UNIT_BTL_CREW_H
#define OPAL_UNIT_BTL_CREW_H

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "opal/mca/base/component.h"
#include "opal/mca/btl/btl.h"
#include "opal/node/node.h"
#include "test/unit/opal/mca/btl/hearing.h"

/* What a rank of the crew knows. */
typedef struct crew {
    unsigned rank, size;
    const opal_btl_ops_t *ops;
    void *state;
    opal_btl_peer_t **peers;   /* NULL: the transport does not go there */
    volatile uint64_t *shared; /* CREW_SHARED_WORDS words that all see, zero at first */
    bool launcher_watches;
} crew_t;

enum { CREW_SHARED_WORDS = 512 };

extern crew_t crew;

/*
 * Runs `work` in `size` processes, each a rank with the component's transport started and
 * connected to all, frames going to `handler`. NULL: the framework has chosen the component, and
 * `work` opens its clients itself. How many of them did not end well: _exit(0), or return.
 */
unsigned crew_run(const opal_component_t *component, unsigned size, hear_frame_fn_t *handler,
                  void (*work)(void));

/* The same; ranks ended on purpose are told to the segment as mpirun would tell it. */
unsigned crew_run_watched(const opal_component_t *component, unsigned size,
                          hear_frame_fn_t *handler, void (*work)(void));

/* From the next run on: the job that ranks are of, and the bytes of its key. */
void crew_set_job(const char *id, unsigned char key);

/* Polls; gives the core to another rank if nothing has come, since ranks may share one. */
void crew_poll(void);

/* Sends one frame, polling while there is no room. */
void crew_send(unsigned to, unsigned kind, const void *bytes, size_t length);

/* What ranks tell one another before they are connected (crew_pmi.c): for all of them; for this
 * one, which keeps the job. */
void crew_pmi_create(unsigned char key);
void crew_pmi_destroy(void);
void crew_pmi_join(const opal_pmi_job_t *job);

/* A check in a rank: it ends with status 1, and the others of the crew are ended. */
#define CREW_MUST(condition)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %u: %s\n", __FILE__, __LINE__, crew.rank, #condition);    \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Every rank is in it; the first polls nothing, the second does, for those that still wait for what
 * was sent. */
void crew_barrier(void);
void crew_meet(void);

#endif
