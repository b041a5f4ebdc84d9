/* SPDX-License-Identifier: BSD-3-Clause */
/* Asking libfabric. See select.h. */
#include "ompi/mca/mtl/ofi/select.h"

#include <arpa/inet.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/mtl/ofi/near.h"
#include "ompi/mca/mtl/ofi/ofi.h"

enum { RANK_BYTES = 4 };

/* -- questions ----------------------------------------------------------------------------------
 */

/* What is asked for by all questions. */
static struct fi_info *make_hints(const ofi_question_t *question)
{
    struct fi_info *hints = fi_allocinfo();
    if (hints == NULL)
        return NULL;
    hints->mode = OFI_MODES;
    hints->caps = FI_TAGGED;
    if (question->wishes.spans_nodes)
        hints->caps |= FI_LOCAL_COMM | FI_REMOTE_COMM;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = OFI_MR_MODES;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = question->progress;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    return hints;
}

static int ask(const ofi_question_t *question, struct fi_info *hints, struct fi_info **list)
{
    *list = NULL;
    int result =
        hints != NULL ? question->getinfo(OFI_API, NULL, NULL, 0, hints, list) : -FI_ENOMEM;
    fi_freeinfo(hints);
    return result;
}

static bool same_bytes(const void *one, size_t bytes, const void *other, size_t other_bytes)
{
    return bytes == other_bytes && (bytes == 0 || memcmp(one, other, bytes) == 0);
}

