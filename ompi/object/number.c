/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of objects.
 *
 * A number is 4096 + the index of a slot in the table of the object's kind. Free slots form a list
 * through the table itself, so that taking and giving back a number takes constant time:
 *
 *   slots   [ object | object | next free: 4 | object | next free: none | - | - ]
 *   used                                                                  5
 *
 * Threading: one lock for all tables and for the numbers in the objects. A program asks for
 * numbers seldom: where C and Fortran meet.
 */
#include "ompi/object/number.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

enum { NO_SLOT = -1, FIRST_SIZE = 64 };

typedef struct slot {
    ompi_object_t *object; /* NULL: free */
    int next_free;         /* of a free slot */
} slot_t;

typedef struct table {
    slot_t *slots;
    int size, used; /* slots that exist; slots that have ever held an object */
    int live;       /* objects in the table, which is freed with the last one */
    int first_free; /* + 1, so that all zero is an empty table */
} table_t;

static table_t tables[OMPI_KIND_COUNT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool grow(table_t *table)
{
    int size = table->size == 0 ? FIRST_SIZE : table->size * 2;
    if (size > INT_MAX / 2)
        return false;
    slot_t *slots = realloc(table->slots, (size_t)size * sizeof *slots);
    if (slots == NULL)
        return false;
    table->slots = slots;
    table->size = size;
    return true;
}

/* A slot for one more object, or NO_SLOT. */
static int take_slot(table_t *table)
{
    int slot = table->first_free - 1;
    if (slot != NO_SLOT) {
        table->first_free = table->slots[slot].next_free + 1;
        return slot;
    }
    if (table->used == table->size && !grow(table))
        return NO_SLOT;
    return table->used++;
}

int ompi_object_number(ompi_object_t *object)
{
    pthread_mutex_lock(&lock);
    table_t *table = &tables[ompi_object_kind(object)];
    if (object->number == 0) {
        int slot = take_slot(table);
        if (slot != NO_SLOT) {
            table->slots[slot].object = object;
            table->live++;
            object->number = OMPI_NUMBER_FIRST + slot;
        }
    }
    int number = object->number;
    pthread_mutex_unlock(&lock);
    return number;
}

ompi_object_t *ompi_object_of_number(ompi_kind_t kind, int number)
{
    int slot = number - OMPI_NUMBER_FIRST;
    const table_t *table = &tables[kind];
    pthread_mutex_lock(&lock);
    ompi_object_t *object = slot < table->used ? table->slots[slot].object : NULL;
    pthread_mutex_unlock(&lock);
    return object;
}

void ompi_object_release_number(ompi_object_t *object)
{
    pthread_mutex_lock(&lock);
    table_t *table = &tables[ompi_object_kind(object)];
    if (object->number != 0) {
        int slot = object->number - OMPI_NUMBER_FIRST;
        table->slots[slot] = (slot_t){.next_free = table->first_free - 1};
        table->first_free = slot + 1;
        if (--table->live == 0) {
            free(table->slots);
            *table = (table_t){0};
        }
        object->number = 0;
    }
    pthread_mutex_unlock(&lock);
}
