/* SPDX-License-Identifier: BSD-3-Clause */
/* See candidates.h. */
#include "opal/fabric/candidates.h"

#include <fnmatch.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* -- names --------------------------------------------------------------------------------------
 */

bool opal_fabric_provider_is(const char *provider, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = provider; length > 0 && at != NULL;) {
        if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ';'))
            return true;
        at = strchr(at, ';');
        if (at != NULL)
            at++;
    }
    return false;
}

static const char *provider_of(const struct fi_info *info)
{
    return info->fabric_attr->prov_name;
}

static const char *domain_of(const struct fi_info *info)
{
    return info->domain_attr->name != NULL ? info->domain_attr->name : "";
}

bool opal_fabric_same_text(const char *one, const char *other)
{
    return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

/* The first of `names` that names the provider; NULL: none. */
static const char *name_of_provider(const opal_strings_t *names, const char *provider)
{
    for (size_t i = 0; i < names->count; i++) {
        if (opal_fabric_provider_is(provider, names->items[i]))
            return names->items[i];
    }
    return NULL;
}

/* -- addresses ----------------------------------------------------------------------------------
 */

typedef enum reach {
    REACH_ANY,
    REACH_HOST,    /* the loopback */
    REACH_VIRTUAL, /* a bridge of this host */
    REACH_LINK,    /* link-local */
} reach_t;

/* btl/sock leaves out the same interfaces. */
static const char *const bridges[] = {
    "docker0", "docker_gwbridge", "virbr*", "lxcbr*",   "lxdbr*", "podman*",
    "cni0",    "cni-podman*",     "vmnet*", "vboxnet*",
};

static reach_t reach_of_ip(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ? REACH_HOST : REACH_ANY;
    }
    struct sockaddr_in6 six;
    memcpy(&six, address, sizeof six);
    if (IN6_IS_ADDR_LOOPBACK(&six.sin6_addr))
        return REACH_HOST;
    return IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr) ? REACH_LINK : REACH_ANY;
}

bool opal_fabric_info_has_ip(const struct fi_info *info)
{
    const struct sockaddr *address = info->src_addr;
    bool may_be = info->addr_format == FI_SOCKADDR || info->addr_format == FI_SOCKADDR_IN ||
                  info->addr_format == FI_SOCKADDR_IN6;
    if (!may_be || address == NULL || info->src_addrlen < sizeof(struct sockaddr_in))
        return false;
    return address->sa_family == AF_INET ||
           (address->sa_family == AF_INET6 && info->src_addrlen >= sizeof(struct sockaddr_in6));
}

/* Nothing is known about addresses other than IP addresses. */
static reach_t reach_of(const struct fi_info *info)
{
    if (!opal_fabric_info_has_ip(info))
        return REACH_ANY;
    reach_t reach = reach_of_ip(info->src_addr);
    for (size_t i = 0; reach == REACH_ANY && i < OPAL_COUNT_OF(bridges); i++) {
        if (fnmatch(bridges[i], domain_of(info), 0) == 0)
            reach = REACH_VIRTUAL;
    }
    return reach;
}

/* -- judging ------------------------------------------------------------------------------------
 */

/* Why the provider is refused; NULL: it is not. */
static char *judge_provider(const char *provider, const opal_fabric_wishes_t *wishes)
{
    if (wishes->include->count > 0) {
        if (name_of_provider(wishes->include, provider) != NULL)
            return NULL;
        return opal_xprintf("%s_provider_include (%s) does not name it", wishes->prefix,
                            wishes->include_origin);
    }
    const char *name = name_of_provider(wishes->exclude, provider);
    if (name == NULL)
        return NULL;
    return opal_xprintf("\"%s\" is in %s_provider_exclude (%s)", name, wishes->prefix,
                        wishes->exclude_origin);
}

static bool names_domain(const opal_strings_t *patterns, const char *domain)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (fnmatch(patterns->items[i], domain, 0) == 0)
            return true;
    }
    return false;
}

/* Why the domain is refused; NULL: it is not. *is_last_resort: it may be used if the provider has
 * no other domain. */
static char *judge_domain(const struct fi_info *info, const opal_fabric_wishes_t *wishes,
                          bool *is_last_resort)
{
    reach_t reach = reach_of(info);
    *is_last_resort = false;
    if (reach == REACH_LINK)
        return opal_xprintf("a link-local address means nothing to other interfaces");
    if (wishes->domains->count > 0) {
        if (names_domain(wishes->domains, domain_of(info)))
            return NULL;
        return opal_xprintf("%s_domain_include does not name it", wishes->prefix);
    }
    *is_last_resort = true;
    if (reach == REACH_HOST && wishes->spans_nodes)
        return opal_xprintf("the loopback does not lead to other nodes");
    if (reach == REACH_VIRTUAL)
        return opal_xprintf("a bridge to virtual machines or containers");
    return NULL;
}

static bool same_provider(const struct fi_info *one, const struct fi_info *other)
{
    return strcmp(provider_of(one), provider_of(other)) == 0;
}

