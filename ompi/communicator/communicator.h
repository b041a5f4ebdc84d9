/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: the groups of processes that talk, and the own rank. How they are made:
 * ompi/comm_create/create.h.
 *
 *                     group      remote_group    ranks of messages    local
 *   intracommunicator the ranks  NULL            of group             itself
 *   intercommunicator this side  the other side  of remote_group      an intracommunicator of group
 *
 * A child is an intracommunicator of some ranks of another communicator, its parent, which a
 * component of coll owns. It has no context, and the user never sees it: its messages are messages
 * of the parent (ompi/mca/coll/coll.h).
 *
 * Threading: a field never changes while the user has the communicator, unless its line says
 * otherwise. The name has the lock of communicator.c. The last reference to a communicator is
 * released under the message lock.
 */
#ifndef OMPI_COMMUNICATOR_H
#define OMPI_COMMUNICATOR_H

#include "opal/util/counter.h"
#include "opal/util/list.h"
#include "ompi/group/group.h"
#include "ompi/info/info.h"
#include "ompi/object/object.h"

struct ompi_bsend_buffer;
struct ompi_errhandler;
struct ompi_topology;

/* Numbers of persistent collectives that the ranks agree on at a time. */
enum { OMPI_COMM_NUMBERS = 512 };

/* A collective call, for a person who asks how ranks differ. */
typedef struct ompi_comm_call {
    const char *name; /* without "MPI_" */
    int root;         /* -1: it has none */
    size_t bytes;     /* SIZE_MAX: they need not be equal */
} ompi_comm_call_t;

enum { OMPI_COMM_RECENT = 4 };

typedef struct ompi_communicator {
    ompi_object_t head;
    int rank, size;                   /* in group */
    ompi_group_t *group;              /* retained, as are the next three */
    ompi_group_t *remote_group;       /* NULL: an intracommunicator */
    struct ompi_communicator *local;  /* of the own side, for its collectives */
    struct ompi_topology *topology;   /* NULL: none */
    struct ompi_communicator *parent; /* of a child; no child itself; NULL: this is no child */
    int *parent_ranks;                /* of a child: the rank in the parent of each of its ranks */
    ompi_object_t *session;           /* that it derives from; retained. NULL: from none */
    uint32_t context;                 /* of its messages; the same in all its processes */
    uint32_t generation; /* the same in all its processes; larger than that of each communicator
                            that was made before in any of them */
    atomic_int requests; /* that exist, and share a reference to it; see request.c */
    unsigned freed; /* requests that the user has freed and that are active. The message lock */
    atomic_int *all_ended; /* set when `freed` becomes 0; NULL: nobody waits. The message lock */
    uint32_t collectives;  /* how many collectives have begun, for their tags. The message lock */
    struct ompi_schedule
        *persistent;   /* list of the living persistent collectives. The message lock */
    uint64_t prepared; /* how many of their numbers have been tried. The message lock */
    uint64_t
        numbers[OMPI_COMM_NUMBERS / 64]; /* which of the next numbers are taken. The message lock */
    uint32_t creations; /* how many communicators were made over it. The message lock */
    void *pml;          /* the pml's state */
    void *coll;         /* the coll framework's state */
    opal_traffic_t network_sent, network_received; /* what a network matches. The message lock */
    struct ompi_bsend_buffer *bsend_buffer;        /* NULL: none. The message lock */
    /* Of the program: how many of its collectives have begun, and the last ones: that of number n
     * is in recent[n % OMPI_COMM_RECENT]. The message lock. */
    uint64_t calls;
    ompi_comm_call_t recent[OMPI_COMM_RECENT];
    uint64_t checked;      /* collective calls that mpi_check has seen. The message lock */
    uint64_t call_history; /* a hash of their kinds and roots. The message lock */
    uint64_t call_digest;  /* of the latest and the history; 0: not checked. The message lock */
    int check_error;       /* why collectives have ended here; MPI_SUCCESS. The message lock */
    bool is_checked;       /* its collectives are recorded (ompi/check/check.h) */
    bool has_begun;        /* it has a context and messages */
    bool is_ending;        /* its last user has released it */
    bool lends_context;    /* another communicator gives its context back */
    opal_list_node_t node; /* in the list of the user's communicators. The message lock */
    atomic_uint hints;     /* a bit for each hint that is true; see hints.c */
    char *asserted_kinds;  /* mpi_assert_memory_alloc_kinds, malloc'ed; NULL: not set */
    const char *resource;  /* what MPI_Comm_split_type split by; NULL: nothing */
    char name[MPI_MAX_OBJECT_NAME];
} ompi_communicator_t;

