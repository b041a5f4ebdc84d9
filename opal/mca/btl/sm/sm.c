/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl/sm: frames through rings in the node's segment, one for each ordered pair of ranks that talk.
 * Here: receiving, peers that end, start and stop, and the component. So a process pays, in memory
 * and in time, only for the peers that talk to it: progress reads one line per ring.
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
#include "opal/util/log.h"
#include "opal/util/text.h"

enum {
    FRAMES_PER_RING = 16, /* one peer's share of a call of progress */
    SPIN_BUDGET = 64,     /* polls of the completion slot, about 1 us */
    BYTES_PER_SPIN = 256, /* one poll more: the peer copies so much in that time */
    MAX_SPIN_BUDGET = 512,
    EARLY_GETS = 32,
    HEADER_BYTES = 128, /* the upper layer's, at most; see btl.h */
};

static size_t eager_limit, direct_limit, ring_bytes, lane_bytes;
static int use_cma; /* sm_cma_t */
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
     .value = &use_cma,
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

/* -- receiving ---------------------------------------------------------------------------- */

static bool is_returned(const sm_t *self, const ring_t *ring)
{
    return ring->local_rank == (uint32_t)(self->own - opal_node_slot(0));
}

/* The process with this local rank; NULL: there is none. */
static opal_process_t *process_of(unsigned local_rank)
{
    if (local_rank >= opal_node_ranks())
        return NULL;
    unsigned rank = opal_node_slot(local_rank)->rank;
    if (rank >= opal_process_own_size || opal_node_local_rank(rank) != (int)local_rank)
        return NULL;
    return opal_process(rank);
}

/* False: no memory. */
static bool has_room_for_reader(sm_way_t *way)
{
    if (way->count < way->room)
        return true;
    unsigned room = way->room > 0 ? 2 * way->room : 8;
    ring_reader_t *readers = realloc(way->readers, room * sizeof *readers);
    if (readers == NULL)
        return false;
    way->readers = readers;
    way->room = room;
    return true;
}

static bool is_read(const sm_way_t *way, const ring_t *ring)
{
    for (unsigned i = 0; i < way->count; i++) {
        if (way->readers[i].ring == ring)
            return true;
    }
    return false;
}

/* Of a lane, while it is held. */
bool sm_append_reader(unsigned number, const ring_reader_t *reader)
{
    sm_way_t *way = &sm_state.ways[number];
    if (number > 0) {
        opal_btl_lane_hold(number - 1);
        sm_state.lanes |= 1U << (number - 1);
    }
    bool has_room = has_room_for_reader(way);
    if (has_room)
        way->readers[way->count++] = *reader;
    if (number > 0)
        opal_btl_lane_drop(number - 1);
    return has_room;
}

/* Tells the writer that the ring is no longer read. */
static void return_ring(ring_t *ring, unsigned local_rank)
{
    opal_node_slot_t *slot = opal_node_slot(local_rank);
    if (sm_push_ring(slot, ring))
        opal_doorbell_notify(&slot->doorbell);
    else
        atomic_store_explicit(&ring->is_dropped, 1, memory_order_release);
}

static void add_reader(sm_t *self, ring_t *ring)
{
    ring_reader_t reader;
    unsigned local_rank = *(const volatile uint32_t *)&ring->local_rank;
    unsigned way = *(const volatile uint32_t *)&ring->way;
    opal_process_t *writer = process_of(local_rank);
    if (writer == NULL || way >= SM_WAYS || is_read(&self->ways[way], ring) ||
        !ring_reader_init(&reader, ring, sm_ring_room(ring), writer)) {
        opal_log_error("a ring in the shared memory of this node is damaged, and not read");
        return;
    }
    reader.local_rank = local_rank;
    reader.doorbell = &opal_node_slot(local_rank)->doorbell;
    if (sm_append_reader(way, &reader))
        return;
    opal_btl_retry_soon();
    if (!sm_push_ring(self->own, ring)) /* and it comes again */
        return_ring(ring, local_rank);
}

/* A long frame: some are timed, to measure how long it takes to copy out of the ring. False: the
 * client cannot take the frame now. */
