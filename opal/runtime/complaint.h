/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of a node's ranks says why a start has failed. Mostly all ranks of a job fail with the same
 * mistake of the user's, and their launcher may let each of them come so far, as srun does.
 *
 * The first rank that asks binds the name of an abstract socket, made of user, job and findings: it
 * says them, at once. A rank that finds the name bound connects to it, and is answered when the
 * findings have been said; then it may end. So nothing goes by time but how long the first rank
 * stays for ranks that may never fail. Ranks with other findings have another name.
 *
 * The name goes with the process that has it, however that ends: a rank that was not answered asks
 * again. Where the environment does not name the job, each rank speaks for itself.
 */
#ifndef OPAL_RUNTIME_COMPLAINT_H
#define OPAL_RUNTIME_COMPLAINT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct opal_complaint {
    bool is_mine; /* this process is to say it */
    int name;     /* descriptor that holds the name; -1: it does not have it */
} opal_complaint_t;

/* `findings` is a number made of what is to be said. Blocks until another rank has said it. */
opal_complaint_t opal_complaint_claim(uint64_t findings);

/*
 * Called when it has been said: answers ranks that ask. Returns, without the name, when `others`
 * have asked, or after wait_msec. A rank that comes later than that takes itself for the first.
 */
void opal_complaint_release(opal_complaint_t *complaint, unsigned others, unsigned wait_msec);

#endif
