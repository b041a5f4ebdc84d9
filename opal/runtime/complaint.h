/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of a node's ranks says why a start has failed. Mostly all ranks of a job fail with the same
 * mistake of the user's, and their launcher may let each of them come so far, as srun does.
 *
 * The first rank that fails binds the name of an abstract socket, made of user, job and findings,
 * and prints the findings at once. A rank that finds the name bound connects to it, and is answered
 * when the findings were printed; then it may end. So the only timeout is how long the first rank
 * stays for ranks that may never fail. Ranks with other findings have another name.
 *
 * The name is free again when its process ends, in whatever way: a rank that was not answered asks
 * again. Where the environment does not name the job, each rank prints its findings.
 */
#ifndef OPAL_RUNTIME_COMPLAINT_H
#define OPAL_RUNTIME_COMPLAINT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct opal_complaint {
    bool is_mine; /* this process is to print them */
    int name;     /* the socket that is bound to the name; -1: none */
} opal_complaint_t;

/* `findings` is a digest of them. Blocks while another rank prints them. */
opal_complaint_t opal_complaint_claim(uint64_t findings);

/*
 * Called when the findings were printed: answers ranks that ask. Returns, and gives the name up,
 * when `others` ranks have asked, or after wait_msec. A rank that comes later is the first again.
 */
void opal_complaint_release(opal_complaint_t *complaint, unsigned others, unsigned wait_msec);

#endif
