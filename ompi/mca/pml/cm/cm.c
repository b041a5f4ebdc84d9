/* SPDX-License-Identifier: BSD-3-Clause */
/* The component: whether a network is wanted, which mtl serves it, and whether ranks of this node
 * are better reached by shared memory. */
#include "ompi/mca/pml/cm/cm.h"

#include <stdlib.h>

#include "opal/mca/base/component.h"
#include "opal/process/job.h"
#include "opal/util/log.h"
#include "opal/util/text.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/cm/retry.h"
#include "ompi/mca/pml/cm/hybrid.h"

#define INTRANODE_PML "ob1"

const ompi_mtl_ops_t *cm_mtl;

static void *mtl_state;
static const opal_answer_t *intranode_pml; /* NULL: not started, the network reaches all ranks */
static bool *on_this_node;                 /* of each process of the job */

static int shared_memory; /* OPAL_PARAM_AUTO ... */

static const opal_param_row_t params[] = {
    {.name = "shared_memory",
     .type = OPAL_PARAM_ENUM,
     .value = &shared_memory,
     .preset = "auto",
     .choices = opal_param_auto_yes_no,
     .prose = "Whether ranks of one node reach each other by shared memory (pml/" INTRANODE_PML
              "), and the network is for the others; auto: if the network is faster than sockets",
     .synonyms = "pml_cm_near"},
    {0},
};

/* -- both paths -------------------------------------------------------------------------- */

static ompi_pml_ops_t network_ops, hybrid_ops;

/* The result is the same in all ranks, because it depends on the job and the network only. */
static bool is_hybrid(const ompi_mtl_ops_t *mtl)
{
    const opal_pmi_job_t *job = opal_job();
    return shared_memory != OPAL_PARAM_NO && (shared_memory == OPAL_PARAM_YES || mtl->is_hpc) &&
           job->node_count < job->size;
}

static opal_status_t start_intranode(void)
{
    const opal_pmi_job_t *job = opal_job();
    intranode_pml = opal_framework_engage(&mca_pml_framework, INTRANODE_PML);
    if (intranode_pml == NULL) {
        opal_log_error("pml/cm: pml/" INTRANODE_PML " is not available for the ranks of this node; "
                       "pml_cm_shared_memory = no uses the network instead");
        return OPAL_ERR_NOT_AVAILABLE;
    }
    const ompi_pml_ops_t *intranode = intranode_pml->ops;
    opal_status_t status = intranode->start(intranode_pml->state);
    if (status != OPAL_SUCCESS) {
        intranode_pml = NULL;
        return status;
    }
    if (intranode->max_context < hybrid_ops.max_context)
        hybrid_ops.max_context = intranode->max_context;
    on_this_node = opal_xcalloc(job->size, sizeof *on_this_node);
    for (unsigned process = 0; process < job->size; process++)
        on_this_node[process] = job->node_of[process] == job->node_of[job->rank];
    cm_hybrid_start(intranode, &network_ops, on_this_node);
    return OPAL_SUCCESS;
}

static void stop_intranode(void)
{
    if (intranode_pml == NULL)
        return;
    const ompi_pml_ops_t *intranode = intranode_pml->ops;
    cm_hybrid_stop();
    intranode->stop(intranode_pml->state);
    intranode_pml = NULL;
    free(on_this_node);
    on_this_node = NULL;
}

/* -- the slots --------------------------------------------------------------------------- */

static void flush(void)
{
    cm_mtl->flush();
}

static bool finalize_drain(cm_retry_t *retry OPAL_UNUSED)
{
    return cm_mtl->finalize_drain();
}

static cm_retry_t drain_retry = {.attempt = finalize_drain};

/* Unexpected messages stay in the network until they are probed for. */
static void leave(void)
{
    cm_retry_add(&drain_retry);
}

static void meet(void)
{
    cm_mtl->meet();
    cm_retry_remove(&drain_retry);
}

static int comm_add(ompi_communicator_t *comm OPAL_UNUSED)
{
    return MPI_SUCCESS;
}

/* Communicators whose removal is deferred, chained by `pml`, which has no other use by then. */
static ompi_communicator_t *removals;
static bool is_retrying; /* removal_retry was added; removals may be empty for a moment */

static void defer_removal(ompi_communicator_t *comm)
{
    comm->pml = removals;
    removals = comm;
}

