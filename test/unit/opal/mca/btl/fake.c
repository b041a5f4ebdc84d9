/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport to oneself that is as awkward as the contract lets it be: every third reserve
 * fails, room moves, one frame a call is delivered, and there is no pull.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/base/remote.h"
#include "opal/util/text.h"

typedef struct frame {
    struct frame *next;
    unsigned kind;
    size_t length;
    uint64_t bytes[];
} frame_t;

typedef struct fake {
    opal_btl_peer_t peer;
    frame_t *first, **last, *reserved;
    unsigned reserves;
} fake_t;

enum { EAGER_BYTES = 1000, FRAME_BYTES = EAGER_BYTES + 128 };

static fake_t fake;

static opal_status_t fake_start(void *state)
{
    fake_t *self = state;
    self->peer.process = opal_process_self();
    self->peer.is_unreachable = false;
    self->first = NULL;
    self->last = &self->first;
    return OPAL_SUCCESS;
}

static opal_status_t fake_connect(void *state, opal_process_t *process, opal_btl_peer_t **peer)
{
    fake_t *self = state;
    if (process != self->peer.process)
        return OPAL_ERR_NOT_AVAILABLE;
    *peer = &self->peer;
    return OPAL_SUCCESS;
}

static void *fake_reserve(opal_btl_peer_t *peer, size_t length)
{
    fake_t *self = opal_container_of(peer, fake_t, peer);
    if (self->reserves++ % 3 == 0)
        return NULL;
    self->reserved = opal_xmalloc(sizeof *self->reserved + length);
    return self->reserved->bytes;
}

static void fake_commit(opal_btl_peer_t *peer, void *room OPAL_UNUSED, unsigned kind, size_t length)
{
    fake_t *self = opal_container_of(peer, fake_t, peer);
    self->reserved->next = NULL;
    self->reserved->kind = kind;
    self->reserved->length = length;
    *self->last = self->reserved;
    self->last = &self->reserved->next;
}

static int fake_progress(void *state)
{
    fake_t *self = state;
    frame_t *frame = self->first;
    if (frame == NULL)
        return 0;
    if (!opal_btl_deliver(self->peer.process, frame->kind, frame->bytes, frame->length))
        return 0;
    self->first = frame->next;
    if (self->first == NULL)
        self->last = &self->first;
    free(frame);
    return 1;
}

static void fake_stop(void *state)
{
    fake_t *self = state;
    opal_btl_forget(&self->peer);
    while (self->first != NULL) {
        frame_t *next = self->first->next;
        free(self->first);
        self->first = next;
    }
}

static const opal_btl_ops_t fake_ops = {
    .name = "fake",
    .eager_bytes = EAGER_BYTES,
    .max_frame_bytes = FRAME_BYTES,
    .start = fake_start,
    .connect = fake_connect,
    .reserve = fake_reserve,
    .commit = fake_commit,
    .send_short = opal_btl_send_short,
    .progress = fake_progress,
    .put = opal_btl_put_by_frames,
    .get = opal_btl_get_by_frames,
    .atomic = opal_btl_atomic_by_frames,
    .stop = fake_stop,
};

static void fake_query(opal_answer_t *answer)
{
    fake.peer = (opal_btl_peer_t){.ops = &fake_ops};
    opal_answer_yes(answer, 1, &fake_ops, &fake, "for a test");
}

extern const opal_component_t mca_btl_fake_component;
const opal_component_t mca_btl_fake_component = {
    OPAL_COMPONENT_HEAD(btl, fake),
    .prose = "awkward",
    .query = fake_query,
};
