/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the messages that ask for a further job. See pmi_spawn.h.
 *
 *   mcmd=spawn  nprocs=2  execname=worker  totspawns=1  spawnssofar=1  [coding=percent]
 *   arg1=-v  argcnt=1  preput_num=1  preput_key_0=K  preput_val_0=V
 *   info_num=1  info_key_0=wdir  info_val_0=/tmp  endcmd
 *
 * (each word is a line). With coding=percent, values are words of opal/mca/pmi/base/names.h.
 */
#include "tools/mpirun/pmi_spawn.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/pmi/base/names.h"

enum { MAX_COMMANDS = 4096 };

/* The words of one message are looked up in turn: a client writes them in order, so the search goes
 * on where the last one ended. */
typedef struct reader {
    const opal_pmi_message_t *message;
    size_t next;
    bool is_escaped;
} reader_t;

/* The value of a key with a number behind it; the caller frees it. NULL: it is missing. */
static char *read_value(reader_t *reader, const char *key, unsigned number)
{
    char name[48];
    size_t count = reader->message->count;
    snprintf(name, sizeof name, "%s%u", key, number);
    for (size_t i = 0; i < count; i++) {
        size_t at = (reader->next + i) % count;
        if (strcmp(reader->message->words[at].key, name) != 0)
            continue;
        reader->next = at + 1;
        const char *value = reader->message->words[at].value;
        return reader->is_escaped ? opal_pmi_unescape(value) : opal_xstrdup(value);
    }
    return NULL;
}

static bool add_value(reader_t *reader, opal_strings_t *list, const char *key, unsigned number)
{
    char *value = read_value(reader, key, number);
    if (value == NULL)
        return false;
    opal_strings_add(list, value);
    free(value);
    return true;
}

/* The number of such words; 0 if the message does not say it. False: it is no such number. */
static bool read_count(const reader_t *reader, const char *key, unsigned *count)
{
    int number = 0;
    bool is_given = opal_pmi_message_get(reader->message, key) != NULL;
    if (is_given &&
        !opal_pmi_message_get_int(reader->message, key, 0, OPAL_PMI_MAX_SPAWN_WORDS, &number))
        return false;
    *count = (unsigned)number;
    return true;
}

static bool read_pairs(reader_t *reader, const char *kind, spawn_pairs_t *pairs)
{
    char count_key[16], key[16], value[16];
    unsigned count;
    snprintf(count_key, sizeof count_key, "%s_num", kind);
    snprintf(key, sizeof key, "%s_key_", kind);
    snprintf(value, sizeof value, "%s_val_", kind);
    if (!read_count(reader, count_key, &count))
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (!add_value(reader, &pairs->keys, key, i) ||
            !add_value(reader, &pairs->values, value, i))
            return false;
    }
    return true;
}

void spawn_pairs_free(spawn_pairs_t *pairs)
{
    opal_strings_free(&pairs->keys);
    opal_strings_free(&pairs->values);
}

static const char *read_command(reader_t *reader, spawn_request_t *request,
                                spawn_command_t *command)
{
    int processes;
    unsigned arguments;
    spawn_pairs_t preputs = {0};
    if (!opal_pmi_message_get_int(reader->message, "nprocs", 0, INT_MAX, &processes))
        return "sent a spawn without a number of processes";
    command->processes = (unsigned)processes;
    const char *name = opal_pmi_message_get(reader->message, "execname");
    if (name == NULL)
        return "sent a spawn without a command";
    char *value = reader->is_escaped ? opal_pmi_unescape(name) : opal_xstrdup(name);
    opal_strings_add(&command->argv, value);
    free(value);
    if (!read_count(reader, "argcnt", &arguments))
        return "sent a spawn with a bad number of arguments";
    for (unsigned i = 1; i <= arguments; i++) {
        if (!add_value(reader, &command->argv, "arg", i))
            return "sent a spawn that lacks an argument";
    }
    if (!read_pairs(reader, "preput", &preputs)) {
        spawn_pairs_free(&preputs);
        return "sent a spawn that lacks a value to put";
    }
    if (preputs.keys.count > 0) {
        spawn_pairs_free(&request->preputs);
        request->preputs = preputs;
    }
    if (!read_pairs(reader, "info", &command->infos))
        return "sent a spawn that lacks an info";
    return NULL;
}

const char *spawn_request_add(spawn_request_t *request, const opal_pmi_message_t *message,
                              bool *is_whole)
{
    reader_t reader = {.message = message,
                       .is_escaped = opal_pmi_message_get(message, "coding") != NULL};
    int total = 1, number = 1;
    *is_whole = false;
    if ((opal_pmi_message_get(message, "totspawns") != NULL &&
         !opal_pmi_message_get_int(message, "totspawns", 1, MAX_COMMANDS, &total)) ||
        (opal_pmi_message_get(message, "spawnssofar") != NULL &&
         !opal_pmi_message_get_int(message, "spawnssofar", 1, total, &number)) ||
        (size_t)number != request->count + 1)
        return "sent the commands of a spawn out of order";
    request->commands =
        opal_xrealloc(request->commands, (request->count + 1) * sizeof *request->commands);
    spawn_command_t *command = &request->commands[request->count++];
    *command = (spawn_command_t){0};
    *is_whole = number == total;
    return read_command(&reader, request, command);
}

void spawn_request_free(spawn_request_t *request)
{
    for (size_t i = 0; i < request->count; i++) {
        opal_strings_free(&request->commands[i].argv);
        spawn_pairs_free(&request->commands[i].infos);
    }
    free(request->commands);
    spawn_pairs_free(&request->preputs);
    *request = (spawn_request_t){0};
}
