/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of at least as many bytes as the provider carries in one (its max_msg_size): rendezvous.
 * A message of exactly so many bytes is always the beginning of a long one:
 *
 *   sender                                        receiver
 *   --- RTS: head, then bytes 16 to max --------> into the buffer; the head is where bytes 0 to 16
 *                                                 belong, and says its name and how long it is
 *   <-- CTS: the name, a number, bytes wanted ---
 *   --- part 0 of the number: bytes 0 to 16 ----> over the head
 *   --- part 1: from max on --------------------> and so on, as far as the buffer goes
 *
 *   head   | the sender's name for it (opal/util/names.h)  8 | bytes of the whole message  8 |
 *   CTS    control.c; number 0: nothing is wanted, as the receiver has no memory
 *
 * The beginning is matched as any message is. The CTS is the answer to a synchronous send, too.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/util/names.h"
#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

_Static_assert(sizeof(ofi_long_head_t) == OFI_LONG_HEAD_BYTES, "the head as it is drawn");

/* Of a sender: until all parts have left. Of a receiver: for the parts. */
typedef struct ofi_long {
    ofi_operation_t operation; /* the part that is under way */
    ofi_request_t *request;
    ofi_peer_t *peer;
    ofi_long_head_t head;
    ofi_registration_t registration; /* of this structure, for the head, or of `first` */
    void *descriptor;
    unsigned char *first; /* the beginning, where the provider takes one segment only */
    uint64_t bits, data;  /* of a receive's completion */
    bool awaits_cts;
    bool has_begun;  /* the beginning of a send was handed over */
    uint32_t number; /* the receiver's */
    uint32_t part;
    size_t wanted;        /* bytes of the message, from its beginning */
    size_t begin, length; /* of the part */
} ofi_long_t;

static uint32_t last_number;
static opal_names_t senders; /* of ofi_long_t that await their CTS */

static void free_parts(ofi_long_t *parts)
{
    parts->request->parts = NULL;
    ofi_deregister(&parts->registration);
    free(parts->first);
    free(parts);
}

/* -- parts --------------------------------------------------------------------------- */

static uint64_t bits_of_part(const ofi_long_t *parts)
{
    return ofi_tag_of_part(&ofi.tags, parts->number, parts->part & ofi.tags.max_part);
}

static void first_part(ofi_long_t *parts)
{
    parts->begin = 0;
    parts->part = 0;
    parts->length = parts->wanted < OFI_LONG_HEAD_BYTES ? parts->wanted : OFI_LONG_HEAD_BYTES;
}

/* False: that was the last one. */
static bool next_part(ofi_long_t *parts)
{
    parts->begin = parts->part == 0 ? ofi.max_bytes : parts->begin + parts->length;
    if (parts->begin >= parts->wanted)
        return false;
    size_t left = parts->wanted - parts->begin;
    parts->length = left < ofi.max_bytes ? left : ofi.max_bytes;
    parts->part++;
    return true;
}

static char *start_of_part(const ofi_long_t *parts)
{
    return (char *)parts->request->buffer.start + parts->begin;
}

/* -- sending the parts --------------------------------------------------------------- */

static void part_sent(ofi_operation_t *operation,
                      const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    if (next_part(parts))
        ofi_peer_post(parts->peer, operation);
    else
        ofi_send_step_done(parts->request);
}

static void part_not_sent(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    ofi_request_fail(parts->request, error->err, error);
    ofi_send_step_done(parts->request);
}

/* Parts that are injected have no completion: as many as there is room for. */
static bool post_part_send(ofi_operation_t *operation)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    bool is_over;
    ssize_t result;
    do
        result = ofi_send_bytes(parts->peer, start_of_part(parts), parts->length,
                                parts->request->buffer.descriptor, 0, bits_of_part(parts),
                                &operation->context, &is_over);
    while (result == 0 && is_over && next_part(parts));
    if (result == -FI_EAGAIN)
        return false;
    if (result == 0 && !is_over) {
        ofi_operation_posted(operation);
        return true;
    }
    if (result != 0)
        ofi_request_fail(parts->request, (int)-result, NULL);
    ofi_send_step_done(parts->request);
    return true;
}

static const ofi_operation_kind_t part_send_kind = {
    .completed = part_sent,
    .failed = part_not_sent,
    .post = post_part_send,
};

/* -- sending: until the CTS ---------------------------------------------------------- */

static void forget_name(ofi_long_t *parts)
{
    opal_names_remove(&senders, parts->head.name);
    parts->awaits_cts = false;
}