static bool take_long_frame(const sm_t *self, const ring_reader_t *reader, unsigned kind,
                            const void *bytes, size_t length)
{
    sm_peer_t *peer = self->peers[reader->local_rank];
    if (peer == NULL || peer->long_got++ % PACE_FRAMES_PER_SAMPLE != 0)
        return opal_btl_deliver(reader->process, kind, bytes, length);
    peer->incoming = reader->ring;
    uint64_t begin = opal_clock_nsec();
    if (!opal_btl_deliver(reader->process, kind, bytes, length))
        return false;
    uint32_t fill_nsec = atomic_load_explicit(&reader->ring->fill_nsec, memory_order_relaxed);
    if (pace_add_emptied(&peer->pace, length, opal_clock_nsec() - begin, fill_nsec))
        sm_advise(peer);
    return true;
}

static bool take_other(sm_t *self, ring_reader_t *reader, unsigned kind, const void *bytes,
                       size_t length)
{
    return kind == SM_FOLLOW ? sm_may_go_on(self, reader, bytes, length)
                             : take_long_frame(self, reader, kind, bytes, length);
}

/* The slot is free before the client is called, which may arm it again. */
static int take_completion(ring_reader_t *reader)
{
    uint32_t number = reader->armed;
    uint64_t what = reader->completion_what;
    reader->armed = 0;
    opal_prefetch_read(ring_word(reader->ring, reader->size, reader->head)); /* more may follow */
    if (opal_btl_deliver(reader->process, reader->completion_kind, &what, sizeof what))
        return 1;
    reader->armed = number;
    return 0;
}

static bool is_completed(const ring_reader_t *reader)
{
    return reader->armed != 0 && atomic_load_explicit(&reader->ring->completion.number,
                                                      memory_order_acquire) == reader->armed;
}

/*
 * Looks for the completion of the slot, and for a request for help. True: nothing else is to be
 * read now, because the completion may come at any moment. So the line of the peer's next frame
 * stays with the peer, which is about to write it. False when the process is about to sleep.
 */
static bool poll_completion(sm_t *self, ring_reader_t *reader, int *count)
{
    const ring_completion_t *line = &reader->ring->completion;
    uint32_t help = atomic_load_explicit(&line->help, memory_order_acquire);
    if (opal_unlikely(help != reader->helped)) {
        reader->helped = help;
        sm_share_help(self->peers[reader->local_rank], help, reader);
    }
    if (reader->armed == 0)
        return false;
    if (is_completed(reader)) {
        *count = take_completion(reader);
        return true;
    }
    if (reader->spin_budget == 0 ||
        atomic_load_explicit(&self->own->doorbell.state, memory_order_relaxed) != 0)
        return false;
    reader->spin_budget--;
    return true;
}

static void report_failure(sm_t *self, unsigned local_rank, opal_status_t why)
{
    if (self->reported[local_rank])
        return;
    const sm_peer_t *peer = self->peers[local_rank];
    opal_process_t *process = peer != NULL ? peer->base.process : process_of(local_rank);
    self->reported[local_rank] = true;
    self->left_count -= peer != NULL && peer->has_left;
    if (process != NULL) /* else its slot is damaged */
        opal_btl_report_failure(process, why);
}

void sm_report_failure(const sm_peer_t *peer, opal_status_t why)
{
    report_failure(&sm_state, peer->local_rank, why);
}

/* Nothing that this peer sends can be trusted any more. */
static void give_up_on(sm_t *self, const ring_reader_t *reader)
{
    opal_log_error("rank %u has written a damaged frame into shared memory: it counts as failed",
                   reader->process->rank);
    report_failure(self, reader->local_rank, OPAL_ERR_PROTOCOL);
}

static int drain(sm_t *self, ring_reader_t *reader)
{
    unsigned kind;
    size_t length;
    int count = 0;
    const void *bytes;
    if (opal_unlikely(reader->is_damaged))
        return 0;
    if (reader->was_armed && poll_completion(self, reader, &count))
        return count;
    while (count < FRAMES_PER_RING && (bytes = ring_peek(reader, &kind, &length)) != NULL) {
        bool is_taken = opal_likely(kind != SM_FOLLOW && length < PACE_LONG_FRAME)
                            ? opal_btl_deliver(reader->process, kind, bytes, length)
                            : take_other(self, reader, kind, bytes, length);
        if (opal_unlikely(!is_taken))
            break;
        count++;
        /* The writer may be asleep because the ring was full. */
        if (ring_pop(reader, length))
            opal_doorbell_notify(reader->doorbell);
    }
    if (opal_unlikely(reader->is_damaged) && !self->reported[reader->local_rank])
        give_up_on(self, reader);
    return count;
}

