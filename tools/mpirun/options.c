/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser of the command line, and the help that is printed from its tables (option_rows.h).
 *
 * A command line is a list of app contexts separated by ':'. An app context is options, then a
 * program with its arguments. A line of an --app file is a list of app contexts, too.
 */
#include "tools/mpirun/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "opal/util/log.h"
#include "tools/mpirun/option_rows.h"

bool option_refuse(const cursor_t *cursor, const char *option, const char *value,
                   const char *wanted)
{
    opal_log_error("%s%s: '%s' is not %s", cursor->origin, option, value, wanted);
    return false;
}

bool option_take_word(const cursor_t *cursor, const char *option, const char *value,
                      const word_t *words, int *result)
{
    const char *names[8];
    size_t count = 0;
    opal_text_t wanted = {0};
    for (; words->name != NULL && count < OPAL_COUNT_OF(names); words++) {
        if (strcasecmp(words->name, value) == 0) {
            opal_text_free(&wanted);
            *result = words->value;
            return true;
        }
        opal_text_printf(&wanted, "%s%s", count == 0 ? "one of " : ", ", words->name);
        names[count++] = words->name;
    }
    const char *nearest = opal_nearest_name(value, names, count);
    if (nearest != NULL)
        opal_text_printf(&wanted, "; did you mean %s?", nearest);
    option_refuse(cursor, option, value, opal_text_string(&wanted));
    opal_text_free(&wanted);
    return false;
}

/* The tables in the order of --help. */
static const option_row_t *const tables[] = {options_own, options_of_mapping, options_foreign};

/* Row number `index` of all tables; NULL: there are no more. */
static const option_row_t *row_at(size_t index)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(tables); i++) {
        for (const option_row_t *row = tables[i]; row->names != NULL; row++) {
            if (index-- == 0)
                return row;
        }
    }
    return NULL;
}

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
    const option_row_t *row;
    for (size_t i = 0; (row = row_at(i)) != NULL; i++) {
        if (has_name(row->names, name, length))
            break;
    }
    return row;
}

static void report_unknown(const cursor_t *cursor, const char *option, const char *name)
{
    opal_strings_t names = {0};
    const option_row_t *row;
    for (size_t i = 0; (row = row_at(i)) != NULL; i++) {
        if (row->kind != OPTION_REFUSED)
            opal_strings_split(&names, row->names, " ");
    }
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
    const option_row_t *row;
    for (size_t i = 0; (row = row_at(i)) != NULL; i++) {
        if (row->kind == OPTION_RECORDED && index-- == 0)
            return row->names;
    }
    return NULL;
}

/* Values that are words of their own. */
static size_t value_count(const option_row_t *row)
{
    if (row->values[0] == '[' && row->values[1] == '=')
        return 0;
    return (row->values[0] != 0) + (strchr(row->values, ' ') != NULL);
}

void option_record(cursor_t *cursor, const char *name, const char *option, const char *value)
{
    options_t *options = &cursor->job->options;
    options->given =
        opal_xrealloc(options->given, (options->given_count + 1) * sizeof *options->given);
    options->given[options->given_count++] =
        (given_t){.name = name,
                  .typed = opal_xstrdup(option),
                  .value = value != NULL ? opal_xstrdup(value) : NULL};
}

/* Stores the values of an option and records it. */
static bool take(cursor_t *cursor, const option_row_t *row, const char *option, char **values)
{
    if (row->kind == OPTION_REFUSED) {
        opal_log_error("%s%s is not an option of this mpirun: %s", cursor->origin, option,
                       row->help);
        return false;
    }
    if (!row->take(cursor, option, values))
        return false;
    if (row->kind == OPTION_RECORDED)
        option_record(cursor, row->names, option, row->values[0] != 0 ? values[0] : NULL);
    return true;
}

bool option_take(cursor_t *cursor, const char *name, const char *option, const char *value)
{
    char *values[] = {(char *)value};
    return take(cursor, find_row(name, strlen(name)), option, values);
}

/* MPICH's way to set a time limit, which scripts use with any MPI. */
static bool take_timeout_of_environment(cursor_t *cursor)
{
    static const char variable[] = "MPIEXEC_TIMEOUT";
    char *seconds = getenv(variable);
    return seconds == NULL || *seconds == 0 ||
           take(cursor, find_row("timeout", strlen("timeout")), variable, &seconds);
}

