/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a thread waits for, in words for the roll (opal/roll/roll.h), whose lines have these forms:
 *
 *   wait call=MPI_Recv place=0x55d0.. open=3 collectives=17
 *   counts posted=1 unmatched=2 sent=40 received=39         of messages; the last two if those are
 *                                                           counted
 *   receive comm=0 peer=1 process=1 tag=8 bytes=400         also: send, probe, part; peer and tag
 *                                                           may be "any"; state=WORDS at the end
 *   collective comm=0 number=17
 *   act comm=0 peer=1 process=1 state=WORDS                 what a rank has to do; without a peer,
 *                                                           the program
 *   message comm=0 peer=1 process=1 tag=7 bytes=4           no receive has matched it yet
 *   left messages=200                                       so many were left out; also:
 * operations. "left lines": anything needs operations=1                                      of
 * those above; else all of them comm id=0 rank=2 size=4 calls=17
 * recent=MPI_Barrier:-:-,MPI_Bcast:0:400 members=0-3 remote=.. name=MPI_COMM_WORLD          recent:
 * the last calls, root and bytes
 *
 * A process is a rank of the own job, or "3@" and the tag of its job. Members that need too much
 * room are left out.
 *
 * Threading: under the message lock.
 */
#ifndef OMPI_REQUEST_DESCRIBE_H
#define OMPI_REQUEST_DESCRIBE_H

#include "opal/roll/roll.h"
#include "ompi/communicator/communicator.h"

enum { OMPI_DESCRIBED_COMMS = 12, OMPI_DESCRIBED_OPERATIONS = 12 };

typedef struct ompi_description {
    opal_roll_text_t text;
    const ompi_communicator_t *comms[OMPI_DESCRIBED_COMMS]; /* what lines have named */
    unsigned comm_count;
} ompi_description_t;

/* A message that is under way or waited for. */
typedef struct ompi_operation {
    const char *word;                /* "receive" */
    const ompi_communicator_t *comm; /* NULL: none is known */
    int peer, tag;                   /* as in calls */
    size_t bytes;
    const char *state; /* what it waits for, if that is not plain; or NULL */
} ompi_operation_t;

OPAL_EXPORT void ompi_describe_operation(ompi_description_t *description,
                                         const ompi_operation_t *operation);

/* A collective that has begun. */
OPAL_EXPORT void ompi_describe_collective(ompi_description_t *description,
                                          const ompi_communicator_t *comm, uint64_t number);

/* What a rank of a communicator has to do: "has not called MPI_Win_post". NULL: the program itself.
 */
OPAL_EXPORT void ompi_describe_act(ompi_description_t *description, const ompi_communicator_t *comm,
                                   int peer, const char *words);

/* " comm=5", for other lines. The communicator gets a line of its own by ompi_describe_comms. */
OPAL_EXPORT void ompi_describe_comm(ompi_description_t *description,
                                    const ompi_communicator_t *comm);
/* Only that line. */
void ompi_describe_name_comm(ompi_description_t *description, const ompi_communicator_t *comm);
void ompi_describe_comms(ompi_description_t *description);

#endif
