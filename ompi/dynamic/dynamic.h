/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that join later: intercommunicators with processes of other jobs.
 *
 *   connector's job                                        acceptor's job
 *   all --address records--> root                    root <--address records-- all
 *                            root <--a meeting-----> root         opal/process/port.h
 *   all <--the other side--- root                    root ---the other side--> all
 *   all ------------------- an agreement on context ids -------------------- all
 *
 * From the agreement on everything is a message between processes of the process table. Functions
 * return an MPI error code or one of context_id_agree.h; an error of one process is an error of
 * all. `detail` becomes a sentence about it, or stays empty.
 *
 * Threading: the functions take the message lock themselves, and release it while they wait.
 */
#ifndef OMPI_DYNAMIC_H
#define OMPI_DYNAMIC_H

#include <stdint.h>

#include "opal/mca/pmi/pmi.h"
#include "ompi/communicator/communicator.h"

enum { OMPI_DYNAMIC_DETAIL_BYTES = 512 };

/* How the root meets the other root. */
typedef enum ompi_meeting_kind {
    OMPI_MEETING_ACCEPT,  /* at a port that this process has opened */
    OMPI_MEETING_CONNECT, /* by the name of a port */
    OMPI_MEETING_JOIN,    /* over a socket */
} ompi_meeting_kind_t;

typedef struct ompi_meeting_way {
    ompi_meeting_kind_t kind;
    const char *port;
    int fd;
    uint64_t timeout_nsec;        /* for the roots to meet; 0: none */
    uint64_t answer_timeout_nsec; /* for each answer of the other root from then on; 0: none */
    int error;                    /* MPI_SUCCESS: meet */
    const char *detail;           /* about the error */
    /* Asked now and then while an accept waits, under the message lock: whether nobody will
     * connect, and a sentence why. NULL: that is not known. */
    bool (*is_unreachable)(const char *port, char detail[OMPI_DYNAMIC_DETAIL_BYTES]);
} ompi_meeting_way_t;

/* The seconds of the info's time limit (keys "timeout", "connect_timeout"), or `preset`. False: the
 * value is no number of seconds. `info` may be NULL. */
bool ompi_dynamic_timeout(ompi_info_t *info, double preset, uint64_t *nsec);

/* Collective over comm, an intracommunicator; the root alone reads `way`. An error that the root
 * has met before goes into `error` of it, and becomes that of all. */
int ompi_dynamic_meet(ompi_communicator_t *comm, int root, const ompi_meeting_way_t *way,
                      ompi_communicator_t **result, char detail[OMPI_DYNAMIC_DETAIL_BYTES]);

/* What the root has been asked to start. */
typedef struct ompi_spawn {
    const opal_pmi_program_t *programs;
    size_t count;
    uint64_t timeout_nsec; /* for the new processes to connect; 0: none */
    int error;             /* MPI_SUCCESS: start them; else all parents get it */
    const char *detail;    /* about the error */
} ompi_spawn_t;

/* Starts a job, and makes the intercommunicator with it. Collective over comm, an
 * intracommunicator; the root alone reads `spawn`. codes: an error code for each process that was
 * asked for, also after an error of the launcher; NULL: not wanted. *result NULL: no process was to
 * be started. */
int ompi_dynamic_spawn(ompi_communicator_t *comm, int root, const ompi_spawn_t *spawn, int codes[],
                       ompi_communicator_t **result, char detail[OMPI_DYNAMIC_DETAIL_BYTES]);

/* Of a job that was spawned: connects to the parents, collective over its world. */
int ompi_dynamic_connect_parent(const char *port, uint64_t timeout_nsec,
                                char detail[OMPI_DYNAMIC_DETAIL_BYTES]);

/* The intercommunicator with the parents; NULL: there are none, or it was forgotten. forget: the
 * user frees comm; NULL: whatever it is. */
ompi_communicator_t *ompi_dynamic_parent(void);
void ompi_dynamic_forget_parent(const ompi_communicator_t *comm);

#endif
