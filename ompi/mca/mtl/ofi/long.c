/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of at least as many bytes as the provider carries in one (its max_msg_size). A message
 * of exactly so many is never anything else than the beginning of a long one:
 *
 *   sender                                        receiver
 *   --- message: head, then bytes 16 to max ----> lands in place; the head is where bytes 0 to 16
 *                                                 belong, and says whose it is and how long
 *   <-- news: whose, a number, bytes wanted -----
 *   --- part 0 of the number: bytes 0 to 16 ----> over the head
 *   --- part 1: from max on --------------------> and so on, as far as the buffer goes
 *
 *   head   | the sender's name for it (opal/util/names.h)  8 | bytes of the whole message  8 |
 *   news   control.c, with the same name in it; number 0: nothing is wanted, as the receiver has no
 *          memory
 *
 * The beginning goes through the matching as any message does. The answer to a synchronous send is
 * the news.
 *
 * Where everything is injected, no completion says when the parts have left. The receiver says that
 * they are there, so that a sender does not go away with parts that need its progress.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/process/job.h"
#include "opal/util/names.h"
#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

_Static_assert(sizeof(ofi_long_head_t) == OFI_LONG_HEAD_BYTES, "the head as it is drawn");

/* Of a sender: while the first message leaves and the parts follow. Of a receiver: for the parts.
 */
typedef struct ofi_long {
    ofi_operation_t operation; /* the part that is under way */
    ofi_request_t *request;
    ofi_peer_t *peer;
    ofi_long_head_t head;
    ofi_registration_t pin; /* of this structure, for the head */
    void *descriptor;
    unsigned char *first; /* the first message, where it cannot be handed over as two segments */
    uint64_t bits, data;  /* of a receive's completion */
    bool has_news;        /* or there will be none */
    bool is_injected;     /* all of it; what is missing is that it has arrived */
    uint32_t number;      /* the receiver's */
    uint32_t part;
    size_t wanted;        /* bytes of the message, from its beginning */
    size_t begin, length; /* of the part */
} ofi_long_t;

static uint32_t last_number;
static opal_names_t senders; /* of ofi_long_t */

static int know(ofi_registration_t *pin, void *start, size_t bytes, void **descriptor)
{
    return ofi.needs_registration ? ofi_register(pin, start, bytes, descriptor) : MPI_SUCCESS;
}

static void end_long(ofi_long_t *parts)
{
    parts->request->parts = NULL;
    ofi_deregister(&parts->pin);
    free(parts->first);
    free(parts);
}

/* -- parts --------------------------------------------------------------------------- */

static uint64_t bits_of_part(const ofi_long_t *parts)
{
    return ofi_tag_of_part(&ofi.tags, parts->number, parts->part & ofi.tags.max_part);
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

static void first_part(ofi_long_t *parts)
{
    parts->begin = 0;
    parts->part = 0;
    parts->length = parts->wanted < OFI_LONG_HEAD_BYTES ? parts->wanted : OFI_LONG_HEAD_BYTES;
}

static char *start_of_part(const ofi_long_t *parts)
{
    return (char *)parts->request->buffer.start + parts->begin;
}

/* -- sending ------------------------------------------------------------------------- */

static void end_sender(ofi_long_t *parts)
{
    opal_names_remove(&senders, parts->head.sender);
    end_long(parts);
}

static void end_send(ofi_long_t *parts)
{
    ofi_request_t *request = parts->request;
    end_sender(parts);
    ofi_send_step_done(request);
}

static void part_sent(ofi_operation_t *operation,
                      const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    if (next_part(parts))
        ofi_peer_post(parts->peer, operation);
    else
        end_send(parts);
}

static void part_not_sent(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    ofi_request_fail(parts->request, error->err, error);
    end_send(parts);
}

/* All that there is room for. */
static ssize_t inject_parts(ofi_long_t *parts)
{
    ssize_t result;
    do
        result = fi_tinject(ofi.endpoint.ep, start_of_part(parts), parts->length,
                            parts->peer->address, bits_of_part(parts));
    while (result == 0 && next_part(parts));
    return result;
}

static bool post_part_send(ofi_operation_t *operation)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    ssize_t result = ofi.endpoint.quirks.only_injects
                         ? inject_parts(parts)
                         : fi_tsend(ofi.endpoint.ep, start_of_part(parts), parts->length,
                                    parts->request->buffer.descriptor, parts->peer->address,
                                    bits_of_part(parts), &operation->context);
    if (result == -FI_EAGAIN)
        return false;
    if (result != 0) {
        ofi_request_fail(parts->request, (int)-result, NULL);
        end_send(parts);
    } else if (ofi.endpoint.quirks.only_injects) {
        parts->is_injected = true;
        ofi_more_under_way(); /* until they have arrived */
    } else {
        ofi_operation_posted(operation);
    }
    return true;
}

