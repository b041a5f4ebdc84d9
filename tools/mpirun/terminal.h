/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terminals for ranks that are debugged: panes of tmux, or windows of xterm.
 *
 *   pane:  mpirun --terminal ADDRESS RANK   connects to mpirun, sends the descriptor of its
 *                                           terminal, gives it up as its controlling one, waits
 *   rank:  a child of the supervisor, as always; its own session, and the terminal is its own
 *
 * So the debugger has a terminal with ^C and job control, and yet is a child of the supervisor,
 * which sees its end and ends it. When the debugger ends, the kernel hangs the terminal up; when
 * mpirun ends, the connection ends. Both end the process in the pane, and so the pane.
 */
#ifndef MPIRUN_TERMINAL_H
#define MPIRUN_TERMINAL_H

#include <stdbool.h>

struct job;

typedef struct terminal {
    unsigned rank;
    int fd;   /* of the terminal; -1: not open, or the rank has it */
    int link; /* to the process in the pane; -1: there is none */
} terminal_t;

typedef struct terminals {
    terminal_t *items;
    unsigned count;
} terminals_t;

/* Opens a terminal for each rank of options.debug and says where they are. Called before the
 * supervisor is forked. False: an error was reported. */
bool terminals_open(struct job *job);

/* The terminal of a rank; NULL: it has none. */
terminal_t *terminal_find(const struct job *job, unsigned rank);

/* Closes this process' descriptors. */
void terminals_free(terminals_t *terminals);

/* The process in the pane: `address` and `rank` as mpirun has written them. Returns its exit
 * status. */
int terminal_lend(const char *address, const char *rank);

#endif
