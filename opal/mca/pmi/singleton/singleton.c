/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi/singleton: a program that was started without a launcher is a job of one.
 * What it puts it can get back. It starts processes and publishes names through a mpirun of its own
 * (server.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "opal/mca/pmi/base/base.h"
#include "opal/mca/pmi/base/names.h"
#include "opal/mca/pmi/singleton/server.h"
#include "opal/util/log.h"

#define ALONE "OMPI_MCA_pmi=singleton makes each task a job of one"

typedef struct item {
    struct item *next;
    char *key;
    void *bytes;
    size_t length;
} item_t;

typedef struct singleton {
    item_t *items;
    char job_id[64];
} singleton_t;

static singleton_t singleton;

static opal_status_t singleton_init(void *state, opal_pmi_job_t *job)
{
    static const unsigned only_node[] = {0};
    singleton_t *self = state;
    struct timespec now;
    /* Process ids come back, and are the same in several containers of a node. */
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(self->job_id, sizeof self->job_id, "singleton-%d-%lld%09ld", (int)getpid(),
             (long long)now.tv_sec, now.tv_nsec);
    *job = (opal_pmi_job_t){
        .size = 1,
        .local_size = 1,
        .node_of = only_node,
        .node_count = 1,
        .app_number = -1,
        .universe_size = -1,
        .job_id = self->job_id,
        .reporter = true,
    };
    return OPAL_SUCCESS;
}

static opal_status_t singleton_put(void *state, const char *key, const void *bytes, size_t length)
{
    singleton_t *self = state;
    item_t *item = malloc(sizeof *item);
    char *key_copy = strdup(key);
    void *bytes_copy = malloc(length > 0 ? length : 1);
    if (item == NULL || key_copy == NULL || bytes_copy == NULL) {
        free(item);
        free(key_copy);
        free(bytes_copy);
        opal_log_error("pmi/singleton: out of memory for the key %s (%zu bytes)", key, length);
        return OPAL_ERR_NO_MEMORY;
    }
    if (length > 0)
        memcpy(bytes_copy, bytes, length);
    *item = (item_t){self->items, key_copy, bytes_copy, length};
    self->items = item;
    return OPAL_SUCCESS;
}

static opal_status_t singleton_fence(void *state OPAL_UNUSED)
{
    return OPAL_SUCCESS;
}

static opal_status_t singleton_get(void *state, unsigned rank, const char *key, void **bytes,
                                   size_t *length)
{
    singleton_t *self = state;
    for (item_t *item = self->items; rank == 0 && item != NULL; item = item->next) {
        if (strcmp(item->key, key) != 0)
            continue;
        *bytes = malloc(item->length > 0 ? item->length : 1);
        if (*bytes == NULL)
            return OPAL_ERR_NO_MEMORY;
        memcpy(*bytes, item->bytes, item->length);
        *length = item->length;
        return OPAL_SUCCESS;
    }
    return OPAL_ERR_NOT_FOUND;
}

OPAL_NORETURN static void singleton_abort(void *state OPAL_UNUSED, int code)
{
    _exit(code);
}

static opal_status_t singleton_spawn(void *state OPAL_UNUSED, const opal_pmi_program_t programs[],
                                     size_t count, const char *parent_port, opal_status_t errors[])
{
    opal_pmi_launcher_t launcher;
    opal_status_t status = server_enter(&launcher);
    if (status == OPAL_SUCCESS) {
        status = opal_pmi_request_spawn(&launcher, programs, count, parent_port, errors);
        server_leave();
        return status;
    }
    for (size_t i = 0, all = 0; i < count; i++) {
        for (unsigned k = 0; k < programs[i].max_processes; k++)
            errors[all++] = status;
    }
    return status;
}

static opal_status_t singleton_spawn_trouble(void *state OPAL_UNUSED, const char *parent_port,
                                             char **text)
{
    opal_pmi_launcher_t launcher;
    opal_status_t status = server_enter(&launcher);
    if (status == OPAL_SUCCESS) {
        status = opal_pmi_request_trouble(&launcher, parent_port, text);
        server_leave();
    }
    return status;
}

static opal_status_t singleton_publish(void *state OPAL_UNUSED, const char *service,
                                       const char *port)
{
    opal_pmi_launcher_t launcher;
    opal_status_t status = server_enter(&launcher);
    if (status == OPAL_SUCCESS) {
        status = opal_pmi_request_publish(&launcher, service, port);
        server_leave();
    }
    return status;
}

/* What was never published needs no mpirun to be looked for. */
static opal_status_t singleton_unpublish(void *state OPAL_UNUSED, const char *service)
{
    opal_pmi_launcher_t launcher;
    if (!server_runs())
        return OPAL_ERR_NOT_FOUND;
    opal_status_t status = server_enter(&launcher);
    if (status == OPAL_SUCCESS) {
        status = opal_pmi_request_unpublish(&launcher, service);
        server_leave();
    }
    return status;
}

static opal_status_t look_up_alone(const char *service, char **port)
{
    opal_text_t name = {0};
    char *found;
    opal_pmi_escape(&name, service);
    opal_status_t status = opal_pmi_name_find(opal_text_string(&name), &found);
    opal_text_free(&name);
    if (status != OPAL_SUCCESS)
        return status;
    *port = opal_pmi_unescape(found);
    free(found);
    return OPAL_SUCCESS;
}

static opal_status_t singleton_lookup(void *state OPAL_UNUSED, const char *service, char **port)
{
    opal_pmi_launcher_t launcher;
    if (!server_runs())
        return look_up_alone(service, port);
    opal_status_t status = server_enter(&launcher);
    if (status == OPAL_SUCCESS) {
        status = opal_pmi_request_lookup(&launcher, service, port);
        server_leave();
    }
    return status;
}

static opal_status_t singleton_finalize(void *state)
{
    singleton_t *self = state;
    server_end();
    while (self->items != NULL) {
        item_t *item = self->items;
        self->items = item->next;
        free(item->key);
        free(item->bytes);
        free(item);
    }
    return OPAL_SUCCESS;
}

static const opal_pmi_ops_t singleton_ops = {
    .is_prompt = true,
    .may_return = true,
    .init = singleton_init,
    .put = singleton_put,
    .fence = singleton_fence,
    .get = singleton_get,
    .abort = singleton_abort,
    .finalize = singleton_finalize,
    .spawn = singleton_spawn,
    .spawn_trouble = singleton_spawn_trouble,
    .publish = singleton_publish,
    .unpublish = singleton_unpublish,
    .lookup = singleton_lookup,
};

/* Whether the user names this component; a list of excluded ones (OMPI_MCA_pmi=^wire) does not. */
static bool is_asked_for(void)
{
    const opal_strings_t *names = &mca_pmi_framework.selection;
    return names->count > 0 && names->items[0][0] != '^';
}

/*
 * Never preferred: a component that knows a launcher comes first. Where several ranks were started
 * that cannot learn of each other, each would do all of the work, over the others' files.
 */
static void singleton_query(opal_answer_t *answer)
{
    char why[OPAL_REASON_MAX_BYTES];
    opal_pmi_origin_t origin = opal_pmi_origin(why);
    if (is_asked_for())
        opal_answer_yes(answer, 0, &singleton_ops, &singleton,
                        "asked for: a job of one, under any launcher");
    else if (origin == OPAL_PMI_SLURM)
        opal_answer_no(answer, "%s: use srun --mpi=pmix, or --mpi=pmi2; " ALONE, why);
    else if (origin == OPAL_PMI_PMIX)
        opal_answer_no(answer, "%s, but pmi/pmix is not usable; " ALONE, why);
    else
        opal_answer_yes(answer, 0, &singleton_ops, &singleton,
                        "a program without a launcher is a job of one");
}

static const opal_param_row_t params[] = {
    {.name = "mpirun",
     .type = OPAL_PARAM_STRING,
     .value = &server_mpirun,
     .preset = "",
     .prose = "The mpirun that a program without a launcher starts when it starts processes or "
              "publishes a name; empty: the one that is installed with the library"},
    {0},
};

OPAL_EXPORT extern const opal_component_t mca_pmi_singleton_component;
const opal_component_t mca_pmi_singleton_component = {
    OPAL_COMPONENT_HEAD(pmi, singleton),
    .prose = "a job of one process, without a launcher",
    .params = params,
    .query = singleton_query,
};
