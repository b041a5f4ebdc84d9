/* SPDX-License-Identifier: BSD-3-Clause */
/* The sockets between the ranks and the PMI server. */
#ifndef MPIRUN_PMI_LINK_H
#define MPIRUN_PMI_LINK_H

#include "tools/mpirun/loop.h"
#include "tools/mpirun/pmi_server.h"

typedef struct pmi_links pmi_links_t;

pmi_links_t *pmi_links_create(loop_t *loop, pmi_server_t *server, unsigned size);
void pmi_links_destroy(pmi_links_t *links);

/* Makes a rank's socket pair. Returns the rank's end, which the caller closes, or -1 with errno. */
int pmi_links_open(pmi_links_t *links, unsigned rank);

/* `found` is called when a rank first speaks from another process than the one before; the first
 * one is what was started for it. */
void pmi_links_watch_pids(pmi_links_t *links, void (*found)(void *context, unsigned rank, int pid),
                          void *context);

/* Until let go, ranks get no answers, and so wait in the first call of PMI. Before ranks start. */
void pmi_links_hold(pmi_links_t *links);
void pmi_links_let_go(pmi_links_t *links);

/* Takes a socket to a rank that is no child; `closed` is called when its other end has closed.
 * False with errno: it cannot be watched, and stays the caller's. */
bool pmi_links_adopt(pmi_links_t *links, unsigned rank, int fd, void (*closed)(void *context),
                     void *context);

/* Serves the last requests of a rank that has ended, and closes its socket. */
void pmi_links_finish(pmi_links_t *links, unsigned rank);

#endif
