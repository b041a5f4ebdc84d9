/* SPDX-License-Identifier: BSD-3-Clause */
/* What of libfabric's offer matches messages. See select.h. */
#include "ompi/mca/mtl/ofi/select.h"

#include <stdlib.h>

enum { RANK_BYTES = 4 };

/* What the job needs does not fit: it ends if somebody has said what it should use, and does
 * without otherwise. There is no other mode to try: ofi_tag_1 and ofi_tag_2 number as many ranks,
 * and ofi_tag_full, which has no limit, is what auto takes if it can. ofi_tag_2 has more bits for
 * communicators, but takes them from the tags, which only who knows the program can allow. */
static opal_status_t no_way(const ofi_question_t *question)
{
    bool is_demanded =
        question->fabric.wishes.include->count > 0 || question->tag_mode != OFI_TAG_AUTO;
    return is_demanded ? OPAL_ERR_BAD_PARAM : OPAL_ERR_TOO_LARGE;
}

/* Decides on the mode, and keeps what the offer is with it. */
static opal_status_t settle(const ofi_question_t *question, const struct fi_info *offer,
                            ofi_selection_t *selection, opal_text_t *reason)
{
    bool may_be_full = question->tag_mode == OFI_TAG_AUTO || question->tag_mode == OFI_TAG_FULL;
    struct fi_info *full =
        may_be_full ? opal_fabric_ask_more(&question->fabric, offer, FI_DIRECTED_RECV, RANK_BYTES)
                    : NULL;
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

/* "tcp;ofi_rxm over eth0 from 10.0.0.1, nearest of 2 NICs, ofi_tag_full" */
static char *phrase_of(const ofi_selection_t *selection, const opal_text_t *locality)
{
    opal_text_t phrase = {0};
    opal_fabric_info_say(selection->info, &phrase);
    opal_text_printf(&phrase, "%s%s, %s", locality->length > 0 ? ", " : "",
                     opal_text_string(locality), ofi_tag_mode_name(selection->tags.mode));
    return opal_text_take(&phrase);
}

opal_status_t ofi_select(const ofi_question_t *question, ofi_selection_t *selection,
                         opal_text_t *reason, opal_fabric_report_fn_t *tell, void *context)
{
    opal_fabric_selection_t found;
    *selection = (ofi_selection_t){0};
    opal_status_t status = opal_fabric_select(&question->fabric, &found, reason);
    if (status == OPAL_SUCCESS)
        status = settle(question, found.candidate, selection, reason);
    if (status == OPAL_SUCCESS) {
        selection->is_hpc = opal_fabric_is_hpc(selection->info);
        selection->phrase = phrase_of(selection, &found.locality);
    }
    if (tell != NULL)
        opal_fabric_candidates_report(
            &found.candidates, status == OPAL_SUCCESS ? found.candidate : NULL, tell, context);
    opal_fabric_selection_free(&found);
    return status;
}

void ofi_selection_free(ofi_selection_t *selection)
{
    fi_freeinfo(selection->info);
    free(selection->phrase);
    *selection = (ofi_selection_t){0};
}
