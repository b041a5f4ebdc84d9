/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Further jobs, by PMIx_Spawn, and names, by PMIx_Publish and its kin, where the server offers
 * them: PRRTE and Open MPI's mpirun do, Slurm does not. The port of the parents comes to the new
 * job in its environment, since not every server hands on information about a job (PMIX_PARENT_ID).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/pmi/pmix/pmix.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

#define PARENT_PORT "MICA_PARENT_PORT"

/* -- a further job ------------------------------------------------------------------------ */

/* What a server may understand, and the names that MPI programs have for it. */
static const struct {
    const char *key, *attribute;
} attributes[] = {
    {"host", PMIX_HOST},
    {"hosts", PMIX_HOST},
    {"hostfile", PMIX_HOSTFILE},
    {"machinefile", PMIX_HOSTFILE},
    {"add-host", PMIX_ADD_HOST},
    {"add_host", PMIX_ADD_HOST},
    {"add-hostfile", PMIX_ADD_HOSTFILE},
    {"add_hostfile", PMIX_ADD_HOSTFILE},
    {"map_by", PMIX_MAPBY},
    {"map-by", PMIX_MAPBY},
    {"rank_by", PMIX_RANKBY},
    {"rank-by", PMIX_RANKBY},
    {"bind_to", PMIX_BINDTO},
    {"bind-to", PMIX_BINDTO},
};

/* The parts of a request, which are this file's to free. */
typedef struct request {
    pmix_app_t *apps;
    opal_strings_t *argv, *env; /* one each for an app */
    pmix_info_t *infos;         /* of all apps, one behind the other */
    size_t count, info_count;
} request_t;

static void add_attribute(request_t *request, pmix_app_t *app, const char *key, const char *value)
{
    PMIX_INFO_LOAD(&request->infos[request->info_count], key, value, PMIX_STRING);
    request->info_count++;
    app->ninfo++;
}

static void add_setting(opal_strings_t *env, const char *name, const char *value)
{
    char *setting = opal_xprintf("%s=%s", name, value);
    opal_strings_add(env, setting);
    free(setting);
}

/* A key that the table does not have is ignored. */
static void add_info(request_t *request, size_t number, const opal_pmi_info_t *info)
{
    pmix_app_t *app = &request->apps[number];
    opal_strings_t *env = &request->env[number];
    if (strcmp(info->key, "wdir") == 0 || strcmp(info->key, "wd") == 0) {
        free(app->cwd);
        app->cwd = opal_xstrdup(info->value);
    } else if (strcmp(info->key, "env") == 0) {
        opal_strings_split(env, info->value, "\n");
    } else if (strcmp(info->key, "mpi_initial_errhandler") == 0) {
        add_setting(env, "OMPI_MCA_mpi_initial_errhandler", info->value);
    }
    for (size_t i = 0; i < OPAL_COUNT_OF(attributes); i++) {
        if (strcmp(info->key, attributes[i].key) == 0)
            add_attribute(request, app, attributes[i].attribute, info->value);
    }
}

static void add_program(request_t *request, size_t number, const opal_pmi_program_t *program,
                        const char *parent_port)
{
    pmix_app_t *app = &request->apps[number];
    opal_strings_t *argv = &request->argv[number], *env = &request->env[number];
    opal_strings_add(argv, program->command);
    for (char *const *next = program->arguments; next != NULL && *next != NULL; next++)
        opal_strings_add(argv, *next);
    app->cwd = getcwd(NULL, 0);
    app->maxprocs = (int)program->max_processes;
    size_t first = request->info_count;
    for (size_t i = 0; i < program->info_count; i++)
        add_info(request, number, &program->infos[i]);
    if (app->ninfo > 0) /* libpmix looks for the end of an array without a length */
        app->info = &request->infos[first];
    if (parent_port != NULL)
        add_setting(env, PARENT_PORT, parent_port);
    app->cmd = argv->items[0];
    app->argv = argv->items;
    app->env = env->items;
}

static void make_request(request_t *request, const opal_pmi_program_t programs[], size_t count,
                         const char *parent_port)
{
    size_t infos = 0;
    for (size_t i = 0; i < count; i++)
        infos += programs[i].info_count;
    *request = (request_t){.apps = opal_xcalloc(count, sizeof(pmix_app_t)),
                           .argv = opal_xcalloc(count, sizeof(opal_strings_t)),
                           .env = opal_xcalloc(count, sizeof(opal_strings_t)),
                           .infos = opal_xcalloc(infos + 1, sizeof(pmix_info_t)),
                           .count = count};
    for (size_t i = 0; i < count; i++)
        add_program(request, i, &programs[i], parent_port);
}

static void free_request(request_t *request)
{
    for (size_t i = 0; i < request->count; i++) {
        opal_strings_free(&request->argv[i]);
        opal_strings_free(&request->env[i]);
        free(request->apps[i].cwd);
    }
    for (size_t i = 0; i < request->info_count; i++)
        PMIX_INFO_DESTRUCT(&request->infos[i]);
    free(request->apps);
    free(request->argv);
    free(request->env);
    free(request->infos);
}

static bool is_unsupported(pmix_status_t error)
{
    return error == PMIX_ERR_NOT_SUPPORTED || error == PMIX_ERR_NOT_IMPLEMENTED;
}

