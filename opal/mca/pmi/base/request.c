/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks for a further job, and for names. See request.h. */
#include "opal/mca/pmi/base/request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/pmi/base/names.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

/* -- a further job ------------------------------------------------------------------------ */

/* The lines of a request while they are made. */
typedef struct lines {
    opal_text_t text;
    bool is_mpirun;
    const char *broken; /* a value that PMI-1 cannot carry; NULL: none */
} lines_t;

static void add_value(lines_t *lines, const char *value)
{
    if (lines->is_mpirun)
        opal_pmi_escape(&lines->text, value);
    else if (strchr(value, '\n') != NULL)
        lines->broken = value;
    else
        opal_text_add(&lines->text, value);
    opal_text_add(&lines->text, "\n");
}

static void add_line(lines_t *lines, const char *key, size_t number, const char *value)
{
    opal_text_printf(&lines->text, "%s%zu=", key, number);
    add_value(lines, value);
}

static bool names_directory(const opal_pmi_program_t *program)
{
    static const char *const keys[] = {"wdir", "wd", "cwd", "PMIX_WDIR", "pmix.wdir"};
    for (size_t i = 0; i < program->info_count * OPAL_COUNT_OF(keys); i++) {
        if (strcmp(program->infos[i / OPAL_COUNT_OF(keys)].key, keys[i % OPAL_COUNT_OF(keys)]) == 0)
            return true;
    }
    return false;
}

static void add_infos(lines_t *lines, const opal_pmi_program_t *program)
{
    size_t count = program->info_count;
    for (size_t i = 0; i < program->info_count; i++) {
        add_line(lines, "info_key_", i, program->infos[i].key);
        add_line(lines, "info_val_", i, program->infos[i].value);
    }
    /* A process may have changed its directory since mpirun started it. */
    char *here = lines->is_mpirun && !names_directory(program) ? getcwd(NULL, 0) : NULL;
    if (here != NULL) {
        add_line(lines, "info_key_", count, "wdir");
        add_line(lines, "info_val_", count++, here);
    }
    free(here);
    opal_text_printf(&lines->text, "info_num=%zu\n", count);
}

static void add_program(lines_t *lines, const opal_pmi_program_t *program, size_t number,
                        size_t count, const char *parent_port)
{
    opal_text_printf(&lines->text, "mcmd=spawn\nnprocs=%u\nexecname=", program->max_processes);
    add_value(lines, program->command);
    opal_text_printf(&lines->text, "totspawns=%zu\nspawnssofar=%zu\n", count, number + 1);
    if (lines->is_mpirun)
        opal_text_add(&lines->text, "coding=percent\n");
    size_t arguments = 0;
    for (; program->arguments != NULL && program->arguments[arguments] != NULL; arguments++)
        add_line(lines, "arg", arguments + 1, program->arguments[arguments]);
    opal_text_printf(&lines->text, "argcnt=%zu\n", arguments);
    if (parent_port != NULL) {
        opal_text_add(&lines->text, "preput_num=1\npreput_key_0=" OPAL_PMI_PARENT_KEY "\n");
        add_line(lines, "preput_val_", 0, parent_port);
    }
    add_infos(lines, program);
    opal_text_add(&lines->text, "endcmd\n");
}

/* "4 processes of worker", "4 processes of worker and 2 of other" */
static char *describe(const opal_pmi_program_t programs[], size_t count)
{
    opal_text_t text = {0};
    for (size_t i = 0; i < count; i++)
        opal_text_printf(&text, "%s%u%s of %s",
                         i == 0          ? ""
                         : i + 1 < count ? ", "
                                         : " and ",
                         programs[i].max_processes,
                         i > 0                            ? ""
                         : programs[i].max_processes == 1 ? " process"
                                                          : " processes",
                         programs[i].command);
    return opal_text_take(&text);
}

static opal_status_t refuse(const opal_pmi_program_t programs[], size_t count, const char *reason,
                            opal_status_t status)
{
    char *what = describe(programs, count);
    opal_log_error("cannot start %s: %s", what, reason);
    free(what);
    return status;
}

/* All lines of the request. Not OPAL_SUCCESS: what cannot be sent was reported. */
static opal_status_t write_request(lines_t *lines, const opal_pmi_program_t programs[],
                                   size_t count, const char *parent_port)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = lines->text.length;
        add_program(lines, &programs[i], i, count, parent_port);
        if (lines->text.length - before > OPAL_PMI_MAX_MESSAGE)
            return refuse(programs, count, "arguments and info of a command exceed 64 KiB",
                          OPAL_ERR_TOO_LARGE);
    }
    if (lines->broken != NULL)
        return refuse(programs, count,
                      "an argument or info value has a newline, which this launcher cannot take",
                      OPAL_ERR_NOT_SUPPORTED);
    return OPAL_SUCCESS;
}

static size_t count_processes(const opal_pmi_program_t programs[], size_t count)
{
    size_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += programs[i].max_processes;
    return all;
}

