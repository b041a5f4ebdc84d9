/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line's table, its parser, and the help that is printed from it.
 *
 * A command line is a row of contexts separated by ':'; a context is options and
 * then a program with its arguments. The lines of an --app file are contexts too.
 */
#include "tools/mpirun/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/log.h"
#include "tools/mpirun/appfile.h"
#include "tools/mpirun/nodes.h"
#include "tools/mpirun/number.h"

/* Where the parser stands. */
typedef struct cursor {
    job_t *job;
    app_t app;          /* of the context that is being read */
    bool app_settings;  /* the context has -n, -x or --wdir */
    const char *origin; /* of the words: "" or "jobs.app:3: " */
    bool in_app_file;
} cursor_t;

/* Stores an option's values. False: it has said what is wrong with them. */
typedef bool take_fn_t(cursor_t *cursor, const char *option, char **values);

typedef struct option_row {
    const char *names;  /* without dashes, the main one first: "n np c" */
    const char *values; /* a word each; "" for none */
    take_fn_t *take;
    const char *help;
} option_row_t;

static bool refuse(const cursor_t *cursor, const char *option, const char *value,
                   const char *wanted)
{
    opal_log_error("%s%s: '%s' is not %s", cursor->origin, option, value, wanted);
    return false;
}

/* One of a list of words. */
typedef struct word {
    const char *name;
    int value;
} word_t;

static bool take_word(const cursor_t *cursor, const char *option, const char *value,
                      const word_t *words, size_t count, int *result)
{
    const char *names[8];
    opal_text_t wanted = {0};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i].name, value) == 0) {
            opal_text_free(&wanted);
            *result = words[i].value;
            return true;
        }
        names[i] = words[i].name;
        opal_text_printf(&wanted, "%s%s", i == 0 ? "one of " : ", ", words[i].name);
    }
    const char *nearest = opal_nearest_name(value, names, count);
    if (nearest != NULL)
        opal_text_printf(&wanted, "; did you mean %s?", nearest);
    refuse(cursor, option, value, opal_text_string(&wanted));
    opal_text_free(&wanted);
    return false;
}

static bool take_count(cursor_t *cursor, const char *option, char **values)
{
    if (cursor->app.rank_count != 0) {
        opal_log_error("%s%s: the number of ranks is given twice", cursor->origin, option);
        return false;
    }
    cursor->app_settings = true;
    if (!number_parse_unsigned(values[0], 1, MAX_RANKS, &cursor->app.rank_count))
        return refuse(cursor, option, values[0], "a number of ranks (1 to 65536)");
    return true;
}

static bool take_export(cursor_t *cursor, const char *option, char **values)
{
    cursor->app_settings = true;
    char *equals = strchr(values[0], '=');
    if (values[0][0] == 0 || equals == values[0])
        return refuse(cursor, option, values[0], "NAME or NAME=VALUE");
    if (equals != NULL) {
        opal_strings_add(&cursor->app.export, values[0]);
        return true;
    }
    const char *value = getenv(values[0]);
    if (value == NULL) {
        if (!cursor->job->options.quiet)
            opal_log_warning("%s%s %s: the variable is not set, so there is nothing to hand on",
                             cursor->origin, option, values[0]);
        return true;
    }
    char *setting = opal_xprintf("%s=%s", values[0], value);
    opal_strings_add(&cursor->app.export, setting);
    free(setting);
    return true;
}

static bool take_wdir(cursor_t *cursor, const char *option, char **values)
{
    cursor->app_settings = true;
    if (values[0][0] == 0)
        return refuse(cursor, option, values[0], "a directory");
    free(cursor->app.wdir);
    cursor->app.wdir = opal_xstrdup(values[0]);
    return true;
}

static bool add_mca(cursor_t *cursor, const char *option, const char *name, const char *value)
{
    opal_strings_t *mca = &cursor->job->options.mca;
    if (name[0] == 0 || strpbrk(name, "=, \t") != NULL)
        return refuse(cursor, option, name, "the name of a parameter");
    size_t length = strlen(name);
    for (size_t i = 0; i < mca->count; i++) {
        if (strncmp(mca->items[i], name, length) == 0 && mca->items[i][length] == '=') {
            opal_log_error("%s%s: parameter %s is set twice, to '%s' and to '%s'; remove one",
                           cursor->origin, option, name, mca->items[i] + length + 1, value);
            return false;
        }
    }
    char *setting = opal_xprintf("%s=%s", name, value);
    opal_strings_add(mca, setting);
    free(setting);
    return true;
}

