/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: who talks, as which rank, of how many. How they are made: create.h.
 *
 *                     group      remote_group    ranks of messages    local
 *   intracommunicator the ranks  NULL            of group             itself
 *   intercommunicator this side  the other side  of remote_group      an intracommunicator of group
 *
 * Threading: what is here never changes while the user has the communicator, unless a line says
 * otherwise. The name has the lock of communicator.c. The last reference to a communicator is
 * given back under the message lock.
 */
#ifndef OMPI_COMMUNICATOR_H
#define OMPI_COMMUNICATOR_H

#include "opal/util/list.h"
#include "ompi/group/group.h"
#include "ompi/info/info.h"
#include "ompi/object/object.h"

struct ompi_bsend_buffer;
struct ompi_errhandler;
struct ompi_topology;

/* Numbers of persistent collectives that the ranks agree on at a time. */
enum { OMPI_COMM_NUMBERS = 512 };

typedef struct ompi_communicator {
    ompi_object_t head;
    int rank, size;                   /* in group */
    ompi_group_t *group;              /* retained, as all that follows */
    ompi_group_t *remote_group;       /* NULL: an intracommunicator */
    struct ompi_communicator *local;  /* for the collectives of one side */
    struct ompi_topology *topology;   /* NULL: none */
    uint32_t context;                 /* of its messages; the same in all its processes */
    uint32_t collectives;             /* how many have begun, for their tags. The message lock */
    struct ompi_schedule *persistent; /* a list of the living persistent ones, likewise */
    uint64_t prepared;                /* how many of their numbers have been tried, likewise */
    uint64_t numbers[OMPI_COMM_NUMBERS / 64]; /* which of the next ones are taken, likewise */
    uint32_t creations; /* how many communicators were begun from it, likewise */
    void *pml;          /* what the pml has of it */
    void *coll;         /* what the coll framework has of it */
    struct ompi_bsend_buffer *bsend_buffer; /* of its own; NULL: none. The message lock */
    bool has_begun;                         /* it has a context and messages */
    bool is_ending;                         /* it has had them, and nobody uses it any more */
    bool lends_context;                     /* which is given back by who has lent it */
    opal_list_node_t node; /* in the list of those that the user has. The message lock */
    atomic_uint hints;     /* a bit for each that is true */
    const char *resource;  /* what MPI_Comm_split_type split by; NULL: nothing */
    char name[MPI_MAX_OBJECT_NAME];
} ompi_communicator_t;

/* MPI_COMM_WORLD and MPI_COMM_SELF; their handles lead to them while MPI is initialized. */
extern ompi_communicator_t ompi_comm_world, ompi_comm_self;

/* Not the user's: a rank is the index of a process. Communicators are made over it that are made of
 * groups, without another one. It has messages, and no collectives. */
extern ompi_communicator_t ompi_comm_processes;

/* Makes the three usable, for rank `rank` of a job of `size`, with the error handler that world and
 * self begin with. MPI_ERR_NO_MEM: nothing is. */
int ompi_comm_init(int rank, int size, struct ompi_errhandler *errhandler);
void ompi_comm_fini(void);

/*
 * A communicator without groups and context, with one reference and the error handler of `parent`;
 * NULL: no memory.
 */
ompi_communicator_t *ompi_comm_create(ompi_communicator_t *parent);

/* The groups, which it retains. `remote` is NULL for an intracommunicator. */
void ompi_comm_set_groups(ompi_communicator_t *comm, ompi_group_t *group, ompi_group_t *remote);

/*
 * It gets a context, which it gives back in its end, and messages. `local_context` is for the
 * communicator of the own side, if it has two. On an error the contexts remain the caller's.
 * Under the message lock.
 */
int ompi_comm_begin(ompi_communicator_t *comm, uint32_t context, uint32_t local_context);

/* The end of one that the pml could not remove at once. Under ompi_lock. */
OPAL_EXPORT void ompi_comm_removed(ompi_communicator_t *comm);

/* The user has it from now on: if it is not freed, it ends with MPI. ompi_comm_begin does it, too.
 * Under the message lock. */
void ompi_comm_list(ompi_communicator_t *comm);

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

/* The one of the user's with that context, world and self among them; NULL: none. It looks at all
 * of them. Under the message lock. */
OPAL_EXPORT ompi_communicator_t *ompi_comm_find(uint32_t context);
OPAL_EXPORT uint32_t ompi_comm_highest_context(void); /* of those that there were */

/* Hints. set: those keys of `info` (may be NULL) that the standard knows. get: all hints of the
 * communicator as an object for the caller; NULL: no memory. */
void ompi_comm_set_hints(ompi_communicator_t *comm, ompi_info_t *info);
void ompi_comm_copy_hints(const ompi_communicator_t *from, ompi_communicator_t *to);
ompi_info_t *ompi_comm_get_hints(const ompi_communicator_t *comm);

/* Copies at most MPI_MAX_OBJECT_NAME bytes with the ending 0; what is longer is cut. */
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

/* How many ranks there are to talk to. */
static inline int ompi_comm_peers(const ompi_communicator_t *comm)
{
    return comm->remote_group != NULL ? comm->remote_group->size : comm->size;
}

/* What the argument checks ask. */
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

/* Whether arguments that only the root gives are read here. */
static inline bool ompi_comm_is_root(const ompi_communicator_t *comm, int root)
{
    return ompi_comm_is_inter(comm) ? root == MPI_ROOT : comm->rank == root;
}

/* Whether this rank has nothing to do in an operation with such a root, so that none of its other
 * arguments is read. */
static inline bool ompi_comm_is_idle(const ompi_communicator_t *comm, int root)
{
    return ompi_comm_is_inter(comm) && root == MPI_PROC_NULL;
}

#endif
