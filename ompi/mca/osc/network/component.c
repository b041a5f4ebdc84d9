/* SPDX-License-Identifier: BSD-3-Clause */
/* osc/network: the component, and which provider it uses. See network.h. */
#include "ompi/mca/osc/network/network.h"

#include <stdlib.h>

#include "opal/fabric/select.h"
#include "opal/mca/base/component.h"
#include "opal/mca/base/param.h"
#include "opal/process/job.h"

/* -- the provider ------------------------------------------------------------------------------ */

/* The provider with atomics, if it has them. */
static struct fi_info *ask(const opal_fabric_question_t *question, const struct fi_info *candidate)
{
    struct fi_info *info = opal_fabric_ask_more(question, candidate, FI_ATOMIC, 0);
    return info != NULL ? info : opal_fabric_ask_more(question, candidate, FI_RMA, 0);
}

/* A list in the parameters of mtl/ofi, which is not loaded. */
static const char *read_list(const char *name, const char *preset, opal_strings_t *list)
{
    const char *origin = "default", *value = opal_param_setting(name, &origin);
    opal_strings_split(list, value != NULL ? value : preset, ",");
    return origin;
}

/* Where libfabric does not carry the messages, by the parameters of mtl/ofi. */
static struct fi_info *select_anew(opal_fabric_question_t *question, opal_text_t *why)
{
    opal_strings_t include = {0}, exclude = {0}, domains = {0};
    opal_fabric_selection_t selection;
    opal_fabric_wishes_t *wishes = &question->wishes;
    wishes->include_origin = read_list("mtl_ofi_provider_include", "", &include);
    wishes->exclude_origin = read_list("mtl_ofi_provider_exclude", OPAL_FABRIC_EXCLUDED, &exclude);
    read_list("mtl_ofi_domain_include", "", &domains);
    wishes->include = &include;
    wishes->exclude = &exclude;
    wishes->domains = &domains;
    struct fi_info *info = NULL;
    opal_fabric_quirks_prepare(opal_job()->size - 1);
    if (opal_fabric_select(question, &selection, why) == OPAL_SUCCESS)
        info = ask(question, selection.candidate);
    opal_fabric_quirks_end();
    opal_fabric_selection_free(&selection);
    opal_strings_free(&include);
    opal_strings_free(&exclude);
    opal_strings_free(&domains);
    return info;
}

struct fi_info *network_select(opal_text_t *why)
{
    const struct fi_info *open = opal_fabric_info();
    const opal_pmi_job_t *job = opal_job();
    opal_fabric_question_t question = {
        .wishes = {.prefix = "mtl_ofi",
                   .service = "one-sided operations (FI_RMA, FI_DELIVERY_COMPLETE)",
                   .spans_nodes = job->node_count > 1},
        .caps = FI_RMA,
        .op_flags = FI_DELIVERY_COMPLETE,
        .progress = open != NULL ? open->domain_attr->data_progress : FI_PROGRESS_MANUAL,
        .local_rank = job->local_rank,
        .getinfo = fi_getinfo,
        .root = "",
    };
    if (open == NULL)
        return select_anew(&question, why);
    struct fi_info *info = ask(&question, open);
    if (info == NULL)
        opal_text_printf(why, "the provider %s has no FI_RMA with FI_DELIVERY_COMPLETE",
                         open->fabric_attr->prov_name);
    return info;
}

/* -- the component ----------------------------------------------------------------------------- */

static void query(opal_answer_t *answer)
{
    opal_answer_yes(answer, 30, &network_ops, NULL,
                    "libfabric writes and reads the memory of ranks on other nodes, if its "
                    "provider can; the key mica_osc of a window's info tells");
}

OPAL_EXPORT extern const opal_component_t mca_osc_network_component;
const opal_component_t mca_osc_network_component = {
    OPAL_COMPONENT_HEAD(osc, network),
    .prose = "one-sided communication between nodes, by a provider of libfabric",
    .query = query,
};