/* The reader of the ring from that peer; NULL: nothing has come yet. */
static ring_reader_t *reader_of(sm_t *self, sm_peer_t *peer)
{
    const sm_way_t *way = &self->ways[0];
    for (unsigned i = 0; peer->reader == 0 && i < way->count; i++) {
        if (way->readers[i].local_rank == peer->local_rank)
            peer->reader = i + 1;
    }
    return peer->reader != 0 ? &way->readers[peer->reader - 1] : NULL;
}

/* The slot is in use: the memory is only exposed to requests for help. */
static uint32_t expose(ring_reader_t *reader, const struct iovec *memory)
{
    if (memory->iov_len == 0 || reader->exposed_mask == UINT64_MAX)
        return 0;
    int bit = __builtin_ctzll(~reader->exposed_mask);
    reader->exposed_mask |= UINT64_C(1) << bit;
    reader->exposed[bit] = *memory;
    return OPAL_BTL_NO_SLOT + (uint32_t)bit;
}

/* Whether the receiver probably completes the slot, instead of replying with a frame: it copies
 * that memory, as advised. */
static bool expects_completion(opal_btl_peer_t *base, const struct iovec *memory)
{
    const sm_peer_t *peer = (const sm_peer_t *)base;
    if (memory->iov_len == 0 || use_cma == SM_CMA_ALWAYS || peer->writer.ring == NULL ||
        (opal_region_has(memory->iov_base, 1) && sm_maps_any((sm_peer_t *)base)))
        return true;
    uint32_t published =
        atomic_load_explicit(&peer->writer.ring->advice[PACE_CMA], memory_order_relaxed);
    return pace_get_is_advised(pace_advice(PACE_CMA, published), memory->iov_len);
}

static uint32_t sm_arm(opal_btl_peer_t *base, unsigned kind, uint64_t what,
                       const struct iovec *memory, size_t awaited_bytes)
{
    ring_reader_t *reader = reader_of(&sm_state, (sm_peer_t *)base);
    if (reader == NULL)
        return 0;
    reader->was_armed = true;
    if (reader->armed != 0)
        return expose(reader, memory);
    reader->last_armed = reader->last_armed % (OPAL_BTL_NO_SLOT - 1) + 1;
    reader->armed = reader->last_armed;
    reader->spin_budget = awaited_bytes > 0 && expects_completion(base, memory)
                              ? (uint32_t)(SPIN_BUDGET + awaited_bytes / BYTES_PER_SPIN)
                              : 0;
    if (reader->spin_budget > MAX_SPIN_BUDGET)
        reader->spin_budget = MAX_SPIN_BUDGET;
    reader->memory = *memory;
    reader->completion_kind = kind;
    reader->completion_what = what;
    return reader->armed;
}

static void sm_disarm(opal_btl_peer_t *base, uint32_t number)
{
    ring_reader_t *reader = reader_of(&sm_state, (sm_peer_t *)base);
    if (reader == NULL)
        return;
    if (number >= OPAL_BTL_NO_SLOT)
        reader->exposed_mask &= ~(UINT64_C(1) << (number - OPAL_BTL_NO_SLOT));
    else if (reader->armed == number)
        reader->armed = 0;
}

/* -- peers that end ----------------------------------------------------------------------- */

static bool is_ring_to(const sm_peer_t *peer, const ring_t *ring)
{
    if (peer == NULL)
        return false;
    bool found = peer->writer.ring == ring;
    for (unsigned i = 0; !found && i < OPAL_BTL_LANES; i++)
        found = peer->lanes[i] != NULL && peer->lanes[i]->writer.ring == ring;
    return found;
}

/* NULL: no ring of this process; then the inbox is damaged. */
static sm_peer_t *reader_of_ring(const sm_t *self, const ring_t *ring)
{
    for (unsigned i = 0; i < self->peer_count; i++) {
        if (is_ring_to(self->peers[i], ring))
            return self->peers[i];
    }
    return NULL;
}