/* Takes back the refusals of last resorts where their provider has nothing else. */
static void restore_last_resorts(opal_fabric_candidates_t *candidates, const bool *is_last_resort)
{
    for (size_t i = 0; i < candidates->count; i++) {
        opal_fabric_candidate_t *candidate = &candidates->items[i];
        bool is_needed = is_last_resort[i] && candidate->refusal != NULL;
        for (size_t j = 0; is_needed && j < candidates->count; j++)
            is_needed = !same_provider(candidates->items[j].info, candidate->info) ||
                        candidates->items[j].refusal != NULL;
        if (!is_needed)
            continue;
        /* All of this provider at once, because a candidate that is usable now makes the next one
         * unneeded. */
        for (size_t j = i; j < candidates->count; j++) {
            if (is_last_resort[j] && same_provider(candidates->items[j].info, candidate->info)) {
                free(candidates->items[j].refusal);
                candidates->items[j].refusal = NULL;
            }
        }
    }
}

void opal_fabric_candidates_judge(opal_fabric_candidates_t *candidates, const struct fi_info *list,
                                  const opal_fabric_wishes_t *wishes)
{
    *candidates = (opal_fabric_candidates_t){0};
    for (const struct fi_info *info = list; info != NULL; info = info->next)
        candidates->count++;
    candidates->items = opal_xcalloc(candidates->count + 1, sizeof *candidates->items);
    bool *is_last_resort = opal_xcalloc(candidates->count + 1, sizeof *is_last_resort);
    size_t i = 0;
    for (const struct fi_info *info = list; info != NULL; info = info->next, i++) {
        opal_fabric_candidate_t *candidate = &candidates->items[i];
        candidate->info = info;
        candidate->refusal = judge_provider(provider_of(info), wishes);
        candidate->is_refused_provider = candidate->refusal != NULL;
        if (!candidate->is_refused_provider)
            candidate->refusal = judge_domain(info, wishes, &is_last_resort[i]);
    }
    restore_last_resorts(candidates, is_last_resort);
    free(is_last_resort);
}

void opal_fabric_candidates_free(opal_fabric_candidates_t *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        free(candidates->items[i].refusal);
    free(candidates->items);
    *candidates = (opal_fabric_candidates_t){0};
}

const struct fi_info *opal_fabric_candidates_best(const opal_fabric_candidates_t *candidates)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->items[i].refusal == NULL)
            return candidates->items[i].info;
    }
    return NULL;
}

bool opal_fabric_candidates_are_alike(const struct fi_info *one, const struct fi_info *other)
{
    return same_provider(one, other) &&
           opal_fabric_same_text(one->fabric_attr->name, other->fabric_attr->name) &&
           one->addr_format == other->addr_format && one->caps == other->caps &&
           one->ep_attr->protocol == other->ep_attr->protocol &&
           one->ep_attr->mem_tag_format == other->ep_attr->mem_tag_format;
}

/* -- for a person -------------------------------------------------------------------------------
 */

void opal_fabric_layers_collect(opal_strings_t *layers, const struct fi_info *list)
{
    for (const struct fi_info *info = list; info != NULL; info = info->next) {
        opal_strings_t parts = {0};
        opal_strings_split(&parts, provider_of(info), ";");
        for (size_t i = 0; i < parts.count; i++) {
            if (!opal_strings_has(layers, parts.items[i]))
                opal_strings_add(layers, parts.items[i]);
        }
        opal_strings_free(&parts);
    }
}

static bool has_layer(const opal_fabric_candidates_t *candidates, const char *name)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (opal_fabric_provider_is(provider_of(candidates->items[i].info), name))
            return true;
    }
    return false;
}

/* All providers that libfabric ever had, in this build or not: such a name is not misspelt. */
static const char *const well_known[] = {
    "bgq",      "cxi",       "efa",     "gni",     "lnx", "lpp", "mlx",   "net",   "netdir",
    "off_coll", "ofi_mrail", "ofi_rxd", "ofi_rxm", "opx", "psm", "psm2",  "psm3",  "rstream",
    "shm",      "sm2",       "sockets", "tcp",     "ucx", "udp", "usnic", "verbs",
};

static bool is_well_known(const char *layer)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(well_known); i++) {
        if (strcmp(well_known[i], layer) == 0)
            return true;
    }
    return false;
}

/* Whether each layer of the name is in `known`, those of this libfabric, or well known. */
static bool may_be_elsewhere(const char *name, const opal_strings_t *known)
{
    opal_strings_t layers = {0};
    opal_strings_split(&layers, name, ";");
    bool may_be = layers.count > 0;
    for (size_t i = 0; i < layers.count; i++)
        may_be =
            may_be && (opal_strings_has(known, layers.items[i]) || is_well_known(layers.items[i]));
    opal_strings_free(&layers);
    return may_be;
}

