/* SPDX-License-Identifier: BSD-3-Clause */
/* One build for all ranks. */
#include "config.h"

#include "opal/runtime/build.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/process/job.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

#if defined(__x86_64__)
#define ARCHITECTURE "x86_64"
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCHITECTURE "another architecture, little-endian"
#else
#define ARCHITECTURE "another architecture, big-endian"
#endif

const char opal_build_text[] = PACKAGE_NAME " " PACKAGE_VERSION " for " ARCHITECTURE;

static const char key_name[] = "build";

/* Our mpirun starts ranks on its own machine only, whatever nodes it plays. */
static bool is_needed(const opal_pmi_job_t *job)
{
    return job->node_count > 1 && !job->key_is_put;
}

static const char *own_host(char name[HOST_NAME_MAX + 1])
{
    if (gethostname(name, HOST_NAME_MAX) != 0)
        strcpy(name, "?");
    name[HOST_NAME_MAX] = 0;
    return name;
}

opal_status_t opal_build_publish(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                                 void *pmi_state, const char *text)
{
    char host[HOST_NAME_MAX + 1], key[OPAL_START_KEY_BYTES];
    if (!is_needed(job) || job->rank != 0)
        return OPAL_SUCCESS;
    /* "host\0text\0" */
    char *value = opal_xprintf("%s%c%s", own_host(host), 0, text);
    opal_status_t status = pmi->put(pmi_state, opal_start_key(key_name, key), value,
                                    strlen(host) + 1 + strlen(text) + 1);
    free(value);
    return status;
}

opal_status_t opal_build_check(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                               void *pmi_state, const char *text)
{
    void *bytes;
    size_t length;
    char host[HOST_NAME_MAX + 1], key[OPAL_START_KEY_BYTES];
    if (!is_needed(job) || job->rank == 0)
        return OPAL_SUCCESS;
    opal_status_t status = pmi->get(pmi_state, 0, opal_start_key(key_name, key), &bytes, &length);
    if (status == OPAL_ERR_NOT_FOUND) {
        opal_log_error("rank %u on %s runs %s; rank 0 has not published its version, so it is of "
                       "another version. All hosts need the same one",
                       job->rank, own_host(host), text);
        return OPAL_ERR_NOT_SUPPORTED;
    }
    if (status != OPAL_SUCCESS)
        return status;
    const char *peer_host = bytes, *end = peer_host + length;
    const char *separator = memchr(peer_host, 0, length);
    bool is_sound = separator != NULL && separator + 1 < end && end[-1] == 0;
    const char *peer_text = is_sound ? separator + 1 : "something else";
    if (strcmp(peer_text, text) != 0) {
        opal_log_error("rank %u on %s runs %s, but rank 0 on %s runs %s: all hosts of a job need "
                       "the same version and architecture",
                       job->rank, own_host(host), text, is_sound ? peer_host : "its host",
                       peer_text);
        status = OPAL_ERR_NOT_SUPPORTED;
    }
    free(bytes);
    return status;
}
