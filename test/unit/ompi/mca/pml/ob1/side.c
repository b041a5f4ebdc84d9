/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport, the job and the communicator of one side: instead of opal/mca/btl/base and
 * opal/runtime/init.c. */
#include "test/unit/ompi/mca/pml/ob1/side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/component.h"
#include "opal/mca/base/framework.h"
#include "opal/process/job.h"
#include "opal/progress/wait.h"
#include "opal/util/segments.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/tool/event_point.h"
#include "ompi/info/info.h"
#include "ompi/mca/pml/queues.h"

enum { MAX_SENT = 4096 };

extern const opal_component_t mca_pml_ob1_component;

const ompi_pml_ops_t *side_pml;
bool side_is_full;
unsigned side_fills_after;
unsigned char side_memory[4096];
unsigned side_gets;
uint32_t side_slot;
size_t side_awaited_bytes;

static ompi_group_t group = {.size = SIDE_RANKS, .stride = 1};
ompi_communicator_t side_comm = {
    .head = OMPI_OBJECT_PREDEFINED(OMPI_COMM, &side_comm),
    .size = SIDE_RANKS,
    .group = &group,
};

static side_frame_t sent[MAX_SENT];
static size_t sent_count, sent_seen;
static const opal_btl_client_t *client;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

/* -- memory: the linker leads all calls here (--wrap) -------------------------------- */

int side_fail_at;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static bool fails(void)
{
    return side_fail_at < 0 || (side_fail_at > 0 && --side_fail_at == 0);
}

