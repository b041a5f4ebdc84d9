/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl/sm: frames through rings in the node's segment, one for each ordered pair of ranks that talk.
 * So a process pays, in memory and in time, only for the peers that talk to it. Here: start and
 * stop, peers, and the component. sm.h lists the other parts.
 *
 * A rank that stops closes its inbox and returns each ring that it reads to the ring's writer, by
 * the writer's inbox. A returned ring tells the writer that the reader has left, and that
 * everything that the reader has sent can be seen. A writer that finds the inbox closed returns the
 * ring to itself. When both have stopped, and the writer starts again, it reuses the ring.
 */
#include "opal/mca/btl/sm/foreign.h"
#include "opal/mca/btl/sm/sm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/arch/copy.h"
#include "opal/mca/btl/base/base.h"
#include "opal/process/job.h"
#include "opal/node/region.h"
#include "opal/progress/wait.h"
#include "opal/include/clock.h"
#include "opal/util/text.h"

enum {
    EARLY_GETS = 32,
    HEADER_BYTES = 128, /* the upper layer's, at most; see btl.h */
};

static size_t eager_limit, direct_limit, ring_bytes, lane_bytes;
int sm_use_cma; /* sm_cma_t */
bool sm_between_jobs;
unsigned sm_connect_sec;

/* The slot of a process that nobody can find. */
static opal_node_slot_t nobody;

static const opal_param_choice_t cma_choices[] = {
    {"no", SM_CMA_NO}, {"auto", SM_CMA_AUTO}, {"always", SM_CMA_ALWAYS}, {0}};

static const opal_param_row_t params[] = {
    {.name = "eager_limit",
     .type = OPAL_PARAM_SIZE,
     .value = &eager_limit,
     .preset = "4K",
     .min = "256",
     .max = "16M",
     .unit = "bytes",
     .prose = "The longest message that is sent eagerly: in one frame, without asking the "
              "receiver"},
    {.name = "direct_limit",
     .type = OPAL_PARAM_SIZE,
     .value = &direct_limit,
     .preset = "4K",
     .min = "256",
     .unit = "bytes",
     .prose = "The shortest message that the receiver copies straight from the sender's buffer, "
              "by rendezvous, if that buffer is in the shared heap; a shorter one is sent eagerly"},
    {.name = "ring_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ring_bytes,
     .preset = "0",
     .max = "1G",
     .unit = "bytes",
     .prose = "The size of the ring that carries frames from one rank of a node to another, in "
              "one direction; it is rounded up to a power of 2; 0: by the number of ranks"},
    {.name = "lane_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &lane_bytes,
     .preset = "128K",
     .max = "1G",
     .unit = "bytes",
     .prose = "The size of the rings that threads use which have communicators of their own, at "
              "MPI_THREAD_MULTIPLE: up to 8 for each pair of ranks; at most btl_sm_ring_bytes, "
              "rounded up to a power of 2; 0: all threads share one ring"},
    {.name = "use_cma",
     .type = OPAL_PARAM_ENUM,
     .value = &sm_use_cma,
     .preset = "auto",
     .choices = cma_choices,
     .prose = "Whether the receiver reads long messages out of the sender's memory by "
              "process_vm_readv (CMA), if the system permits it; auto: where this is measured to "
              "be faster; always: also where it is not"},
    {.name = "between_jobs",
     .type = OPAL_PARAM_BOOL,
     .value = &sm_between_jobs,
     .preset = "yes",
     .prose = "Whether processes of different jobs on one host exchange messages through shared "
              "memory, if the system lets them pass it to each other"},
    {.name = "connect_timeout",
     .is_internal = true,
     .type = OPAL_PARAM_UNSIGNED,
     .value = &sm_connect_sec,
     .preset = "8",
     .min = "1",
     .max = "3600",
     .unit = "s",
     .prose = "How long a process of another job that calls this one waits until this one knows "
              "it"},
    {0},
};

/* -- setting up --------------------------------------------------------------------------- */

static void release(sm_t *self)
{
    free(self->peers);
    for (unsigned i = 0; i < SM_WAYS; i++)
        free(self->ways[i].readers);
    free(self->reported);
    *self = (sm_t){.ring_bytes = self->ring_bytes, .lane_bytes = self->lane_bytes};
}

