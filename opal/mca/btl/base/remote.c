/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided operations. See remote.h. */
#include "opal/mca/btl/base/remote.h"

#include <stdlib.h>
#include <string.h>

#include "opal/arch/copy.h"
#include "opal/mca/btl/base/base.h"
#include "opal/node/region.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"
#include "opal/util/names.h"

typedef enum kind {
    PUT = OPAL_BTL_TRANSPORTS * OPAL_BTL_KINDS,
    GET,
    ATOMIC,
    DATA,
    ANSWER,
} kind_t;

typedef struct memory {
    uint64_t exposure, address, bytes;
} memory_t;

/* `memory`: of the whole operation, so that a PUT in parts is checked as a whole. */
typedef struct request {
    uint64_t operation;
    memory_t memory;
    uint64_t offset; /* of the bytes of a PUT */
} request_t;

typedef struct atomic_request {
    request_t request;
    uint64_t operand, compare;
    uint32_t atomic, reserved;
} atomic_request_t;

typedef struct data_head {
    uint64_t operation, offset;
} data_head_t;

typedef struct answer {
    uint64_t operation, bytes, result;
    uint32_t status, reserved;
} answer_t;

/* -- exposures ------------------------------------------------------------------------------- */

typedef struct exposure {
    uintptr_t base;
    size_t bytes;
    unsigned access;
} exposure_t;

static opal_names_t exposures;

uint64_t opal_btl_expose(void *base, size_t bytes, unsigned access)
{
    exposure_t *exposure = malloc(sizeof *exposure);
    if (exposure == NULL)
        return 0;
    *exposure = (exposure_t){(uintptr_t)base, bytes, access};
    uint64_t name = opal_names_add(&exposures, exposure);
    if (name == 0)
        free(exposure);
    return name;
}

void opal_btl_hide(uint64_t name)
{
    exposure_t *exposure = opal_names_find(&exposures, name);
    opal_names_remove(&exposures, name);
    free(exposure);
}

void *opal_btl_exposed(uint64_t name, uint64_t address, size_t bytes, unsigned access)
{
    const exposure_t *exposure = opal_names_find(&exposures, name);
    if (name == 0)
        return opal_region_has((const void *)(uintptr_t)address, bytes) ? (void *)(uintptr_t)address
                                                                        : NULL;
    if (exposure == NULL || (exposure->access & access) != access)
        return NULL;
    uint64_t offset = address - exposure->base;
    if (offset > exposure->bytes || bytes > exposure->bytes - offset)
        return NULL;
    return (void *)(uintptr_t)address;
}

/* -- on memory that is mapped here ----------------------------------------------------------- */

void opal_btl_put_here(opal_btl_operation_t *operation, void *where)
{
    opal_copy(where, operation->local, operation->bytes);
    operation->status = OPAL_SUCCESS;
}

void opal_btl_get_here(opal_btl_operation_t *operation, const void *where)
{
    opal_copy(operation->local, where, operation->bytes);
    operation->status = OPAL_SUCCESS;
}

