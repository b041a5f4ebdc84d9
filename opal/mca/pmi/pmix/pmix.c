/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi/pmix: the client of a PMIx server, which Slurm (srun --mpi=pmix), PRRTE and Open MPI's mpirun
 * run on every node. Built on libpmix, whose thread holds the connection; its functions may be
 * called from any thread.
 *
 * A fence collects what was put: one exchange between the nodes, and from then on a value is found
 * with the node's own server. So get never waits for another node, nor for a rank that has put
 * nothing (PMIX_IMMEDIATE).
 *
 * Nothing here has a time limit: the job may be large and the machine slow. The calls end when the
 * server does, with an error.
 */
#include "opal/mca/pmi/pmix/pmix.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/pmi/base/base.h"
#include "opal/util/log.h"

enum { MAX_RANKS = 1 << 24 };

static client_t client;

/* For what ends in different ways when the server is gone. */
static const char *hint_about(pmix_status_t error)
{
    switch (error) {
    case PMIX_ERR_UNREACH:
    case PMIX_ERR_LOST_CONNECTION:
    case PMIX_ERR_COMM_FAILURE:
        return "; the launcher on this node has probably ended";
    case PMIX_ERR_PROC_ABORTED:
    case PMIX_ERR_PROC_TERM_WO_SYNC:
        return "; another rank has ended";
    default:
        return "";
    }
}

/* The first to see a failure logs it. */
static opal_status_t failed(const char *what, const char *object, pmix_status_t error)
{
    opal_log_error("pmi/pmix: %s%s failed: %s%s", what, object, PMIx_Error_string(error),
                   hint_about(error));
    return error == PMIX_ERR_NOMEM ? OPAL_ERR_NO_MEMORY : OPAL_ERR_DISCONNECTED;
}

/* -- the job ---------------------------------------------------------------------- */

static opal_status_t enter(client_t *self)
{
    pmix_status_t error = PMIx_Init(&self->me, NULL, 0);
    if (error == PMIX_SUCCESS)
        return OPAL_SUCCESS;
    const char *version = getenv("PMIX_VERSION");
    opal_log_error(
        "pmi/pmix: cannot reach the PMIx server that PMIX_NAMESPACE=%s names: %s. It is of version "
        "%s, this is %s. If these variables are left over from another job, unset PMIX_NAMESPACE, "
        "or set OMPI_MCA_pmi=singleton for a job of one.",
        getenv("PMIX_NAMESPACE"), PMIx_Error_string(error), version != NULL ? version : "unknown",
        PMIx_Get_version());
    return OPAL_ERR_DISCONNECTED;
}

static opal_status_t learn_size(client_t *self)
{
    if (client_fact(self, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &self->size) && self->size > 0 &&
        self->size <= MAX_RANKS && self->me.rank < self->size)
        return OPAL_SUCCESS;
    opal_log_error("pmi/pmix: the launcher says that this is rank %u of %u", self->me.rank,
                   self->size);
    return OPAL_ERR_PROTOCOL;
}

static opal_status_t learn_job(client_t *self, opal_pmi_job_t *job)
{
    unsigned number;
    opal_status_t status = learn_size(self);
    if (status != OPAL_SUCCESS)
        return status;
    *job = (opal_pmi_job_t){
        .rank = self->me.rank,
        .size = self->size,
        .app_number = -1,
        .universe_size = -1,
        .job_id = self->me.nspace,
        .reporter = self->me.rank == 0,
    };
    if (client_fact(self, PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, &number))
        job->universe_size = (int)number;
    if (client_fact(self, self->me.rank, PMIX_APPNUM, &number))
        job->app_number = (int)number;
    client_learn_parents(self, job);
    return client_learn_nodes(self, job);
}

static opal_status_t client_init(void *state, opal_pmi_job_t *job)
{
    client_t *self = state;
    opal_status_t status = enter(self);
    return status == OPAL_SUCCESS ? learn_job(self, job) : status;
}

/* -- put, fence, get -------------------------------------------------------------- */

