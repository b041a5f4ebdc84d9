/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets osc/network be loaded, with libfabric, where libfabric carries the messages or the user has
 * named the component. */
#include <string.h>

#include "opal/mca/base/param.h"
#include "ompi/mca/osc/base/base.h"

opal_gate_fn_t mca_osc_network_gate;

/* In a job pml has been chosen before; ompi_info asks one framework after the other. */
static bool is_carried_by_network(void)
{
    opal_framework_t *pml = opal_framework_find("pml");
    if (pml == NULL)
        return false;
    opal_framework_open(pml);
    opal_framework_select(pml);
    const opal_candidate_t *best = opal_framework_best(pml);
    bool is_network = best != NULL && strcmp(best->name, "cm") == 0;
    opal_framework_close(pml);
    return is_network;
}

void mca_osc_network_gate(opal_answer_t *answer)
{
    /* This runs for a component that the list allows, so a list of names has its name. */
    const char *origin = NULL, *names = opal_param_setting("osc", &origin);
    if (names != NULL && names[0] != 0 && names[0] != '^')
        opal_answer_yes(answer, 0, NULL, NULL, "osc = %s (%s)", names, origin);
    else if (is_carried_by_network())
        opal_answer_yes(answer, 0, NULL, NULL, "a network carries the messages (pml/cm)");
    else
        opal_answer_no(answer, "no network carries the messages (pml/cm), and no osc = "
                               "network,messages,... asks for one");
}
