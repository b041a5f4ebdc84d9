/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's matching, for one context: which posted receive takes an arriving message, which waiting
 * message a receive takes. Knows sources, tags and order, and nothing of data.
 *
 * Everything has a bin, found by hashing: a receive that of its own source and tag, wildcards
 * included as such; an unexpected message each of the four that a receive could ask for.
 *
 *                    (source, tag)   (any, tag)   (source, any)   (any, any)
 *   posted receive        in exactly one of them, in order of posting
 *   unexpected message       in all of them, in order of arrival
 *
 * So a receive finds its message at the head of one bin, and a message its receive at the head
 * of four at most: the cost does not depend on how many others wait. A receive that is the only
 * one is not filed at all, nor is a message when there is no memory for its bins: that is looked
 * for one by one.
 *
 * Threading: the caller has the matcher's lock, or is the only one who knows the matcher.
 */
#ifndef OMPI_PML_OB1_MATCH_H
#define OMPI_PML_OB1_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/threads/lock.h"
#include "opal/util/list.h"

enum { OB1_CLASSES = 4 };

/* A receive that waits for a message; a part of its request. */
typedef struct ob1_posted {
    opal_list_node_t node;
    uint64_t order;
    int source, tag; /* or MPI_ANY_SOURCE, MPI_ANY_TAG */
} ob1_posted_t;

/* A message that waits for a receive; the first part of its record. */
typedef struct ob1_unexpected {
    opal_list_node_t nodes[OB1_CLASSES]; /* not filed: the first one, in `unfiled` */
    uint64_t order;
    int source, tag;
    bool is_filed;
} ob1_unexpected_t;

typedef struct ob1_matcher {
    opal_fair_lock_t lock;  /* of all that follows; taken by the callers, where threads share */
    ob1_posted_t *only;     /* the one posted receive, which has no bin; NULL: none or several */
    struct ob1_bin *recent; /* the one that was last asked for; NULL: none */
    size_t posted_total;    /* of those with a bin */
    size_t unexpected;
    uint64_t next_order;
    uint32_t source_count;  /* of the ranks that messages can come from; the user's */
    struct ob1_bin **heads; /* of chains; a power of two */
    size_t head_count, bin_count;
    opal_list_t unfiled;        /* messages that have no bins, oldest first; of `unexpected`, too */
    size_t posted[OB1_CLASSES]; /* of posted_total, so that unused classes cost nothing */
} ob1_matcher_t;

/* False: no memory. */
bool ob1_matcher_init(ob1_matcher_t *matcher);

/* Frees the bins. What is still in them is the caller's. */
void ob1_matcher_fini(ob1_matcher_t *matcher);

/* Takes out the receive that a message from source with tag goes to; NULL: nobody waits for it. */
ob1_posted_t *ob1_matcher_take_posted(ob1_matcher_t *matcher, int source, int tag);

/* Keeps a message that take_posted found no receive for. source and tag are set. */
void ob1_matcher_add_unexpected(ob1_matcher_t *matcher, ob1_unexpected_t *unexpected);

/* The message that a receive would take; NULL: none. */
ob1_unexpected_t *ob1_matcher_find_unexpected(ob1_matcher_t *matcher, int source, int tag);

/* One with that very source and tag for which the condition holds; NULL: none. */
ob1_unexpected_t *ob1_matcher_search_unexpected(
    ob1_matcher_t *matcher, int source, int tag,
    bool (*condition)(const ob1_unexpected_t *unexpected, const void *context),
    const void *context);

void ob1_matcher_remove_unexpected(ob1_matcher_t *matcher, ob1_unexpected_t *unexpected);

/* Adds a receive that find_arrived found no message for. source and tag are set. False: no memory.
 */
bool ob1_matcher_post(ob1_matcher_t *matcher, ob1_posted_t *posted);

/* One for which the condition holds; NULL: there is none. It looks at all. */
ob1_posted_t *ob1_matcher_find_posted(const ob1_matcher_t *matcher,
                                      bool (*condition)(const ob1_posted_t *posted));

void ob1_matcher_remove_posted(ob1_matcher_t *matcher, ob1_posted_t *posted);

#endif
