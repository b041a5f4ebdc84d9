/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict parsing of parameter values. Numbers are read by hand: strtol and its
 * kin accept leading blanks, signs, octal and trailing rubbish, and turn what
 * they cannot read into a silent 0.
 */
#include "opal/mca/base/param_value.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Writes the complaint if it is wanted; false, so that a parser can return it. */
OPAL_PRINTF(2, 3) static bool complain(char *complaint, const char *format, ...)
{
    va_list arguments;
    if (complaint == NULL)
        return false;
    va_start(arguments, format);
    vsnprintf(complaint, OPAL_COMPLAINT_MAX_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

static const struct {
    const char *name;
    bool value;
} bool_words[] = {
    {"yes", true},    {"no", false},      {"true", true}, {"false", false},
    {"on", true},     {"off", false},     {"1", true},    {"0", false},
    {"enable", true}, {"disable", false}, {"y", true},    {"n", false},
};

static bool parse_bool(const char *text, bool *value, char *complaint)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(bool_words); i++) {
        if (strcasecmp(text, bool_words[i].name) == 0) {
            *value = bool_words[i].value;
            return true;
        }
    }
    return complain(complaint,
                    "expected yes or no (also true, false, on, off, enable, disable, 1, 0)");
}

/*
 * Reads the digits at the start of text, decimal or 0x. Returns what follows them, or NULL when
 * there are none. A number that needs more than 64 bits is too large.
 */
static const char *read_digits(const char *text, uint64_t *value, bool *too_large)
{
    unsigned base = 10;
    *too_large = false;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    }
    const char *start = text;
    uint64_t number = 0;
    for (; isxdigit((unsigned char)*text); text++) {
        unsigned digit = isdigit((unsigned char)*text)
                             ? (unsigned)(*text - '0')
                             : (unsigned)(tolower((unsigned char)*text) - 'a') + 10;
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, digit, &number))
            *too_large = true;
    }
    *value = number;
    return text > start ? text : NULL;
}

/* One that no integer type of ours holds becomes the nearest that int64_t holds. */
static bool parse_integer(const char *text, int64_t *value, char *complaint)
{
    bool negative = *text == '-', too_large;
    uint64_t magnitude;
    const char *rest = read_digits(text + (negative || *text == '+'), &magnitude, &too_large);
    if (rest == NULL)
        return complain(complaint, "expected a whole number");
    if (*rest != 0)
        return complain(complaint, "expected a whole number, but \"%s\" is left over", rest);
    if (too_large || magnitude > INT64_MAX)
        magnitude = INT64_MAX;
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

/* "", "B", "K", "KB", "KiB" ... in any case; -1: none of them. */
static int size_shift(const char *suffix)
{
    static const char letters[] = "KMGTP";
    if (*suffix == 0 || strcasecmp(suffix, "B") == 0)
        return 0;
    const char *letter = strchr(letters, toupper((unsigned char)*suffix));
    suffix++;
    if (letter == NULL ||
        (*suffix != 0 && strcasecmp(suffix, "B") != 0 && strcasecmp(suffix, "iB") != 0))
        return -1;
    return 10 * (int)(letter - letters + 1);
}

static bool parse_size(const char *text, size_t *value, char *complaint)
{
    uint64_t number;
    bool too_large;
    const char *suffix = read_digits(text, &number, &too_large);
    int shift = suffix != NULL ? size_shift(suffix) : -1;
    if (shift < 0)
        return complain(complaint, "expected a size: a whole number of bytes, or with K, M, G, T");
    if (too_large || number > (SIZE_MAX >> shift))
        return complain(complaint, "more bytes than this machine can address");
    *value = (size_t)number << shift;
    return true;
}

/* strtod, but the program's locale does not turn the point into a comma. */
static double read_double(const char *text, const char **rest)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end;
    errno = 0;
    double number = strtod_l(text, &end, locale);
    freelocale(locale);
    *rest = end;
    return number;
}

static bool parse_double(const char *text, double *value, char *complaint)
{
    const char *digits = text + (*text == '-' || *text == '+'), *rest;
    if (!isdigit((unsigned char)*digits) && *digits != '.')
        return complain(complaint, "expected a number");
    double number = read_double(text, &rest);
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        rest = digits + 1;
    if (rest == text)
        return complain(complaint, "expected a number");
    if (*rest != 0)
        return complain(complaint, "expected a number, but \"%s\" is left over", rest);
    if (errno == ERANGE)
        return complain(complaint, "the number is too %s", isinf(number) ? "large" : "close to 0");
    *value = number;
    return true;
}

