/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/process/job.h"

#include <stdio.h>
#include <unistd.h>

#include "opal/process/notice.h"

static unsigned starts; /* of this process; the same in all ranks, as a start is collective */
static opal_pmi_job_t job;
static const opal_pmi_ops_t *pmi_ops;
static void *pmi_state;
static bool wishes_alone; /* as it begins */
static bool is_alone;
static unsigned left_out; /* fences */
static bool is_away;      /* the launcher knows that this process may end */

opal_status_t opal_job_begin(const opal_pmi_ops_t *ops, void *state)
{
    starts++;
    opal_status_t status = ops->init(state, &job);
    if (status == OPAL_SUCCESS) {
        pmi_ops = ops;
        pmi_state = state;
        is_alone = wishes_alone && opal_notice_is_possible(ops, state);
    }
    return status;
}

void opal_job_end(void)
{
    pmi_ops = NULL;
    is_alone = is_away = false;
    left_out = 0;
}

void opal_job_wish_alone(bool is_wished)
{
    wishes_alone = is_wished;
}

opal_status_t opal_job_start_together(void)
{
    return opal_job_catch_up();
}

bool opal_job_sees_notices_only(void)
{
    return is_alone && !pmi_ops->is_prompt;
}

bool opal_job_is_alone(void)
{
    return is_alone;
}

opal_status_t opal_job_fence(void)
{
    if (!is_alone)
        return pmi_ops->fence(pmi_state);
    left_out++;
    return OPAL_SUCCESS;
}

opal_status_t opal_job_catch_up(void)
{
    opal_status_t status = OPAL_SUCCESS;
    for (; left_out > 0 && status == OPAL_SUCCESS; left_out--)
        status = pmi_ops->fence(pmi_state);
    is_alone = false;
    return status;
}

bool opal_job_may_return(void)
{
    return pmi_ops->may_return;
}

opal_status_t opal_job_rest(void)
{
    is_away = opal_job_may_return();
    return is_away ? pmi_ops->finalize(pmi_state) : OPAL_SUCCESS;
}

opal_status_t opal_job_resume(void)
{
    opal_status_t status = is_away ? pmi_ops->init(pmi_state, &job) : OPAL_SUCCESS;
    is_away = is_away && status != OPAL_SUCCESS;
    return status;
}

opal_status_t opal_job_leave(void)
{
    return is_away || pmi_ops == NULL ? OPAL_SUCCESS : pmi_ops->finalize(pmi_state);
}

const opal_pmi_job_t *opal_job(void)
{
    return &job;
}

const opal_pmi_ops_t *opal_pmi(void **state)
{
    *state = pmi_state;
    return pmi_ops;
}

const char *opal_start_key(const char *name, char key[OPAL_START_KEY_BYTES])
{
    if (starts <= 1)
        return name;
    snprintf(key, OPAL_START_KEY_BYTES, "%s.%u", name, starts);
    return key;
}

void opal_abort(int code)
{
    if (pmi_ops != NULL)
        pmi_ops->abort(pmi_state, code);
    _exit(code);
}
