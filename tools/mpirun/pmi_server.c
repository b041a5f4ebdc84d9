/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMI-1 server: a table of commands over a key-value table and one barrier.
 * See pmi_server.h.
 */
#include "tools/mpirun/pmi_server.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/pmi/base/message.h"
#include "opal/mca/pmi/base/names.h"
#include "opal/util/text.h"
#include "tools/mpirun/pmi_kvs.h"

enum {
    MAX_PENDING_BYTES = 256 * 1024,    /* of answers to one rank, before it is not read */
    MAX_KVS_BYTES = 256 * 1024 * 1024, /* of all ranks together */
};

typedef struct client {
    pmi_state_t state;
    bool in_barrier;
    bool broken;    /* or aborted: no more input is read */
    bool has_ended; /* its process has ended */
    bool listed;    /* in the pending list */
    unsigned app;
    opal_text_t input;     /* received, not yet parsed */
    opal_text_t output;    /* responses */
    size_t sent;           /* bytes of output that are sent */
    spawn_request_t spawn; /* the commands that have come so far */
} client_t;

struct pmi_server {
    pmi_server_events_t events;
    void *context;
    unsigned size, universe_size, in_barrier;
    client_t *clients;
    unsigned *pending; /* a stack of ranks with client.listed set */
    unsigned pending_count;
    char *kvs_name;
    pmi_kvs_t kvs;
};

/* Serves one command. Returns NULL, or a complaint that ends the job. */
typedef const char *serve_fn_t(pmi_server_t *server, unsigned rank,
                               const opal_pmi_message_t *message);

pmi_server_t *pmi_server_create(const pmi_server_setup_t *setup)
{
    unsigned size = setup->size;
    pmi_server_t *server = opal_xcalloc(1, sizeof *server);
    server->events = *setup->events;
    server->context = setup->context;
    server->size = size;
    server->universe_size = setup->universe_size;
    server->clients = opal_xcalloc(size, sizeof *server->clients);
    server->pending = opal_xcalloc(size, sizeof *server->pending);
    for (unsigned i = 0; i < size; i++)
        server->clients[i].app = setup->app_of[i];
    server->kvs_name = opal_xprintf("kvs_%s", setup->job_id);
    pmi_server_put_text(server, "PMI_process_mapping", setup->mapping);
    return server;
}

void pmi_server_destroy(pmi_server_t *server)
{
    for (unsigned i = 0; i < server->size; i++) {
        opal_text_free(&server->clients[i].input);
        opal_text_free(&server->clients[i].output);
        spawn_request_free(&server->clients[i].spawn);
    }
    pmi_kvs_free(&server->kvs);
    free(server->kvs_name);
    free(server->clients);
    free(server->pending);
    free(server);
}

void pmi_server_put_bytes(pmi_server_t *server, unsigned rank, const char *key, const void *bytes,
                          size_t length)
{
    const unsigned char *from = bytes;
    opal_text_t value = {0};
    assert(length <= PMI_SERVER_MAX_BYTES);
    opal_text_printf(&value, "%zu:", length);
    for (size_t i = 0; i < length; i++)
        opal_text_printf(&value, "%02x", from[i]);
    char *name = opal_xprintf("%s-%u-0", key, rank);
    pmi_kvs_put(&server->kvs, name, opal_text_string(&value), MAX_KVS_BYTES);
    free(name);
    opal_text_free(&value);
}

void pmi_server_put_text(pmi_server_t *server, const char *key, const char *value)
{
    pmi_kvs_put(&server->kvs, key, value, MAX_KVS_BYTES);
}

static void answer(pmi_server_t *server, unsigned rank, const char *format, ...) OPAL_PRINTF(3, 4);
static void answer(pmi_server_t *server, unsigned rank, const char *format, ...)
{
    client_t *client = &server->clients[rank];
    va_list arguments;
    va_start(arguments, format);
    opal_text_vprintf(&client->output, format, arguments);
    va_end(arguments);
    if (!client->listed) {
        client->listed = true;
        server->pending[server->pending_count++] = rank;
    }
}

