/* SPDX-License-Identifier: BSD-3-Clause */
/* The mtl framework object, and choosing a component when one is wanted. */
#include "ompi/mca/mtl/base/base.h"

#include "ompi/mca/mtl/base/wanted.h"

static const opal_slot_t mtl_slots[] = {
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, start),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, stop),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, flush),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, meet),
    OPAL_SLOT_REQUIRED(ompi_mtl_ops_t, drain),
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
};

/* What is wrong with the user's settings has been said when this returns. */
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
    if (!ompi_mtl_wanted(wish)) {
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