void sm_set_slot(sm_t *self, opal_node_slot_t *own)
{
    uint32_t closed = OPAL_NODE_INBOX_CLOSED; /* by an earlier stop */
    self->own = own != NULL ? own : &nobody;
    atomic_compare_exchange_strong(&self->own->inbox, &closed, 0);
    if (sm_use_cma != SM_CMA_NO && own != NULL)
        opal_node_permit_reading(own);
}

/* Room for so many peers. False: no memory. */
static bool make_room(sm_t *self, unsigned count)
{
    sm_peer_t **peers = realloc(self->peers, count * sizeof(sm_peer_t *));
    if (peers != NULL)
        self->peers = peers;
    bool *reported = realloc(self->reported, count * sizeof *reported);
    if (reported != NULL)
        self->reported = reported;
    if (peers == NULL || reported == NULL)
        return false;
    for (unsigned i = self->peer_count; i < count; i++) {
        peers[i] = NULL;
        reported[i] = false;
    }
    self->peer_count = count;
    return true;
}

static opal_status_t sm_start(void *state)
{
    sm_t *self = state;
    unsigned ranks = opal_node_ranks();
    if (ranks > 0 && !make_room(self, ranks)) {
        release(self);
        return OPAL_ERR_NO_MEMORY;
    }
    sm_set_slot(self, opal_node_own_slot());
    return OPAL_SUCCESS;
}

static opal_btl_ops_t ops;

/* NULL: no memory. */
static sm_peer_t *add_peer(sm_t *self, opal_process_t *process, unsigned local_rank,
                           opal_node_slot_t *slot)
{
    sm_peer_t *peer = aligned_alloc(_Alignof(sm_peer_t), sizeof *peer);
    if (peer == NULL)
        return NULL;
    *peer = (sm_peer_t){
        .base = {.ops = &ops, .process = process, .is_unreachable = self->reported[local_rank]},
        .slot = slot,
        .local_rank = local_rank,
        .get_state = sm_use_cma != SM_CMA_NO ? SM_GET_UNKNOWN : SM_GET_FORBIDDEN,
    };
    self->peers[local_rank] = peer;
    return peer;
}

/* With a number that no other peer has. */
sm_peer_t *sm_new_peer(sm_t *self, opal_process_t *process, opal_node_slot_t *slot)
{
    unsigned number = opal_node_ranks();
    while (number < self->peer_count && self->peers[number] != NULL)
        number++;
    if (number == self->peer_count && !make_room(self, number > 0 ? 2 * number : 4))
        return NULL;
    self->reported[number] = false;
    return add_peer(self, process, number, slot);
}

void sm_retire(sm_peer_t *peer)
{
    bool *reported = &sm_state.reported[peer->local_rank];
    sm_state.left_count -= peer->has_left && !*reported;
    *reported = true;
}

/* The last reader takes the place of the one that is removed. */
void sm_remove_peer(sm_peer_t *peer)
{
    sm_way_t *way = &sm_state.ways[0];
    ring_reader_t *reader = sm_find_reader(way, peer->local_rank);
    if (reader != NULL) {
        *reader = way->readers[--way->count];
        sm_peer_t *moved = sm_state.peers[reader->local_rank];
        if (moved != NULL)
            moved->reader = 0;
    }
    sm_state.peers[peer->local_rank] = NULL;
    free(peer);
}

static opal_status_t sm_connect(void *state, opal_process_t *process, opal_btl_peer_t **peer)
{
    sm_t *self = state;
    if (opal_process_is_foreign(process->index))
        return sm_foreign_connect(self, process, peer);
    int local_rank = opal_node_local_rank(process->index);
    if (local_rank < 0 || process == opal_process_self())
        return OPAL_ERR_NOT_AVAILABLE;
    sm_peer_t *known = self->peers[local_rank];
    if (known == NULL) {
        known = add_peer(self, process, (unsigned)local_rank, opal_node_slot((unsigned)local_rank));
        if (known == NULL)
            return OPAL_ERR_NO_MEMORY;
        if (opal_node_peer_is_dead((unsigned)local_rank))
            self->deaths = ~opal_node_deaths(); /* so that the next poll looks for it */
    }
    *peer = &known->base;
    return OPAL_SUCCESS;
}