static const char *serve_init(pmi_server_t *server, unsigned rank,
                              const opal_pmi_message_t *message)
{
    int version;
    if (!opal_pmi_message_get_int(message, "pmi_version", 0, INT_MAX, &version))
        return "sent an init without a version";
    if (server->clients[rank].state == PMI_RUNNING)
        return "sent init twice";
    bool good = version == 1;
    if (good)
        server->clients[rank].state = PMI_RUNNING;
    answer(server, rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
           good ? 0 : -1);
    return NULL;
}

static const char *serve_maxes(pmi_server_t *server, unsigned rank,
                               const opal_pmi_message_t *message)
{
    (void)message;
    answer(server, rank, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n",
           OPAL_PMI_MAX_KVSNAME, OPAL_PMI_MAX_KEY, OPAL_PMI_MAX_VALUE);
    return NULL;
}

static const char *serve_appnum(pmi_server_t *server, unsigned rank,
                                const opal_pmi_message_t *message)
{
    (void)message;
    answer(server, rank, "cmd=appnum appnum=%u\n", server->clients[rank].app);
    return NULL;
}

static const char *serve_universe(pmi_server_t *server, unsigned rank,
                                  const opal_pmi_message_t *message)
{
    (void)message;
    answer(server, rank, "cmd=universe_size size=%u\n", server->universe_size);
    return NULL;
}

static const char *serve_kvsname(pmi_server_t *server, unsigned rank,
                                 const opal_pmi_message_t *message)
{
    (void)message;
    answer(server, rank, "cmd=my_kvsname kvsname=%s\n", server->kvs_name);
    return NULL;
}

static const char *serve_put(pmi_server_t *server, unsigned rank, const opal_pmi_message_t *message)
{
    const char *key = opal_pmi_message_get(message, "key");
    const char *value = opal_pmi_message_get(message, "value");
    if (key == NULL || key[0] == 0 || value == NULL)
        return "sent a put without key or value";
    if (strlen(key) > OPAL_PMI_MAX_KEY || strlen(value) > OPAL_PMI_MAX_VALUE)
        return "sent a put with a key or value that is too long";
    bool good = pmi_kvs_put(&server->kvs, key, value, MAX_KVS_BYTES);
    answer(server, rank, "cmd=put_result rc=%d msg=%s\n", good ? 0 : -1,
           good ? "success" : "out_of_space");
    return NULL;
}

