/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of intervals. Whatever is changed below a node, mend() goes up from there. */
#include "opal/util/interval.h"

#include <stdbool.h>

enum { EARLIER, LATER };

static unsigned height_of(const opal_interval_t *node)
{
    return node != NULL ? node->height : 0;
}

static void update(opal_interval_t *node)
{
    unsigned height = 0;
    node->reach = node->end;
    for (int side = EARLIER; side <= LATER; side++) {
        const opal_interval_t *child = node->child[side];
        if (child == NULL)
            continue;
        if (child->height > height)
            height = child->height;
        if (child->reach > node->reach)
            node->reach = child->reach;
    }
    node->height = height + 1;
}

/* Puts `new` (may be NULL) where `old` hangs. */
static void replace(opal_interval_tree_t *tree, const opal_interval_t *old, opal_interval_t *new)
{
    opal_interval_t *parent = old->parent;
    if (parent == NULL)
        tree->root = new;
    else
        parent->child[parent->child[LATER] == old] = new;
    if (new != NULL)
        new->parent = parent;
}

/* The child of that side goes up, and the node below it. Returns the child. */
static opal_interval_t *rotate(opal_interval_tree_t *tree, opal_interval_t *node, int side)
{
    opal_interval_t *child = node->child[side], *inner = child->child[!side];
    replace(tree, node, child);
    node->child[side] = inner;
    if (inner != NULL)
        inner->parent = node;
    child->child[!side] = node;
    node->parent = child;
    update(node);
    update(child);
    return child;
}

/* Heights, reaches and balance, from the node up. */
static void mend(opal_interval_tree_t *tree, opal_interval_t *node)
{
    for (; node != NULL; node = node->parent) {
        unsigned earlier = height_of(node->child[EARLIER]);
        unsigned later = height_of(node->child[LATER]);
        update(node);
        if (earlier <= later + 1 && later <= earlier + 1)
            continue;
        int side = later > earlier;
        opal_interval_t *child = node->child[side];
        if (height_of(child->child[!side]) > height_of(child->child[side]))
            rotate(tree, child, !side);
        node = rotate(tree, node, side);
    }
}

void opal_interval_insert(opal_interval_tree_t *tree, opal_interval_t *node)
{
    opal_interval_t *parent = NULL, **link = &tree->root;
    while (*link != NULL) {
        parent = *link;
        link = &parent->child[parent->begin <= node->begin];
    }
    node->child[EARLIER] = node->child[LATER] = NULL;
    node->parent = parent;
    *link = node;
    tree->count++;
    mend(tree, node);
}

static opal_interval_t *earliest(opal_interval_t *node)
{
    while (node->child[EARLIER] != NULL)
        node = node->child[EARLIER];
    return node;
}

void opal_interval_remove(opal_interval_tree_t *tree, opal_interval_t *node)
{
    opal_interval_t *lowest; /* whose children have changed */
    tree->count--;
    if (node->child[EARLIER] == NULL || node->child[LATER] == NULL) {
        lowest = node->parent;
        replace(tree, node, node->child[node->child[EARLIER] == NULL]);
        mend(tree, lowest);
        return;
    }
    /* The one behind it takes its place. */
    opal_interval_t *heir = earliest(node->child[LATER]);
    lowest = heir->parent == node ? heir : heir->parent;
    replace(tree, heir, heir->child[LATER]);
    for (int side = EARLIER; side <= LATER; side++) {
        heir->child[side] = node->child[side];
        if (heir->child[side] != NULL)
            heir->child[side]->parent = heir;
    }
    replace(tree, node, heir);
    mend(tree, lowest);
}

/* Of what hangs at the node: the first one that ends behind `begin`, if it begins before `end`.
 * The others that end behind `begin` begin even later. */
static opal_interval_t *first_below(opal_interval_t *node, uintptr_t begin, uintptr_t end)
{
    while (node != NULL && node->reach > begin) {
        opal_interval_t *earlier = node->child[EARLIER];
        if (earlier != NULL && earlier->reach > begin)
            node = earlier;
        else if (node->begin >= end)
            return NULL;
        else if (node->end > begin)
            return node;
        else
            node = node->child[LATER];
    }
    return NULL;
}

opal_interval_t *opal_interval_first(const opal_interval_tree_t *tree, uintptr_t begin,
                                     uintptr_t end)
{
    return first_below(tree->root, begin, end);
}

opal_interval_t *opal_interval_next(const opal_interval_t *node, uintptr_t begin, uintptr_t end)
{
    opal_interval_t *found = first_below(node->child[LATER], begin, end);
    while (found == NULL && node->parent != NULL) {
        opal_interval_t *parent = node->parent;
        bool was_earlier = parent->child[EARLIER] == node;
        node = parent;
        if (!was_earlier)
            continue;
        if (parent->begin >= end)
            return NULL;
        found = parent->end > begin ? parent : first_below(parent->child[LATER], begin, end);
    }
    return found;
}
