/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/interval.c, against an array that is searched from one end to the other. */
#include "opal/util/interval.h"

#include "test/unit/opal/support.h"

enum { NODES = 120, SPACE = 500, LONGEST = 50 };

typedef struct entry {
    opal_interval_t node;
    bool in_tree;
    unsigned age; /* of its insertion: orders those with the same beginning */
} entry_t;

static entry_t entries[NODES];
static opal_interval_tree_t tree;
static unsigned now;

/* Checks heights, balance, reaches, parents and order below the node; returns its height. */
static unsigned check_below(const opal_interval_t *node, const opal_interval_t *parent,
                            const opal_interval_t **previous, size_t *count)
{
    if (node == NULL)
        return 0;
    ck_assert_ptr_eq(node->parent, parent);
    unsigned earlier = check_below(node->child[0], node, previous, count);
    if (*previous != NULL) {
        const entry_t *one = opal_container_of(*previous, entry_t, node);
        const entry_t *two = opal_container_of(node, entry_t, node);
        ck_assert_uint_le(one->node.begin, two->node.begin);
        if (one->node.begin == two->node.begin)
            ck_assert_uint_lt(one->age, two->age);
    }
    *previous = node;
    ++*count;
    unsigned later = check_below(node->child[1], node, previous, count);
    ck_assert_uint_le(earlier, later + 1);
    ck_assert_uint_le(later, earlier + 1);
    ck_assert_uint_eq(node->height, (earlier > later ? earlier : later) + 1);
    uintptr_t reach = node->end;
    for (int side = 0; side < 2; side++) {
        if (node->child[side] != NULL && node->child[side]->reach > reach)
            reach = node->child[side]->reach;
    }
    ck_assert_uint_eq(node->reach, reach);
    return node->height;
}

static void check_tree(size_t wanted)
{
    const opal_interval_t *previous = NULL;
    size_t count = 0;
    check_below(tree.root, NULL, &previous, &count);
    ck_assert_uint_eq(count, wanted);
    ck_assert_uint_eq(tree.count, wanted);
}

static bool comes_before(const entry_t *one, const entry_t *two)
{
    return one->node.begin != two->node.begin ? one->node.begin < two->node.begin
                                              : one->age < two->age;
}

/* The model's next one behind `previous` (NULL: the first) that overlaps. */
static entry_t *model_next(const entry_t *previous, uintptr_t begin, uintptr_t end)
{
    entry_t *best = NULL;
    for (size_t i = 0; i < NODES; i++) {
        entry_t *entry = &entries[i];
        if (entry->in_tree && entry->node.begin < end && entry->node.end > begin &&
            (previous == NULL || comes_before(previous, entry)) &&
            (best == NULL || comes_before(entry, best)))
            best = entry;
    }
    return best;
}

static entry_t *model_before(uintptr_t address)
{
    entry_t *best = NULL;
    for (size_t i = 0; i < NODES; i++) {
        entry_t *entry = &entries[i];
        if (entry->in_tree && entry->node.begin <= address &&
            (best == NULL || comes_before(best, entry)))
            best = entry;
    }
    return best;
}

static void compare(void)
{
    uintptr_t begin = (uintptr_t)rand() % SPACE;
    uintptr_t end = begin + 1 + (uintptr_t)rand() % (2 * LONGEST);
    entry_t *wanted = model_next(NULL, begin, end);
    opal_interval_t *found = opal_interval_first(&tree, begin, end);
    while (wanted != NULL) {
        ck_assert_ptr_eq(found, &wanted->node);
        wanted = model_next(wanted, begin, end);
        found = opal_interval_next(found, begin, end);
    }
    ck_assert_ptr_null(found);
    wanted = model_before(begin);
    ck_assert_ptr_eq(opal_interval_before(&tree, begin), wanted != NULL ? &wanted->node : NULL);
}

/* A node that does not overlap the range is a place to begin from too. */
static void compare_from_anywhere(void)
{
    const entry_t *from = &entries[rand() % NODES];
    uintptr_t begin = (uintptr_t)rand() % SPACE;
    uintptr_t end = begin + 1 + (uintptr_t)rand() % LONGEST;
    if (!from->in_tree)
        return;
    entry_t *wanted = model_next(from, begin, end);
    ck_assert_ptr_eq(opal_interval_next(&from->node, begin, end),
                     wanted != NULL ? &wanted->node : NULL);
}

START_TEST(searches_are_those_of_the_model)
{
    size_t count = 0;
    int longest = _i % 2 == 0 ? LONGEST : 3; /* many overlap; hardly any does */
    srand((unsigned)_i + 1);
    for (int step = 0; step < 2000; step++) {
        entry_t *entry = &entries[rand() % NODES];
        if (entry->in_tree) {
            opal_interval_remove(&tree, &entry->node);
        } else {
            entry->node.begin = (uintptr_t)rand() % SPACE;
            entry->node.end = entry->node.begin + 1 + (uintptr_t)(rand() % longest);
            entry->age = ++now;
            opal_interval_insert(&tree, &entry->node);
        }
        entry->in_tree = !entry->in_tree;
        count = entry->in_tree ? count + 1 : count - 1;
        if (step % 16 == 0)
            check_tree(count);
        compare();
        compare_from_anywhere();
    }
}
END_TEST

START_TEST(nothing_is_in_an_empty_tree)
{
    ck_assert_ptr_null(opal_interval_first(&tree, 0, UINTPTR_MAX));
    ck_assert_ptr_null(opal_interval_before(&tree, UINTPTR_MAX));
}
END_TEST

/* What comes in order would make a list of a tree that is not balanced. */
START_TEST(what_comes_in_order_stays_flat)
{
    for (size_t i = 0; i < NODES; i++) {
        size_t position = _i == 0 ? i : NODES - i;
        entries[i].node.begin = position * 10;
        entries[i].node.end = position * 10 + 5;
        entries[i].age = (unsigned)i;
        opal_interval_insert(&tree, &entries[i].node);
    }
    check_tree(NODES);
    ck_assert_uint_le(tree.root->height, 8);
    for (size_t i = 0; i < NODES; i++) {
        opal_interval_remove(&tree, &entries[i].node);
        check_tree(NODES - i - 1);
    }
    ck_assert_ptr_null(tree.root);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nothing_is_in_an_empty_tree},
    {.test = &what_comes_in_order_stays_flat, .repeats = 2},
    {.test = &searches_are_those_of_the_model, .repeats = 6},
};

UNIT_MAIN("interval", tests, NULL);
