/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets osc/network be loaded, with libfabric, where libfabric carries the messages or the user has
 * named the component. */
#include "opal/mca/base/param.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/pml/base/base.h"

#include <string.h>

opal_gate_fn_t mca_osc_network_gate;

void mca_osc_network_gate(opal_answer_t *answer)
{
    /* This runs for a component that the list allows, so a list of names has its name. */
    const char *origin = NULL, *names = opal_param_setting("osc", &origin);
    const opal_candidate_t *pml = opal_framework_best(&mca_pml_framework);
    if (names != NULL && names[0] != 0 && names[0] != '^')
        opal_answer_yes(answer, 0, NULL, NULL, "osc = %s (%s)", names, origin);
    else if (pml != NULL && strcmp(pml->name, "cm") == 0)
        opal_answer_yes(answer, 0, NULL, NULL, "a network carries the messages (pml/cm)");
    else
        opal_answer_no(answer, "no network carries the messages (pml/cm), and no osc = "
                               "network,messages,... asks for one");
}
