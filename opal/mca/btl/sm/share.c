/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A get that both ends work on. The receiver cuts it into blocks and asks the sender for help, on
 * the line where the sender polls for completions. Each end claims the next block until none is
 * left: the receiver reads its blocks, the sender writes its own. A sender that is not polling
 * claims no block, so the receiver does not wait for it.
 *
 *   receiver's slot   share_claims   generation | how many blocks | next one
 *                     share_done     blocks that the sender has written, and whether one failed
 *
 * The first block is the receiver's. A sender that is late finds another generation. While the
 * sender has claimed a block and not yet written it, the request stays unchanged.
 *
 * The slot may be completed before the sender's blocks are written: the sender reads the completion
 * after it has written them. Not where writing can fail, because then the receiver reads the blocks
 * itself.
 *
 * A sender that reads a long message at that moment is not asked: where both ends send, each reads
 * alone, in one piece.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

#include "opal/arch/copy.h"
#include "opal/arch/pause.h"
#include "opal/mca/btl/sm/sm.h"
#include "opal/memory/hooks/watcher.h"
#include "opal/node/region.h"

/* Measured. */
typedef struct cut {
    size_t min_bytes; /* below, asking costs more than the help saves */
    size_t lead;      /* bytes that are read until the sender begins */
    size_t max_block;
} cut_t;

static const cut_t cuts[PACE_WAYS] = {
    [PACE_CMA] = {24 << 10, 0, 128 << 10},
    [PACE_DIRECT] = {32 << 10, 16 << 10, 2 << 20},
};

enum {
    PAGE = 4096,
    MAX_BLOCKS = 0xffff,
    SPINS_PER_CHECK = 4096, /* whether the sender still lives */
};

#define FAILED (1u << 31) /* in share_done */

static uint32_t last_generation;

size_t sm_share_min_bytes(pace_way_t way)
{
    return cuts[way].min_bytes;
}

/* valgrind does not see that the peer writes into our memory: it would call what came undefined. */
static bool is_watched(void)
{
    enum { UNKNOWN, WATCHED, NOT_WATCHED };
    static atomic_int known = UNKNOWN;
    int state = atomic_load_explicit(&known, memory_order_relaxed);
    if (state == UNKNOWN) {
        const char *watcher = opal_memory_watcher();
        state = watcher != NULL && strcmp(watcher, "valgrind") == 0 ? WATCHED : NOT_WATCHED;
        atomic_store_explicit(&known, state, memory_order_relaxed);
    }
    return state == WATCHED;
}

bool sm_share_pays(sm_peer_t *peer, pace_way_t way, const void *to, size_t bytes)
{
    return bytes >= cuts[way].min_bytes && !opal_wait_is_oversubscribed() && !is_watched() &&
           atomic_load_explicit(&peer->slot->is_reading, memory_order_relaxed) == 0 &&
           ((way == PACE_DIRECT && opal_region_has(to, bytes)) ||
            (!peer->help_fails && sm_can_cma(peer))) &&
           sm_completion_line(peer) != NULL;
}

/* -- blocks ---------------------------------------------------------------------------------- */

static uint64_t first_claim(uint32_t generation, size_t blocks)
{
    return (uint64_t)generation << 32 | (uint64_t)blocks << 16 | 1;
}

