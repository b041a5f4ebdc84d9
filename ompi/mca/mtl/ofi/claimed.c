/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are taken out of the provider's matching: by MPI_Mprobe; into the list `claimed`,
 * where they go on waiting for a receive; and to be thrown away.
 *
 * The list is for probes of long messages, whose length stands in their beginning (long.c). When a
 * probe finds one, every message of the communicator's user context is claimed, one after the
 * other. So the list has what comes first in the provider's order, in that order: a receive that
 * looks in the list first, and asks the provider then, gets what MPI's order says. The list costs
 * nothing while it is empty.
 *
 * A claimed message is received by the operation that has claimed it (FI_CLAIM), into the buffer of
 * its request. Without a request it is received into memory of its own: the beginning of a long one
 * whose length is asked for, a message that is thrown away, and a message that the provider cannot
 * claim (quirks.c), at once.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

enum { LOOKS = 64 };

typedef struct ofi_message {
    ompi_mtl_message_t base;
    ofi_operation_t operation;
    ofi_request_t *request; /* that receives it; NULL: none yet */
    uint64_t bits, data;
    fi_addr_t from;
    size_t bytes;
    opal_list_node_t node; /* of `claimed` */

    /* Where it is received without a request. */
    unsigned char *own; /* NULL: nowhere */
    ofi_registration_t registration;
    void *descriptor;
    bool is_dropped; /* nobody will receive it */
    bool is_here;
    int failure; /* of that; 0: none */
} ofi_message_t;

static opal_list_t claimed = {{&claimed.head, &claimed.head}};

static void free_message(ofi_message_t *message)
{
    ofi_deregister(&message->registration);
    free(message->own);
    free(message);
}

/* -- receiving into the buffer of a request ------------------------------------------ */

static ssize_t receive_claimed(ofi_message_t *message, const struct iovec *segments, size_t count,
                               void **descriptors)
{
    struct fi_msg_tagged call = {
        .msg_iov = segments,
        .desc = descriptors,
        .iov_count = count,
        .addr = message->from,
        .tag = message->bits,
        .context = &message->operation.context,
    };
    ssize_t result = fi_trecvmsg(ofi.endpoint.ep, &call, FI_CLAIM);
    if (result == 0)
        ofi_operation_posted(&message->operation);
    return result;
}

/* Its length is known from the probe: not every provider says at the end that it did not fit. */
static void end_claim(ofi_message_t *message, int failure, const struct fi_cq_err_entry *error)
{
    ofi_request_t *request = message->request;
    if (failure == 0 || failure == FI_ETRUNC) {
        ofi_receive_delivered(request, message->bits, message->data, message->bytes);
    } else {
        ofi_request_fail(request, failure, error);
        ofi_request_end(request);
    }
    free_message(message);
}

static void claim_completed(ofi_operation_t *operation,
                            const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    end_claim(opal_container_of(operation, ofi_message_t, operation), 0, NULL);
}

static void claim_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    end_claim(opal_container_of(operation, ofi_message_t, operation), error->err, error);
}

static bool post_claim(ofi_operation_t *operation)
{
    ofi_message_t *message = opal_container_of(operation, ofi_message_t, operation);
    ofi_request_t *request = message->request;
    const ompi_data_t *data = &request->base.data;
    struct iovec segments[OFI_MAX_SEGMENTS] = {{request->buffer.start, ofi_receive_room(request)}};
    void *descriptors[OFI_MAX_SEGMENTS] = {request->buffer.descriptor};
    size_t count = 1, bytes;
    if (request->buffer.is_segments)
        count = ompi_datatype_segments(data->type, data->count, data->buffer, 0, segments,
                                       ofi.receive_segments, &bytes);
    ssize_t result = receive_claimed(message, segments, count, descriptors);
    if (result != 0 && result != -FI_EAGAIN)
        end_claim(message, (int)-result, NULL);
    return result != -FI_EAGAIN;
}

static const ofi_operation_kind_t claim_kind = {
    .completed = claim_completed,
    .failed = claim_failed,
    .post = post_claim,
};

static void copy_own(const ofi_message_t *message, ofi_request_t *request)
{
    const ompi_data_t *data = &request->base.data;
    size_t room = ofi_receive_room(request);
    size_t bytes = room < message->bytes ? room : message->bytes;
    if (request->buffer.is_segments)
        ompi_datatype_unpack(data->type, data->count, data->buffer, 0, message->own, bytes);
    else if (bytes > 0)
        memcpy(request->buffer.start, message->own, bytes);
}

