/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes in by mtl/ofi: control messages, heads of long messages, records of addresses. The
 * process is a job of one that talks to itself by a libfabric of ours, which matches as a provider
 * does and hands over what the input says. Byte 0 chooses among ways of writing tags and of
 * sending; then an input is a row of steps:
 *
 *   byte 0   what happens, modulo 12
 *            0 1  a send begins, standard or synchronous, of a length by the number
 *            2    a receive begins
 *            3    something that was sent comes in, by its number
 *            4    something that was sent comes in changed: the two bytes that follow say where
 *                 (offset) and how (xor)
 *            5    a control message: the 32 bytes that follow, with a rank's proof
 *            6    a message of a rank's, of so many bytes as follow; of the greatest length if the
 *                 number is odd
 *            7    a request is cancelled
 *            8    a probe, which takes the message out, and receives it, if the number is odd
 *            9    a send of the provider's ends, well or with an error
 *            10   so many bytes that follow are a record
 *            11   what is not received is refused, as in MPI_Finalize
 *   byte 1   the number
 *
 * Whatever comes: no byte outside of a buffer, nothing that has ended is used, and when the network
 * fails in the end every request ends.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/text.h"
#include "ompi/api/mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/mtl/ofi/ofi.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum {
    MAX_BYTES = 256,
    INJECT_BYTES = 64,
    LONGEST = 2000,
    MOST = 64, /* of each thing that there is a list of */
};

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

/* Texts for a person: of no interest here, and too many. */
void __wrap_opal_log_error(const char *format, ...);
void __wrap_opal_log_warning(const char *format, ...);
void __wrap_opal_log_error(const char *format OPAL_UNUSED, ...)
{
}
void __wrap_opal_log_warning(const char *format OPAL_UNUSED, ...)
{
}

/* -- the provider ------------------------------------------------------------------------------ */

typedef struct message {
    uint64_t tag, data;
    size_t length;
    void *claimed; /* the context that has taken it out; NULL: nobody */
    uint8_t bytes[LONGEST];
} message_t;

typedef struct posted {
    void *context;
    uint64_t tag, ignore;
    struct iovec segments[OFI_MAX_SEGMENTS];
    size_t count;
} posted_t;

static message_t sent[MOST], unexpected[MOST];
static posted_t receives[MOST];
static void *sends[MOST];
static struct fi_cq_err_entry completions[8 * MOST];
static uint64_t *names; /* that heads of long messages have told */
static unsigned name_count;
static unsigned sent_count, unexpected_count, receive_count, send_count, completion_count;

static void complete(void *context, uint64_t tag, uint64_t data, size_t length, int error)
{
    require(completion_count < OPAL_COUNT_OF(completions), "the queue has room");
    completions[completion_count++] = (struct fi_cq_err_entry){
        .op_context = context, .tag = tag, .data = data, .len = length, .err = error};
}

static void remove_at(void *items, size_t bytes, unsigned *count, unsigned index)
{
    char *at = (char *)items + index * bytes;
    memmove(at, at + bytes, (--*count - index) * bytes);
}

/* As far as it fits. */
static void hand_over(const message_t *message, const posted_t *receive)
{
    size_t done = 0;
    for (size_t i = 0; i < receive->count && done < message->length; i++) {
        size_t left = message->length - done, room = receive->segments[i].iov_len;
        size_t part = left < room ? left : room;
        if (part > 0)
            memcpy(receive->segments[i].iov_base, message->bytes + done, part);
        done += part;
    }
    int error = done < message->length ? FI_ETRUNC : 0;
    complete(receive->context, message->tag, message->data, done, error);
    completions[completion_count - 1].olen = message->length - done;
}

static bool is_for(uint64_t tag, uint64_t wanted, uint64_t ignore)
{
    return (tag & ~ignore) == (wanted & ~ignore);
}

static void arrive(const message_t *message)
{
    for (unsigned i = 0; i < receive_count; i++) {
        if (!is_for(message->tag, receives[i].tag, receives[i].ignore))
            continue;
        hand_over(message, &receives[i]);
        remove_at(receives, sizeof *receives, &receive_count, i);
        return;
    }
    if (unexpected_count < MOST)
        unexpected[unexpected_count++] = *message;
}