static bool is_empty(ring_reader_t *reader)
{
    unsigned kind;
    size_t length;
    return ring_peek(reader, &kind, &length) == NULL;
}

/* Whether the client has taken everything that the peer has sent. */
static bool is_drained(sm_t *self, sm_peer_t *peer)
{
    ring_reader_t *reader = reader_of(self, peer);
    if (reader != NULL) {
        reader->spin_budget = 0; /* a completion is here, or never comes */
        if (is_completed(reader) || !is_empty(reader))
            return false;
    }
    for (unsigned lane = 0; lane < OPAL_BTL_LANES; lane++) {
        opal_btl_lane_hold(lane);
        ring_reader_t *other = sm_find_reader(&self->ways[1 + lane], peer->local_rank);
        bool has_more = other != NULL && !is_empty(other);
        opal_btl_lane_drop(lane);
        if (has_more)
            return false;
    }
    return true;
}

static void report_departures(sm_t *self)
{
    if (atomic_load_explicit(&self->own->inbox, memory_order_relaxed) != 0)
        return; /* a peer that has left may have sent a ring that there was no memory for */
    for (unsigned i = 0; i < self->peer_count; i++) {
        sm_peer_t *peer = self->peers[i];
        if (peer == NULL || !peer->has_left || self->reported[i] || !is_drained(self, peer))
            continue;
        self->reported[i] = true;
        self->left_count--;
        opal_btl_report_departure(peer->base.process);
    }
}

bool sm_note_left(sm_peer_t *peer)
{
    if (peer->has_left || sm_state.reported[peer->local_rank])
        return false;
    peer->has_left = true;
    sm_state.left_count++;
    return true;
}

static void take_back(sm_t *self, ring_t *ring)
{
    sm_peer_t *peer = reader_of_ring(self, ring);
    atomic_store_explicit(&ring->is_dropped, 1, memory_order_relaxed);
    if (peer != NULL)
        sm_note_left(peer);
}

/* Takes the rings that peers have opened towards us, and those that come back, and leaves that in
 * the inbox. Each peer has pushed one of its own and one of ours of each way at most, so a longer
 * list is damaged. */
static void take_inbox(sm_t *self, uint32_t instead)
{
    uint32_t at = atomic_exchange_explicit(&self->own->inbox, instead, memory_order_acquire);
    for (unsigned left = 2 * SM_WAYS * self->peer_count; at != 0 && left > 0; left--) {
        ring_t *ring = sm_ring_at(at);
        if (ring == NULL)
            return;
        at = ring->next; /* it may be pushed again */
        if (is_returned(self, ring))
            take_back(self, ring);
        else
            add_reader(self, ring);
    }
}

/* This process stops reading. */
static void return_rings(sm_t *self)
{
    take_inbox(self, OPAL_NODE_INBOX_CLOSED);
    for (const sm_way_t *way = self->ways; way < self->ways + SM_WAYS; way++) {
        for (unsigned i = 0; i < way->count; i++)
            return_ring(way->readers[i].ring, way->readers[i].local_rank);
    }
}

/* mpirun ends the job when a rank dies; elsewhere the others have to be notified. A rank that ends
 * well without having started MPI ends no job, and its slot does not say which rank it was. */
static void report_death(sm_t *self, unsigned local_rank)
{
    if (atomic_load(&opal_node_slot(local_rank)->pid) != 0) {
        if (opal_node_launcher() == 0)
            report_failure(self, local_rank, OPAL_ERR_DISCONNECTED);
    } else if (self->peers[local_rank] != NULL) {
        report_failure(self, local_rank, OPAL_ERR_NOT_FOUND);
    }
}

static void report_deaths(sm_t *self)
{
    self->deaths = opal_node_deaths();
    for (unsigned i = 0; i < opal_node_ranks(); i++) {
        if (opal_node_peer_is_dead(i))
            report_death(self, i);
    }
}

bool sm_peer_is_dead(const sm_peer_t *peer)
{
    return peer->foreign != NULL ? sm_foreign_is_dead(peer->foreign)
                                 : opal_node_peer_is_dead(peer->local_rank);
}

