/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doubly linked lists through their members: a node is a field of what is listed, so nothing is
 * allocated, and removing needs no search. A list is circular, with a head node of its own.
 *
 *   head <-> first <-> ... <-> last <-> head
 */
#ifndef OPAL_LIST_H
#define OPAL_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

typedef struct opal_list_node {
    struct opal_list_node *previous, *next;
} opal_list_node_t;

typedef struct opal_list {
    opal_list_node_t head;
} opal_list_t;

static inline void opal_list_init(opal_list_t *list)
{
    list->head.previous = list->head.next = &list->head;
}

static inline bool opal_list_is_empty(const opal_list_t *list)
{
    return list->head.next == &list->head;
}

static inline void opal_list_append(opal_list_t *list, opal_list_node_t *node)
{
    node->previous = list->head.previous;
    node->next = &list->head;
    list->head.previous->next = node;
    list->head.previous = node;
}

static inline void opal_list_prepend(opal_list_t *list, opal_list_node_t *node)
{
    node->previous = &list->head;
    node->next = list->head.next;
    list->head.next->previous = node;
    list->head.next = node;
}

static inline void opal_list_remove(opal_list_node_t *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
}

/* The first node, or NULL. */
static inline opal_list_node_t *opal_list_first(const opal_list_t *list)
{
    return opal_list_is_empty(list) ? NULL : list->head.next;
}

/* The node behind `node`, or NULL. */
static inline opal_list_node_t *opal_list_next(const opal_list_t *list,
                                               const opal_list_node_t *node)
{
    return node->next == &list->head ? NULL : node->next;
}

#endif