#define APPLY(type, at, atomic, operand, compare, result)                                          \
    switch (atomic) {                                                                              \
    case OPAL_BTL_ADD:                                                                             \
        (result) = __atomic_fetch_add((type *)(at), (type)(operand), __ATOMIC_SEQ_CST);            \
        break;                                                                                     \
    case OPAL_BTL_AND:                                                                             \
        (result) = __atomic_fetch_and((type *)(at), (type)(operand), __ATOMIC_SEQ_CST);            \
        break;                                                                                     \
    case OPAL_BTL_OR:                                                                              \
        (result) = __atomic_fetch_or((type *)(at), (type)(operand), __ATOMIC_SEQ_CST);             \
        break;                                                                                     \
    case OPAL_BTL_XOR:                                                                             \
        (result) = __atomic_fetch_xor((type *)(at), (type)(operand), __ATOMIC_SEQ_CST);            \
        break;                                                                                     \
    case OPAL_BTL_SWAP:                                                                            \
        (result) = __atomic_exchange_n((type *)(at), (type)(operand), __ATOMIC_SEQ_CST);           \
        break;                                                                                     \
    case OPAL_BTL_CAS: {                                                                           \
        type found = (type)(compare);                                                              \
        __atomic_compare_exchange_n((type *)(at), &found, (type)(operand), false,                  \
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                           \
        (result) = found;                                                                          \
        break;                                                                                     \
    }                                                                                              \
    }

static bool is_sound_atomic(uint64_t address, size_t bytes, unsigned atomic)
{
    return (bytes == 4 || bytes == 8) && address % bytes == 0 && atomic <= OPAL_BTL_CAS;
}

static uint64_t apply(void *at, size_t bytes, unsigned atomic, uint64_t operand, uint64_t compare)
{
    uint64_t result = 0;
    if (bytes == 8)
        APPLY(uint64_t, at, atomic, operand, compare, result)
    else
        APPLY(uint32_t, at, atomic, operand, compare, result)
    return result;
}

void opal_btl_atomic_here(opal_btl_operation_t *operation, void *where)
{
    operation->status = OPAL_ERR_BAD_PARAM;
    if (!is_sound_atomic(operation->address, operation->bytes, operation->atomic))
        return;
    operation->result =
        apply(where, operation->bytes, operation->atomic, operation->operand, operation->compare);
    operation->status = OPAL_SUCCESS;
}

/* -- what waits for room --------------------------------------------------------------------- */

/* Bytes that a peer has asked for, or an answer. */
typedef struct reply {
    opal_list_node_t node;
    opal_btl_peer_t *peer;
    bool is_data;
    memory_t memory; /* of bytes: what is left to be sent */
    size_t sent;
    answer_t answer;
} reply_t;

static opal_names_t operations;
static opal_list_t unsent = {{&unsent.head, &unsent.head}}; /* opal_btl_operation_t */
static opal_list_t unanswered = {{&unanswered.head, &unanswered.head}};
static opal_list_t replies = {{&replies.head, &replies.head}}; /* reply_t */

static size_t longest(const opal_btl_peer_t *peer, size_t head_bytes, size_t left)
{
    size_t most = peer->ops->max_frame_bytes - head_bytes;
    return left < most ? left : most;
}

/* -- the initiator --------------------------------------------------------------------------- */

static void finish(opal_btl_operation_t *operation)
{
    opal_list_remove(&operation->node);
    opal_names_remove(&operations, operation->name);
    operation->done(operation);
}

static request_t request_of(const opal_btl_operation_t *operation)
{
    return (request_t){.operation = operation->name,
                       .memory = {operation->exposure, operation->address, operation->bytes}};
}

static bool push_put(opal_btl_peer_t *peer, opal_btl_operation_t *operation)
{
    do {
        size_t part = longest(peer, sizeof(request_t), operation->bytes - operation->begun);
        request_t head = request_of(operation);
        head.offset = operation->begun;
        if (!opal_btl_send_frame(peer, PUT, &head, sizeof head,
                                 (char *)operation->local + operation->begun, part))
            return false;
        operation->begun += part;
    } while (operation->begun < operation->bytes);
    return true;
}

static bool push_atomic(opal_btl_peer_t *peer, const opal_btl_operation_t *operation)
{
    atomic_request_t head = {
        .request = request_of(operation),
        .operand = operation->operand,
        .compare = operation->compare,
        .atomic = operation->atomic,
    };
    return opal_btl_send_frame(peer, ATOMIC, &head, sizeof head, NULL, 0);
}

/* Sends all frames of the operation. False: no room now. */
static bool push(opal_btl_operation_t *operation)
{
    opal_btl_peer_t *peer = operation->peer;
    if (operation->kind == PUT)
        return push_put(peer, operation);
    if (operation->kind == ATOMIC)
        return push_atomic(peer, operation);
    request_t head = request_of(operation);
    return opal_btl_send_frame(peer, GET, &head, sizeof head, NULL, 0);
}

static bool push_reply(reply_t *reply);

static int push_all(void *state OPAL_UNUSED)
{
    int pushed = 0;
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&replies); node != NULL; node = next) {
        reply_t *reply = opal_container_of(node, reply_t, node);
        next = opal_list_next(&replies, node);
        if (!push_reply(reply))
            continue;
        opal_list_remove(node);
        free(reply);
        pushed++;
    }
    for (opal_list_node_t *node = opal_list_first(&unsent); node != NULL; node = next) {
        opal_btl_operation_t *operation = opal_container_of(node, opal_btl_operation_t, node);
        next = opal_list_next(&unsent, node);
        if (!push(operation))
            continue;
        opal_list_remove(node);
        opal_list_append(&unanswered, node);
        pushed++;
    }
    if (opal_list_is_empty(&unsent) && opal_list_is_empty(&replies))
        opal_progress_remove(push_all, NULL);
    return pushed;
}

static void wait_for_room(opal_list_t *list, opal_list_node_t *node)
{
    if (opal_list_is_empty(&unsent) && opal_list_is_empty(&replies))
        opal_progress_add(push_all, NULL);
    opal_list_append(list, node);
}

