/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the program has made and not freed (mpi_check=full): reported when MPI ends, with the places
 * where it was made.
 *
 * A handle counts from the call that gives it to the program to the call that takes it back, even
 * if the object lives on: an error handler that was freed may be one of a communicator. A request
 * counts until it is destroyed, because most end in a wait. Handles that come in arrays
 * (MPI_Type_get_contents) are not counted.
 *
 * Threading: any.
 */
#ifndef OMPI_CHECK_LEFT_H
#define OMPI_CHECK_LEFT_H

#include "ompi/check/check.h"
#include "ompi/request/request.h"

typedef struct ompi_check_entry ompi_check_entry_t;

/* The program has got the handle of an object (NULL: none), a keyval, or a request. */
void ompi_check_add_object(ompi_object_t *object);
void ompi_check_add_keyval(int keyval);
OPAL_EXPORT void ompi_check_add_request(ompi_request_t *request);

/* It gives a keyval back. */
void ompi_check_remove_keyval(int keyval);

/* A call may take the handle of an object back, and MPI may end within it: the entry is taken out
 * before (NULL: there is none), and behind it freed, or put back if the call has not done so. */
ompi_check_entry_t *ompi_check_take_object(const void *object);
void ompi_check_settle_object(ompi_check_entry_t *entry, bool is_freed);

/* Reports what is left, a line for each place, on stderr. Nothing is reported twice. */
void ompi_check_report_left(void);

/* -- for wrappers and bodies: nothing, but with full checks --------------------------------- */

static inline bool ompi_check_counts(void)
{
    return opal_unlikely(ompi_check_level == OMPI_CHECK_FULL);
}

static inline void ompi_check_made(void *object)
{
    if (ompi_check_counts())
        ompi_check_add_object(object);
}

static inline ompi_check_entry_t *ompi_check_take(const void *object)
{
    return ompi_check_counts() ? ompi_check_take_object(object) : NULL;
}

/* `now`: what the call has left of the object. */
static inline void ompi_check_settle(ompi_check_entry_t *entry, const void *now)
{
    if (opal_unlikely(entry != NULL))
        ompi_check_settle_object(entry, now == NULL);
}

/* A call that makes a request returns `error`. */
static inline int ompi_check_begun(int error, ompi_request_t *const *request)
{
    if (ompi_check_counts() && error == MPI_SUCCESS)
        ompi_check_add_request(*request);
    return error;
}

#endif
