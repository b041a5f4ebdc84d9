/* SPDX-License-Identifier: BSD-3-Clause */
/* Splitting into words and quoting, by the rules of POSIX sh, without expansion. */
#include "tools/wrapper/shell.h"

#include <string.h>

static const char blanks[] = " \t\n";

/* Reads what is behind an opening quote into word; returns where it ends (at the quote or the 0).
 */
static const char *read_quoted(opal_text_t *word, const char *at, char quote)
{
    for (; *at != 0 && *at != quote; at++) {
        if (quote == '"' && *at == '\\' && at[1] != 0 && strchr("\\\"$`", at[1]) != NULL)
            at++;
        opal_text_append(word, at, 1);
    }
    return at;
}

/* Reads one word that begins at `at`; returns where it ends. */
static const char *read_word(opal_text_t *word, const char *at)
{
    opal_text_add(word, ""); /* '' is a word too */
    for (; *at != 0 && strchr(blanks, *at) == NULL; at++) {
        if (*at == '\'' || *at == '"') {
            at = read_quoted(word, at + 1, *at);
            if (*at == 0)
                break;
            continue;
        }
        if (*at == '\\' && at[1] != 0)
            at++;
        opal_text_append(word, at, 1);
    }
    return at;
}

void shell_split(opal_strings_t *list, const char *text)
{
    for (;;) {
        text += strspn(text, blanks);
        if (*text == 0)
            return;
        opal_text_t word = {0};
        text = read_word(&word, text);
        opal_strings_add(list, opal_text_string(&word));
        opal_text_free(&word);
    }
}

void shell_quote(opal_text_t *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,@%";
    if (text->length > 0)
        opal_text_add(text, " ");
    if (*word != 0 && word[strspn(word, plain)] == 0) {
        opal_text_add(text, word);
        return;
    }
    opal_text_add(text, "'");
    for (; *word != 0; word++)
        opal_text_printf(text, *word == '\'' ? "'\\''" : "%c", *word);
    opal_text_add(text, "'");
}
