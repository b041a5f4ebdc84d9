/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The component's operations: starting, stopping, and how requests end.
 *
 * Nobody closes its endpoint while others may still need what it does in its progress: libfabric
 * has buffers of messages that MPI's sends have ended with, and a provider may have to answer for
 * what has been received. So the end is a fence, with progress until all ranks are in it. A fence
 * blocks; a thread of its own is in it meanwhile.
 */
#include "ompi/mca/mtl/ofi/ofi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "opal/process/job.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"

size_t ofi_outgoing;
size_t ofi_large_requests;

static atomic_int has_left = 1; /* what flush waits for; 0 only while it does */

/* -- requests ------------------------------------------------------------------------ */

void ofi_has_left(void)
{
    ofi_outgoing--;
    if (opal_unlikely(ofi_outgoing == 0 &&
                      atomic_load_explicit(&has_left, memory_order_relaxed) == 0))
        opal_wait_signal(&has_left);
}

void ofi_request_end(ofi_request_t *request)
{
    ofi_long_end(request);
    ofi_buffer_free(&request->buffer);
    request->stage = OFI_IDLE;
    if (request->bytes >= OFI_LARGE_BYTES)
        ofi_large_requests--;
    if (request->base.is_send)
        ofi_has_left();
    ompi_request_complete(&request->base.base);
}

void ofi_log_failure(const char *what, int process, int failure,
                     const struct fi_cq_err_entry *error)
{
    const char *more = NULL;
    char peer[32] = "another rank";
    if (process != OFI_ANY_PROCESS)
        snprintf(peer, sizeof peer, "rank %d", process);
    if (error != NULL && error->prov_errno != 0)
        more = fi_cq_strerror(ofi.endpoint.cq, error->prov_errno, error->err_data, NULL, 0);
    if (more == NULL || more[0] == 0)
        opal_log_error("mtl/ofi: %s %s failed: %s", what, peer, fi_strerror(failure));
    else
        opal_log_error("mtl/ofi: %s %s failed: %s (%s)", what, peer, fi_strerror(failure), more);
}

/* Errors that mean that the other end is not there any more. */
static bool is_loss(int failure)
{
    switch (failure) {
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ECONNREFUSED:
    case FI_ENOTCONN:
    case FI_ESHUTDOWN:
    case FI_EHOSTDOWN:
    case FI_EHOSTUNREACH:
        return true;
    default:
        return false;
    }
}

void ofi_request_fail(ofi_request_t *request, int failure, const struct fi_cq_err_entry *error)
{
    const ompi_mtl_request_t *base = &request->base;
    int process = base->route.rank == MPI_ANY_SOURCE
                      ? OFI_ANY_PROCESS
                      : (int)ompi_comm_process(base->route.comm, base->route.rank);
    ofi_log_failure(base->is_send ? "a message to" : "a message from", process, failure, error);
    request->base.base.status.MPI_ERROR = is_loss(failure) ? MPI_ERR_PROC_ABORTED : MPI_ERR_OTHER;
}

static void release(ompi_mtl_request_t *request OPAL_UNUSED)
{
    /* What a request holds beside itself ends with its operation. */
}

/* -- starting and stopping ----------------------------------------------------------- */

static void flush(void)
{
    if (ofi_outgoing == 0)
        return;
    atomic_store_explicit(&has_left, 0, memory_order_relaxed);
    opal_wait_until(&has_left, NULL);
}

static void *meet(void *met)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    pmi->fence(state); /* a failure has been told, and is the end of the job */
    atomic_store((atomic_int *)met, 1);
    opal_wait_notify_self();
    return NULL;
}

/* Returns when all ranks are here; whatever they need of this one is done meanwhile. */
static void meet_all(void)
{
    atomic_int met = 0;
    pthread_t thread;
    if (opal_job()->size == 1)
        return;
    if (pthread_create(&thread, NULL, meet, &met) != 0) {
        meet(&met);
        return;
    }
    opal_wait_until(&met, NULL);
    pthread_join(thread, NULL);
}

static void end(void)
{
    ofi_control_stop();
    ofi_progress_stop();
    ofi_notes_stop();
    ofi_registrations_stop();
    ofi_sends_end();
    ofi_long_stop();
    ofi_recall_stop();
    ofi_peers_stop();
    ofi_endpoint_close();
    ofi_parcels_stop(); /* the provider may have had them */
    ofi_strangers_stop();
}

static void stop(void *state OPAL_UNUSED)
{
    end();
}

/* Nobody sends before everybody knows whom it may come from. */
static opal_status_t meet_others(void)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    opal_status_t status = ofi_peers_meet_all();
    return status == OPAL_SUCCESS ? pmi->fence(state) : status;
}

static opal_status_t start(void *state)
{
    const ofi_choice_t *choice = state;
    opal_status_t status = ofi_endpoint_open(choice);
    if (status != OPAL_SUCCESS)
        return status;
    ofi_peers_start();
    ofi_registrations_start();
    ofi_parcels_start();
    status = ofi_progress_start(choice->batch);
    if (status == OPAL_SUCCESS)
        status = ofi_endpoint_publish();
    if (status == OPAL_SUCCESS) /* behind the fence in there: rank 0 may have put the key */
        status = ofi_words_start();
    if (status == OPAL_SUCCESS)
        status = ofi_notes_start();
    if (status == OPAL_SUCCESS)
        status = ofi_control_start();
    if (status == OPAL_SUCCESS && ofi.endpoint.quirks.meets_all)
        status = meet_others();
    if (status != OPAL_SUCCESS)
        end();
    return status;
}

void ofi_set_ops(ompi_mtl_ops_t *ops, const ofi_choice_t *choice)
{
    *ops = (ompi_mtl_ops_t){
        .request_bytes = sizeof(ofi_request_t),
        .limits = {choice->tags.max_tag, (uint32_t)choice->tags.max_tag + 1, choice->tags.max_comm,
                   choice->tags.max_rank},
        .is_hpc = choice->is_hpc,
        .start = start,
        .stop = stop,
        .flush = flush,
        .meet = meet_all,
        .finalize_drain = ofi_refuse,
        .send_now = ofi_send_now,
        .send = ofi_send,
        .receive = ofi_receive,
        .cancel = ofi_cancel,
        .release = release,
        .probe = ofi_probe,
        .receive_message = ofi_receive_message,
        .forget_context = ofi_forget_context,
        .describe = ofi_describe,
    };
}
