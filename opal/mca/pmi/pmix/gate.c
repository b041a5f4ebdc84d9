/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets pmi/pmix be loaded, with libpmix, where a PMIx launcher has started this process. */
#include "opal/mca/pmi/base/base.h"

opal_gate_fn_t mca_pmi_pmix_gate;

void mca_pmi_pmix_gate(opal_answer_t *answer)
{
    char why[OPAL_REASON_MAX_BYTES];
    if (opal_pmi_origin(why) == OPAL_PMI_PMIX)
        opal_answer_yes(answer, 0, NULL, NULL, "%s", why);
    else
        opal_answer_no(answer, "no PMIx launcher: %s", why);
}
