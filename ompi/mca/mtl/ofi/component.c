/* SPDX-License-Identifier: BSD-3-Clause */
/* mtl/ofi: the component, its parameters, and its answer. See ofi.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/component.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/process/job.h"
#include "opal/progress/wait.h"
#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/mca/mtl/ofi/select.h"

#define INCLUDE "mtl_ofi_provider_include"
#define EXCLUDE "mtl_ofi_provider_exclude"

enum { PRIORITY = 25 };

static opal_strings_t provider_include, provider_exclude, domain_include;
static int tag_mode, progress, sleep_on;
static unsigned event_count, cq_depth;

static const opal_param_choice_t tag_modes[] = {
    {"auto", OFI_TAG_AUTO},
    {"ofi_tag_1", OFI_TAG_1},
    {"ofi_tag_2", OFI_TAG_2},
    {"ofi_tag_full", OFI_TAG_FULL},
    {0},
};

static const opal_param_choice_t progress_modes[] = {
    {"provider", FI_PROGRESS_UNSPEC},
    {"auto", FI_PROGRESS_AUTO},
    {"manual", FI_PROGRESS_MANUAL},
    {0},
};

enum { SLEEP_AUTO, SLEEP_ON_FD, SLEEP_BY_TIMER };

static const opal_param_choice_t sleeps[] = {
    {"auto", SLEEP_AUTO},
    {"fd", SLEEP_ON_FD},
    {"timer", SLEEP_BY_TIMER},
    {0},
};

static const opal_param_row_t params[] = {
    {.name = "provider_include",
     .type = OPAL_PARAM_LIST,
     .value = &provider_include,
     .preset = "",
     .prose =
         "The only providers of libfabric to use, by whole layers: tcp, ofi_rxm, verbs;ofi_rxm; "
         "overrides what is excluded as it comes"},
    {.name = "provider_exclude",
     .type = OPAL_PARAM_LIST,
     .value = &provider_exclude,
     .preset = OPAL_FABRIC_EXCLUDED,
     .prose = "Providers not to use; as it comes those that do what our own transports do; empty: "
              "all may be used"},
    {.name = "domain_include",
     .type = OPAL_PARAM_LIST,
     .value = &domain_include,
     .preset = "",
     .prose =
         "The only domains of libfabric to use, its names of cards and interfaces: mlx5_0, eth*"},
    {.name = "tag_mode",
     .type = OPAL_PARAM_ENUM,
     .value = &tag_mode,
     .preset = "auto",
     .choices = tag_modes,
     .prose = "How the bits of a tag are shared out: auto is ofi_tag_full where the provider has "
              "data in its completions and receives from one address, else ofi_tag_1"},
    {.name = "progress",
     .type = OPAL_PARAM_ENUM,
     .value = &progress,
     .preset = "manual",
     .choices = progress_modes,
     .prose = "Who moves the provider's data: manual: MPI's calls, auto: a thread of the provider, "
              "provider: what it likes better"},
    {.name = "sleep",
     .type = OPAL_PARAM_ENUM,
     .value = &sleep_on,
     .preset = "auto",
     .choices = sleeps,
     .prose = "What ends a sleep: fd: a descriptor of the provider's queue, which makes messages "
              "slower with some, timer: one of at most a millisecond, auto: the descriptor where "
              "ranks outnumber cores, so that waits hardly poll"},
    {.name = "progress_event_cnt",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &event_count,
     .preset = "100",
     .min = "1",
     .max = "65536",
     .prose = "Completions that are read at once; reading goes on until there are no more"},
    {.name = "cq_depth",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &cq_depth,
     .preset = "0",
     .max = "16777216",
     .prose = "Room for completions in the queue; 0: as much as the provider likes"},
    {0},
};

static ofi_selection_t selection;
static ofi_choice_t choice;
static ompi_mtl_ops_t ops;

static opal_status_t ofi_open(void)
{
    const char *include_origin = NULL, *exclude_origin = NULL;
    const char *include = opal_param_setting(INCLUDE, &include_origin);
    const char *exclude = opal_param_setting(EXCLUDE, &exclude_origin);
    if (include == NULL || include[0] == 0 || exclude == NULL)
        return OPAL_SUCCESS;
    opal_diagnostic(OPAL_ERROR,
                    INCLUDE " = %s (%s) and " EXCLUDE " = %s (%s) are both set; only one of them "
                            "can be",
                    include, include_origin, exclude, exclude_origin);
    return OPAL_ERR_BAD_PARAM;
}

/* Where a setting is from: "environment". */
static const char *origin_of(const char *name)
{
    const char *origin = NULL;
    return opal_param_setting(name, &origin) != NULL ? origin : "default";
}

