/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of ranks. See environment.h. */
#include "tools/mpirun/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Variables of an enclosing launcher (if mpirun runs inside a rank or a batch step). A rank that
 * found them would take itself for a rank of that job. A name that ends in '_' stands for all names
 * that begin with it.
 */
static const char *const foreign[] = {
    "PMI_",
    "PMIX_",
    "HYDI_",
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "MICA_JOBID",
    "MICA_SUPERVISOR",
    "MICA_APP_NUMBER",
    "MICA_PARENT_PORT",
    "MICA_REPORTER",
    "MICA_LOCAL_",
    "MICA_NODE_FD",
    "MICA_HEAP_FD",
    "MICA_CRASH_FD",
};

static bool same_name(const char *setting, const char *name, size_t length)
{
    return strncmp(setting, name, length) == 0 && setting[length] == '=';
}

static bool is_foreign(const char *setting)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(foreign); i++) {
        size_t length = strlen(foreign[i]);
        if (foreign[i][length - 1] == '_' ? strncmp(setting, foreign[i], length) == 0
                                          : same_name(setting, foreign[i], length))
            return true;
    }
    return false;
}

/* Adds NAME=VALUE, or replaces what NAME was. */
static void set(opal_strings_t *list, const char *setting)
{
    size_t length = strcspn(setting, "=");
    for (size_t i = 0; i < list->count; i++) {
        if (same_name(list->items[i], setting, length)) {
            free(list->items[i]);
            list->items[i] = opal_xstrdup(setting);
            return;
        }
    }
    opal_strings_add(list, setting);
}

void environment_adopt_mca(const opal_strings_t *mca)
{
    opal_text_t names = {0};
    for (size_t i = 0; i < mca->count; i++) {
        size_t length = strcspn(mca->items[i], "=");
        char *name = opal_xprintf("OMPI_MCA_%.*s", (int)length, mca->items[i]);
        setenv(name, mca->items[i] + length + 1, 1);
        opal_text_printf(&names, "%s%s", i == 0 ? "" : ",", name + strlen("OMPI_MCA_"));
        free(name);
    }
    if (mca->count > 0)
        setenv("MICA_MCA_COMMAND_LINE", opal_text_string(&names), 1);
    else
        unsetenv("MICA_MCA_COMMAND_LINE");
    opal_text_free(&names);
}

void environment_drop_foreign(void)
{
    opal_strings_t names = {0};
    for (char **setting = environ; *setting != NULL; setting++) {
        if (!is_foreign(*setting) || strncmp(*setting, "PMIX_MCA_", 9) == 0)
            continue;
        char *name = opal_xstrndup(*setting, strcspn(*setting, "="));
        opal_strings_add(&names, name);
        free(name);
    }
    for (size_t i = 0; i < names.count; i++)
        unsetenv(names.items[i]);
    opal_strings_free(&names);
}

void environment_of_app(app_t *app)
{
    char **inherited = app->inherited != NULL ? app->inherited->items : environ;
    for (char **setting = inherited; setting != NULL && *setting != NULL; setting++) {
        if (!is_foreign(*setting))
            opal_strings_add(&app->environment, *setting);
    }
    for (size_t i = 0; i < app->export.count; i++)
        set(&app->environment, app->export.items[i]);
}

static void add_text(opal_strings_t *list, const char *name, const char *value)
{
    char *setting = opal_xprintf("%s=%s", name, value);
    opal_strings_add(list, setting);
    free(setting);
}

static void add_number(opal_strings_t *list, const char *name, unsigned value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    add_text(list, name, text);
}

/*
 * Rank 0 reports what is wrong with the settings of the job. The first rank of a program that has
 * settings of its own reports what is wrong with these.
 */
static bool is_reporter(const app_t *app, unsigned rank)
{
    bool own_settings = false;
    for (size_t i = 0; i < app->export.count; i++)
        own_settings |= strncmp(app->export.items[i], "OMPI_MCA_", strlen("OMPI_MCA_")) == 0;
    return rank == 0 || (rank == app->first_rank && own_settings);
}

void environment_of_rank(const job_t *job, unsigned rank, rank_environment_t *environment)
{
    const app_t *app = job->ranks[rank].app;
    const node_t *node = job->ranks[rank].node;
    unsigned local_rank = rank - node->first_rank;
    opal_strings_t *own = &environment->own;
    *own = (opal_strings_t){0};
    add_number(own, "PMI_FD", PMI_FD_OF_RANK);
    add_number(own, "PMI_RANK", rank);
    add_number(own, "PMI_SIZE", job->size);
    add_number(own, "PMI_SPAWNED", job->parent_port != NULL);
    add_number(own, "MICA_SUPERVISOR", (unsigned)getpid());
    add_number(own, "MICA_APP_NUMBER", app->number);
    add_number(own, "MICA_REPORTER", is_reporter(app, rank));
    add_number(own, "MICA_LOCAL_RANK", local_rank);
    add_number(own, "MICA_LOCAL_SIZE", node->size);
    if (node->segment.fd >= 0)
        add_number(own, "MICA_NODE_FD", NODE_FD_OF_RANK);
    if (node->heap_fd >= 0)
        add_number(own, "MICA_HEAP_FD", HEAP_FD_OF_RANK);
    if (job->crash_fd >= 0)
        add_number(own, "MICA_CRASH_FD", CRASH_FD_OF_RANK);
    add_number(own, "OMPI_COMM_WORLD_RANK", rank);
    add_number(own, "OMPI_COMM_WORLD_SIZE", job->size);
    add_number(own, "OMPI_COMM_WORLD_LOCAL_RANK", local_rank);
    add_number(own, "OMPI_COMM_WORLD_LOCAL_SIZE", node->size);
    add_number(own, "OMPI_COMM_WORLD_NODE_RANK", local_rank);
    add_number(own, "OMPI_UNIVERSE_SIZE", job->universe_size);
    add_number(own, "MPI_LOCALRANKID", local_rank);
    add_number(own, "MPI_LOCALNRANKS", node->size);
    add_text(own, "MICA_JOBID", job->id);
    if (job->parent_port != NULL)
        add_text(own, "MICA_PARENT_PORT", job->parent_port);

    size_t shared = app->environment.count;
    environment->all = opal_xcalloc(shared + own->count + 1, sizeof *environment->all);
    if (shared > 0)
        memcpy(environment->all, app->environment.items, shared * sizeof *environment->all);
    memcpy(environment->all + shared, own->items, own->count * sizeof *environment->all);
}

void environment_free(rank_environment_t *environment)
{
    opal_strings_free(&environment->own);
    free(environment->all);
    environment->all = NULL;
}
