/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a request to a job. See spawn.h.
 *
 * An info key that is an option of mpirun does what the option does. A key that nobody knows is
 * ignored, as MPI says.
 */
#include "tools/mpirun/spawn.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "opal/mca/pmi/base/request.h"
#include "opal/util/log.h"
#include "tools/mpirun/option_rows.h"

/* What the infos of one command say, while they are read. */
typedef struct reading {
    cursor_t cursor;
    const char *soft; /* NULL: all processes or none */
    bool in_file;     /* the infos of a file, which may not name another one */
} reading_t;

/* Takes one value. `option` is the row's. False: an error was reported. */
typedef bool take_info_fn_t(reading_t *reading, const char *option, const char *key,
                            const char *value);

static bool refuse(const char *key, const char *value, const char *wanted)
{
    opal_log_error("info %s: '%s' is not %s", key, value, wanted);
    return false;
}

static bool take_option(reading_t *reading, const char *option, const char *key, const char *value)
{
    return option_take(&reading->cursor, option, key, value);
}

static bool take_switch(reading_t *reading, const char *option, const char *key, const char *value)
{
    static const char *const yes[] = {"true", "yes", "1", "on", ""};
    static const char *const no[] = {"false", "no", "0", "off"};
    for (size_t i = 0; i < OPAL_COUNT_OF(yes); i++) {
        if (strcasecmp(value, yes[i]) == 0)
            return option_take(&reading->cursor, option, key, NULL);
    }
    for (size_t i = 0; i < OPAL_COUNT_OF(no); i++) {
        if (strcasecmp(value, no[i]) == 0)
            return true;
    }
    return refuse(key, value, "true or false");
}

static bool take_ppr(reading_t *reading, const char *option, const char *key, const char *value)
{
    char *text = opal_xprintf("ppr:%s", value);
    bool good = option_take(&reading->cursor, option, key, text);
    free(text);
    return good;
}

static bool take_by(reading_t *reading, const char *option, const char *key, const char *value)
{
    (void)value; /* map_bynode and map_byslot are switches of older programs, and name the level */
    return option_take(&reading->cursor, option, key, strstr(key, "by") + 2);
}

/* NAME=VALUE, a line each. */
static bool take_env(reading_t *reading, const char *option, const char *key, const char *value)
{
    (void)option;
    opal_strings_t lines = {0};
    bool good = true;
    opal_strings_split(&lines, value, "\n");
    for (size_t i = 0; good && i < lines.count; i++)
        good =
            option_add_export(&reading->cursor, &reading->cursor.app.export, key, lines.items[i]);
    opal_strings_free(&lines);
    return good;
}

static bool take_path(reading_t *reading, const char *option, const char *key, const char *value)
{
    (void)option, (void)key;
    free(reading->cursor.app.search);
    reading->cursor.app.search = opal_xstrdup(value);
    return true;
}

static bool take_soft(reading_t *reading, const char *option, const char *key, const char *value)
{
    (void)option, (void)key;
    reading->soft = value;
    return true;
}

static bool take_arch(reading_t *reading, const char *option, const char *key, const char *value)
{
    struct utsname here;
    (void)reading, (void)option;
    if (uname(&here) != 0 || strcasecmp(here.machine, value) == 0)
        return true;
    opal_log_error("info %s: '%s' is asked for, but this machine is %s", key, value, here.machine);
    return false;
}

static take_info_fn_t take_file;

/* Rows without an option and without a function are known and mean nothing here. */
static const struct {
    const char *keys; /* separated by blanks */
    take_info_fn_t *take;
    const char *option;
} rows[] = {
    {"host hosts add-host add_host PMIX_HOST pmix.host PMIX_ADD_HOST pmix.addhost", take_option,
     "host"},
    {"hostfile machinefile add-hostfile add_hostfile PMIX_HOSTFILE pmix.hostfile "
     "PMIX_ADD_HOSTFILE pmix.addhostfile",
     take_option, "hostfile"},
    {"wdir wd cwd PMIX_WDIR pmix.wdir", take_option, "wdir"},
    {"path", take_path, NULL},
    {"file", take_file, NULL},
    {"soft", take_soft, NULL},
    {"arch", take_arch, NULL},
    {"env PMIX_ENVAR", take_env, NULL},
    {"bind_to bind-to PMIX_BINDTO pmix.bindto", take_option, "bind-to"},
    {"map_by map-by mapper PMIX_MAPBY pmix.mapby", take_option, "map-by"},
    {"rank_by rank-by PMIX_RANKBY pmix.rankby", take_option, "rank-by"},
    {"map_bynode map_byslot", take_by, "map-by"},
    {"ppr PMIX_PPR pmix.ppr", take_ppr, "map-by"},
    {"display_map display-map PMIX_DISPLAY_MAP pmix.dispmap", take_switch, "display-map"},
    {"report_bindings report-bindings PMIX_REPORT_BINDINGS pmix.repbind", take_switch,
     "report-bindings"},
    {"mpi_initial_errhandler", take_option, "initial-errhandler"},
};

