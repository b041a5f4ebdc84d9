/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asking libfabric for candidates, and selecting one.
 *
 *   fi_getinfo(what the first user needs, reliable datagrams)   all candidates
 *   candidates.h, nic_locality.h                                one of them
 *   fi_getinfo(the same provider, more capabilities)            the candidate with those, or none
 *
 * A provider reports a capability such as receives from one address, or completion data, only if it
 * is asked for it. So a user that can do without it asks a second time, for more. A later user asks
 * in this way for what it needs of the open domain (opal_fabric_info).
 *
 * What is promised to the provider and required of it:
 *
 *   threading      FI_THREAD_DOMAIN, whatever the thread level of MPI is: each call into libfabric
 *                  is made under one lock, that of the upper layer, which is a real lock exactly
 *                  when there are threads
 *   progress       what the user sets; manual by default: a waiting rank polls anyhow, and a thread
 *                  of the provider would take a core from the program
 *   order          FI_ORDER_SAS, send after send: messages do not overtake each other
 *   mr_mode, mode  what opal_fabric_register and contexts of type fi_context2 provide
 *   resources      FI_RM_ENABLED: a full queue is -FI_EAGAIN, not a lost message
 *
 * Threading: called at start-up by one thread.
 */
#ifndef OPAL_FABRIC_SELECT_H
#define OPAL_FABRIC_SELECT_H

#include "opal/fabric/candidates.h"
#include "opal/include/status.h"

/* The version of libfabric's interface; configure looks for a libfabric that has it. */
#define OPAL_FABRIC_API FI_VERSION(1, 11)

/* The modes of a provider that are supported. */
#define OPAL_FABRIC_MODES (FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA)
#define OPAL_FABRIC_MR_MODES                                                                       \
    (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT |           \
     FI_MR_MMU_NOTIFY)

/* fi_getinfo, or a test's. */
typedef int opal_fabric_getinfo_fn_t(uint32_t version, const char *node, const char *service,
                                     uint64_t flags, const struct fi_info *hints,
                                     struct fi_info **info);

typedef struct opal_fabric_question {
    opal_fabric_wishes_t wishes;
    uint64_t caps;     /* required: FI_TAGGED, or FI_MSG | FI_RMA | FI_ATOMIC ... */
    uint64_t op_flags; /* that operations will have: FI_DELIVERY_COMPLETE */
    enum fi_progress progress;
    unsigned local_rank;
    opal_fabric_getinfo_fn_t *getinfo;
    const char *root; /* of sysfs: "" */
} opal_fabric_question_t;

typedef struct opal_fabric_selection {
    struct fi_info *list; /* libfabric's answer */
    opal_fabric_candidates_t candidates;
    const struct fi_info *candidate; /* the one to use, in the list; NULL: none */
    opal_text_t locality;            /* "nearest of 2 NICs", if there were several */
} opal_fabric_selection_t;

/*
 * Selects a candidate. OPAL_ERR_NOT_AVAILABLE: none can be used here. OPAL_ERR_BAD_PARAM: a
 * parameter names what does not exist, and the job must end. `reason` says why in both cases. The
 * caller frees the selection in any case; its candidates say why each provider is used or not.
 */
OPAL_EXPORT opal_status_t opal_fabric_select(const opal_fabric_question_t *question,
                                             opal_fabric_selection_t *selection,
                                             opal_text_t *reason);
OPAL_EXPORT void opal_fabric_selection_free(opal_fabric_selection_t *selection);

/* The candidate with the capabilities of the question, those of `caps`, and `cq_data_bytes` of
 * completion data, for fi_freeinfo. NULL: it does not have them. */
OPAL_EXPORT struct fi_info *opal_fabric_ask_more(const opal_fabric_question_t *question,
                                                 const struct fi_info *candidate, uint64_t caps,
                                                 size_t cq_data_bytes);

/* The candidate with the capabilities that users of its domain may ask for later, for
 * fi_freeinfo: a provider may serve only those that its domain was opened with. NULL: no memory. */
OPAL_EXPORT struct fi_info *opal_fabric_ask_for_domain(const struct fi_info *candidate);

/* Whether the provider is not one that is excluded by default. */
OPAL_EXPORT bool opal_fabric_is_hpc(const struct fi_info *info);

/* Adds "tcp;ofi_rxm over eth0 from 10.0.0.1". */
OPAL_EXPORT void opal_fabric_info_say(const struct fi_info *info, opal_text_t *text);

#endif
