/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --app FILE: each line is one or more app contexts, cut into words as a shell would cut them:
 *
 *   -n 2 --wdir "/tmp/my dir" ./ocean 'it''s' a\ b   # a comment
 *
 * Both kinds of quotes, a backslash outside of '', and a comment from a '#' at the start of a word
 * are understood. Variables and patterns are not expanded.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/log.h"
#include "tools/mpirun/option_rows.h"

/* Adds what stands between quotes; `*cursor` is behind the opening one. */
static const char *take_quoted(const char **cursor, char quote, opal_text_t *word)
{
    const char *c = *cursor;
    for (; *c != quote; c++) {
        if (*c == '\\' && quote == '"' && (c[1] == '"' || c[1] == '\\'))
            c++;
        if (*c == 0)
            return quote == '"' ? "a \" is not closed" : "a ' is not closed";
        opal_text_append(word, c, 1);
    }
    *cursor = c + 1;
    return NULL;
}

static const char *take_word(const char **cursor, opal_text_t *word)
{
    const char *c = *cursor, *complaint = NULL;
    while (complaint == NULL && *c != 0 && !isspace((unsigned char)*c)) {
        if (*c == '"' || *c == '\'') {
            char quote = *c++;
            complaint = take_quoted(&c, quote, word);
        } else if (*c == '\\' && c[1] == 0) {
            complaint = "it ends in a backslash; a context must be on one line";
        } else {
            if (*c == '\\')
                c++;
            opal_text_append(word, c++, 1);
        }
    }
    *cursor = c;
    return complaint;
}

const char *option_split_line(const char *line, opal_strings_t *words)
{
    const char *complaint = NULL;
    while (complaint == NULL) {
        while (isspace((unsigned char)*line))
            line++;
        if (*line == 0 || *line == '#')
            break;
        opal_text_t word = {0};
        complaint = take_word(&line, &word);
        if (complaint == NULL)
            opal_strings_add(words, opal_text_string(&word));
        opal_text_free(&word);
    }
    return complaint;
}

static bool parse_app_line(cursor_t *outer, const char *path, unsigned number, const char *line)
{
    char *origin = opal_xprintf("%s:%u: ", path, number);
    cursor_t cursor = {.job = outer->job, .origin = origin, .in_app_file = true};
    opal_strings_t words = {0};
    const char *complaint = option_split_line(line, &words);
    if (complaint != NULL)
        opal_log_error("%s%s", origin, complaint);
    bool good =
        complaint == NULL &&
        (words.count == 0 || option_parse_app_contexts(&cursor, (int)words.count, words.items));
    opal_strings_free(&words);
    free(origin);
    return good;
}

bool option_read_app_file(cursor_t *cursor, const char *option, char **values)
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
