/* SPDX-License-Identifier: BSD-3-Clause */
/* mpirun's own options, with the names that Open MPI and MPICH have for them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/nodes.h"
#include "tools/mpirun/number.h"
#include "tools/mpirun/option_rows.h"
#include "tools/mpirun/options.h"

static bool take_count(cursor_t *cursor, const char *option, char **values)
{
    if (cursor->app.rank_count != 0) {
        opal_log_error("%s%s: the number of ranks is given twice", cursor->origin, option);
        return false;
    }
    cursor->app_settings = true;
    if (!number_parse_unsigned(values[0], 1, MAX_RANKS, &cursor->app.rank_count))
        return option_refuse(cursor, option, values[0], "a number of ranks (1 to 65536)");
    return true;
}

bool option_add_export(const cursor_t *cursor, opal_strings_t *list, const char *option,
                       const char *text)
{
    const char *equals = strchr(text, '=');
    if (text[0] == 0 || equals == text)
        return option_refuse(cursor, option, text, "NAME or NAME=VALUE");
    if (equals != NULL) {
        opal_strings_add(list, text);
        return true;
    }
    const char *value = getenv(text);
    if (value == NULL) {
        if (!cursor->job->options.quiet)
            opal_log_warning("%s%s %s: the variable is not set, so there is nothing to hand on",
                             cursor->origin, option, text);
        return true;
    }
    char *setting = opal_xprintf("%s=%s", text, value);
    opal_strings_add(list, setting);
    free(setting);
    return true;
}

static bool take_export(cursor_t *cursor, const char *option, char **values)
{
    cursor->app_settings = true;
    return option_add_export(cursor, &cursor->app.export, option, values[0]);
}

static bool take_wdir(cursor_t *cursor, const char *option, char **values)
{
    cursor->app_settings = true;
    if (values[0][0] == 0)
        return option_refuse(cursor, option, values[0], "a directory");
    free(cursor->app.wdir);
    cursor->app.wdir = opal_xstrdup(values[0]);
    return true;
}

static bool take_wrap(cursor_t *cursor, const char *option, char **values)
{
    const char *complaint = wrap_add(&cursor->job->options.wraps, values[0]);
    if (complaint != NULL)
        opal_log_error("%s%s '%s': %s", cursor->origin, option, values[0], complaint);
    return complaint == NULL;
}

static bool take_debug(cursor_t *cursor, const char *option, char **values)
{
    debug_options_t *debug = &cursor->job->options.debug;
    debug->is_wanted = true;
    rank_set_free(&debug->ranks);
    return values[0] == NULL || rank_set_parse(&debug->ranks, values[0], strlen(values[0])) ||
           option_refuse(cursor, option, values[0], "a list of ranks such as 0,3-5");
}

static bool take_debugger(cursor_t *cursor, const char *option, char **values)
{
    debug_options_t *debug = &cursor->job->options.debug;
    (void)option;
    debug->is_wanted = true;
    free(debug->debugger);
    debug->debugger = opal_xstrdup(values[0]);
    return true;
}

bool option_add_mca(cursor_t *cursor, const char *option, const char *name, const char *value)
{
    opal_strings_t *mca = &cursor->job->options.mca;
    if (name[0] == 0 || strpbrk(name, "=, \t") != NULL)
        return option_refuse(cursor, option, name, "the name of a parameter");
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
    return option_add_mca(cursor, option, values[0], values[1]);
}

static bool take_errhandler(cursor_t *cursor, const char *option, char **values)
{
    static const word_t handlers[] = {
        {"mpi_errors_abort", 0}, {"mpi_errors_are_fatal", 0}, {"mpi_errors_return", 0}, {NULL, 0}};
    int ignored;
    return option_take_word(cursor, option, values[0], handlers, &ignored) &&
           option_add_mca(cursor, option, "mpi_initial_errhandler", values[0]);
}

static bool take_explain(cursor_t *cursor, const char *option, char **values)
{
    (void)values;
    return option_add_mca(cursor, option, "mpi_explain", "yes");
}

static bool take_memory_kinds(cursor_t *cursor, const char *option, char **values)
{
    return option_add_mca(cursor, option, "mpi_memory_alloc_kinds", values[0]);
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
           option_refuse(cursor, option, values[0],
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
        return option_refuse(cursor, option, values[0], "a rank, 'all' or 'none'");
    return true;
}

static bool take_output_dir(cursor_t *cursor, const char *option, char **values)
{
    if (values[0][0] == 0)
        return option_refuse(cursor, option, values[0], "a directory");
    free(cursor->job->options.output_dir);
    cursor->job->options.output_dir = opal_xstrdup(values[0]);
    return true;
}

/* Ranks may have other working directories. */
static char *absolute(const char *path)
{
    char *folder = path[0] != '/' ? getcwd(NULL, 0) : NULL;
    char *whole = folder != NULL ? opal_xprintf("%s/%s", folder, path) : opal_xstrdup(path);
    free(folder);
    return whole;
}

static bool take_profile(cursor_t *cursor, const char *option, char **values)
{
    options_t *options = &cursor->job->options;
    if (values[0][0] == 0)
        return option_refuse(cursor, option, values[0], "a directory");
    free(options->profile);
    options->profile = absolute(values[0]);
    return option_add_mca(cursor, option, "mpi_profile", options->profile);
}

static bool take_trace(cursor_t *cursor, const char *option, char **values)
{
    options_t *options = &cursor->job->options;
    if (values[0][0] == 0)
        return option_refuse(cursor, option, values[0], "a file");
    free(options->trace);
    options->trace = absolute(values[0]);
    return option_add_mca(cursor, option, "mpi_trace", options->trace);
}