void *__wrap_malloc(size_t bytes)
{
    return fails() || bytes > SIDE_MOST_BYTES ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return fails() ? NULL : __real_realloc(block, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* -- the transport ------------------------------------------------------------------- */

static opal_btl_peer_t peers[SIDE_RANKS], lanes[SIDE_RANKS][OPAL_BTL_LANES];
opal_btl_lane_t opal_btl_lanes[OPAL_BTL_LANES];

static unsigned way_of(const opal_btl_peer_t *peer)
{
    unsigned rank = peer->process->rank;
    return peer == &peers[rank] ? 0 : 1 + (unsigned)(peer - lanes[rank]);
}

static void *reserve(opal_btl_peer_t *peer OPAL_UNUSED, size_t length)
{
    require(length <= SIDE_FRAME_BYTES, "a frame is not too long");
    return side_is_full || sent_count == MAX_SENT ? NULL : sent[sent_count].bytes;
}

static void commit(opal_btl_peer_t *peer, void *room, unsigned kind, size_t length)
{
    side_frame_t *frame = &sent[sent_count++];
    require(room == frame->bytes, "what is committed was reserved");
    frame->rank = peer->process->rank;
    frame->way = way_of(peer);
    frame->kind = kind;
    frame->length = length;
    if (side_fills_after > 0 && --side_fills_after == 0)
        side_is_full = true;
}

static bool send_short(opal_btl_peer_t *peer, unsigned kind, opal_btl_head_t head,
                       const void *bytes, size_t length)
{
    require(length <= OPAL_BTL_SHORT, "a short frame is short");
    char *room = reserve(peer, OPAL_BTL_HEAD + length);
    if (room == NULL)
        return false;
    memcpy(room, &head, OPAL_BTL_HEAD);
    memcpy(room + OPAL_BTL_HEAD, bytes, length);
    commit(peer, room, kind, OPAL_BTL_HEAD + length);
    return true;
}

/* As a system would: what is not there is not read. */
static ssize_t rndv_get(opal_btl_peer_t *peer OPAL_UNUSED, const struct iovec *to, size_t to_count,
                        const struct iovec *from, size_t from_count, uint32_t slot OPAL_UNUSED)
{
    side_gets++;
    for (size_t i = 0; i < from_count; i++) {
        uintptr_t start = (uintptr_t)from[i].iov_base;
        if (start > sizeof side_memory || from[i].iov_len > sizeof side_memory - start)
            return -(ssize_t)OPAL_ERR_SYSTEM;
    }
    return (ssize_t)opal_segments_copy(to, to_count, from, from_count, (uintptr_t)side_memory);
}

static const void *map(opal_btl_peer_t *peer OPAL_UNUSED, uintptr_t start OPAL_UNUSED,
                       size_t bytes OPAL_UNUSED)
{
    return NULL;
}

static uint32_t arm(opal_btl_peer_t *peer OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                    uint64_t what OPAL_UNUSED, const struct iovec *memory OPAL_UNUSED,
                    size_t awaited_bytes)
{
    side_awaited_bytes = awaited_bytes;
    return side_slot;
}

static void disarm(opal_btl_peer_t *peer OPAL_UNUSED, uint32_t slot)
{
    if (slot == side_slot)
        side_slot = 0;
}

static void ignore_slot(opal_btl_peer_t *peer OPAL_UNUSED, uint32_t slot OPAL_UNUSED)
{
}

static bool can_rndv_get(opal_btl_peer_t *peer OPAL_UNUSED)
{
    return true;
}

static bool pays_receiver(opal_btl_peer_t *peer OPAL_UNUSED, uintptr_t start OPAL_UNUSED,
                          size_t bytes OPAL_UNUSED, bool incoming)
{
    return incoming;
}

static opal_btl_peer_t *lane(opal_btl_peer_t *peer, unsigned number)
{
    opal_btl_peer_t *made = &lanes[peer->process->rank][number];
    *made = (opal_btl_peer_t){.ops = peer->ops, .process = peer->process};
    return fails() ? NULL : made;
}

static bool follow(opal_btl_peer_t *behind, opal_btl_peer_t *before)
{
    require(behind->process == before->process && behind != before, "these are two of its ways");
    void *room = reserve(behind, 0);
    if (room == NULL)
        return false;
    commit(behind, room, SIDE_FOLLOW, 0);
    return true;
}

static int poll_lane(void *state OPAL_UNUSED, unsigned number OPAL_UNUSED)
{
    return 0;
}

int opal_btl_poll_lane(unsigned number)
{
    return poll_lane(NULL, number);
}

static const opal_btl_ops_t ops = {
    .name = "side",
    .eager_bytes = SIDE_EAGER_BYTES,
    .direct_bytes = SIZE_MAX,
    .max_frame_bytes = SIDE_FRAME_BYTES,
    .lane_bytes = SIDE_FRAME_BYTES,
    .reserve = reserve,
    .commit = commit,
    .send_short = send_short,
    .rndv_get = rndv_get,
    .can_rndv_get = can_rndv_get,
    .map = map,
    .rndv_get_pays = pays_receiver,
    .arm = arm,
    .disarm = disarm,
    .complete = ignore_slot,
    .lane = lane,
    .follow = follow,
    .poll_lane = poll_lane,
};

opal_btl_peer_t *opal_btl_connect(opal_process_t *process)
{
    peers[process->rank].ops = &ops;
    peers[process->rank].process = process;
    return &peers[process->rank];
}

opal_status_t opal_btl_open(opal_btl_client_id_t id, const opal_btl_client_t *opened)
{
    require(id == OPAL_BTL_MESSAGES, "it is the client of messages");
    client = opened;
    return OPAL_SUCCESS;
}

void opal_btl_close(opal_btl_client_id_t id OPAL_UNUSED)
{
}

const opal_btl_ops_t *opal_btl_next(const opal_btl_ops_t *previous)
{
    return previous == NULL ? &ops : NULL;
}

/* Without frameworks. */
const opal_project_t opal_project;

const opal_pmi_job_t *opal_job(void)
{
    static const unsigned node_of[SIDE_RANKS];
    static const opal_pmi_job_t job = {.size = SIDE_RANKS,
                                       .local_size = SIDE_RANKS,
                                       .node_of = node_of,
                                       .node_count = 1,
                                       .job_id = "side"};
    return &job;
}

const char *opal_start_key(const char *name, char key[OPAL_START_KEY_BYTES] OPAL_UNUSED)
{
    return name;
}

const opal_pmi_ops_t *opal_pmi(void **state)
{
    *state = NULL;
    return NULL;
}

opal_status_t opal_job_fence(void)
{
    return OPAL_SUCCESS;
}

bool opal_job_is_alone(void)
{
    return false;
}

bool opal_job_sees_notices_only(void)
{
    return false;
}

/* -- what ob1 and its types need of the rest, which is more than is linked ----------- */

static const ompi_pml_ops_t chosen = {.internal_tags = UINT32_C(1) << 31};
const ompi_pml_ops_t *ompi_pml = &chosen;

/* What queues.c names. */
const ompi_pml_queues_t *ompi_pml_queues;
ompi_communicator_t ompi_comm_world, ompi_comm_self;
opal_list_t ompi_comm_all;

atomic_uint ompi_events_wanted; /* no tool wants any */

void ompi_event_raise(ompi_event_t event OPAL_UNUSED, ompi_event_context_t context OPAL_UNUSED,
                      const struct ompi_communicator *comm OPAL_UNUSED,
                      const void *data OPAL_UNUSED)
{
}

ompi_event_transport_t ompi_event_transport_of(const char *name OPAL_UNUSED)
{
    return OMPI_EVENT_BY_OTHER;
}

ompi_communicator_t ompi_comm_processes;

ompi_communicator_t *ompi_comm_find(uint32_t context OPAL_UNUSED)
{
    return NULL;
}

void ompi_comm_for_each(void (*each)(ompi_communicator_t *comm, void *context) OPAL_UNUSED,
                        void *context OPAL_UNUSED)
{
}

void ompi_describe_operation(ompi_description_t *description OPAL_UNUSED,
                             const ompi_operation_t *operation OPAL_UNUSED)
{
}

ompi_errhandler_t ompi_errors_are_fatal, ompi_errors_return, ompi_errors_abort;
ompi_info_t ompi_info_env;

atomic_uint ompi_mpool_generation;

bool ompi_mpool_leaves_pinned(const ompi_mpool_device_t *device OPAL_UNUSED)
{
    return false;
}

bool ompi_mpool_leaves_pipeline_pinned(const ompi_mpool_device_t *device OPAL_UNUSED)
{
    return false;
}

opal_status_t ompi_mpool_create(const ompi_mpool_device_t *device OPAL_UNUSED,
                                ompi_mpool_t **pool OPAL_UNUSED)
{
    return OPAL_ERR_NOT_AVAILABLE;
}

void ompi_mpool_destroy(ompi_mpool_t *pool OPAL_UNUSED)
{
}

/* -- the test's ---------------------------------------------------------------------- */

void side_start(void)
{
    opal_answer_t answer = {0};
    require(ompi_datatype_init() == MPI_SUCCESS, "there are types");
    require(opal_process_start(opal_job()) == OPAL_SUCCESS, "there are processes");
    memset(peers, 0, sizeof peers);
    mca_pml_ob1_component.query(&answer);
    side_pml = answer.ops;
    ob1_rendezvous_limit = 4 * SIDE_EAGER_BYTES;
    ob1_part_bytes = SIDE_EAGER_BYTES;
    ob1_unexpected_bytes = SIDE_UNEXPECTED_BYTES;
    side_is_full = false;
    side_slot = 0;
    sent_count = sent_seen = 0;
    require(side_pml->start(NULL) == OPAL_SUCCESS, "ob1 starts");
    require(side_pml->comm_add(&side_comm) == MPI_SUCCESS, "it takes a communicator");
}

void side_stop(void)
{
    side_is_full = false;
    side_leave(1);
    side_leave(2);
    side_pml->comm_remove(&side_comm);
    side_pml->stop(NULL);
    opal_process_stop();
    ompi_datatype_fini();
}

bool side_deliver(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    void *copy = __real_malloc(length > 0 ? length : 1);
    require(copy != NULL, "there is memory");
    memcpy(copy, bytes, length);
    bool is_taken = client->receive(opal_process(rank), kind, copy, length);
    free(copy);
    return is_taken;
}

bool side_take(unsigned number, unsigned kind, const void *bytes, size_t length)
{
    void *copy = __real_malloc(length > 0 ? length : 1);
    require(copy != NULL, "there is memory");
    memcpy(copy, bytes, length);
    opal_short_acquire(&opal_btl_lanes[number].lock);
    bool is_taken = client->take(number, kind, copy, length);
    opal_short_release(&opal_btl_lanes[number].lock);
    free(copy);
    return is_taken;
}

void side_place(unsigned rank, unsigned kind, uint64_t name, size_t offset, const void *bytes,
                size_t length, size_t piece)
{
    struct iovec segments[8];
    const char *from = bytes;
    while (length > 0) {
        size_t come = 0,
               count = client->place(opal_process(rank), kind, name, offset, length, segments, 8);
        require(count > 0 && count <= 8, "placement has segments");
        for (size_t i = 0; i < count && come < piece; i++) {
            size_t part = segments[i].iov_len < piece - come ? segments[i].iov_len : piece - come;
            memcpy(segments[i].iov_base, from + come, part);
            come += part;
        }
        require(come > 0 && come <= length, "it is not too long");
        client->placed(opal_process(rank), kind, name, offset, come);
        from += come;
        offset += come;
        length -= come;
    }
}

const side_frame_t *side_next_sent(void)
{
    if (sent_seen == sent_count) {
        sent_seen = sent_count = 0;
        return NULL;
    }
    return &sent[sent_seen++];
}

void side_progress(void)
{
    opal_progress();
}

static void answer(unsigned rank, ob1_kind_t kind, uint64_t name)
{
    side_deliver(rank, kind, &name, sizeof name);
}

/* All that was asked for, of bytes that count from 0. */
static void send_fragments(unsigned rank, const ob1_cts_t *cts)
{
    for (size_t offset = 0; offset < cts->wanted; offset += SIDE_EAGER_BYTES) {
        unsigned char frame[sizeof(ob1_fragment_t) + SIDE_EAGER_BYTES];
        ob1_fragment_t head = {cts->receiver, offset};
        size_t left = cts->wanted - offset;
        size_t part = left < SIDE_EAGER_BYTES ? left : SIDE_EAGER_BYTES;
        memcpy(frame, &head, sizeof head);
        for (size_t i = 0; i < part; i++)
            frame[sizeof head + i] = (unsigned char)(offset + i);
        side_deliver(rank, OB1_FRAGMENT, frame, sizeof head + part);
    }
}

static void serve(const side_frame_t *frame)
{
    ob1_sync_t sync;
    ob1_rts_t rendezvous;
    ob1_cts_t cts;
    switch ((ob1_kind_t)frame->kind) {
    case OB1_EAGER_SYNC:
    case OB1_CANCEL:
        memcpy(&sync, frame->bytes, sizeof sync);
        answer(frame->rank, frame->kind == OB1_CANCEL ? OB1_CANCELLED : OB1_MATCH_ACK, sync.sender);
        return;
    case OB1_RTS:
        memcpy(&rendezvous, frame->bytes, offsetof(ob1_rts_t, segments));
        cts = (ob1_cts_t){rendezvous.sender, 99, rendezvous.total};
        side_deliver(frame->rank, OB1_CTS, &cts, sizeof cts);
        return;
    case OB1_CTS:
        memcpy(&cts, frame->bytes, sizeof cts);
        send_fragments(frame->rank, &cts);
        return;
    default:
        return;
    }
}

void side_serve(void)
{
    const side_frame_t *frame;
    side_progress();
    while ((frame = side_next_sent()) != NULL) {
        side_frame_t copy = *frame;
        serve(&copy);
        side_progress();
    }
}

void side_fail(unsigned rank, opal_status_t why)
{
    peers[rank].is_unreachable = true;
    client->failed(opal_process(rank), why);
}

void side_leave(unsigned rank)
{
    peers[rank].is_unreachable = true;
    client->left(opal_process(rank));
}

ompi_route_t side_route(int rank, int tag)
{
    return (ompi_route_t){&side_comm, OMPI_CONTEXT_USER, rank, tag};
}

ompi_data_t side_data(void *bytes, size_t length)
{
    return (ompi_data_t){bytes, length, ompi_datatype_of(MPI_BYTE)};
}
