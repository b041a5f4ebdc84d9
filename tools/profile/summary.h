/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the records of a job say, added up: by rank, by function, by place in the program, by
 * algorithm of collectives. And in sentences: what an engineer wants to know first.
 *
 * Times are seconds. "In MPI" is waiting and moving: waiting is the time in which a call had
 * nothing to do until something came, moving is the rest.
 */
#ifndef MICA_PROFILE_SUMMARY_H
#define MICA_PROFILE_SUMMARY_H

#include "opal/util/text.h"
#include "tools/profile/records.h"

typedef struct sum {
    uint64_t calls, bytes;
    double time, waited;
} sum_t;

typedef struct rank_sum {
    sum_t mpi;
    double wall, computing; /* of all threads; wall = computing + mpi.time */
    unsigned threads;
    opal_profile_traffic_t sent; /* by the program */
} rank_sum_t;

typedef struct function_sum {
    const char *name; /* "MPI_Send" */
    sum_t sum;
    double *rank_time; /* by rank */
} function_sum_t;

/* Places of several ranks and threads that are the same line of the program. */
typedef struct site_sum {
    const opal_profile_location_t *place;
    char *text; /* "solve (heat.c:88)" */
    sum_t sum;
    double longest;
    double *rank_time; /* by rank */
    unsigned ranks;
} site_sum_t;

typedef struct collective_sum {
    const opal_profile_collective_t *entry; /* its names */
    sum_t sum;
} collective_sum_t;

typedef struct summary {
    const records_t *records;
    rank_sum_t *ranks;         /* all zero for those without a record */
    function_sum_t *functions; /* those with the most time first, as in the next two */
    size_t function_count;
    site_sum_t *sites;
    size_t site_count;
    collective_sum_t *collectives;
    size_t collective_count;
    opal_profile_traffic_t classes[OPAL_PROFILE_CLASSES];
    sum_t mpi;               /* of all ranks */
    double wall, computing;  /* sums of the ranks' */
    double most_computing;   /* of a rank */
    int awaited;             /* the rank that others wait for; -1: none stands out */
    opal_strings_t findings; /* sentences, the most important one first */
} summary_t;

void summary_make(const records_t *records, summary_t *summary);
void summary_free(summary_t *summary);

/* The index of the site in `sites` of a slot of a block; -1: none. */
int summary_site_of(const summary_t *summary, const opal_profile_block_t *block, uint64_t slot);

/* How much more the rank that computes longest computes than the mean, as a part of the mean. */
double summary_imbalance(const summary_t *summary);

/* "12.3 s", "450 ms", "2.31 us"; "1.5 MB". Returns text. */
enum { SUMMARY_TEXT_BYTES = 32 };
char *summary_seconds(double seconds, char text[SUMMARY_TEXT_BYTES]);
char *summary_bytes(double bytes, char text[SUMMARY_TEXT_BYTES]);
char *summary_count(double count, char text[SUMMARY_TEXT_BYTES]);

#endif
