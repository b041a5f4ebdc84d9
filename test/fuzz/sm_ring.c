/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl/sm beside a peer that writes anything into the memory that both have. An input is a row of
 * steps:
 *
 *   byte 0   what happens, modulo 11; the next bytes are its numbers
 *
 * The peer fills its rings, their heads and the lists, hands rings over, asks for help, answers,
 * and says where its region is; this rank polls, sends, waits for an answer about some memory, and
 * frees that, stops and starts. Whatever comes: frames lie within the segment, a call of progress
 * ends, and only memory that this rank has exposed, as long as it shows it, and the region are
 * touched. A ring is also read by itself, from a block of just its length.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/param.h"
#include "opal/mca/btl/sm/ring.h"
#include "opal/process/job.h"
#include "opal/node/node.h"
#include "opal/node/region.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/mca/btl/hearing.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

extern const opal_component_t mca_btl_sm_component;

enum {
    PEER = 1,
    ARENA_BYTES = 32 << 10, /* the peer's part of the segment */
    RING_BYTES = 4096,
    REGION_BYTES = 8192,
    MEMORY_BYTES = 70000,                       /* what is exposed */
    NOBODY = INT32_MAX,                         /* the number of no process */
    MOST_FRAMES = 16 * ARENA_BYTES / RING_LINE, /* of a call of progress */
};

static opal_answer_t sm;
static unsigned char *arena;
static ring_t *own_ring; /* to the peer */
static opal_btl_peer_t *peer;
static unsigned char *memory; /* NULL: none is exposed */
static uintptr_t shown_at;    /* the last time */
static uint32_t slot;
static volatile unsigned sum;
static unsigned frames;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

/* -- input ------------------------------------------------------------------------------------- */

static const uint8_t *at, *end;

static uint64_t take(size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes && at < end; i++)
        number |= (uint64_t)*at++ << (8 * i);
    return number;
}

static void take_bytes(unsigned char *to, size_t most)
{
    size_t count = take(1) * 8;
    if (count > most)
        count = most;
    if (count > (size_t)(end - at))
        count = (size_t)(end - at);
    memcpy(to, at, count);
    at += count;
}

/* -- the rank ---------------------------------------------------------------------------------- */

static void read_all(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        sum += ((const unsigned char *)bytes)[i];
}

static void hear(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    const unsigned char *base = opal_node_base(), *first = bytes;
    bool is_answer = kind == 1 && length == sizeof(uint64_t);
    require(rank == PEER && kind < 256, "the frame is the peer's");
    require(is_answer || (first >= base && first + length <= base + opal_node_bytes()),
            "the frame lies in the segment");
    read_all(bytes, length);
    frames++;
}

/* What is damaged is reported, a lot. */
void __wrap_opal_log_error(const char *format, ...);
void __wrap_opal_log_error(const char *format OPAL_UNUSED, ...)
{
}

static const opal_btl_ops_t *ops(void)
{
    return sm.ops;
}

static void start(void)
{
    require(ops()->start(sm.state) == OPAL_SUCCESS &&
                ops()->connect(sm.state, opal_process(PEER), &peer) == OPAL_SUCCESS,
            "it starts");
}

static void hide_memory(void)
{
    if (slot != 0)
        ops()->disarm(peer, slot);
    free(memory);
    memory = NULL;
    slot = 0;
}

static uint32_t index_of(const void *ring)
{
    return (uint32_t)(opal_node_offset(ring) / RING_LINE);
}

/* What it has sent comes back to it, so that the next start takes the same ring. */
static void stop(void)
{
    hide_memory();
    own_ring->local_rank = 0;
    own_ring->next = 0;
    atomic_store(&opal_node_own_slot()->inbox, index_of(own_ring));
    ops()->stop(sm.state);
    require(atomic_load(&own_ring->is_dropped) == 1, "a ring that comes back is dropped");
}

static void send_frame(size_t length)
{
    void *room = ops()->reserve(peer, length);
    if (room == NULL)
        return;
    memset(room, 's', length);
    ops()->commit(peer, room, 2, length);
}

static void be_rank(void)
{
    opal_node_segment_t segment;
    char fd[16];
    if (arena != NULL)
        return;
    setenv("OMPI_MCA_btl_sm_ring_bytes", "4K", 1);
    setenv("OMPI_MCA_btl_sm_eager_limit", "256", 1);
    opal_param_init();
    require(opal_wait_register() == OPAL_SUCCESS && opal_node_register() == OPAL_SUCCESS &&
                opal_param_register("btl", "sm", mca_btl_sm_component.params) == OPAL_SUCCESS &&
                opal_node_create("job", 2, 0, &segment) == OPAL_SUCCESS,
            "there are a segment and parameters");
    snprintf(fd, sizeof fd, "%d", segment.fd);
    setenv("MICA_NODE_FD", fd, 1);
    require(opal_node_attach(opal_job(), NULL, NULL) == OPAL_SUCCESS, "it attaches");
    hearing.frame = hear;
    hear_as(0, 2);
    opal_region =
        (opal_region_t){.base = (uintptr_t)malloc(REGION_BYTES), .bytes = REGION_BYTES, .id = 7};
    opal_node_slot(PEER)->rank = PEER;
    atomic_store(&opal_node_slot(PEER)->pid, NOBODY);
    mca_btl_sm_component.query(&sm);
    require(sm.usable, "it can be used");
    arena = opal_node_at(opal_node_carve(ARENA_BYTES));
    own_ring = (ring_t *)(void *)(arena + ARENA_BYTES);
    start();
    send_frame(1);
    require(own_ring->size == RING_BYTES, "its ring is behind the arena");
    stop();
}