static int find_unexpected(uint64_t tag, uint64_t ignore, const void *claimed)
{
    for (unsigned i = 0; i < unexpected_count; i++) {
        if (unexpected[i].claimed == claimed && is_for(unexpected[i].tag, tag, ignore))
            return (int)i;
    }
    return -1;
}

static ssize_t post(const posted_t *receive, const void *claimed)
{
    int found = find_unexpected(receive->tag, receive->ignore, claimed);
    if (found >= 0) {
        hand_over(&unexpected[found], receive);
        remove_at(unexpected, sizeof *unexpected, &unexpected_count, (unsigned)found);
        return 0;
    }
    require(claimed == NULL, "what is received was taken out before");
    if (receive_count == MOST)
        return -FI_EAGAIN;
    receives[receive_count++] = *receive;
    return 0;
}

static ssize_t receive_msg(struct fid_ep *ep OPAL_UNUSED, const struct fi_msg_tagged *message,
                           uint64_t flags)
{
    posted_t receive = {message->context, message->tag, message->ignore,
                        .count = message->iov_count};
    for (size_t i = 0; i < receive.count; i++)
        receive.segments[i] = message->msg_iov[i];
    if ((flags & FI_PEEK) == 0)
        return post(&receive, (flags & FI_CLAIM) != 0 ? message->context : NULL);
    int found = find_unexpected(message->tag, message->ignore, NULL);
    if (found < 0) {
        complete(message->context, 0, 0, 0, FI_ENOMSG);
        return 0;
    }
    message_t *there = &unexpected[found];
    complete(message->context, there->tag, there->data, there->length, 0);
    if ((flags & FI_CLAIM) != 0)
        there->claimed = message->context;
    if ((flags & FI_DISCARD) != 0)
        remove_at(unexpected, sizeof *unexpected, &unexpected_count, (unsigned)found);
    return 0;
}

static ssize_t receive_vector(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                              fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    const struct fi_msg_tagged message = {iov, desc, count, from, tag, ignore, context, 0};
    return receive_msg(ep, &message, 0);
}

static ssize_t receive_one(struct fid_ep *ep, void *start, size_t length, void *desc,
                           fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    const struct iovec iov = {start, length};
    return receive_vector(ep, &iov, &desc, 1, from, tag, ignore, context);
}

static ssize_t send_msg(struct fid_ep *ep OPAL_UNUSED, const struct fi_msg_tagged *message,
                        uint64_t flags OPAL_UNUSED)
{
    if (sent_count == MOST || (message->context != NULL && send_count == MOST))
        return -FI_EAGAIN;
    message_t *own = &sent[sent_count++];
    *own = (message_t){.tag = message->tag, .data = message->data};
    for (size_t i = 0; i < message->iov_count; i++) {
        const struct iovec *segment = &message->msg_iov[i];
        require(own->length + segment->iov_len <= sizeof own->bytes, "what is sent is short");
        if (segment->iov_len > 0)
            memcpy(own->bytes + own->length, segment->iov_base, segment->iov_len);
        own->length += segment->iov_len;
    }
    if (own->length == MAX_BYTES) {
        names = opal_xrealloc(names, (name_count + 1) * sizeof *names);
        memcpy(&names[name_count++], own->bytes, sizeof *names);
    }
    if (message->context != NULL)
        sends[send_count++] = message->context;
    return 0;
}

static ssize_t send_data(struct fid_ep *ep, const void *start, size_t length, void *desc,
                         uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
    const struct iovec iov = {(void *)(uintptr_t)start, length};
    const struct fi_msg_tagged message = {&iov, &desc, 1, to, tag, 0, context, data};
    return send_msg(ep, &message, 0);
}

static ssize_t send_one(struct fid_ep *ep, const void *start, size_t length, void *desc,
                        fi_addr_t to, uint64_t tag, void *context)
{
    return send_data(ep, start, length, desc, 0, to, tag, context);
}

static ssize_t inject_data(struct fid_ep *ep, const void *start, size_t length, uint64_t data,
                           fi_addr_t to, uint64_t tag)
{
    return send_data(ep, start, length, NULL, data, to, tag, NULL);
}