/* The answer names how many of each command run, where these are fewer than all: "4,0,2". */
static void note_missing(const char *started, const opal_pmi_program_t programs[], size_t count,
                         opal_status_t errors[])
{
    for (size_t i = 0; i < count; i++) {
        char *end = NULL;
        unsigned long run = started != NULL ? strtoul(started, &end, 10) : ULONG_MAX;
        for (unsigned k = 0; k < programs[i].max_processes; k++)
            *errors++ = k < run ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
        started = end != NULL && *end == ',' ? end + 1 : NULL;
    }
}

opal_status_t opal_pmi_request_spawn(const opal_pmi_launcher_t *launcher,
                                     const opal_pmi_program_t programs[], size_t count,
                                     const char *parent_port, opal_status_t errors[])
{
    lines_t lines = {.is_mpirun = launcher->is_mpirun};
    const opal_pmi_message_t *answer = &launcher->connection->answer;
    opal_status_t status = write_request(&lines, programs, count, parent_port);
    if (status == OPAL_SUCCESS)
        status = opal_pmi_ask_lines(launcher->connection, "spawn_result", lines.text.bytes,
                                    lines.text.length);
    opal_text_free(&lines.text);
    if (status == OPAL_ERR_NOT_FOUND) {
        const char *text = opal_pmi_message_get(answer, "text");
        const char *msg = opal_pmi_message_get(answer, "msg");
        char *reason = opal_pmi_unescape(text != NULL  ? text
                                         : msg != NULL ? msg
                                                       : "the launcher refused it");
        status = refuse(programs, count, reason, OPAL_ERR_ERROR);
        free(reason);
    }
    size_t all = count_processes(programs, count);
    for (size_t i = 0; i < all; i++)
        errors[i] = status;
    if (status == OPAL_SUCCESS)
        note_missing(opal_pmi_message_get(answer, "started"), programs, count, errors);
    return status;
}

/* mpirun has put it under the name of the port, where the parents' job has its values. */
opal_status_t opal_pmi_request_trouble(const opal_pmi_launcher_t *launcher, const char *parent_port,
                                       char **text)
{
    opal_status_t status =
        opal_pmi_ask(launcher->connection, "get_result", "cmd=get key=%s", parent_port);
    const char *value = opal_pmi_message_get(&launcher->connection->answer, "value");
    if (status != OPAL_SUCCESS)
        return status;
    *text = opal_pmi_unescape(value != NULL ? value : "");
    return OPAL_SUCCESS;
}

/* -- names -------------------------------------------------------------------------------- */

opal_status_t opal_pmi_request_publish(const opal_pmi_launcher_t *launcher, const char *service,
                                       const char *port)
{
    opal_text_t name = {0}, value = {0};
    opal_pmi_escape(&name, service);
    opal_pmi_escape(&value, port);
    opal_status_t status =
        opal_pmi_ask(launcher->connection, "publish_result", "cmd=publish_name service=%s port=%s",
                     opal_text_string(&name), opal_text_string(&value));
    opal_text_free(&name);
    opal_text_free(&value);
    if (status != OPAL_ERR_NOT_FOUND)
        return status;
    const char *reason = opal_pmi_message_get(&launcher->connection->answer, "msg");
    if (reason == NULL || strncmp(reason, "refused_", strlen("refused_")) != 0)
        return OPAL_ERR_EXISTS;
    opal_log_error("pmi: the launcher cannot publish the name %s: %s", service, reason);
    return OPAL_ERR_SYSTEM;
}

opal_status_t opal_pmi_request_unpublish(const opal_pmi_launcher_t *launcher, const char *service)
{
    opal_text_t name = {0};
    opal_pmi_escape(&name, service);
    opal_status_t status = opal_pmi_ask(launcher->connection, "unpublish_result",
                                        "cmd=unpublish_name service=%s", opal_text_string(&name));
    opal_text_free(&name);
    return status;
}

opal_status_t opal_pmi_request_lookup(const opal_pmi_launcher_t *launcher, const char *service,
                                      char **port)
{
    opal_text_t name = {0};
    char *found = NULL;
    opal_pmi_escape(&name, service);
    opal_status_t status = opal_pmi_ask(launcher->connection, "lookup_result",
                                        "cmd=lookup_name service=%s", opal_text_string(&name));
    if (status == OPAL_SUCCESS) {
        const char *value = opal_pmi_message_get(&launcher->connection->answer, "port");
        found = value != NULL ? strdup(value) : NULL;
        status = value == NULL   ? OPAL_ERR_NOT_FOUND
                 : found == NULL ? OPAL_ERR_NO_MEMORY
                                 : OPAL_SUCCESS;
    } else if (status == OPAL_ERR_NOT_FOUND && launcher->is_mpirun) {
        status = opal_pmi_name_find(opal_text_string(&name), &found);
    }
    if (status == OPAL_SUCCESS)
        *port = opal_pmi_unescape(found);
    free(found);
    opal_text_free(&name);
    return status;
}
