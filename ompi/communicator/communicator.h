/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: who talks, as which rank, of how many.
 *
 *                     group      remote_group    ranks of messages    local
 *   intracommunicator the ranks  NULL            of group             itself
 *   intercommunicator this side  the other side  of remote_group      an intracommunicator of group
 *
 * Threading: what is here never changes while the user has the communicator, unless a line says
 * otherwise. The name has the lock of communicator.c.
 */
#ifndef OMPI_COMMUNICATOR_H
#define OMPI_COMMUNICATOR_H

#include "ompi/group/group.h"
#include "ompi/object/object.h"

struct ompi_topology;

typedef struct ompi_communicator {
    ompi_object_t head;
    int rank, size;                  /* in group */
    ompi_group_t *group;             /* retained, as all that follows */
    ompi_group_t *remote_group;      /* NULL: an intracommunicator */
    struct ompi_communicator *local; /* for the collectives of one side */
    struct ompi_topology *topology;  /* NULL: none */
    uint32_t context;                /* of its messages; the same in all its processes */
    uint32_t collectives;            /* how many have begun, for their tags. The message lock */
    uint32_t prepared;               /* how many persistent ones have been made, likewise */
    void *pml;                       /* what the pml has of it */
    void *coll;                      /* what the coll framework has of it */
    char name[MPI_MAX_OBJECT_NAME];
} ompi_communicator_t;

/* MPI_COMM_WORLD and MPI_COMM_SELF; their handles lead to them while MPI is initialized. */
extern ompi_communicator_t ompi_comm_world, ompi_comm_self;

/* Makes world and self usable, with the error handler that they begin with. */
void ompi_comm_init(int rank, int size, struct ompi_errhandler *errhandler);
void ompi_comm_fini(void);

/* Copies at most MPI_MAX_OBJECT_NAME bytes with the ending 0; what is longer is cut. */
void ompi_comm_set_name(ompi_communicator_t *comm, const char *name);
void ompi_comm_get_name(const ompi_communicator_t *comm, char name[MPI_MAX_OBJECT_NAME]);

/* The process (rank in MPI_COMM_WORLD) that a rank of a send or receive is. */
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

#endif