/* The provider of a candidate, known layer or well-known layer that is nearest to a name. */
static const char *nearest(const opal_fabric_candidates_t *candidates, const opal_strings_t *known,
                           const char *name)
{
    const char **names =
        opal_xcalloc(candidates->count + known->count + OPAL_COUNT_OF(well_known), sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < known->count; i++)
        names[count++] = known->items[i];
    for (size_t i = 0; i < candidates->count; i++)
        names[count++] = provider_of(candidates->items[i].info);
    for (size_t i = 0; i < OPAL_COUNT_OF(well_known); i++)
        names[count++] = well_known[i];
    const char *found = opal_nearest_name(name, names, count);
    free(names);
    return found;
}

static void say_unknown(const opal_fabric_candidates_t *candidates, const opal_strings_t *known,
                        const char *name, opal_text_t *text)
{
    opal_text_printf(text, "this libfabric has no provider \"%s\"", name);
    const char *meant = may_be_elsewhere(name, known) ? NULL : nearest(candidates, known, name);
    if (meant != NULL)
        opal_text_printf(text, " (did you mean \"%s\"?)", meant);
}

size_t opal_fabric_includes_check(const opal_fabric_candidates_t *candidates,
                                  const opal_strings_t *include, const opal_strings_t *known,
                                  const char *service, opal_text_t *text)
{
    size_t missing = 0;
    for (size_t i = 0; i < include->count; i++) {
        const char *name = include->items[i];
        if (has_layer(candidates, name))
            continue;
        opal_text_add(text, missing++ > 0 ? "; " : "");
        if (opal_strings_has(known, name))
            opal_text_printf(text, "the provider \"%s\" offers no %s here", name, service);
        else
            say_unknown(candidates, known, name, text);
    }
    return missing;
}

size_t opal_fabric_excludes_check(const opal_fabric_candidates_t *candidates,
                                  const opal_strings_t *exclude, const opal_strings_t *known,
                                  opal_text_t *text)
{
    size_t wrong = 0;
    for (size_t i = 0; i < exclude->count; i++) {
        const char *name = exclude->items[i];
        if (has_layer(candidates, name) || may_be_elsewhere(name, known))
            continue;
        opal_text_add(text, wrong++ > 0 ? "; " : "");
        say_unknown(candidates, known, name, text);
    }
    return wrong;
}

/* Whether this candidate is the first of its provider. */
static bool is_first(const opal_fabric_candidates_t *candidates, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (same_provider(candidates->items[i].info, candidates->items[index].info))
            return false;
    }
    return true;
}

void opal_fabric_providers_say(const opal_fabric_candidates_t *candidates, opal_text_t *text)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (is_first(candidates, i))
            opal_text_printf(text, "%s%s", i > 0 ? ", " : "",
                             provider_of(candidates->items[i].info));
    }
}

/* Whether an earlier candidate of the provider has an equal domain and an equal refusal. */
static bool is_repeated(const opal_fabric_candidates_t *candidates, size_t index)
{
    const opal_fabric_candidate_t *one = &candidates->items[index];
    for (size_t i = 0; i < index; i++) {
        const opal_fabric_candidate_t *other = &candidates->items[i];
        if (same_provider(one->info, other->info) &&
            opal_fabric_same_text(one->refusal, other->refusal) &&
            strcmp(domain_of(one->info), domain_of(other->info)) == 0)
            return true;
    }
    return false;
}

/* "eth0, lo" for the usable ones; "eth0: a link-local ..., lo: ..." for the others. */
static void say_domains(const opal_fabric_candidates_t *candidates, size_t first, bool usable,
                        opal_text_t *text)
{
    for (size_t i = first; i < candidates->count; i++) {
        const opal_fabric_candidate_t *candidate = &candidates->items[i];
        if (!same_provider(candidate->info, candidates->items[first].info) ||
            (candidate->refusal == NULL) != usable || is_repeated(candidates, i))
            continue;
        opal_text_printf(text, "%s%s", text->length > 0 ? ", " : "", domain_of(candidate->info));
        if (!usable)
            opal_text_printf(text, ": %s", candidate->refusal);
    }
}

void opal_fabric_candidates_report(const opal_fabric_candidates_t *candidates,
                                   const struct fi_info *chosen, opal_fabric_report_fn_t *report,
                                   void *context)
{
    for (size_t i = 0; i < candidates->count; i++) {
        const opal_fabric_candidate_t *candidate = &candidates->items[i];
        opal_text_t reason = {0};
        if (!is_first(candidates, i))
            continue;
        const char *state = "refused";
        if (candidate->is_refused_provider) {
            opal_text_add(&reason, candidate->refusal);
        } else {
            say_domains(candidates, i, true, &reason);
            if (reason.length > 0)
                state =
                    chosen != NULL && same_provider(chosen, candidate->info) ? "used" : "usable";
            else
                say_domains(candidates, i, false, &reason);
        }
        report(context, provider_of(candidate->info), state, opal_text_string(&reason));
        opal_text_free(&reason);
    }
}
