/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The component's operations, its start and its end.
 *
 * No rank closes its endpoint while others may still need its progress: libfabric has buffers of
 * messages that MPI's sends have ended with, and a provider may have to answer for what has been
 * received. So the end is a fence, with progress until all ranks are in it. A fence blocks; a
 * thread of its own is in it meanwhile.
 */
#include "ompi/mca/mtl/ofi/ofi.h"

#include <pthread.h>
#include <stdatomic.h>

#include "opal/process/job.h"
#include "opal/progress/wait.h"

static void release(ompi_mtl_request_t *request OPAL_UNUSED)
{
    /* What a request holds beside itself ends with its operation. */
}

static int cancel(ompi_mtl_request_t *base)
{
    ofi_request_t *request = opal_container_of(base, ofi_request_t, base);
    if (base->is_send)
        ofi_send_cancel(request);
    else
        ofi_receive_cancel(request);
    ofi_handed_over();
    return MPI_SUCCESS;
}

/* -- the end ------------------------------------------------------------------------- */

static void *meet(void *met)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    pmi->fence(state); /* a failure has been reported, and is the end of the job */
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

static void stop(void *state OPAL_UNUSED)
{
    ofi_control_stop();
    ofi_progress_stop();
    ofi_registrations_stop();
    ofi_long_stop();
    ofi_peers_stop();
    ofi_endpoint_close();
}

/* -- the start ----------------------------------------------------------------------- */

static ofi_control_fn_t *const handlers[OFI_CONTROL_KINDS] = {
    [OFI_MATCHED] = ofi_send_matched,
    [OFI_REFUSED] = ofi_send_refused,
    [OFI_CTS] = ofi_long_cts,
};

/* No rank sends before every rank knows all addresses. */
static opal_status_t meet_peers(void)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    for (unsigned process = 0; process < opal_job()->size; process++) {
        if (ofi_peer(process) == NULL)
            return OPAL_ERR_SYSTEM;
    }
    return pmi->fence(state);
}

static opal_status_t start(void *state)
{
    const ofi_choice_t *choice = state;
    opal_status_t status = ofi_endpoint_open(choice);
    if (status != OPAL_SUCCESS)
        return status;
    ofi_queues_start();
    ofi_registrations_start();
    status = ofi_progress_start(choice->batch);
    if (status == OPAL_SUCCESS)
        status = ofi_endpoint_publish();
    if (status == OPAL_SUCCESS) /* behind the fence in there: rank 0 may have put the key */
        status = ofi_words_start();
    if (status == OPAL_SUCCESS)
        status = ofi_control_start(handlers);
    if (status == OPAL_SUCCESS && ofi.endpoint.quirks.meets_all)
        status = meet_peers();
    if (status != OPAL_SUCCESS)
        stop(NULL);
    return status;
}

void ofi_set_ops(ompi_mtl_ops_t *ops, const ofi_choice_t *choice, bool is_hpc,
                 const char *(*describe)(unsigned process))
{
    *ops = (ompi_mtl_ops_t){
        .request_bytes = sizeof(ofi_request_t),
        .limits = {choice->tags.max_tag, (uint32_t)choice->tags.max_tag + 1, choice->tags.max_comm,
                   choice->tags.max_rank},
        .is_hpc = is_hpc,
        .start = start,
        .stop = stop,
        .flush = ofi_flush,
        .meet = meet_all,
        .finalize_drain = ofi_refuse,
        .send_now = ofi_send_now,
        .send = ofi_send,
        .receive = ofi_receive,
        .cancel = cancel,
        .release = release,
        .probe = ofi_probe,
        .receive_message = ofi_receive_message,
        .forget_context = ofi_forget_context,
        .describe = describe,
    };
}
