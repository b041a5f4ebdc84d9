/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl/self: what a rank sends to itself. A frame is written into a queue of buffers and delivered
 * from there by progress, so that no receive runs inside of a send. A long message is copied once,
 * by rndv_get. This is the smallest transport: an example for new ones.
 */
#include <stdlib.h>

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/base/remote.h"
#include "opal/progress/wait.h"
#include "opal/util/segments.h"
#include "opal/util/text.h"

enum {
    EAGER_BYTES = 4096,
    FRAME_BYTES = EAGER_BYTES + 128, /* with the upper layer's header */
    FRAME_COUNT = 64,
};

typedef struct frame {
    unsigned kind;
    size_t length;
    _Alignas(8) unsigned char bytes[FRAME_BYTES];
} frame_t;

/* Frames from `head` to `tail` wait for delivery; both grow while there are any. */
typedef struct self {
    opal_btl_peer_t peer; /* the only one */
    frame_t *frames;      /* FRAME_COUNT */
    unsigned head, tail;
} self_t;

static self_t self_state;

static opal_status_t self_start(void *state)
{
    self_t *self = state;
    self->peer.process = opal_process_self();
    self->peer.is_unreachable = false;
    self->frames = malloc(FRAME_COUNT * sizeof *self->frames);
    if (self->frames == NULL)
        return OPAL_ERR_NO_MEMORY;
    self->head = self->tail = 0;
    return OPAL_SUCCESS;
}

static opal_status_t self_connect(void *state, opal_process_t *process, opal_btl_peer_t **peer)
{
    self_t *self = state;
    if (process != self->peer.process)
        return OPAL_ERR_NOT_AVAILABLE;
    *peer = &self->peer;
    return OPAL_SUCCESS;
}

static void *self_reserve(opal_btl_peer_t *peer, size_t length OPAL_UNUSED)
{
    self_t *self = opal_container_of(peer, self_t, peer);
    if (self->tail == self->head)
        self->tail = self->head = 0; /* the first frames stay in the cache */
    if (self->tail - self->head == FRAME_COUNT)
        return NULL;
    return self->frames[self->tail % FRAME_COUNT].bytes;
}

static void self_commit(opal_btl_peer_t *peer, void *room OPAL_UNUSED, unsigned kind, size_t length)
{
    self_t *self = opal_container_of(peer, self_t, peer);
    frame_t *frame = &self->frames[self->tail++ % FRAME_COUNT];
    frame->kind = kind;
    frame->length = length;
    opal_wait_poke(); /* the sender may be another thread than the one that polls */
}

/* Frames that the client sends meanwhile wait for the next call. */
static int self_progress(void *state)
{
    self_t *self = state;
    unsigned end = self->tail;
    int count = 0;
    for (; self->head != end; count++) {
        const frame_t *frame = &self->frames[self->head % FRAME_COUNT];
        if (!opal_btl_deliver(self->peer.process, frame->kind, frame->bytes, frame->length))
            break;
        self->head++;
    }
    return count;
}

static void self_stop(void *state)
{
    self_t *self = state;
    opal_btl_forget(&self->peer);
    free(self->frames);
    self->frames = NULL;
}

static ssize_t self_rndv_get(opal_btl_peer_t *peer OPAL_UNUSED, const struct iovec *to,
                             size_t to_count, const struct iovec *from, size_t from_count,
                             uint32_t slot OPAL_UNUSED)
{
    return (ssize_t)opal_segments_copy(to, to_count, from, from_count, 0);
}

/* The peer is this process. NULL: that memory is not exposed. */
static void *reach(const opal_btl_operation_t *operation, unsigned access)
{
    return opal_btl_exposed(operation->exposure, operation->address, operation->bytes, access);
}

static bool self_put(opal_btl_peer_t *peer OPAL_UNUSED, opal_btl_operation_t *operation)
{
    void *where = reach(operation, OPAL_BTL_WRITE);
    operation->status = OPAL_ERR_BAD_PARAM;
    if (where != NULL)
        opal_btl_put_here(operation, where);
    return true;
}

static bool self_get(opal_btl_peer_t *peer OPAL_UNUSED, opal_btl_operation_t *operation)
{
    const void *where = reach(operation, OPAL_BTL_READ);
    operation->status = OPAL_ERR_BAD_PARAM;
    if (where != NULL)
        opal_btl_get_here(operation, where);
    return true;
}

static bool self_atomic(opal_btl_peer_t *peer OPAL_UNUSED, opal_btl_operation_t *operation)
{
    void *where = reach(operation, OPAL_BTL_READ | OPAL_BTL_WRITE);
    operation->status = OPAL_ERR_BAD_PARAM;
    if (where != NULL)
        opal_btl_atomic_here(operation, where);
    return true;
}

static const char *self_describe(opal_btl_peer_t *peer OPAL_UNUSED)
{
    return "queue in memory, get by copying";
}

static const opal_btl_ops_t self_ops = {
    .name = "self",
    .eager_bytes = EAGER_BYTES,
    .max_frame_bytes = FRAME_BYTES,
    .start = self_start,
    .connect = self_connect,
    .reserve = self_reserve,
    .commit = self_commit,
    .send_short = opal_btl_send_short,
    .progress = self_progress,
    .put = self_put,
    .get = self_get,
    .atomic = self_atomic,
    .stop = self_stop,
    .rndv_get = self_rndv_get,
    .describe = self_describe,
};

static void self_query(opal_answer_t *answer)
{
    self_state.peer = (opal_btl_peer_t){.ops = &self_ops};
    opal_answer_yes(answer, 100, &self_ops, &self_state, "every rank can send to itself");
}

OPAL_EXPORT extern const opal_component_t mca_btl_self_component;
const opal_component_t mca_btl_self_component = {
    OPAL_COMPONENT_HEAD(btl, self),
    .prose = "what a rank sends to itself",
    .query = self_query,
};
