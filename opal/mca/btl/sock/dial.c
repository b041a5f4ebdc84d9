/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting to a peer: one pair of addresses after the other, until a handshake succeeds or the
 * timeout is over.
 *
 *   RESTS -> CONNECTS -> SHAKES -> the link is up
 *     ^         |          |
 *     +---------+----------+          the next pair; behind the last one, after a pause, the first
 *     +-- AWAITS <---------+          the peer connects, too, and that connection is used
 *
 * A connection waits for the handshake without limit: the peer replies when it is next in MPI.
 * After link 0 the other links are connected by the process that is first (opal_process_is_before).
 *
 * All ranks listen before any of them connects. So the peer has left if all its addresses on this
 * host refuse, or those of another host for a second (a filter may permit connections only in the
 * other direction).
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "opal/mca/btl/sock/sock.h"
#include "opal/node/node.h"
#include "opal/process/job.h"
#include "opal/process/process_record.h"
#include "opal/util/log.h"
#include "opal/util/sha256.h"
#include "opal/util/text.h"

enum {
    MAX_PAIRS = 64,
    MAX_ATTEMPTS = 8, /* in the log message */
};

static const uint64_t pair_nsec = 3000000000;      /* for one to be connected, at most */
static const uint64_t least_nsec = 100000000;      /* and at least */
static const uint64_t pause_nsec = 100000000;      /* before the next round */
static const uint64_t await_nsec = 2000000000;     /* the peer's own connection */
static const uint64_t slow_nsec = 5000000000;      /* this process was outside of MPI for so long */
static const uint64_t internode_nsec = 1000000000; /* another host refuses */
static const uint64_t second_nsec = 1000000000;
static const uint64_t first_ask_nsec = 100000;  /* for the modex record of a peer that has none */
static const uint64_t last_ask_nsec = 20000000; /* the pause doubles up to here */

typedef enum phase { RESTS, CONNECTS, SHAKES, AWAITS } phase_t;

typedef struct sock_dial {
    sock_peer_t *peer;
    sock_modex_t modex; /* the peer's */
    sock_pair_t pairs[MAX_PAIRS], links[SOCK_MAX_LINKS];
    size_t pair_count, link_count;
    phase_t phase;
    bool is_active; /* wants link `number` */
    unsigned number;
    size_t next;         /* of the pairs that are to be tried */
    bool nobody_listens; /* all of this round so far have refused */
    uint64_t begun_nsec, give_up_nsec, connected_nsec;
    opal_descriptor_t descriptor; /* while it CONNECTS or SHAKES */
    opal_timer_t timer;
    sock_identity_t identity; /* ours, with the key of its job */
    sock_shake_t shake;
    sock_attempt_t attempts[MAX_ATTEMPTS];
    size_t attempt_count;
} sock_dial_t;

static void try_next(sock_dial_t *dial);

/* -- the peer's modex record --------------------------------------------------------------- */

static void timer_expired(opal_timer_t *timer);

/* Creates peer->dial. On error the peer has no modex record, or a damaged one, or it is
 * OPAL_ERR_NO_MEMORY. */
static opal_status_t make_dial(sock_peer_t *peer)
{
    if (peer->dial != NULL)
        return OPAL_SUCCESS;
    sock_dial_t *dial = calloc(1, sizeof *dial);
    if (dial == NULL)
        return OPAL_ERR_NO_MEMORY;
    dial->peer = peer;
    dial->timer.expired = timer_expired;
    opal_status_t status = sock_get_modex(peer->base.process, &dial->modex);
    if (status != OPAL_SUCCESS) {
        free(dial);
        return status;
    }
    dial->identity = sock.identity;
    const opal_process_record_t *record = opal_process_record(peer->base.process);
    if (record != NULL)
        sock_identity_meet_job(&dial->identity, record->job, record->key);
    dial->pair_count = sock_pairs_choose(&sock.modex, &dial->modex, dial->pairs, MAX_PAIRS);
    dial->link_count = sock_links_choose(&sock.modex, &dial->modex, dial->pairs, dial->pair_count,
                                         dial->links, sock_max_links);
    peer->dial = dial;
    return OPAL_SUCCESS;
}