static const char *serve_get(pmi_server_t *server, unsigned rank, const opal_pmi_message_t *message)
{
    const char *key = opal_pmi_message_get(message, "key");
    if (key == NULL)
        return "sent a get without a key";
    const char *value = pmi_kvs_get(&server->kvs, key);
    if (value != NULL)
        answer(server, rank, "cmd=get_result rc=0 msg=success value=%s\n", value);
    else
        answer(server, rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    return NULL;
}

/* A rank that waits in a barrier for a process that has ended; -1: there is none. */
static int find_stuck_rank(const pmi_server_t *server)
{
    int waiting = -1;
    bool incomplete = false;
    for (unsigned i = 0; i < server->size && server->in_barrier > 0; i++) {
        const client_t *client = &server->clients[i];
        if (client->in_barrier && !client->has_ended && waiting < 0)
            waiting = (int)i;
        incomplete = incomplete || (client->has_ended && !client->in_barrier);
    }
    return incomplete ? waiting : -1;
}

static const char *serve_barrier(pmi_server_t *server, unsigned rank,
                                 const opal_pmi_message_t *message)
{
    (void)message;
    if (server->clients[rank].in_barrier)
        return "entered a barrier that it is in already";
    server->clients[rank].in_barrier = true;
    if (++server->in_barrier < server->size)
        return find_stuck_rank(server) < 0 ? NULL
                                           : "waits for a rank that ended without taking part";
    server->in_barrier = 0;
    for (unsigned i = 0; i < server->size; i++) {
        server->clients[i].in_barrier = false;
        answer(server, i, "cmd=barrier_out\n");
    }
    return NULL;
}

static const char *serve_finalize(pmi_server_t *server, unsigned rank,
                                  const opal_pmi_message_t *message)
{
    (void)message;
    server->clients[rank].state = PMI_FINALIZED;
    answer(server, rank, "cmd=finalize_ack\n");
    return NULL;
}

static const char *serve_abort(pmi_server_t *server, unsigned rank,
                               const opal_pmi_message_t *message)
{
    int code;
    if (!opal_pmi_message_get_int(message, "exitcode", INT_MIN, INT_MAX, &code))
        code = 1;
    server->clients[rank].broken = true;
    server->events.aborted(server->context, rank, code, opal_pmi_message_get(message, "msg"));
    return NULL;
}

static const char *serve_publish(pmi_server_t *server, unsigned rank,
                                 const opal_pmi_message_t *message)
{
    const char *service = opal_pmi_message_get(message, "service");
    const char *port = opal_pmi_message_get(message, "port");
    if (service == NULL || port == NULL)
        return "sent a publish_name without service or port";
    const char *complaint = server->events.publish(server->context, service, port);
    answer(server, rank, "cmd=publish_result info=%s rc=%d msg=%s\n",
           complaint == NULL ? "ok" : "error", complaint != NULL,
           complaint == NULL ? "success" : complaint);
    return NULL;
}

static const char *serve_lookup(pmi_server_t *server, unsigned rank,
                                const opal_pmi_message_t *message)
{
    const char *service = opal_pmi_message_get(message, "service");
    if (service == NULL)
        return "sent a lookup_name without a service";
    const char *port = server->events.lookup(server->context, service);
    if (port != NULL)
        answer(server, rank, "cmd=lookup_result info=ok rc=0 port=%s\n", port);
    else
        answer(server, rank, "cmd=lookup_result info=error rc=1 msg=not_found\n");
    return NULL;
}

static const char *serve_unpublish(pmi_server_t *server, unsigned rank,
                                   const opal_pmi_message_t *message)
{
    const char *service = opal_pmi_message_get(message, "service");
    if (service == NULL)
        return "sent an unpublish_name without a service";
    if (server->events.unpublish(server->context, service))
        answer(server, rank, "cmd=unpublish_result info=ok rc=0 msg=success\n");
    else
        answer(server, rank, "cmd=unpublish_result info=error rc=1 msg=not_found\n");
    return NULL;
}

/* The answer to a whole request. Clients of MPICH read rc, ours also the text. */
static void answer_spawn(pmi_server_t *server, unsigned rank, const spawn_request_t *request)
{
    opal_text_t started = {0}, text = {0};
    char *complaint = server->events.spawn(server->context, rank, request, &started);
    if (complaint != NULL) {
        opal_pmi_escape(&text, complaint);
        answer(server, rank, "cmd=spawn_result rc=-1 text=%s msg=spawn_failed\n",
               opal_text_string(&text));
    } else if (started.length > 0) {
        answer(server, rank, "cmd=spawn_result rc=0 started=%s\n", opal_text_string(&started));
    } else {
        answer(server, rank, "cmd=spawn_result rc=0\n");
    }
    opal_text_free(&started);
    opal_text_free(&text);
    free(complaint);
}

static const char *serve_spawn(pmi_server_t *server, unsigned rank,
                               const opal_pmi_message_t *message)
{
    spawn_request_t *request = &server->clients[rank].spawn;
    bool is_whole;
    const char *complaint = spawn_request_add(request, message, &is_whole);
    if (complaint == NULL && is_whole)
        answer_spawn(server, rank, request);
    if (complaint != NULL || is_whole)
        spawn_request_free(request);
    return complaint;
}

static const struct {
    const char *name;
    serve_fn_t *serve;
} commands[] = {
    {"get", serve_get},
    {"put", serve_put},
    {"barrier_in", serve_barrier},
    {"init", serve_init},
    {"get_maxes", serve_maxes},
    {"get_appnum", serve_appnum},
    {"get_universe_size", serve_universe},
    {"get_my_kvsname", serve_kvsname},
    {"finalize", serve_finalize},
    {"abort", serve_abort},
    {"publish_name", serve_publish},
    {"lookup_name", serve_lookup},
    {"unpublish_name", serve_unpublish},
    {"spawn", serve_spawn},
};

static const char *serve(pmi_server_t *server, unsigned rank, const opal_pmi_message_t *message)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(commands); i++) {
        if (strcmp(commands[i].name, message->cmd) != 0)
            continue;
        if (server->clients[rank].state == PMI_NEW && commands[i].serve != serve_init &&
            commands[i].serve != serve_abort)
            return "sent a command before init";
        return commands[i].serve(server, rank, message);
    }
    return "sent a command that PMI-1 does not have";
}

