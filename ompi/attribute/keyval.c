/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of keyvals. See keyval.h. A new keyval gets the lowest free number. */
#include "ompi/attribute/keyval.h"

#include <stdlib.h>

#include "opal/include/compiler.h"

/* The standard's numbers are below. */
enum { FIRST_NUMBER = 4096 };

#define PREDEFINED(name, of_kind, of_language)                                                     \
    {                                                                                              \
        .number = (name), .kind = (of_kind), .language = (of_language), .is_predefined = true      \
    }

/* C gets the integer values as if Fortran had set them: pointers to an int, or to an MPI_Aint. */
static ompi_keyval_t predefined[] = {
    PREDEFINED(MPI_TAG_UB, OMPI_COMM, OMPI_LANGUAGE_FORTRAN_MPI1),
    PREDEFINED(MPI_IO, OMPI_COMM, OMPI_LANGUAGE_FORTRAN_MPI1),
    PREDEFINED(MPI_HOST, OMPI_COMM, OMPI_LANGUAGE_FORTRAN_MPI1),
    PREDEFINED(MPI_WTIME_IS_GLOBAL, OMPI_COMM, OMPI_LANGUAGE_FORTRAN_MPI1),
    PREDEFINED(MPI_APPNUM, OMPI_COMM, OMPI_LANGUAGE_FORTRAN_MPI1),
    PREDEFINED(MPI_LASTUSEDCODE, OMPI_COMM, OMPI_LANGUAGE_FORTRAN_MPI1),
    PREDEFINED(MPI_UNIVERSE_SIZE, OMPI_COMM, OMPI_LANGUAGE_FORTRAN_MPI1),
    PREDEFINED(MPI_WIN_BASE, OMPI_WIN, OMPI_LANGUAGE_C),
    PREDEFINED(MPI_WIN_DISP_UNIT, OMPI_WIN, OMPI_LANGUAGE_FORTRAN_MPI1),
    PREDEFINED(MPI_WIN_SIZE, OMPI_WIN, OMPI_LANGUAGE_FORTRAN),
    PREDEFINED(MPI_WIN_CREATE_FLAVOR, OMPI_WIN, OMPI_LANGUAGE_FORTRAN_MPI1),
    PREDEFINED(MPI_WIN_MODEL, OMPI_WIN, OMPI_LANGUAGE_FORTRAN_MPI1),
};

static ompi_keyval_t **table; /* NULL entries are free; the table goes with the last keyval */
static int table_size, table_live, lowest_free;

static bool grow(void)
{
    int size = table_size == 0 ? 16 : table_size * 2;
    ompi_keyval_t **grown = realloc(table, (size_t)size * sizeof(ompi_keyval_t *));
    if (grown == NULL)
        return false;
    for (int i = table_size; i < size; i++)
        grown[i] = NULL;
    table = grown;
    table_size = size;
    return true;
}

bool ompi_keyval_enter(ompi_keyval_t *keyval)
{
    while (lowest_free < table_size && table[lowest_free] != NULL)
        lowest_free++;
    if (lowest_free == table_size && !grow())
        return false;
    keyval->number = FIRST_NUMBER + lowest_free;
    table[lowest_free] = keyval;
    table_live++;
    return true;
}

static ompi_keyval_t *find(int number)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(predefined); i++) {
        if (predefined[i].number == number)
            return &predefined[i];
    }
    int index = number - FIRST_NUMBER;
    return number >= FIRST_NUMBER && index < table_size ? table[index] : NULL;
}

ompi_keyval_t *ompi_keyval_find(ompi_kind_t kind, int number)
{
    ompi_keyval_t *keyval = find(number);
    return keyval != NULL && keyval->kind == kind ? keyval : NULL;
}

void ompi_keyval_retain(ompi_keyval_t *keyval)
{
    if (!keyval->is_predefined)
        keyval->references++;
}

void ompi_keyval_release(ompi_keyval_t *keyval)
{
    if (keyval->is_predefined || --keyval->references > 0)
        return;
    int index = keyval->number - FIRST_NUMBER;
    table[index] = NULL;
    if (index < lowest_free)
        lowest_free = index;
    free(keyval);
    if (--table_live == 0) {
        free(table);
        table = NULL;
        table_size = lowest_free = 0;
    }
}