const sock_modex_t *sock_dial_modex(sock_peer_t *peer)
{
    return make_dial(peer) == OPAL_SUCCESS ? &peer->dial->modex : NULL;
}

/* -- trying ---------------------------------------------------------------------------------- */

static size_t pairs_of(const sock_dial_t *dial)
{
    return dial->number == 0 ? dial->pair_count : 1;
}

static const sock_pair_t *pair_at(const sock_dial_t *dial, size_t i)
{
    return dial->number == 0 ? &dial->pairs[i] : &dial->links[dial->number];
}

static void hang_up(sock_dial_t *dial)
{
    if (dial->phase == CONNECTS || dial->phase == SHAKES) {
        opal_descriptor_remove(&dial->descriptor);
        close(dial->descriptor.fd);
    }
    opal_timer_cancel(&dial->timer);
    dial->phase = RESTS;
}

static void add_attempt(sock_dial_t *dial, int error, sock_reason_t reason)
{
    const sock_pair_t *pair = pair_at(dial, dial->next - 1);
    const sock_modex_address_t *to = &dial->modex.addresses[pair->peers];
    sock_attempt_t attempt = {.from = sock.modex.addresses[pair->mine].ip,
                              .to = to->ip,
                              .port = to->port,
                              .error = error,
                              .reason = reason};
    dial->nobody_listens &= error == ECONNREFUSED;
    if (dial->attempt_count < MAX_ATTEMPTS)
        dial->attempts[dial->attempt_count++] = attempt;
}

static void failed(sock_dial_t *dial, int error, sock_reason_t reason)
{
    add_attempt(dial, error, reason);
    hang_up(dial);
    try_next(dial);
}

static void begin_shaking(sock_dial_t *dial)
{
    unsigned char nonce[SOCK_NONCE_BYTES];
    if (opal_secret_random(nonce, sizeof nonce) != OPAL_SUCCESS) {
        failed(dial, EIO, SOCK_NO_REASON);
        return;
    }
    opal_timer_cancel(&dial->timer);
    dial->phase = SHAKES;
    dial->connected_nsec = opal_clock_nsec();
    sock_set_options(dial->descriptor.fd);
    sock_shake_connect(&dial->shake, &dial->identity, dial->peer->base.process->rank,
                       (uint16_t)dial->number, nonce);
}

static void shake_refused(sock_dial_t *dial)
{
    sock_reason_t reason = dial->shake.reason;
    uint64_t now = opal_clock_nsec();
    sock_shake_count(&sock.counts, &dial->shake);
    if (reason == SOCK_CROSSED) {
        hang_up(dial);
        dial->phase = AWAITS;
        opal_timer_set(&dial->timer, now + await_nsec);
        return;
    }
    /* The peer may have timed out while this process was outside of MPI. */
    if (now - dial->connected_nsec > slow_nsec)
        dial->give_up_nsec = now + sock_connect_sec * second_nsec;
    failed(dial, 0, reason);
}

static void go_on_shaking(sock_dial_t *dial)
{
    unsigned wants = sock_shake_io(dial->descriptor.fd, &dial->shake);
    if (dial->shake.state == SOCK_SHAKE_REFUSED) {
        shake_refused(dial);
    } else if (dial->shake.state == SOCK_SHAKE_DONE) {
        sock_shake_count(&sock.counts, &dial->shake);
        opal_descriptor_remove(&dial->descriptor);
        dial->phase = RESTS;
        sock_peer_connected(dial->peer, dial->number, dial->descriptor.fd);
    } else {
        opal_descriptor_want(&dial->descriptor, wants);
    }
}

static int dial_ready(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    sock_dial_t *dial = opal_container_of(descriptor, sock_dial_t, descriptor);
    if (dial->phase == CONNECTS) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(descriptor->fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) {
            failed(dial, error, SOCK_NO_REASON);
            return 1;
        }
        begin_shaking(dial);
    }
    if (dial->phase == SHAKES)
        go_on_shaking(dial);
    return 1;
}

