/* SPDX-License-Identifier: BSD-3-Clause */
/* The peers that are processes of other jobs. See foreign.h. */
#include "opal/mca/btl/sm/foreign.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/btl/base/base.h"
#include "opal/node/region.h"
#include "opal/process/modex.h"
#include "opal/process/process_record.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"

/* How many calls of progress go by until something is looked at that seldom changes. */
enum { CALLS_PER_LOOK = 16, CALLS_PER_SYSTEM_CALL = 256 };

static opal_list_t foreigners = {{&foreigners.head, &foreigners.head}};
static bool is_offered;
static unsigned turn;

/* What a peer's slot is before its seat is known. */
static opal_node_slot_t no_slot;

/* What the reader of a forgotten process reads. */
static _Alignas(ring_t) unsigned char no_ring[sizeof(ring_t) + RING_MIN_BYTES];

static sm_foreign_t *first(void)
{
    opal_list_node_t *node = opal_list_first(&foreigners);
    return node != NULL ? opal_container_of(node, sm_foreign_t, node) : NULL;
}

static sm_foreign_t *next(sm_foreign_t *foreign)
{
    opal_list_node_t *node = opal_list_next(&foreigners, &foreign->node);
    return node != NULL ? opal_container_of(node, sm_foreign_t, node) : NULL;
}

static sm_foreign_t *find(const opal_process_t *process)
{
    sm_foreign_t *foreign = first();
    while (foreign != NULL && (foreign->is_over || foreign->peer->base.process != process))
        foreign = next(foreign);
    return foreign;
}

/* -- peers that end ------------------------------------------------------------------------- */

static bool is_set(const _Atomic uint32_t *flag)
{
    return atomic_load_explicit(flag, memory_order_acquire) != 0;
}

/* It reads no more, or what is in its ring is the last. */
static bool has_left(const sm_foreign_t *foreign)
{
    return (foreign->out.ring != NULL && is_set(&foreign->out.ring->is_dropped)) ||
           (foreign->in.ring != NULL && is_set(&foreign->in.ring->is_finished));
}

/* A process that this one has sent to is reported when it has left. */
static int note_departure(sm_foreign_t *foreign)
{
    if (foreign->out.ring == NULL || !sm_note_left(foreign->peer))
        return 0;
    return 1;
}

void sm_foreign_lose(sm_foreign_t *foreign)
{
    foreign->has_failed = true;
    if (foreign->is_over)
        return;
    if (has_left(foreign)) {
        note_departure(foreign);
        return;
    }
    char text[OPAL_PROCESS_TEXT_BYTES];
    opal_log_error("%s on this host has ended without MPI_Finalize",
                   opal_process_text(foreign->peer->base.process, text));
    sm_report_failure(foreign->peer, OPAL_ERR_DISCONNECTED);
}

static void stop_watching(sm_foreign_t *foreign)
{
    if (foreign->life.token != 0)
        opal_descriptor_remove(&foreign->life);
    if (foreign->life.fd >= 0)
        close(foreign->life.fd);
    foreign->life.token = 0;
    foreign->life.fd = -1;
}

static int life_ready(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    sm_foreign_t *foreign = opal_container_of(descriptor, sm_foreign_t, life);
    stop_watching(foreign);
    sm_foreign_lose(foreign);
    return 1;
}

bool sm_foreign_is_dead(const sm_foreign_t *foreign)
{
    struct pollfd life = {.fd = foreign->life.fd, .events = POLLIN};
    return foreign->has_failed || (life.fd >= 0 && poll(&life, 1, 0) > 0);
}

/* -- what comes of calls (meet.c) ----------------------------------------------------------- */

static bool is_always_armed(opal_descriptor_t *descriptor OPAL_UNUSED)
{
    return true;
}

void sm_foreign_watch(sm_foreign_t *foreign, int pidfd)
{
    if (foreign->life.fd >= 0) {
        close(pidfd);
        return;
    }
    foreign->life = (opal_descriptor_t){
        .fd = pidfd, .wants = OPAL_READABLE, .ready = life_ready, .arm = is_always_armed};
    if (opal_descriptor_add(&foreign->life) != OPAL_SUCCESS)
        foreign->life.token = 0; /* progress sees its end, sleeps do not */
}

