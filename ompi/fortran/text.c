/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings. See text.h. */
#include "ompi/fortran/text.h"

#include <stdlib.h>
#include <string.h>

/* The length without the blanks at the end. */
static size_t trimmed_length(const char *fortran, size_t length)
{
    while (length > 0 && fortran[length - 1] == ' ')
        length--;
    return length;
}

/* The blanks at the beginning. */
static size_t leading_blanks(const char *fortran, size_t length)
{
    size_t blanks = 0;
    while (blanks < length && fortran[blanks] == ' ')
        blanks++;
    return blanks;
}

static void copy(char *chars, const char *fortran, size_t length)
{
    memcpy(chars, fortran, length);
    chars[length] = 0;
}

void ompi_fortran_text_get(ompi_fortran_text_t *text, const char *fortran, size_t length)
{
    length = trimmed_length(fortran, length);
    text->chars = length < sizeof text->few ? text->few : malloc(length + 1);
    if (text->chars != NULL)
        copy(text->chars, fortran, length);
}

void ompi_fortran_text_get_trimmed(ompi_fortran_text_t *text, const char *fortran, size_t length)
{
    size_t blanks = leading_blanks(fortran, length);
    ompi_fortran_text_get(text, fortran + blanks, length - blanks);
}

void ompi_fortran_text_free(ompi_fortran_text_t *text)
{
    if (text->chars != text->few)
        free(text->chars);
}

void ompi_fortran_text_put(char *fortran, size_t length, const char *chars)
{
    size_t used = strnlen(chars, length);
    memcpy(fortran, chars, used);
    memset(fortran + used, ' ', length - used);
}

char **ompi_fortran_texts(const char *fortran, size_t length, int count, size_t stride)
{
    size_t apart = length * stride, used = 0;
    if (count < 0) {
        while (trimmed_length(fortran + used * apart, length) > 0)
            used++;
    } else {
        used = (size_t)count;
    }
    char **texts = malloc((used + 1) * sizeof *texts + used * (length + 1));
    if (texts == NULL)
        return NULL;
    char *chars = (char *)(texts + used + 1);
    for (size_t i = 0; i < used; i++, chars += length + 1) {
        const char *string = fortran + i * apart;
        size_t end = trimmed_length(string, length), begin = leading_blanks(string, end);
        texts[i] = chars;
        copy(chars, string + begin, end - begin);
    }
    texts[used] = NULL;
    return texts;
}