/* From its own memory into the buffer; of a long one, the rest is asked for. */
static void deliver_own(ofi_message_t *message)
{
    if (message->failure == 0)
        copy_own(message, message->request);
    end_claim(message, message->failure, NULL);
}

static void receive(ofi_message_t *message, ofi_request_t *request)
{
    request->stage = OFI_IDLE; /* it has met its message */
    message->request = request;
    if (message->own == NULL) {
        message->operation.kind = &claim_kind;
        ofi_receive_post(&message->operation);
    } else if (message->is_here) {
        deliver_own(message);
    }
}

/* -- receiving into own memory ------------------------------------------------------- */

static void own_is_here(ofi_message_t *message, int failure)
{
    message->is_here = true;
    message->failure = failure;
    if (message->is_dropped)
        free_message(message);
    else if (message->request != NULL)
        deliver_own(message);
}

static void own_completed(ofi_operation_t *operation,
                          const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    own_is_here(opal_container_of(operation, ofi_message_t, operation), 0);
}

static void own_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    own_is_here(opal_container_of(operation, ofi_message_t, operation), error->err);
}

static bool post_own(ofi_operation_t *operation)
{
    ofi_message_t *message = opal_container_of(operation, ofi_message_t, operation);
    struct iovec segment = {message->own, message->bytes};
    ssize_t result = receive_claimed(message, &segment, 1, &message->descriptor);
    if (result != 0 && result != -FI_EAGAIN)
        own_is_here(message, (int)-result);
    return result != -FI_EAGAIN;
}

static const ofi_operation_kind_t own_kind = {
    .completed = own_completed,
    .failed = own_failed,
    .post = post_own,
};

/* False: no memory, or the provider cannot write there. */
static bool make_own(ofi_message_t *message)
{
    message->operation.kind = &own_kind;
    message->own = calloc(1, message->bytes + 1);
    if (message->own != NULL && ofi_register(&message->registration, message->own, message->bytes,
                                             &message->descriptor) == MPI_SUCCESS)
        return true;
    free(message->own);
    message->own = NULL;
    return false;
}

/* False: no memory. */
static bool receive_own(ofi_message_t *message)
{
    if (message->own != NULL)
        return true; /* it is under way, or here */
    if (!make_own(message))
        return false;
    ofi_receive_post(&message->operation);
    return true;
}

/* Nobody will receive it. All of it is received if there is memory, since a provider may leave the
 * sender of a discarded message waiting. */
static void drop(ofi_message_t *message)
{
    if (!message->is_here && !receive_own(message)) {
        message->bytes = 0;
        ofi_receive_post(&message->operation);
    }
    message->is_dropped = true;
    if (message->is_here)
        free_message(message);
}

/* -- claiming ------------------------------------------------------------------------ */

static bool is_claimable(const ofi_found_t *there)
{
    const opal_fabric_quirks_t *quirks = &ofi.endpoint.quirks;
    return there->bytes < quirks->unclaimable_from || there->bytes >= quirks->unclaimable_end;
}

/* Of its bits it is the first one, since it was the first one of all that were asked for: a receive
 * of exactly these bits gets it, and no receive of ours is posted meanwhile. Returns libfabric's
 * failure: the message is still there. */
static int receive_whole(ofi_message_t *message)
{
    ssize_t result;
    ofi_receives_are_held = true;
    while ((result = fi_trecv(ofi.endpoint.ep, message->own, message->bytes, message->descriptor,
                              message->from, message->bits, 0, &message->operation.context)) ==
           -FI_EAGAIN)
        ofi_progress();
    ofi_receives_are_held = false;
    if (result == 0)
        ofi_operation_posted(&message->operation);
    return (int)-result;
}

ofi_message_t *ofi_claim(fi_addr_t address, const ofi_tag_pattern_t *pattern,
                         const ofi_found_t *there, int *failure)
{
    ofi_message_t *message = calloc(1, sizeof *message);
    ofi_found_t found = *there;
    *failure = FI_ENOMEM;
    if (message == NULL)
        return NULL;
    if (is_claimable(there))
        *failure = ofi_peek(&message->operation, address, pattern, FI_CLAIM, &found);
    message->bits = found.bits;
    message->data = found.data;
    message->bytes = found.bytes;
    message->from = address;
    if (is_claimable(there) ? !found.is_there : !make_own(message)) {
        free(message);
        return NULL;
    }
    *failure = 0;
    if (!is_claimable(there) && (*failure = receive_whole(message)) != 0) {
        ofi_log_failure("a message from", OFI_ANY_PROCESS, *failure, NULL);
        free_message(message);
        return NULL;
    }
    return message;
}

