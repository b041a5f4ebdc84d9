/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A snapshot whose pages are copied after the child has gone on, by a thread that we call keeper.
 *
 *   parent                 child                         keeper
 *   waits on a pipe        maps the pieces privately
 *                          starts the keeper ----------> writes its id into the parent's word
 *   waits on the word <--- closes the pipe, goes on      waits a few milliseconds
 *                          (exec or exit ends the        copies each page that the child has not
 *                          keeper)                       written to
 *   goes on <------------------------------------------- clears the word, or has ended
 *
 * The word is a robust futex: the system marks it when the keeper ends, in whatever way, and wakes
 * the parent. Closing descriptors tells nothing, since programs close those that they do not know.
 *
 * Pages that the parent has not touched are anonymous memory in the child. A private mapping of a
 * hole of the file would show what the parent writes there lazy. The private mappings keep the
 * region's file until the child ends.
 */
#include "opal/mca/memory/smheap/snapshot.h"

#include <linux/futex.h>
#include <sys/mman.h>

#include "opal/arch/syscall.h"
#include "opal/mca/memory/smheap/map_region.h"
#include "opal/mca/memory/smheap/raw_thread.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    LEAST_BYTES = 1 << 20, /* less is copied about as fast as a thread is started */
    MOST_PIECES = 256,     /* each is a mapping, and a process may have 65530 */
    GAP_BYTES = 64 << 10,  /* smaller gaps between pieces are copied, too */
    HEADER_BYTES = 16 << 10,
    DELAY_NSEC = 5000000,
    STEP_BYTES = 4 << 20,
    SMALLEST_PAGE = 4096,
};

typedef enum state {
    NONE = 0,
    STARTED,
    HURRIED, /* a thread of the child waits */
    COMPLETE,
    REFUSED, /* the system would not tell of the keeper's end */
} state_t;

typedef struct piece {
    char *start;
    size_t bytes;
    size_t offset; /* in the region's file */
} piece_t;

/* Of the child. */
static struct {
    _Atomic uint32_t state;
    smheap_keeper_t *word; /* the parent's */
    struct robust_list_head robust;
    size_t bytes;
    unsigned count;
    piece_t pieces[MOST_PIECES];
    smheap_raw_thread_t thread;
} lazy;

static void set_state(state_t state)
{
    atomic_store(&lazy.state, state);
    smheap_raw_wake(&lazy.state, false);
}

/* -- copying ------------------------------------------------------------------------------ */

/* The system copies a page of a private mapping when it is written to, and this changes nothing. */
static void touch(char *start, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += SMALLEST_PAGE)
        atomic_fetch_or((_Atomic char *)(start + at), 0);
}

static void copy_pieces(void)
{
    for (unsigned i = 0; i < lazy.count; i++) {
        const piece_t *piece = &lazy.pieces[i];
        for (size_t at = 0, step; at < piece->bytes; at += step) {
            step = piece->bytes - at < STEP_BYTES ? piece->bytes - at : STEP_BYTES;
            if (opal_syscall(SYS_madvise, (long)(piece->start + at), (long)step,
                             MADV_POPULATE_WRITE, 0, 0, 0) < 0)
                touch(piece->start + at, step);
        }
    }
}

/* -- the keeper --------------------------------------------------------------------------- */

static int keep(void *nothing)
{
    const struct timespec delay = {.tv_nsec = DELAY_NSEC};
    (void)nothing;
    lazy.robust = (struct robust_list_head){
        .list = {&lazy.robust.list},
        .list_op_pending = (struct robust_list *)(void *)lazy.word, /* the word that is marked */
    };
    if (opal_syscall(SYS_set_robust_list, (long)&lazy.robust, sizeof lazy.robust, 0, 0, 0, 0) !=
        0) {
        set_state(REFUSED);
        return 1;
    }
    atomic_store(lazy.word, (uint32_t)opal_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0));
    set_state(STARTED);
    smheap_raw_sleep(&lazy.state, STARTED, &delay, false);
    copy_pieces();
    set_state(COMPLETE);
    atomic_store(lazy.word, 0);
    smheap_raw_wake(lazy.word, true);
    return 0;
}