/* -- the peer ---------------------------------------------------------------------------------- */

static ring_t *ring_at(uint64_t number)
{
    return (ring_t *)(void *)(arena + number % (ARENA_BYTES / RING_LINE) * RING_LINE);
}

/* One that is as it should be, but for what follows in the input. */
static void make_ring(ring_t *ring)
{
    if ((unsigned char *)ring + ring_segment_bytes(RING_BYTES) > arena + ARENA_BYTES)
        return;
    memset(ring, 0, sizeof *ring);
    ring->size = RING_BYTES;
    ring->local_rank = PEER;
    take_bytes(ring->bytes, RING_BYTES);
}

static void hand_over(uint64_t what, ring_t *ring)
{
    uint32_t place = what % 4 == 0   ? (uint32_t)take(4)
                     : what % 4 == 1 ? index_of(own_ring)
                                     : index_of(ring);
    atomic_store(&opal_node_own_slot()->inbox, place);
}

/* A control word: of any kind and length, or to skip the rest. */
static void write_word(ring_t *ring)
{
    uint64_t position = take(1) * RING_LINE % RING_BYTES, what = take(1), bytes = take(2);
    uint64_t word = RING_VALID | what << RING_KIND_SHIFT | bytes;
    if (what % 16 == 0)
        word |= RING_SKIP;
    if ((unsigned char *)(ring + 1) + position + sizeof word <= arena + ARENA_BYTES)
        memcpy(ring->bytes + position, &word, sizeof word);
}

/* Some of it is in what is exposed, some of it is not. */
static void ask_for_help(ring_t *ring)
{
    ring_completion_t request = {.block_bytes = (uint32_t)take(2) << take(1) % 17,
                                 .from = shown_at + take(2) - take(1),
                                 .to = opal_node_slot(PEER)->region_base + take(2) - take(1),
                                 .bytes = take(3)};
    uint32_t generation = (uint32_t)take(1);
    atomic_store(&opal_node_slot(PEER)->share_claims,
                 (uint64_t)generation << 32 | take(2) << 16 | take(1));
    if ((unsigned char *)(ring + 1) <= arena + ARENA_BYTES)
        ring_ask(&ring->completion, generation, &request);
}

static void step(void)
{
    uint64_t what = take(1), number = take(1);
    ring_t *ring = ring_at(number % 4 != 0 ? 0 : take(1));
    opal_node_slot_t *its = opal_node_slot(PEER);
    switch (what % 11) {
    case 0:
        make_ring(ring);
        break;
    case 1:
        take_bytes((unsigned char *)ring, (size_t)(arena + ARENA_BYTES - (unsigned char *)ring));
        break;
    case 2:
        hand_over(number, ring);
        break;
    case 3:
        write_word(ring);
        break;
    case 4:
        ask_for_help(ring);
        break;
    case 5:
        if ((unsigned char *)(ring + 1) <= arena + ARENA_BYTES)
            atomic_store(&ring->completion.number, (uint32_t)take(1));
        break;
    case 6:
        atomic_store(&own_ring->freed, take(number % 9));
        break;
    case 7:
        its->region_id = opal_region.id;
        its->region_base = number % 2 == 0 ? opal_region.base + take(2) : take(8);
        break;
    case 8:
        send_frame(take(2) % ops()->max_frame_bytes);
        break;
    case 9:
        hide_memory();
        if (number % 3 == 0)
            break;
        memory = calloc(1, MEMORY_BYTES);
        shown_at = (uintptr_t)memory;
        slot = ops()->arm(peer, 1, number, &(struct iovec){memory, MEMORY_BYTES}, number);
        break;
    default:
        if (number % 16 == 0) {
            stop();
            start();
        }
        break;
    }
    hearing.refuses = number % 5 == 0;
    for (uint64_t i = number % 4; i > 0; i--) {
        frames = 0;
        ops()->progress(sm.state);
        require(frames <= MOST_FRAMES, "a call of progress takes a bounded number of frames");
    }
}

/* -- a ring by itself -------------------------------------------------------------------------- */

static void read_ring(void)
{
    unsigned kind;
    size_t bytes = sizeof(ring_t) + (take(1) % 2 + 1) * RING_BYTES;
    ring_t *ring = aligned_alloc(RING_LINE, bytes);
    memset(ring, 0, bytes);
    ring->size = take(1) % 4 == 0 ? take(8) : bytes - sizeof(ring_t);
    memcpy(ring->bytes, at,
           (size_t)(end - at) < bytes - sizeof *ring ? (size_t)(end - at) : bytes - sizeof *ring);
    ring_reader_t reader;
    if (ring_reader_init(&reader, ring, bytes, NULL)) {
        size_t length;
        const void *frame;
        ring->size = UINT64_MAX; /* the peer may change it at any time */
        for (unsigned i = 0; i < 300 && (frame = ring_peek(&reader, &kind, &length)) != NULL; i++) {
            read_all(frame, length);
            ring_pop(&reader, length);
        }
    }
    free(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    be_rank();
    at = bytes;
    end = bytes + length;
    read_ring();
    at = bytes;
    memset(arena, 0, ARENA_BYTES);
    atomic_store(&opal_node_slot(PEER)->inbox, 0);
    start();
    while (at < end)
        step();
    stop();
    opal_node_slot(PEER)->region_id = 0;
    return 0;
}