static void sm_stop(void *state)
{
    sm_t *self = state;
    sm_foreign_stop(self);
    sm_return_rings(self);
    for (unsigned i = 0; i < self->peer_count; i++) {
        sm_peer_t *peer = self->peers[i];
        if (peer == NULL)
            continue;
        opal_btl_forget(&peer->base);
        sm_drop_prepared(peer);
        for (unsigned lane = 0; lane < OPAL_BTL_LANES; lane++)
            free(peer->lanes[lane]);
        free(peer);
    }
    release(self);
}

/* A peer of this job has our memory mapped if we have its memory mapped: both have the region, or
 * not. One of another job says so. */
static bool sm_is_mapped(opal_btl_peer_t *base, const void *start, size_t bytes)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    return opal_region_has(start, bytes) && sm_maps_any(peer) &&
           (peer->foreign == NULL || peer->foreign->maps_us);
}

static const void *sm_map_start(opal_btl_peer_t *base, uintptr_t start, size_t bytes)
{
    return sm_map((sm_peer_t *)base, start, bytes);
}

/*
 * Whether a get is better although the advice is frames: these would need memory that the ring does
 * not have yet, which costs more than a get. After some gets the memory is worth it.
 */
static bool is_early(unsigned *gets, bool lacks_memory)
{
    return lacks_memory && (*gets)++ < EARLY_GETS;
}

/* The receiver's advice. */
static bool is_advised(sm_peer_t *peer, pace_way_t way, size_t bytes)
{
    if (sm_completion_line(peer) == NULL)
        return false;
    uint32_t published =
        atomic_load_explicit(&peer->writer.ring->advice[way], memory_order_relaxed);
    bool burst = pace_is_burst(&peer->pace, bytes, opal_clock_nsec());
    return pace_get_pays(pace_advice(way, published), bytes, burst, peer->sent_turns[way]);
}

/* If memory is mapped the receiver always copies: the sender has chosen the rendezvous already.
 * Ranks that share a core cannot copy frames at the same time. */
static bool sm_rndv_get_pays(opal_btl_peer_t *base, uintptr_t start, size_t bytes, bool incoming)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    bool mapped =
        incoming ? sm_map(peer, start, 1) != NULL : sm_is_mapped(base, (const void *)start, 1);
    if (mapped && (incoming || sm_use_cma == SM_CMA_ALWAYS || opal_wait_is_oversubscribed()))
        return true;
    if (mapped)
        return is_advised(peer, PACE_DIRECT, bytes);
    if (!sm_can_cma(peer))
        return false;
    if (sm_use_cma == SM_CMA_ALWAYS || opal_wait_is_oversubscribed())
        return true;
    if (!incoming)
        return is_advised(peer, PACE_CMA, bytes) ||
               is_early(&peer->early_sent, ring_lacks_memory(&peer->writer, bytes));
    const ring_reader_t *reader = sm_reader_of(&sm_state, peer);
    if (is_early(&peer->early_got, reader != NULL && ring_reader_lacks_memory(reader, bytes)))
        return true;
    return pace_get_pays(pace_advice(PACE_CMA, peer->pace.published[PACE_CMA]), bytes, false,
                         peer->got_turns);
}

static const char *sm_describe(opal_btl_peer_t *base)
{
    static char text[96];
    sm_peer_t *peer = (sm_peer_t *)base;
    snprintf(text, sizeof text, "ring of %zu KiB, %s%s", sm_state.ring_bytes >> 10,
             sm_maps_any(peer) ? "get out of the shared heap, " : "",
             sm_can_cma(peer) ? "get by process_vm_readv" : "no get of other memory");
    return text;
}

static opal_btl_ops_t ops = {
    .name = "sm",
    .start = sm_start,
    .connect = sm_connect,
    .offer = sm_offer,
    .forget = sm_forget,
    .prepare = sm_prepare,
    .reserve = sm_reserve,
    .commit = sm_commit,
    .progress = sm_progress,
    .stop = sm_stop,
    .send_short = sm_send_short,
    .put = sm_put,
    .get = sm_get,
    .atomic = sm_atomic,
    .rndv_get = sm_rndv_get,
    .can_rndv_get = sm_can_rndv_get,
    .is_mapped = sm_is_mapped,
    .map = sm_map_start,
    .rndv_get_pays = sm_rndv_get_pays,
    .arm = sm_arm,
    .disarm = sm_disarm,
    .complete = sm_complete,
    .describe = sm_describe,
};

