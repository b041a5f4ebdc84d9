/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names for objects instead of their addresses, for other processes. A name is looked up, and is
 * found only from add to remove:
 *
 *   63          32 31           0
 *   | generation  |  slot       |     generation: never 0; another one whenever the slot is reused
 *
 * All operations take constant time, add on average. A generation is reused after 2^32 - 1 uses
 * of one slot.
 *
 * Threading: the caller's lock.
 */
#ifndef OPAL_NAMES_H
#define OPAL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

typedef struct opal_names_slot {
    void *object;        /* NULL: free, and `generation` is the next name's */
    uint32_t generation; /* never 0 */
    uint32_t next_free;  /* while it is free: the slot behind it in their chain, plus 1; 0: none */
} opal_names_slot_t;

/* {0} is an empty table. */
typedef struct opal_names {
    opal_names_slot_t *slots;
    uint32_t slot_count;
    uint32_t first_free; /* plus 1; 0: none */
} opal_names_t;

/* The name of an object, which is not NULL; 0: no memory. */
OPAL_EXPORT uint64_t opal_names_add(opal_names_t *names, void *object);

/* NULL: no object has this name, or has it any more. */
static inline void *opal_names_find(const opal_names_t *names, uint64_t name)
{
    uint32_t slot = (uint32_t)name;
    if (opal_unlikely(slot >= names->slot_count ||
                      names->slots[slot].generation != (uint32_t)(name >> 32)))
        return NULL;
    return names->slots[slot].object;
}

/* From now on the name is not found. A name that no object has is left alone. */
OPAL_EXPORT void opal_names_remove(opal_names_t *names, uint64_t name);

/* Empties the table, whose names may then be given again. */
OPAL_EXPORT void opal_names_free(opal_names_t *names);

#endif