static bool take_mca(cursor_t *cursor, const char *option, char **values)
{
    return add_mca(cursor, option, values[0], values[1]);
}

static bool take_errhandler(cursor_t *cursor, const char *option, char **values)
{
    static const word_t handlers[] = {
        {"mpi_errors_abort", 0}, {"mpi_errors_are_fatal", 0}, {"mpi_errors_return", 0}};
    int ignored;
    return take_word(cursor, option, values[0], handlers, OPAL_COUNT_OF(handlers), &ignored) &&
           add_mca(cursor, option, "mpi_initial_errhandler", values[0]);
}

static bool take_bind(cursor_t *cursor, const char *option, char **values)
{
    static const word_t levels[] = {{"none", LEVEL_NONE},
                                    {"core", LEVEL_CORE},
                                    {"socket", LEVEL_SOCKET},
                                    {"numa", LEVEL_NUMA},
                                    {"hwthread", LEVEL_HWTHREAD}};
    int level;
    if (!take_word(cursor, option, values[0], levels, OPAL_COUNT_OF(levels), &level))
        return false;
    cursor->job->options.bind_to = (level_t)level;
    return true;
}

static bool take_map(cursor_t *cursor, const char *option, char **values)
{
    static const word_t levels[] = {{"slot", LEVEL_SLOT},     {"core", LEVEL_CORE},
                                    {"socket", LEVEL_SOCKET}, {"numa", LEVEL_NUMA},
                                    {"node", LEVEL_NODE},     {"hwthread", LEVEL_HWTHREAD}};
    int level;
    if (!take_word(cursor, option, values[0], levels, OPAL_COUNT_OF(levels), &level))
        return false;
    cursor->job->options.map_by = (level_t)level;
    return true;
}

static bool take_host(cursor_t *cursor, const char *option, char **values)
{
    (void)option;
    cursor->job->options.has_hosts = true;
    return hosts_add_list(&cursor->job->options.hosts, values[0], cursor->job->host);
}

static bool take_hostfile(cursor_t *cursor, const char *option, char **values)
{
    (void)option;
    cursor->job->options.has_hosts = true;
    return hosts_add_file(&cursor->job->options.hosts, "--hostfile", values[0], cursor->job->host,
                          0);
}

static bool take_fake_nodes(cursor_t *cursor, const char *option, char **values)
{
    return nodes_parse(values[0], &cursor->job->options.nodes) ||
           refuse(cursor, option, values[0],
                  "a number of nodes, or the numbers of their ranks, such as 3,1");
}

static bool take_stdin(cursor_t *cursor, const char *option, char **values)
{
    options_t *options = &cursor->job->options;
    options->stdin_mode = STDIN_ONE;
    if (strcmp(values[0], "all") == 0)
        options->stdin_mode = STDIN_ALL;
    else if (strcmp(values[0], "none") == 0)
        options->stdin_mode = STDIN_NONE;
    else if (!number_parse_unsigned(values[0], 0, MAX_RANKS - 1, &options->stdin_rank))
        return refuse(cursor, option, values[0], "a rank, 'all' or 'none'");
    return true;
}

static bool take_output_dir(cursor_t *cursor, const char *option, char **values)
{
    if (values[0][0] == 0)
        return refuse(cursor, option, values[0], "a directory");
    free(cursor->job->options.output_dir);
    cursor->job->options.output_dir = opal_xstrdup(values[0]);
    return true;
}

static bool take_timeout(cursor_t *cursor, const char *option, char **values)
{
    static const double longest = 1e8; /* three years; keeps the nanoseconds in 64 bits */
    if (!number_parse_seconds(values[0], longest, &cursor->job->options.timeout))
        return refuse(cursor, option, values[0], "a number of seconds above 0, up to 1e8");
    return true;
}

static bool take_app_file(cursor_t *cursor, const char *option, char **values);

