/* SPDX-License-Identifier: BSD-3-Clause */
/* btl/sock: the component, its parameters, start and stop, progress. See sock.h. */
#include "opal/mca/btl/sock/sock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "opal/mca/btl/base/base.h"
#include "opal/process/modex.h"
#include "opal/process/job.h"
#include "opal/process/key.h"
#include "opal/node/node.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"

enum {
    HEADER_BYTES = 128, /* the upper layer's, at most; see btl.h */
    MANY_HOT = 4,       /* more links are polled by the engine, in one call */
};

static opal_strings_t if_include, if_exclude;
static char *ports;

static const opal_param_row_t params[] = {
    {.name = "if_include",
     .type = OPAL_PARAM_LIST,
     .value = &if_include,
     .preset = "",
     .prose = "The only interfaces and networks that are used (eth0, ib*, 10.1.0.0/16, "
              "fd00::/8); empty: all but the bridges of virtual machines and containers. Not "
              "together with btl_sock_if_exclude"},
    {.name = "if_exclude",
     .type = OPAL_PARAM_LIST,
     .value = &if_exclude,
     .preset = "",
     .prose = "The interfaces and networks that are not used; if it is set, all others are, the "
              "bridges of virtual machines and containers included. Not together with "
              "btl_sock_if_include"},
    {.name = "ports",
     .type = OPAL_PARAM_STRING,
     .value = &ports,
     .preset = "",
     .prose = "The range of ports to listen on (40000-40999); empty: the system chooses"},
    {.name = "eager_limit",
     .type = OPAL_PARAM_SIZE,
     .value = &sock_eager_limit,
     .preset = "16K",
     .min = "512",
     .max = "1M",
     .unit = "bytes",
     .prose = "The longest message that is sent eagerly over TCP: the receiver collects all of "
              "it before it delivers it"},
    {.name = "stream_limit",
     .type = OPAL_PARAM_SIZE,
     .value = &sock_stream_limit,
     .preset = "256K",
     .min = "512",
     .max = "16M",
     .unit = "bytes",
     .prose = "The longest message that is sent over TCP without a rendezvous; the sender of a "
              "longer one waits until the receiver has posted a receive for it"},
    {.name = "part_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &sock_part_bytes,
     .preset = "256K",
     .min = "4K",
     .max = "256M",
     .unit = "bytes",
     .is_internal = true,
     .prose = "The length of the parts in which messages longer than btl_sock_stream_limit are "
              "sent, so that other messages are sent between them; four times this within a host"},
    {.name = "links",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &sock_max_links,
     .preset = "4",
     .min = "1",
     .max = "8",
     .prose = "The most networks that carry parts of one long message at the same time, if two "
              "hosts have several networks in common"},
    {.name = "buffer_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &sock_buffer_bytes,
     .preset = "0",
     .max = "1G",
     .unit = "bytes",
     .prose = "The size of the system's send buffer and of its receive buffer for a connection "
              "(SO_SNDBUF, SO_RCVBUF); 0: the system chooses"},
    {.name = "connect_timeout",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &sock_connect_sec,
     .preset = "8",
     .min = "1",
     .max = "3600",
     .unit = "s",
     .prose = "How long a rank tries to connect to the host of a peer before the peer counts as "
              "failed"},
    {.name = "timeout",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &sock_timeout_sec,
     .preset = "6",
     .min = "1",
     .max = "3600",
     .unit = "s",
     .prose = "How long nothing may arrive from the host of a peer that should answer before the "
              "connection counts as lost"},
    {.name = "user_timeout", .removed = "btl_sock_timeout says when a silent host counts as lost"},
    {0},
};

static int sock_progress(void *state OPAL_UNUSED)
{
    static unsigned turn;
    int count = 0;
    if (sock.hot_count > MANY_HOT && ++turn % sock.hot_count != 0 && !opal_wait_sleeps_next())
        return 0;
    /* From the end: the last link replaces one that is removed meanwhile. */
    for (unsigned i = sock.hot_count; i > 0; i--) {
        if (i > sock.hot_count)
            continue;
        sock_link_t *link = sock.hot[i - 1];
        if (link->heat == 1 && !link->is_refused) {
            sock_cool(link);
            continue;
        }
        link->heat -= link->heat > 1;
        count += sock_link_read(link);
    }
    return count;
}

/* -- starting and stopping ------------------------------------------------------------------- */

