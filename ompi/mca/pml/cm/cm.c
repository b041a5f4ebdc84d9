/* SPDX-License-Identifier: BSD-3-Clause */
/* The component: whether a network is wanted, which mtl serves it, and whether peers of the own
 * node are better reached without it. */
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

#define NEAR_COMPONENT "ob1"

const ompi_mtl_ops_t *cm_mtl;

static void *mtl_state;
static const opal_answer_t *near_answer; /* while it is started; NULL: the network is for all */
static bool *near_processes;

enum { NEAR_AUTO, NEAR_YES, NEAR_NO };

static int near_wish;
static const opal_param_choice_t near_choices[] = {
    {"auto", NEAR_AUTO}, {"yes", NEAR_YES}, {"no", NEAR_NO}, {0}};

static const opal_param_row_t params[] = {
    {.name = "near",
     .type = OPAL_PARAM_ENUM,
     .value = &near_wish,
     .preset = "auto",
     .choices = near_choices,
     .prose = "Whether ranks of one node reach each other by shared memory (pml/" NEAR_COMPONENT
              ") beside the network; auto: if the network is none of sockets"},
    {0},
};

/* -- both ways --------------------------------------------------------------------------- */

static ompi_pml_ops_t far_ops, both_ops;

/* All ranks answer alike: they have the same job and the same network. */
static bool wants_near(const ompi_mtl_ops_t *mtl)
{
    const opal_pmi_job_t *job = opal_job();
    return near_wish != NEAR_NO && (near_wish == NEAR_YES || mtl->is_hpc) &&
           job->node_count < job->size;
}

static opal_status_t start_near(void)
{
    const opal_pmi_job_t *job = opal_job();
    near_answer = opal_framework_engage(&mca_pml_framework, NEAR_COMPONENT);
    if (near_answer == NULL) {
        opal_log_error("pml/cm: pml/" NEAR_COMPONENT " cannot be had for the ranks of this node; "
                       "pml_cm_near = no does without it");
        return OPAL_ERR_NOT_AVAILABLE;
    }
    const ompi_pml_ops_t *near = near_answer->ops;
    opal_status_t status = near->start(near_answer->state);
    if (status != OPAL_SUCCESS) {
        near_answer = NULL;
        return status;
    }
    if (near->max_context < both_ops.max_context)
        both_ops.max_context = near->max_context;
    near_processes = opal_xcalloc(job->size, sizeof *near_processes);
    for (unsigned process = 0; process < job->size; process++)
        near_processes[process] = job->node_of[process] == job->node_of[job->rank];
    cm_both_start(near, &far_ops, near_processes);
    return OPAL_SUCCESS;
}

static void stop_near(void)
{
    if (near_answer == NULL)
        return;
    const ompi_pml_ops_t *near = near_answer->ops;
    cm_both_stop();
    near->stop(near_answer->state);
    near_answer = NULL;
    free(near_processes);
    near_processes = NULL;
}

/* -- the slots --------------------------------------------------------------------------- */

static void flush(void)
{
    cm_mtl->flush();
}

static bool refuse(cm_question_t *question OPAL_UNUSED)
{
    return cm_mtl->refuse();
}

static cm_question_t refusal = {.ask = refuse};

/* What comes is waiting in the network, so that has to be asked again and again. */
static void leave(void)
{
    cm_again_add(&refusal);
}

static void meet(void)
{
    cm_mtl->meet();
    cm_again_remove(&refusal);
}

static int comm_add(ompi_communicator_t *comm OPAL_UNUSED)
{
    return MPI_SUCCESS;
}

/* Communicators that end. They are chained by `pml`: nobody else has anything of them any more. */
static ompi_communicator_t *ending;
static bool is_asking; /* for them; it may outlast the last one that is in the chain */

static void let_wait(ompi_communicator_t *comm)
{
    comm->pml = ending;
    ending = comm;
}

/* One is out of the chain before anything is done with it, which may bring others into it. */
static bool ask_ending(cm_question_t *question)
{
    bool any = false;
    for (ompi_communicator_t *comm; (comm = ending) != NULL; any = true) {
        ending = comm->pml;
        if (!cm_mtl->forget_context(comm->context)) {
            let_wait(comm);
            return any;
        }
        ompi_comm_removed(comm);
    }
    cm_again_remove(question);
    is_asking = false;
    return any;
}

static cm_question_t ending_question = {.ask = ask_ending};

static bool comm_remove(ompi_communicator_t *comm)
{
    if (cm_mtl->forget_context(comm->context))
        return true;
    if (!is_asking)
        cm_again_add(&ending_question);
    is_asking = true;
    let_wait(comm);
    return false;
}

/* Those that are left are the first ones, which are never freed. */
static void stop_ending(void)
{
    if (is_asking)
        cm_again_remove(&ending_question);
    is_asking = false;
    ending = NULL;
}

static void stop(void *state OPAL_UNUSED)
{
    stop_ending();
    stop_near();
    cm_mtl->stop(mtl_state);
    cm_requests_end();
}

static opal_status_t start(void *state);

/* By the network alone; the limits are the mtl's. */
static ompi_pml_ops_t far_ops = {
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
};

static ompi_pml_ops_t both_ops = {.start = start, .stop = stop};

/* `state` is the table that was answered. */
static opal_status_t start(void *state)
{
    opal_status_t status = cm_mtl->start(mtl_state);
    if (status != OPAL_SUCCESS)
        return status;
    cm_requests_start();
    if (state == &both_ops)
        status = start_near();
    if (status != OPAL_SUCCESS)
        stop(state);
    return status;
}

/* -- choosing ------------------------------------------------------------------------------ */

static const ompi_pml_ops_t *choose_ops(const ompi_mtl_ops_t *mtl)
{
    far_ops.max_tag = mtl->limits.max_tag;
    far_ops.internal_tags = mtl->limits.internal_tags;
    far_ops.max_context = mtl->limits.max_context;
    both_ops.max_tag = far_ops.max_tag;
    both_ops.internal_tags = far_ops.internal_tags;
    both_ops.max_context = far_ops.max_context;
    cm_both_fill_in(&both_ops);
    return wants_near(mtl) ? &both_ops : &far_ops;
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
                    chosen == &both_ops ? "pml/" NEAR_COMPONENT " within a node, else " : "",
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
    .query = cm_query,
    .close = cm_close,
};
