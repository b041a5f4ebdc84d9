/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands around ranks. See wrap.h. */
#include "tools/mpirun/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/log.h"
#include "tools/mpirun/job.h"
#include "tools/mpirun/option_rows.h"
#include "tools/mpirun/program.h"

/* The length of "0,3-5:" at the front of a text; 0: there is none. */
static size_t ranks_length(const char *text)
{
    size_t length = strspn(text, "0123456789,-");
    return length > 0 && text[length] == ':' ? length + 1 : 0;
}

void wraps_append(wraps_t *wraps, const wrap_t *wrap)
{
    wraps->items = opal_xrealloc(wraps->items, (wraps->count + 1) * sizeof *wraps->items);
    wraps->items[wraps->count++] = *wrap;
}

const char *wrap_add(wraps_t *wraps, const char *text)
{
    wrap_t wrap = {.option = "--wrap"};
    size_t skip = ranks_length(text);
    const char *complaint = NULL;
    if (skip > 0 && !rank_set_parse(&wrap.ranks, text, skip - 1))
        complaint = "the ranks before ':' are no list such as 0,3-5";
    if (complaint == NULL)
        complaint = option_split_line(text + skip, &wrap.words);
    if (complaint == NULL && (wrap.words.count == 0 || wrap.words.items[0][0] == 0))
        complaint = "it names no command";
    if (complaint != NULL) {
        rank_set_free(&wrap.ranks);
        opal_strings_free(&wrap.words);
        return complaint;
    }
    wraps_append(wraps, &wrap);
    return NULL;
}

void wrap_inherit(wraps_t *wraps, const wrap_t *from)
{
    wrap_t wrap = {.option = from->option, .path = opal_xstrdup(from->path)};
    for (size_t i = 0; i < from->words.count; i++)
        opal_strings_add(&wrap.words, from->words.items[i]);
    wraps_append(wraps, &wrap);
}

void wraps_free(wraps_t *wraps)
{
    for (size_t i = 0; i < wraps->count; i++) {
        rank_set_free(&wraps->items[i].ranks);
        opal_strings_free(&wraps->items[i].words);
        free(wraps->items[i].path);
    }
    free(wraps->items);
    *wraps = (wraps_t){0};
}

/* Finds the file of a command, from mpirun's own directory; ranks may run in another one. */
static int find_command(wrap_t *wrap)
{
    char why[OPAL_LOG_MAX_BYTES / 2];
    char *path = NULL;
    opal_log_collect(why, sizeof why);
    int status = program_find(wrap->words.items[0], NULL, NULL, &path);
    opal_log_collect(NULL, 0);
    if (status != 0) {
        opal_log_error("%s: %s", wrap->option, why);
        return status;
    }
    wrap->path = realpath(path, NULL);
    if (wrap->path == NULL)
        wrap->path = opal_xstrdup(path);
    free(path);
    return 0;
}

int wrap_find(job_t *job)
{
    wraps_t *wraps = &job->options.wraps;
    for (size_t i = 0; i < wraps->count; i++) {
        wrap_t *wrap = &wraps->items[i];
        if (wrap->ranks.count > 0 && rank_set_highest(&wrap->ranks) >= job->size) {
            opal_log_error("%s: there is no rank %u in a job of %u", wrap->option,
                           rank_set_highest(&wrap->ranks), job->size);
            return STATUS_USAGE;
        }
        int status = wrap->path == NULL ? find_command(wrap) : 0;
        if (status != 0)
            return status;
    }
    return 0;
}

/* Adds a word with %r, %h and %% filled in. */
static void add_filled(opal_strings_t *words, const char *word, const char *rank, const char *host)
{
    opal_text_t text = {0};
    for (const char *c = word; *c != 0; c++) {
        if (*c != '%' || c[1] == 0 || strchr("rh%", c[1]) == NULL) {
            opal_text_append(&text, c, 1);
            continue;
        }
        c++;
        opal_text_add(&text, *c == 'r' ? rank : *c == 'h' ? host : "%");
    }
    opal_strings_add(words, opal_text_string(&text));
    opal_text_free(&text);
}

void wrap_command_make(const job_t *job, unsigned rank, wrap_command_t *command)
{
    const app_t *app = job->ranks[rank].app;
    const wraps_t *wraps = &job->options.wraps;
    char *number =
        job->number == 1 ? opal_xprintf("%u", rank) : opal_xprintf("%u.%u", job->number, rank);
    *command = (wrap_command_t){0};
    for (size_t i = 0; i < wraps->count; i++) {
        const wrap_t *wrap = &wraps->items[i];
        if (wrap->ranks.count > 0 && !rank_set_has(&wrap->ranks, rank))
            continue;
        opal_strings_add(&command->words, wrap->path);
        if (command->path == NULL)
            command->path = wrap->path;
        for (size_t k = 1; k < wrap->words.count; k++)
            add_filled(&command->words, wrap->words.items[k], number, job->host);
    }
    free(number);
    bool is_wrapped = command->path != NULL;
    if (!is_wrapped)
        command->path = app->path;
    for (size_t i = 0; i < app->argv.count; i++)
        opal_strings_add(&command->words, is_wrapped && i == 0 ? app->path : app->argv.items[i]);
}

void wrap_command_free(wrap_command_t *command)
{
    opal_strings_free(&command->words);
}

/* -- under another launcher ----------------------------------------------------------------- */

/* Adds a word for a shell, in which the shell fills in rank and host. */
static void add_shell_word(opal_text_t *script, const char *word)
{
    static const char rank[] = "\"${PMIX_RANK:-${PMI_RANK:-$SLURM_PROCID}}\"";
    opal_text_add(script, " '");
    for (const char *c = word; *c != 0; c++) {
        bool is_ours = *c == '%' && c[1] != 0 && strchr("rh%", c[1]) != NULL;
        if (*c == '\'')
            opal_text_add(script, "'\\''");
        else if (!is_ours)
            opal_text_append(script, c, 1);
        else if (*++c == '%')
            opal_text_add(script, "%");
        else
            opal_text_printf(script, "'%s'", *c == 'r' ? rank : "\"$(uname -n)\"");
    }
    opal_text_add(script, "'");
}

const char *wrap_foreign_words(const wraps_t *wraps, opal_strings_t *words)
{
    opal_text_t script = {0};
    bool needs_shell = false;
    for (size_t i = 0; i < wraps->count; i++) {
        const wrap_t *wrap = &wraps->items[i];
        if (wrap->ranks.count > 0)
            return "it starts all ranks of a program with the same command; leave RANKS: out";
        for (size_t k = 0; k < wrap->words.count; k++)
            needs_shell = needs_shell || strchr(wrap->words.items[k], '%') != NULL;
    }
    for (size_t i = 0; i < wraps->count; i++) {
        const opal_strings_t *own = &wraps->items[i].words;
        for (size_t k = 0; k < own->count; k++) {
            if (needs_shell)
                add_shell_word(&script, own->items[k]);
            else
                opal_strings_add(words, own->items[k]);
        }
    }
    if (needs_shell) {
        char *line = opal_xprintf("exec%s \"$0\" \"$@\"", opal_text_string(&script));
        opal_strings_add(words, "sh");
        opal_strings_add(words, "-c");
        opal_strings_add(words, line);
        free(line);
    }
    opal_text_free(&script);
    return NULL;
}
