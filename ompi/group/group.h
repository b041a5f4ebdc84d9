/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: ordered sets of processes.
 *
 * A process is the index of its entry in the process table (opal/process/process.h). A group is one
 * of
 *
 *   a range   first, first + stride ...          no memory beyond this structure
 *   a list    processes[0 .. size)               and an index from processes to ranks, which is
 *                                                made by the first search
 *
 * A group is made by adding processes to a builder, which begins as a range and becomes a list only
 * when it must: MPI_COMM_WORLD, a part of it, every second rank and the reverse order need no
 * memory, however large the job is. A group without processes is always MPI_GROUP_EMPTY.
 *
 * A group holds a use of each of its processes of other jobs, so that they stay in the table.
 * A group that is made of a session's groups derives from that session, as do communicators that
 * are made of it. MPI_GROUP_EMPTY derives from none.
 *
 * Threading: groups never change, any thread may use them. A builder belongs to one thread.
 */
#ifndef OMPI_GROUP_H
#define OMPI_GROUP_H

#include <stdatomic.h>

#include "opal/include/compiler.h"
#include "ompi/object/object.h"

struct ompi_group_index;

typedef struct ompi_group {
    ompi_object_t head;
    int size;
    int rank;                                 /* of this process, or MPI_UNDEFINED */
    int first, stride;                        /* of a range; stride is not 0 */
    int *processes;                           /* of a list, NULL: it is a range */
    bool has_foreign;                         /* processes of other jobs */
    _Atomic(struct ompi_group_index *) index; /* of a list; NULL: not made yet */
    ompi_object_t *session;                   /* that it derives from; retained. NULL: from none */
} ompi_group_t;

extern ompi_group_t ompi_group_empty; /* MPI_GROUP_EMPTY */

/* Makes MPI_GROUP_EMPTY usable, and sets the index of this process. */
void ompi_group_init(int own_process);
void ompi_group_fini(void);

/* `size` processes from `first` on, with a reference for the caller; NULL: no memory. */
ompi_group_t *ompi_group_range(int first, int size);

/* The process with that rank, which the group has. */
static inline int ompi_group_process(const ompi_group_t *group, int rank)
{
    return group->processes != NULL ? group->processes[rank] : group->first + group->stride * rank;
}

/* The rank of a process, or MPI_UNDEFINED. Constant time, but for the first call on a list. */
OPAL_EXPORT int ompi_group_rank_of(ompi_group_t *group, int process);

static inline bool ompi_group_has_rank(const ompi_group_t *group, int rank)
{
    return rank >= 0 && rank < group->size;
}

/* Builds a group process by process. {0} is a builder of an empty group. */
typedef struct ompi_group_builder {
    int size, capacity;
    int rank;          /* of this process; valid when has_self */
    int first, stride; /* while it is a range */
    int *processes;    /* when it is a list */
    bool has_self;
    bool no_memory;         /* processes added since are lost; finish returns NULL */
    ompi_object_t *session; /* that the group will derive from; set by the caller, or NULL */
} ompi_group_builder_t;

/* Adds a process, which was not added before. */
void ompi_group_builder_add(ompi_group_builder_t *builder, int process);

/* The group, with a reference for the caller; the builder is empty again. NULL: no memory. */
ompi_group_t *ompi_group_builder_finish(ompi_group_builder_t *builder);

/*
 * MPI_Group_union and so on; they return an MPI error code.
 *
 * MPI_ERR_RANK: a number is no rank of the group, or is given twice. Ranges are {first, last,
 * stride} as in the standard; MPI_ERR_ARG: a stride is 0 or leads away from `last`.
 */
int ompi_group_union(ompi_group_t *group1, ompi_group_t *group2, ompi_group_t **result);
int ompi_group_intersection(ompi_group_t *group1, ompi_group_t *group2, ompi_group_t **result);
int ompi_group_difference(ompi_group_t *group1, ompi_group_t *group2, ompi_group_t **result);
int ompi_group_incl(const ompi_group_t *group, int n, const int ranks[], ompi_group_t **result);
int ompi_group_excl(const ompi_group_t *group, int n, const int ranks[], ompi_group_t **result);
int ompi_group_range_incl(const ompi_group_t *group, int n, int ranges[][3], ompi_group_t **result);
int ompi_group_range_excl(const ompi_group_t *group, int n, int ranges[][3], ompi_group_t **result);

/* MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL. */
int ompi_group_compare(ompi_group_t *group1, ompi_group_t *group2);

#endif
