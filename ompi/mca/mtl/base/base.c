/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mtl framework object, and the choice of a component where a network that matches is wanted.
 *
 * It is wanted if the user names one (pml = cm, mtl = ..., mtl_ofi_provider_include or _exclude),
 * or if the machine has a network that libfabric has a provider for, and the user has not set
 * mtl = ^... Only then are the components loaded: a component and its library take longer to load
 * than a short job takes.
 */
#include "ompi/mca/mtl/base/base.h"

#include <stdio.h>
#include <string.h>

#include "opal/mca/base/param.h"
#include "opal/util/network.h"

static const opal_slot_t mtl_slots[] = {
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, start),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, stop),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, flush),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, meet),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, finalize_drain),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, send_now),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, send),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, receive),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, cancel),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, release),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, probe),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, receive_message),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, forget_context),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, describe),
    {0},
};

opal_framework_t mca_mtl_framework = {
    .name = "mtl",
    .prose = "messages that the network matches, under pml/cm",
    .slots = mtl_slots,
    .may_be_empty = true,
    .is_on_demand = true,
};

/* -- whether a network is wanted --------------------------------------------------------- */

/* Whether a list of components names any to use: "^..." names those not to use. */
static bool names_components(const char *value)
{
    return value[0] != 0 && value[0] != '^';
}

/* Whether the user has set a parameter that asks for a network. */
static bool is_set(char reason[OPAL_REASON_MAX_BYTES])
{
    /* This runs in the query of pml/cm, so a list of pml names cm. */
    static const char *const names[] = {"pml", "mtl", "mtl_ofi_provider_include",
                                        "mtl_ofi_provider_exclude"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++) {
        const char *origin = NULL, *value = opal_param_setting(names[i], &origin);
        /* An empty list of excluded providers counts: it allows all of them. */
        bool is_exclude = strcmp(names[i], "mtl_ofi_provider_exclude") == 0;
        if (value == NULL || !(is_exclude || names_components(value)))
            continue;
        snprintf(reason, OPAL_REASON_MAX_BYTES, "%s = %s (%s)", names[i], value, origin);
        return true;
    }
    return false;
}

bool ompi_mtl_is_wanted(const char *root, char reason[OPAL_REASON_MAX_BYTES])
{
    if (is_set(reason))
        return true;
    const char *origin = NULL, *mtl = opal_param_setting("mtl", &origin);
    const char *network = opal_network(root, OPAL_NETWORK_OF_LIBFABRIC);
    if (network == NULL) {
        snprintf(
            reason, OPAL_REASON_MAX_BYTES,
            "this machine has no network that libfabric has a provider for, and no setting asks "
            "for one, as pml = cm or mtl_ofi_provider_include = ... would");
        return false;
    }
    if (mtl != NULL && mtl[0] == '^') {
        snprintf(reason, OPAL_REASON_MAX_BYTES, "this machine has %s, but mtl = %s (%s)", network,
                 mtl, origin);
        return false;
    }
    snprintf(reason, OPAL_REASON_MAX_BYTES, "this machine has %s", network);
    return true;
}

/* -- choosing ---------------------------------------------------------------------------- */

/* NULL: no component can be used, and `answer` says why. Wrong settings have been reported. */
static const opal_candidate_t *choose(opal_answer_t *answer)
{
    const opal_framework_t *framework = &mca_mtl_framework;
    opal_framework_open(&mca_mtl_framework);
    opal_framework_select(&mca_mtl_framework);
    const opal_candidate_t *best = opal_framework_best(framework);
    if (best == NULL && framework->candidate_count == 0)
        opal_answer_no(answer, "no component of mtl was built");
    else if (best == NULL)
        opal_answer_no(answer, "no mtl can be used: %s: %s", framework->candidates[0].name,
                       framework->candidates[0].answer.reason);
    return best;
}

bool ompi_mtl_open(opal_answer_t *answer)
{
    char wish[OPAL_REASON_MAX_BYTES];
    if (!ompi_mtl_is_wanted("", wish)) {
        opal_answer_no(answer, "%s", wish);
        return false;
    }
    const opal_candidate_t *best = choose(answer);
    if (best == NULL) {
        ompi_mtl_close();
        return false;
    }
    const opal_answer_t *its = &best->answer;
    opal_answer_yes(answer, its->priority, its->ops, its->state, "mtl/%s (%s); %s", best->name,
                    its->reason, wish);
    return true;
}

void ompi_mtl_close(void)
{
    opal_framework_close(&mca_mtl_framework);
}
