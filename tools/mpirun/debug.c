/* SPDX-License-Identifier: BSD-3-Clause */
/* The debugger's command line. See debug.h. */
#include "tools/mpirun/debug.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/log.h"
#include "tools/mpirun/job.h"
#include "tools/mpirun/option_rows.h"

/*
 * What a debugger needs before the program and its arguments. A debugger without arguments gets
 * those that stop the program in main; with arguments, it is for them to say what happens.
 */
static const struct {
    const char *name;           /* the name of the program contains it */
    const char *words[8], *end; /* NULL ends the words */
} debuggers[] = {
    {"gdb", {"-q", "-ex", "set breakpoint pending on", "-ex", "start"}, "--args"},
    {"lldb", {"-o", "breakpoint set --name main", "-o", "run"}, "--"},
};

static bool add_debugger(wrap_t *wrap, const char *command)
{
    const char *complaint = option_split_line(command, &wrap->words);
    if (complaint == NULL && (wrap->words.count == 0 || wrap->words.items[0][0] == 0))
        complaint = "it names no program";
    if (complaint != NULL) {
        opal_log_error("--debugger '%s': %s", command, complaint);
        return false;
    }
    const char *slash = strrchr(wrap->words.items[0], '/');
    const char *name = slash != NULL ? slash + 1 : wrap->words.items[0];
    bool is_bare = wrap->words.count == 1;
    for (size_t i = 0; i < OPAL_COUNT_OF(debuggers); i++) {
        if (strstr(name, debuggers[i].name) == NULL)
            continue;
        for (size_t k = 0; is_bare && debuggers[i].words[k] != NULL; k++)
            opal_strings_add(&wrap->words, debuggers[i].words[k]);
        opal_strings_add(&wrap->words, debuggers[i].end);
        break;
    }
    return true;
}

/* The ranks that are debugged. False: an error was reported. */
static bool choose_ranks(job_t *job)
{
    rank_set_t *ranks = &job->options.debug.ranks;
    if (ranks->count > 0)
        return true;
    if (job->size > DEBUG_MAX_UNASKED) {
        opal_log_error("--debug: %u debuggers are many; name the ranks that get one, for example "
                       "--debug=0,%u",
                       job->size, job->size - 1);
        return false;
    }
    char *text = opal_xprintf("0-%u", job->size - 1);
    bool good = rank_set_parse(ranks, text, strlen(text));
    free(text);
    return good;
}

bool debug_prepare(job_t *job)
{
    debug_options_t *options = &job->options.debug;
    wrap_t wrap = {.option = "--debug"};
    if (!options->is_wanted)
        return true;
    if (!choose_ranks(job) ||
        !add_debugger(&wrap, options->debugger != NULL ? options->debugger : "gdb")) {
        opal_strings_free(&wrap.words);
        return false;
    }
    rank_set_copy(&wrap.ranks, &options->ranks);
    wraps_append(&job->options.wraps, &wrap);
    return true;
}

void debug_options_free(debug_options_t *options)
{
    rank_set_free(&options->ranks);
    free(options->debugger);
}