/* Reads the option at argv[0]. Returns the number of its words; 0: an error was reported. */
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
    bool may_join = wanted == 1 || strncmp(row->values, "[=", 2) == 0;
    if (*joined == '=') {
        if (!may_join) {
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
    char *none = NULL;
    return take(cursor, row, argv[0], wanted > 0 ? argv + 1 : &none) ? 1 + (int)wanted : 0;
}

/* Reads the options of one context. Returns the number of their words; -1: an error was reported.
 */
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

/* True if a context may lack a program: with --help, or if it names an --app file. */
static bool may_lack_program(const cursor_t *cursor, size_t apps_before)
{
    const options_t *options = &cursor->job->options;
    if (options->help || options->version || options->ask != 0)
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
static bool parse_app_context(cursor_t *cursor, int argc, char **argv)
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
    cursor->app.number = (unsigned)apps_before;
    *job_add_app(cursor->job) = cursor->app;
    return true;
}

bool option_parse_app_contexts(cursor_t *cursor, int argc, char **argv)
{
    int begin = 0;
    for (;;) {
        int end = begin;
        while (end < argc && strcmp(argv[end], ":") != 0)
            end++;
        if (!parse_app_context(cursor, end - begin, argv + begin))
            return false;
        if (end == argc)
            return true;
        begin = end + 1;
    }
}

/* Gives each program the variables of -genv and similar options; -x of the program overrides. */
static void hand_on_to_all(job_t *job)
{
    const opal_strings_t *common = &job->options.export;
    for (size_t i = 0; i < job->app_count; i++) {
        opal_strings_t *own = &job->apps[i].export;
        opal_strings_t all = {0};
        for (size_t k = 0; k < common->count; k++)
            opal_strings_add(&all, common->items[k]);
        for (size_t k = 0; k < own->count; k++)
            opal_strings_add(&all, own->items[k]);
        opal_strings_free(own);
        *own = all;
    }
}

bool options_parse(job_t *job, int argc, char **argv)
{
    job->options.map_by = LEVEL_SLOT;
    cursor_t cursor = {.job = job, .origin = ""};
    bool good = take_timeout_of_environment(&cursor) &&
                option_parse_app_contexts(&cursor, argc - 1, argv + 1);
    if (good)
        hand_on_to_all(job);
    return good;
}

/* "-n, -np, -c COUNT": a row in the help. */
static void format_usage(const option_row_t *row, opal_text_t *text)
{
    opal_strings_t names = {0};
    opal_strings_split(&names, row->names, " ");
    for (size_t i = 0; i < names.count; i++)
        opal_text_printf(text, "%s%s%s", i == 0 ? "" : ", ",
                         strlen(names.items[i]) <= 2 ? "-" : "--", names.items[i]);
    opal_strings_free(&names);
    if (row->values[0] != 0)
        opal_text_printf(text, row->values[0] == '[' && row->values[1] == '=' ? "%s" : " %s",
                         row->values);
}

/* Prints the names of rows without help, in lines that fit a terminal. */
static void print_understood(void)
{
    enum { WIDTH = 78 };
    const option_row_t *row;
    size_t column = WIDTH;
    printf("\nThese options are understood as in Open MPI and MPICH:");
    for (size_t i = 0; (row = row_at(i)) != NULL; i++) {
        opal_strings_t names = {0};
        if (row->kind != OPTION_REFUSED && row->help == NULL)
            opal_strings_split(&names, row->names, " ");
        for (size_t k = 0; k < names.count; k++) {
            size_t width = strlen(names.items[k]) + strlen(" -");
            bool fits = column + width <= WIDTH;
            printf("%s-%s", fits ? " " : "\n", names.items[k]);
            column = fits ? column + width : width - 1;
        }
        opal_strings_free(&names);
    }
    puts("");
}

void options_print_help(void)
{
    enum { COLUMN = 28 };
    puts(
        "usage: mpirun [OPTION]... PROGRAM [ARGUMENT]... [: [OPTION]... PROGRAM [ARGUMENT]...]...\n"
        "\n"
        "Starts the ranks of one or several MPI programs. mpirun starts the ranks of this machine\n"
        "itself, those of other hosts through a launcher (srun, mpiexec.hydra, prterun).\n");
    const option_row_t *row;
    for (size_t i = 0; (row = row_at(i)) != NULL; i++) {
        opal_text_t usage = {0};
        if (row->kind == OPTION_REFUSED || row->help == NULL)
            continue;
        format_usage(row, &usage);
        const char *text = opal_text_string(&usage);
        if (strlen(text) <= COLUMN)
            printf("  %-*s  %s\n", COLUMN, text, row->help);
        else
            printf("  %s\n  %*s  %s\n", text, COLUMN, "", row->help);
        opal_text_free(&usage);
    }
    print_understood();
    puts(
        "\nLong names may have one dash or two. -n, -x and --wdir apply to the program that follows\n"
        "them, all other options to the whole job.\n\n"
        "Exit status: that of the lowest rank that failed, or 128 + N if signal N ended it; the code\n"
        "given to MPI_Abort; 110 after --timeout; 127 if the program was not found; 126 if it is not\n"
        "executable; 2 if the command line is wrong; 1 if the system refused something.\n"
        "\n"
        "Crashes: the first rank that a signal ends reports where it was: address, MPI call, and the\n"
        "functions, files and lines of its stack (compile with -g). --mca crash_report no: not.");
}
