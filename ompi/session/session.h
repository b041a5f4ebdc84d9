/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions as objects, and the process sets that they name.
 *
 * A session is a user of the runtime (ompi/runtime/runtime.h) from MPI_Session_init to
 * MPI_Session_finalize. Groups that are made of its process sets derive from it, as do the groups
 * and communicators that are made of these; they hold references, so the object outlives its end.
 * After that its handle is not valid, and it has no buffer.
 *
 * Process sets:
 *
 *   mpi://WORLD      the ranks of the job, in their order
 *   mpi://SELF       this process
 *   mpix://SHARED    the ranks of this node
 *   ...              those that the launcher defines
 *
 * Threading: the functions by any thread.
 */
#ifndef OMPI_SESSION_H
#define OMPI_SESSION_H

#include "ompi/errhandler/errhandler.h"
#include "ompi/group/group.h"
#include "ompi/info/info.h"

struct ompi_bsend_buffer;

typedef struct ompi_session {
    ompi_object_t head;
    atomic_bool is_open;                    /* false: it was finalized */
    int thread_level;                       /* MPI_THREAD_..., that was given */
    struct ompi_bsend_buffer *bsend_buffer; /* NULL: none. The message lock */
} ompi_session_t;

/* A session with that error handler; NULL: no memory. */
ompi_session_t *ompi_session_create(ompi_errhandler_t *errhandler);

/* Whether this is a session that was not finalized. Safe for NULL and for other objects. */
static inline bool ompi_session_is_open(const void *object)
{
    return ompi_object_is(object, OMPI_SESSION) &&
           atomic_load_explicit(&((const ompi_session_t *)object)->is_open, memory_order_acquire);
}

/* The session of a group or a communicator; NULL: none. */
static inline ompi_session_t *ompi_session_of(ompi_object_t *session)
{
    return (ompi_session_t *)session;
}

/* The thread level that the info object (may be NULL) asks for; without the key it is the highest,
 * because a session may begin in any thread. MPI_ERR_INFO_VALUE: the value is no thread level;
 * *level is not written then. */
int ompi_session_wanted_level(ompi_info_t *info, int *level);

/* What the session does with its hints, as an object for the caller; NULL: no memory. */
ompi_info_t *ompi_session_get_info(const ompi_session_t *session);

/* -- process sets (pset.c) --------------------------------------------------------------- */

/* How many there are. */
int ompi_pset_count(void);

/* The name of the set with that number, which is less than the count. */
const char *ompi_pset_name(int number);

/* The group of the set, which derives from the session. MPI_ERR_ARG: there is no such set;
 * MPI_ERR_NO_MEM. */
int ompi_pset_group(ompi_session_t *session, const char *name, ompi_group_t **group);

/* How many processes the set has. MPI_ERR_ARG: there is no such set. */
int ompi_pset_size(const char *name, int *size);

/* The runtime ends: the sets of the launcher are asked for again when it has started again. */
void ompi_psets_forget(void);

#endif
