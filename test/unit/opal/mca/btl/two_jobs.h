/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two crews, each a job with an id and a key of its own, whose ranks hand their address records to
 * those of the other one.
 */
#ifndef OPAL_UNIT_BTL_TWO_JOBS_H
#define OPAL_UNIT_BTL_TWO_JOBS_H

#include "opal/process/process_record.h"
#include "test/unit/opal/mca/btl/crew.h"

enum { TWO_JOBS = 2, TWO_JOBS_MOST_RANKS = 2, TWO_JOBS_WORDS = 64 };
enum { TWO_JOBS_KIND = OPAL_BTL_CONTROL * OPAL_BTL_KINDS + 2 };

/* What the processes of both jobs see. */
typedef struct two_jobs_board {
    uint64_t meets;
    size_t lengths[TWO_JOBS][TWO_JOBS_MOST_RANKS];
    unsigned char records[TWO_JOBS][TWO_JOBS_MOST_RANKS][OPAL_RECORD_MOST_BYTES];
    volatile uint64_t words[TWO_JOBS_WORDS];
} two_jobs_board_t;

/* What a process of one of them knows. */
typedef struct two_jobs {
    two_jobs_board_t *board;
    unsigned job;                                /* its own */
    opal_process_t *others[TWO_JOBS_MOST_RANKS]; /* of the other job */
    unsigned received[TWO_JOBS_MOST_RANKS], received_own, failures, departures;
} two_jobs_t;

extern two_jobs_t two;

/* Set when a frame or the end of a peer is reported, which ends a wait. NULL: none waits. */
extern atomic_int *two_jobs_wakes;
extern const char *const two_jobs_ids[TWO_JOBS];

/* Runs `work` in so many ranks of both jobs; `prepare`, if it is not NULL, before them in the
 * process that forks those of a job. Both jobs end if one fails. */
void two_jobs_run(const opal_component_t *component, unsigned ranks, void (*prepare)(void),
                  void (*work)(void));

/* All processes of both jobs. */
int two_jobs_poll(void);
void two_jobs_meet(int (*meanwhile)(void));

/* Opens a client, and tells all where this process is; closes it. */
void two_jobs_publish(void);
void two_jobs_retire(void);

/* Adds and releases processes of the other job. */
opal_process_t *two_jobs_add(unsigned rank);
void two_jobs_add_all(void);
void two_jobs_release_all(void);

/* Frames between all; each is checked. */
void two_jobs_send(opal_process_t *process, unsigned number);
void two_jobs_exchange(unsigned frames);

/* All that a process does: the first job releases the second one, whose processes hear that the
 * first one has left, and not that it has failed. */
void two_jobs_part(void);

#endif
