/* SPDX-License-Identifier: BSD-3-Clause */
/* The btl framework object, its clients, and the chosen transports. */
#include "opal/mca/btl/base/base.h"

#include <string.h>

#include "opal/arch/copy.h"
#include "opal/mca/btl/base/remote.h"
#include "opal/progress/descriptor.h"
#include "opal/process/job.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"

static const opal_slot_t btl_slots[] = {
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, start),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, stop),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, connect),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, offer),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, forget),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, prepare),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, reserve),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, commit),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, progress),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, send_short),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, put),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, get),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, atomic),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, send_now),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, send_long),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, can_pin),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, pin),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, unpin),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, rndv_get),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, can_rndv_get),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, is_mapped),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, map),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, rndv_get_pays),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, arm),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, disarm),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, complete),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, lane),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, follow),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, poll_lane),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, describe),
    {0},
};

opal_framework_t mca_btl_framework = {
    .name = "btl",
    .prose = "byte transports between processes",
    .slots = btl_slots,
    .takes_all = true,
    .may_be_empty = true,
};

/* Transports up to this one are started. Their tables, in the same order. */
static const opal_answer_t *last_started;
enum { MOST_TRANSPORTS = 16 };
static opal_btl_ops_t tables[MOST_TRANSPORTS];
static size_t table_count;

/* The candidates that were chosen, by priority: begin with NULL, end with NULL. */
static const opal_answer_t *next_chosen(const opal_answer_t *previous)
{
    bool behind = previous == NULL;
    for (size_t i = 0; i < mca_btl_framework.candidate_count; i++) {
        const opal_candidate_t *candidate = &mca_btl_framework.candidates[i];
        if (behind && candidate->state == OPAL_CANDIDATE_CHOSEN)
            return &candidate->answer;
        behind = behind || &candidate->answer == previous;
    }
    return NULL;
}

/* -- operations that a transport does not have ----------------------------------------------- */

static ssize_t cannot_rndv_get(opal_btl_peer_t *peer OPAL_UNUSED,
                               const struct iovec *to OPAL_UNUSED, size_t to_count OPAL_UNUSED,
                               const struct iovec *from OPAL_UNUSED, size_t from_count OPAL_UNUSED,
                               uint32_t slot OPAL_UNUSED)
{
    return -OPAL_ERR_NOT_SUPPORTED;
}

static bool always(opal_btl_peer_t *peer OPAL_UNUSED)
{
    return true;
}

static bool never(opal_btl_peer_t *peer OPAL_UNUSED)
{
    return false;
}

static bool is_not_mapped(opal_btl_peer_t *peer OPAL_UNUSED, const void *start OPAL_UNUSED,
                          size_t bytes OPAL_UNUSED)
{
    return false;
}

static const void *map_nothing(opal_btl_peer_t *peer OPAL_UNUSED, uintptr_t start OPAL_UNUSED,
                               size_t bytes OPAL_UNUSED)
{
    return NULL;
}

/* Where rndv_get is possible the receiver does it; the sender does not choose it by itself. */
static bool pays_receiver(opal_btl_peer_t *peer OPAL_UNUSED, uintptr_t start OPAL_UNUSED,
                          size_t bytes OPAL_UNUSED, bool incoming)
{
    return incoming;
}

static uint32_t arm_nothing(opal_btl_peer_t *peer OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                            uint64_t what OPAL_UNUSED, const struct iovec *memory OPAL_UNUSED,
                            size_t awaited_bytes OPAL_UNUSED)
{
    return 0;
}

static void ignore_slot(opal_btl_peer_t *peer OPAL_UNUSED, uint32_t slot OPAL_UNUSED)
{
}

