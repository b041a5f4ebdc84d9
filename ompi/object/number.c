/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of objects.
 *
 * A number is 4096 + the index of a slot in the table of the object's kind. A table consists of
 * chunks that never move, each twice as large as the one before:
 *
 *   chunk      0          1            2
 *   indices    0 to 63    64 to 191    192 to 447    ...
 *
 * Free slots form a list through the slots, the last one that was given back first:
 *
 *   slots      [ object | object | next free: 4 | object | next free: none | - | - ]
 *   used                                                                   5
 *   free list  2, and how often the list has changed
 *
 * Threading: a thread that takes a slot reads which slot is behind the first free one; meanwhile
 * another thread may take the first one and even give it back. The count of changes, which is
 * compared together with the first slot, tells that. Chunks stay until the process ends, so that a
 * slot can be read without knowing whether it is still in use. Tables of kinds whose objects only
 * one thread at a time uses are changed by plain stores: a number is taken and given back in about
 * 75 instructions (3 ns among other work, on an AMD EPYC), which each request of Fortran costs.
 */
#include "ompi/object/number.h"

#include <limits.h>
#include <stdlib.h>

enum { FIRST_BITS = 6, FIRST_CHUNK = 1 << FIRST_BITS, CHUNKS = 31 - FIRST_BITS };
enum { SLOTS = INT_MAX - OMPI_NUMBER_FIRST + 1, NO_SLOT = -1 };

typedef struct slot {
    _Atomic(ompi_object_t *) object; /* NULL: free. Release, for those who look it up */
    atomic_int next_free;            /* of a free slot: index of the next one + 1; 0: none */
} slot_t;

/* The first free slot + 1, so that all zero is empty; in the upper half, a count of changes. */
typedef uint64_t free_list_t;

/* On cache lines of its own: threads use different kinds at the same time. */
typedef struct table {
    _Alignas(64) _Atomic free_list_t free_list;
    atomic_int used;                  /* slots that have ever held an object */
    _Atomic(slot_t *) chunks[CHUNKS]; /* release; NULL: not made yet */
} table_t;

static table_t tables[OMPI_KIND_COUNT];

static inline int first_of(free_list_t list)
{
    return (int)(uint32_t)list - 1;
}

static inline free_list_t list_from(free_list_t before, int first)
{
    return ((before >> 32) + 1) << 32 | (uint32_t)(first + 1);
}

static inline int next_of(slot_t *free_slot)
{
    return atomic_load_explicit(&free_slot->next_free, memory_order_relaxed) - 1;
}

static inline void set_free(slot_t *slot, int next)
{
    atomic_store_explicit(&slot->object, NULL, memory_order_relaxed);
    atomic_store_explicit(&slot->next_free, next + 1, memory_order_relaxed);
}

static inline void set_object(slot_t *slot, ompi_object_t *object)
{
    atomic_store_explicit(&slot->object, object, memory_order_release);
}

typedef struct position {
    unsigned chunk, offset;
} position_t;

/* The highest bit of index + FIRST_CHUNK says in which chunk the slot is, the other bits where. */
static inline position_t position_of(int index)
{
    unsigned sum = (unsigned)index + FIRST_CHUNK;
    unsigned highest = 31 ^ (unsigned)__builtin_clz(sum);
    return (position_t){.chunk = highest - FIRST_BITS, .offset = sum ^ (1U << highest)};
}

/* NULL: its chunk has not been made. */
static inline slot_t *find_slot(table_t *table, int index)
{
    position_t at = position_of(index);
    slot_t *chunk = atomic_load_explicit(&table->chunks[at.chunk], memory_order_acquire);
    return chunk != NULL ? chunk + at.offset : NULL;
}

/* A slot that exists. */
static inline slot_t *slot_at(table_t *table, int index)
{
    position_t at = position_of(index);
    return atomic_load_explicit(&table->chunks[at.chunk], memory_order_acquire) + at.offset;
}

