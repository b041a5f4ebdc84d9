/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/process/job.h"

#include <stdio.h>
#include <unistd.h>

static unsigned starts; /* of this process; the same in all ranks, as a start is collective */
static opal_pmi_job_t job;
static const opal_pmi_ops_t *pmi_ops;
static void *pmi_state;

opal_status_t opal_job_begin(const opal_pmi_ops_t *ops, void *state)
{
    starts++;
    opal_status_t status = ops->init(state, &job);
    if (status == OPAL_SUCCESS) {
        pmi_ops = ops;
        pmi_state = state;
    }
    return status;
}

void opal_job_end(void)
{
    pmi_ops = NULL;
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