/* MPI_COMM_WORLD and MPI_COMM_SELF; their handles are valid from MPI_Init to MPI_Finalize. */
OPAL_EXPORT extern ompi_communicator_t ompi_comm_world, ompi_comm_self;

/* Internal: its ranks are the indices of processes. MPI_Comm_create_from_group makes communicators
 * over it. It has messages, but no collectives. */
OPAL_EXPORT extern ompi_communicator_t ompi_comm_processes;

/* Communicators that the user has not freed. The message lock. */
OPAL_EXPORT extern opal_list_t ompi_comm_all;

/* Makes these three usable, for rank `rank` of a job of `size`; world and self get the error
 * handler. MPI_ERR_NO_MEM: none of them is usable. */
int ompi_comm_init(int rank, int size, struct ompi_errhandler *errhandler);
void ompi_comm_fini(void);

/* MPI_Init and MPI_Finalize: the handles of world and self become valid, and invalid. Errors
 * without an object invoke `errhandler` from then on. */
void ompi_comm_open_world(void);
void ompi_comm_close_world(struct ompi_errhandler *errhandler);

/*
 * A communicator without groups and context, with one reference and the error handler and the
 * session of `parent`; NULL: no memory.
 */
ompi_communicator_t *ompi_comm_create(ompi_communicator_t *parent);

/* Makes a communicator that was made of a group derive from the group's session; may be NULL. */
void ompi_comm_set_session(ompi_communicator_t *comm, ompi_object_t *session);

/* Sets and retains the groups. `remote` is NULL for an intracommunicator. */
void ompi_comm_set_groups(ompi_communicator_t *comm, ompi_group_t *group, ompi_group_t *remote);

/*
 * Begins messages in that context, which the communicator gives back at its end. `local_context` is
 * for the communicator of the own side of an intercommunicator. On an error the contexts remain the
 * caller's. Under the message lock.
 */
int ompi_comm_begin(ompi_communicator_t *comm, uint32_t context, uint32_t local_context);

/* The pml has removed a communicator that it could not remove at once, and calls this. Under
 * ompi_lock. */
OPAL_EXPORT void ompi_comm_removed(ompi_communicator_t *comm);

/* Adds it to the list of the user's communicators, which end with MPI if the user does not free
 * them. ompi_comm_begin calls it, too. Under the message lock. */
void ompi_comm_list(ompi_communicator_t *comm);

/* The generation of the newest communicator. Begins at 0, with world and self. The message lock. */
extern uint32_t ompi_comm_generation;

/* The members have agreed on the generation of a new communicator. Under the message lock. */
void ompi_comm_set_generation(ompi_communicator_t *comm, uint32_t generation);

/* What the layers above do for each communicator. ompi/runtime/messages.c sets it at start-up. All
 * are called under the message lock. */
typedef struct ompi_comm_hooks {
    /* A communicator, whose context is set, begins to have messages and collectives. Returns an MPI
     * error code; after an error nothing of it is left. */
    int (*begin)(ompi_communicator_t *comm);

    /* Its last user has released it. False: the pml cannot remove it at once, and calls
     * ompi_comm_removed later. */
    bool (*end)(ompi_communicator_t *comm);

    /* Frees the communicator's buffer for buffered sends, which is empty. */
    void (*destroy_buffer)(struct ompi_bsend_buffer *buffer);
} ompi_comm_hooks_t;

/* World, self and ompi_comm_processes begin to have messages, and end to have them; then all other
 * communicators end, too. At most `limit` communicators may exist. */
int ompi_comm_start_messages(uint32_t limit, const ompi_comm_hooks_t *hooks);
void ompi_comm_stop_messages(void);

