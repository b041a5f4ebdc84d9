/* SPDX-License-Identifier: BSD-3-Clause */
/* Making the job's key, and getting it. */
#include "opal/process/key.h"

#include <stdlib.h>
#include <string.h>

#include "opal/process/job.h"
#include "opal/process/notice.h"
#include "opal/util/log.h"
#include "opal/util/sha256.h"

/* The key of a job of one, which needs no launcher to get it from; or what agree has found. */
static struct {
    bool is_made;
    unsigned char bytes[OPAL_JOB_KEY_BYTES];
} own;

static opal_status_t make_own(unsigned char key[OPAL_JOB_KEY_BYTES])
{
    if (!own.is_made) {
        opal_status_t status = opal_secret_random(own.bytes, sizeof own.bytes);
        if (status != OPAL_SUCCESS)
            return status;
        own.is_made = true;
    }
    memcpy(key, own.bytes, sizeof own.bytes);
    return OPAL_SUCCESS;
}

/* All ranks that start alone, and rank 0 in any case, agree on a key by notices. */
static opal_status_t agree(const opal_pmi_ops_t *pmi, void *pmi_state)
{
    char name[OPAL_START_KEY_BYTES];
    unsigned char key[OPAL_JOB_KEY_BYTES];
    opal_status_t status = opal_secret_random(key, sizeof key);
    if (status == OPAL_SUCCESS && opal_notice_is_possible(pmi, pmi_state))
        status = opal_notice_agree(opal_start_key(OPAL_JOB_KEY_NAME, name), key, sizeof key);
    own.is_made = status == OPAL_SUCCESS;
    if (own.is_made)
        memcpy(own.bytes, key, sizeof key);
    explicit_bzero(key, sizeof key);
    return status;
}

opal_status_t opal_job_key_publish(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                                   void *pmi_state)
{
    char name[OPAL_START_KEY_BYTES];
    if (job->size == 1 || job->key_is_put || (job->rank != 0 && !opal_job_is_alone()))
        return OPAL_SUCCESS;
    opal_status_t status = agree(pmi, pmi_state);
    if (status == OPAL_SUCCESS && job->rank == 0)
        status = pmi->put(pmi_state, opal_start_key(OPAL_JOB_KEY_NAME, name), own.bytes,
                          sizeof own.bytes);
    return status;
}

opal_status_t opal_job_key_get(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                               void *pmi_state, unsigned char key[OPAL_JOB_KEY_BYTES])
{
    void *bytes;
    size_t length;
    char name[OPAL_START_KEY_BYTES];
    if (opal_job_sees_notices_only() && !own.is_made) /* agree has failed, and said so */
        return OPAL_ERR_NOT_AVAILABLE;
    if (job->size == 1 || opal_job_sees_notices_only())
        return make_own(key);
    /* mpirun's key is for all starts. */
    opal_status_t status = pmi->get(
        pmi_state, 0, job->key_is_put ? OPAL_JOB_KEY_NAME : opal_start_key(OPAL_JOB_KEY_NAME, name),
        &bytes, &length);
    if (status == OPAL_ERR_NOT_FOUND)
        opal_log_error("the launcher does not have the job's key, which %s",
                       job->key_is_put ? "mpirun should have made; is it of another version?"
                                       : "rank 0 should have put; it may have said why not");
    if (status != OPAL_SUCCESS)
        return status;
    if (length == OPAL_JOB_KEY_BYTES) {
        memcpy(key, bytes, OPAL_JOB_KEY_BYTES);
    } else {
        opal_log_error("the job's key has %zu bytes instead of %d: the launcher, or rank 0, is of "
                       "another version",
                       length, OPAL_JOB_KEY_BYTES);
        status = OPAL_ERR_PROTOCOL;
    }
    explicit_bzero(bytes, length);
    free(bytes);
    return status;
}

opal_status_t opal_job_key(unsigned char key[OPAL_JOB_KEY_BYTES])
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    return opal_job_key_get(opal_job(), pmi, state, key);
}