static void report_spawn(const opal_pmi_program_t *first, pmix_status_t error)
{
    if (is_unsupported(error))
        opal_log_error("cannot start %s: the PMIx server of this launcher starts no further jobs "
                       "at run time. Start all processes by the launcher, or use mpirun.",
                       first->command);
    else
        opal_log_error("cannot start %s: the launcher's PMIx server refused it: %s", first->command,
                       PMIx_Error_string(error));
}

opal_status_t client_spawn(void *state OPAL_UNUSED, const opal_pmi_program_t programs[],
                           size_t count, const char *parent_port, opal_status_t errors[])
{
    request_t request;
    pmix_nspace_t name;
    make_request(&request, programs, count, parent_port);
    pmix_status_t error = PMIx_Spawn(NULL, 0, request.apps, count, name);
    free_request(&request);
    if (error == PMIX_SUCCESS)
        client_remember_child(parent_port, name);
    else
        report_spawn(&programs[0], error);
    opal_status_t status = error == PMIX_SUCCESS   ? OPAL_SUCCESS
                           : is_unsupported(error) ? OPAL_ERR_NOT_SUPPORTED
                                                   : OPAL_ERR_ERROR;
    for (size_t i = 0; i < count; i++) {
        for (unsigned k = 0; k < programs[i].max_processes; k++)
            *errors++ = status;
    }
    return status;
}

void client_learn_parents(client_t *self, opal_pmi_job_t *job)
{
    const char *port = getenv(PARENT_PORT);
    if (port == NULL)
        return;
    free(self->parent_port); /* of the init before */
    job->parent_port = self->parent_port = opal_xstrdup(port);
}

/* -- names -------------------------------------------------------------------------------- */

/* Says what went wrong; for what the caller does not judge. */
static opal_status_t names_failed(const char *what, const char *service, pmix_status_t error)
{
    opal_log_error("pmi/pmix: cannot %s the name %s: %s", what, service,
                   is_unsupported(error) ? "the PMIx server of this launcher keeps no names"
                                         : PMIx_Error_string(error));
    return is_unsupported(error) ? OPAL_ERR_NOT_SUPPORTED : OPAL_ERR_SYSTEM;
}

opal_status_t client_lookup(void *state OPAL_UNUSED, const char *service, char **port)
{
    pmix_pdata_t found;
    if (strlen(service) > PMIX_MAX_KEYLEN) { /* it would be cut */
        opal_log_error("pmi/pmix: the name %s is longer than %d bytes", service, PMIX_MAX_KEYLEN);
        return OPAL_ERR_TOO_LARGE;
    }
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, service);
    pmix_status_t error = PMIx_Lookup(&found, 1, NULL, 0);
    opal_status_t status = OPAL_ERR_NOT_FOUND;
    if (error == PMIX_SUCCESS && found.value.type == PMIX_STRING) {
        *port = opal_xstrdup(found.value.data.string);
        status = OPAL_SUCCESS;
    } else if (error != PMIX_SUCCESS && error != PMIX_ERR_NOT_FOUND &&
               error != PMIX_ERR_PARTIAL_SUCCESS) {
        status = names_failed("look up", service, error);
    }
    PMIX_PDATA_DESTRUCT(&found);
    return status;
}

/* Servers that keep no names say so whatever the name is. */
bool client_keeps_names(void *state OPAL_UNUSED)
{
    pmix_pdata_t none;
    PMIX_PDATA_CONSTRUCT(&none);
    PMIX_LOAD_KEY(none.key, "mica.none");
    pmix_status_t error = PMIx_Lookup(&none, 1, NULL, 0);
    PMIX_PDATA_DESTRUCT(&none);
    return error == PMIX_SUCCESS || error == PMIX_ERR_NOT_FOUND ||
           error == PMIX_ERR_PARTIAL_SUCCESS;
}

/* Servers differ in what they do about a name that is there, or not; so it is looked up before. */
static opal_status_t require(bool is_published, const char *service)
{
    char *port;
    opal_status_t status = client_lookup(NULL, service, &port);
    if (status == OPAL_SUCCESS)
        free(port);
    if (status == (is_published ? OPAL_SUCCESS : OPAL_ERR_NOT_FOUND))
        return OPAL_SUCCESS;
    return status == OPAL_SUCCESS ? OPAL_ERR_EXISTS : status;
}

opal_status_t client_publish(void *state OPAL_UNUSED, const char *service, const char *port)
{
    pmix_info_t info;
    opal_status_t status = require(false, service);
    if (status != OPAL_SUCCESS)
        return status;
    PMIX_INFO_LOAD(&info, service, port, PMIX_STRING);
    pmix_status_t error = PMIx_Publish(&info, 1);
    PMIX_INFO_DESTRUCT(&info);
    if (error == PMIX_ERR_DUPLICATE_KEY || error == PMIX_EXISTS)
        return OPAL_ERR_EXISTS;
    return error == PMIX_SUCCESS ? OPAL_SUCCESS : names_failed("publish", service, error);
}

opal_status_t client_unpublish(void *state OPAL_UNUSED, const char *service)
{
    char *keys[] = {(char *)service, NULL};
    opal_status_t status = require(true, service);
    if (status != OPAL_SUCCESS)
        return status;
    pmix_status_t error = PMIx_Unpublish(keys, NULL, 0);
    return error == PMIX_SUCCESS ? OPAL_SUCCESS : names_failed("unpublish", service, error);
}