/* A switch: sets one bool of the options. */
#define SWITCH(function, member, state)                                                            \
    static bool function(cursor_t *cursor, const char *option, char **values)                      \
    {                                                                                              \
        (void)option, (void)values;                                                                \
        cursor->job->options.member = state;                                                       \
        return true;                                                                               \
    }

SWITCH(take_oversubscribe, no_oversubscribe, false)
SWITCH(take_no_oversubscribe, no_oversubscribe, true)
SWITCH(take_report_bindings, report_bindings, true)
SWITCH(take_display_map, display_map, true)
SWITCH(take_tag_output, tag_output, true)
SWITCH(take_timestamp_output, timestamp_output, true)
SWITCH(take_show, show, true)
SWITCH(take_verbose, verbose, true)
SWITCH(take_quiet, quiet, true)
SWITCH(take_help, help, true)
SWITCH(take_version, version, true)

/* clang-format off */
static const option_row_t rows[] = {
    {"n np c", "COUNT", take_count,
     "start COUNT ranks of this program (default: one for each core)"},
    {"x", "NAME[=VALUE]", take_export, "set an environment variable for this program's ranks"},
    {"wdir", "DIR", take_wdir, "start this program's ranks in DIR"},
    {"app", "FILE", take_app_file, "read programs and their options from FILE, a line each"},
    {"mca", "NAME VALUE", take_mca, "set a parameter of the library (see ompi_info)"},
    {"initial-errhandler", "NAME", take_errhandler,
     "first error handler: mpi_errors_are_fatal, _abort or _return"},
    {"host", "LIST", take_host, "hosts to run on: NAME[:SLOTS], separated by commas"},
    {"hostfile", "FILE", take_hostfile, "the same from a file: NAME [slots=N], a line each"},
    {"map-by", "WHAT", take_map, "with --bind-to: deal ranks to slot, hwthread, core, numa, socket, node"},
    {"bind-to", "WHAT", take_bind, "pin each rank to a hwthread, core, numa or socket, or to none"},
    {"report-bindings", "", take_report_bindings, "say where each rank may run"},
    {"display-map", "", take_display_map, "show which program is which rank, then start"},
    {"oversubscribe", "", take_oversubscribe, "allow more ranks than cores (default)"},
    {"no-oversubscribe", "", take_no_oversubscribe, "refuse more ranks than cores or slots"},
    {"fake-nodes", "HOW", take_fake_nodes,
     "play several nodes, to try out what crosses them: 2, or ranks of each: 3,1"},
    {"stdin", "WHO", take_stdin, "who reads standard input: a rank, all or none (default: 0)"},
    {"tag-output", "", take_tag_output, "begin each line of output with its rank"},
    {"timestamp-output", "", take_timestamp_output, "begin each line of output with the time"},
    {"output-filename", "DIR", take_output_dir,
     "write the output to DIR/rank.N/stdout and stderr"},
    {"timeout", "SECONDS", take_timeout,
     "end the job with status 110 after so long (default: MPIEXEC_TIMEOUT)"},
    {"show", "", take_show, "print what would be started by which launcher, and start nothing"},
    {"verbose v", "", take_verbose, "say what is done"},
    {"quiet q", "", take_quiet, "no warnings, only errors"},
    {"version V", "", take_version, "print the version"},
    {"help h", "", take_help, "print this"},
};
/* clang-format on */

enum { ROW_COUNT = OPAL_COUNT_OF(rows) };

/* True if one of the blank-separated names is this one. */
static bool has_name(const char *names, const char *name, size_t length)
{
    for (const char *c = names; *c != 0; c += strspn(c, " ")) {
        size_t size = strcspn(c, " ");
        if (size == length && strncmp(c, name, length) == 0)
            return true;
        c += size;
    }
    return false;
}

static const option_row_t *find_row(const char *name, size_t length)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (has_name(rows[i].names, name, length))
            return &rows[i];
    }
    return NULL;
}