static bool complain_choices(const opal_param_row_t *row, const char *text, char *complaint)
{
    const char *names[32];
    size_t count = 0;
    opal_text_t all = {0};

    for (const opal_param_choice_t *choice = row->choices; choice->name != NULL; choice++) {
        opal_text_printf(&all, "%s%s", count > 0 ? ", " : "", choice->name);
        if (count < OPAL_COUNT_OF(names))
            names[count++] = choice->name;
    }
    const char *nearest = opal_nearest_name(text, names, count);
    if (nearest != NULL)
        complain(complaint, "expected one of %s; did you mean %s?", opal_text_string(&all),
                 nearest);
    else
        complain(complaint, "expected one of %s", opal_text_string(&all));
    opal_text_free(&all);
    return false;
}

static bool parse_enum(const opal_param_row_t *row, const char *text, int *value, char *complaint)
{
    for (const opal_param_choice_t *choice = row->choices; choice->name != NULL; choice++) {
        if (strcasecmp(text, choice->name) == 0) {
            *value = choice->value;
            return true;
        }
    }
    return complaint != NULL && complain_choices(row, text, complaint);
}

/* The limit that a value is beyond, or NULL. `side`: -1 below the lower one, 1 above the upper. */
static const char *limit_crossed(const opal_param_row_t *row, int side)
{
    return side < 0 ? row->min : side > 0 ? row->max : NULL;
}

static bool complain_limits(const opal_param_row_t *row, const char *crossed, char *complaint)
{
    const char *unit = row->unit != NULL ? row->unit : "";
    const char *blank = row->unit != NULL ? " " : "";
    if (row->min != NULL && row->max != NULL)
        return complain(complaint, "expected %s to %s%s%s", row->min, row->max, blank, unit);
    return complain(complaint, "expected at %s %s%s%s", crossed == row->min ? "least" : "most",
                    crossed, blank, unit);
}

/* Limits are written by us in the row; one that does not parse is our bug, and counts as none. */
static bool set_integer(const opal_param_row_t *row, const char *text, int64_t type_min,
                        int64_t type_max, int64_t *value, char *complaint)
{
    char ignored[OPAL_COMPLAINT_MAX_BYTES];
    int64_t min = type_min, max = type_max;
    if (!parse_integer(text, value, complaint))
        return false;
    if (row->min != NULL)
        parse_integer(row->min, &min, ignored);
    if (row->max != NULL)
        parse_integer(row->max, &max, ignored);
    const char *crossed = limit_crossed(row, (*value > max) - (*value < min));
    if (crossed != NULL)
        return complain_limits(row, crossed, complaint);
    if (*value < type_min || *value > type_max)
        return complain(complaint, "expected %lld to %lld", (long long)min, (long long)max);
    return true;
}

static bool set_size(const opal_param_row_t *row, const char *text, char *complaint)
{
    char ignored[OPAL_COMPLAINT_MAX_BYTES];
    size_t value = 0, min = 0, max = SIZE_MAX;
    if (!parse_size(text, &value, complaint))
        return false;
    if (row->min != NULL)
        parse_size(row->min, &min, ignored);
    if (row->max != NULL)
        parse_size(row->max, &max, ignored);
    const char *crossed = limit_crossed(row, (value > max) - (value < min));
    if (crossed != NULL)
        return complain_limits(row, crossed, complaint);
    *(size_t *)row->value = value;
    return true;
}