static ssize_t inject_one(struct fid_ep *ep, const void *start, size_t length, fi_addr_t to,
                          uint64_t tag)
{
    return inject_data(ep, start, length, 0, to, tag);
}

static ssize_t cancel(struct fid *fid OPAL_UNUSED, void *context)
{
    for (unsigned i = 0; i < receive_count; i++) {
        if (receives[i].context != context)
            continue;
        complete(context, 0, 0, 0, FI_ECANCELED);
        remove_at(receives, sizeof *receives, &receive_count, i);
        break;
    }
    return 0;
}

static ssize_t read_queue(struct fid_cq *cq OPAL_UNUSED, void *to, size_t count)
{
    if (completion_count == 0 || count == 0)
        return -FI_EAGAIN;
    const struct fi_cq_err_entry *first = &completions[0];
    if (first->err != 0)
        return -FI_EAVAIL;
    *(struct fi_cq_tagged_entry *)to = (struct fi_cq_tagged_entry){
        .op_context = first->op_context, .tag = first->tag, .data = first->data, .len = first->len};
    remove_at(completions, sizeof *completions, &completion_count, 0);
    return 1;
}

static ssize_t read_error(struct fid_cq *cq OPAL_UNUSED, struct fi_cq_err_entry *to,
                          uint64_t flags OPAL_UNUSED)
{
    *to = completions[0];
    remove_at(completions, sizeof *completions, &completion_count, 0);
    return 1;
}

static struct fi_ops_tagged tagged_ops = {
    .size = sizeof tagged_ops,
    .recv = receive_one,
    .recvv = receive_vector,
    .recvmsg = receive_msg,
    .send = send_one,
    .sendmsg = send_msg,
    .senddata = send_data,
    .inject = inject_one,
    .injectdata = inject_data,
};
static struct fi_ops_ep ep_ops = {.size = sizeof ep_ops, .cancel = cancel};
static struct fi_ops_cq cq_ops = {.size = sizeof cq_ops, .read = read_queue, .readerr = read_error};
static struct fid_ep ep = {.ops = &ep_ops, .tagged = &tagged_ops};
static struct fid_cq cq = {.ops = &cq_ops};

/* -- the process --------------------------------------------------------------------------------
 */

static ompi_mtl_ops_t ops;
static ofi_request_t *requests[MOST];
static char *buffers[MOST];
static unsigned request_count;

static ofi_control_fn_t *const handlers[OFI_CONTROL_KINDS] = {
    [OFI_MATCHED] = ofi_send_matched,
    [OFI_REFUSED] = ofi_send_refused,
    [OFI_CTS] = ofi_long_cts,
};

static void begin(unsigned way)
{
    static struct fi_fabric_attr fabric = {.prov_name = "fuzz"};
    static struct fi_domain_attr domain;
    static struct fi_info info = {.fabric_attr = &fabric, .domain_attr = &domain};
    static const ofi_tag_mode_t modes[] = {OFI_TAG_FULL, OFI_TAG_1, OFI_TAG_2};
    opal_text_t reason = {0};
    sent_count = unexpected_count = receive_count = send_count = completion_count = 0;
    name_count = 0;
    ofi = (ofi_network_t){
        .endpoint = {.info = &info, .ep = &ep, .cq = &cq, .wait_fd = -1, .address_count = 1},
        .proof = 0x5ec4e7,
        .has_long = true,
        .max_bytes = MAX_BYTES,
        .inject_below = way / 6 % 2 != 0 ? MAX_BYTES + 1 : INJECT_BYTES + 1,
        .eager_below = INJECT_BYTES + 1,
        .send_segments = way / 3 % 4 == 0 ? 2 : 1,
        .receive_segments = 2,
    };
    ofi.endpoint.addresses = calloc(1, sizeof(fi_addr_t)); /* of this process: 0 */
    require(ofi_tag_layout_make(&ofi.tags, modes[way % 3], UINT64_MAX, &reason),
            "there is a layout");
    ofi.source_is_data = ofi.tags.mode == OFI_TAG_FULL;
    ofi.data_mask = ofi.source_is_data ? UINT64_MAX << 32 : 0;
    ofi.data_word = ofi.data_mask & 0x1234567800000000;
    ofi_queues_start();
    require(ofi_progress_start(1) == OPAL_SUCCESS && ofi_control_start(handlers) == OPAL_SUCCESS,
            "it starts");
}