static opal_status_t client_put(void *state OPAL_UNUSED, const char *key, const void *bytes,
                                size_t length)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    value.data.bo.bytes = (char *)bytes; /* it is copied */
    value.data.bo.size = length;
    pmix_status_t error = PMIx_Put(PMIX_GLOBAL, key, &value);
    return error == PMIX_SUCCESS ? OPAL_SUCCESS : failed("putting the key ", key, error);
}

static opal_status_t client_fence(void *state OPAL_UNUSED)
{
    bool yes = true;
    pmix_info_t collect;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    pmix_status_t error = PMIx_Commit();
    if (error == PMIX_SUCCESS)
        error = PMIx_Fence(NULL, 0, &collect, 1);
    return error == PMIX_SUCCESS ? OPAL_SUCCESS : failed("the fence", "", error);
}

static bool is_missing(pmix_status_t error)
{
    return error == PMIX_ERR_NOT_FOUND || error == PMIX_ERR_EXISTS_OUTSIDE_SCOPE;
}

static opal_status_t copy_bytes(const pmix_value_t *value, void **bytes, size_t *length)
{
    void *copy = malloc(value->data.bo.size > 0 ? value->data.bo.size : 1);
    if (copy == NULL)
        return OPAL_ERR_NO_MEMORY;
    if (value->data.bo.size > 0)
        memcpy(copy, value->data.bo.bytes, value->data.bo.size);
    *bytes = copy;
    *length = value->data.bo.size;
    return OPAL_SUCCESS;
}

static opal_status_t client_get(void *state, unsigned rank, const char *key, void **bytes,
                                size_t *length)
{
    pmix_value_t *value = NULL;
    pmix_status_t error = client_get_now(state, rank, key, &value);
    if (is_missing(error))
        return OPAL_ERR_NOT_FOUND;
    if (error != PMIX_SUCCESS)
        return failed("getting the key ", key, error);
    opal_status_t status = OPAL_ERR_PROTOCOL;
    if (value->type == PMIX_BYTE_OBJECT)
        status = copy_bytes(value, bytes, length);
    if (status != OPAL_SUCCESS)
        opal_log_error("pmi/pmix: the key %s of rank %u %s", key, rank,
                       status == OPAL_ERR_PROTOCOL
                           ? "is not what this library puts: another version?"
                           : "finds no memory");
    PMIX_VALUE_RELEASE(value);
    return status;
}

/* -- the end ---------------------------------------------------------------------- */

OPAL_NORETURN static void client_abort(void *state, int code)
{
    const client_t *self = state;
    char message[64];
    snprintf(message, sizeof message, "rank %u ends the job with status %d", self->me.rank, code);
    PMIx_Abort(code, message, NULL, 0);
    _exit(code);
}

static opal_status_t client_finalize(void *state OPAL_UNUSED)
{
    pmix_status_t error = PMIx_Finalize(NULL, 0);
    return error == PMIX_SUCCESS ? OPAL_SUCCESS : failed("saying goodbye", "", error);
}

static const opal_pmi_ops_t client_ops = {
    .init = client_init,
    .put = client_put,
    .fence = client_fence,
    .get = client_get,
    .abort = client_abort,
    .finalize = client_finalize,
    .pset_names = client_pset_names,
    .pset_ranks = client_pset_ranks,
    .spawn = client_spawn,
    .spawn_trouble = client_spawn_trouble,
    .publish = client_publish,
    .unpublish = client_unpublish,
    .lookup = client_lookup,
    .keeps_names = client_keeps_names,
};

static void client_query(opal_answer_t *answer)
{
    char why[OPAL_REASON_MAX_BYTES];
    opal_pmi_origin(why); /* the gate has let us in */
    opal_answer_yes(answer, 40, &client_ops, &client, "%s", why);
}

static void client_close(void)
{
    client_forget_children();
    free(client.node_of);
    free(client.parent_port);
    memset(&client, 0, sizeof client);
}

OPAL_EXPORT extern const opal_component_t mca_pmi_pmix_component;
const opal_component_t mca_pmi_pmix_component = {
    OPAL_COMPONENT_HEAD(pmi, pmix),
    .prose = "PMIx by libpmix: srun --mpi=pmix, prterun, and Open MPI's mpirun",
    .query = client_query,
    .close = client_close,
};