static bool take_timeout(cursor_t *cursor, const char *option, char **values)
{
    static const double longest = 1e8; /* three years; keeps the nanoseconds in 64 bits */
    if (!number_parse_seconds(values[0], longest, &cursor->job->options.timeout))
        return option_refuse(cursor, option, values[0], "a number of seconds above 0, up to 1e8");
    return true;
}

static bool take_report_hang(cursor_t *cursor, const char *option, char **values)
{
    static const double longest = 1e8;
    double seconds;
    if (strcmp(values[0], "0") != 0 && !number_parse_seconds(values[0], longest, &seconds))
        return option_refuse(cursor, option, values[0],
                             "a number of seconds up to 1e8; 0: no report");
    return option_add_mca(cursor, option, "mpirun_report_hang", values[0]);
}

static bool take_ask(cursor_t *cursor, const char *option, char **values)
{
    return number_parse_unsigned(values[0], 1, INT_MAX, &cursor->job->options.ask) ||
           option_refuse(cursor, option, values[0], "the process number of mpirun or of a rank");
}

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
SWITCH(take_prepend_rank, prepend_rank, true)
SWITCH(take_timestamp_output, timestamp_output, true)
SWITCH(take_show, show, true)
SWITCH(take_verbose, verbose, true)
SWITCH(take_quiet, quiet, true)
SWITCH(take_help, help, true)
SWITCH(take_version, version, true)

/* clang-format off */
const option_row_t options_own[] = {
    {"n np c", "COUNT", take_count,
     "start COUNT ranks of this program (default: one for each core)", OPTION_RECORDED},
    {"x", "NAME[=VALUE]", take_export, "set an environment variable for this program's ranks", OPTION_RECORDED},
    {"wdir wd", "DIR", take_wdir, "start this program's ranks in DIR", OPTION_RECORDED},
    {"app configfile", "FILE", option_read_app_file, "read programs and their options from FILE, a line each", OPTION_RECORDED},
    {"mca gmca", "NAME VALUE", take_mca, "set a parameter of the library (see ompi_info)", OPTION_RECORDED},
    {"initial-errhandler", "NAME", take_errhandler,
     "first error handler: mpi_errors_are_fatal, _abort or _return", OPTION_RECORDED},
    {"memory-alloc-kinds", "KINDS", take_memory_kinds,
     "kinds of memory that the programs ask for, separated by commas: system,mpi", OPTION_RECORDED},
    {"explain", "", take_explain,
     "print what is chosen for the job and why, before it, and counts, after it", OPTION_RECORDED},
    {"wrap", "[RANKS:]COMMAND", take_wrap,
     "start ranks by a command such as 'strace -o out.%r'; %r is the rank", OPTION_RECORDED},
    {"debug", "[=RANKS]", take_debug,
     "start ranks in gdb, each in a pane of tmux or an xterm (default: all)", OPTION_RECORDED},
    {"debugger", "COMMAND", take_debugger, "as --debug, with another debugger or other arguments", OPTION_RECORDED},
    {"host H hosts", "LIST", take_host, "hosts to run on: NAME[:SLOTS], separated by commas", OPTION_RECORDED},
    {"hostfile machinefile f default-hostfile", "FILE", take_hostfile,
     "hosts from a file: NAME [slots=N], a line each", OPTION_RECORDED},
    {"report-bindings", "", take_report_bindings, "print which hardware threads each rank may run on", OPTION_RECORDED},
    {"display-map", "", take_display_map, "print the programs, ranks and bindings, then start", OPTION_RECORDED},
    {"oversubscribe", "", take_oversubscribe, "allow more ranks than cores (default)", OPTION_RECORDED},
    {"no-oversubscribe nooversubscribe", "", take_no_oversubscribe, "refuse more ranks than cores or slots", OPTION_RECORDED},
    {"fake-nodes", "HOW", take_fake_nodes,
     "this machine plays several nodes: 2, or the ranks of each node: 3,1", OPTION_RECORDED},
    {"stdin", "RANK", take_stdin, "the rank that reads standard input, or all, or none (default: 0)", OPTION_RECORDED},
    {"tag-output", "", take_tag_output, "begin each line of output with its rank, as Open MPI does", OPTION_RECORDED},
    {"prepend-rank l", "", take_prepend_rank, "begin each line of output with its rank, as MPICH does: [0]", OPTION_RECORDED},
    {"timestamp-output", "", take_timestamp_output, "begin each line of output with the time", OPTION_RECORDED},
    {"output-filename", "DIR", take_output_dir,
     "write the output to DIR/rank.N/stdout and stderr", OPTION_RECORDED},
    {"profile", "DIR", take_profile,
     "report where the time in MPI went, and write DIR/report.html", OPTION_RECORDED},
    {"trace", "FILE", take_trace,
     "write every call and message into FILE, a Chrome trace for Perfetto", OPTION_RECORDED},
    {"timeout", "SECONDS", take_timeout,
     "end the job with status 110 after this time (default: MPIEXEC_TIMEOUT)", OPTION_RECORDED},
    {"report-hang", "SECONDS", take_report_hang,
     "print who waits for whom when nothing has moved for so long; 0: never (default: 60 on a terminal)", OPTION_RECORDED},
    {"ask", "PID", take_ask,
     "start nothing; show the ranks of a running job, and who waits for whom, as mica-ps does", OPTION_RECORDED},
    {"show", "", take_show, "print the command that would start the job, and start nothing", OPTION_RECORDED},
    {"verbose v", "", take_verbose, "print what is done", OPTION_RECORDED},
    {"quiet q", "", take_quiet, "print no warnings, only errors", OPTION_RECORDED},
    {"version V", "", take_version, "print the version", OPTION_RECORDED},
    {"help h", "", take_help, "print this help", OPTION_RECORDED},
    {0},
};
/* clang-format on */
