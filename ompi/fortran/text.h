/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strings: Fortran's have a length and end with blanks, C's end with a null character.
 *
 * Threading: any.
 */
#ifndef OMPI_FORTRAN_TEXT_H
#define OMPI_FORTRAN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { OMPI_FORTRAN_TEXT_SHORT = 256 };

/* A C string; free it. */
typedef struct ompi_fortran_text {
    char *chars; /* NULL: no memory, which MPI reports as a wrong argument */
    char few[OMPI_FORTRAN_TEXT_SHORT];
} ompi_fortran_text_t;

/* Without the blanks at the end. */
void ompi_fortran_text_get(ompi_fortran_text_t *text, const char *fortran, size_t length);

/* Without those at the beginning, too: keys and values of info objects. */
void ompi_fortran_text_get_trimmed(ompi_fortran_text_t *text, const char *fortran, size_t length);

void ompi_fortran_text_free(ompi_fortran_text_t *text);

/* Fills a Fortran string: what does not fit is cut, the rest is blank. */
void ompi_fortran_text_put(char *fortran, size_t length, const char *chars);

/*
 * C's array of strings of one of Fortran's, without the blanks around them: `count` strings, or up
 * to the first blank one if it is negative. Strings that belong together lie `stride` strings
 * apart. It ends with NULL, and all of it is one block for free(). NULL: no memory.
 */
char **ompi_fortran_texts(const char *fortran, size_t length, int count, size_t stride);

#endif