static void fail_rank(pmi_server_t *server, unsigned rank, const char *complaint)
{
    server->clients[rank].broken = true;
    server->events.broken(server->context, rank, complaint);
}

/* Serves the complete messages of a rank's input. */
static void advance(pmi_server_t *server, unsigned rank)
{
    client_t *client = &server->clients[rank];
    size_t done = 0;
    while (!client->broken && done < client->input.length && !pmi_server_is_full(server, rank)) {
        opal_pmi_message_t message;
        size_t used;
        const char *complaint;
        if (opal_pmi_message_parse(client->input.bytes + done, client->input.length - done,
                                   &message, &used, &complaint) != OPAL_SUCCESS) {
            char *sentence = opal_xprintf("sent a PMI message that is broken: %s", complaint);
            fail_rank(server, rank, sentence);
            free(sentence);
            return;
        }
        if (used == 0)
            break;
        done += used;
        complaint = serve(server, rank, &message);
        if (complaint != NULL)
            fail_rank(server, rank, complaint);
    }
    client->input.length -= done;
    memmove(client->input.bytes, client->input.bytes + done, client->input.length);
}

void pmi_server_receive(pmi_server_t *server, unsigned rank, const char *bytes, size_t length)
{
    client_t *client = &server->clients[rank];
    if (client->broken || length == 0)
        return;
    opal_text_append(&client->input, bytes, length);
    advance(server, rank);
}

bool pmi_server_is_full(const pmi_server_t *server, unsigned rank)
{
    const client_t *client = &server->clients[rank];
    return client->output.length - client->sent > MAX_PENDING_BYTES;
}

int pmi_server_next_pending(pmi_server_t *server)
{
    if (server->pending_count == 0)
        return -1;
    unsigned rank = server->pending[--server->pending_count];
    server->clients[rank].listed = false;
    return (int)rank;
}

size_t pmi_server_pending(const pmi_server_t *server, unsigned rank, const char **bytes)
{
    const client_t *client = &server->clients[rank];
    *bytes = opal_text_string(&client->output) + client->sent;
    return client->output.length - client->sent;
}

void pmi_server_sent(pmi_server_t *server, unsigned rank, size_t length)
{
    client_t *client = &server->clients[rank];
    client->sent += length;
    if (client->sent < client->output.length)
        return;
    client->sent = 0;
    client->output.length = 0;
    if (client->input.length > 0)
        advance(server, rank);
}

void pmi_server_rank_ended(pmi_server_t *server, unsigned rank)
{
    server->clients[rank].has_ended = true;
    int waiting = find_stuck_rank(server);
    if (waiting >= 0)
        fail_rank(server, (unsigned)waiting, "waits for a rank that ended without taking part");
}

pmi_state_t pmi_server_state(const pmi_server_t *server, unsigned rank)
{
    return server->clients[rank].state;
}