static const ofi_operation_kind_t part_send_kind = {
    .completed = part_sent,
    .failed = part_not_sent,
    .post = post_part_send,
};

/* NULL: it names nothing of what that rank could speak of, which is told. */
static ofi_long_t *find_sender(const ofi_control_t *news)
{
    ofi_long_t *parts = opal_names_find(&senders, news->name);
    if (parts != NULL && parts->peer->process == news->process &&
        parts->request->stage == OFI_POSTED)
        return parts;
    ofi_control_complain(news, "speaks of a long message that is not under way");
    return NULL;
}

void ofi_long_news(const ofi_control_t *news)
{
    ofi_long_t *parts = find_sender(news);
    if (parts == NULL)
        return;
    bool is_refused = news->number == 0 && news->bits == 0; /* it has no memory for it */
    if (parts->has_news || news->bits > parts->head.total || news->number > ofi.tags.max_message ||
        (news->number == 0 && !is_refused)) {
        ofi_control_complain(news, "wants what a long message does not have");
        return;
    }
    parts->has_news = true;
    ofi_under_way--;
    ofi_send_answered(parts->request);
    if (is_refused) {
        end_send(parts);
        return;
    }
    parts->number = news->number;
    parts->wanted = news->bits;
    parts->operation.kind = &part_send_kind;
    first_part(parts);
    ofi_peer_post(parts->peer, &parts->operation);
}

void ofi_long_arrived(const ofi_control_t *news)
{
    ofi_long_t *parts = find_sender(news);
    if (parts == NULL)
        return;
    if (!parts->is_injected) {
        ofi_control_complain(news, "has received what was not sent yet");
        return;
    }
    ofi_under_way--;
    end_send(parts);
}

static void beginning_sent(ofi_operation_t *operation,
                           const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    ofi_send_step_done(ofi_request_of(operation));
}

/* There will be no news. */
static void give_up(ofi_request_t *request, int result, const struct fi_cq_err_entry *error)
{
    ofi_request_fail(request, result, error);
    ofi_send_answered(request);
    ofi_long_forget(request);
    ofi_send_step_done(request);
}

static void beginning_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    give_up(ofi_request_of(operation), error->err, error);
}

static ssize_t hand_over_beginning(ofi_request_t *request)
{
    ofi_long_t *parts = request->parts;
    char *start = request->buffer.start;
    struct iovec segments[2] = {
        {&parts->head, sizeof parts->head},
        {start + sizeof parts->head, ofi.max_bytes - sizeof parts->head},
    };
    void *descriptors[2] = {parts->descriptor, request->buffer.descriptor};
    struct fi_msg_tagged message = {
        .msg_iov = segments,
        .desc = descriptors,
        .iov_count = 2,
        .addr = request->peer->address,
        .tag = request->bits,
        .context = &request->operation.context,
        .data = ofi_data_of(request->base.route.comm->rank),
    };
    if (ofi.endpoint.quirks.only_injects)
        return ofi_inject(request->peer, parts->first, ofi.max_bytes,
                          request->base.route.comm->rank, request->bits);
    if (parts->first != NULL) {
        segments[0] = (struct iovec){parts->first, ofi.max_bytes};
        message.iov_count = 1;
    }
    return fi_tsendmsg(ofi.endpoint.ep, &message, ofi.source_is_data ? FI_REMOTE_CQ_DATA : 0);
}

