/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who makes the region where no mpirun of ours has: the ranks of a node elect it before main, when
 * they know nothing of each other.
 *
 *   a process                          the others
 *   makes a region, ready for use
 *   binds a name: is it the first? --- no: connect to it, and learn whose it is
 *   listens, and goes on               open that process' region by /proc/<pid>/fd
 *
 * The name is that of an abstract socket, made of user, launcher and job: nobody else can have it
 * as long as the first one lives, and it is gone with it, however that ends. Then the next one is
 * the first. Processes that have come to different regions see that by their ids, and share
 * nothing.
 *
 * Nobody accepts a connection, and no file is left anywhere. Where the system lets only so many
 * wait to be accepted (net.core.somaxconn), the next ones find the region with any process of the
 * same user that has attached to it: its header tells which election it comes from.
 * Allocates nothing.
 */
#ifndef MEMORY_SMHEAP_ELECTION_H
#define MEMORY_SMHEAP_ELECTION_H

#include "opal/mca/memory/smheap/launcher.h"
#include "opal/node/region_file.h"

typedef struct smheap_election {
    int region_fd; /* the caller's, closed on exec */
    int listener;  /* open as long as others may come; -1: another process has won */
} smheap_election_t;

/* Takes as long as the first one needs to get ready, at most `wait_msec`. False with a reason. */
bool smheap_elect(const smheap_launcher_t *launcher, const opal_region_request_t *request,
                  unsigned wait_msec, smheap_election_t *election, char *reason, size_t room);

/* Who comes now finds nobody. Harmless where somebody else has won. */
void smheap_stop_listening(smheap_election_t *election);

#endif
