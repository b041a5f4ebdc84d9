/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are taken out of the provider's matching: for MPI_Mprobe, and into `claimed`, where
 * they go on waiting for a receive.
 *
 * They are claimed when the provider does not tell enough of them, or cannot do what is wanted: how
 * long a long message is stands in its beginning (long.c), and a message that its sender takes back
 * (recall.c) has to be found and thrown away. Then everything of the communicator's user context is
 * taken out, one after the other, until there is no more. So what is claimed is always what comes
 * first in the provider's order, and in that order: who looks here first, and at the provider then,
 * finds what MPI's order says. It costs nothing while nothing is claimed.
 *
 * A message is received by the context that has taken it out (FI_CLAIM), to where its request wants
 * it. The beginning of a long one is received into memory of ours if somebody asks for its length,
 * and so is all of a message that the provider cannot take out (quirks.c), at once.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

typedef struct ofi_message {
    ompi_mtl_message_t base;
    ofi_operation_t operation;
    ofi_request_t *request; /* that receives it; NULL: none yet, or it is thrown away */
    uint64_t bits, data;
    fi_addr_t from;
    size_t bytes;
    opal_list_node_t node; /* of `claimed` */

    /* Where it is received without a request. */
    unsigned char *own; /* NULL: nowhere */
    ofi_registration_t pin;
    void *descriptor;
    bool is_dropped;
    bool is_here;
    int failure; /* of that; 0: none */
} ofi_message_t;

static opal_list_t claimed = {{&claimed.head, &claimed.head}};
static bool is_taking; /* a message was seen, and is not out of the matching yet */

bool ofi_is_taking(void)
{
    return is_taking;
}

static bool is_beginning(const ofi_message_t *message)
{
    return ofi.has_long && message->bytes == ofi.max_bytes;
}

static void end_message(ofi_message_t *message)
{
    ofi_deregister(&message->pin);
    free(message->own);
    free(message);
}

static bool has_to_be_whole(const ofi_found_t *there)
{
    if (ofi.endpoint.quirks.never_claims)
        return true;
    return there->bytes > ofi.endpoint.quirks.packet_bytes &&
           there->bytes <= ofi.endpoint.quirks.packets_bytes;
}

static void know(ofi_message_t *message, fi_addr_t address, const ofi_found_t *found)
{
    message->bits = found->bits;
    message->data = found->data;
    message->bytes = found->bytes;
    message->from = address;
}

static ofi_message_t *take_whole(fi_addr_t address, const ofi_found_t *there, int *failure);

ofi_message_t *ofi_message_take(fi_addr_t address, const ofi_tag_pattern_t *pattern,
                                const ofi_found_t *there, int *failure)
{
    ofi_found_t found;
    *failure = 0;
    if (has_to_be_whole(there))
        return take_whole(address, there, failure);
    ofi_message_t *message = calloc(1, sizeof *message);
    if (message == NULL) {
        *failure = FI_ENOMEM;
        return NULL;
    }
    *failure = ofi_ask(&message->operation, address, pattern, FI_CLAIM, &found);
    if (!found.is_there) {
        free(message);
        return NULL;
    }
    know(message, address, &found);
    return message;
}

/* -- receiving ----------------------------------------------------------------------- */