static bool has_key(const char *keys, const char *key)
{
    size_t length = strlen(key);
    for (const char *one = keys; *one != 0; one += strspn(one, " ")) {
        size_t size = strcspn(one, " ");
        if (size == length && strncmp(one, key, size) == 0)
            return true;
        one += size;
    }
    return false;
}

static bool take_info(reading_t *reading, const char *key, const char *value)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++) {
        if (has_key(rows[i].keys, key))
            return rows[i].take(reading, rows[i].option, key, value);
    }
    return true;
}

/* Cuts the blanks at both ends of a text off. */
static char *trim(char *text)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    for (size_t length = strlen(text); length > 0 && strchr(blanks, text[length - 1]) != NULL;)
        text[--length] = 0;
    return text;
}

/* "key=value", or a blank line or a comment. */
static bool take_line(reading_t *reading, char *line)
{
    char *key = trim(line), *equals = strchr(key, '=');
    if (*key == 0 || *key == '#')
        return true;
    if (equals == NULL || equals == key)
        return refuse("file", key, "KEY=VALUE");
    *equals = 0;
    return take_info(reading, trim(key), trim(equals + 1));
}

static bool take_file(reading_t *reading, const char *option, const char *key, const char *value)
{
    (void)option;
    FILE *file = reading->in_file ? NULL : fopen(value, "re");
    if (file == NULL) {
        opal_log_error("info %s: cannot read %s: %s", key, value,
                       reading->in_file ? "it is named in another file" : strerror(errno));
        return false;
    }
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    reading->in_file = true;
    while (good && getline(&line, &capacity, file) >= 0)
        good = take_line(reading, line);
    reading->in_file = false;
    free(line);
    fclose(file);
    return good;
}

/* -- soft --------------------------------------------------------------------------------- */

/* Reads "a", "a:b" or "a:b:c" and adds its largest number in 0 to `most`. */
static bool take_triplet(const char *text, long most, long *best)
{
    long part[3] = {0, 0, 1};
    int count = 0;
    for (char *end; count < 3; count++) {
        errno = 0;
        part[count] = strtol(text, &end, 10);
        if (end == text || errno != 0 || part[count] > INT_MAX || part[count] < -INT_MAX)
            return false;
        text = end + 1;
        if (*end == 0)
            break;
        if (*end != ':')
            return false;
    }
    if (count == 3 || part[2] == 0)
        return false;
    if (count == 0)
        part[1] = part[0];
    long low = part[0], high = part[1], step = part[2];
    if (step < 0) { /* counts down to high: the numbers are those of low + k * step */
        step = -step;
        low = part[1] > part[0] ? part[0] + 1 : part[0] - (part[0] - part[1]) / step * step;
        high = part[0];
    }
    if (high > most)
        high = most;
    if (high < low)
        return true; /* an empty one */
    long largest = low + (high - low) / step * step;
    if (largest >= 0 && largest > *best)
        *best = largest;
    return true;
}

bool spawn_choose_soft(const char *set, unsigned most, unsigned *number)
{
    opal_strings_t parts = {0};
    long best = -1;
    bool good = true;
    opal_strings_split(&parts, set, ",");
    for (size_t i = 0; good && i < parts.count; i++)
        good = take_triplet(parts.items[i], (long)most, &best);
    opal_strings_free(&parts);
    if (!good || best < 0)
        return false;
    *number = (unsigned)best;
    return true;
}

/* -- the job ------------------------------------------------------------------------------ */

/* What holds for mpirun's own job and can hold for a further one. */
static void inherit_options(job_t *job, const options_t *first)
{
    options_t *options = &job->options;
    options->verbose = first->verbose;
    options->quiet = first->quiet;
    options->use_hwthreads = first->use_hwthreads;
    options->report_bindings = first->report_bindings;
    options->no_oversubscribe = first->no_oversubscribe;
    options->stdin_mode = STDIN_NONE;
    for (size_t i = 0; i < first->wraps.count; i++) {
        if (first->wraps.items[i].ranks.count == 0)
            wrap_inherit(&options->wraps, &first->wraps.items[i]);
    }
    options->map_by = LEVEL_SLOT;
    if (first->rankfile != NULL || first->per_object > 0)
        return; /* these fix the number of ranks */
    options->map_by = first->map_by;
    options->rank_by = first->rank_by;
    options->bind_to = first->bind_to;
    options->bind_given = first->bind_given;
    options->cpus_per_rank = first->cpus_per_rank;
}

