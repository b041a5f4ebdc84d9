/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of start-up. A step that fails because of a user's setting does not stop the steps
 * behind it until the launcher has said which rank this is: only then is it known which rank
 * prints, and all mistakes can be reported at once.
 */
#include "opal/runtime/init.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/crash/crash.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/framework.h"
#include "opal/mca/memory/base/base.h"
#include "opal/memory/hooks/settings.h"
#include "opal/mca/patcher/base/base.h"
#include "opal/mca/pmi/base/base.h"
#include "opal/runtime/build.h"
#include "opal/runtime/complaint.h"
#include "opal/runtime/copy_setting.h"
#include "opal/process/job.h"
#include "opal/process/key.h"
#include "opal/runtime/launcher.h"
#include "opal/runtime/watch.h"
#include "opal/node/node.h"
#include "opal/process/process.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"

static unsigned users; /* inits without a finalize */

static bool has_job(void)
{
    void *state;
    return opal_pmi(&state) != NULL;
}

opal_status_t opal_init_register_params(void)
{
    opal_status_t all[] = {opal_framework_register_base(), opal_copy_register(),
                           opal_wait_register(), opal_node_register(), opal_crash_register()};
    opal_launcher_params_register(); /* mpirun's, which are no typing errors here */
    for (size_t i = 0; i < OPAL_COUNT_OF(all); i++) {
        if (all[i] != OPAL_SUCCESS)
            return all[i];
    }
    return OPAL_SUCCESS;
}

static opal_status_t open_frameworks(void)
{
    opal_status_t params = opal_init_register_params();
    opal_status_t patcher = opal_framework_open(&mca_patcher_framework);
    opal_status_t memory = opal_framework_open(&mca_memory_framework);
    opal_memory_settings_check();
    opal_status_t pmi = opal_framework_open(&mca_pmi_framework);
    opal_status_t all[] = {params, patcher, memory, pmi};
    for (size_t i = 0; i < OPAL_COUNT_OF(all); i++) {
        if (all[i] != OPAL_SUCCESS)
            return all[i];
    }
    return OPAL_SUCCESS;
}

static opal_status_t start_pmi(void)
{
    const opal_answer_t *chosen = &opal_framework_best(&mca_pmi_framework)->answer;
    opal_status_t status = opal_job_begin(chosen->ops, chosen->state);
    return status == OPAL_SUCCESS ? opal_process_start(opal_job()) : status;
}

static void set_log_origin(void)
{
    char host[HOST_NAME_MAX + 1] = "localhost", origin[HOST_NAME_MAX + 32];
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = 0;
    snprintf(origin, sizeof origin, "%s:%u", host, opal_job()->rank);
    opal_log_set_origin(origin);
}

static void close_everything(void)
{
    opal_watch_stop();
    opal_job_end();
    opal_process_stop();
    opal_framework_close(&mca_pmi_framework);
    opal_framework_close(&mca_memory_framework);
    opal_framework_close(&mca_patcher_framework);
    opal_crash_withdraw();
    opal_node_withdraw();
    opal_wait_withdraw();
    opal_copy_withdraw();
    opal_launcher_params_withdraw();
    opal_framework_withdraw_base();
    opal_param_fini();
    opal_diagnostic_reset();
}

enum {
    OTHERS_MSEC = 5000, /* how long ranks that fail as well are waited for */
    AWAY_MSEC = 2000,   /* how long a rank gives those of rank 0's node to end the job */
};

static bool is_reporter(void)
{
    return has_job() ? opal_job()->reporter : opal_pmi_is_reporter();
}

/* At most so many other ranks of this node can fail. A wrong choice of pmi makes a job of one. */
static unsigned count_others(void)
{
    bool is_known = has_job() && opal_job()->size > 1;
    unsigned ranks = is_known ? opal_job()->local_size : opal_pmi_announced_local_size();
    return ranks > 0 ? ranks - 1 : 0;
}

/*
 * The ranks of a job mostly fail together. One rank of a node reports it. Ranks of other nodes than
 * rank 0's wait first, so that few of many nodes report it before the job is ended: no rank can
 * know whether a rank of another node fails as well, or ever starts.
 */
static opal_complaint_t complain(bool ends_job)
{
    const opal_pmi_job_t *job = opal_job();
    if (ends_job && job->node_of[job->rank] != job->node_of[0])
        poll(NULL, 0, AWAY_MSEC);
    opal_complaint_t complaint = opal_complaint_claim(opal_diagnostic_digest());
    opal_diagnostic_report(complaint.is_mine);
    return complaint;
}

/*
 * Our mpirun ends the others when this rank ends. Hydra does not end those of other hosts when the
 * last rank of a host has gone, and srun ends none without an option; and they may wait for
 * this one already.
 */
static void fail(opal_failure_t failure, bool has_complaint)
{
    bool ends_job = failure == OPAL_FAILURE_ENDS_JOB && has_job() && opal_job()->size > 1;
    if (has_complaint) {
        opal_complaint_t complaint = complain(ends_job);
        opal_complaint_release(&complaint, count_others(), OTHERS_MSEC);
    }
    if (ends_job && !opal_job()->abort_is_reported)
        opal_abort(EXIT_FAILURE);
    close_everything();
}

static opal_status_t start(opal_failure_t failure)
{
    opal_param_init();
    opal_status_t status = open_frameworks();
    opal_status_t selected = opal_framework_select(&mca_patcher_framework);
    if (selected == OPAL_SUCCESS)
        selected = opal_framework_select(&mca_memory_framework);
    if (selected == OPAL_SUCCESS)
        selected = opal_framework_select(&mca_pmi_framework);
    if (status == OPAL_SUCCESS)
        status = selected;

    if (selected == OPAL_SUCCESS) {
        opal_status_t started = start_pmi();
        if (status == OPAL_SUCCESS)
            status = started;
    }
    /* Such as a file that cannot be read, or a row of the caller: no status here says so. */
    if (status == OPAL_SUCCESS && opal_diagnostic_has_error())
        status = OPAL_ERR_BAD_PARAM;
    if (has_job())
        set_log_origin();
    if (status != OPAL_SUCCESS) {
        fail(failure, true);
        return status;
    }
    opal_diagnostic_warn(is_reporter());
    /* Without these, transports that need them are out, and say so. */
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    opal_job_key_publish(opal_job(), pmi, state);
    opal_build_publish(opal_job(), pmi, state, opal_build_text);
    opal_watch_publish(opal_job(), pmi, state);
    bool left_out = false;
    if (opal_job_is_alone())
        opal_node_attach_alone(opal_job(), &left_out);
    else
        opal_node_attach(opal_job(), pmi, state);
    opal_crash_start(opal_job());
    return left_out ? opal_job_fence() : OPAL_SUCCESS; /* it counts the fence */
}

opal_status_t opal_init(opal_failure_t failure)
{
    opal_status_t status = OPAL_SUCCESS;
    if (users == 0)
        status = start(failure);
    users += status == OPAL_SUCCESS;
    return status;
}

opal_status_t opal_init_check_peers(void)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    if (opal_job_sees_notices_only()) /* MPI_Init does it, if it is called */
        return OPAL_SUCCESS;
    return opal_build_check(opal_job(), pmi, state, opal_build_text);
}

opal_status_t opal_finalize(void)
{
    if (--users > 0)
        return OPAL_SUCCESS;
    opal_crash_stop();
    opal_node_detach();
    opal_status_t status = opal_job_leave();
    close_everything();
    return status;
}

void opal_drop(opal_failure_t failure)
{
    if (--users > 0)
        return;
    fail(failure, opal_diagnostic_has_error());
}
