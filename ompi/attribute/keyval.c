/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of keyvals. See keyval.h. A new keyval gets the lowest free number. */
#include "ompi/attribute/keyval.h"

#include <stdlib.h>

#include "opal/include/compiler.h"

/* The standard's numbers are below. */
enum { FIRST_NUMBER = 4096 };

static ompi_keyval_t predefined[] = {
    {.number = MPI_TAG_UB, .kind = OMPI_COMM, .is_predefined = true},
    {.number = MPI_IO, .kind = OMPI_COMM, .is_predefined = true},
    {.number = MPI_HOST, .kind = OMPI_COMM, .is_predefined = true},
    {.number = MPI_WTIME_IS_GLOBAL, .kind = OMPI_COMM, .is_predefined = true},
    {.number = MPI_APPNUM, .kind = OMPI_COMM, .is_predefined = true},
    {.number = MPI_LASTUSEDCODE, .kind = OMPI_COMM, .is_predefined = true},
    {.number = MPI_UNIVERSE_SIZE, .kind = OMPI_COMM, .is_predefined = true},
    {.number = MPI_WIN_BASE, .kind = OMPI_WIN, .is_predefined = true},
    {.number = MPI_WIN_DISP_UNIT, .kind = OMPI_WIN, .is_predefined = true},
    {.number = MPI_WIN_SIZE, .kind = OMPI_WIN, .is_predefined = true},
    {.number = MPI_WIN_CREATE_FLAVOR, .kind = OMPI_WIN, .is_predefined = true},
    {.number = MPI_WIN_MODEL, .kind = OMPI_WIN, .is_predefined = true},
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