static void note(void *context, const char *provider, const char *fate, const char *reason)
{
    opal_answer_note(context, "%-9s %-14s %s", fate, provider, reason);
}

/* Whether the ranks of this node are more than its cores. Whether they are bound so that they share
 * some all the same is not known before all of them have begun. */
static bool is_oversubscribed(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return opal_wait_is_oversubscribed() ||
           (cores > 0 && opal_job()->local_size > (unsigned long)cores);
}

static const char *describe(unsigned process OPAL_UNUSED)
{
    return selection.phrase;
}

static void ofi_query(opal_answer_t *answer)
{
    const opal_pmi_job_t *job = opal_job();
    opal_text_t reason = {0};
    const ofi_question_t question = {
        .fabric = {.wishes = {.prefix = "mtl_ofi",
                              .service = "matched messages",
                              .include = &provider_include,
                              .exclude = &provider_exclude,
                              .domains = &domain_include,
                              .include_origin = origin_of(INCLUDE),
                              .exclude_origin = origin_of(EXCLUDE),
                              .spans_nodes = job->node_count > 1},
                   .caps = FI_TAGGED,
                   .progress = (enum fi_progress)progress,
                   .local_rank = job->local_rank,
                   .getinfo = fi_getinfo,
                   .root = ""},
        .tag_mode = (ofi_tag_mode_t)tag_mode,
        .job_size = job->size > 0 ? job->size : 1,
    };
    ofi_selection_free(&selection);
    opal_fabric_quirks_prepare(question.job_size - 1);
    opal_status_t status = ofi_select(&question, &selection, &reason, note, answer);
    opal_fabric_quirks_end();
    if (status == OPAL_SUCCESS) {
        choice = (ofi_choice_t){.info = selection.info,
                                .tags = selection.tags,
                                .queue_depth = cq_depth,
                                .batch = event_count,
                                .sleeps_on_fd = sleep_on == SLEEP_ON_FD ||
                                                (sleep_on == SLEEP_AUTO && is_oversubscribed())};
        ofi_set_ops(&ops, &choice, selection.is_hpc, describe);
        opal_answer_yes(answer, PRIORITY, &ops, &choice, "%s", selection.phrase);
    } else {
        if (status == OPAL_ERR_BAD_PARAM)
            opal_diagnostic(OPAL_ERROR, "mtl/ofi: %s", opal_text_string(&reason));
        if (status == OPAL_ERR_TOO_LARGE)
            opal_diagnostic(OPAL_WARNING, "mtl/ofi: %s; this job does without libfabric",
                            opal_text_string(&reason));
        opal_answer_no(answer, "%s", opal_text_string(&reason));
    }
    opal_text_free(&reason);
}

static void ofi_close(void)
{
    ofi_selection_free(&selection);
}

OPAL_EXPORT extern const opal_component_t mca_mtl_ofi_component;
const opal_component_t mca_mtl_ofi_component = {
    OPAL_COMPONENT_HEAD(mtl, ofi),
    .prose = "a provider of libfabric, which matches by tags",
    .params = params,
    .open = ofi_open,
    .query = ofi_query,
    .close = ofi_close,
};
