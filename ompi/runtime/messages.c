/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes the frameworks that carry messages, and connects them to communicators.
 */
#include "ompi/runtime/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/btl/base/base.h"
#include "opal/process/job.h"
#include "opal/runtime/init.h"
#include "opal/process/port.h"
#include "opal/node/node.h"
#include "opal/util/log.h"
#include "opal/util/text.h"
#include "ompi/attribute/attribute.h"
#include "ompi/buffer/buffer.h"
#include "ompi/check/check.h"
#include "ompi/dynamic/dynamic.h"
#include "ompi/handle/handle.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/io/base/base.h"
#include "ompi/mca/io/base/pool.h"
#include "ompi/mca/mpool/base/base.h"
#include "ompi/mca/osc/base/background.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/base/check.h"
#include "ompi/ownership/pass.h"
#include "ompi/part/part.h"
#include "ompi/request/request.h"
#include "ompi/runtime/params.h"

static opal_framework_t *const frameworks[] = {&mca_mpool_framework, &mca_btl_framework,
                                               &mca_pml_framework,   &mca_coll_framework,
                                               &mca_osc_framework,   &mca_io_framework};

static opal_status_t open_frameworks(void)
{
    opal_status_t status = OPAL_SUCCESS;
    for (size_t i = 0; i < OPAL_COUNT_OF(frameworks); i++) {
        opal_status_t opened = opal_framework_open(frameworks[i]);
        if (opened == OPAL_SUCCESS)
            opened = opal_framework_select(frameworks[i]);
        if (status == OPAL_SUCCESS)
            status = opened;
    }
    /* A component whose settings make no sense is out, and others could do without it. */
    if (status == OPAL_SUCCESS && opal_diagnostic_has_error())
        status = OPAL_ERR_BAD_PARAM;
    return status;
}

static void close_frameworks(void)
{
    for (size_t i = OPAL_COUNT_OF(frameworks); i > 0; i--)
        opal_framework_close(frameworks[i - 1]);
}

static void *pml_state(void)
{
    return opal_framework_best(&mca_pml_framework)->answer.state;
}

static uint32_t communicator_limit(void)
{
    uint32_t wanted = ompi_params_max_communicators() + 1; /* ompi_comm_processes is none of them */
    return wanted <= ompi_pml->max_context ? wanted : ompi_pml->max_context + 1;
}

/* -- agreement ------------------------------------------------------------------------------------
 *
 * Ranks that send by different pmls would wait for each other forever, as would those of which some
 * have mpi_explain. Ranks of one node compare the names of their pmls in shared memory; a rank
 * whose next rank is on another node compares its pml with the modex record of that rank.
 */

#define PML_KEY "pml"

#define EXPLAINS '!' /* ends the name of a rank with mpi_explain */

static const char *own_name(void)
{
    static char name[OPAL_NODE_PROTOCOL_BYTES];
    const char mark[] = {ompi_params_explain() ? EXPLAINS : 0, 0};
    snprintf(name, sizeof name, "%s%s", ompi_pml_name(), mark);
    return name;
}

static opal_status_t disagree(unsigned rank, const char *theirs)
{
    char *pml = opal_xstrndup(theirs, strcspn(theirs, (const char[]){EXPLAINS, 0}));
    bool explains = theirs[strlen(pml)] == EXPLAINS;
    const char *name = ompi_pml_name(), *own = ompi_pml_check_level_of(name);
    const char *other = ompi_pml_check_level_of(pml);
    if (explains != ompi_params_explain())
        opal_log_error("rank %u has mpi_explain=%s, and rank %u mpi_explain=%s; all ranks need the "
                       "same: set it alike for all, for example with mpirun --explain",
                       opal_job()->rank, explains ? "no" : "yes", rank, explains ? "yes" : "no");
    else if (strcmp(own, other) != 0)
        opal_log_error("rank %u has mpi_check=%s, and rank %u mpi_check=%s; all ranks need the "
                       "same: set it alike for all, for example with mpirun --mca mpi_check %s",
                       opal_job()->rank, own, rank, other, own);
    else
        opal_log_error("rank %u sends its messages by pml/%s, and rank %u by pml/%s; all ranks "
                       "need the same: set pml alike for all, and see ompi_info --why pml",
                       opal_job()->rank, name, rank, pml);
    free(pml);
    return OPAL_ERR_BAD_PARAM;
}

/* Before the fence in the start of the pml. */
static opal_status_t publish_pml(void)
{
    void *state;
    char other[OPAL_NODE_PROTOCOL_BYTES];
    const opal_pmi_job_t *job = opal_job();
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    int local_rank = opal_node_check_protocol(own_name(), other);
    if (local_rank >= 0)
        return disagree(opal_node_slot((unsigned)local_rank)->rank, other);
    unsigned before = (job->rank + job->size - 1) % job->size;
    if (job->node_of[before] == job->node_of[job->rank])
        return OPAL_SUCCESS;
    char key[OPAL_START_KEY_BYTES];
    const char *own = own_name();
    return pmi->put(state, opal_start_key(PML_KEY, key), own, strlen(own) + 1);
}

