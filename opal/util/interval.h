/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An interval tree of addresses: which intervals cover an address or overlap a range.
 *
 * A node is a field of what is listed, so nothing is allocated. Nodes are in the order of their
 * beginnings; equal ones in the order in which they were inserted. They may overlap. Each node has
 * the largest end of its subtree, so that a search leaves out subtrees that end too early:
 *
 *               [40,90)                  begin, end
 *              reach 200                 max of `end` here and below
 *             /         \
 *        [10,60)      [70,80)
 *        reach 60     reach 200
 *                          \
 *                        [75,200)
 *
 * Heights of siblings differ by one at most (AVL). Every search is O(log n), but for what it finds.
 *
 * Threading: the caller's lock.
 */
#ifndef OPAL_INTERVAL_H
#define OPAL_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

/* [begin, end), not empty. The caller sets both, and does not change them while it is in a tree. */
typedef struct opal_interval {
    uintptr_t begin, end;
    struct opal_interval *child[2]; /* earlier ones, later ones */
    struct opal_interval *parent;
    uintptr_t reach;
    unsigned height; /* a leaf: 1 */
} opal_interval_t;

/* All zero is an empty tree. */
typedef struct opal_interval_tree {
    opal_interval_t *root;
    size_t count;
} opal_interval_tree_t;

OPAL_EXPORT void opal_interval_insert(opal_interval_tree_t *tree, opal_interval_t *node);
OPAL_EXPORT void opal_interval_remove(opal_interval_tree_t *tree, opal_interval_t *node);

/* The first interval that overlaps [begin, end), and the next one behind a node; NULL: none. The
 * node is in the tree, but need not overlap the range. */
OPAL_EXPORT opal_interval_t *opal_interval_first(const opal_interval_tree_t *tree, uintptr_t begin,
                                                 uintptr_t end);
OPAL_EXPORT opal_interval_t *opal_interval_next(const opal_interval_t *node, uintptr_t begin,
                                                uintptr_t end);

/* The last interval that begins at the address or before it; NULL: all begin later. If intervals do
 * not overlap, no other one can cover the address. */
static inline opal_interval_t *opal_interval_before(const opal_interval_tree_t *tree,
                                                    uintptr_t address)
{
    opal_interval_t *best = NULL;
    for (opal_interval_t *node = tree->root; node != NULL;) {
        int later = node->begin <= address; /* without a branch that nobody can predict */
        best = later ? node : best;
        node = node->child[later];
    }
    return best;
}

#endif
