/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of the memory that this process has made and released. */
#include "opal/node/shared.h"

#include <string.h>

#include "opal/node/node.h"

static opal_shared_t *released;

/* The smallest memory of at least `bytes` that nobody uses; NULL: none. */
static opal_shared_t *take_unused(size_t bytes)
{
    opal_shared_t **best = NULL;
    for (opal_shared_t **each = &released; *each != NULL; each = &(*each)->next) {
        if ((*each)->bytes >= bytes && (best == NULL || (*each)->bytes < (*best)->bytes) &&
            atomic_load_explicit(&(*each)->left, memory_order_acquire) == (*each)->users)
            best = each;
    }
    if (best == NULL)
        return NULL;
    opal_shared_t *taken = *best;
    *best = taken->next;
    return taken;
}

opal_shared_t *opal_shared_make(size_t bytes, size_t cleared, size_t populated)
{
    opal_shared_t *shared = take_unused(bytes);
    if (shared != NULL) {
        bytes = shared->bytes;
    } else {
        uint64_t offset = opal_node_carve_spare(bytes);
        if (offset == 0)
            return NULL;
        shared = opal_node_at(offset);
    }
    if (opal_node_populate(shared, populated) != OPAL_SUCCESS)
        return NULL;
    memset(shared, 0, cleared);
    shared->bytes = bytes;
    return shared;
}

void opal_shared_release(opal_shared_t *shared, int users)
{
    shared->users = users;
    shared->next = released;
    released = shared;
}

void opal_shared_leave(opal_shared_t *shared)
{
    atomic_fetch_add_explicit(&shared->left, 1, memory_order_release);
}

void *opal_shared_find(_Atomic uint64_t *word, size_t bytes)
{
    uint64_t offset = atomic_load_explicit(word, memory_order_acquire);
    if (offset == 0) {
        uint64_t made = opal_node_carve(bytes);
        if (made == 0 || opal_node_populate(opal_node_at(made), bytes) != OPAL_SUCCESS)
            return NULL;
        if (atomic_compare_exchange_strong(word, &offset, made))
            offset = made;
    }
    return opal_node_at(offset);
}

void opal_shared_stop(void)
{
    released = NULL;
}