static bool post_beginning(ofi_operation_t *operation)
{
    ofi_request_t *request = ofi_request_of(operation);
    ssize_t result = hand_over_beginning(request);
    if (result == -FI_EAGAIN)
        return false;
    request->stage = OFI_POSTED;
    if (result != 0)
        give_up(request, (int)-result, NULL);
    else if (ofi.endpoint.quirks.only_injects)
        ofi_send_step_done(request);
    else
        ofi_operation_posted(operation);
    return true;
}

static const ofi_operation_kind_t beginning_kind = {
    .completed = beginning_sent,
    .failed = beginning_failed,
    .post = post_beginning,
};

/* Where the provider takes one segment only. */
static bool copy_first(ofi_long_t *parts)
{
    parts->first = malloc(ofi.max_bytes);
    if (parts->first == NULL)
        return false;
    memcpy(parts->first, &parts->head, sizeof parts->head);
    memcpy(parts->first + sizeof parts->head,
           (char *)parts->request->buffer.start + sizeof parts->head,
           ofi.max_bytes - sizeof parts->head);
    return true;
}

int ofi_long_prepare(ofi_request_t *request)
{
    ofi_long_t *parts = calloc(1, sizeof *parts);
    if (parts == NULL)
        return MPI_ERR_NO_MEM;
    parts->request = request;
    parts->peer = request->peer;
    parts->head = (ofi_long_head_t){opal_names_add(&senders, parts), request->bytes};
    request->parts = parts;
    if (parts->head.sender == 0) {
        end_long(parts);
        return MPI_ERR_NO_MEM;
    }
    bool copies = ofi.send_segments < 2;
    if (copies && !copy_first(parts)) {
        end_sender(parts);
        return MPI_ERR_NO_MEM;
    }
    void *start = copies ? (void *)parts->first : &parts->head;
    int error =
        know(&parts->pin, start, copies ? ofi.max_bytes : sizeof parts->head, &parts->descriptor);
    if (error != MPI_SUCCESS) {
        end_sender(parts);
        return error;
    }
    request->missing++; /* the news, and what follows */
    ofi_more_under_way();
    return MPI_SUCCESS;
}

void ofi_long_send(ofi_request_t *request)
{
    request->operation.kind = &beginning_kind;
    ofi_peer_send(request->peer, &request->operation);
}

void ofi_long_forget(ofi_request_t *request)
{
    ofi_long_t *parts = request->parts;
    if (parts == NULL || parts->has_news)
        return;
    parts->has_news = true;
    opal_names_remove(&senders, parts->head.sender);
    request->missing--;
    ofi_under_way--;
}

void ofi_long_end(ofi_request_t *request)
{
    if (opal_unlikely(request->parts != NULL))
        end_long(request->parts);
}

/* -- receiving ----------------------------------------------------------------------- */

/* False: no memory. */
static bool tell(const ofi_long_t *parts, ofi_control_kind_t kind)
{
    ofi_control_t news = {
        .kind = kind,
        .process = opal_job()->rank,
        .name = parts->head.sender,
        .bits = parts->wanted,
        .number = parts->number,
    };
    return ofi_control_send(parts->peer, &news);
}

static void end_receive(ofi_long_t *parts)
{
    ofi_request_t *request = parts->request;
    uint64_t bits = parts->bits, data = parts->data;
    size_t total = parts->head.total;
    end_long(parts);
    if (opal_unlikely(request->base.base.status.MPI_ERROR != MPI_SUCCESS))
        ofi_request_end(request); /* it has failed */
    else
        ofi_receive_end(request, bits, data, total);
}

static bool post_arrived(ofi_operation_t *operation)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    if (!tell(parts, OFI_ARRIVED))
        return false;
    end_receive(parts);
    return true;
}

static const ofi_operation_kind_t arrived_kind = {.post = post_arrived};