static bool same_name(const char *one, const char *other)
{
    return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

/* Whether this is the offer itself, with other capabilities perhaps. */
static bool is_same_offer(const struct fi_info *one, const struct fi_info *other)
{
    return same_name(one->fabric_attr->prov_name, other->fabric_attr->prov_name) &&
           same_name(one->fabric_attr->name, other->fabric_attr->name) &&
           same_name(one->domain_attr->name, other->domain_attr->name) &&
           one->addr_format == other->addr_format &&
           one->ep_attr->protocol == other->ep_attr->protocol &&
           one->ep_attr->mem_tag_format == other->ep_attr->mem_tag_format &&
           same_bytes(one->src_addr, one->src_addrlen, other->src_addr, other->src_addrlen);
}

/* The offer with what ofi_tag_full needs, for fi_freeinfo; NULL: it has not. */
static struct fi_info *ask_for_full(const ofi_question_t *question, const struct fi_info *offer)
{
    struct fi_info *list, *found = NULL, *hints = make_hints(question);
    if (hints != NULL) {
        hints->caps |= FI_DIRECTED_RECV;
        hints->domain_attr->cq_data_size = RANK_BYTES;
        hints->fabric_attr->prov_name = strdup(offer->fabric_attr->prov_name);
    }
    if (ask(question, hints, &list) != 0)
        return NULL;
    for (const struct fi_info *info = list; info != NULL && found == NULL; info = info->next) {
        if (is_same_offer(info, offer) && (info->caps & FI_DIRECTED_RECV) != 0)
            found = fi_dupinfo(info);
    }
    fi_freeinfo(list);
    return found;
}

/* -- what is used -------------------------------------------------------------------------------
 */

/* "10.0.0.1", of an address of the Internet's; or NULL. */
static const char *address_text(const struct fi_info *info, char text[INET6_ADDRSTRLEN])
{
    const struct sockaddr *address = info->src_addr;
    if (!ofi_info_has_ip(info))
        return NULL;
    const void *number = address->sa_family == AF_INET
                             ? (const void *)&((const struct sockaddr_in *)info->src_addr)->sin_addr
                             : &((const struct sockaddr_in6 *)info->src_addr)->sin6_addr;
    return inet_ntop(address->sa_family, number, text, INET6_ADDRSTRLEN);
}

void ofi_info_say(const struct fi_info *info, opal_text_t *text)
{
    char number[INET6_ADDRSTRLEN];
    const char *address = address_text(info, number);
    opal_text_add(text, info->fabric_attr->prov_name);
    if (info->domain_attr->name != NULL)
        opal_text_printf(text, " over %s", info->domain_attr->name);
    if (address != NULL)
        opal_text_printf(text, " from %s", address);
}

static bool is_excluded_as_it_comes(const char *provider)
{
    opal_strings_t names = {0};
    bool is = false;
    opal_strings_split(&names, OFI_EXCLUDED, ",");
    for (size_t i = 0; i < names.count; i++)
        is = is || ofi_provider_is(provider, names.items[i]);
    opal_strings_free(&names);
    return is;
}

/* What the job needs does not fit: it ends if somebody has said what it should use, and does
 * without otherwise. There is no other mode to try: ofi_tag_1 and ofi_tag_2 number as many ranks,
 * and ofi_tag_full, which has no limit, is what auto takes if it can. ofi_tag_2 has more bits for
 * communicators, but takes them from the tags, which only who knows the program can allow. */
static opal_status_t no_way(const ofi_question_t *question)
{
    bool is_demanded = question->wishes.include->count > 0 || question->tag_mode != OFI_TAG_AUTO;
    return is_demanded ? OPAL_ERR_BAD_PARAM : OPAL_ERR_TOO_LARGE;
}

/* Decides on the mode, and keeps what the offer is with it. */
static opal_status_t settle(const ofi_question_t *question, const struct fi_info *offer,
                            ofi_selection_t *selection, opal_text_t *reason)
{
    bool may_be_full = question->tag_mode == OFI_TAG_AUTO || question->tag_mode == OFI_TAG_FULL;
    struct fi_info *full = may_be_full ? ask_for_full(question, offer) : NULL;
    const struct fi_info *asked = full != NULL ? full : offer;
    ofi_tag_mode_t mode;
    opal_text_add(reason, offer->fabric_attr->prov_name);
    opal_text_add(reason, ": ");
    bool works =
        ofi_tag_decide(question->tag_mode, asked->domain_attr->cq_data_size, full != NULL, &mode,
                       reason) &&
        ofi_tag_layout_make(&selection->tags, mode, asked->ep_attr->mem_tag_format, reason);
    if (works && question->job_size - 1 > selection->tags.max_rank) {
        opal_text_printf(reason, "the job has %u ranks, and %s numbers %u", question->job_size,
                         ofi_tag_mode_name(mode), selection->tags.max_rank + 1);
        works = false;
    }
    if (!works) {
        fi_freeinfo(full);
        return no_way(question);
    }
    selection->info = fi_dupinfo(mode == OFI_TAG_FULL ? asked : offer);
    fi_freeinfo(full);
    if (selection->info == NULL) {
        opal_text_add(reason, "no memory for what it offers");
        return OPAL_ERR_NO_MEMORY;
    }
    opal_text_free(reason);
    return OPAL_SUCCESS;
}

static size_t wrong_names(const ofi_wishes_t *wishes, const ofi_offers_t *offers,
                          const opal_strings_t *known, opal_text_t *reason)
{
    return wishes->include->count > 0 ? ofi_includes_check(offers, wishes->include, known, reason)
                                      : ofi_excludes_check(offers, wishes->exclude, known, reason);
}

/* Names that mean nothing. Which layers there are is asked only if one is in doubt. */
static opal_status_t check_names(const ofi_question_t *question, const ofi_offers_t *offers,
                                 opal_text_t *reason)
{
    const ofi_wishes_t *wishes = &question->wishes;
    struct fi_info *all = NULL;
    opal_strings_t known = {0};
    size_t wrong = wrong_names(wishes, offers, &known, reason);
    opal_text_free(reason);
    if (wrong == 0)
        return OPAL_SUCCESS;
    if (question->getinfo(OFI_API, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &all) == 0)
        ofi_layers_collect(&known, all);
    fi_freeinfo(all);
    if (wishes->include->count > 0)
        opal_text_printf(reason, "mtl_ofi_provider_include (%s): ", wishes->include_origin);
    else
        opal_text_printf(reason, "mtl_ofi_provider_exclude (%s): ", wishes->exclude_origin);
    wrong = wrong_names(wishes, offers, &known, reason);
    opal_strings_free(&known);
    if (wrong > 0)
        return OPAL_ERR_BAD_PARAM;
    opal_text_free(reason);
    return OPAL_SUCCESS;
}

static void say_nothing_left(const ofi_wishes_t *wishes, const ofi_offers_t *offers,
                             opal_text_t *reason)
{
    size_t of_providers = 0; /* refusals */
    for (size_t i = 0; i < offers->count; i++)
        of_providers += offers->items[i].is_refused_provider;
    if (offers->count == 0) {
        opal_text_add(reason, "libfabric has no provider here that matches messages");
    } else if (of_providers < offers->count) {
        opal_text_add(reason, "the domains of the providers that may be used are all refused");
    } else {
        opal_text_printf(reason,
                         "mtl_ofi_provider_exclude (%s) leaves none of the providers here: ",
                         wishes->exclude_origin);
        ofi_providers_say(offers, reason);
        opal_text_add(reason, "; mtl_ofi_provider_include would use one");
    }
}

static opal_status_t choose(const ofi_question_t *question, const struct fi_info *list,
                            ofi_selection_t *selection, opal_text_t *reason, ofi_fate_fn_t *tell,
                            void *context)
{
    ofi_offers_t offers;
    opal_text_t nearest = {0}, phrase = {0};
    ofi_offers_judge(&offers, list, &question->wishes);
    const struct fi_info *best = ofi_offers_best(&offers);
    opal_status_t status = check_names(question, &offers, reason);
    if (status == OPAL_SUCCESS && best == NULL) {
        say_nothing_left(&question->wishes, &offers, reason);
        status = OPAL_ERR_NOT_AVAILABLE;
    }
    if (status == OPAL_SUCCESS) {
        best = ofi_offers_nearest(&offers, best, question->root, NULL, NULL, question->local_rank,
                                  &nearest);
        status = settle(question, best, selection, reason);
    }
    if (status == OPAL_SUCCESS) {
        selection->is_hpc = !is_excluded_as_it_comes(best->fabric_attr->prov_name);
        ofi_info_say(selection->info, &phrase);
        opal_text_printf(&phrase, "%s%s, %s", nearest.length > 0 ? ", " : "",
                         opal_text_string(&nearest), ofi_tag_mode_name(selection->tags.mode));
        selection->phrase = opal_text_take(&phrase);
    }
    if (tell != NULL)
        ofi_offers_tell(&offers, status == OPAL_SUCCESS ? best : NULL, tell, context);
    opal_text_free(&nearest);
    ofi_offers_free(&offers);
    return status;
}

opal_status_t ofi_select(const ofi_question_t *question, ofi_selection_t *selection,
                         opal_text_t *reason, ofi_fate_fn_t *tell, void *context)
{
    struct fi_info *list;
    int result = ask(question, make_hints(question), &list);
    *selection = (ofi_selection_t){0};
    if (result != 0 && result != -FI_ENODATA) {
        opal_text_printf(reason, "libfabric does not say what it has: %s", fi_strerror(-result));
        return OPAL_ERR_NOT_AVAILABLE;
    }
    opal_status_t status = choose(question, list, selection, reason, tell, context);
    fi_freeinfo(list);
    return status;
}

void ofi_selection_free(ofi_selection_t *selection)
{
    fi_freeinfo(selection->info);
    free(selection->phrase);
    *selection = (ofi_selection_t){0};
}