static void name_interfaces(const sock_addresses_t *chosen)
{
    opal_strings_t names = {0};
    for (size_t i = 0; i < chosen->count; i++) {
        if (!opal_strings_has(&names, chosen->items[i].name))
            opal_strings_add(&names, chosen->items[i].name);
    }
    char *all = opal_strings_join(&names, ", ");
    snprintf(sock.interfaces, sizeof sock.interfaces, "%s", all);
    free(all);
    opal_strings_free(&names);
}

/* The addresses of this host that are published. */
static opal_status_t fill_modex(void)
{
    sock_addresses_t there = {0}, chosen = {0};
    opal_text_t message = {0};
    opal_status_t status = sock_addresses_list(&there);
    if (status == OPAL_SUCCESS)
        status = sock_addresses_choose(&there, &if_include, &if_exclude, &chosen, &message);
    if (status == OPAL_SUCCESS) {
        if (*opal_text_string(&message) != '\0')
            opal_log_warning("%s", opal_text_string(&message));
        sock_modex_fill(&sock.modex, &chosen);
        name_interfaces(&chosen);
    } else if (*opal_text_string(&message) != '\0') {
        opal_log_error("%s", opal_text_string(&message));
    }
    sock_addresses_free(&there);
    sock_addresses_free(&chosen);
    opal_text_free(&message);
    return status;
}

/* Publishes the modex record; returns when all ranks have, if they need it. */
static opal_status_t publish_modex(void)
{
    unsigned char bytes[SOCK_MODEX_BYTES];
    size_t length = sock_modex_encode(&sock.modex, bytes);
    return sock.is_for_others ? opal_modex_offer(OPAL_MODEX_BTL, bytes, length)
                              : opal_modex_exchange(OPAL_MODEX_BTL, bytes, length);
}

/* Undoes a start, also one that failed half way. */
static void release_all(void)
{
    sock_health_stop();
    sock_listen_stop();
    for (sock_peer_t *peer; (peer = sock_next_peer(NULL)) != NULL;)
        sock_peer_free(peer);
    while (sock.closing > 0)
        opal_progress();
    opal_modex_forget(OPAL_MODEX_BTL);
    free(sock.hot);
    explicit_bzero(&sock.identity, sizeof sock.identity);
    sock.hot = NULL;
    sock.hot_count = sock.hot_room = 0;
}

/* For handshakes: whether this process knows the one that connects. */
static bool knows(const unsigned char job[OPAL_JOB_TAG_BYTES], uint32_t rank)
{
    opal_process_name_t name = {.rank = rank};
    memcpy(name.job, job, sizeof name.job);
    return opal_process_find(&name) != NULL;
}

static void say_goodbye(sock_peer_t *peer)
{
    void *room = peer->state == SOCK_UP && !peer->links[0]->cannot_send
                     ? sock_ops.reserve(&peer->base, 0)
                     : NULL;
    if (room != NULL)
        sock_ops.commit(&peer->base, room, SOCK_BYE, 0);
}

/* No client uses the process any more, so only the goodbye is still to be sent. If the system does
 * not take it now, a peer that still uses this process sees the connection end. */
static void sock_forget(void *state OPAL_UNUSED, opal_process_t *process)
{
    sock_peer_t *peer = sock_peer_find(process);
    if (peer == NULL)
        return;
    say_goodbye(peer);
    sock_peer_free(peer);
}

/* From now on peers can connect. */
static opal_status_t begin(void)
{
    opal_status_t status = fill_modex();
    if (status == OPAL_SUCCESS)
        status = sock_listen_start(ports);
    if (status == OPAL_SUCCESS)
        status = publish_modex();
    if (status == OPAL_SUCCESS)
        status = opal_job_key(sock.identity.key);
    if (status != OPAL_SUCCESS) {
        release_all();
        return status;
    }
    sock_health_start();
    return OPAL_SUCCESS;
}

static bool is_for_others; /* as in sock_t; decided by the query */

static opal_status_t sock_start(void *state OPAL_UNUSED)
{
    const opal_pmi_job_t *job = opal_job();
    sock = (sock_t){.is_for_others = is_for_others, .is_asleep = is_for_others};
    opal_list_init(&sock.peers);
    sock.identity = (sock_identity_t){.rank = job->rank,
                                      .size = job->size,
                                      .links = SOCK_MAX_LINKS,
                                      .version = SOCK_WIRE_VERSION,
                                      .knows = knows};
    sock_identity_set_job(&sock.identity, job->job_id);
    return sock.is_asleep ? OPAL_SUCCESS : begin();
}