/* Or nothing is awaited any more: the sender waits for that, too. */
static void all_arrived(ofi_long_t *parts)
{
    if (!ofi.endpoint.quirks.only_injects) {
        end_receive(parts);
    } else if (!post_arrived(&parts->operation)) {
        parts->operation.kind = &arrived_kind;
        ofi_starved_post(&parts->operation);
    }
}

/* A stranger may know the number, but not how many bytes are wanted. */
static void wait_again(ofi_long_t *parts)
{
    ofi_report_stranger();
    ofi_receive_post(&parts->operation);
}

static void part_arrived(ofi_operation_t *operation, const struct fi_cq_tagged_entry *entry)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    if (opal_unlikely(entry->len != parts->length))
        wait_again(parts);
    else if (next_part(parts))
        ofi_receive_post(operation);
    else
        all_arrived(parts);
}

static void fail_receive(ofi_long_t *parts, int result, const struct fi_cq_err_entry *error)
{
    ofi_request_fail(parts->request, result, error);
    all_arrived(parts);
}

static void part_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    if (error->err == FI_ETRUNC)
        wait_again(parts);
    else
        fail_receive(parts, error->err, error);
}

static bool post_part_receive(ofi_operation_t *operation)
{
    ofi_long_t *parts = opal_container_of(operation, ofi_long_t, operation);
    ssize_t result = fi_trecv(ofi.endpoint.ep, start_of_part(parts), parts->length,
                              parts->request->buffer.descriptor, FI_ADDR_UNSPEC,
                              bits_of_part(parts), 0, &operation->context);
    if (result == -FI_EAGAIN)
        return false;
    if (result == 0)
        ofi_operation_posted(operation);
    else
        fail_receive(parts, (int)-result, NULL);
    return true;
}

static const ofi_operation_kind_t part_receive_kind = {
    .completed = part_arrived,
    .failed = part_failed,
    .post = post_part_receive,
};

/* -- receiving without memory ---------------------------------------------------------- */

/* The sender is told that nothing is wanted. False: not yet, as there is no memory for that. */
static bool post_refusal(ofi_operation_t *operation)
{
    ofi_request_t *request = ofi_request_of(operation);
    ofi_peer_t *peer =
        ofi_peer_from(request->base.route.comm, request->base.base.status.MPI_SOURCE);
    const ofi_control_t news = {
        .kind = OFI_NEWS,
        .process = opal_job()->rank,
        .name = request->bits,
    };
    if (peer == NULL ? ofi_peer_error == MPI_ERR_NO_MEM : !ofi_control_send(peer, &news))
        return false;
    ofi_request_end(request);
    return true;
}

static const ofi_operation_kind_t refusal_kind = {.post = post_refusal};

static void refuse(ofi_request_t *request, uint64_t bits, uint64_t data, uint64_t sender)
{
    ompi_status_set(&request->base.base.status, ofi_source(bits, data),
                    ofi_tag_tag(&ofi.tags, bits), MPI_ERR_NO_MEM, 0);
    request->bits = sender;
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

void ofi_long_receive(ofi_request_t *request, uint64_t bits, uint64_t data,
                      const ofi_long_head_t *head)
{
    request->stage = OFI_IDLE; /* it has met its message */
    ofi_peer_t *peer = ofi_peer_from(request->base.route.comm, ofi_source(bits, data));
    if (peer == NULL && ofi_peer_error != MPI_ERR_NO_MEM) {
        ofi_request_fail(request, FI_EADDRNOTAVAIL, NULL);
        ofi_request_end(request);
        return;
    }
    ofi_long_t *parts = peer != NULL ? make_receiver(request, peer, head) : NULL;
    if (parts == NULL || !tell(parts, OFI_NEWS)) {
        free(parts);
        refuse(request, bits, data, head->sender);
        return;
    }
    parts->bits = bits & ~ofi.tags.synchronous; /* the news are the answer */
    parts->data = data;
    request->parts = parts;
    ofi_receive_post(&parts->operation);
}

void ofi_long_stop(void)
{
    opal_names_free(&senders);
}
