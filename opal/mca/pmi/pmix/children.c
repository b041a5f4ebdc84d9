/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a process of a job that was spawned here has ended. The server is asked for its table of
 * the job's processes; the events of PMIx that would say it are sent by newer servers only, and
 * Open MPI 4's mpirun complains if one asks for them. A server without such a table knows nothing.
 *
 * Open MPI 4's mpirun begins a job before it answers the spawn, and gives a process that has ended
 * no state at all.
 *
 * Threading: any thread; one lock.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/pmi/pmix/pmix.h"
#include "opal/util/text.h"

typedef struct child {
    struct child *next;
    char *port;
    pmix_nspace_t name;
} child_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static child_t *children;

void client_remember_child(const char *parent_port, const pmix_nspace_t name)
{
    if (parent_port == NULL)
        return;
    child_t *child = opal_xcalloc(1, sizeof *child);
    child->port = opal_xstrdup(parent_port);
    PMIX_LOAD_NSPACE(child->name, name);
    pthread_mutex_lock(&lock);
    child->next = children;
    children = child;
    pthread_mutex_unlock(&lock);
}

void client_forget_children(void)
{
    for (child_t *child; (child = children) != NULL;) {
        children = child->next;
        free(child->port);
        free(child);
    }
}

/* False: no job was spawned with that port. */
static bool find_child(const char *port, pmix_nspace_t name)
{
    bool is_found = false;
    pthread_mutex_lock(&lock);
    for (const child_t *child = children; child != NULL && !is_found; child = child->next) {
        is_found = strcmp(child->port, port) == 0;
        if (is_found)
            PMIX_LOAD_NSPACE(name, child->name);
    }
    pthread_mutex_unlock(&lock);
    return is_found;
}

static bool has_ended(const pmix_proc_info_t *process)
{
    return process->state == PMIX_PROC_STATE_UNDEF || process->state > PMIX_PROC_STATE_UNTERMINATED;
}

/* The standard's table is an array of rows; that of Open MPI 4 one of informations, each a row. */
static const pmix_proc_info_t *row_of(const pmix_data_array_t *table, size_t index)
{
    if (table->type == PMIX_PROC_INFO)
        return (const pmix_proc_info_t *)table->array + index;
    const pmix_value_t *value = &((const pmix_info_t *)table->array + index)->value;
    return table->type == PMIX_INFO && value->type == PMIX_PROC_INFO ? value->data.pinfo : NULL;
}

static opal_status_t look_at(const pmix_value_t *answer, char **text)
{
    if (answer->type != PMIX_DATA_ARRAY || answer->data.darray == NULL)
        return OPAL_ERR_NOT_FOUND;
    const pmix_data_array_t *table = answer->data.darray;
    for (size_t i = 0; i < table->size; i++) {
        const pmix_proc_info_t *row = row_of(table, i);
        if (row == NULL || !has_ended(row))
            continue;
        *text = opal_xprintf("rank %u of them has ended before MPI_Init", row->proc.rank);
        return OPAL_SUCCESS;
    }
    return OPAL_ERR_NOT_FOUND;
}

opal_status_t client_spawn_trouble(void *state OPAL_UNUSED, const char *parent_port, char **text)
{
    pmix_nspace_t name = "";
    pmix_info_t *answers;
    size_t count;
    opal_status_t status = OPAL_ERR_NOT_FOUND;
    if (!find_child(parent_port, name))
        return status;
    pmix_status_t error = client_ask(PMIX_QUERY_PROC_TABLE, PMIX_NSPACE, name, &answers, &count);
    const pmix_value_t *value =
        client_answer(answers, error == PMIX_SUCCESS ? count : 0, PMIX_QUERY_PROC_TABLE);
    if (value != NULL)
        status = look_at(value, text);
    if (answers != NULL)
        PMIX_INFO_FREE(answers, count);
    return status;
}
