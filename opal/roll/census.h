/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The census: the processes of jobs on this machine, and their rolls (roll.h). It is taken from
 * /proc, by any process that may look at them, and changes nothing. Those of several hosts are put
 * together by the bytes that they are packed into.
 *
 * Running out of memory ends the process: it is for tools.
 */
#ifndef OPAL_ROLL_CENSUS_H
#define OPAL_ROLL_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/roll/roll.h"

/* What a thread of a process waits for. */
typedef struct opal_census_wait {
    uint64_t since_nsec;   /* nothing has come since; opal_clock_nsec */
    uint64_t written_nsec; /* a loop still went round then */
    bool is_loop;
    int thread;
    char *text;  /* roll.h */
    char *where; /* the place of the call for a person; NULL: nobody has looked it up */
} opal_census_wait_t;

typedef struct opal_census_process {
    int pid;
    unsigned rank;
    char job_id[64];
    char host[64];       /* that it runs on; empty: this one */
    char state;          /* of /proc/PID/stat: R S D T t Z; 0: it has ended */
    bool is_elsewhere;   /* a thread that may call MPI does something else */
    int tracer;          /* the pid of a debugger; 0: none */
    double cpu_seconds;  /* so far */
    size_t memory_bytes; /* resident */
    char command[32];
    opal_census_wait_t waits[OPAL_ROLL_ENTRIES];
    unsigned wait_count;
} opal_census_process_t;

typedef struct opal_census {
    opal_census_process_t *processes; /* by job and rank */
    size_t count;
} opal_census_t;

/* Of the processes of jobs that descend from `ancestor`, or that is itself one; 0: of all. */
OPAL_EXPORT void opal_census_take(int ancestor, opal_census_t *census);

/* Of the ranks of this process's job on this node that are in MPI. Between the start and the stop
 * of the roll. */
OPAL_EXPORT void opal_census_take_node(const opal_pmi_job_t *job, opal_census_t *census);

OPAL_EXPORT void opal_census_free(opal_census_t *census);
OPAL_EXPORT void opal_census_free_process(opal_census_process_t *process);

/* The census in bytes, malloc'ed, for another process of this build; and their addition to one,
 * which is to be sorted when all are there. False: these are no such bytes, and nothing was added.
 */
OPAL_EXPORT void *opal_census_pack(const opal_census_t *census, size_t *length);
OPAL_EXPORT bool opal_census_unpack(opal_census_t *census, const void *bytes, size_t length);
OPAL_EXPORT void opal_census_sort(opal_census_t *census);

/* Whether a process is that one, or a descendant of it. */
OPAL_EXPORT bool opal_census_descends_from(int pid, int ancestor);

#endif
