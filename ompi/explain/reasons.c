/* SPDX-License-Identifier: BSD-3-Clause */
/* What was not chosen, and what the user has set. */
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/framework.h"
#include "ompi/explain/page.h"

static const char not_chosen[] = "Not chosen, and why", settings[] = "Set by the user";

enum { SETTINGS_SHOWN = 10 };

void ompi_page_reason(opal_text_t *text, const char *reason)
{
    static const struct {
        const char *begin, *number, *end;
        size_t end_bytes; /* of the end that belong to it */
    } parts[] = {{" (rank ", "0123456789", ")", 1},
                 {" at 0x", "0123456789abcdef", ",;", 0},
                 {"PMI_FD is ", "0123456789", ",", 2}};
    while (*reason != 0) {
        const char *first = strchr(reason, 0), *behind = first;
        for (size_t i = 0; i < OPAL_COUNT_OF(parts); i++) {
            const char *found = strstr(reason, parts[i].begin);
            size_t length = strlen(parts[i].begin);
            if (found == NULL || found >= first || strspn(found + length, parts[i].number) == 0)
                continue;
            const char *end = found + strcspn(found, parts[i].end);
            first = found;
            behind = *end != 0 ? end + parts[i].end_bytes : end;
        }
        opal_text_append(text, reason, (size_t)(first - reason));
        reason = behind;
    }
}

static void add_unchosen(opal_text_t *facts)
{
    const opal_framework_t *framework;
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++) {
        for (size_t k = 0; k < framework->candidate_count; k++) {
            const opal_candidate_t *candidate = &framework->candidates[k];
            if (candidate->state == OPAL_CANDIDATE_CHOSEN)
                continue;
            char *label = opal_xprintf("%s/%s", framework->name, candidate->name);
            opal_text_t reason = {0};
            ompi_page_reason(&reason, candidate->answer.reason);
            ompi_facts_add(facts, not_chosen, label, "%s: %s",
                           opal_candidate_state_name(candidate->state), opal_text_string(&reason));
            opal_text_free(&reason);
            free(label);
        }
    }
}

typedef struct list {
    opal_text_t *facts;
    unsigned count;
} list_t;

static void add_setting(const opal_param_info_t *info, void *context)
{
    list_t *list = context;
    if (info->source == OPAL_PARAM_FROM_DEFAULT || info->row->refresh != NULL ||
        strcmp(info->full_name, "mpi_explain") == 0)
        return;
    if (list->count++ < SETTINGS_SHOWN)
        ompi_facts_add(list->facts, settings, info->full_name, "= %s (%s), default %s",
                       info->value_text, info->origin,
                       info->row->preset != NULL && info->row->preset[0] != 0 ? info->row->preset
                                                                              : "unset");
}

void ompi_page_reasons(opal_text_t *facts)
{
    list_t list = {.facts = facts};
    add_unchosen(facts);
    opal_param_visit(add_setting, &list);
    if (list.count > SETTINGS_SHOWN)
        ompi_facts_add(facts, settings, "and", "%u more; ompi_info --all lists them",
                       list.count - SETTINGS_SHOWN);
}