/*
 * Measured between two cores with caches of their own: a ring that holds a burst without being
 * reused carries short messages at two to three times the rate of one of 128 KiB. Beyond 256 KiB
 * little is gained, and the first lap, in which every page is new to both ends, is longer. For many
 * ranks memory counts: all of them may talk to all.
 */
static size_t choose_ring_bytes(void)
{
    static const struct {
        unsigned ranks; /* up to */
        size_t bytes;
    } sizes[] = {{8, 256 << 10}, {16, 128 << 10}, {64, 64 << 10}, {UINT_MAX, 32 << 10}};
    size_t wanted = ring_bytes;
    for (unsigned i = 0; wanted == 0; i++) {
        if (opal_node_ranks() <= sizes[i].ranks)
            wanted = sizes[i].bytes;
    }
    size_t size = RING_MIN_BYTES;
    while (size < wanted || ring_max_frame(size) < eager_limit + HEADER_BYTES)
        size *= 2;
    return size;
}

static void choose_lanes(void)
{
    size_t size = RING_MIN_BYTES;
    while (size < lane_bytes && size < sm_state.ring_bytes)
        size *= 2;
    bool has_lanes = lane_bytes > 0 && opal_node_base() != NULL;
    sm_state.lane_bytes = has_lanes ? size : 0;
    ops.lane = has_lanes ? sm_lane : NULL;
    ops.follow = has_lanes ? sm_follow : NULL;
    ops.poll_lane = has_lanes ? sm_poll_lane : NULL;
    ops.lane_bytes = ring_max_frame(size);
    if (ops.lane_bytes >= PACE_LONG_FRAME) /* longer ones are measured */
        ops.lane_bytes = PACE_LONG_FRAME - 1;
}

static void sm_query(opal_answer_t *answer)
{
    bool is_alone = opal_node_base() == NULL && opal_job()->local_size == 1;
    if (opal_node_base() == NULL && !(is_alone && sm_between_jobs)) {
        opal_answer_no(answer, is_alone ? "no other rank of the job is on this node"
                                        : "this node has no shared segment");
        return;
    }
    sm_state.ring_bytes = choose_ring_bytes();
    ops.eager_bytes = eager_limit;
    ops.direct_bytes = opal_region.bytes > 0 ? direct_limit : SIZE_MAX;
    ops.max_frame_bytes = ring_max_frame(sm_state.ring_bytes);
    choose_lanes();
    if (is_alone)
        opal_answer_yes(answer, 50, &ops, &sm_state, "for processes of other jobs on this node");
    else
        opal_answer_yes(answer, 50, &ops, &sm_state, "%u ranks share memory on this node",
                        opal_node_ranks());
}

/* Where a pair of ranks measures, the rule names both ways. */
static void sm_rules(opal_rule_fn_t *say, void *context)
{
    static const char heap[] = OPAL_RULE_SHARED_HEAP, other[] = "from other memory";
    static const char eager[] = "btl_sm_eager_limit";
    say(context, heap, 0, "one frame, copied into the ring and out of it", NULL);
    say(context, heap, direct_limit, "the receiver copies it out of the sender's buffer",
        "btl_sm_direct_limit");
    if (direct_limit <= eager_limit)
        say(context, heap, eager_limit + 1,
            "the same, or frames where that pair has measured them to be faster", eager);
    say(context, heap, sm_share_min_bytes(PACE_DIRECT),
        "of what is not sent in frames, the sender copies a half", NULL);
    say(context, other, 0, "one frame, copied into the ring and out of it", NULL);
    say(context, other, eager_limit + 1,
        sm_use_cma == SM_CMA_NO ? "frames (btl_sm_use_cma is no)"
        : sm_use_cma == SM_CMA_ALWAYS
            ? "process_vm_readv (btl_sm_use_cma is always), or frames "
              "where the system forbids it"
            : "frames, or process_vm_readv where the system permits it and "
              "that pair has measured it to be faster",
        eager);
    if (sm_use_cma != SM_CMA_NO)
        say(context, other, sm_share_min_bytes(PACE_CMA),
            "of what is not sent in frames, the sender writes a half", NULL);
}

OPAL_EXPORT extern const opal_component_t mca_btl_sm_component;
const opal_component_t mca_btl_sm_component = {
    OPAL_COMPONENT_HEAD(btl, sm),
    .prose = "shared memory between the ranks of a node",
    .params = params,
    .pvars = sm_pvars,
    .query = sm_query,
    .rules = sm_rules,
};
