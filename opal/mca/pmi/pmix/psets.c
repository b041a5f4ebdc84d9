/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process sets that the server knows, such as those of `prun --pset`. A server that has no such
 * thing has none, and that is no failure. And how the server is asked.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/mca/pmi/pmix/pmix.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

#ifndef PMIX_QUERY_PSET_MEMBERSHIP
#define PMIX_QUERY_PSET_MEMBERSHIP "pmix.qry.pmems"
#endif
#ifndef PMIX_PSET_NAME
#define PMIX_PSET_NAME "pmix.pset.nm"
#endif

pmix_status_t client_ask(const char *question, const char *qualifier, const char *name,
                         pmix_info_t **answers, size_t *count)
{
    pmix_query_t *asked;
    *answers = NULL;
    *count = 0;
    PMIX_QUERY_CREATE(asked, 1);
    asked->keys = opal_xcalloc(2, sizeof *asked->keys); /* ended by NULL */
    asked->keys[0] = opal_xstrdup(question);
    if (qualifier != NULL) {
        PMIX_QUERY_QUALIFIERS_CREATE(asked, 1);
        PMIX_INFO_LOAD(&asked->qualifiers[0], qualifier, name, PMIX_STRING);
    }
    pmix_status_t error = PMIx_Query_info(asked, 1, answers, count);
    PMIX_QUERY_FREE(asked, 1);
    return error;
}

const pmix_value_t *client_answer(const pmix_info_t *answers, size_t count, const char *question)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(answers[i].key, question) == 0)
            return &answers[i].value;
    }
    return NULL;
}

opal_status_t client_pset_names(void *state OPAL_UNUSED, opal_strings_t *names)
{
    pmix_info_t *answers;
    size_t count;
    pmix_status_t error = client_ask(PMIX_QUERY_PSET_NAMES, NULL, NULL, &answers, &count);
    const pmix_value_t *value =
        client_answer(answers, error == PMIX_SUCCESS ? count : 0, PMIX_QUERY_PSET_NAMES);
    if (value != NULL && value->type == PMIX_STRING && value->data.string != NULL)
        opal_strings_split(names, value->data.string, ",");
    if (answers != NULL)
        PMIX_INFO_FREE(answers, count);
    return OPAL_SUCCESS;
}

/* Those of the members that are ranks of this job. */
static opal_status_t take_ranks(const client_t *self, const pmix_data_array_t *members,
                                unsigned **ranks, size_t *count)
{
    const pmix_proc_t *processes = members->array;
    unsigned *taken = malloc((members->size + 1) * sizeof *taken);
    if (taken == NULL)
        return OPAL_ERR_NO_MEMORY;
    *count = 0;
    for (size_t i = 0; i < members->size; i++) {
        bool is_ours = strcmp(processes[i].nspace, self->me.nspace) == 0;
        if (is_ours && processes[i].rank < self->size)
            taken[(*count)++] = processes[i].rank;
    }
    *ranks = taken;
    return OPAL_SUCCESS;
}

opal_status_t client_pset_ranks(void *state, const char *name, unsigned **ranks, size_t *count)
{
    pmix_info_t *answers;
    size_t answer_count;
    opal_status_t status = OPAL_ERR_NOT_FOUND;
    pmix_status_t error =
        client_ask(PMIX_QUERY_PSET_MEMBERSHIP, PMIX_PSET_NAME, name, &answers, &answer_count);
    const pmix_value_t *value = client_answer(answers, error == PMIX_SUCCESS ? answer_count : 0,
                                              PMIX_QUERY_PSET_MEMBERSHIP);
    if (value != NULL && value->type == PMIX_DATA_ARRAY && value->data.darray != NULL &&
        value->data.darray->type == PMIX_PROC)
        status = take_ranks(state, value->data.darray, ranks, count);
    else
        opal_log_error("pmi/pmix: the launcher does not say which ranks are in the process set %s: "
                       "%s",
                       name, PMIx_Error_string(error));
    if (answers != NULL)
        PMIX_INFO_FREE(answers, answer_count);
    return status;
}