static void report_unknown(const cursor_t *cursor, const char *option, const char *name)
{
    opal_strings_t names = {0};
    for (size_t i = 0; i < ROW_COUNT; i++)
        opal_strings_split(&names, rows[i].names, " ");
    const char *nearest = NULL;
    for (size_t i = 0; i < names.count && nearest == NULL && strlen(name) > 2; i++) {
        if (strncmp(names.items[i], name, strlen(name)) == 0)
            nearest = names.items[i]; /* an abbreviation */
    }
    if (nearest == NULL)
        nearest = opal_nearest_name(name, (const char *const *)(void *)names.items, names.count);
    if (nearest != NULL)
        opal_log_error("%sunknown option %s; did you mean %s%s?", cursor->origin, option,
                       nearest[1] == 0 ? "-" : "--", nearest);
    else
        opal_log_error("%sunknown option %s; mpirun --help lists them all", cursor->origin, option);
    opal_strings_free(&names);
}

const char *options_names(size_t index)
{
    return index < ROW_COUNT ? rows[index].names : NULL;
}

static size_t value_count(const option_row_t *row)
{
    return (row->values[0] != 0) + (strchr(row->values, ' ') != NULL);
}

/* Stores the values, and that it was given. */
static bool take(cursor_t *cursor, const option_row_t *row, const char *option, char **values)
{
    options_t *options = &cursor->job->options;
    if (!row->take(cursor, option, values))
        return false;
    options->given =
        opal_xrealloc(options->given, (options->given_count + 1) * sizeof *options->given);
    options->given[options->given_count++] =
        (given_t){.name = row->names,
                  .typed = opal_xstrdup(option),
                  .value = value_count(row) > 0 ? opal_xstrdup(values[0]) : NULL};
    return true;
}

/* Scripts that start programs under any MPI set a limit in this way. */
static bool take_timeout_of_environment(cursor_t *cursor)
{
    static const char variable[] = "MPIEXEC_TIMEOUT";
    char *seconds = getenv(variable);
    return seconds == NULL || *seconds == 0 ||
           take(cursor, find_row("timeout", strlen("timeout")), variable, &seconds);
}

/* Reads one option at argv[0]. How many words it took; 0: it has said what is wrong. */
static int parse_option(cursor_t *cursor, int argc, char **argv)
{
    const char *name = argv[0] + (argv[0][1] == '-' ? 2 : 1);
    size_t length = strcspn(name, "=");
    const option_row_t *row = find_row(name, length);
    if (row == NULL) {
        char *bare = opal_xstrndup(name, length);
        report_unknown(cursor, argv[0], bare);
        free(bare);
        return 0;
    }
    char *joined = (char *)name + length;
    size_t wanted = value_count(row);
    if (*joined == '=') {
        if (wanted != 1) {
            opal_log_error("%s%s: write the %s behind it, separated by blanks", cursor->origin,
                           argv[0], wanted == 0 ? "next option" : row->values);
            return 0;
        }
        joined++;
        return take(cursor, row, argv[0], &joined) ? 1 : 0;
    }
    if ((size_t)argc - 1 < wanted) {
        opal_log_error("%s%s needs %s", cursor->origin, argv[0], row->values);
        return 0;
    }
    return take(cursor, row, argv[0], argv + 1) ? 1 + (int)wanted : 0;
}

/* Reads the options of one context. Returns how many words they were; -1: they are no good. */
static int parse_app_options(cursor_t *cursor, int argc, char **argv)
{
    int i = 0;
    while (i < argc && argv[i][0] == '-' && argv[i][1] != 0) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        int used = parse_option(cursor, argc - i, argv + i);
        if (used == 0)
            return -1;
        i += used;
    }
    return i;
}

/* A context without a program: fine for --help, and behind one that only names an --app file. */
static bool may_lack_program(const cursor_t *cursor, size_t apps_before)
{
    if (cursor->job->options.help || cursor->job->options.version)
        return true;
    if (cursor->job->app_count == apps_before) {
        opal_log_error("%sno program to run is given; mpirun --help shows how", cursor->origin);
        return false;
    }
    if (cursor->app_settings)
        opal_log_error("%s-n, -x and --wdir have no program here; write them into the --app file",
                       cursor->origin);
    return !cursor->app_settings;
}

/* Reads one context: options, a program, its arguments. */
static bool parse_context(cursor_t *cursor, int argc, char **argv)
{
    cursor->app = (app_t){0};
    cursor->app_settings = false;
    size_t apps_before = cursor->job->app_count;

    int i = parse_app_options(cursor, argc, argv);
    if (i < 0 || i == argc) {
        app_free(&cursor->app);
        return i == argc && may_lack_program(cursor, apps_before);
    }
    for (; i < argc; i++)
        opal_strings_add(&cursor->app.argv, argv[i]);
    *job_add_app(cursor->job) = cursor->app;
    return true;
}

