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
    uint64_t timeout_nsec; /* 0: none */
} ompi_meeting_way_t;

/* The seconds of the info's time limit (keys "timeout", "connect_timeout"), or `preset`. False: the
 * value is no number of seconds. `info` may be NULL. */
bool ompi_dynamic_timeout(ompi_info_t *info, double preset, uint64_t *nsec);

/* Collective over comm, an intracommunicator; the root alone reads `way`. */
int ompi_dynamic_meet(ompi_communicator_t *comm, int root, const ompi_meeting_way_t *way,
                      ompi_communicator_t **result, char detail[OMPI_DYNAMIC_DETAIL_BYTES]);

#endif
