/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending side. What the provider injects is over at once; of all else it has the buffer until
 * the completion. A synchronous send first receives its answer, so that this cannot come too early.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

static uint64_t bits_of(const ompi_route_t *to, ompi_send_mode_t mode)
{
    return ofi_tag_of_message(&ofi.tags, to->comm->context, to->context, (unsigned)to->comm->rank,
                              to->tag, mode == OMPI_SEND_SYNCHRONOUS);
}

/* -- at once ------------------------------------------------------------------------- */

bool ofi_send_now(const ompi_route_t *to, const ompi_data_t *data)
{
    unsigned char packed[OFI_INJECT_PACK_BYTES];
    size_t bytes = ompi_datatype_bytes(data->type, data->count);
    if (bytes > ofi.inject_bytes)
        return false;
    ofi_peer_t *peer = ofi_peer_of(to->comm, to->rank);
    if (peer == NULL || !ofi_peer_is_clear(peer) || peer->recalls > 0)
        return false;
    const void *start = (const void *)ompi_datatype_origin(data->type, data->buffer);
    if (opal_unlikely(!ompi_datatype_is_contiguous(data->type))) {
        if (bytes > sizeof packed)
            return false;
        ompi_datatype_pack(data->type, data->count, data->buffer, 0, packed, bytes);
        start = packed;
    }
    if (ofi_inject(peer, start, bytes, to->comm->rank, bits_of(to, OMPI_SEND_STANDARD)) != 0)
        return false;
    ofi_handed_over();
    return true;
}

/* -- answers ------------------------------------------------------------------------- */

/* The receive of an answer. */
typedef struct ofi_answer {
    ofi_operation_t operation;
    ofi_request_t *request; /* NULL: it is not waited for any more */
    const ofi_peer_t *peer; /* of that */
    uint64_t bits;
    bool is_posted;
} ofi_answer_t;

static opal_pool_t answers = {.bytes = sizeof(ofi_answer_t)};

void ofi_send_answered(ofi_request_t *request)
{
    if (!request->may_recall)
        return;
    request->may_recall = false;
    ofi_recall_remove(request);
}

/* There is no answer to wait for any more. */
static void forget_answer(ofi_request_t *request)
{
    ofi_answer_t *answer = request->answer;
    ofi_send_answered(request);
    if (answer == NULL)
        return;
    request->answer = NULL;
    request->missing--;
    answer->request = NULL;
    if (answer->is_posted)
        fi_cancel(&ofi.endpoint.ep->fid, &answer->operation.context);
    else
        opal_pool_give(&answers, answer);
}

/* A stranger's message has met it. */
static void answer_again(ofi_answer_t *answer)
{
    ofi_report_stranger();
    ofi_receive_post(&answer->operation);
}

/* It was not for the one that has taken it: that was thrown away. Of those that are still waited
 * for the oldest one was matched. */
static void answer_is_anothers(const ofi_answer_t *answer)
{
    ofi_request_t *request = ofi_recall_find(answer->bits, answer->peer);
    if (request == NULL)
        return;
    forget_answer(request);
    request->missing++;
    ofi_send_step_done(request);
}

static void answered(ofi_answer_t *answer)
{
    ofi_request_t *request = answer->request;
    opal_pool_give(&answers, answer);
    request->answer = NULL;
    ofi_send_answered(request);
    ofi_send_step_done(request);
}

static void answer_completed(ofi_operation_t *operation, const struct fi_cq_tagged_entry *entry)
{
    ofi_answer_t *answer = opal_container_of(operation, ofi_answer_t, operation);
    if (opal_unlikely(!ofi_is_of_job(entry->data))) {
        answer_again(answer);
    } else if (opal_likely(answer->request != NULL)) {
        answered(answer);
    } else {
        answer_is_anothers(answer);
        opal_pool_give(&answers, answer);
    }
}

static void answer_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    ofi_answer_t *answer = opal_container_of(operation, ofi_answer_t, operation);
    if (answer->request == NULL) {
        opal_pool_give(&answers, answer);
        return;
    }
    if (error->err == FI_ETRUNC) { /* nobody of ours says so much */
        answer_again(answer);
        return;
    }
    ofi_request_fail(answer->request, error->err, error);
    answered(answer);
}

