/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A get that both ends work on. The receiver cuts it into blocks and tells the sender of it in a
 * frame; each takes the next block until there are none left: the receiver reads it, the sender
 * writes it. Nobody waits for a sender that is not there: it takes no blocks.
 *
 *   receiver's slot   share_claims   generation | next block
 *                     share_done     blocks that the sender has written, and whether one failed
 *
 * The frame says all that the sender has to know. One that is late finds another generation.
 *
 * A sender that reads a long message at that moment has no time: where both ends send, each reads
 * alone, in one piece.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

#include "opal/arch/pause.h"
#include "opal/mca/btl/sm/sm.h"

enum {
    MIN_BYTES = 24 << 10, /* measured: below, telling costs more than the help saves */
    MIN_BLOCK = 16 << 10, /* a block is a system call */
    MAX_BLOCK = 128 << 10,
    BLOCKS = 2, /* at least: more begin more often */
    PAGE = 4096,
    SPINS_PER_LOOK = 4096, /* at whether the sender still lives */
};

#define FAILED (1u << 31) /* in share_done */

typedef struct request {
    uint32_t generation, block_bytes;
    uint64_t from, to, bytes;
} request_t;

static uint32_t last_generation;

bool sm_share_pays(const sm_peer_t *peer, size_t bytes)
{
    return bytes >= MIN_BYTES && !opal_wait_is_crowded() &&
           atomic_load_explicit(&peer->slot->is_reading, memory_order_relaxed) == 0;
}

/* The next block of that generation; false: there is none. */
static bool claim(_Atomic uint64_t *claims, const request_t *request, size_t *offset)
{
    uint64_t seen = atomic_load_explicit(claims, memory_order_relaxed);
    do {
        *offset = (uint32_t)seen * (size_t)request->block_bytes;
        if (seen >> 32 != request->generation || *offset >= request->bytes)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(claims, &seen, seen + 1, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return true;
}

static size_t block_at(const request_t *request, size_t offset)
{
    size_t left = request->bytes - offset;
    return left < request->block_bytes ? left : request->block_bytes;
}

void sm_share_help(sm_peer_t *peer, const void *frame)
{
    request_t request;
    size_t offset;
    memcpy(&request, frame, sizeof request);
    if (!sm_can_get((opal_btl_peer_t *)peer))
        return;
    while (claim(&peer->slot->share_claims, &request, &offset)) {
        size_t bytes = block_at(&request, offset);
        struct iovec from = {(void *)(uintptr_t)(request.from + offset), bytes};
        struct iovec to = {(void *)(uintptr_t)(request.to + offset), bytes};
        pid_t pid = atomic_load_explicit(&peer->slot->pid, memory_order_relaxed);
        bool written = process_vm_writev(pid, &from, 1, &to, 1, 0) == (ssize_t)bytes;
        atomic_fetch_add_explicit(&peer->slot->share_done, written ? 1 : 1 | FAILED,
                                  memory_order_release);
    }
}

/* Tells the sender, if it is awake: it is not worth waking. */
static void ask_for_help(sm_peer_t *peer, const request_t *request)
{
    opal_status_t status;
    void *room =
        peer->writer.ring != NULL ? ring_reserve(&peer->writer, sizeof *request, &status) : NULL;
    if (room == NULL)
        return;
    memcpy(room, request, sizeof *request);
    ring_commit(&peer->writer, SM_SHARE, sizeof *request);
}

/* Until the sender has done what it has begun. False: something of it is missing. */
static bool wait_for_help(const sm_peer_t *peer, const opal_node_slot_t *own, unsigned blocks)
{
    unsigned done;
    for (unsigned spins = 1;; spins++) {
        done = atomic_load_explicit(&own->share_done, memory_order_acquire);
        if ((done & ~FAILED) >= blocks)
            return (done & FAILED) == 0;
        opal_cpu_pause();
        if (spins % SPINS_PER_LOOK == 0 && opal_node_peer_is_dead(peer->local_rank))
            return false;
    }
}

ssize_t sm_share_get(sm_peer_t *peer, void *to, const void *from, size_t bytes)
{
    opal_node_slot_t *own = opal_node_own_slot();
    size_t block = (bytes / BLOCKS + PAGE - 1) / PAGE * PAGE;
    block = block < MIN_BLOCK ? MIN_BLOCK : block > MAX_BLOCK ? MAX_BLOCK : block;
    request_t request = {++last_generation, (uint32_t)block, (uintptr_t)from, (uintptr_t)to, bytes};
    atomic_store_explicit(&own->share_done, 0, memory_order_relaxed);
    atomic_store_explicit(&own->share_claims, (uint64_t)request.generation << 32,
                          memory_order_release);
    ask_for_help(peer, &request);

    unsigned mine = 0;
    size_t offset;
    ssize_t error = 0;
    while (claim(&own->share_claims, &request, &offset)) {
        struct iovec local = {(char *)to + offset, block_at(&request, offset)};
        struct iovec remote = {(char *)(uintptr_t)from + offset, local.iov_len};
        ssize_t got = error == 0 ? sm_get_alone(peer, &local, 1, &remote, 1) : error;
        error = got < 0 ? got : 0;
        mine++;
    }
    unsigned blocks = (unsigned)((bytes + block - 1) / block);
    bool helped = wait_for_help(peer, own, blocks - mine);
    if (error != 0)
        return error;
    if (!helped) {
        struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
        return sm_get_alone(peer, &local, 1, &remote, 1);
    }
    return (ssize_t)bytes;
}
