/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints of communicators. Those that the standard knows are promises of the program. They are
 * stored, so that the program can ask for them. Nothing is faster by them: matching pays for a
 * wildcard from its first use on (pml/ob1/match.h), a length is compared once a message, and
 * messages that may overtake each other would cost the order of all others. Other keys are ignored,
 * as are values that the standard does not know.
 *
 * Threading: any thread. A lock protects the text of the asserted kinds of memory.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/info/memory_kinds.h"

/* By the bit of ompi_communicator_t.hints. */
static const char *const keys[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
};

static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER;

/* Takes a malloc'ed text; NULL: for want of memory nothing is asserted. */
static void assert_kinds(ompi_communicator_t *comm, char *kinds)
{
    pthread_mutex_lock(&kinds_lock);
    char *old = comm->asserted_kinds;
    comm->asserted_kinds = kinds;
    pthread_mutex_unlock(&kinds_lock);
    free(old);
}

/* A copy for the caller; NULL: nothing is asserted, or there is no memory. */
static char *asserted_kinds(const ompi_communicator_t *comm)
{
    pthread_mutex_lock(&kinds_lock);
    char *kinds = comm->asserted_kinds != NULL ? strdup(comm->asserted_kinds) : NULL;
    pthread_mutex_unlock(&kinds_lock);
    return kinds;
}

void ompi_comm_set_hints(ompi_communicator_t *comm, ompi_info_t *info)
{
    char value[MPI_MAX_INFO_VAL];
    size_t length;
    if (info == NULL)
        return;
    for (size_t i = 0; i < OPAL_COUNT_OF(keys); i++) {
        if (!ompi_info_get(info, keys[i], value, sizeof value, &length))
            continue;
        if (strcmp(value, "true") == 0)
            atomic_fetch_or(&comm->hints, 1u << i);
        else if (strcmp(value, "false") == 0)
            atomic_fetch_and(&comm->hints, ~(1u << i));
    }
    if (ompi_info_get(info, OMPI_ASSERT_MEMORY_KINDS, value, sizeof value, &length) &&
        ompi_memory_kinds_are_supported(value))
        assert_kinds(comm, strdup(value));
}

void ompi_comm_copy_hints(const ompi_communicator_t *from, ompi_communicator_t *to)
{
    atomic_store(&to->hints, atomic_load(&from->hints));
    assert_kinds(to, asserted_kinds(from));
}

/* MPI error code. */
static int describe(const ompi_communicator_t *comm, ompi_info_t *info)
{
    unsigned hints = atomic_load(&comm->hints);
    int error = ompi_info_set(info, OMPI_MEMORY_KINDS, ompi_memory_kinds);
    for (size_t i = 0; i < OPAL_COUNT_OF(keys) && error == MPI_SUCCESS; i++)
        error = ompi_info_set(info, keys[i], (hints & 1u << i) != 0 ? "true" : "false");
    char *kinds = asserted_kinds(comm);
    if (kinds != NULL && error == MPI_SUCCESS)
        error = ompi_info_set(info, OMPI_ASSERT_MEMORY_KINDS, kinds);
    free(kinds);
    if (comm->resource != NULL && error == MPI_SUCCESS)
        error = ompi_info_set(info, "mpi_hw_resource_type", comm->resource);
    return error;
}

ompi_info_t *ompi_comm_get_hints(const ompi_communicator_t *comm)
{
    ompi_info_t *info = ompi_info_create();
    if (info != NULL && describe(comm, info) != MPI_SUCCESS) {
        ompi_object_release(&info->head);
        info = NULL;
    }
    return info;
}
