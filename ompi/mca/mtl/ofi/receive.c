/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving side. The provider matches; who has sent and with which tag is in the completion. A
 * buffer that is too short is an error of the provider's (FI_ETRUNC), but what fits is there.
 */
#include <string.h>

#include "ompi/datatype/receive.h"
#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

/* -- the end ------------------------------------------------------------------------- */

size_t ofi_receive_room(const ofi_request_t *request)
{
    bool is_widened = ofi.has_long && request->bytes < OFI_LONG_HEAD_BYTES;
    return is_widened ? OFI_LONG_HEAD_BYTES : request->bytes;
}

/* Whether the provider must not find out that a message does not fit. */
static bool may_spill(const ofi_request_t *request)
{
    return request->bytes < ofi.endpoint.quirks.spill_below;
}

/* To the sender that the status names. False: no memory. */
static bool send_matched(const ofi_request_t *request)
{
    const ompi_communicator_t *comm = request->base.route.comm;
    ofi_peer_t *peer = ofi_peer_from(comm, request->base.base.status.MPI_SOURCE);
    if (peer == NULL)
        return ofi_peer_error != MPI_ERR_NO_MEM;
    return ofi_control_send(peer, (ofi_control_t){.kind = OFI_MATCHED, .bits = request->bits});
}

static bool post_matched(ofi_operation_t *operation)
{
    ofi_request_t *request = ofi_request_of(operation);
    if (!send_matched(request))
        return false;
    ofi_request_end(request);
    return true;
}

/* The request carries the answer that there is no memory for, and ends when that has left. */
static const ofi_operation_kind_t matched_kind = {.post = post_matched};

void ofi_receive_end(ofi_request_t *request, uint64_t bits, uint64_t data, size_t total)
{
    size_t received = total <= request->bytes ? total : request->bytes;
    bool is_answered =
        request->base.route.context == OMPI_CONTEXT_USER && ofi_tag_is_synchronous(&ofi.tags, bits);
    ofi_buffer_unpack(&request->buffer, &request->base.data, received);
    ompi_status_set(
        &request->base.base.status, ofi_source(bits, data), ofi_tag_tag(&ofi.tags, bits),
        ompi_datatype_receive_class(request->base.data.type, request->bytes, total), received);
    request->bits = bits;
    if (opal_unlikely(is_answered) && opal_unlikely(!send_matched(request))) {
        request->operation.kind = &matched_kind;
        request->stage = OFI_IDLE;
        ofi_starved_post(&request->operation);
        return;
    }
    ofi_request_end(request);
}

/* A stranger's message has matched it; the next one may be a rank's. */
static void post_again(ofi_request_t *request)
{
    ofi_report_stranger();
    if (request->is_cancelled) {
        ompi_status_set_cancelled(&request->base.base.status, true);
        ofi_request_end(request);
        return;
    }
    request->stage = OFI_QUEUED;
    ofi_receive_post(&request->operation);
}

/* A message that was taken out of the matching is gone: its receive fails. */
static void refuse_head(ofi_request_t *request)
{
    if (request->stage == OFI_POSTED) {
        post_again(request);
        return;
    }
    ofi_report_stranger();
    ofi_request_fail(request, FI_EIO, NULL);
    ofi_request_end(request);
}

void ofi_receive_delivered(ofi_request_t *request, uint64_t bits, uint64_t data, size_t total)
{
    if (opal_likely(!ofi.has_long || total != ofi.max_bytes)) {
        ompi_mtl_matched(&request->base,
                         &(ompi_mtl_arrival_t){ofi_source(bits, data), ofi_tag_tag(&ofi.tags, bits),
                                               total, false});
        ofi_receive_end(request, bits, data, total);
        return;
    }
    ofi_long_head_t head;
    memcpy(&head, request->buffer.start, sizeof head);
    if (opal_likely(ofi_long_head_is_one(&head)))
        ofi_long_receive(request, bits, data, &head);
    else
        refuse_head(request);
}

/* Not every provider says the data of a message that has failed. */
static bool has_data(const struct fi_cq_err_entry *error)
{
    return error->data != 0 ||
           (error->err == FI_ETRUNC && (ofi.endpoint.quirks.reports_data || !ofi.source_is_data));
}

static void receive_completed(ofi_operation_t *operation, const struct fi_cq_tagged_entry *entry)
{
    ofi_request_t *request = ofi_request_of(operation);
    if (opal_unlikely(!ofi_is_of_rank(request->base.route.comm, entry->tag, entry->data)))
        post_again(request);
    else
        ofi_receive_delivered(request, entry->tag, entry->data, entry->len);
}