/* The parameters that the infos set are for the new processes alone. */
static void export_mca(job_t *job, app_t *app)
{
    for (size_t i = 0; i < job->options.mca.count; i++) {
        char *setting = opal_xprintf("OMPI_MCA_%s", job->options.mca.items[i]);
        opal_strings_add(&app->export, setting);
        free(setting);
    }
    opal_strings_free(&job->options.mca);
}

/* Adds one command. False: an error was reported. */
static bool add_command(const spawn_origin_t *origin, job_t *job, const spawn_command_t *command,
                        unsigned number, unsigned *processes)
{
    reading_t reading = {.cursor = {.job = job, .origin = "info "}};
    app_t *app = &reading.cursor.app;
    const app_t *parent = origin->parents->ranks[origin->rank].app;
    bool good = true;
    for (size_t i = 0; good && i < command->infos.keys.count; i++)
        good = take_info(&reading, command->infos.keys.items[i], command->infos.values.items[i]);
    *processes = command->processes;
    if (good && reading.soft != NULL &&
        !spawn_choose_soft(reading.soft, command->processes, processes))
        good = refuse("soft", reading.soft, "a set such as 1,4:16:4 with a number that fits");
    if (!good || *processes == 0) {
        app_free(app);
        return good;
    }
    export_mca(job, app);
    app->number = number;
    app->rank_count = *processes;
    app->inherited = &parent->environment;
    if (app->wdir == NULL && parent->wdir != NULL)
        app->wdir = opal_xstrdup(parent->wdir);
    for (size_t i = 0; i < command->argv.count; i++)
        opal_strings_add(&app->argv, command->argv.items[i]);
    *job_add_app(job) = *app;
    return true;
}

static bool add_commands(const spawn_origin_t *origin, job_t *job, const spawn_request_t *request,
                         opal_text_t *started)
{
    bool is_short = false;
    for (size_t i = 0; i < request->count; i++) {
        unsigned processes;
        if (!add_command(origin, job, &request->commands[i], (unsigned)i, &processes))
            return false;
        is_short |= processes < request->commands[i].processes;
        opal_text_printf(started, "%s%u", i == 0 ? "" : ",", processes);
    }
    if (!is_short)
        opal_text_free(started);
    if (job->app_count == 0)
        opal_log_error("no process is asked for");
    return job->app_count > 0;
}

/* Whether it can be started on this machine. False: an error was reported. */
static bool fits_here(const spawn_origin_t *origin, const job_t *job)
{
    size_t size = 0;
    if (job->options.hosts.other != NULL) {
        opal_log_error("'%s' is not this machine (%s), and this mpirun starts processes only here",
                       job->options.hosts.other, job->host);
        return false;
    }
    for (size_t i = 0; i < job->app_count; i++)
        size += job->apps[i].rank_count;
    if (!job->options.no_oversubscribe || origin->running + size <= origin->first->universe_size)
        return true;
    opal_log_error("%zu processes are asked for with --no-oversubscribe, but %u of %u places are "
                   "taken",
                   size, origin->running, origin->first->universe_size);
    return false;
}

static void take_preputs(job_t *job, const spawn_request_t *request)
{
    const spawn_pairs_t *preputs = &request->preputs;
    for (size_t i = 0; i < preputs->keys.count; i++) {
        opal_strings_add(&job->preputs.keys, preputs->keys.items[i]);
        opal_strings_add(&job->preputs.values, preputs->values.items[i]);
        if (strcmp(preputs->keys.items[i], OPAL_PMI_PARENT_KEY) == 0)
            job->parent_port = job->preputs.values.items[i];
    }
}

job_t *spawn_prepare(const spawn_origin_t *origin, const spawn_request_t *request,
                     opal_text_t *started)
{
    job_t *job = opal_xcalloc(1, sizeof *job);
    job_init(job);
    job->number = origin->number;
    job->parents = origin->parents->number;
    job->universe_size = origin->first->universe_size;
    job->first_place = origin->running;
    inherit_options(job, &origin->first->options);
    take_preputs(job, request);
    if (add_commands(origin, job, request, started) && fits_here(origin, job) &&
        job_prepare(job) == 0)
        return job;
    job_free(job);
    free(job);
    return NULL;
}
