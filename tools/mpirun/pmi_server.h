/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server of the PMI-1 protocol as a state machine: bytes from each rank in, bytes for each rank
 * out. It knows no descriptors and no processes.
 *
 *   rank --> pmi_server_receive --> [ KVS, barrier, names ] --> pmi_server_pending --> rank
 *
 * The caller moves the bytes: after each call that handles a rank's input it calls
 * pmi_server_next_pending for the ranks that have pending output. The input of a rank that sends
 * requests without reading the responses is not read (pmi_server_is_full), so no buffer grows
 * without bound.
 *
 * Served: init, get_maxes, get_appnum, get_universe_size, get_my_kvsname, put, get,
 * barrier_in, finalize, abort; and, by its owner, publish_name, lookup_name, unpublish_name and
 * spawn. The key PMI_process_mapping says which ranks share a
 * node. A rank may repeat init ... finalize: a script can run several MPI programs one after the
 * other.
 */
#ifndef MPIRUN_PMI_SERVER_H
#define MPIRUN_PMI_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/mpirun/pmi_spawn.h"

typedef struct pmi_server pmi_server_t;

/* Called from pmi_server_receive, pmi_server_sent and pmi_server_rank_ended. */
typedef struct pmi_server_events {
    /* The rank sent an abort. `message` may be NULL; it is valid during the call. */
    void (*aborted)(void *context, unsigned rank, int code, const char *message);

    /* The rank violated the protocol, or waits for what cannot happen; no more of its input is
     * read. The complaint completes a sentence: "rank 3 ..." */
    void (*broken)(void *context, unsigned rank, const char *complaint);

    /* The rank asks for a further job. NULL: it is started, and `started`, if something was added
     * to it, says how many processes of each command run. Else a malloc'ed text: why it is not. */
    char *(*spawn)(void *context, unsigned rank, const spawn_request_t *request,
                   opal_text_t *started);

    /* As names.h; `context` has the names of all jobs. */
    const char *(*publish)(void *context, const char *service, const char *port);
    const char *(*lookup)(void *context, const char *service);
    bool (*unpublish)(void *context, const char *service);
} pmi_server_events_t;

typedef enum pmi_state {
    PMI_NEW,     /* no init yet: perhaps no MPI program */
    PMI_RUNNING, /* between init and finalize */
    PMI_FINALIZED,
} pmi_state_t;

/* Copied, but for what `context` points to. */
typedef struct pmi_server_setup {
    unsigned size, universe_size;
    const unsigned *app_of; /* the app number of each rank */
    const char *mapping;    /* the value of PMI_process_mapping */
    const char *job_id;
    const pmi_server_events_t *events;
    void *context;
} pmi_server_setup_t;

pmi_server_t *pmi_server_create(const pmi_server_setup_t *setup);
void pmi_server_destroy(pmi_server_t *server);

/*
 * Puts up to PMI_SERVER_MAX_BYTES bytes under a key of a rank, encoded as pmi/wire encodes bytes.
 * The launcher publishes values of its own in this way.
 */
enum { PMI_SERVER_MAX_BYTES = 400 };
void pmi_server_put_bytes(pmi_server_t *server, unsigned rank, const char *key, const void *bytes,
                          size_t length);

/* Puts text under a key. */
void pmi_server_put_text(pmi_server_t *server, const char *key, const char *value);

/* Handles bytes from a rank; messages may be cut anywhere. */
void pmi_server_receive(pmi_server_t *server, unsigned rank, const char *bytes, size_t length);

/* True while a rank has too much pending output for its input to be read. */
bool pmi_server_is_full(const pmi_server_t *server, unsigned rank);

/* A rank that has got new output since it was last returned; -1: none. */
int pmi_server_next_pending(pmi_server_t *server);

/* The pending output of a rank; and that `length` bytes of it were sent. */
size_t pmi_server_pending(const pmi_server_t *server, unsigned rank, const char **bytes);
void pmi_server_sent(pmi_server_t *server, unsigned rank, size_t length);

/* The process of a rank has ended. A rank that waits for it in a barrier is reported as broken. */
void pmi_server_rank_ended(pmi_server_t *server, unsigned rank);

pmi_state_t pmi_server_state(const pmi_server_t *server, unsigned rank);

#endif