static bool set_double(const opal_param_row_t *row, const char *text, char *complaint)
{
    char ignored[OPAL_COMPLAINT_MAX_BYTES];
    double value = 0, min = -HUGE_VAL, max = HUGE_VAL;
    if (!parse_double(text, &value, complaint))
        return false;
    if (row->min != NULL)
        parse_double(row->min, &min, ignored);
    if (row->max != NULL)
        parse_double(row->max, &max, ignored);
    const char *crossed = limit_crossed(row, (value > max) - (value < min));
    if (crossed != NULL)
        return complain_limits(row, crossed, complaint);
    *(double *)row->value = value;
    return true;
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Appends the variable that *cursor stands on (behind the '$') and moves past it. */
static bool expand_variable(opal_text_t *result, const char **cursor, char *complaint)
{
    const char *name = *cursor;
    bool braces = *name == '{';
    name += braces;
    size_t length = 0;
    while (name_char(name[length]))
        length++;
    if (length == 0 || (braces && name[length] != '}'))
        return complain(
            complaint, "a \"$\" is not followed by a variable's name; \"$$\" stands for one \"$\"");

    char *copy = opal_xstrndup(name, length);
    const char *value = getenv(copy);
    if (value != NULL)
        opal_text_add(result, value);
    else
        complain(complaint, "the variable %s is not set", copy);
    free(copy);
    *cursor = name + length + braces;
    return value != NULL;
}

/* A '~' that stands alone or before a '/', at the beginning or behind a ':'. */
static bool is_home(const char *text, const char *tilde)
{
    return *tilde == '~' && (tilde == text || tilde[-1] == ':') &&
           (tilde[1] == 0 || tilde[1] == '/' || tilde[1] == ':');
}

char *opal_param_expand(const char *text, char complaint[OPAL_COMPLAINT_MAX_BYTES])
{
    opal_text_t result = {0};
    bool good = true;
    for (const char *cursor = text; good && *cursor != 0;) {
        if (is_home(text, cursor)) {
            const char *home = getenv("HOME");
            good = home != NULL || complain(complaint, "it begins with ~, but HOME is not set");
            opal_text_add(&result, good ? home : "");
            cursor++;
        } else if (cursor[0] == '$' && cursor[1] == '$') {
            opal_text_add(&result, "$");
            cursor += 2;
        } else if (cursor[0] == '$') {
            cursor++;
            good = expand_variable(&result, &cursor, complaint);
        } else {
            opal_text_append(&result, cursor++, 1);
        }
    }
    if (good)
        return opal_text_take(&result);
    opal_text_free(&result);
    return NULL;
}

static bool set_string(const opal_param_row_t *row, const char *text, char *complaint)
{
    char *expanded = opal_param_expand(text, complaint);
    if (expanded == NULL)
        return false;
    free(*(void **)row->value);
    *(const char **)row->value = expanded;
    return true;
}

static bool set_list(const opal_param_row_t *row, const char *text, char *complaint)
{
    opal_strings_t words = {0}, list = {0};
    bool good = true;
    opal_strings_split(&words, text, ",");
    for (size_t i = 0; good && i < words.count; i++) {
        char *expanded = opal_param_expand(words.items[i], complaint);
        good = expanded != NULL;
        if (good)
            opal_strings_add(&list, expanded);
        free(expanded);
    }
    opal_strings_free(&words);
    if (good) {
        opal_strings_free(row->value);
        *(opal_strings_t *)row->value = list;
    } else {
        opal_strings_free(&list);
    }
    return good;
}

bool opal_param_value_set(const opal_param_row_t *row, const char *text,
                          char complaint[OPAL_COMPLAINT_MAX_BYTES])
{
    int64_t integer = 0;
    bool textual = row->type == OPAL_PARAM_STRING || row->type == OPAL_PARAM_LIST;

    if (text == NULL && textual) {
        opal_param_value_clear(row);
        return true;
    }
    if (text == NULL || (*text == 0 && !textual))
        return complain(complaint, "the value is empty");

    switch (row->type) {
    case OPAL_PARAM_BOOL:
        return parse_bool(text, row->value, complaint);
    case OPAL_PARAM_INT:
        if (!set_integer(row, text, INT_MIN, INT_MAX, &integer, complaint))
            return false;
        *(int *)row->value = (int)integer;
        return true;
    case OPAL_PARAM_UNSIGNED:
        if (!set_integer(row, text, 0, UINT_MAX, &integer, complaint))
            return false;
        *(unsigned *)row->value = (unsigned)integer;
        return true;
    case OPAL_PARAM_SIZE:
        return set_size(row, text, complaint);
    case OPAL_PARAM_DOUBLE:
        return set_double(row, text, complaint);
    case OPAL_PARAM_STRING:
        return set_string(row, text, complaint);
    case OPAL_PARAM_ENUM:
        return parse_enum(row, text, row->value, complaint);
    case OPAL_PARAM_LIST:
        return set_list(row, text, complaint);
    case OPAL_PARAM_TYPE_COUNT:
        break;
    }
    return complain(complaint, "its type is not known");
}

void opal_param_value_clear(const opal_param_row_t *row)
{
    if (row->type == OPAL_PARAM_STRING) {
        free(*(void **)row->value);
        *(const char **)row->value = NULL;
    } else if (row->type == OPAL_PARAM_LIST) {
        opal_strings_free(row->value);
    }
}

const char *opal_param_type_name(opal_param_type_t type)
{
    static const char *const names[OPAL_PARAM_TYPE_COUNT] = {
        [OPAL_PARAM_BOOL] = "bool",         [OPAL_PARAM_INT] = "int",
        [OPAL_PARAM_UNSIGNED] = "unsigned", [OPAL_PARAM_SIZE] = "size",
        [OPAL_PARAM_DOUBLE] = "double",     [OPAL_PARAM_STRING] = "string",
        [OPAL_PARAM_ENUM] = "enum",         [OPAL_PARAM_LIST] = "list",
    };
    return (unsigned)type < OPAL_PARAM_TYPE_COUNT ? names[type] : "unknown";
}