static bool post_answer_again(ofi_operation_t *operation);

static const ofi_operation_kind_t answer_kind = {
    .completed = answer_completed,
    .failed = answer_failed,
    .post = post_answer_again,
};

static ssize_t post_answer(ofi_answer_t *answer)
{
    const ofi_request_t *request = answer->request;
    const ompi_route_t *to = &request->base.route;
    fi_addr_t from = ofi.source_is_data ? request->peer->address : FI_ADDR_UNSPEC;
    uint64_t bits = ofi_tag_of_answer(&ofi.tags, to->comm->context, (unsigned)to->rank, to->tag);
    ssize_t result =
        fi_trecv(ofi.endpoint.ep, NULL, 0, NULL, from, bits, 0, &answer->operation.context);
    if (result == 0) {
        answer->is_posted = true;
        ofi_operation_posted(&answer->operation);
    }
    return result;
}

/* The first time it goes with its message; this is for the next ones. */
static bool post_answer_again(ofi_operation_t *operation)
{
    ofi_answer_t *answer = opal_container_of(operation, ofi_answer_t, operation);
    if (answer->request == NULL) { /* forgotten meanwhile */
        opal_pool_give(&answers, answer);
        return true;
    }
    ssize_t result = post_answer(answer);
    if (result != 0 && result != -FI_EAGAIN) {
        ofi_request_fail(answer->request, (int)-result, NULL);
        answered(answer);
    }
    return result != -FI_EAGAIN;
}

static bool expect_answer(ofi_request_t *request)
{
    ofi_answer_t *answer = opal_pool_take(&answers);
    if (answer == NULL)
        return false;
    *answer = (ofi_answer_t){.operation.kind = &answer_kind,
                             .request = request,
                             .peer = request->peer,
                             .bits = request->bits};
    request->answer = answer;
    return true;
}

void ofi_sends_end(void)
{
    opal_pool_empty(&answers);
}

/* -- sends --------------------------------------------------------------------------- */

void ofi_send_step_done(ofi_request_t *request)
{
    if (--request->missing == 0)
        ofi_request_end(request);
}

static void send_completed(ofi_operation_t *operation,
                           const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    ofi_send_step_done(ofi_request_of(operation));
}

static void send_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    ofi_request_t *request = ofi_request_of(operation);
    ofi_request_fail(request, error->err, error);
    forget_answer(request);
    ofi_send_step_done(request);
}

static ssize_t send_segments(ofi_request_t *request, int rank)
{
    const ompi_data_t *data = &request->base.data;
    struct iovec segments[OFI_MAX_SEGMENTS];
    size_t bytes;
    struct fi_msg_tagged message = {
        .msg_iov = segments,
        .iov_count = ompi_datatype_segments(data->type, data->count, data->buffer, 0, segments,
                                            ofi.send_segments, &bytes),
        .addr = request->peer->address,
        .tag = request->bits,
        .context = &request->operation.context,
        .data = ofi_data_of(rank),
    };
    return fi_tsendmsg(ofi.endpoint.ep, &message, ofi.source_is_data ? FI_REMOTE_CQ_DATA : 0);
}

/* *over: there will be no completion. */
static ssize_t hand_over(ofi_request_t *request, bool *over)
{
    const ofi_buffer_t *buffer = &request->buffer;
    int rank = request->base.route.comm->rank;
    fi_addr_t to = request->peer->address;
    *over = false;
    if (buffer->is_segments)
        return send_segments(request, rank);
    if (request->bytes <= ofi.inject_bytes) {
        *over = true;
        return ofi_inject(request->peer, buffer->start, request->bytes, rank, request->bits);
    }
    if (ofi.source_is_data)
        return fi_tsenddata(ofi.endpoint.ep, buffer->start, request->bytes, buffer->descriptor,
                            ofi_data_of(rank), to, request->bits, &request->operation.context);
    return fi_tsend(ofi.endpoint.ep, buffer->start, request->bytes, buffer->descriptor, to,
                    request->bits, &request->operation.context);
}