/* Each communicator leaves the chain before its removal, which may add others to the chain. */
static bool retry_removals(cm_retry_t *retry)
{
    bool any = false;
    for (ompi_communicator_t *comm; (comm = removals) != NULL; any = true) {
        removals = comm->pml;
        if (!cm_mtl->forget_context(comm->context)) {
            defer_removal(comm);
            return any;
        }
        ompi_comm_removed(comm);
    }
    cm_retry_remove(retry);
    is_retrying = false;
    return any;
}

static cm_retry_t removal_retry = {.attempt = retry_removals};

static bool comm_remove(ompi_communicator_t *comm)
{
    if (cm_mtl->forget_context(comm->context))
        return true;
    if (!is_retrying)
        cm_retry_add(&removal_retry);
    is_retrying = true;
    defer_removal(comm);
    return false;
}

/* Those that are left are the first ones, which are never freed. */
static void stop_removals(void)
{
    if (is_retrying)
        cm_retry_remove(&removal_retry);
    is_retrying = false;
    removals = NULL;
}

static void stop(void *state OPAL_UNUSED)
{
    stop_removals();
    stop_intranode();
    cm_mtl->stop(mtl_state);
    cm_requests_end();
}

static opal_status_t start(void *state);

static void network_describe(uint32_t process, opal_text_t *text)
{
    const char *phrase = cm_mtl->describe(process);
    opal_text_printf(text, "network%s%s", phrase != NULL ? ": " : "", phrase != NULL ? phrase : "");
}

/* By the network alone; the limits are the mtl's. */
static ompi_pml_ops_t network_ops = {
    .start = start,
    .stop = stop,
    .flush = flush,
    .leave = leave,
    .meet = meet,
    .comm_add = comm_add,
    .comm_remove = comm_remove,
    .isend = cm_isend,
    .irecv = cm_irecv,
    .send_init = cm_send_init,
    .recv_init = cm_recv_init,
    .send = cm_send,
    .recv = cm_recv,
    .iprobe = cm_iprobe,
    .probe = cm_probe,
    .imrecv = cm_imrecv,
    .network = &network_ops,
    .describe = network_describe,
};

static ompi_pml_ops_t hybrid_ops = {.start = start, .stop = stop, .network = &network_ops};

/* `state` is the table that was answered. */
static opal_status_t start(void *state)
{
    opal_status_t status = cm_mtl->start(mtl_state);
    if (status != OPAL_SUCCESS)
        return status;
    cm_requests_start();
    if (state == &hybrid_ops)
        status = start_intranode();
    if (status != OPAL_SUCCESS)
        stop(state);
    return status;
}

/* -- choosing ------------------------------------------------------------------------------ */

static const ompi_pml_ops_t *choose_ops(const ompi_mtl_ops_t *mtl)
{
    network_ops.max_tag = mtl->limits.max_tag;
    network_ops.internal_tags = mtl->limits.internal_tags;
    network_ops.max_context = mtl->limits.max_context;
    hybrid_ops.max_tag = network_ops.max_tag;
    hybrid_ops.internal_tags = network_ops.internal_tags;
    hybrid_ops.max_context = network_ops.max_context;
    cm_hybrid_fill_in(&hybrid_ops);
    return is_hybrid(mtl) ? &hybrid_ops : &network_ops;
}

static void cm_query(opal_answer_t *answer)
{
    opal_answer_t mtl;
    if (!ompi_mtl_open(&mtl)) {
        opal_answer_no(answer, "%s", mtl.reason);
        return;
    }
    const ompi_mtl_ops_t *ops = mtl.ops;
    unsigned size = opal_job()->size;
    if (size > 0 && size - 1 > ops->limits.max_rank) {
        opal_answer_no(answer, "the network has %u ranks at most: %s", ops->limits.max_rank + 1,
                       mtl.reason);
        ompi_mtl_close();
        return;
    }
    cm_mtl = ops;
    mtl_state = mtl.state;
    const ompi_pml_ops_t *chosen = choose_ops(ops);
    opal_answer_yes(answer, 30, chosen, (void *)(uintptr_t)chosen, "%s%s",
                    chosen == &hybrid_ops ? "pml/" INTRANODE_PML " within a node, else " : "",
                    mtl.reason);
}

static void cm_close(void)
{
    if (cm_mtl == NULL)
        return;
    cm_mtl = NULL;
    ompi_mtl_close();
}

OPAL_EXPORT extern const opal_component_t mca_pml_cm_component;
const opal_component_t mca_pml_cm_component = {
    OPAL_COMPONENT_HEAD(pml, cm),
    .prose = "messages that the network matches (mtl)",
    .params = params,
    .pvars = cm_pvars,
    .query = cm_query,
    .close = cm_close,
};