/* Fills the slots of the rendezvous, which clients call without a check. */
static void fill_in(opal_btl_ops_t *ops)
{
    if (ops->can_rndv_get == NULL)
        ops->can_rndv_get = ops->rndv_get != NULL ? always : never;
    if (ops->rndv_get == NULL)
        ops->rndv_get = cannot_rndv_get;
    if (ops->is_mapped == NULL) {
        ops->direct_bytes = SIZE_MAX;
        ops->is_mapped = is_not_mapped;
        ops->map = map_nothing;
    }
    if (ops->rndv_get_pays == NULL)
        ops->rndv_get_pays = pays_receiver;
    if (ops->arm == NULL) {
        ops->arm = arm_nothing;
        ops->disarm = ops->complete = ignore_slot;
    }
}

/* -- clients --------------------------------------------------------------------------------- */

/* In place of a client that was never open here; the peer may have it open. */
static bool drop(opal_process_t *from, unsigned kind, const void *bytes OPAL_UNUSED, size_t length)
{
    static bool is_reported;
    char text[OPAL_PROCESS_TEXT_BYTES];
    if (!is_reported)
        opal_log_warning("%s sent a frame of kind %u (%zu bytes) that nothing here takes; it is "
                         "dropped, as all others like it",
                         opal_process_text(from, text), kind, length);
    is_reported = true;
    return true;
}

/* In place of a client that was closed: this process leaves, and the peer does not know yet. */
static bool drop_late(opal_process_t *from OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                      const void *bytes OPAL_UNUSED, size_t length OPAL_UNUSED)
{
    return true;
}

static size_t place_nowhere(opal_process_t *from OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                            uint64_t name OPAL_UNUSED, size_t offset OPAL_UNUSED, size_t bytes,
                            struct iovec *segments, size_t max OPAL_UNUSED)
{
    static unsigned char nowhere[4096];
    segments[0] = (struct iovec){nowhere, bytes < sizeof nowhere ? bytes : sizeof nowhere};
    return 1;
}

static void forget_placed(opal_process_t *from OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                          uint64_t name OPAL_UNUSED, size_t offset OPAL_UNUSED,
                          size_t bytes OPAL_UNUSED)
{
}

static const opal_btl_client_t closed_client = {
    .receive = drop, .place = place_nowhere, .placed = forget_placed};
static const opal_btl_client_t left_client = {
    .receive = drop_late, .place = place_nowhere, .placed = forget_placed};

#define FOUR_OF(client) client, client, client, client
const opal_btl_client_t *opal_btl_clients[OPAL_BTL_CLIENTS] = {
    FOUR_OF(&closed_client), FOUR_OF(&closed_client), FOUR_OF(&closed_client),
    FOUR_OF(&closed_client)};

const opal_btl_client_t *opal_btl_placer_of(unsigned kind)
{
    const opal_btl_client_t *client = opal_btl_client_of(kind);
    return client->place != NULL ? client : &closed_client;
}

static void end_sleep(opal_timer_t *timer OPAL_UNUSED)
{
}

void opal_btl_retry_soon(void)
{
    static const uint64_t pause_nsec = 1000000;
    static opal_timer_t timer = {.expired = end_sleep};
    if (opal_wait_sleeps_next())
        opal_timer_set(&timer, opal_clock_nsec() + pause_nsec);
}

/* -- the observer -- */

static _Atomic(const opal_btl_observer_t *) current_observer; /* NULL: there is none */

void opal_btl_observe(const opal_btl_observer_t *observer)
{
    atomic_store_explicit(&current_observer, observer, memory_order_release);
}

static const opal_btl_observer_t *observer(void)
{
    return atomic_load_explicit(&current_observer, memory_order_acquire);
}

/* Operations that clients begin from now on end at once. */
static void mark_unreachable(const opal_process_t *process, bool has_failed)
{
    opal_btl_peer_t *peer = opal_process_end(process, OPAL_END_BTL);
    if (peer == NULL)
        return;
    peer->is_unreachable = true;
    peer->has_failed = has_failed;
}

unsigned opal_btl_failures;

