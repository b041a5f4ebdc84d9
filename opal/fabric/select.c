/* SPDX-License-Identifier: BSD-3-Clause */
/* See select.h. */
#include "opal/fabric/select.h"

#include <arpa/inet.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "opal/fabric/nic_locality.h"

/* -- questions ----------------------------------------------------------------------------------
 */

/* The hints that all questions have. */
static struct fi_info *make_hints(const opal_fabric_question_t *question)
{
    struct fi_info *hints = fi_allocinfo();
    if (hints == NULL)
        return NULL;
    hints->mode = OPAL_FABRIC_MODES;
    hints->caps = question->caps;
    if (question->wishes.spans_nodes)
        hints->caps |= FI_LOCAL_COMM | FI_REMOTE_COMM;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = OPAL_FABRIC_MR_MODES;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = question->progress;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->op_flags = question->op_flags;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    return hints;
}

static int ask(const opal_fabric_question_t *question, struct fi_info *hints, struct fi_info **list)
{
    *list = NULL;
    int result =
        hints != NULL ? question->getinfo(OPAL_FABRIC_API, NULL, NULL, 0, hints, list) : -FI_ENOMEM;
    fi_freeinfo(hints);
    return result;
}

static bool same_bytes(const void *one, size_t bytes, const void *other, size_t other_bytes)
{
    return bytes == other_bytes && (bytes == 0 || memcmp(one, other, bytes) == 0);
}

/* Whether the two are one candidate, capabilities aside. */
static bool is_same_candidate(const struct fi_info *one, const struct fi_info *other)
{
    return opal_fabric_same_text(one->fabric_attr->prov_name, other->fabric_attr->prov_name) &&
           opal_fabric_same_text(one->fabric_attr->name, other->fabric_attr->name) &&
           opal_fabric_same_text(one->domain_attr->name, other->domain_attr->name) &&
           one->addr_format == other->addr_format &&
           one->ep_attr->protocol == other->ep_attr->protocol &&
           one->ep_attr->mem_tag_format == other->ep_attr->mem_tag_format &&
           same_bytes(one->src_addr, one->src_addrlen, other->src_addr, other->src_addrlen);
}

struct fi_info *opal_fabric_ask_more(const opal_fabric_question_t *question,
                                     const struct fi_info *candidate, uint64_t caps,
                                     size_t cq_data_bytes)
{
    struct fi_info *list, *found = NULL, *hints = make_hints(question);
    if (hints != NULL) {
        hints->caps |= caps;
        hints->domain_attr->cq_data_size = cq_data_bytes;
        hints->fabric_attr->prov_name = strdup(candidate->fabric_attr->prov_name);
    }
    if (ask(question, hints, &list) != 0)
        return NULL;
    for (const struct fi_info *info = list; info != NULL && found == NULL; info = info->next) {
        if (is_same_candidate(info, candidate) && (info->caps & caps) == caps)
            found = fi_dupinfo(info);
    }
    fi_freeinfo(list);
    return found;
}

struct fi_info *opal_fabric_ask_for_domain(const struct fi_info *candidate)
{
    static const uint64_t more[] = {FI_RMA | FI_ATOMIC, FI_RMA};
    const opal_fabric_question_t question = {
        .caps = candidate->caps & (FI_TAGGED | FI_MSG | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV),
        .progress = candidate->domain_attr->data_progress,
        .getinfo = fi_getinfo,
    };
    struct fi_info *found = NULL;
    for (size_t i = 0; i < OPAL_COUNT_OF(more) && found == NULL; i++)
        found = opal_fabric_ask_more(&question, candidate, more[i],
                                     candidate->domain_attr->cq_data_size);
    return found != NULL ? found : fi_dupinfo(candidate);
}

/* -- what is used -------------------------------------------------------------------------------
 */

/* "10.0.0.1"; NULL: the candidate has no IP address. */
static const char *address_text(const struct fi_info *info, char text[INET6_ADDRSTRLEN])
{
    const struct sockaddr *address = info->src_addr;
    if (!opal_fabric_info_has_ip(info))
        return NULL;
    const void *number = address->sa_family == AF_INET
                             ? (const void *)&((const struct sockaddr_in *)info->src_addr)->sin_addr
                             : &((const struct sockaddr_in6 *)info->src_addr)->sin6_addr;
    return inet_ntop(address->sa_family, number, text, INET6_ADDRSTRLEN);
}

void opal_fabric_info_say(const struct fi_info *info, opal_text_t *text)
{
    char number[INET6_ADDRSTRLEN];
    const char *address = address_text(info, number);
    opal_text_add(text, info->fabric_attr->prov_name);
    if (info->domain_attr->name != NULL)
        opal_text_printf(text, " over %s", info->domain_attr->name);
    if (address != NULL)
        opal_text_printf(text, " from %s", address);
}