int ofi_look(const ompi_communicator_t *comm, fi_addr_t address, const ofi_tag_pattern_t *pattern,
             ofi_found_t *there)
{
    static ofi_operation_t question; /* which takes nothing out */
    for (int i = 0; i < LOOKS; i++) {
        int failure = ofi_peek(&question, address, pattern, 0, there);
        if (!there->is_there)
            return failure;
        if (opal_unlikely(!ofi_is_of_rank(comm, there->bits, there->data))) {
            ofi_report_stranger();
            ofi_message_t *message = ofi_claim(address, pattern, there, &failure);
            if (message != NULL)
                drop(message);
        } else if (!there->may_be_taken && !ofi_receive_takes(there->bits, there->data)) {
            return failure;
        }
        ofi_progress();
    }
    there->is_there = false;
    return FI_EAGAIN;
}

static int claim_all(const ofi_tag_pattern_t *pattern)
{
    for (;;) {
        ofi_found_t there;
        int failure = ofi_look(NULL, FI_ADDR_UNSPEC, pattern, &there);
        if (failure != 0 || !there.is_there)
            return failure;
        ofi_message_t *message = ofi_claim(FI_ADDR_UNSPEC, pattern, &there, &failure);
        if (message == NULL)
            return failure;
        opal_list_append(&claimed, &message->node);
    }
}

int ofi_claim_all(uint32_t comm)
{
    ofi_tag_pattern_t pattern =
        ofi_tag_of_receive(&ofi.tags, comm, OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG);
    return claim_all(&pattern);
}

bool ofi_any_is_claimed(void)
{
    return !opal_list_is_empty(&claimed);
}

/* -- claimed messages find their receive --------------------------------------------- */

static ofi_message_t *message_at(opal_list_node_t *node)
{
    return opal_container_of(node, ofi_message_t, node);
}

/* The communicator may not have been known when the message was claimed: here its source is
 * compared with the ranks. */
static ofi_message_t *find(const ofi_tag_pattern_t *pattern, const ompi_route_t *from)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&claimed); node != NULL; node = next) {
        ofi_message_t *message = message_at(node);
        next = opal_list_next(&claimed, node);
        if ((message->bits & ~pattern->ignore) != (pattern->bits & ~pattern->ignore))
            continue;
        int source = ofi_source(message->bits, message->data);
        if (!ompi_comm_has_rank(from->comm, source)) {
            ofi_report_stranger();
            opal_list_remove(node);
            drop(message);
        } else if (from->rank == MPI_ANY_SOURCE || from->rank == source) {
            return message;
        }
    }
    return NULL;
}

bool ofi_claimed_receive(ofi_request_t *request, const ofi_tag_pattern_t *pattern)
{
    ofi_message_t *message = find(pattern, &request->base.route);
    if (message == NULL)
        return false;
    opal_list_remove(&message->node);
    receive(message, request);
    return true;
}

/* False: the length is not known yet, or *error says why not. */
static bool knows_length(ofi_message_t *message, size_t *bytes, int *error)
{
    ofi_long_head_t head;
    *bytes = message->bytes;
    if (!ofi.has_long || message->bytes != ofi.max_bytes)
        return true;
    if (!receive_own(message)) {
        *error = MPI_ERR_NO_MEM;
        return false;
    }
    if (message->is_here && message->failure == 0) {
        memcpy(&head, message->own, sizeof head);
        if (ofi_long_head_is_one(&head))
            *bytes = head.total;
    }
    return message->is_here;
}

void ofi_status_fill(MPI_Status *status, uint64_t bits, uint64_t data, size_t bytes)
{
    MPI_Status made;
    ompi_status_set(&made, ofi_source(bits, data), ofi_tag_tag(&ofi.tags, bits), MPI_SUCCESS,
                    bytes);
    ompi_status_fill(status, &made);
}

static ompi_mtl_message_t *hand_out(ofi_message_t *message, const ompi_route_t *from)
{
    message->base.route = *from;
    message->base.route.rank = ofi_source(message->bits, message->data);
    message->base.route.tag = ofi_tag_tag(&ofi.tags, message->bits);
    return &message->base;
}