bool sm_foreign_meet(sm_foreign_t *foreign, int seat_fd, uint64_t seat_offset, int region_fd)
{
    if (foreign->seat.slot == NULL &&
        opal_seat_map(seat_fd, seat_offset, &foreign->seat) != OPAL_SUCCESS)
        return false;
    sm_peer_t *peer = foreign->peer;
    if (foreign->region == NULL && region_fd >= 0)
        foreign->region = sm_region_use(region_fd, foreign->seat.slot->region_id);
    peer->slot = foreign->seat.slot;
    peer->view_is_known = false;
    return true;
}

bool sm_foreign_take_ring(sm_foreign_t *foreign, int fd, size_t bytes)
{
    sm_peer_t *peer = foreign->peer;
    ring_reader_t reader;
    ring_t *ring = sm_ring_file_map(&foreign->in, fd, bytes);
    if (ring != NULL && ring_reader_init(&reader, ring, bytes, peer->base.process)) {
        reader.local_rank = peer->local_rank;
        reader.doorbell = &peer->slot->doorbell;
        if (sm_append_reader(0, &reader))
            return true;
    }
    sm_ring_file_unmap(&foreign->in);
    return false;
}

/* One that has left, and is not forgotten yet, may have come again: its call waits. */
sm_foreign_t *sm_foreign_of_caller(const opal_process_name_t *name, bool *is_never)
{
    opal_process_t *process = opal_process_find(name);
    if (process == NULL || !opal_process_is_foreign(process->index))
        return NULL;
    const opal_btl_peer_t *peer = opal_btl_connect(process);
    sm_foreign_t *foreign = find(process);
    *is_never = peer != NULL && (foreign == NULL || peer != &foreign->peer->base);
    bool is_ready = foreign != NULL && foreign->in.ring == NULL && !foreign->has_failed &&
                    !foreign->peer->has_left;
    return !*is_never && is_ready ? foreign : NULL;
}

/* -- sending -------------------------------------------------------------------------------- */

opal_status_t sm_foreign_connect(sm_t *self, opal_process_t *process, opal_btl_peer_t **peer)
{
    if (!sm_meet_reaches(process))
        return OPAL_ERR_NOT_AVAILABLE;
    sm_foreign_t *foreign = find(process);
    if (foreign == NULL) {
        foreign = malloc(sizeof *foreign);
        if (foreign == NULL)
            return OPAL_ERR_NO_MEMORY;
        *foreign = (sm_foreign_t){.life.fd = -1, .out.fd = -1, .in.fd = -1};
        foreign->peer = sm_new_peer(self, process, &no_slot);
        if (foreign->peer == NULL) {
            free(foreign);
            return OPAL_ERR_NO_MEMORY;
        }
        foreign->peer->foreign = foreign;
        opal_list_append(&foreigners, &foreign->node);
    }
    *peer = &foreign->peer->base;
    return OPAL_SUCCESS;
}

bool sm_foreign_make_ring(sm_peer_t *peer)
{
    sm_foreign_t *foreign = peer->foreign;
    ring_t *ring = sm_ring_file_make(&foreign->out, sm_state.ring_bytes);
    if (ring != NULL && !sm_meet_call(foreign)) {
        sm_ring_file_unmap(&foreign->out);
        errno = ENOMEM;
        ring = NULL;
    }
    if (ring == NULL) {
        opal_log_error("no shared memory for a ring of %zu bytes to rank %u of job %s: %s",
                       sm_state.ring_bytes, peer->base.process->rank,
                       opal_process_record(peer->base.process)->job_id, strerror(errno));
        return false;
    }
    ring_writer_init(&peer->writer, ring, sm_state.ring_bytes);
    return true;
}

/* -- forgetting ----------------------------------------------------------------------------- */

/* Tells the peer that nothing comes any more, and nothing is read. */
static void say_goodbye(sm_foreign_t *foreign)
{
    if (foreign->out.ring != NULL)
        atomic_store_explicit(&foreign->out.ring->is_finished, 1, memory_order_release);
    if (foreign->in.ring != NULL)
        atomic_store_explicit(&foreign->in.ring->is_dropped, 1, memory_order_release);
    opal_doorbell_notify(&foreign->peer->slot->doorbell);
}

/* Its frames may be in a function that reads them right now: the reader stays, and finds nothing.
 */