/* 0, or errno. */
static int begin_connect(sock_dial_t *dial, const sock_pair_t *pair)
{
    const sock_modex_address_t *from = &sock.modex.addresses[pair->mine];
    const sock_modex_address_t *to = &dial->modex.addresses[pair->peers];
    struct sockaddr_storage address;
    socklen_t length = sock_ip_to_system(&from->ip, 0, &address);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int one = 1;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    int error = bind(fd, (struct sockaddr *)&address, length) != 0 ? errno : 0;
    length = sock_ip_to_system(&to->ip, to->port, &address);
    if (error == 0 && connect(fd, (struct sockaddr *)&address, length) != 0 && errno != EINPROGRESS)
        error = errno;
    dial->descriptor = (opal_descriptor_t){.fd = fd, .wants = OPAL_WRITABLE, .ready = dial_ready};
    if (error == 0 && opal_descriptor_add(&dial->descriptor) != OPAL_SUCCESS)
        error = EMFILE;
    if (error != 0)
        close(fd);
    return error;
}

/* Called after a round without success. */
static bool has_left(const sock_dial_t *dial, uint64_t now)
{
    bool is_same_host = sock_modex_same_host(&sock.modex, &dial->modex);
    return dial->number == 0 && dial->attempt_count > 0 && dial->nobody_listens &&
           (is_same_host || now - dial->begun_nsec >= internode_nsec);
}

static void give_up(sock_dial_t *dial)
{
    opal_text_t text = {0};
    char who[OPAL_PROCESS_TEXT_BYTES];
    dial->is_active = false;
    sock_attempts_describe(&text, sock.identity.rank, &sock.modex,
                           opal_process_text(dial->peer->base.process, who), &dial->modex,
                           dial->attempts, dial->attempt_count);
    if (has_left(dial, opal_clock_nsec()))
        opal_text_add(&text, "; no process listens there any more: it has left MPI, or ended");
    if (dial->number == 0)
        sock_peer_failed(dial->peer, opal_text_string(&text));
    else
        opal_log_warning("a network is not used: %s", opal_text_string(&text));
    opal_text_free(&text);
}

/* An equal share, for each pair of the round, of the time that is left. */
static uint64_t time_for_pair(const sock_dial_t *dial, uint64_t now)
{
    uint64_t left = dial->give_up_nsec > now ? dial->give_up_nsec - now : 0;
    uint64_t share = left / (pairs_of(dial) - dial->next + 1);
    if (share > pair_nsec)
        return pair_nsec;
    return share > least_nsec ? share : least_nsec;
}

static void try_next(sock_dial_t *dial)
{
    uint64_t now = opal_clock_nsec();
    while (dial->next < pairs_of(dial)) {
        const sock_pair_t *pair = pair_at(dial, dial->next++);
        if (dial->modex.addresses[pair->peers].port == 0)
            continue;
        int error = begin_connect(dial, pair);
        if (error == 0) {
            dial->phase = CONNECTS;
            opal_timer_set(&dial->timer, now + time_for_pair(dial, now));
            return;
        }
        add_attempt(dial, error, SOCK_NO_REASON);
    }
    if (now >= dial->give_up_nsec || dial->pair_count == 0 || has_left(dial, now))
        give_up(dial);
    else
        opal_timer_set(&dial->timer, now + pause_nsec);
}

static void begin_round(sock_dial_t *dial)
{
    dial->next = dial->attempt_count = 0;
    dial->nobody_listens = true;
    try_next(dial);
}

static void timer_expired(opal_timer_t *timer)
{
    sock_dial_t *dial = opal_container_of(timer, sock_dial_t, timer);
    if (dial->phase == CONNECTS) {
        failed(dial, ETIMEDOUT, SOCK_NO_REASON);
        return;
    }
    dial->phase = RESTS;
    begin_round(dial);
}

static void begin(sock_dial_t *dial, unsigned number)
{
    dial->is_active = true;
    dial->number = number;
    dial->begun_nsec = opal_clock_nsec();
    dial->give_up_nsec = dial->begun_nsec + sock_connect_sec * second_nsec;
    begin_round(dial);
}

static void dial_again(opal_timer_t *timer)
{
    sock_peer_t *peer = opal_container_of(timer, sock_peer_t, grace);
    if (peer->state == SOCK_DIALS && (peer->dial == NULL || !peer->dial->is_active))
        sock_dial(peer);
}