/* Reads contexts separated by ':'. */
static bool parse_contexts(cursor_t *cursor, int argc, char **argv)
{
    int begin = 0;
    for (;;) {
        int end = begin;
        while (end < argc && strcmp(argv[end], ":") != 0)
            end++;
        if (!parse_context(cursor, end - begin, argv + begin))
            return false;
        if (end == argc)
            return true;
        begin = end + 1;
    }
}

static bool parse_app_line(cursor_t *outer, const char *path, unsigned number, const char *line)
{
    char *origin = opal_xprintf("%s:%u: ", path, number);
    cursor_t cursor = {.job = outer->job, .origin = origin, .in_app_file = true};
    opal_strings_t words = {0};
    const char *complaint = appfile_split(line, &words);
    if (complaint != NULL)
        opal_log_error("%s%s", origin, complaint);
    bool good = complaint == NULL &&
                (words.count == 0 || parse_contexts(&cursor, (int)words.count, words.items));
    opal_strings_free(&words);
    free(origin);
    return good;
}

static bool take_app_file(cursor_t *cursor, const char *option, char **values)
{
    const char *path = values[0];
    if (cursor->in_app_file) {
        opal_log_error("%s%s: an --app file cannot name another one", cursor->origin, option);
        return false;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        opal_log_error("%s: cannot read %s: %s", option, path, strerror(errno));
        return false;
    }
    size_t apps_before = cursor->job->app_count;
    char *line = NULL;
    size_t capacity = 0;
    unsigned number = 0;
    bool good = true;
    while (good && getline(&line, &capacity, file) >= 0)
        good = parse_app_line(cursor, path, ++number, line);
    if (good && ferror(file)) {
        opal_log_error("%s: cannot read %s: %s", option, path, strerror(errno));
        good = false;
    } else if (good && cursor->job->app_count == apps_before) {
        opal_log_error("%s: %s names no program", option, path);
        good = false;
    }
    free(line);
    fclose(file);
    return good;
}

bool options_parse(job_t *job, int argc, char **argv)
{
    job->options.map_by = LEVEL_SLOT;
    cursor_t cursor = {.job = job, .origin = ""};
    return take_timeout_of_environment(&cursor) && parse_contexts(&cursor, argc - 1, argv + 1);
}

/* "-n, -np, -c COUNT": how a row looks in the help. */
static void format_usage(const option_row_t *row, opal_text_t *text)
{
    opal_strings_t names = {0};
    opal_strings_split(&names, row->names, " ");
    for (size_t i = 0; i < names.count; i++)
        opal_text_printf(text, "%s%s%s", i == 0 ? "" : ", ",
                         strlen(names.items[i]) <= 2 ? "-" : "--", names.items[i]);
    opal_strings_free(&names);
    if (row->values[0] != 0)
        opal_text_printf(text, " %s", row->values);
}

void options_print_help(void)
{
    enum { COLUMN = 28 };
    puts(
        "usage: mpirun [OPTION]... PROGRAM [ARGUMENT]... [: [OPTION]... PROGRAM [ARGUMENT]...]...\n"
        "Starts the ranks of an MPI program, or of several: on this machine itself, on others through\n"
        "the launcher that is there (srun, mpiexec.hydra, prterun).\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        opal_text_t usage = {0};
        format_usage(&rows[i], &usage);
        const char *text = opal_text_string(&usage);
        if (strlen(text) <= COLUMN)
            printf("  %-*s  %s\n", COLUMN, text, rows[i].help);
        else
            printf("  %s\n  %*s  %s\n", text, COLUMN, "", rows[i].help);
        opal_text_free(&usage);
    }
    puts(
        "\nLong names may have one dash or two. -n, -x and --wdir hold for the program that they\n"
        "stand before, the others for the whole job.\n\n"
        "Exit status: that of the lowest rank that failed, 128 + N if signal N ended it; the code\n"
        "given to MPI_Abort; 110 after --timeout; 127 program not found; 126 program not\n"
        "executable; 2 the command line is wrong; 1 the system refused something.");
}
