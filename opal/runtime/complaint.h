/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who says why a start has failed. Mostly all ranks fail with the same mistake of the user's, and
 * the one that reports for the job says it. Another one waits: the launcher ends it soon. Some do
 * not, as srun without -K; then each rank would say it. So those of a node choose one:
 *
 *   the reporter                      another rank
 *   says it at once                   binds a name of the job: is it the first? --- no: is silent
 *   has somebody bound the name?      listens there for a while: does the reporter come?
 *     yes: connects, as a sign          yes: is silent
 *     no: binds it                      no: says it
 *
 * The name is that of an abstract socket, made of user and job. It goes with the process that has
 * it, however that ends. Where the environment does not name the job, each is on its own.
 */
#ifndef OPAL_RUNTIME_COMPLAINT_H
#define OPAL_RUNTIME_COMPLAINT_H

#include <stdbool.h>

typedef struct opal_complaint {
    bool is_mine; /* this process is to say it */
    int name;     /* descriptor that holds the name; -1: it does not have it */
} opal_complaint_t;

/* Who is not the reporter waits in here. */
opal_complaint_t opal_complaint_claim(bool is_reporter, unsigned wait_msec);

/* Gives the name back after the time in which others may come that would claim it. Who does not
 * have it does not wait. */
void opal_complaint_release(opal_complaint_t *complaint, unsigned wait_msec);

#endif
