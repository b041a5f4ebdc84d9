/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions as objects, and what their info objects say. See session.h. */
#include "ompi/session/session.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/info/memory_kinds.h"

static const struct {
    const char *name;
    int level;
} levels[] = {
    {"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
    {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
    {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
    {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE},
};

static const char level_key[] = "thread_level";

static void destroy(ompi_object_t *head)
{
    free(opal_container_of(head, ompi_session_t, head));
}

ompi_session_t *ompi_session_create(ompi_errhandler_t *errhandler)
{
    ompi_session_t *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    ompi_object_init(&session->head, OMPI_SESSION, destroy);
    ompi_errhandler_attach(&session->head, errhandler);
    atomic_init(&session->is_open, true);
    return session;
}

int ompi_session_wanted_level(ompi_info_t *info, int *level)
{
    char value[32];
    size_t length;
    if (info == NULL || !ompi_info_get(info, level_key, value, sizeof value, &length)) {
        *level = MPI_THREAD_MULTIPLE;
        return MPI_SUCCESS;
    }
    for (size_t i = 0; i < OPAL_COUNT_OF(levels); i++) {
        if (length < sizeof value && strcmp(value, levels[i].name) == 0) {
            *level = levels[i].level;
            return MPI_SUCCESS;
        }
    }
    return MPI_ERR_INFO_VALUE;
}

static const char *level_name(int level)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(levels); i++) {
        if (levels[i].level == level)
            return levels[i].name;
    }
    return levels[0].name;
}

ompi_info_t *ompi_session_get_info(const ompi_session_t *session)
{
    ompi_info_t *info = ompi_info_create();
    if (info == NULL)
        return NULL;
    int error = ompi_info_set(info, level_key, level_name(session->thread_level));
    if (error == MPI_SUCCESS)
        error = ompi_info_set(info, OMPI_MEMORY_KINDS, ompi_memory_kinds);
    if (error == MPI_SUCCESS)
        return info;
    ompi_object_release(&info->head);
    return NULL;
}