static bool post_send(ofi_operation_t *operation)
{
    ofi_request_t *request = ofi_request_of(operation);
    bool over = true;
    ssize_t result = 0;
    if (request->answer != NULL && !request->answer->is_posted)
        result = post_answer(request->answer);
    if (result == 0)
        result = hand_over(request, &over);
    if (result == -FI_EAGAIN)
        return false;
    request->stage = OFI_POSTED;
    if (result != 0) {
        ofi_request_fail(request, (int)-result, NULL);
        forget_answer(request);
        over = true;
    }
    if (over)
        ofi_send_step_done(request);
    else
        ofi_operation_posted(operation);
    return true;
}

static const ofi_operation_kind_t send_kind = {
    .completed = send_completed,
    .failed = send_failed,
    .post = post_send,
};

/* Whether the receiver has to answer. A long standard send, which waits for its receiver anyhow,
 * can be taken back then, and refused. */
static bool wants_answer(const ompi_mtl_request_t *base, size_t bytes, bool is_long)
{
    return base->mode == OMPI_SEND_SYNCHRONOUS || ((is_long || bytes > OFI_STANDARD_MAX_BYTES) &&
                                                   base->route.context == OMPI_CONTEXT_USER);
}

/* What there has to be before it is sent. */
static int prepare(ofi_request_t *request, bool is_long, bool is_answered)
{
    ompi_mtl_request_t *base = &request->base;
    request->bits = bits_of(&base->route, is_answered ? OMPI_SEND_SYNCHRONOUS : OMPI_SEND_STANDARD);
    request->missing = 1;
    int error = ofi_buffer_for_send(&request->buffer, &base->data, request->bytes);
    if (error != MPI_SUCCESS)
        return error;
    if (is_long) {
        error = ofi_long_prepare(request);
    } else if (is_answered) {
        error = expect_answer(request) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
        request->missing++;
    }
    if (error != MPI_SUCCESS)
        ofi_buffer_free(&request->buffer);
    return error;
}

int ofi_send(ompi_mtl_request_t *base)
{
    ofi_request_t *request = opal_container_of(base, ofi_request_t, base);
    request->peer = ofi_peer_of(base->route.comm, base->route.rank);
    if (request->peer == NULL)
        return ofi_peer_error;
    request->bytes = ompi_datatype_bytes(base->data.type, base->data.count);
    bool is_long = ofi.has_long && request->bytes >= ofi.max_bytes;
    bool is_answered = wants_answer(base, request->bytes, is_long);
    int error = prepare(request, is_long, is_answered);
    if (error != MPI_SUCCESS)
        return error;
    ofi_outgoing++;
    ofi_request_began(request);
    request->may_recall = is_answered;
    if (is_answered)
        ofi_recall_add(request);
    request->stage = request->peer->recalls == 0 ? OFI_QUEUED : OFI_HELD;
    if (is_long) {
        ofi_long_send(request);
        return MPI_SUCCESS;
    }
    request->operation.kind = &send_kind;
    ofi_peer_send(request->peer, &request->operation);
    return MPI_SUCCESS;
}

/* One that has left can be taken back as long as the receiver has not answered. One in the queue
 * that a question has counted has to leave, and is taken back then. */
int ofi_send_cancel(ofi_request_t *request)
{
    bool is_counted = request->stage == OFI_QUEUED && request->peer->recalls > 0;
    if (request->may_recall && (request->stage == OFI_POSTED || is_counted))
        return ofi_recall(request);
    if (request->stage != OFI_QUEUED && request->stage != OFI_HELD)
        return MPI_SUCCESS;
    ofi_withdraw(&request->operation);
    forget_answer(request);
    ofi_long_forget(request);
    ompi_status_set_cancelled(&request->base.base.status, true);
    ofi_send_step_done(request);
    return MPI_SUCCESS;
}

void ofi_send_unanswered(ofi_request_t *request)
{
    request->missing++;
    ofi_long_forget(request);
    forget_answer(request);
    ofi_send_step_done(request); /* unless its completion is to come */
}