static ssize_t claim(ofi_message_t *message, const struct iovec *segments, size_t count,
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

/* How long it is, the probe has said; not every provider says at the end that it did not fit. */
static void claim_completed(ofi_operation_t *operation,
                            const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    ofi_message_t *message = opal_container_of(operation, ofi_message_t, operation);
    ofi_receive_delivered(message->request, message->bits, message->data, message->bytes);
    end_message(message);
}

static void claim_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    ofi_message_t *message = opal_container_of(operation, ofi_message_t, operation);
    if (error->err == FI_ETRUNC) {
        ofi_receive_delivered(message->request, message->bits, message->data, message->bytes);
    } else {
        ofi_request_fail(message->request, error->err, error);
        ofi_request_end(message->request);
    }
    end_message(message);
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
    ssize_t result = claim(message, segments, count, descriptors);
    if (result == -FI_EAGAIN)
        return false;
    if (result != 0) {
        struct fi_cq_err_entry error = {.err = (int)-result};
        claim_failed(operation, &error);
    }
    return true;
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

/* It goes to where it belongs; of a long one, the rest is asked for. */
static void give_own(ofi_message_t *message)
{
    ofi_request_t *request = message->request;
    if (message->failure != 0) {
        ofi_request_fail(request, message->failure, NULL);
        ofi_request_end(request);
    } else {
        copy_own(message, request);
        ofi_receive_delivered(request, message->bits, message->data, message->bytes);
    }
    end_message(message);
}

static void receive(ofi_message_t *message, ofi_request_t *request)
{
    request->stage = OFI_IDLE; /* it has met its message */
    message->request = request;
    if (message->own == NULL) {
        message->operation.kind = &claim_kind;
        ofi_receive_post(&message->operation);
    } else if (message->is_here) {
        give_own(message);
    }
}

/* -- without a request --------------------------------------------------------------- */

static void set_here(ofi_message_t *message, int failure)
{
    message->is_here = true;
    message->failure = failure;
}

static void own_is_here(ofi_message_t *message, int failure)
{
    set_here(message, failure);
    if (message->is_dropped)
        end_message(message);
    else if (message->request != NULL)
        give_own(message);
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
    ssize_t result = claim(message, &segment, 1, &message->descriptor);
    if (result == -FI_EAGAIN)
        return false;
    if (result != 0)
        own_is_here(message, (int)-result);
    return true;
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
    if (message->own == NULL)
        return false;
    if (!ofi.needs_registration || message->bytes == 0 ||
        ofi_register(&message->pin, message->own, message->bytes, &message->descriptor) ==
            MPI_SUCCESS)
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

/* Of its bits it is the first one, since it is the first one of all that were asked for: a receive
 * of exactly these gets it, and no other receive has had it. */
static ofi_message_t *take_whole(fi_addr_t address, const ofi_found_t *there, int *failure)
{
    ofi_message_t *message = calloc(1, sizeof *message);
    ssize_t result;
    if (message != NULL)
        know(message, address, there);
    if (message == NULL || !make_own(message)) {
        free(message);
        *failure = FI_ENOMEM;
        return NULL;
    }
    is_taking = true;
    while ((result = fi_trecv(ofi.endpoint.ep, message->own, message->bytes, message->descriptor,
                              address, message->bits, 0, &message->operation.context)) ==
           -FI_EAGAIN)
        ofi_progress();
    is_taking = false;
    if (result == 0)
        ofi_operation_posted(&message->operation);
    else
        set_here(message, (int)-result);
    return message;
}

/* All of it is received if there is memory, since a provider may leave a sender waiting whose
 * message it discards. */
static void drop(ofi_message_t *message)
{
    if (!message->is_here && !receive_own(message)) {
        message->bytes = 0;
        ofi_receive_post(&message->operation);
    }
    message->is_dropped = true;
    if (message->is_here)
        end_message(message);
}

/* -- what is claimed -------------------------------------------------------------------- */

static int add_all(const ofi_tag_pattern_t *pattern)
{
    for (;;) {
        ofi_found_t there;
        int failure = ofi_look(NULL, FI_ADDR_UNSPEC, pattern, &there);
        if (failure != 0 || !there.is_there)
            return failure;
        ofi_message_t *message = ofi_message_take(FI_ADDR_UNSPEC, pattern, &there, &failure);
        if (message == NULL)
            return failure;
        opal_list_append(&claimed, &message->node);
    }
}

int ofi_claimed_add_all(uint32_t comm)
{
    ofi_tag_pattern_t pattern =
        ofi_tag_of_receive(&ofi.tags, comm, OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG);
    return add_all(&pattern);
}

int ofi_claimed_add_everything(void)
{
    ofi_tag_pattern_t pattern = ofi_tag_of_any(&ofi.tags, ompi_comm_highest_context());
    return add_all(&pattern);
}

bool ofi_any_is_claimed(void)
{
    return !opal_list_is_empty(&claimed);
}

static ofi_message_t *message_of(opal_list_node_t *node)
{
    return node == NULL ? NULL : opal_container_of(node, ofi_message_t, node);
}

/* Of a communicator that was not known when it was claimed, only now is it seen who is a rank. */
static ofi_message_t *find(const ofi_tag_pattern_t *pattern, const ompi_route_t *from)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&claimed); node != NULL; node = next) {
        ofi_message_t *message = message_of(node);
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

/* How long it is; false: that is not known yet, or *error says why not. */
static bool knows_length(ofi_message_t *message, size_t *bytes, int *error)
{
    *bytes = message->bytes;
    if (!is_beginning(message))
        return true;
    if (!receive_own(message)) {
        *error = MPI_ERR_NO_MEM;
        return false;
    }
    if (message->is_here && message->failure == 0) {
        ofi_long_head_t head;
        memcpy(&head, message->own, sizeof head);
        if (ofi_long_head_is_one(&head))
            *bytes = head.total;
    }
    return message->is_here;
}

ompi_mtl_message_t *ofi_message_hand_out(ofi_message_t *message, const ompi_route_t *from)
{
    message->base.route = *from;
    message->base.route.rank = ofi_source(message->bits, message->data);
    message->base.route.tag = ofi_tag_tag(&ofi.tags, message->bits);
    return &message->base;
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
        *taken = ofi_message_hand_out(message, from);
    }
    return true;
}

