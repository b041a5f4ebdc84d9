/* SPDX-License-Identifier: BSD-3-Clause */
/* How requests fail and end, and the count of what has not left this process. */
#include <stdatomic.h>
#include <stdio.h>

#include "opal/progress/wait.h"
#include "opal/util/log.h"
#include "ompi/mca/mtl/ofi/ofi.h"

size_t ofi_outgoing;
size_t ofi_large_requests;

static atomic_int has_left = 1; /* ofi_flush waits for it; 0 only while it does */

void ofi_has_left(void)
{
    ofi_outgoing--;
    if (opal_unlikely(ofi_outgoing == 0 &&
                      atomic_load_explicit(&has_left, memory_order_relaxed) == 0))
        opal_wait_signal(&has_left);
}

void ofi_flush(void)
{
    if (ofi_outgoing == 0)
        return;
    atomic_store_explicit(&has_left, 0, memory_order_relaxed);
    opal_wait_until(&has_left, NULL);
}

void ofi_request_end(ofi_request_t *request)
{
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

/* Errors that mean that the peer has failed. */
static bool is_peer_failure(int failure)
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
    request->base.base.status.MPI_ERROR =
        is_peer_failure(failure) ? MPI_ERR_PROC_ABORTED : MPI_ERR_OTHER;
}
