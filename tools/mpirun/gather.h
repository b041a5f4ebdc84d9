/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many pipes into few targets, line by line.
 *
 *   rank 0 --pipe--> channel --+
 *   rank 1 --pipe--> channel --+--> sink --> mpirun's stdout, a file
 *
 * A channel passes on what ends in a newline and holds the rest back, so that a sink
 * always stands at the start of a line when another channel has its turn. Large amounts
 * are moved by splice(2), without being copied through us; only the last part is read, to
 * find its last newline.
 *
 * A line longer than is held back (a MiB) makes its channel the owner of the sink until it
 * ends. An owner that is silent for seconds while others wait loses the sink: a line is
 * then cut into, rather than the job stopped.
 *
 * Without a label no byte is added or removed. With one, each line starts with it, and an
 * unfinished last line is finished.
 */
#ifndef MPIRUN_GATHER_H
#define MPIRUN_GATHER_H

#include <stddef.h>

#include "tools/mpirun/loop.h"

typedef struct gather gather_t;
typedef struct sink sink_t;

gather_t *gather_create(loop_t *loop);
void gather_destroy(gather_t *gather);

/* A target. `name` is for messages. The descriptor stays the caller's, open until the end. */
sink_t *gather_add_sink(gather_t *gather, int fd, const char *name);

/*
 * A new channel to a sink. Returns the descriptor to write to, which is the caller's to
 * close; -1 with errno. `label` (may be NULL) starts each line, behind the time if `stamped`.
 * The pipe is made to hold pipe_bytes where the system allows it.
 */
int gather_add_channel(gather_t *gather, sink_t *sink, const char *label, bool stamped,
                       size_t pipe_bytes);

/*
 * All writers have ended: what is in the pipes is all there will be. Moves it on, and
 * says whether everything is delivered; if not, the loop must turn.
 */
bool gather_finished(gather_t *gather);

#endif