static void report_without_memory(sm_t *self)
{
    atomic_store(&self->any_without_memory,
                 false); /* first: a peer that is marked meanwhile is reported next time */
    for (unsigned i = 0; i < self->peer_count; i++) {
        if (self->peers[i] != NULL && atomic_load(&self->peers[i]->has_no_memory))
            report_failure(self, i, OPAL_ERR_NO_MEMORY);
    }
}

/* Each peer's share, in turns. */
OPAL_INLINE int drain_way(sm_t *self, sm_way_t *way)
{
    int count = 0;
    if (way->next >= way->count)
        way->next = 0;
    unsigned begin = way->next++;
    for (unsigned i = begin; i < way->count; i++)
        count += drain(self, &way->readers[i]);
    for (unsigned i = 0; i < begin; i++)
        count += drain(self, &way->readers[i]);
    return count;
}

/* A thread that has a lane delivers its frames, but before this process sleeps all must be seen. */
OPAL_NOINLINE static int drain_lanes(sm_t *self)
{
    int count = 0;
    for (unsigned left = self->lanes; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (opal_wait_sleeps_next())
            opal_btl_lane_hold(lane);
        else if (!opal_btl_lane_try_hold(lane))
            continue;
        count += drain_way(self, &self->ways[1 + lane]);
        opal_btl_lane_drop(lane);
    }
    return count;
}

static int sm_progress(void *state)
{
    sm_t *self = state;
    int count = 0;
    if (opal_unlikely(opal_node_deaths() != self->deaths))
        report_deaths(self);
    if (opal_unlikely(atomic_load_explicit(&self->any_without_memory, memory_order_relaxed)))
        report_without_memory(self);
    if (opal_unlikely(atomic_load_explicit(&self->own->inbox, memory_order_relaxed) != 0))
        take_inbox(self, 0);
    /* Lanes first: another thread may read them, and so be what the main way has waited for. */
    if (opal_unlikely(self->lanes != 0))
        count += drain_lanes(self);
    count += drain_way(self, &self->ways[0]);
    if (opal_unlikely(self->left_count > 0))
        report_departures(self);
    return count;
}

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
    if (use_cma != SM_CMA_NO && own != NULL)
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
        .get_state = use_cma != SM_CMA_NO ? SM_GET_UNKNOWN : SM_GET_FORBIDDEN,
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
    return_rings(self);
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
    if (mapped && (incoming || use_cma == SM_CMA_ALWAYS || opal_wait_is_oversubscribed()))
        return true;
    if (mapped)
        return is_advised(peer, PACE_DIRECT, bytes);
    if (!sm_can_cma(peer))
        return false;
    if (use_cma == SM_CMA_ALWAYS || opal_wait_is_oversubscribed())
        return true;
    if (!incoming)
        return is_advised(peer, PACE_CMA, bytes) ||
               is_early(&peer->early_sent, ring_lacks_memory(&peer->writer, bytes));
    const ring_reader_t *reader = reader_of(&sm_state, peer);
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
    static const char heap[] = "from the shared heap", other[] = "from other memory";
    say(context, heap, 0, "one frame, copied into the ring and out of it");
    say(context, heap, direct_limit, "the receiver copies it out of the sender's buffer");
    if (direct_limit <= eager_limit)
        say(context, heap, eager_limit + 1,
            "the same, or frames where that pair has measured them to be faster");
    say(context, heap, sm_share_min_bytes(PACE_DIRECT),
        "of what is not sent in frames, the sender copies a half");
    say(context, other, 0, "one frame, copied into the ring and out of it");
    say(context, other, eager_limit + 1,
        use_cma == SM_CMA_NO       ? "frames (btl_sm_use_cma is no)"
        : use_cma == SM_CMA_ALWAYS ? "process_vm_readv (btl_sm_use_cma is always), or frames "
                                     "where the system forbids it"
                                   : "frames, or process_vm_readv where the system permits it and "
                                     "that pair has measured it to be faster");
    if (use_cma != SM_CMA_NO)
        say(context, other, sm_share_min_bytes(PACE_CMA),
            "of what is not sent in frames, the sender writes a half");
}

OPAL_EXPORT extern const opal_component_t mca_btl_sm_component;
const opal_component_t mca_btl_sm_component = {
    OPAL_COMPONENT_HEAD(btl, sm),
    .prose = "shared memory between the ranks of a node",
    .params = params,
    .query = sm_query,
    .rules = sm_rules,
};
