/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing text, string lists, and the allocation that does not fail. */
#include "opal/util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/log.h"

static void *have(void *memory, size_t bytes)
{
    if (memory == NULL) {
        opal_log_error("out of memory: no room for %zu bytes", bytes);
        abort();
    }
    return memory;
}

void *opal_xmalloc(size_t bytes)
{
    return have(malloc(bytes > 0 ? bytes : 1), bytes);
}

void *opal_xcalloc(size_t count, size_t bytes)
{
    return have(calloc(count > 0 ? count : 1, bytes > 0 ? bytes : 1), count * bytes);
}

void *opal_xaligned(size_t alignment, size_t bytes)
{
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    return memset(have(aligned_alloc(alignment, rounded), bytes), 0, rounded);
}

void *opal_xrealloc(void *old, size_t bytes)
{
    return have(realloc(old, bytes > 0 ? bytes : 1), bytes);
}

char *opal_xstrndup(const char *string, size_t length)
{
    char *copy = opal_xmalloc(length + 1);
    memcpy(copy, string, length);
    copy[length] = 0;
    return copy;
}

char *opal_xstrdup(const char *string)
{
    return opal_xstrndup(string, strlen(string));
}

char *opal_xprintf(const char *format, ...)
{
    opal_text_t text = {0};
    va_list arguments;
    va_start(arguments, format);
    opal_text_vprintf(&text, format, arguments);
    va_end(arguments);
    return opal_text_take(&text);
}

/* Makes room for `more` bytes and the closing 0. */
static void reserve(opal_text_t *text, size_t more)
{
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return;
    size_t capacity = text->capacity > 0 ? text->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    text->bytes = opal_xrealloc(text->bytes, capacity);
    text->capacity = capacity;
}

void opal_text_append(opal_text_t *text, const char *bytes, size_t length)
{
    reserve(text, length);
    if (length > 0)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
}

void opal_text_add(opal_text_t *text, const char *string)
{
    opal_text_append(text, string, strlen(string));
}

void opal_text_vprintf(opal_text_t *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length > 0) {
        reserve(text, (size_t)length);
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void opal_text_printf(opal_text_t *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    opal_text_vprintf(text, format, arguments);
    va_end(arguments);
}

const char *opal_text_string(const opal_text_t *text)
{
    return text->bytes != NULL ? text->bytes : "";
}

char *opal_text_take(opal_text_t *text)
{
    char *bytes = text->bytes != NULL ? text->bytes : opal_xstrdup("");
    *text = (opal_text_t){0};
    return bytes;
}

void opal_text_free(opal_text_t *text)
{
    free(text->bytes);
    *text = (opal_text_t){0};
}

static void add_owned(opal_strings_t *list, char *string)
{
    list->items = opal_xrealloc(list->items, (list->count + 2) * sizeof *list->items);
    list->items[list->count++] = string;
    list->items[list->count] = NULL;
}

void opal_strings_add(opal_strings_t *list, const char *string)
{
    add_owned(list, opal_xstrdup(string));
}

bool opal_strings_has(const opal_strings_t *list, const char *string)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], string) == 0)
            return true;
    }
    return false;
}

void opal_strings_free(opal_strings_t *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (opal_strings_t){0};
}

void opal_strings_split(opal_strings_t *list, const char *text, const char *separators)
{
    static const char blanks[] = " \t\r\n";
    while (*text != 0) {
        size_t length = strcspn(text, separators);
        size_t first = 0, last = length;
        while (first < last && strchr(blanks, text[first]) != NULL)
            first++;
        while (last > first && strchr(blanks, text[last - 1]) != NULL)
            last--;
        if (last > first)
            add_owned(list, opal_xstrndup(text + first, last - first));
        text += length;
        if (*text != 0)
            text++;
    }
}

char *opal_strings_join(const opal_strings_t *list, const char *separator)
{
    opal_text_t text = {0};
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            opal_text_add(&text, separator);
        opal_text_add(&text, list->items[i]);
    }
    return opal_text_take(&text);
}