/* Makes the chunk of a slot, unless another thread does. */
static bool make_chunk(table_t *table, int index)
{
    unsigned number = position_of(index).chunk;
    slot_t *made = calloc((size_t)FIRST_CHUNK << number, sizeof *made), *none = NULL;
    if (made == NULL)
        return false;
    if (!atomic_compare_exchange_strong_explicit(&table->chunks[number], &none, made,
                                                 memory_order_release, memory_order_relaxed))
        free(made);
    return true;
}

/* A slot that no object has ever had, or NO_SLOT. */
static OPAL_NOINLINE int take_unused(table_t *table)
{
    int index = atomic_load_explicit(&table->used, memory_order_relaxed);
    do {
        if (index == SLOTS || (find_slot(table, index) == NULL && !make_chunk(table, index)))
            return NO_SLOT;
    } while (!atomic_compare_exchange_weak_explicit(&table->used, &index, index + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return index;
}

/* A slot for one more object, or NO_SLOT. */
static int take_slot(table_t *table)
{
    free_list_t seen = atomic_load_explicit(&table->free_list, memory_order_acquire);
    int index, next;
    do {
        index = first_of(seen);
        if (index == NO_SLOT)
            return take_unused(table);
        next = next_of(slot_at(table, index));
    } while (!atomic_compare_exchange_weak_explicit(&table->free_list, &seen, list_from(seen, next),
                                                    memory_order_acq_rel, memory_order_acquire));
    return index;
}

static OPAL_NOINLINE void give_slot_back(table_t *table, int index)
{
    slot_t *slot = slot_at(table, index);
    free_list_t seen = atomic_load_explicit(&table->free_list, memory_order_relaxed);
    do {
        set_free(slot, first_of(seen));
    } while (!atomic_compare_exchange_weak_explicit(&table->free_list, &seen,
                                                    list_from(seen, index), memory_order_release,
                                                    memory_order_relaxed));
}

static OPAL_NOINLINE int take_number(table_t *table, ompi_object_t *object)
{
    int index = take_slot(table), before = 0;
    if (index == NO_SLOT)
        return 0;
    set_object(slot_at(table, index), object);
    if (atomic_compare_exchange_strong_explicit(&object->number, &before, OMPI_NUMBER_FIRST + index,
                                                memory_order_acq_rel, memory_order_acquire))
        return OMPI_NUMBER_FIRST + index;
    give_slot_back(table, index);
    return before;
}

int ompi_object_take_number(ompi_object_t *object)
{
    ompi_kind_t kind = ompi_object_kind(object);
    table_t *table = &tables[kind];
    free_list_t list = atomic_load_explicit(&table->free_list, memory_order_relaxed);
    int index = first_of(list);
    if (index == NO_SLOT || !ompi_kind_is_of_one_thread(kind))
        return take_number(table, object);
    slot_t *slot = slot_at(table, index);
    atomic_store_explicit(&table->free_list, list_from(list, next_of(slot)), memory_order_relaxed);
    set_object(slot, object);
    atomic_store_explicit(&object->number, OMPI_NUMBER_FIRST + index, memory_order_relaxed);
    return OMPI_NUMBER_FIRST + index;
}

ompi_object_t *ompi_object_of_number(ompi_kind_t kind, int number)
{
    if (number < OMPI_NUMBER_FIRST)
        return NULL;
    slot_t *slot = find_slot(&tables[kind], number - OMPI_NUMBER_FIRST);
    return slot != NULL ? atomic_load_explicit(&slot->object, memory_order_acquire) : NULL;
}

void ompi_object_return_number(ompi_object_t *object)
{
    ompi_kind_t kind = ompi_object_kind(object);
    table_t *table = &tables[kind];
    int index = atomic_load_explicit(&object->number, memory_order_relaxed) - OMPI_NUMBER_FIRST;
    atomic_store_explicit(&object->number, 0, memory_order_relaxed);
    if (!ompi_kind_is_of_one_thread(kind)) {
        give_slot_back(table, index);
        return;
    }
    free_list_t list = atomic_load_explicit(&table->free_list, memory_order_relaxed);
    set_free(slot_at(table, index), first_of(list));
    atomic_store_explicit(&table->free_list, list_from(list, index), memory_order_relaxed);
}
