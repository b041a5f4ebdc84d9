/* SPDX-License-Identifier: BSD-3-Clause */
/* Parser of parameter files: a line at a time, no state between lines. */
#include "opal/mca/base/param_file.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/text.h"

const char *opal_param_file_system(void)
{
    return MICA_SYSCONFDIR "/mica-mca-params.conf";
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static char *skip_blanks(char *text)
{
    while (is_blank(*text))
        text++;
    return text;
}

static void cut_blanks_behind(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    text[length] = 0;
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '-')
        length++;
    return length;
}

/* Cuts the value out of what follows the '='. Returns a complaint or NULL. */
static const char *cut_value(char *text, char **value)
{
    text = skip_blanks(text);
    if (*text == '"' || *text == '\'') {
        char *close = strchr(text + 1, *text);
        if (close == NULL)
            return "the closing quote is missing";
        char *behind = skip_blanks(close + 1);
        if (*behind != 0 && *behind != '#')
            return "something follows the closing quote";
        *close = 0;
        *value = text + 1;
        return NULL;
    }
    /* A '#' inside a word belongs to the value; one behind a blank starts a comment. */
    for (char *c = text; *c != 0; c++) {
        if (*c == '#' && (c == text || is_blank(c[-1]))) {
            *c = 0;
            break;
        }
    }
    cut_blanks_behind(text);
    *value = text;
    return NULL;
}

/* Cuts one line into name and value; *name stays NULL for a line that sets nothing. */
static const char *cut_line(char *line, char **name, char **value)
{
    *name = NULL;
    line = skip_blanks(line);
    if (*line == 0 || *line == '#')
        return NULL;
    size_t length = name_length(line);
    char *equals = skip_blanks(line + length);
    if (length == 0)
        return "it does not begin with a parameter's name";
    if (*equals != '=')
        return "there is no '=' behind the name; a line is: name = value";
    const char *complaint = cut_value(equals + 1, value);
    if (complaint != NULL)
        return complaint;
    line[length] = 0;
    *name = line;
    return NULL;
}

void opal_param_file_parse(const char *bytes, size_t length, opal_param_file_setting_fn_t *setting,
                           opal_param_file_complaint_fn_t *complain, void *context)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    const char *end = bytes + length;
    unsigned number = 0;

    if (length >= 3 && memcmp(bytes, byte_order_mark, 3) == 0)
        bytes += 3;
    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t line_length = (size_t)((newline != NULL ? newline : end) - bytes);
        number++;
        if (memchr(bytes, 0, line_length) != NULL) {
            complain("it has a zero byte in it; is this a text file?", number, context);
        } else {
            char *line = opal_xstrndup(bytes, line_length);
            char *name, *value;
            const char *complaint = cut_line(line, &name, &value);
            if (complaint != NULL)
                complain(complaint, number, context);
            else if (name != NULL)
                setting(name, value, number, context);
            free(line);
        }
        bytes += line_length + (newline != NULL);
    }
}
