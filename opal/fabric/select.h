/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asking libfabric, and which of its offers the process uses.
 *
 *   fi_getinfo(what the first user needs, reliable datagrams)   all that could carry it
 *   offers.h, nic_locality.h                                    one of them
 *   fi_getinfo(the same provider, more capabilities)            whether the offer has those, too
 *
 * A provider names a capability such as receives from one address, or completion data, only if it
 * is asked for it. So who can do with less asks a second time for more. A later user asks in the
 * same way for what it needs of the domain that is open (opal_fabric_info).
 *
 * What is promised to the provider and asked of it:
 *
 *   threading      FI_THREAD_DOMAIN, whatever the thread level is: each call into libfabric is made
 *                  under one lock, the upper layer's, which is real exactly when there are threads
 *   progress       the user's choice; manual as it comes: a waiting rank polls anyhow, and a thread
 *                  of the provider would take a core from the program
 *   order          FI_ORDER_SAS, a send after a send: messages do not overtake each other
 *   mr_mode, mode  what opal_fabric_register and contexts of type fi_context2 provide
 *   resources      FI_RM_ENABLED: a queue that is full is -FI_EAGAIN, not a lost message
 *
 * Start-up; one thread.
 */
#ifndef OPAL_FABRIC_SELECT_H
#define OPAL_FABRIC_SELECT_H

#include "opal/fabric/offers.h"
#include "opal/include/status.h"

/* The interface that is asked for; configure looks for a libfabric that has it. */
#define OPAL_FABRIC_API FI_VERSION(1, 11)

/* What of the provider's wishes is granted. */
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
    uint64_t caps; /* what there has to be: FI_TAGGED, or FI_MSG | FI_RMA | FI_ATOMIC ... */
    enum fi_progress progress;
    unsigned local_rank;
    opal_fabric_getinfo_fn_t *getinfo;
    const char *root; /* of sysfs: "" */
} opal_fabric_question_t;

typedef struct opal_fabric_selection {
    struct fi_info *list; /* libfabric's answer */
    opal_fabric_offers_t offers;
    const struct fi_info *offer; /* the one to use, of the list; NULL: none */
    opal_text_t locality;        /* "nearest of 2 NICs", if there were several */
} opal_fabric_selection_t;

/*
 * OPAL_ERR_NOT_AVAILABLE: nothing here can be used. OPAL_ERR_BAD_PARAM: the user has named what
 * does not exist, an error of the run. `reason` says why then. The selection is to be freed in any
 * case; its offers say what became of each provider.
 */
OPAL_EXPORT opal_status_t opal_fabric_select(const opal_fabric_question_t *question,
                                             opal_fabric_selection_t *selection,
                                             opal_text_t *reason);
OPAL_EXPORT void opal_fabric_selection_free(opal_fabric_selection_t *selection);

/* The offer with more capabilities (with those of the question) and so many bytes of completion
 * data, for fi_freeinfo; NULL: it has not. */
OPAL_EXPORT struct fi_info *opal_fabric_ask_more(const opal_fabric_question_t *question,
                                                 const struct fi_info *offer, uint64_t caps,
                                                 size_t cq_data_bytes);

/* Whether the provider is none of those that are excluded as it comes. */
OPAL_EXPORT bool opal_fabric_is_hpc(const struct fi_info *info);

/* Adds "tcp;ofi_rxm over eth0 from 10.0.0.1". */
OPAL_EXPORT void opal_fabric_info_say(const struct fi_info *info, opal_text_t *text);

#endif