/* Ends the communicators that the program did not free, unless they have requests; their attribute
 * callbacks are not called. Under the message lock. */
void ompi_comm_end_idle(void);

/* The user's communicator with that context, or world or self; NULL: none. Searches all of them.
 * Under the message lock. */
OPAL_EXPORT ompi_communicator_t *ompi_comm_find(uint32_t context);

/* The program begins a collective call. Under the message lock. */
static inline void ompi_comm_note_call(ompi_communicator_t *comm, const ompi_comm_call_t *call)
{
    comm->recent[++comm->calls % OMPI_COMM_RECENT] = *call;
}
OPAL_EXPORT uint32_t ompi_comm_highest_context(void); /* ever in use */

/* Calls `each` on world, self and the user's communicators. Under the message lock. */
OPAL_EXPORT void ompi_comm_for_each(void (*each)(ompi_communicator_t *comm, void *context),
                                    void *context);

/* Hints. set: those keys of `info` (may be NULL) that the standard knows. get: all hints of the
 * communicator as an object for the caller; NULL: no memory. */
void ompi_comm_set_hints(ompi_communicator_t *comm, ompi_info_t *info);
void ompi_comm_copy_hints(const ompi_communicator_t *from, ompi_communicator_t *to);
ompi_info_t *ompi_comm_get_hints(const ompi_communicator_t *comm);

/* Copies at most MPI_MAX_OBJECT_NAME bytes with the final 0; longer names are cut. */
void ompi_comm_set_name(ompi_communicator_t *comm, const char *name);
void ompi_comm_get_name(const ompi_communicator_t *comm, char name[MPI_MAX_OBJECT_NAME]);

/* The process (opal/process/process.h) that a rank of a send or receive is. */
static inline unsigned ompi_comm_process(const ompi_communicator_t *comm, int rank)
{
    const ompi_group_t *group = comm->remote_group != NULL ? comm->remote_group : comm->group;
    return (unsigned)ompi_group_process(group, rank);
}

static inline bool ompi_comm_is_inter(const ompi_communicator_t *comm)
{
    return comm->remote_group != NULL;
}

/* Whether there are processes of several jobs: then all members see that there are, and nothing
 * else that a process knows of its own job alone is alike in all of them. */
static inline bool ompi_comm_spans_jobs(const ompi_communicator_t *comm)
{
    return comm->group->has_foreign ||
           (comm->remote_group != NULL && comm->remote_group->has_foreign);
}

/* How many ranks there are to talk to. */
static inline int ompi_comm_peers(const ompi_communicator_t *comm)
{
    return comm->remote_group != NULL ? comm->remote_group->size : comm->size;
}

/* For the argument checks. */
static inline bool ompi_comm_has_rank(const ompi_communicator_t *comm, int rank)
{
    return rank >= 0 && rank < ompi_comm_peers(comm);
}

static inline bool ompi_comm_may_send(const ompi_communicator_t *comm, int dest)
{
    return ompi_comm_has_rank(comm, dest) || dest == MPI_PROC_NULL;
}

static inline bool ompi_comm_may_receive(const ompi_communicator_t *comm, int source)
{
    return ompi_comm_may_send(comm, source) || source == MPI_ANY_SOURCE;
}

static inline bool ompi_comm_may_root(const ompi_communicator_t *comm, int root)
{
    return ompi_comm_has_rank(comm, root) ||
           (ompi_comm_is_inter(comm) && (root == MPI_ROOT || root == MPI_PROC_NULL));
}

/* Whether this process reads the arguments that only the root gives. */
static inline bool ompi_comm_is_root(const ompi_communicator_t *comm, int root)
{
    return ompi_comm_is_inter(comm) ? root == MPI_ROOT : comm->rank == root;
}

/* Whether this process has nothing to do in an operation with this root (MPI_PROC_NULL), so that
 * its other arguments are not read. */
static inline bool ompi_comm_is_idle(const ompi_communicator_t *comm, int root)
{
    return ompi_comm_is_inter(comm) && root == MPI_PROC_NULL;
}

#endif
