/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Feeds bytes to mpirun's PMI server as ranks can: pieces from any rank in any order, answers
 * read or not, processes that end. An input is a row of pieces:
 *
 *   byte 0   the rank (modulo the number of ranks), and what happens:
 *            0x00 bytes arrive   0x40 some answers are read   0x80 the process ends
 *   byte 1   how many bytes follow (or are read)
 *
 * Whatever comes: answers are whole lines of PMI, a rank that broke the rules is not answered,
 * and no buffer grows without bound.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mpirun/pmi_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { RANKS = 4, MOST_PENDING = 1024 * 1024 };

typedef struct rank {
    bool silent; /* aborted or broke the rules: nothing may come any more */
    bool inside; /* of a line of its answers */
} rank_t;

static rank_t ranks[RANKS];

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void on_abort(void *context, unsigned rank, int code, const char *message)
{
    (void)context, (void)code;
    require(message == NULL || strlen(message) < SIZE_MAX, "the message is a string");
    require(!ranks[rank].silent, "a rank ends once");
    ranks[rank].silent = true;
}

static void on_broken(void *context, unsigned rank, const char *complaint)
{
    (void)context;
    require(complaint != NULL && complaint[0] != 0, "there is a complaint");
    ranks[rank].silent = true;
}

static char *on_spawn(void *context, unsigned rank, const spawn_request_t *request,
                      opal_text_t *started)
{
    (void)context, (void)rank;
    require(request->count > 0, "a request has commands");
    for (size_t i = 0; i < request->count; i++) {
        const spawn_command_t *command = &request->commands[i];
        require(command->argv.count > 0, "a command has a name");
        require(command->infos.keys.count == command->infos.values.count, "infos are pairs");
        opal_text_printf(started, "%s%u", i == 0 ? "" : ",", command->processes);
    }
    return request->count % 2 == 0 ? opal_xstrdup("there is\nno % room") : NULL;
}

static const char *on_publish(void *context, const char *service, const char *port)
{
    (void)context;
    return strlen(service) > strlen(port) ? "exists_already" : NULL;
}

static const char *on_lookup(void *context, const char *service)
{
    (void)context;
    return service[0] == 'a' ? service : NULL;
}

static bool on_unpublish(void *context, const char *service)
{
    (void)context;
    return service[0] == 'a';
}

/* Reads answers, checking that each line begins as one. */
static void read_answers(pmi_server_t *server, unsigned rank, size_t most)
{
    const char *bytes;
    size_t length = pmi_server_pending(server, rank, &bytes);
    require(length <= MOST_PENDING, "answers are bounded");
    if (length > most)
        length = most;
    for (size_t i = 0; i < length; i++) {
        require(ranks[rank].inside || bytes[i] == 'c', "an answer begins with cmd=");
        require(bytes[i] != 0, "an answer has no zero byte");
        ranks[rank].inside = bytes[i] != '\n';
    }
    if (length > 0)
        pmi_server_sent(server, rank, length);
}

static const uint8_t *play(pmi_server_t *server, const uint8_t *bytes, const uint8_t *end)
{
    unsigned rank = bytes[0] % RANKS, what = bytes[0] & 0xc0;
    size_t length = bytes[1];
    bytes += 2;
    if (what == 0x40) {
        read_answers(server, rank, length);
    } else if (what == 0x80) {
        pmi_server_rank_ended(server, rank);
    } else {
        if (length > (size_t)(end - bytes))
            length = (size_t)(end - bytes);
        pmi_server_receive(server, rank, (const char *)bytes, length);
        bytes += length;
    }
    for (int pending; (pending = pmi_server_next_pending(server)) >= 0;)
        require(pending < RANKS, "a rank is one of ours");
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const pmi_server_events_t events = {on_abort,   on_broken, on_spawn,
                                               on_publish, on_lookup, on_unpublish};
    static const unsigned apps[RANKS] = {0, 0, 1, 2};
    const uint8_t *end = bytes + length;
    memset(ranks, 0, sizeof ranks);
    const pmi_server_setup_t setup = {.size = RANKS,
                                      .universe_size = RANKS,
                                      .app_of = apps,
                                      .mapping = "(vector,(0,2,2))",
                                      .job_id = "fuzz",
                                      .events = &events};
    pmi_server_t *server = pmi_server_create(&setup);
    while (end - bytes >= 2)
        bytes = play(server, bytes, end);
    for (unsigned i = 0; i < RANKS; i++) {
        const char *pending;
        while (pmi_server_pending(server, i, &pending) > 0)
            read_answers(server, i, SIZE_MAX);
        require(!ranks[i].inside, "the last answer is whole");
        require(pmi_server_state(server, i) <= PMI_FINALIZED, "the state is one");
    }
    pmi_server_destroy(server);
    return 0;
}