void ofi_long_cts(const ofi_control_t *cts)
{
    ofi_long_t *parts = opal_names_find(&senders, cts->name);
    if (parts == NULL || parts->peer->process != cts->process ||
        parts->request->stage != OFI_POSTED) {
        ofi_control_complain(cts, "speaks of a long message that is not under way");
        return;
    }
    bool is_refused = cts->number == 0 && cts->bits == 0; /* for want of memory */
    if (cts->bits > parts->head.total || cts->number > ofi.tags.max_message ||
        (cts->number == 0 && !is_refused)) {
        ofi_control_complain(cts, "wants what a long message does not have");
        return;
    }
    forget_name(parts);
    ofi_send_answered(parts->request);
    if (is_refused) {
        ofi_send_step_done(parts->request);
        return;
    }
    parts->number = cts->number;
    parts->wanted = cts->bits;
    parts->operation.kind = &part_send_kind;
    first_part(parts);
    ofi_peer_post(parts->peer, &parts->operation);
}

ssize_t ofi_long_begin(ofi_request_t *request, bool *is_over)
{
    ofi_long_t *parts = request->parts;
    int rank = request->base.route.comm->rank;
    if (parts->first != NULL)
        return ofi_send_bytes(request->peer, parts->first, ofi.max_bytes, parts->descriptor, rank,
                              request->bits, &request->operation.context, is_over);
    struct iovec segments[2] = {
        {&parts->head, sizeof parts->head},
        {(char *)request->buffer.start + sizeof parts->head, ofi.max_bytes - sizeof parts->head},
    };
    void *descriptors[2] = {parts->descriptor, request->buffer.descriptor};
    const struct fi_msg_tagged message = {
        .msg_iov = segments,
        .desc = descriptors,
        .iov_count = 2,
        .addr = request->peer->address,
        .tag = request->bits,
        .context = &request->operation.context,
        .data = ofi_data_of(rank),
    };
    *is_over = false;
    return fi_tsendmsg(ofi.endpoint.ep, &message, ofi.source_is_data ? FI_REMOTE_CQ_DATA : 0);
}

/* Where the beginning cannot be two segments, or is injected. False: no memory. */
static bool copy_first(ofi_long_t *parts)
{
    const size_t head = sizeof parts->head;
    parts->first = malloc(ofi.max_bytes);
    if (parts->first == NULL)
        return false;
    memcpy(parts->first, &parts->head, head);
    memcpy(parts->first + head, (char *)parts->request->buffer.start + head, ofi.max_bytes - head);
    return true;
}

int ofi_long_prepare(ofi_request_t *request)
{
    int error = MPI_ERR_NO_MEM;
    ofi_long_t *parts = calloc(1, sizeof *parts);
    if (parts == NULL)
        return MPI_ERR_NO_MEM;
    parts->request = request;
    parts->peer = request->peer;
    parts->head = (ofi_long_head_t){opal_names_add(&senders, parts), request->bytes};
    bool copies = ofi.send_segments < 2 || ofi.max_bytes < ofi.inject_below;
    if (parts->head.name != 0 && (!copies || copy_first(parts)))
        error = copies ? ofi_register(&parts->registration, parts->first, ofi.max_bytes,
                                      &parts->descriptor)
                       : ofi_register(&parts->registration, &parts->head, sizeof parts->head,
                                      &parts->descriptor);
    if (error != MPI_SUCCESS) {
        opal_names_remove(&senders, parts->head.name);
        free_parts(parts);
        return error;
    }
    request->parts = parts;
    parts->awaits_cts = true;
    return MPI_SUCCESS;
}

void ofi_long_forget(ofi_request_t *request)
{
    if (request->parts != NULL && request->parts->awaits_cts)
        forget_name(request->parts);
}

void ofi_long_begun(ofi_request_t *request)
{
    const ompi_route_t *to = &request->base.route;
    request->parts->has_begun = true;
    ompi_mtl_rendezvous_begun(&request->base, to->rank, to->tag, request->bytes);
}

/* The provider may have been sending the beginning until now. */
void ofi_long_end(ofi_request_t *request)
{
    const ompi_route_t *to = &request->base.route;
    if (opal_likely(request->parts == NULL))
        return;
    if (request->parts->has_begun)
        ompi_mtl_rendezvous_ended(&request->base, to->rank, to->tag, request->bytes);
    free_parts(request->parts);
}

void ofi_long_stop(void)
{
    opal_names_free(&senders);
}

/* -- receiving the parts ------------------------------------------------------------- */

static void end_receive(ofi_long_t *parts)
{
    ofi_request_t *request = parts->request;
    uint64_t bits = parts->bits, data = parts->data;
    size_t total = parts->head.total;
    ompi_mtl_rendezvous_ended(&request->base, ofi_source(bits, data), ofi_tag_tag(&ofi.tags, bits),
                              parts->wanted);
    free_parts(parts);
    if (opal_unlikely(request->base.base.status.MPI_ERROR != MPI_SUCCESS))
        ofi_request_end(request); /* it has failed */
    else
        ofi_receive_end(request, bits, data, total);
}

