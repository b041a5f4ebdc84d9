/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gathering output: many pipes into few targets, line by line.
 *
 *   rank 0 --pipe--> channel --+
 *   rank 1 --pipe--> channel --+--> sink --> mpirun's stdout, a file
 *
 * A channel writes up to the last newline that it has read and holds the rest back, so the sink is
 * at the start of a line whenever another channel writes. Large amounts are moved by splice(2)
 * without a copy through mpirun; only the last part is read, to find its last newline.
 *
 * A channel that reads more than 1 MiB without a newline owns the sink until the line ends. An
 * owner that writes nothing for seconds while other channels wait loses the sink: then another line
 * is written in the middle of the owner's, so that the job does not stop.
 *
 * Without a label no byte is added or removed. With a label, each line starts with it, and a
 * newline is added to an unfinished last line.
 */
#ifndef MPIRUN_GATHER_H
#define MPIRUN_GATHER_H

#include <stddef.h>

#include "tools/mpirun/loop.h"

typedef struct gather gather_t;
typedef struct sink sink_t;

gather_t *gather_create(loop_t *loop);
void gather_destroy(gather_t *gather);

/* Adds a target. `name` is for messages. The caller keeps the descriptor open until
 * gather_destroy. */
sink_t *gather_add_sink(gather_t *gather, int fd, const char *name);

/* Adds a target for one channel: it ends with the channel, and then the descriptor is closed. */
sink_t *gather_add_own_sink(gather_t *gather, int fd, const char *name);

/*
 * Adds a channel to a sink. Returns the descriptor to write to, which the caller closes, or -1 with
 * errno. `label` (may be NULL) starts each line, after the time if `stamped`. The pipe gets a
 * capacity of pipe_bytes if the system allows it.
 */
int gather_add_channel(gather_t *gather, sink_t *sink, const char *label, bool stamped,
                       size_t pipe_bytes);

/* Frees the channels that have ended; to be called between two turns of the loop. */
void gather_sweep(gather_t *gather);

/*
 * To be called when all writers have ended. Writes what is left in the pipes. True: everything is
 * written; false: the caller turns the loop and calls again.
 */
bool gather_finished(gather_t *gather);

#endif
