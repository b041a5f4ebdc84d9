/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the node's segment that some ranks share: areas, and the memory of persistent
 * operations.
 *
 * The segment never takes memory back, so the rank that has made a piece of memory keeps it in a
 * list when it has left it. The piece can be reused when all of its ranks have left it: the slowest
 * of them may read it for a while.
 *
 * Threading: the caller holds ompi_lock.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/util/text.h"
#include "ompi/mca/coll/sm/sm.h"

typedef struct piece {
    struct piece *next;
    sm_shared_t *shared;
    size_t bytes;
    int ranks; /* all of them must have left */
} piece_t;

static piece_t *pieces;

/* The smallest piece of at least *bytes that no rank uses; *bytes becomes its size. NULL: none. */
static sm_shared_t *take_unused(size_t *bytes)
{
    piece_t **best = NULL;
    for (piece_t **each = &pieces; *each != NULL; each = &(*each)->next) {
        if ((*each)->bytes >= *bytes && (best == NULL || (*each)->bytes < (*best)->bytes) &&
            atomic_load_explicit(&(*each)->shared->left, memory_order_acquire) == (*each)->ranks)
            best = each;
    }
    if (best == NULL)
        return NULL;
    piece_t *taken = *best;
    sm_shared_t *shared = taken->shared;
    *bytes = taken->bytes;
    *best = taken->next;
    free(taken);
    return shared;
}

sm_shared_t *sm_shared_make(size_t *bytes, size_t cleared, size_t populated)
{
    sm_shared_t *shared = take_unused(bytes);
    if (shared == NULL) {
        uint64_t offset = opal_node_carve_spare(*bytes);
        if (offset == 0)
            return NULL;
        shared = opal_node_at(offset);
    }
    if (opal_node_populate(shared, populated) != OPAL_SUCCESS)
        return NULL;
    memset(shared, 0, cleared);
    return shared;
}

void sm_shared_forget(sm_shared_t *shared, size_t bytes, int ranks)
{
    piece_t *piece = opal_xmalloc(sizeof *piece);
    *piece = (piece_t){pieces, shared, bytes, ranks};
    pieces = piece;
}

void sm_shared_leave(sm_shared_t *shared)
{
    atomic_fetch_add_explicit(&shared->left, 1, memory_order_release);
}

void sm_shared_close(void)
{
    while (pieces != NULL) {
        piece_t *next = pieces->next;
        free(pieces);
        pieces = next;
    }
}
