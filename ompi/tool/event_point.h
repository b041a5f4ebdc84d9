/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event points: the places in the library at which MPI_T events are raised.
 *
 *     if (ompi_event_is_wanted(OMPI_EVENT_MESSAGE_MATCHED))
 *         raise_matched(receive, ...);         out of line: fills in the data, and raises the event
 *
 * While no tool has a callback for an event, its point is one branch on a word that does not
 * change. This header is below all folders that have points. What becomes of an event is event.h's.
 *
 * Threading: an event is raised by the thread that observes it, with the locks that this thread
 * has. The callbacks of tools run inside. A point that may be reached with ompi_lock, or the lock
 * of a lane, says so (OMPI_EVENT_LOCKED): its callbacks may call functions of MPI_T alone, which
 * take none of these locks. What the point works on is in a state in which another thread could
 * find it.
 */
#ifndef OMPI_TOOL_EVENT_POINT_H
#define OMPI_TOOL_EVENT_POINT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "opal/include/compiler.h"
#include "ompi/api/mpi.h"

struct ompi_communicator;

/* The event types, by the index that tools know. New ones are added at the end. */
typedef enum ompi_event {
    OMPI_EVENT_MESSAGE_MATCHED,      /* ompi_event_message_t */
    OMPI_EVENT_MESSAGE_UNEXPECTED,   /* ompi_event_message_t */
    OMPI_EVENT_RENDEZVOUS_BEGUN,     /* ompi_event_rendezvous_t, without the error */
    OMPI_EVENT_RENDEZVOUS_ENDED,     /* ompi_event_rendezvous_t */
    OMPI_EVENT_COLLECTIVE_BEGUN,     /* ompi_event_collective_t, without the error */
    OMPI_EVENT_COLLECTIVE_ENDED,     /* ompi_event_collective_t */
    OMPI_EVENT_PEER_CONNECTED,       /* ompi_event_connected_t */
    OMPI_EVENT_PEER_FAILED,          /* ompi_event_failed_t */
    OMPI_EVENT_REGISTRATION_EVICTED, /* ompi_event_evicted_t */
    OMPI_EVENT_COMMUNICATOR_MADE,    /* ompi_event_communicator_t */
    OMPI_EVENT_COMMUNICATOR_FREED,   /* ompi_event_communicator_t */
    OMPI_EVENTS,
    OMPI_EVENT_TRACED = 31, /* no type: the bit by which mpi_trace sees matches */
} ompi_event_t;

/* -- data. Tools read these structures as they are: int, unsigned and MPI_Count, no padding -- */

typedef enum ompi_event_transport {
    OMPI_EVENT_BY_OTHER,
    OMPI_EVENT_BY_SELF,
    OMPI_EVENT_BY_SM,
    OMPI_EVENT_BY_SOCK,
    OMPI_EVENT_BY_NETWORK,
} ompi_event_transport_t;

typedef enum ompi_event_protocol {
    OMPI_EVENT_EAGER,
    OMPI_EVENT_EAGER_SYNCHRONOUS,
    OMPI_EVENT_STREAM,
    OMPI_EVENT_RENDEZVOUS,
} ompi_event_protocol_t;

typedef struct ompi_event_message {
    unsigned context; /* of the communicator */
    int source, tag;
    int traffic;   /* ompi_context_t of pml.h */
    int transport; /* ompi_event_transport_t */
    int protocol;  /* ompi_event_protocol_t */
    MPI_Count bytes;
} ompi_event_message_t;

typedef enum ompi_event_side { OMPI_EVENT_SENDER, OMPI_EVENT_RECEIVER } ompi_event_side_t;

typedef struct ompi_event_rendezvous {
    unsigned context;
    int peer, tag;
    int traffic, transport;
    int side; /* ompi_event_side_t: of this process */
    MPI_Count bytes;
    int error, unused; /* an MPI error code */
} ompi_event_rendezvous_t;

typedef enum ompi_event_form {
    OMPI_EVENT_BLOCKING,
    OMPI_EVENT_NONBLOCKING,
    OMPI_EVENT_PERSISTENT,
} ompi_event_form_t;

typedef struct ompi_event_collective {
    MPI_Count number; /* equal in the two events of one operation, in this process */
    unsigned context;
    int operation;   /* ompi_coll_kind_t of coll.h */
    int form;        /* ompi_event_form_t */
    int root;        /* 0 if the operation has none */
    MPI_Count bytes; /* what this rank sends, or, if it sends nothing, receives */
    int error, unused;
} ompi_event_collective_t;

typedef struct ompi_event_connected {
    int rank; /* of the peer, in its job */
    int transport;
} ompi_event_connected_t;

typedef struct ompi_event_failed {
    int rank;
    int error;
} ompi_event_failed_t;

typedef struct ompi_event_evicted {
    MPI_Count address, bytes;
} ompi_event_evicted_t;

typedef struct ompi_event_communicator {
    unsigned context;
    int rank, size;
    int remote_size; /* 0: an intracommunicator */
} ompi_event_communicator_t;

/* -- raising -- */

typedef enum ompi_event_context { OMPI_EVENT_UNLOCKED, OMPI_EVENT_LOCKED } ompi_event_context_t;

/* A bit for each event that a callback is registered for. Points read it, event.c writes it. */
OPAL_EXPORT extern atomic_uint ompi_events_wanted;

static inline bool ompi_event_is_wanted(ompi_event_t event)
{
    unsigned wanted = atomic_load_explicit(&ompi_events_wanted, memory_order_relaxed);
    return opal_unlikely((wanted & 1u << event) != 0);
}

/* Matches are also seen by mpi_trace. */
static inline bool ompi_event_is_match_wanted(void)
{
    unsigned wanted = atomic_load_explicit(&ompi_events_wanted, memory_order_relaxed);
    return opal_unlikely((wanted & (1u << OMPI_EVENT_MESSAGE_MATCHED | 1u << OMPI_EVENT_TRACED)) !=
                         0);
}

/* The points of matches call their function for mpi_trace, too, or do not any more. */
void ompi_event_set_traced(bool traced);

/* Of two that belong together: whether the first or the second is. */
static inline bool ompi_event_is_either_wanted(ompi_event_t first, ompi_event_t second)
{
    unsigned wanted = atomic_load_explicit(&ompi_events_wanted, memory_order_relaxed);
    return opal_unlikely((wanted & (1u << first | 1u << second)) != 0);
}

/* A number for what has two events; not 0. */
OPAL_EXPORT MPI_Count ompi_event_number(void);

/* Raises an event in the calling thread. `comm`: what handles may be bound to; NULL: nothing. The
 * data, and its type, are those of the event; they are read before the call returns. */
OPAL_EXPORT void ompi_event_raise(ompi_event_t event, ompi_event_context_t context,
                                  const struct ompi_communicator *comm, const void *data);

/* The transport with that name. */
OPAL_EXPORT ompi_event_transport_t ompi_event_transport_of(const char *name);

#endif