/* A stranger may know the number, but not how many bytes are wanted. */
static void post_again(ofi_long_t *parts)
{
    ofi_report_stranger();
    ofi_receive_post(&parts->operation);
}

static void part_received(ofi_operation_t *operation, const struct fi_cq_tagged_entry *entry)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    if (opal_unlikely(entry->len != parts->length))
        post_again(parts);
    else if (next_part(parts))
        ofi_receive_post(operation);
    else
        end_receive(parts);
}

static void part_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    if (error->err == FI_ETRUNC) {
        post_again(parts);
        return;
    }
    ofi_request_fail(parts->request, error->err, error);
    end_receive(parts);
}

static bool post_part_receive(ofi_operation_t *operation)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    ssize_t result = fi_trecv(ofi.endpoint.ep, start_of_part(parts), parts->length,
                              parts->request->buffer.descriptor, FI_ADDR_UNSPEC,
                              bits_of_part(parts), 0, &operation->context);
    if (result == -FI_EAGAIN)
        return false;
    if (result == 0) {
        ofi_operation_posted(operation);
    } else {
        ofi_request_fail(parts->request, (int)-result, NULL);
        end_receive(parts);
    }
    return true;
}

static const ofi_operation_kind_t part_receive_kind = {
    .completed = part_received,
    .failed = part_failed,
    .post = post_part_receive,
};

/* -- receiving without memory ---------------------------------------------------------- */

/* The sender learns that nothing is wanted. False: not yet, as there is no memory for that. */
static bool post_refusal(ofi_operation_t *operation)
{
    ofi_request_t *request = ofi_request_of(operation);
    ofi_peer_t *peer =
        ofi_peer_from(request->base.route.comm, request->base.base.status.MPI_SOURCE);
    const ofi_control_t nothing = {.kind = OFI_CTS, .name = request->bits};
    if (peer == NULL ? ofi_peer_error == MPI_ERR_NO_MEM : !ofi_control_send(peer, nothing))
        return false;
    ofi_request_end(request);
    return true;
}

static const ofi_operation_kind_t refusal_kind = {.post = post_refusal};

static void refuse(ofi_request_t *request, uint64_t bits, uint64_t data, uint64_t name)
{
    ompi_status_set(&request->base.base.status, ofi_source(bits, data),
                    ofi_tag_tag(&ofi.tags, bits), MPI_ERR_NO_MEM, 0);
    request->bits = name;
    request->operation.kind = &refusal_kind;
    if (!post_refusal(&request->operation))
        ofi_starved_post(&request->operation);
}

/* -- receiving: the beginning ---------------------------------------------------------- */

/* NULL: no memory. */
static ofi_long_t *make_receiver(ofi_request_t *request, ofi_peer_t *peer,
                                 const ofi_long_head_t *head)
{
    ofi_long_t *parts = calloc(1, sizeof *parts);
    if (parts == NULL)
        return NULL;
    parts->operation.kind = &part_receive_kind;
    parts->request = request;
    parts->peer = peer;
    parts->head = *head;
    parts->wanted = head->total < request->bytes ? head->total : request->bytes;
    /* There are more numbers than messages that can be under way. */
    last_number = last_number % ofi.tags.max_message + 1;
    parts->number = last_number;
    first_part(parts);
    return parts;
}

/* False: no memory. */
static bool send_cts(const ofi_long_t *parts)
{
    return ofi_control_send(parts->peer, (ofi_control_t){.kind = OFI_CTS,
                                                         .name = parts->head.name,
                                                         .bits = parts->wanted,
                                                         .number = parts->number});
}

void ofi_long_receive(ofi_request_t *request, uint64_t bits, uint64_t data,
                      const ofi_long_head_t *head)
{
    int source = ofi_source(bits, data), tag = ofi_tag_tag(&ofi.tags, bits);
    request->stage = OFI_IDLE; /* it has met its message */
    ompi_mtl_matched(&request->base, &(ompi_mtl_arrival_t){source, tag, head->total, true});
    ofi_peer_t *peer = ofi_peer_from(request->base.route.comm, source);
    if (peer == NULL && ofi_peer_error != MPI_ERR_NO_MEM) {
        ofi_request_fail(request, FI_EADDRNOTAVAIL, NULL);
        ofi_request_end(request);
        return;
    }
    ofi_long_t *parts = peer != NULL ? make_receiver(request, peer, head) : NULL;
    if (parts == NULL || !send_cts(parts)) {
        free(parts);
        refuse(request, bits, data, head->name);
        return;
    }
    parts->bits = bits & ~ofi.tags.synchronous; /* the CTS is the answer */
    parts->data = data;
    request->parts = parts;
    ompi_mtl_rendezvous_begun(&request->base, source, tag, parts->wanted);
    ofi_receive_post(&parts->operation);
}