bool opal_fabric_is_hpc(const struct fi_info *info)
{
    opal_strings_t names = {0};
    bool is_excluded = false;
    opal_strings_split(&names, OPAL_FABRIC_EXCLUDED, ",");
    for (size_t i = 0; i < names.count; i++)
        is_excluded =
            is_excluded || opal_fabric_provider_is(info->fabric_attr->prov_name, names.items[i]);
    opal_strings_free(&names);
    return !is_excluded;
}

static size_t wrong_names(const opal_fabric_wishes_t *wishes,
                          const opal_fabric_candidates_t *candidates, const opal_strings_t *known,
                          opal_text_t *reason)
{
    return wishes->include->count > 0
               ? opal_fabric_includes_check(candidates, wishes->include, known, wishes->service,
                                            reason)
               : opal_fabric_excludes_check(candidates, wishes->exclude, known, reason);
}

/* Checks the names of the parameters. libfabric is asked for its layers only if a name is unknown.
 */
static opal_status_t check_names(const opal_fabric_question_t *question,
                                 const opal_fabric_candidates_t *candidates, opal_text_t *reason)
{
    const opal_fabric_wishes_t *wishes = &question->wishes;
    struct fi_info *all = NULL;
    opal_strings_t known = {0};
    size_t wrong = wrong_names(wishes, candidates, &known, reason);
    opal_text_free(reason);
    if (wrong == 0)
        return OPAL_SUCCESS;
    if (question->getinfo(OPAL_FABRIC_API, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &all) == 0)
        opal_fabric_layers_collect(&known, all);
    fi_freeinfo(all);
    if (wishes->include->count > 0)
        opal_text_printf(reason, "%s_provider_include (%s): ", wishes->prefix,
                         wishes->include_origin);
    else
        opal_text_printf(reason, "%s_provider_exclude (%s): ", wishes->prefix,
                         wishes->exclude_origin);
    wrong = wrong_names(wishes, candidates, &known, reason);
    opal_strings_free(&known);
    if (wrong > 0)
        return OPAL_ERR_BAD_PARAM;
    opal_text_free(reason);
    return OPAL_SUCCESS;
}

static void say_nothing_left(const opal_fabric_wishes_t *wishes,
                             const opal_fabric_candidates_t *candidates, opal_text_t *reason)
{
    size_t of_providers = 0; /* refused as providers */
    for (size_t i = 0; i < candidates->count; i++)
        of_providers += candidates->items[i].is_refused_provider;
    if (candidates->count == 0) {
        opal_text_printf(reason, "libfabric has no provider here for %s", wishes->service);
    } else if (of_providers < candidates->count) {
        opal_text_add(reason, "the domains of the providers that may be used are all refused");
    } else {
        opal_text_printf(reason, "%s_provider_exclude (%s) leaves none of the providers here: ",
                         wishes->prefix, wishes->exclude_origin);
        opal_fabric_providers_say(candidates, reason);
        opal_text_printf(reason, "; %s_provider_include would use one", wishes->prefix);
    }
}

opal_status_t opal_fabric_select(const opal_fabric_question_t *question,
                                 opal_fabric_selection_t *selection, opal_text_t *reason)
{
    *selection = (opal_fabric_selection_t){0};
    int result = ask(question, make_hints(question), &selection->list);
    if (result != 0 && result != -FI_ENODATA) {
        opal_text_printf(reason, "libfabric cannot list its providers: %s", fi_strerror(-result));
        return OPAL_ERR_NOT_AVAILABLE;
    }
    const opal_fabric_candidates_t *candidates = &selection->candidates;
    opal_fabric_candidates_judge(&selection->candidates, selection->list, &question->wishes);
    const struct fi_info *best = opal_fabric_candidates_best(candidates);
    opal_status_t status = check_names(question, candidates, reason);
    if (status != OPAL_SUCCESS)
        return status;
    if (best == NULL) {
        say_nothing_left(&question->wishes, candidates, reason);
        return OPAL_ERR_NOT_AVAILABLE;
    }
    selection->candidate = opal_fabric_candidates_nearest(
        candidates, best, question->root, NULL, NULL, question->local_rank, &selection->locality);
    return OPAL_SUCCESS;
}

void opal_fabric_selection_free(opal_fabric_selection_t *selection)
{
    opal_fabric_candidates_free(&selection->candidates);
    opal_text_free(&selection->locality);
    fi_freeinfo(selection->list);
    *selection = (opal_fabric_selection_t){0};
}