/* A process of another job is going to learn of this one. If sock cannot begin, which was logged,
 * that process finds no address of it. */
static void sock_offer(void *state OPAL_UNUSED)
{
    if (!sock.is_asleep || begin() != OPAL_SUCCESS)
        return;
    sock.is_asleep = opal_progress_add(sock_progress, NULL) != OPAL_SUCCESS;
    if (sock.is_asleep)
        release_all();
}

typedef bool sends_fn_t(const sock_link_t *link);

static bool still_sends_to(const sock_peer_t *peer, sends_fn_t *sends)
{
    if (peer->state != SOCK_UP || peer->links[0]->cannot_send)
        return false;
    bool any = !sock_link_can_send_now(peer->links[0]);
    for (unsigned i = 0; i < SOCK_MAX_LINKS; i++)
        any = any || (peer->links[i] != NULL && sends(peer->links[i]));
    return any;
}

/* Whether something has not left this host yet. That may last, if the peer does not read. */
static bool still_sends(sends_fn_t *sends)
{
    for (const sock_peer_t *peer = NULL; (peer = sock_next_peer(peer)) != NULL;) {
        if (still_sends_to(peer, sends))
            return true;
    }
    return false;
}

static void drain(sends_fn_t *sends)
{
    while (still_sends(sends)) {
        if (opal_progress() == 0)
            sched_yield();
    }
}

static void sock_stop(void *state OPAL_UNUSED)
{
    sock.is_stopping = true;
    drain(sock_link_has_unsent);
    for (sock_peer_t *peer = NULL; (peer = sock_next_peer(peer)) != NULL;)
        say_goodbye(peer);
    drain(sock_link_has_unconfirmed);
    if (sock.is_for_others)
        opal_progress_remove(sock_progress, NULL);
    release_all();
}

/* -- the component ----------------------------------------------------------------------------- */

/* Whether the user has asked for sock by name. */
static bool is_named(void)
{
    const opal_strings_t *names = &mca_btl_framework.selection;
    return opal_strings_has(names, "sock");
}

/* All ranks must give the same answer, because start has a fence. */
static void sock_query(opal_answer_t *answer)
{
    const opal_pmi_job_t *job = opal_job();
    sock_ops.start = sock_start;
    sock_ops.stop = sock_stop;
    sock_ops.forget = sock_forget;
    sock_ops.eager_bytes = sock_eager_limit;
    sock_ops.stream_bytes = sock_stream_limit;
    sock_ops.max_frame_bytes = sock_eager_limit + HEADER_BYTES;
    is_for_others = job->size < 2 || (job->node_count == 1 && !is_named() &&
                                      opal_framework_allows(&mca_btl_framework, "sm"));
    sock_ops.offer = is_for_others ? sock_offer : NULL;
    sock_ops.progress = is_for_others ? NULL : sock_progress;
    sock_ops.pin = is_for_others ? NULL : sock_pin; /* so that no buffer is pinned for nothing */
    if (job->size < 2)
        opal_answer_yes(answer, 20, &sock_ops, NULL,
                        "for other jobs only, as there is no other rank in this one");
    else if (is_for_others)
        opal_answer_yes(answer, 20, &sock_ops, NULL,
                        "for other jobs only, as all ranks of this one share memory; "
                        "btl=self,sock would use it");
    else
        opal_answer_yes(answer, 20, &sock_ops, NULL, "%u ranks on %u node%s", job->size,
                        job->node_count, job->node_count == 1 ? "" : "s");
}

static void sock_rules(opal_rule_fn_t *say, void *context)
{
    static const char over[] = "over TCP";
    say(context, over, 0, "one frame, collected before it is delivered", NULL);
    say(context, over, sock_eager_limit + 1,
        "sent without asking; the rest goes straight into the receiver's buffer",
        "btl_sock_eager_limit");
    say(context, over, sock_stream_limit + 1,
        "when the receiver has asked for it, in parts, out of the sender's buffer into the "
        "receiver's",
        "btl_sock_stream_limit");
}

OPAL_EXPORT extern const opal_component_t mca_btl_sock_component;
const opal_component_t mca_btl_sock_component = {
    OPAL_COMPONENT_HEAD(btl, sock),
    .prose = "TCP between the ranks of a job",
    .params = params,
    .query = sock_query,
    .rules = sock_rules,
};
