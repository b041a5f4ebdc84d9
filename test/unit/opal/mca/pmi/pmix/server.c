/* SPDX-License-Identifier: BSD-3-Clause */
/* See server.h. It knows one job, unit.3, and keeps what its one rank puts. */
#include "test/unit/opal/mca/pmi/pmix/server.h"

#include "test/unit/opal/support.h"

pmix_server_t server;

void server_know(const char *key, pmix_value_t value)
{
    server.facts[server.fact_count].key = key;
    server.facts[server.fact_count++].value = value;
}

void server_forget(void)
{
    while (server.put_count > 0)
        free(server.puts[--server.put_count].value.data.bo.bytes);
}

pmix_status_t PMIx_Init(pmix_proc_t *me, pmix_info_t info[] OPAL_UNUSED, size_t count OPAL_UNUSED)
{
    *me = (pmix_proc_t){.nspace = "unit.3", .rank = server.rank};
    return server.init;
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[] OPAL_UNUSED, size_t count OPAL_UNUSED)
{
    return server.finalize;
}

pmix_status_t PMIx_Abort(int code, const char text[], pmix_proc_t ranks[], size_t count)
{
    if (ranks != NULL || count != 0) /* all of them */
        return PMIX_ERR_BAD_PARAM;
    fprintf(stderr, "aborted with %d: %s\n", code, text);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *value)
{
    if (server.put != PMIX_SUCCESS)
        return server.put;
    ck_assert_int_eq(scope, PMIX_GLOBAL);
    ck_assert_uint_lt(server.put_count, MOST_KEYS);
    size_t size = value->data.bo.size;
    char *bytes = malloc(size + 1);
    if (size > 0)
        memcpy(bytes, value->data.bo.bytes, size);
    snprintf(server.puts[server.put_count].key, sizeof server.puts[0].key, "%s", key);
    server.puts[server.put_count].value = *value;
    server.puts[server.put_count++].value.data.bo.bytes = bytes;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Commit(void)
{
    for (size_t i = 0; i < server.put_count && server.commit == PMIX_SUCCESS; i++)
        server.puts[i].is_visible = true;
    return server.commit;
}

pmix_status_t PMIx_Fence(const pmix_proc_t ranks[], size_t count, const pmix_info_t info[],
                         size_t infos)
{
    ck_assert(ranks == NULL && count == 0);
    server.has_collected = infos == 1 && strcmp(info[0].key, PMIX_COLLECT_DATA) == 0 &&
                           info[0].value.type == PMIX_BOOL && info[0].value.data.flag;
    return server.fence;
}

static pmix_value_t *copy_of(const pmix_value_t *value)
{
    pmix_value_t *copy = malloc(sizeof *copy);
    *copy = *value;
    if (value->type == PMIX_BYTE_OBJECT) {
        copy->data.bo.bytes = malloc(value->data.bo.size + 1);
        memcpy(copy->data.bo.bytes, value->data.bo.bytes, value->data.bo.size);
    }
    if (value->type == PMIX_STRING)
        copy->data.string = strdup(value->data.string);
    return copy;
}

pmix_status_t PMIx_Get(const pmix_proc_t *whose, const char key[], const pmix_info_t info[],
                       size_t infos, pmix_value_t **value)
{
    ck_assert_str_eq(whose->nspace, "unit.3");
    ck_assert_uint_eq(infos, 1); /* or it may wait for ever */
    ck_assert_str_eq(info[0].key, PMIX_IMMEDIATE);
    for (size_t i = 0; i < server.put_count && whose->rank == server.rank; i++) {
        if (!server.puts[i].is_visible || strcmp(key, server.puts[i].key) != 0)
            continue;
        if (server.get == PMIX_SUCCESS)
            *value = copy_of(&server.puts[i].value);
        return server.get;
    }
    for (size_t i = 0; i < server.fact_count; i++) {
        if (strcmp(server.facts[i].key, key) != 0)
            continue;
        *value = copy_of(&server.facts[i].value);
        return PMIX_SUCCESS;
    }
    return PMIX_ERR_NOT_FOUND;
}

pmix_status_t PMIx_Resolve_nodes(const pmix_nspace_t namespace OPAL_UNUSED, char **names)
{
    if (server.nodes == NULL)
        return PMIX_ERR_NOT_FOUND;
    *names = strdup(server.nodes);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Resolve_peers(const char *name, const pmix_nspace_t namespace OPAL_UNUSED,
                                 pmix_proc_t **ranks, size_t *count)
{
    const char *list = server.ranks_of[name[strlen(name) - 1] - '0'];
    if (list == NULL)
        return PMIX_ERR_NOT_FOUND;
    *count = strlen(list);
    *ranks = calloc(*count + 1, sizeof **ranks);
    for (size_t i = 0; i < *count; i++)
        (*ranks)[i].rank = (pmix_rank_t)(list[i] - '0');
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Spawn(const pmix_info_t job_info[] OPAL_UNUSED, size_t job_infos,
                         const pmix_app_t apps[], size_t count, pmix_nspace_t name)
{
    opal_text_t text = {0};
    ck_assert_uint_eq(job_infos, 0);
    for (size_t i = 0; i < count; i++) {
        const pmix_app_t *app = &apps[i];
        opal_text_printf(&text, "%s%d %s in %s:", i == 0 ? "" : " & ", app->maxprocs, app->cmd,
                         app->cwd);
        for (char **argument = app->argv; *argument != NULL; argument++)
            opal_text_printf(&text, " %s", *argument);
        for (char **setting = app->env; setting != NULL && *setting != NULL; setting++)
            opal_text_printf(&text, ";%s", *setting);
        ck_assert((app->info != NULL) == (app->ninfo > 0));
        for (size_t k = 0; k < app->ninfo; k++)
            opal_text_printf(&text, "|%s=%s", app->info[k].key, app->info[k].value.data.string);
    }
    snprintf(server.spawned, sizeof server.spawned, "%s", opal_text_string(&text));
    opal_text_free(&text);
    strcpy(name, "unit.4");
    return server.spawn;
}

pmix_status_t PMIx_Publish(const pmix_info_t info[], size_t count)
{
    ck_assert_uint_eq(count, 1);
    if (server.names != PMIX_SUCCESS)
        return server.names;
    snprintf(server.service, sizeof server.service, "%s", info[0].key);
    snprintf(server.port, sizeof server.port, "%s", info[0].value.data.string);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Lookup(pmix_pdata_t data[], size_t count, const pmix_info_t info[] OPAL_UNUSED,
                          size_t infos OPAL_UNUSED)
{
    ck_assert_uint_eq(count, 1);
    if (server.names != PMIX_SUCCESS)
        return server.names;
    if (strcmp(server.service, data[0].key) != 0)
        return PMIX_ERR_NOT_FOUND;
    data[0].value.type = PMIX_STRING;
    data[0].value.data.string = strdup(server.port);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Unpublish(char **keys, const pmix_info_t info[] OPAL_UNUSED,
                             size_t infos OPAL_UNUSED)
{
    ck_assert(keys[0] != NULL && keys[1] == NULL);
    if (server.names != PMIX_SUCCESS)
        return server.names;
    server.service[0] = 0;
    return PMIX_SUCCESS;
}

/* -- process sets --------------------------------------------------------------------------- */

static bool asks_for(const pmix_query_t *query, const char *key)
{
    ck_assert_ptr_null(query->keys[1]);
    return strcmp(query->keys[0], key) == 0;
}

static void answer_names(const pmix_query_t *query, pmix_info_t *answer)
{
    ck_assert_uint_eq(query->nqual, 0);
    PMIX_INFO_LOAD(answer, PMIX_QUERY_PSET_NAMES, server.pset_names, PMIX_STRING);
}

static void answer_members(const pmix_query_t *query, pmix_info_t *answer)
{
    ck_assert_uint_eq(query->nqual, 1);
    ck_assert_str_eq(query->qualifiers[0].key, PMIX_PSET_NAME);
    bool is_known = strcmp(query->qualifiers[0].value.data.string, "east") == 0;
    pmix_data_array_t members = {
        .type = PMIX_PROC, .size = is_known ? server.member_count : 0, .array = server.members};
    PMIX_INFO_LOAD(answer, PMIX_QUERY_PSET_MEMBERSHIP, &members, PMIX_DATA_ARRAY);
}

/* libpmix's copy of a row in an information loses its state. */
static void wrap_rows(pmix_info_t *rows)
{
    for (size_t i = 0; i < 2; i++) {
        rows[i].value.type = PMIX_PROC_INFO;
        rows[i].value.data.pinfo = malloc(sizeof server.table[i]);
        *rows[i].value.data.pinfo = server.table[i];
    }
}

static void answer_table(const pmix_query_t *query, pmix_info_t *answer)
{
    pmix_data_array_t *table;
    ck_assert_str_eq(query->qualifiers[0].key, PMIX_NSPACE);
    ck_assert_str_eq(query->qualifiers[0].value.data.string, "unit.4");
    PMIX_DATA_ARRAY_CREATE(table, 2, server.wraps_rows ? PMIX_INFO : PMIX_PROC_INFO);
    if (server.wraps_rows)
        wrap_rows(table->array);
    else
        memcpy(table->array, server.table, sizeof server.table);
    PMIX_LOAD_KEY(answer->key, PMIX_QUERY_PROC_TABLE);
    answer->value.type = PMIX_DATA_ARRAY;
    answer->value.data.darray = table;
}

pmix_status_t PMIx_Query_info(pmix_query_t queries[], size_t count, pmix_info_t **answers,
                              size_t *answer_count)
{
    ck_assert_uint_eq(count, 1);
    bool is_about_job = asks_for(&queries[0], PMIX_QUERY_PROC_TABLE);
    if (server.query != PMIX_SUCCESS || (!is_about_job && server.pset_names == NULL))
        return server.query != PMIX_SUCCESS ? server.query : PMIX_ERR_NOT_FOUND;
    PMIX_INFO_CREATE(*answers, 1);
    *answer_count = 1;
    if (is_about_job)
        answer_table(&queries[0], *answers);
    else if (asks_for(&queries[0], PMIX_QUERY_PSET_NAMES))
        answer_names(&queries[0], *answers);
    else if (asks_for(&queries[0], PMIX_QUERY_PSET_MEMBERSHIP))
        answer_members(&queries[0], *answers);
    else
        ck_abort_msg("a question about %s", queries[0].keys[0]);
    return PMIX_SUCCESS;
}