void opal_btl_report_failure(opal_process_t *process, opal_status_t why)
{
    mark_unreachable(process, true);
    opal_btl_failures++;
    if (observer() != NULL)
        observer()->failed(process, why);
    for (unsigned i = OPAL_BTL_CLIENTS; i-- > 0;) {
        if (opal_btl_clients[i]->failed != NULL)
            opal_btl_clients[i]->failed(process, why);
    }
}

void opal_btl_report_departure(opal_process_t *process)
{
    mark_unreachable(process, false);
    for (unsigned i = OPAL_BTL_CLIENTS; i-- > 0;) {
        if (opal_btl_clients[i]->left != NULL)
            opal_btl_clients[i]->left(process);
    }
}

/* -- lanes ----------------------------------------------------------------------------------- */

opal_btl_lane_t opal_btl_lanes[OPAL_BTL_LANES];

/* The one transport that has lanes, while it is started; else no function. */
static struct {
    int (*poll)(void *state, unsigned number);
    void *state;
} lane_transport;

int opal_btl_poll_lane(unsigned number)
{
    return lane_transport.poll != NULL ? lane_transport.poll(lane_transport.state, number) : -1;
}

static void set_lanes(const opal_btl_ops_t *ops, void *state)
{
    if (ops->poll_lane == NULL)
        return;
    lane_transport.poll = ops->poll_lane;
    lane_transport.state = state;
}

/* -- starting and stopping ------------------------------------------------------------------- */

static bool is_restart; /* the transports were started before */

/* A rank that starts again while another rank has not stopped, or that sends before another rank
 * has started again, would be taken for its former self: so all ranks meet in a fence. The first
 * start needs none. */
static opal_status_t meet_restarted(void)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    return is_restart ? pmi->fence(state) : OPAL_SUCCESS;
}

/* -- processes of other jobs -- */

static void offer_all(void)
{
    const opal_answer_t *each = NULL;
    for (size_t i = 0; i < table_count; i++) {
        each = next_chosen(each);
        if (tables[i].offer != NULL)
            tables[i].offer(each->state);
    }
}

static void forget_in_all(opal_process_t *process)
{
    const opal_answer_t *each = NULL;
    for (size_t i = 0; i < table_count; i++) {
        each = next_chosen(each);
        if (tables[i].forget != NULL)
            tables[i].forget(each->state, process);
    }
}

static opal_status_t start_all(void)
{
    opal_status_t met = meet_restarted();
    if (met != OPAL_SUCCESS)
        return met;
    last_started = NULL;
    table_count = 0;
    opal_process_on_describe(offer_all);
    opal_process_on_forget(OPAL_END_BTL, forget_in_all);
    for (const opal_answer_t *each = NULL;
         table_count < MOST_TRANSPORTS && (each = next_chosen(each)) != NULL;) {
        const opal_btl_ops_t *ops = each->ops;
        opal_status_t status = ops->start(each->state);
        if (status != OPAL_SUCCESS)
            return status;
        last_started = each;
        set_lanes(ops, each->state);
        tables[table_count] = *ops;
        fill_in(&tables[table_count++]);
        if (ops->progress != NULL)
            status = opal_progress_add(ops->progress, each->state);
        if (status != OPAL_SUCCESS)
            return status;
    }
    met = meet_restarted();
    is_restart = true;
    return met;
}

static void stop_all(void)
{
    lane_transport.poll = NULL;
    opal_process_on_describe(NULL);
    opal_process_on_forget(OPAL_END_BTL, NULL);
    for (const opal_answer_t *each = NULL;
         last_started != NULL && (each = next_chosen(each)) != NULL;) {
        const opal_btl_ops_t *ops = each->ops;
        if (ops->progress != NULL)
            opal_progress_remove(ops->progress, each->state);
        ops->stop(each->state);
        if (each == last_started)
            last_started = NULL;
    }
}

static unsigned client_count;

