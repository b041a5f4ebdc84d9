/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process sets: three that every process has, and those of the launcher, which is asked for their
 * names once. The standard says that names of sets are not case-sensitive.
 */
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>

#include "opal/process/job.h"
#include "opal/util/text.h"
#include "ompi/errhandler/error_code.h"
#include "ompi/session/session.h"

typedef struct pset {
    const char *name;
    int (*size)(void);
    ompi_group_t *(*group)(ompi_group_builder_t *builder);
} pset_t;

static int world_size(void)
{
    return (int)opal_job()->size;
}

static int self_size(void)
{
    return 1;
}

static int node_size(void)
{
    return (int)opal_job()->local_size;
}

static ompi_group_t *make_world(ompi_group_builder_t *builder)
{
    for (int rank = 0; rank < world_size(); rank++)
        ompi_group_builder_add(builder, rank);
    return ompi_group_builder_finish(builder);
}

static ompi_group_t *make_self(ompi_group_builder_t *builder)
{
    ompi_group_builder_add(builder, (int)opal_job()->rank);
    return ompi_group_builder_finish(builder);
}

static ompi_group_t *make_node(ompi_group_builder_t *builder)
{
    const opal_pmi_job_t *job = opal_job();
    for (unsigned rank = 0; rank < job->size; rank++) {
        if (job->node_of[rank] == job->node_of[job->rank])
            ompi_group_builder_add(builder, (int)rank);
    }
    return ompi_group_builder_finish(builder);
}

static const pset_t own[] = {
    {"mpi://WORLD", world_size, make_world},
    {"mpi://SELF", self_size, make_self},
    {"mpix://SHARED", node_size, make_node},
};

enum { OWN = OPAL_COUNT_OF(own) };

/* -- those of the launcher ------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static opal_strings_t
    names; /* written under the lock before `is_known`, and then not until the end */
static bool is_known;

static const opal_strings_t *names_of_launcher(void)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    pthread_mutex_lock(&lock);
    if (!is_known && pmi->pset_names != NULL)
        pmi->pset_names(state, &names); /* a failure was logged; there are none then */
    is_known = true;
    pthread_mutex_unlock(&lock);
    return &names;
}

void ompi_psets_forget(void)
{
    opal_strings_free(&names);
    is_known = false;
}

/* The number of the set with that name; -1: there is none. */
static int find(const char *name)
{
    int count = ompi_pset_count();
    for (int number = 0; number < count; number++) {
        if (strcasecmp(ompi_pset_name(number), name) == 0)
            return number;
    }
    return -1;
}

/* The ranks of a set of the launcher's, malloc'ed; MPI error code. */
static int find_ranks(const char *name, unsigned **ranks, size_t *count)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    opal_status_t status = pmi->pset_ranks(state, name, ranks, count);
    return ompi_error_of_status(status);
}

static int make_group(const char *name, ompi_group_builder_t *builder, ompi_group_t **group)
{
    unsigned *ranks;
    size_t count;
    int error = find_ranks(name, &ranks, &count);
    if (error != MPI_SUCCESS)
        return error;
    for (size_t i = 0; i < count; i++)
        ompi_group_builder_add(builder, (int)ranks[i]);
    free(ranks);
    *group = ompi_group_builder_finish(builder);
    return MPI_SUCCESS;
}

/* -- all of them ---------------------------------------------------------------------------- */

int ompi_pset_count(void)
{
    return OWN + (int)names_of_launcher()->count;
}

const char *ompi_pset_name(int number)
{
    return number < OWN ? own[number].name : names_of_launcher()->items[number - OWN];
}

int ompi_pset_group(ompi_session_t *session, const char *name, ompi_group_t **group)
{
    ompi_group_builder_t builder = {.session = &session->head};
    ompi_group_t *made = NULL;
    int number = find(name), error = MPI_SUCCESS;
    if (number < 0)
        return MPI_ERR_ARG;
    if (number < OWN)
        made = own[number].group(&builder);
    else
        error = make_group(ompi_pset_name(number), &builder, &made);
    if (error == MPI_SUCCESS && made == NULL)
        error = MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS)
        *group = made;
    return error;
}

int ompi_pset_size(const char *name, int *size)
{
    unsigned *ranks;
    size_t count;
    int number = find(name);
    if (number < 0)
        return MPI_ERR_ARG;
    if (number < OWN) {
        *size = own[number].size();
        return MPI_SUCCESS;
    }
    int error = find_ranks(ompi_pset_name(number), &ranks, &count);
    if (error != MPI_SUCCESS)
        return error;
    free(ranks);
    *size = (int)count;
    return MPI_SUCCESS;
}