static void receive_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    ofi_request_t *request = ofi_request_of(operation);
    int rank = request->base.route.rank;
    bool is_known = has_data(error);
    if (error->err != FI_ECANCELED && is_known &&
        !ofi_is_of_rank(request->base.route.comm, error->tag, error->data)) {
        post_again(request);
        return;
    }
    if (error->err == FI_ETRUNC) {
        size_t lost = error->olen > 0 ? error->olen : 1; /* not every provider counts it */
        size_t room =
            ofi_receive_room(request) + (may_spill(request) ? ofi.endpoint.quirks.spill_bytes : 0);
        uint64_t data = is_known ? error->data : ofi_data_of(rank == MPI_ANY_SOURCE ? 0 : rank);
        ofi_receive_delivered(request, error->tag, data, room + lost);
        return;
    }
    if (error->err == FI_ECANCELED)
        ompi_status_set_cancelled(&request->base.base.status, true);
    else
        ofi_request_fail(request, error->err, error);
    ofi_request_end(request);
}

/* -- the beginning ------------------------------------------------------------------- */

static ssize_t receive_segments(ofi_request_t *request)
{
    const ompi_data_t *data = &request->base.data;
    struct iovec segments[OFI_MAX_SEGMENTS + 1] = {
        {request->buffer.start, ofi_receive_room(request)}};
    size_t count = 1, bytes;
    if (request->buffer.is_segments)
        count = ompi_datatype_segments(data->type, data->count, data->buffer, 0, segments,
                                       ofi.receive_segments, &bytes);
    if (may_spill(request))
        segments[count++] = (struct iovec){ofi.spill, ofi.endpoint.quirks.spill_bytes};
    return fi_trecvv(ofi.endpoint.ep, segments, NULL, count, request->from, request->bits,
                     request->ignore, &request->operation.context);
}

static bool post_receive(ofi_operation_t *operation)
{
    ofi_request_t *request = ofi_request_of(operation);
    const ofi_buffer_t *buffer = &request->buffer;
    ssize_t result = opal_unlikely(buffer->is_segments || may_spill(request))
                         ? receive_segments(request)
                         : fi_trecv(ofi.endpoint.ep, buffer->start, ofi_receive_room(request),
                                    buffer->descriptor, request->from, request->bits,
                                    request->ignore, &request->operation.context);
    if (opal_unlikely(result == -FI_EAGAIN))
        return false;
    request->stage = OFI_POSTED;
    if (opal_likely(result == 0)) {
        ofi_operation_posted(operation);
        return true;
    }
    ofi_request_fail(request, (int)-result, NULL);
    ofi_request_end(request);
    return true;
}

static bool takes(const ofi_operation_t *operation, uint64_t bits, uint64_t data)
{
    const ofi_request_t *request = ofi_request_of(operation);
    int rank = request->base.route.rank;
    return (bits & ~request->ignore) == (request->bits & ~request->ignore) &&
           (rank == MPI_ANY_SOURCE || rank == ofi_source(bits, data));
}

static const ofi_operation_kind_t receive_kind = {
    .completed = receive_completed,
    .failed = receive_failed,
    .post = post_receive,
    .takes = takes,
};

int ofi_pattern(const ompi_route_t *from, fi_addr_t *address, ofi_tag_pattern_t *pattern)
{
    *address = FI_ADDR_UNSPEC;
    *pattern =
        ofi_tag_of_receive(&ofi.tags, from->comm->context, from->context, from->rank, from->tag);
    if (ofi.source_is_data && from->rank != MPI_ANY_SOURCE) {
        ofi_peer_t *peer = ofi_peer_of(from->comm, from->rank);
        if (peer == NULL)
            return ofi_peer_error;
        *address = peer->address;
    }
    return MPI_SUCCESS;
}

int ofi_receive(ompi_mtl_request_t *base)
{
    ofi_request_t *request = opal_container_of(base, ofi_request_t, base);
    ofi_tag_pattern_t pattern;
    int error = ofi_pattern(&base->route, &request->from, &pattern);
    if (error != MPI_SUCCESS)
        return error;
    request->bytes = ompi_datatype_bytes(base->data.type, base->data.count);
    error = ofi_buffer_for_receive(&request->buffer, &base->data, request->bytes);
    if (error != MPI_SUCCESS)
        return error;
    ofi_request_began(request);
    if (opal_unlikely(ofi_any_is_claimed()) && ofi_claimed_receive(request, &pattern))
        return MPI_SUCCESS;
    request->bits = pattern.bits;
    request->ignore = pattern.ignore;
    request->is_cancelled = false;
    request->operation.kind = &receive_kind;
    request->stage = OFI_QUEUED;
    ofi_receive_post(&request->operation);
    return MPI_SUCCESS;
}

void ofi_receive_cancel(ofi_request_t *request)
{
    if (request->stage == OFI_POSTED) {
        request->is_cancelled = true;
        fi_cancel(&ofi.endpoint.ep->fid, &request->operation.context);
        return; /* its completion says whether that came in time */
    }
    if (request->stage == OFI_QUEUED) {
        ofi_withdraw(&request->operation);
        ompi_status_set_cancelled(&request->base.base.status, true);
        ofi_request_end(request);
    }
}