/* Known of ranks of this node only. */
static bool has_ended(const opal_process_t *process)
{
    int local_rank = opal_node_local_rank(process->index);
    return local_rank >= 0 && opal_node_peer_is_dead((unsigned)local_rank);
}

/* A process that has started alone is here before a peer that has no session yet. */
static void await_modex(sock_peer_t *peer)
{
    peer->pause_nsec = peer->pause_nsec == 0 ? first_ask_nsec : 2 * peer->pause_nsec;
    if (peer->pause_nsec > last_ask_nsec)
        peer->pause_nsec = last_ask_nsec;
    peer->grace.expired = dial_again;
    opal_timer_set(&peer->grace, opal_clock_nsec() + peer->pause_nsec);
}

void sock_dial(sock_peer_t *peer)
{
    opal_status_t status = make_dial(peer);
    peer->state = SOCK_DIALS;
    if (status == OPAL_SUCCESS) {
        begin(peer->dial, 0);
        return;
    }
    if (status == OPAL_ERR_NOT_FOUND && opal_job_is_alone() && !has_ended(peer->base.process)) {
        await_modex(peer);
        return;
    }
    opal_text_t text = {0};
    char who[OPAL_PROCESS_TEXT_BYTES];
    if (status == OPAL_ERR_NO_MEMORY)
        peer->why_failed = status;
    opal_text_printf(&text,
                     status == OPAL_ERR_NO_MEMORY
                         ? "there is no memory to connect to %s"
                         : "%s has not published where btl/sock reaches it; is it in the btl "
                           "parameter of all ranks?",
                     opal_process_text(peer->base.process, who));
    sock_peer_failed(peer, opal_text_string(&text));
    opal_text_free(&text);
}

/* -- the other side --------------------------------------------------------------------------- */

/* Which of the two connects, where both could. */
static bool is_before(const opal_process_t *process)
{
    return opal_process_is_before(opal_process_self()->index, process->index);
}

sock_reason_t sock_dial_judge(sock_peer_t *peer, unsigned number)
{
    const sock_dial_t *dial = peer->dial;
    if (sock.is_stopping || peer->state == SOCK_LEFT || peer->state == SOCK_FAILED)
        return SOCK_BUSY;
    if (peer->links[number] != NULL)
        return SOCK_CROSSED;
    if (number > 0)
        return peer->state == SOCK_UP ? SOCK_ACCEPTED : SOCK_BUSY;
    /* A dial that is not connected yet may never be: perhaps only the peer can connect. */
    bool is_connected = dial != NULL && dial->is_active && dial->phase == SHAKES;
    return is_connected && is_before(peer->base.process) ? SOCK_CROSSED : SOCK_ACCEPTED;
}

/* The number of networks of this host, without loopback. */
static unsigned count_networks(void)
{
    unsigned seen = 0;
    for (size_t i = 0; i < sock.modex.count; i++) {
        if (!sock_ip_is_loopback(&sock.modex.addresses[i].ip))
            seen |= 1u << sock.modex.addresses[i].interface % 32;
    }
    return (unsigned)__builtin_popcount(seen);
}

void sock_dial_end(sock_peer_t *peer, unsigned number)
{
    if (peer->dial != NULL && peer->dial->is_active && peer->dial->number == number) {
        hang_up(peer->dial);
        peer->dial->is_active = false;
    }
    if (peer->links[number] == NULL || !is_before(peer->base.process) ||
        number + 1 >= sock_max_links || count_networks() < 2)
        return;
    if (make_dial(peer) == OPAL_SUCCESS && number + 1 < peer->dial->link_count)
        begin(peer->dial, number + 1);
}

void sock_dial_stop(sock_peer_t *peer)
{
    if (peer->dial == NULL)
        return;
    hang_up(peer->dial);
    peer->dial->is_active = false;
}

void sock_dial_free(sock_peer_t *peer)
{
    sock_dial_stop(peer);
    if (peer->dial != NULL)
        explicit_bzero(&peer->dial->identity, sizeof peer->dial->identity);
    free(peer->dial);
    peer->dial = NULL;
}