static bool begin(opal_btl_peer_t *peer, opal_btl_operation_t *operation, kind_t kind)
{
    operation->peer = peer;
    operation->kind = kind;
    operation->begun = operation->ended = 0;
    operation->status = peer->is_unreachable ? OPAL_ERR_DISCONNECTED : OPAL_SUCCESS;
    if (operation->bytes == 0 || peer->is_unreachable)
        return true;
    operation->name = opal_names_add(&operations, operation);
    if (operation->name == 0) {
        operation->status = OPAL_ERR_NO_MEMORY;
        return true;
    }
    if (push(operation))
        opal_list_append(&unanswered, &operation->node);
    else
        wait_for_room(&unsent, &operation->node);
    return false;
}

bool opal_btl_put_by_frames(opal_btl_peer_t *peer, opal_btl_operation_t *operation)
{
    return begin(peer, operation, PUT);
}

bool opal_btl_get_by_frames(opal_btl_peer_t *peer, opal_btl_operation_t *operation)
{
    return begin(peer, operation, GET);
}

bool opal_btl_atomic_by_frames(opal_btl_peer_t *peer, opal_btl_operation_t *operation)
{
    if (is_sound_atomic(operation->address, operation->bytes, operation->atomic))
        return begin(peer, operation, ATOMIC);
    operation->status = OPAL_ERR_BAD_PARAM;
    return true;
}

/* An operation that this process has begun with that peer; NULL: none, or it has ended. */
static opal_btl_operation_t *find(uint64_t name, const opal_process_t *from)
{
    opal_btl_operation_t *operation = opal_names_find(&operations, name);
    return operation != NULL && operation->peer->process == from ? operation : NULL;
}

/* So many bytes are done. False: the operation does not expect them. */
static bool advance(opal_btl_operation_t *operation, size_t bytes)
{
    if (operation == NULL || bytes == 0 || bytes > operation->bytes - operation->ended)
        return false;
    operation->ended += bytes;
    if (operation->ended == operation->bytes)
        finish(operation);
    return true;
}

static bool take_data(const opal_process_t *from, const void *bytes, size_t length)
{
    data_head_t head;
    memcpy(&head, bytes, sizeof head);
    opal_btl_operation_t *operation = find(head.operation, from);
    size_t part = length - sizeof head;
    if (operation == NULL || operation->kind != GET || head.offset > operation->bytes ||
        part > operation->bytes - head.offset)
        return false;
    opal_copy((char *)operation->local + head.offset, (const char *)bytes + sizeof head, part);
    return advance(operation, part);
}

static bool take_answer(const opal_process_t *from, const void *bytes)
{
    answer_t answer;
    memcpy(&answer, bytes, sizeof answer);
    opal_btl_operation_t *operation = find(answer.operation, from);
    if (operation == NULL || answer.status >= OPAL_STATUS_COUNT)
        return false;
    if (answer.status != OPAL_SUCCESS)
        operation->status = (opal_status_t)answer.status;
    operation->result = answer.result;
    return advance(operation, answer.bytes);
}

/* -- the target ------------------------------------------------------------------------------ */

/* If the memory is no longer exposed, the rest is answered with an error. */
static bool push_data(reply_t *reply)
{
    memory_t *memory = &reply->memory;
    while (memory->bytes > 0) {
        data_head_t head = {reply->answer.operation, reply->sent};
        size_t part = longest(reply->peer, sizeof head, memory->bytes);
        const void *here =
            opal_btl_exposed(memory->exposure, memory->address, memory->bytes, OPAL_BTL_READ);
        if (here == NULL) {
            reply->is_data = false;
            reply->answer.bytes = memory->bytes;
            reply->answer.status = OPAL_ERR_BAD_PARAM;
            return push_reply(reply);
        }
        if (!opal_btl_send_frame(reply->peer, DATA, &head, sizeof head, here, part))
            return false;
        reply->sent += part;
        memory->address += part;
        memory->bytes -= part;
    }
    return true;
}

static bool push_reply(reply_t *reply)
{
    if (reply->is_data)
        return push_data(reply);
    return opal_btl_send_frame(reply->peer, ANSWER, &reply->answer, sizeof reply->answer, NULL, 0);
}

