/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket between front and supervisor. Its end tells each that the other one has died. The
 * supervisor tells the front which processes the jobs have, for the table of MPIR (mpir.h). A front
 * that a debugger has stopped reads nothing, and must not stop the supervisor, which buffers.
 */
#ifndef MPIRUN_FRONT_LINK_H
#define MPIRUN_FRONT_LINK_H

#include "opal/util/text.h"
#include "tools/mpirun/loop.h"

struct job;

/* -- the supervisor's end --------------------------------------------------------------------- */

typedef struct front_link {
    loop_watch_t watch;
    loop_t *loop;
    opal_text_t pending; /* what the front has not taken yet */
    size_t sent;         /* bytes of it that are sent */
    /* The front has announced a job to the debugger, and its ranks may go on. */
    void (*announced)(struct front_link *link, unsigned job);
    void (*closed)(struct front_link *link);
} front_link_t;

/* `announced` and `closed` are set. False with errno: the descriptor cannot be watched. */
bool front_link_open(front_link_t *link, loop_t *loop, int fd);
void front_link_close(front_link_t *link);

/* All ranks of a job have processes; the job has ended. `is_held`: its ranks wait for `announced`.
 */
void front_link_started(front_link_t *link, const struct job *job, bool is_held);
void front_link_ended(front_link_t *link, const struct job *job);

/* The program of a rank is not the process that was started for it, but one below that (wrap.h). */
void front_link_moved(front_link_t *link, const struct job *job, unsigned rank, int pid);

/* -- the front's end -------------------------------------------------------------------------- */

/* Reads what has come, and changes the table. `input` keeps what is not complete yet. False: the
 * supervisor has closed its end. */
bool front_link_read(int fd, opal_text_t *input);

#endif
