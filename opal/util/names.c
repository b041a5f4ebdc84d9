/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots in an array that doubles; the free ones in a chain, the one freed last first. */
#include "opal/util/names.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 16 };

static void give_slot(opal_names_t *names, uint32_t slot, uint32_t generation)
{
    names->slots[slot] = (opal_names_slot_t){NULL, generation, names->first_free};
    names->first_free = slot + 1;
}

/* The lowest of the new slots is used first. */
static bool grow(opal_names_t *names)
{
    uint32_t old = names->slot_count;
    if (old > UINT32_MAX / 2)
        return false;
    uint32_t count = old > 0 ? 2 * old : FIRST_SLOTS;
    opal_names_slot_t *slots = realloc(names->slots, count * sizeof *slots);
    if (slots == NULL)
        return false;
    names->slots = slots;
    names->slot_count = count;
    for (uint32_t slot = count; slot > old; slot--)
        give_slot(names, slot - 1, 1);
    return true;
}

uint64_t opal_names_add(opal_names_t *names, void *object)
{
    if (names->first_free == 0 && !grow(names))
        return 0;
    uint32_t index = names->first_free - 1;
    opal_names_slot_t *slot = &names->slots[index];
    names->first_free = slot->next_free;
    slot->object = object;
    return (uint64_t)slot->generation << 32 | index;
}

void opal_names_remove(opal_names_t *names, uint64_t name)
{
    if (opal_names_find(names, name) == NULL)
        return;
    uint32_t slot = (uint32_t)name, generation = names->slots[slot].generation;
    give_slot(names, slot, generation < UINT32_MAX ? generation + 1 : 1);
}

void opal_names_free(opal_names_t *names)
{
    free(names->slots);
    *names = (opal_names_t){0};
}