/* Where the next `part` bytes of a request are; NULL: the peer may not access them like that. */
static void *reach(unsigned kind, const atomic_request_t *head, size_t part)
{
    static const unsigned access[] = {OPAL_BTL_WRITE, OPAL_BTL_READ,
                                      OPAL_BTL_READ | OPAL_BTL_WRITE};
    const memory_t *memory = &head->request.memory;
    uint64_t offset = head->request.offset;
    if (offset > memory->bytes || part > memory->bytes - offset)
        return NULL;
    if (kind == ATOMIC && !is_sound_atomic(memory->address, memory->bytes, head->atomic))
        return NULL;
    char *first =
        opal_btl_exposed(memory->exposure, memory->address, memory->bytes, access[kind - PUT]);
    return first != NULL ? first + offset : NULL;
}

/* There was no memory for the peer: a later try may succeed. */
static bool may_connect_later(const opal_process_t *process)
{
    return opal_process_end(process, OPAL_END_BTL) == NULL;
}

/* False: there is no memory for the answer or for the peer, so the frame is delivered again. */
static bool take_request(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    atomic_request_t head = {.operand = 0};
    memcpy(&head, bytes, kind == ATOMIC ? sizeof head : sizeof head.request);
    const memory_t *memory = &head.request.memory;
    opal_btl_peer_t *peer = opal_btl_connect(from);
    reply_t *reply = malloc(sizeof *reply);
    if (reply == NULL || (peer == NULL && may_connect_later(from))) {
        free(reply);
        return false;
    }
    size_t part = kind == PUT ? length - sizeof head.request : memory->bytes;
    void *here = reach(kind, &head, part);
    *reply = (reply_t){.peer = peer, .is_data = kind == GET, .memory = *memory};
    reply->answer = (answer_t){.operation = head.request.operation,
                               .bytes = part,
                               .status = here != NULL ? OPAL_SUCCESS : OPAL_ERR_BAD_PARAM};
    if (here != NULL && kind == PUT)
        opal_copy(here, (const char *)bytes + sizeof head.request, part);
    if (here != NULL && kind == ATOMIC)
        reply->answer.result = apply(here, memory->bytes, head.atomic, head.operand, head.compare);
    if (peer == NULL || peer->is_unreachable || push_reply(reply))
        free(reply);
    else
        wait_for_room(&replies, &reply->node);
    return true;
}

/* -- the client ------------------------------------------------------------------------------ */

static bool receive(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    static const size_t least[] = {sizeof(request_t), sizeof(request_t), sizeof(atomic_request_t),
                                   sizeof(data_head_t), sizeof(answer_t)};
    static bool is_reported;
    bool fits = kind <= ANSWER && length >= least[kind - PUT];
    if (fits && kind <= ATOMIC)
        return take_request(from, kind, bytes, length);
    if (fits)
        fits = kind == DATA ? take_data(from, bytes, length) : take_answer(from, bytes);
    const opal_btl_peer_t *peer = opal_process_end(from, OPAL_END_BTL);
    if (fits || is_reported ||
        (peer != NULL && peer->is_unreachable)) /* its operations have ended before */
        return true;
    is_reported = true;
    char text[OPAL_PROCESS_TEXT_BYTES];
    opal_log_warning("%s sent something about an operation on memory (kind %u, %zu bytes) that is "
                     "none of this process's; it is dropped, as all others like it",
                     opal_process_text(from, text), kind, length);
    return true;
}

static void fail_all_of(opal_list_t *list, const opal_process_t *target)
{
    opal_list_node_t *node = opal_list_first(list);
    while (node != NULL) {
        opal_btl_operation_t *operation = opal_container_of(node, opal_btl_operation_t, node);
        if (target != NULL && operation->peer->process != target) {
            node = opal_list_next(list, node);
            continue;
        }
        operation->status = OPAL_ERR_DISCONNECTED;
        finish(operation);
        node = opal_list_first(list); /* its callback may have changed the list */
    }
}

static void drop_replies_to(const opal_process_t *process)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&replies); node != NULL; node = next) {
        reply_t *reply = opal_container_of(node, reply_t, node);
        next = opal_list_next(&replies, node);
        if (process != NULL && reply->peer->process != process)
            continue;
        opal_list_remove(node);
        free(reply);
    }
}

static void left(opal_process_t *process)
{
    drop_replies_to(process);
    fail_all_of(&unsent, process);
    fail_all_of(&unanswered, process);
}

static void failed(opal_process_t *process, opal_status_t why OPAL_UNUSED)
{
    left(process);
}

const opal_btl_client_t opal_btl_remote_client = {
    .receive = receive, .failed = failed, .left = left};

void opal_btl_remote_stop(void)
{
    opal_progress_remove(push_all, NULL);
    left(NULL);
    opal_names_free(&operations);
}