/* False: the system gives no thread. */
static bool start_keeper(void)
{
    bool started = smheap_raw_start(&lazy.thread, keep, NULL);
    while (started && atomic_load(&lazy.state) == NONE)
        smheap_raw_sleep(&lazy.state, NONE, NULL, false);
    return started && atomic_load(&lazy.state) != REFUSED;
}

void smheap_snapshot_complete(void)
{
    uint32_t state = STARTED;
    if (atomic_compare_exchange_strong(&lazy.state, &state, HURRIED))
        smheap_raw_wake(&lazy.state, false);
    while ((state = atomic_load(&lazy.state)) == STARTED || state == HURRIED)
        smheap_raw_sleep(&lazy.state, state, NULL, false);
}

/* -- the pieces --------------------------------------------------------------------------- */

static void add_piece(void *context, off_t begin, off_t end)
{
    const smheap_region_t *region = context;
    const smheap_statics_t *statics = &region->statics;
    char *base = smheap_is_static(statics, begin) ? statics->start - statics->offset
                                                  : (char *)region->header;
    char *start = base + begin;
    piece_t *last = &lazy.pieces[lazy.count > 0 ? lazy.count - 1 : 0];
    lazy.bytes += (size_t)(end - begin);
    if (lazy.count > 0 && start >= last->start && start <= last->start + last->bytes + GAP_BYTES) {
        size_t bytes = (size_t)(base + end - last->start);
        last->bytes = bytes > last->bytes ? bytes : last->bytes;
        return;
    }
    if (lazy.count < MOST_PIECES)
        lazy.pieces[lazy.count] = (piece_t){start, (size_t)(end - begin), (size_t)begin};
    lazy.count++;
}

/* Privately: a file, or nothing. */
static void map_over(char *start, size_t bytes, int fd, size_t offset)
{
    const int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
    if (smheap_map(start, bytes, PROT_READ | PROT_WRITE, flags, fd, offset) == MAP_FAILED)
        smheap_snapshot_fail("mapping");
}

static void map_pieces(const smheap_snapshot_t *snapshot)
{
    const smheap_region_t *region = snapshot->region;
    map_over((char *)region->header, region->bytes, -1, 0);
    if (region->statics.bytes > 0)
        map_over(region->statics.start, region->statics.bytes, -1, 0);
    for (unsigned i = 0; i < lazy.count; i++) {
        const piece_t *piece = &lazy.pieces[i];
        map_over(piece->start, piece->bytes, snapshot->fd, piece->offset);
    }
}

/* The headers of chunks: what other processes change there while the keeper waits is not seen. */
static void copy_header(void *context, void *start, size_t bytes)
{
    (void)context;
    if ((uintptr_t)start % OPAL_HEAP_CHUNK_BYTES == 0)
        touch(start, bytes < HEADER_BYTES ? bytes : HEADER_BYTES);
}

bool smheap_snapshot_lazy(const smheap_snapshot_t *snapshot, smheap_keeper_t *word)
{
    lazy.word = word;
    smheap_region_t region = *snapshot->region; /* the walk's context may be written to */
    smheap_snapshot_walk(snapshot, add_piece, &region);
    if (lazy.bytes < LEAST_BYTES || lazy.count > MOST_PIECES)
        return false;
    map_pieces(snapshot);
    touch((char *)region.header, HEADER_BYTES);
    opal_heap_each_stretch(snapshot->heap, copy_header, NULL);
    if (!start_keeper())
        copy_pieces();
    return true;
}

/* -- the parent --------------------------------------------------------------------------- */

void smheap_snapshot_await(smheap_keeper_t *word)
{
    uint32_t seen = atomic_load(word);
    while (seen != 0 && (seen & FUTEX_OWNER_DIED) == 0) {
        if ((seen & FUTEX_WAITERS) == 0 &&
            !atomic_compare_exchange_strong(word, &seen, seen | FUTEX_WAITERS))
            continue;
        smheap_raw_sleep(word, seen | FUTEX_WAITERS, NULL, true);
        seen = atomic_load(word);
    }
    atomic_store(word, 0);
}
