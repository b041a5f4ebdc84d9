/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A catalogue of how MPI programs hang, and of programs that only wait long. Each case is a
 * function that says in a comment what its mistake is; reports.txt has what mpirun says about it.
 *
 *   messages.c      a message that nobody sends, or that does not match
 *   requests.c      requests that never end
 *   collectives.c   calls that not all ranks make, or not the same one
 *   windows.c       one-sided communication and files
 *   ranks.c         a rank that does something else
 *   patient.c       programs that are right, and wait long
 *   fortran.f90     a program of its own
 *
 * A comment "@NAME" at the end of a line is a place that reports.txt speaks of.
 */
#ifndef MICA_TEST_HANG_H
#define MICA_TEST_HANG_H

#include <mpi.h>

typedef struct hang_case {
    const char *name;
    void (*run)(void);
    int threads; /* the level to ask for; 0: MPI_THREAD_SINGLE */
} hang_case_t;

/* Each ends with a case without a name. */
extern const hang_case_t message_cases[], request_cases[], collective_cases[], window_cases[],
    rank_cases[], patient_cases[];

extern int rank, size; /* in MPI_COMM_WORLD */

enum { LARGE_BYTES = 1 << 20 }; /* too much to be sent before there is a receive */
extern char large[LARGE_BYTES];

/* Waits for a signal, outside of MPI, for ever. */
void sleep_for_ever(void);

/* For how long a program waits that is right. */
extern double patience;

/* Waits outside of MPI: asleep, or computing. */
void sleep_seconds(double seconds);
void compute_seconds(double seconds);

#endif