static ompi_route_t route(void)
{
    return (ompi_route_t){&ompi_comm_world, OMPI_CONTEXT_USER, 0, 1};
}

/* On an error it is gone. */
static void start(bool is_send, ompi_send_mode_t mode, size_t bytes, ompi_mtl_message_t *taken)
{
    if (request_count == MOST && taken == NULL)
        return;
    ofi_request_t *request = calloc(1, sizeof *request);
    char *buffer = calloc(1, bytes + 1);
    ompi_request_init_bare(&request->base.base, NULL, &ompi_comm_world);
    request->base.route = route();
    request->base.data = (ompi_data_t){buffer, bytes, ompi_datatype_of(MPI_BYTE)};
    request->base.is_send = is_send;
    request->base.mode = mode;
    requests[request_count] = request;
    buffers[request_count++] = buffer;
    int error = is_send         ? ops.send(&request->base)
                : taken != NULL ? ops.receive_message(&request->base, taken)
                                : ops.receive(&request->base);
    require(error == MPI_SUCCESS, "what begins has begun");
}

static void release_done(void)
{
    unsigned left = 0;
    for (unsigned i = 0; i < request_count; i++) {
        if (ompi_request_is_done(&requests[i]->base.base)) {
            free(requests[i]);
            free(buffers[i]);
        } else {
            requests[left] = requests[i];
            buffers[left++] = buffers[i];
        }
    }
    request_count = left;
}

static void deliver(unsigned number, size_t offset, uint8_t change)
{
    if (sent_count == 0)
        return;
    message_t message = sent[number % sent_count];
    remove_at(sent, sizeof *sent, &sent_count, number % sent_count);
    if (message.length > 0)
        message.bytes[offset % message.length] ^= change;
    arrive(&message);
}

static void deliver_control(const uint8_t *bytes, size_t length)
{
    message_t message = {.tag = ofi_tag_of_control(&ofi.tags), .length = sizeof(ofi_control_t)};
    ofi_control_t control = {.kind = 0};
    size_t most = offsetof(ofi_control_t, proof);
    memcpy(&control, bytes, length < most ? length : most);
    control.kind %= OFI_CONTROL_KINDS + 1;
    control.process %= 2; /* there is 0 */
    control.proof = ofi.proof;
    memcpy(message.bytes, &control, sizeof control);
    arrive(&message);
}

static void deliver_message(const uint8_t *bytes, size_t length, bool is_beginning, bool is_sync)
{
    message_t message = {.tag = ofi_tag_of_message(&ofi.tags, ompi_comm_world.context,
                                                   OMPI_CONTEXT_USER, 0, 1, is_sync),
                         .data = ofi.data_word,
                         .length = is_beginning ? MAX_BYTES : length};
    memcpy(message.bytes, bytes, length < message.length ? length : message.length);
    arrive(&message);
}

static void look(bool takes)
{
    const ompi_route_t from = route();
    ompi_mtl_message_t *taken = NULL;
    bool found;
    MPI_Status status;
    if (request_count == MOST)
        return;
    int error = ops.probe(&from, &found, takes ? &taken : NULL, &status);
    require(error == MPI_SUCCESS, "a probe is no error");
    if (taken != NULL)
        start(false, OMPI_SEND_STANDARD, LONGEST, taken);
}

static void end_send(unsigned number, bool fails)
{
    if (send_count == 0)
        return;
    complete(sends[number % send_count], 0, 0, 0, fails ? FI_EIO : 0);
    remove_at(sends, sizeof *sends, &send_count, number % send_count);
}

static void read_record(const uint8_t *bytes, size_t length)
{
    opal_fabric_record_t record;
    uint8_t *own = malloc(length + 1); /* which ends where it ends */
    memcpy(own, bytes, length);
    if (opal_fabric_record_decode(&record, own, length)) {
        require(strlen(record.host) + strlen(record.provider) + strlen(record.fabric) +
                        record.added_bytes + record.address_bytes <
                    length,
                "all of it is in the bytes");
        opal_fabric_record_has_address(&record, record.address_format, record.address_bytes);
    }
    free(own);
}

