/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of an --app file's line. See appfile.h. */
#include "tools/mpirun/appfile.h"

#include <ctype.h>
#include <string.h>

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

const char *appfile_split(const char *line, opal_strings_t *words)
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