opal_status_t opal_btl_open(opal_btl_client_id_t id, const opal_btl_client_t *client)
{
    opal_btl_clients[id] = client;
    opal_btl_clients[OPAL_BTL_TRANSPORTS] = &opal_btl_remote_client;
    opal_status_t status = client_count++ == 0 ? start_all() : OPAL_SUCCESS;
    if (status != OPAL_SUCCESS)
        opal_btl_close(id);
    return status;
}

/* Until the transports have stopped the client receives what peers still send. */
void opal_btl_close(opal_btl_client_id_t id)
{
    if (opal_btl_clients[id] == &closed_client || opal_btl_clients[id] == &left_client)
        return;
    if (--client_count == 0) {
        stop_all();
        opal_btl_remote_stop();
        opal_btl_clients[OPAL_BTL_TRANSPORTS] = &closed_client;
    }
    opal_btl_clients[id] = &left_client;
}

void opal_btl_watch(opal_btl_client_id_t id, const opal_btl_client_t *client)
{
    opal_btl_clients[id] = client != NULL ? client : &closed_client;
}

/* -- peers ----------------------------------------------------------------------------------- */

const opal_btl_ops_t *opal_btl_next(const opal_btl_ops_t *previous)
{
    size_t next = previous != NULL ? (size_t)(previous - tables) + 1 : 0;
    return next < table_count ? &tables[next] : NULL;
}

/* In place of the peer of a process that no transport reaches, so that this is logged once. */
static opal_btl_peer_t unreachable;

/* NULL: no memory now. No other transport is tried then: the one that reaches the process carries
 * everything. */
static opal_btl_peer_t *connect_first(opal_process_t *process)
{
    opal_btl_peer_t *peer = NULL;
    const opal_answer_t *each = NULL;
    opal_status_t status = OPAL_ERR_NOT_AVAILABLE;
    for (size_t i = 0; status == OPAL_ERR_NOT_AVAILABLE && i < table_count; i++) {
        each = next_chosen(each);
        status = tables[i].connect(each->state, process, &peer);
        if (status == OPAL_SUCCESS)
            peer->ops = &tables[i];
    }
    if (status == OPAL_SUCCESS && observer() != NULL)
        observer()->connected(process, peer->ops);
    if (status != OPAL_ERR_NOT_AVAILABLE)
        return peer;
    char text[OPAL_PROCESS_TEXT_BYTES];
    opal_log_error("no transport reaches %s; ompi_info --why btl tells what there is",
                   opal_process_text(process, text));
    return &unreachable;
}

opal_btl_peer_t *opal_btl_connect(opal_process_t *process)
{
    opal_btl_peer_t *peer = opal_process_end(process, OPAL_END_BTL);
    if (peer == NULL) {
        peer = connect_first(process);
        opal_process_set_end(process, OPAL_END_BTL, peer);
    }
    return peer != &unreachable ? peer : NULL;
}

bool opal_btl_send_frame(opal_btl_peer_t *peer, unsigned kind, const void *head, size_t head_bytes,
                         const void *bytes, size_t length)
{
    char *room = peer->ops->reserve(peer, head_bytes + length);
    if (room == NULL)
        return false;
    memcpy(room, head, head_bytes);
    opal_copy(room + head_bytes, bytes, length);
    peer->ops->commit(peer, room, kind, head_bytes + length);
    return true;
}

bool opal_btl_send_short(opal_btl_peer_t *peer, unsigned kind, opal_btl_head_t head,
                         const void *bytes, size_t length)
{
    return opal_btl_send_frame(peer, kind, &head, OPAL_BTL_HEAD, bytes, length);
}

void opal_btl_forget(opal_btl_peer_t *peer)
{
    peer->is_unreachable = true; /* for what callbacks begin */
    opal_btl_remote_client.left(peer->process);
    if (opal_process_end(peer->process, OPAL_END_BTL) == peer)
        opal_process_set_end(peer->process, OPAL_END_BTL, NULL);
}