static const uint8_t *step(const uint8_t *bytes, const uint8_t *end)
{
    static const size_t lengths[] = {0, 8, 65, 255, 256, 257, 700, LONGEST - 16};
    uint8_t what = bytes[0] % 12, number = bytes[1];
    bytes += 2;
    size_t taken = 0, left = (size_t)(end - bytes);
    switch (what) {
    case 0:
    case 1:
        start(true, what == 1 ? OMPI_SEND_SYNCHRONOUS : OMPI_SEND_STANDARD, lengths[number % 8],
              NULL);
        break;
    case 2:
        start(false, OMPI_SEND_STANDARD, lengths[number % 8], NULL);
        break;
    case 3:
        deliver(number, 0, 0);
        break;
    case 4:
        taken = left < 2 ? left : 2;
        if (taken == 2)
            deliver(number, bytes[0], bytes[1]);
        break;
    case 5:
        taken = left < 32 ? left : 32;
        deliver_control(bytes, taken);
        break;
    case 6:
        taken = left < number ? left : number;
        deliver_message(bytes, taken, number % 2 != 0, number % 4 > 1);
        break;
    case 7:
        if (request_count > 0)
            ops.cancel(&requests[number % request_count]->base);
        break;
    case 8:
        look(number % 2 != 0);
        break;
    case 9:
        end_send(number / 2, number % 2 != 0);
        break;
    case 10:
        taken = left < number ? left : number;
        read_record(bytes, taken);
        break;
    default:
        ops.finalize_drain();
        break;
    }
    ofi_progress();
    release_done();
    return bytes + taken;
}

static void say(ofi_control_kind_t kind, uint64_t name)
{
    const ofi_control_t no = {.kind = kind,
                              .name = name,
                              .bits =
                                  kind == OFI_REFUSED && request_count > 0 ? requests[0]->bits : 0,
                              .proof = ofi.proof};
    message_t message = {.tag = ofi_tag_of_control(&ofi.tags), .length = sizeof no};
    memcpy(message.bytes, &no, sizeof no);
    arrive(&message);
    ofi_progress();
    release_done();
}

/* What the provider has fails; who waits for a word gets one. */
static void fail_all(void)
{
    while (send_count > 0)
        end_send(0, true);
    while (receive_count > 1) { /* but the one for control messages, which is the first of all */
        bool is_ear = receives[0].tag == ofi_tag_of_control(&ofi.tags);
        complete(receives[is_ear].context, 0, 0, 0, FI_EIO);
        remove_at(receives, sizeof *receives, &receive_count, is_ear);
    }
    sent_count = 0;
    ofi_progress();
    release_done();
    if (request_count == 0)
        return;
    say(OFI_REFUSED, 0);
    for (unsigned i = 0; i < name_count; i++)
        say(OFI_CTS, names[i]);
}

static void finish(void)
{
    for (unsigned i = 0;
         i < 8 * MOST && (request_count > 0 || send_count > 0 || ofi_any_is_claimed() ||
                          ofi_has_queued() || completion_count > 0);
         i++) {
        fail_all();
        ops.forget_context(ompi_comm_world.context);
        ofi_progress();
        release_done();
    }
    require(request_count == 0, "every request ends");
    ofi_control_stop();
    ofi_progress_stop();
    ofi_long_stop();
    ofi_peers_stop();
    free(ofi.endpoint.addresses);
}

int LLVMFuzzerInitialize(int *argc OPAL_UNUSED, char ***argv OPAL_UNUSED)
{
    static const ofi_choice_t choice;
    setenv("OMPI_MCA_pmi", "singleton", 1);
    ofi_set_ops(&ops, &choice, false, NULL);
    return MPI_Init(NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const uint8_t *end = bytes + length;
    if (length == 0)
        return 0;
    begin(*bytes++);
    while (end - bytes >= 2)
        bytes = step(bytes, end);
    finish();
    return 0;
}
