/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The offer of libfabric's that matches this job's messages (opal/fabric/select.h), and the layout
 * of its tags. Start-up; one thread.
 */
#ifndef OMPI_MCA_MTL_OFI_SELECT_H
#define OMPI_MCA_MTL_OFI_SELECT_H

#include "opal/fabric/select.h"
#include "ompi/mca/mtl/ofi/tag.h"

typedef struct ofi_question {
    opal_fabric_question_t fabric;
    ofi_tag_mode_t tag_mode;
    unsigned job_size;
} ofi_question_t;

typedef struct ofi_selection {
    struct fi_info *info; /* for fi_freeinfo */
    ofi_tag_layout_t tags;
    bool is_hpc;  /* none of those that are excluded as it comes */
    char *phrase; /* "tcp;ofi_rxm over eth0 from 10.0.0.1, ofi_tag_full" */
} ofi_selection_t;

/*
 * OPAL_ERR_NOT_AVAILABLE: nothing here can be used, and the job does without. OPAL_ERR_TOO_LARGE:
 * likewise, but something would be used if its tags had enough bits for the job.
 * OPAL_ERR_BAD_PARAM: what the user asked for is impossible, an error of the run. `reason` says why
 * then. `tell` (may be NULL) learns the fate of every provider in any case.
 */
opal_status_t ofi_select(const ofi_question_t *question, ofi_selection_t *selection,
                         opal_text_t *reason, opal_fabric_report_fn_t *tell, void *context);
void ofi_selection_free(ofi_selection_t *selection);

#endif