ompi_mtl_message_t *ofi_claimed_hand_out(ofi_message_t *message, const ompi_route_t *from,
                                         MPI_Status *status)
{
    ofi_status_fill(status, message->bits, message->data, message->bytes);
    return hand_out(message, from);
}

bool ofi_claimed_probe(const ompi_route_t *from, const ofi_tag_pattern_t *pattern, bool *found,
                       ompi_mtl_message_t **taken, MPI_Status *status, int *error)
{
    ofi_message_t *message = find(pattern, from);
    size_t bytes;
    if (message == NULL)
        return false;
    *found = knows_length(message, &bytes, error);
    if (!*found)
        return true;
    ofi_status_fill(status, message->bits, message->data, bytes);
    if (taken != NULL) {
        opal_list_remove(&message->node);
        *taken = hand_out(message, from);
    }
    return true;
}

int ofi_receive_message(ompi_mtl_request_t *base, ompi_mtl_message_t *taken)
{
    ofi_request_t *request = opal_container_of(base, ofi_request_t, base);
    ofi_message_t *message = opal_container_of(taken, ofi_message_t, base);
    request->bytes = ompi_datatype_bytes(base->data.type, base->data.count);
    int error = ofi_buffer_for_receive(&request->buffer, &base->data, request->bytes);
    if (error != MPI_SUCCESS) {
        opal_list_prepend(&claimed, &message->node); /* it is the oldest, and another receive's */
        return error;
    }
    ofi_request_began(request);
    receive(message, request);
    return MPI_SUCCESS;
}

/* -- messages that nobody will receive ----------------------------------------------- */

/* Its sender may wait for a receive. False: there is no memory to tell it. */
static bool send_refused(const ofi_message_t *message)
{
    const ompi_communicator_t *comm = ompi_comm_find(ofi_tag_comm(&ofi.tags, message->bits));
    if (!ofi_tag_is_synchronous(&ofi.tags, message->bits) || comm == NULL)
        return true; /* a communicator that is not known has ended at both ends */
    ofi_peer_t *peer = ofi_peer_from(comm, ofi_source(message->bits, message->data));
    if (peer == NULL) /* it was reported */
        return ofi_peer_error != MPI_ERR_NO_MEM;
    return ofi_control_send(peer, (ofi_control_t){.kind = OFI_REFUSED, .bits = message->bits});
}

/* What comes in the order of the list is refused in that order, so it is claimed first. */
bool ofi_refuse(void)
{
    ofi_tag_pattern_t any = ofi_tag_of_any(&ofi.tags, ompi_comm_highest_context());
    bool was_any = false;
    claim_all(&any);
    for (opal_list_node_t *node; (node = opal_list_first(&claimed)) != NULL; was_any = true) {
        if (!send_refused(message_at(node)))
            break; /* until this is called again */
        opal_list_remove(node);
        drop(message_at(node));
    }
    return was_any;
}

/* False: not now. */
static bool forget_pattern(const ofi_tag_pattern_t *pattern)
{
    for (;;) {
        ofi_found_t there;
        int failure = ofi_look(NULL, FI_ADDR_UNSPEC, pattern, &there);
        if (!there.is_there)
            return failure != FI_EAGAIN; /* true, too, if the provider cannot be asked */
        ofi_message_t *message = ofi_claim(FI_ADDR_UNSPEC, pattern, &there, &failure);
        if (message == NULL)
            return failure != 0 && failure != FI_ENOMEM;
        drop(message);
    }
}

bool ofi_forget_context(uint32_t context)
{
    static const ompi_context_t contexts[] = {OMPI_CONTEXT_USER, OMPI_CONTEXT_PARTITIONED};
    uint64_t area = ofi.tags.context_bits[OMPI_CONTEXT_COLLECTIVE];
    if (ofi_is_progressing() || ofi_is_peeking())
        return false; /* an answer could not be read, or would be taken for another question's */
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&claimed); node != NULL; node = next) {
        next = opal_list_next(&claimed, node);
        if (ofi_tag_comm(&ofi.tags, message_at(node)->bits) != context)
            continue;
        opal_list_remove(node);
        drop(message_at(node));
    }
    for (size_t i = 0; i < OPAL_COUNT_OF(contexts); i++) {
        ofi_tag_pattern_t pattern =
            ofi_tag_of_receive(&ofi.tags, context, contexts[i], MPI_ANY_SOURCE, MPI_ANY_TAG);
        pattern.ignore |= area; /* both contexts of the kind */
        if (!forget_pattern(&pattern))
            return false;
    }
    return true;
}
