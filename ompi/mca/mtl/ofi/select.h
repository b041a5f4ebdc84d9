/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asking libfabric, and what of its answer is used.
 *
 *   fi_getinfo(tags, reliable datagrams)     all that could carry the job's messages
 *   choose.h, near.h                         one of them
 *   fi_getinfo(the same, for ofi_tag_full)   whether that has more, if the mode needs it
 *   tag.h                                    the layout of its tags
 *
 * That a provider can receive from one address, or has completion data, it says only if it is
 * asked for it, so the mode is decided by a second question.
 *
 * What is promised to the provider and asked of it:
 *
 *   threading      FI_THREAD_DOMAIN, whatever MPI's thread level is: each call into libfabric is
 *                  made under ompi_lock, which is real exactly when there are threads
 *   progress       mtl_ofi_progress, manual as it comes: who waits polls anyhow, and a thread of
 * the provider would take a core from the program order          FI_ORDER_SAS, a send after a send:
 * MPI's messages do not overtake each other mr_mode, mode  what pinned.c and ofi_operation_t
 * provide resources      FI_RM_ENABLED: a queue that is full is -FI_EAGAIN, not a lost message
 *
 * Start-up; one thread.
 */
#ifndef OMPI_MCA_MTL_OFI_SELECT_H
#define OMPI_MCA_MTL_OFI_SELECT_H

#include "opal/include/status.h"
#include "ompi/mca/mtl/ofi/choose.h"
#include "ompi/mca/mtl/ofi/tag.h"

/* The interface that is asked for; configure looks for a libfabric that has it. */
#define OFI_API FI_VERSION(1, 11)

/* fi_getinfo, or a test's. */
typedef int ofi_getinfo_fn_t(uint32_t version, const char *node, const char *service,
                             uint64_t flags, const struct fi_info *hints, struct fi_info **info);

typedef struct ofi_question {
    ofi_wishes_t wishes;
    ofi_tag_mode_t tag_mode;
    enum fi_progress progress;
    unsigned job_size, local_rank;
    ofi_getinfo_fn_t *getinfo;
    const char *root; /* of sysfs: "" */
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
                         opal_text_t *reason, ofi_fate_fn_t *tell, void *context);
void ofi_selection_free(ofi_selection_t *selection);

/* Adds "tcp;ofi_rxm over eth0 from 10.0.0.1". */
void ofi_info_say(const struct fi_info *info, opal_text_t *text);

#endif
