/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Electing the process that makes the region, where the launcher has not made one: the ranks of a
 * node do so before main, when they know nothing of each other.
 *
 *   a process                          the others
 *   makes a region, ready for use
 *   binds a name: is it the first? --- no: connect to the name, and learn its owner's pid
 *   listens, and goes on               open that process' region by /proc/<pid>/fd
 *
 * The name is that of an abstract socket, made of user, launcher and job. No other process can bind
 * it while the winner lives, and it is free again when the winner ends, in whatever way. Then the
 * next process wins. Processes that have attached to different regions notice that by their ids,
 * and share nothing.
 *
 * No connection is ever accepted, and no file is left behind. The system limits how many
 * connections wait to be accepted (net.core.somaxconn); further processes find the region with any
 * process of the same user that has attached to it, by the election in its header. Allocates
 * nothing.
 */
#ifndef MEMORY_SMHEAP_ELECTION_H
#define MEMORY_SMHEAP_ELECTION_H

#include "opal/mca/memory/smheap/launcher.h"
#include "opal/node/region_file.h"

typedef struct smheap_election {
    int region_fd; /* the caller's, closed on exec */
    int listener;  /* open as long as other processes may come; -1: another process has won */
} smheap_election_t;

/* Waits until the winner is ready, at most `wait_msec`. False with a reason. */
bool smheap_elect(const smheap_launcher_t *launcher, const opal_region_request_t *request,
                  unsigned wait_msec, smheap_election_t *election, char *reason, size_t room);

/* Gives the name up: a process that comes later wins. Harmless if another process has won. */
void smheap_stop_listening(smheap_election_t *election);

#endif