void ofi_message_tell(const ofi_message_t *message, MPI_Status *status)
{
    ofi_status_fill(status, message->bits, message->data, message->bytes);
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

/* -- throwing away ------------------------------------------------------------------- */

ofi_discard_t ofi_message_discard(const ofi_tag_pattern_t *pattern)
{
    ofi_operation_t operation = {.kind = NULL};
    ofi_found_t there;
    int failure;
    if (ofi.endpoint.quirks.packets_bytes > 0 || ofi.endpoint.quirks.never_discards) {
        ofi_ask(&operation, FI_ADDR_UNSPEC, pattern, 0, &there);
        if (!there.is_there)
            return OFI_NONE_LEFT; /* or it cannot be asked, which was told */
        if (!ofi_is_of_rank(NULL, there.bits, there.data))
            return ofi_swallow(FI_ADDR_UNSPEC, there.bits) ? OFI_DISCARDED : OFI_NOT_YET;
        if (ofi.endpoint.quirks.never_discards || has_to_be_whole(&there)) {
            ofi_message_t *message = ofi_message_take(FI_ADDR_UNSPEC, pattern, &there, &failure);
            if (message == NULL)
                return failure == 0 || failure == FI_ENOMEM ? OFI_NOT_YET : OFI_NONE_LEFT;
            drop(message);
            return OFI_DISCARDED;
        }
    }
    ofi_ask(&operation, FI_ADDR_UNSPEC, pattern, FI_DISCARD, &there);
    return there.is_there ? OFI_DISCARDED : OFI_NONE_LEFT;
}

bool ofi_claimed_drop(uint64_t bits, uint32_t rank, uint32_t behind)
{
    /* If some are left there, how many are behind it is not known. */
    if (ofi_claimed_add_all(ofi_tag_comm(&ofi.tags, bits)) != 0)
        return false;
    for (opal_list_node_t *node = claimed.head.previous; node != &claimed.head;
         node = node->previous) {
        ofi_message_t *message = message_of(node);
        if (message->bits != bits || (uint32_t)ofi_source(bits, message->data) != rank ||
            behind-- > 0)
            continue;
        opal_list_remove(node);
        drop(message);
        return true;
    }
    return false;
}

bool ofi_claimed_first(uint64_t *bits, uint64_t *data)
{
    const ofi_message_t *message = message_of(opal_list_first(&claimed));
    if (message == NULL)
        return false;
    *bits = message->bits;
    *data = message->data;
    return true;
}

void ofi_claimed_drop_first(void)
{
    ofi_message_t *message = message_of(opal_list_first(&claimed));
    opal_list_remove(&message->node);
    drop(message);
}

void ofi_claimed_forget(uint32_t comm)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&claimed); node != NULL; node = next) {
        next = opal_list_next(&claimed, node);
        if (ofi_tag_comm(&ofi.tags, message_of(node)->bits) != comm)
            continue;
        opal_list_remove(node);
        drop(message_of(node));
    }
}