/* The next block of that generation. False: none is left. */
static bool claim(_Atomic uint64_t *claims, uint32_t generation, size_t *block)
{
    uint64_t seen = atomic_load_explicit(claims, memory_order_relaxed);
    do {
        *block = seen & MAX_BLOCKS;
        if (seen >> 32 != generation || *block >= (seen >> 16 & MAX_BLOCKS))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(claims, &seen, seen + 1, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return true;
}

/* Of a block that begins within the request. */
static size_t bytes_of_block(const ring_completion_t *request, size_t block)
{
    size_t left = request->bytes - block * request->block_bytes;
    return left < request->block_bytes ? left : request->block_bytes;
}

/* Copies a block into the peer's memory. */
static bool write_block(sm_peer_t *peer, uint64_t to, uint64_t from, size_t bytes)
{
    struct iovec local = {(void *)(uintptr_t)from, bytes}, remote = {(void *)(uintptr_t)to, bytes};
    void *mapped = sm_map(peer, (uintptr_t)to, bytes);
    if (mapped != NULL) {
        opal_copy(mapped, local.iov_base, bytes);
        return true;
    }
    pid_t pid = atomic_load_explicit(&peer->slot->pid, memory_order_relaxed);
    return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* Copies a block out of the peer's memory. Returns what sm_rndv_get does. */
static ssize_t read_block(sm_peer_t *peer, pace_way_t way, uint64_t to, uint64_t from, size_t bytes)
{
    struct iovec local = {(void *)(uintptr_t)to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
    return way == PACE_DIRECT ? sm_get_mapped(peer, &local, 1, &remote, 1)
                              : sm_get_cma(peer, &local, 1, &remote, 1);
}

/* -- the sender ------------------------------------------------------------------------------ */

static bool is_in(const ring_completion_t *request, const struct iovec *memory)
{
    uint64_t offset = request->from - (uintptr_t)memory->iov_base;
    return offset <= memory->iov_len && request->bytes <= memory->iov_len - offset;
}

/* The request is not trusted: only memory that is exposed to the peer is copied. */
static bool is_exposed(const ring_completion_t *request, const ring_reader_t *reader)
{
    bool is = reader->armed != 0 && is_in(request, &reader->memory);
    for (uint64_t left = reader->exposed_mask; left != 0 && !is; left &= left - 1)
        is = is_in(request, &reader->exposed[__builtin_ctzll(left)]);
    return is;
}

void sm_share_help(sm_peer_t *peer, uint32_t generation, const ring_reader_t *reader)
{
    size_t block;
    const ring_completion_t *line = &reader->ring->completion;
    const ring_completion_t request = {
        .block_bytes = line->block_bytes, .from = line->from, .to = line->to, .bytes = line->bytes};
    if (peer == NULL || !is_exposed(&request, reader))
        return;
    while (claim(&peer->slot->share_claims, generation, &block)) {
        size_t offset = block * request.block_bytes;
        bool written =
            offset < request.bytes && write_block(peer, request.to + offset, request.from + offset,
                                                  bytes_of_block(&request, block));
        if (!written) /* by or: two failures would add up to none */
            atomic_fetch_or_explicit(&peer->slot->share_done, FAILED, memory_order_relaxed);
        atomic_fetch_add_explicit(&peer->slot->share_done, 1, memory_order_release);
    }
}

/* -- the receiver ---------------------------------------------------------------------------- */

/* The sender begins later than the receiver, so the first of two blocks is longer. */
static uint32_t choose_block(const cut_t *cut, size_t bytes)
{
    size_t block = (bytes + cut->lead) / 2;
    if (block > cut->max_block)
        block = cut->max_block;
    if (block < bytes / MAX_BLOCKS)
        block = bytes / MAX_BLOCKS;
    return (uint32_t)((block + PAGE) / PAGE * PAGE);
}

/* Asks for help. Returns the generation. */
static uint32_t begin(opal_node_slot_t *own, ring_completion_t *line,
                      const ring_completion_t *request, size_t blocks)
{
    uint32_t generation = ++last_generation != 0 ? last_generation : ++last_generation;
    atomic_store_explicit(&own->share_done, 0, memory_order_relaxed);
    atomic_store_explicit(&own->share_claims, first_claim(generation, blocks),
                          memory_order_release);
    ring_ask(line, generation, request);
    return generation;
}

/* Until the sender has written the blocks that it has claimed. False: one of them is missing. */
static bool wait_for_help(const sm_peer_t *peer, const opal_node_slot_t *own, unsigned blocks)
{
    unsigned done;
    for (unsigned spins = 1;; spins++) {
        done = atomic_load_explicit(&own->share_done, memory_order_acquire);
        if ((done & ~FAILED) >= blocks)
            return (done & FAILED) == 0;
        opal_cpu_pause();
        if (spins % SPINS_PER_CHECK != 0)
            continue;
        opal_node_watch();
        if (sm_peer_is_dead(peer))
            return false;
    }
}

ssize_t sm_share_get(sm_peer_t *peer, pace_way_t way, void *to, const void *from, size_t bytes,
                     uint32_t number)
{
    opal_node_slot_t *own = sm_state.own;
    ring_completion_t request = {.block_bytes = choose_block(&cuts[way], bytes),
                                 .from = (uintptr_t)from,
                                 .to = (uintptr_t)to,
                                 .bytes = bytes};
    size_t blocks = (bytes + request.block_bytes - 1) / request.block_bytes, block = 0;
    unsigned mine = 0;
    uint32_t generation = begin(own, sm_completion_line(peer), &request, blocks);
    ssize_t got = 1;
    do {
        size_t offset = block * request.block_bytes;
        if (got > 0)
            got = read_block(peer, way, request.to + offset, request.from + offset,
                             bytes_of_block(&request, block));
        mine++;
    } while (claim(&own->share_claims, generation, &block));

    bool is_certain = way == PACE_DIRECT && opal_region_has(to, bytes);
    if (is_certain)
        sm_complete(&peer->base, number);
    bool is_complete = wait_for_help(peer, own, (unsigned)blocks - mine);
    peer->help_fails |= !is_complete;
    if (got > 0 && !is_complete)
        got = read_block(peer, way, request.to, request.from, bytes);
    if (got > 0 && !is_certain)
        sm_complete(&peer->base, number);
    return got > 0 ? (ssize_t)bytes : got;
}
