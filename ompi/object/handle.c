/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables behind handles.
 *
 * A number is 4096 + the index in its kind's table. Free places form a list through the table
 * itself, so that a number can be taken and given back in constant time:
 *
 *   places  [ object | object | next free: 4 | object | next free: none | - | - ]
 *   used                                                                  5
 *
 * Threading: one lock for all tables and for the numbers in the objects. A program asks for
 * numbers seldom: between C and Fortran, not within.
 */
#include "ompi/object/handle.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "ompi/errhandler/errhandler.h"
#include "ompi/info/info.h"

#define AT(handle) [(uintptr_t)(handle)]

ompi_object_t *ompi_handle_predefined[OMPI_HANDLE_PREDEFINED] = {
    /* Those that may be used before MPI_Init and after MPI_Finalize. */
    AT(MPI_ERRORS_ARE_FATAL) = &ompi_errors_are_fatal.head,
    AT(MPI_ERRORS_ABORT) = &ompi_errors_abort.head,
    AT(MPI_ERRORS_RETURN) = &ompi_errors_return.head,
    AT(MPI_INFO_ENV) = &ompi_info_env.head,
};

enum { NO_PLACE = -1, FIRST_SIZE = 64 };

typedef struct place {
    ompi_object_t *object; /* NULL: free */
    int next_free;         /* of a free place */
} place_t;

typedef struct table {
    place_t *places;
    int size, used; /* places that exist; those that have ever held an object */
    int live;       /* objects in it; the table goes with the last */
    int first_free; /* + 1, so that all zero is an empty table */
} table_t;

static table_t tables[OMPI_KIND_COUNT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void ompi_handle_define(ompi_object_t *object)
{
    ompi_handle_predefined[(uintptr_t)object->handle] = object;
}

void ompi_handle_undefine(ompi_object_t *object)
{
    ompi_handle_predefined[(uintptr_t)object->handle] = NULL;
}

static bool grow(table_t *table)
{
    int size = table->size == 0 ? FIRST_SIZE : table->size * 2;
    if (size > INT_MAX / 2)
        return false;
    place_t *places = realloc(table->places, (size_t)size * sizeof *places);
    if (places == NULL)
        return false;
    table->places = places;
    table->size = size;
    return true;
}

/* A place for one more object, or NO_PLACE. */
static int take_place(table_t *table)
{
    int place = table->first_free - 1;
    if (place != NO_PLACE) {
        table->first_free = table->places[place].next_free + 1;
        return place;
    }
    if (table->used == table->size && !grow(table))
        return NO_PLACE;
    return table->used++;
}

static void give_place_back(table_t *table, int place)
{
    table->places[place] = (place_t){.next_free = table->first_free - 1};
    table->first_free = place + 1;
    if (--table->live == 0) {
        free(table->places);
        *table = (table_t){0};
    }
}

static int number_of(ompi_object_t *object, table_t *table)
{
    if (object->number == 0) {
        int place = take_place(table);
        if (place == NO_PLACE)
            return 0;
        table->places[place].object = object;
        table->live++;
        object->number = OMPI_HANDLE_PREDEFINED + place;
    }
    return object->number;
}

int ompi_handle_to_int(ompi_kind_t kind, const void *handle)
{
    if ((uintptr_t)handle < OMPI_HANDLE_PREDEFINED)
        return (int)(uintptr_t)handle;
    ompi_object_t *object = ompi_handle_object(handle);
    if (!ompi_object_is(object, kind))
        return 0;
    pthread_mutex_lock(&lock);
    int number = number_of(object, &tables[kind]);
    pthread_mutex_unlock(&lock);
    return number;
}

void *ompi_handle_from_int(ompi_kind_t kind, int number)
{
    if (number < 0)
        return NULL;
    if (number < OMPI_HANDLE_PREDEFINED)
        return (void *)(uintptr_t)number;
    int place = number - OMPI_HANDLE_PREDEFINED;
    const table_t *table = &tables[kind];
    pthread_mutex_lock(&lock);
    ompi_object_t *object = place < table->used ? table->places[place].object : NULL;
    pthread_mutex_unlock(&lock);
    return object != NULL ? ompi_object_handle(object) : NULL;
}

void ompi_handle_forget(ompi_object_t *object)
{
    pthread_mutex_lock(&lock);
    if (object->number != 0) {
        give_place_back(&tables[ompi_object_kind(object)], object->number - OMPI_HANDLE_PREDEFINED);
        object->number = 0;
    }
    pthread_mutex_unlock(&lock);
}