static void stop_reading(sm_foreign_t *foreign)
{
    ring_reader_t *reader = sm_find_reader(&sm_state.ways[0], foreign->peer->local_rank);
    foreign->peer->incoming = NULL;
    if (reader == NULL)
        return;
    ring_t *empty = (ring_t *)(void *)no_ring;
    empty->size = RING_MIN_BYTES;
    *reader = (ring_reader_t){.ring = empty,
                              .size = RING_MIN_BYTES,
                              .doorbell = reader->doorbell,
                              .local_rank = reader->local_rank,
                              .is_damaged = true};
}

void sm_forget(void *state OPAL_UNUSED, opal_process_t *process)
{
    sm_foreign_t *foreign = find(process);
    if (foreign == NULL)
        return;
    opal_btl_forget(&foreign->peer->base);
    sm_retire(foreign->peer);
    say_goodbye(foreign);
    stop_reading(foreign);
    foreign->is_over = true;
}

/* Not while a ring that has frames has to be handed on. */
static bool can_be_buried(const sm_foreign_t *foreign)
{
    return foreign->is_over && foreign->call == NULL;
}

static void bury(sm_foreign_t *foreign)
{
    sm_meet_hang_up(foreign);
    stop_watching(foreign);
    sm_remove_peer(foreign->peer);
    sm_ring_file_unmap(&foreign->out);
    sm_ring_file_unmap(&foreign->in);
    sm_region_leave(foreign->region);
    opal_seat_unmap(&foreign->seat);
    opal_list_remove(&foreign->node);
    free(foreign);
}

/* -- progress ------------------------------------------------------------------------------- */

static int look_at_peers(bool for_the_dead)
{
    int count = 0;
    for (sm_foreign_t *foreign = first(), *behind; foreign != NULL; foreign = behind) {
        behind = next(foreign);
        if (can_be_buried(foreign))
            bury(foreign);
        else if (!foreign->is_over && has_left(foreign))
            count += note_departure(foreign);
        else if (for_the_dead && !foreign->has_failed && foreign->life.fd >= 0 &&
                 sm_foreign_is_dead(foreign))
            count += life_ready(&foreign->life, OPAL_READABLE);
    }
    return count;
}

static int foreign_progress(void *state OPAL_UNUSED)
{
    bool sleeps_next = opal_wait_sleeps_next();
    if (++turn % CALLS_PER_LOOK != 0 && !sleeps_next)
        return 0;
    bool asks_system = turn % CALLS_PER_SYSTEM_CALL == 0;
    int count = look_at_peers(asks_system);
    if (asks_system || sleeps_next || sm_meet_has_calls())
        count += sm_meet_progress();
    return count;
}

/* -- start and stop ------------------------------------------------------------------------- */

void sm_offer(void *state)
{
    sm_t *self = state;
    unsigned char offer[SM_OFFER_BYTES];
    opal_seat_t seat;
    if (is_offered || !sm_between_jobs ||
        opal_seat_take(opal_process_self()->rank, &seat) != OPAL_SUCCESS)
        return;
    if (self->own != seat.slot)
        sm_set_slot(self, seat.slot);
    if (sm_meet_start(offer) != OPAL_SUCCESS)
        return;
    if (opal_progress_add(foreign_progress, NULL) == OPAL_SUCCESS &&
        opal_modex_offer(OPAL_MODEX_SM, offer, sizeof offer) == OPAL_SUCCESS)
        is_offered = true;
    else
        sm_meet_stop();
}

static bool are_calls_open(void)
{
    sm_foreign_t *foreign = first();
    while (foreign != NULL && foreign->call == NULL)
        foreign = next(foreign);
    return foreign != NULL;
}

void sm_foreign_stop(sm_t *self)
{
    if (!is_offered)
        return;
    while (are_calls_open()) {
        if (opal_progress() == 0)
            sched_yield();
    }
    opal_progress_remove(foreign_progress, NULL);
    for (sm_foreign_t *foreign; (foreign = first()) != NULL;) {
        if (!foreign->is_over)
            sm_forget(NULL, foreign->peer->base.process);
        bury(foreign);
    }
    sm_meet_stop();
    opal_modex_forget(OPAL_MODEX_SM);
    if (opal_node_own_slot() == NULL)
        sm_set_slot(self, NULL);
    opal_seat_leave();
    is_offered = false;
}
