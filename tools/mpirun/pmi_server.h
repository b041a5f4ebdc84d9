/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The launcher's end of the PMI-1 protocol, as a state machine: bytes from each
 * rank in, bytes for each rank out, no descriptor and no process in sight.
 *
 *   rank --> pmi_server_receive --> [ KVS, barrier, names ] --> pmi_server_pending --> rank
 *
 * The caller moves the bytes: after every call that takes a rank's input it asks
 * pmi_server_next_pending for ranks that have something to be sent. A rank that
 * sends requests without reading answers is not listened to for a while
 * (pmi_server_is_full), so that no buffer grows without bound.
 *
 * Served: init, get_maxes, get_appnum, get_universe_size, get_my_kvsname, put, get,
 * barrier_in, finalize, abort, publish_name, lookup_name, unpublish_name; spawn is
 * refused in a way that clients understand. The key PMI_process_mapping says which
 * ranks share a node. A process may go through init ... finalize again: a
 * script can run several MPI programs one after the other.
 */
#ifndef MPIRUN_PMI_SERVER_H
#define MPIRUN_PMI_SERVER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pmi_server pmi_server_t;

/* What the caller is told from inside pmi_server_receive, _sent and _gone. */
typedef struct pmi_server_events {
    /* The rank called MPI_Abort, or its like. `message` may be NULL; valid during the call. */
    void (*aborted)(void *context, unsigned rank, int code, const char *message);

    /* The rank sent what is no PMI, or does what can never end; nothing of it is read from
     * now on. The complaint is a sentence's end: "rank 3 ..." */
    void (*broken)(void *context, unsigned rank, const char *complaint);
} pmi_server_events_t;

typedef enum pmi_state {
    PMI_NEW,     /* no init yet: perhaps no MPI program */
    PMI_RUNNING, /* between init and finalize */
    PMI_FINALIZED,
} pmi_state_t;

/* `app_of` gives the app number of each rank, `mapping` is the value of PMI_process_mapping. All is
 * copied but the context. */
pmi_server_t *pmi_server_create(unsigned size, const unsigned *app_of, const char *mapping,
                                const char *job_id, const pmi_server_events_t *events,
                                void *context);
void pmi_server_destroy(pmi_server_t *server);

/*
 * Puts up to PMI_SERVER_MAX_BYTES bytes in the name of a rank, in the form in which pmi/wire puts
 * bytes; for what the launcher itself has to tell all ranks.
 */
enum { PMI_SERVER_MAX_BYTES = 400 };
void pmi_server_put_bytes(pmi_server_t *server, unsigned rank, const char *key, const void *bytes,
                          size_t length);

/* Bytes from a rank, however cut. */
void pmi_server_receive(pmi_server_t *server, unsigned rank, const char *bytes, size_t length);

/* True while a rank's input is not to be read: it has too many answers waiting. */
bool pmi_server_is_full(const pmi_server_t *server, unsigned rank);

/* A rank that has got something to be sent since it was last returned; -1: none. */
int pmi_server_next_pending(pmi_server_t *server);

/* What waits to be sent to a rank, and how much of it has been. */
size_t pmi_server_pending(const pmi_server_t *server, unsigned rank, const char **bytes);
void pmi_server_sent(pmi_server_t *server, unsigned rank, size_t length);

/* The rank's process has ended: whoever waits for it in a barrier would wait forever. */
void pmi_server_rank_ended(pmi_server_t *server, unsigned rank);

pmi_state_t pmi_server_state(const pmi_server_t *server, unsigned rank);

#endif