/* After that fence, or when a process that has started alone catches up. A pml that reaches only
 * this node needs no fence, and finds no record. */
static opal_status_t compare_pml(void)
{
    void *state, *bytes;
    size_t length;
    const opal_pmi_job_t *job = opal_job();
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    unsigned next = (job->rank + 1) % job->size;
    if (job->node_of[next] == job->node_of[job->rank])
        return OPAL_SUCCESS;
    char key[OPAL_START_KEY_BYTES];
    opal_status_t status = pmi->get(state, next, opal_start_key(PML_KEY, key), &bytes, &length);
    if (status != OPAL_SUCCESS)
        return status == OPAL_ERR_NOT_FOUND ? OPAL_SUCCESS : status;
    char *pml = opal_xstrndup(bytes, length); /* an answer may be empty, and without an end */
    if (strcmp(pml, own_name()) != 0)
        status = disagree(next, pml);
    free(pml);
    free(bytes);
    return status;
}

/* -- communicators ---------------------------------------------------------------------------- */

/* Communicators are made over ompi_comm_processes, by messages alone. */
static bool has_collectives(const ompi_communicator_t *comm)
{
    return comm != &ompi_comm_processes;
}

static int begin_communicator(ompi_communicator_t *comm)
{
    int error = has_collectives(comm) ? ompi_coll_comm_add(comm) : MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        return error;
    error = ompi_pml->comm_add(comm);
    if (error != MPI_SUCCESS && has_collectives(comm))
        ompi_coll_comm_remove(comm);
    return error;
}

static bool end_communicator(ompi_communicator_t *comm)
{
    if (has_collectives(comm))
        ompi_coll_comm_remove(comm);
    return ompi_pml->comm_remove(comm);
}

static const ompi_comm_hooks_t comm_hooks = {
    .begin = begin_communicator,
    .end = end_communicator,
    .destroy_buffer = ompi_bsend_buffer_destroy,
};

static opal_status_t start_communicators(void)
{
    opal_status_t status = opal_job_is_alone() ? OPAL_SUCCESS : compare_pml();
    if (status != OPAL_SUCCESS)
        return status;
    ompi_check_start(ompi_params_check_level());
    ompi_attributes_set_tag_ub(ompi_pml->max_tag);
    ompi_coll_start();
    if (ompi_comm_start_messages(communicator_limit(), &comm_hooks) != MPI_SUCCESS)
        status = OPAL_ERR_NO_MEMORY;
    else
        status = ompi_osc_start();
    if (status == OPAL_SUCCESS)
        return status;
    ompi_osc_stop();
    ompi_comm_stop_messages();
    return status;
}

opal_status_t ompi_messages_start(bool threads)
{
    opal_status_t status = open_frameworks();
    if (status == OPAL_SUCCESS) {
        ompi_mpool_start((ompi_mpool_leave_pinned_t){ompi_params_leave_pinned(),
                                                     ompi_params_leave_pinned_pipeline()});
        ompi_lock_start(threads);
        ompi_pml = ompi_pml_check(opal_framework_best(&mca_pml_framework)->answer.ops,
                                  ompi_params_check_level());
        if (ompi_pml_is_network())
            status = opal_job_start_together();
    }
    if (status == OPAL_SUCCESS)
        status = publish_pml();
    if (status == OPAL_SUCCESS)
        status = ompi_pml->start(pml_state());
    if (status == OPAL_SUCCESS) {
        status = start_communicators();
        if (status != OPAL_SUCCESS)
            ompi_pml->stop(pml_state());
    }
    if (status != OPAL_SUCCESS)
        close_frameworks();
    else
        ompi_handle_define(&ompi_message_no_process.head);
    return status;
}

opal_status_t ompi_messages_catch_up(void)
{
    opal_status_t status = opal_job_catch_up();
    if (status == OPAL_SUCCESS)
        status = opal_init_check_peers();
    return status == OPAL_SUCCESS ? compare_pml() : status;
}

/* Returns when what the program has sent has left this process. */
static void drain(void)
{
    ompi_osc_background_stop();
    ompi_dynamic_forget_parent(NULL);
    ompi_lock();
    if (ompi_pml->leave != NULL)
        ompi_pml->leave();
    ompi_bsend_fini();
    ompi_ownership_flush();
    opal_port_close_all();
    ompi_unlock();
    ompi_pml->flush();
}

bool ompi_messages_rest(void)
{
    if (ompi_pml_is_network())
        return false;
    drain();
    ompi_lock();
    ompi_comm_end_idle();
    ompi_unlock();
    return true;
}

void ompi_messages_stop(void)
{
    ompi_handle_undefine(&ompi_message_no_process.head);
    ompi_io_pool_stop();
    drain();
    ompi_blocks_end();
    ompi_pml->meet();
    ompi_part_stop();
    ompi_osc_stop();
    ompi_check_stop();
    ompi_comm_stop_messages();
    ompi_pml->stop(pml_state());
    ompi_pml = NULL;
    ompi_lock_start(false);
    close_frameworks();
}
