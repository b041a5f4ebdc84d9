/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's matching, for one context: which posted receive matches an incoming message, and which
 * unexpected message matches a receive. Knows sources, tags and order, and nothing of data.
 *
 * Receives and messages are in bins, which are found by hashing. A posted receive is in the bin of
 * its source and tag, where a wildcard is a value of its own. An unexpected message is in the bins
 * of the receives that could match it, and in the list of all of them, which is the bin
 * of receives with both wildcards.
 *
 *                    (source, tag)   (any, tag)   (source, any)   (any, any)
 *   posted receive        in exactly one of them, in order of posting
 *   unexpected message    bin         bin, if a receive of this    list, in order of arrival
 *                                     class has ever looked here
 *
 * So a receive finds its message at the head of one bin, and a message finds its receive at the
 * head of at most four: the cost does not depend on how many others wait. The first receive of a
 * class with one wildcard puts the messages that wait into the bins of that class; programs that
 * use no such receives do not pay for them, whether they promise it (mpi_assert_no_any_source,
 * mpi_assert_no_any_tag) or not. The only posted receive is in no bin. A message for whose bins
 * there is no memory is in the list only, which is searched.
 *
 * Threading: the caller holds the matcher's lock, or no other thread knows the matcher.
 */
#ifndef OMPI_PML_OB1_MATCH_H
#define OMPI_PML_OB1_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/threads/lock.h"
#include "opal/util/counter.h"
#include "opal/util/list.h"

enum { OB1_CLASSES = 4, OB1_BIN_CLASSES = 3 }; /* the last class has the list of all */

/* A posted receive; a member of its request. */
typedef struct ob1_posted {
    opal_list_node_t node;
    uint64_t order;
    int source, tag; /* or MPI_ANY_SOURCE, MPI_ANY_TAG */
    unsigned class;  /* while it is in a bin */
} ob1_posted_t;

/* An unexpected message; a member of its record. */
typedef struct ob1_unexpected {
    opal_list_node_t nodes[OB1_CLASSES]; /* one for each bin; the last one in `all_unexpected` */
    uint64_t order;
    int source, tag;
    unsigned classes; /* in whose bins it is, a bit for each; 0: there was no memory for them */
} ob1_unexpected_t;

/* Receives and messages with one source and tag; made by match.c. */
typedef struct ob1_bin {
    struct ob1_bin *next;
    int source, tag;
    opal_list_t posted, unexpected;
} ob1_bin_t;

typedef struct ob1_matcher {
    opal_short_lock_t lock; /* of all that follows; callers acquire it where threads share */
    ob1_posted_t *only;     /* the only posted receive, in no bin; NULL: none or several */
    struct ob1_bin *recent; /* the bin that was found last; NULL: none */
    size_t posted_total;    /* receives in bins */
    size_t unexpected;
    uint64_t next_order;
    opal_traffic_t received; /* counted by the callers */
    uint32_t source_count;   /* ranks that messages can come from, 0: the source is the process that
                                a message comes from; not used here */
    struct ob1_bin **heads;  /* of chains; a power of two */
    size_t head_count, bin_count;
    opal_list_t all_unexpected;                  /* all unexpected messages, oldest first */
    size_t unfiled;                              /* those of them that are in no bin */
    unsigned classes;                            /* whose bins have messages, a bit for each */
    opal_counter_t most_posted, most_unexpected; /* watermarks; the only receive is not in them */
    size_t posted[OB1_CLASSES]; /* posted_total by class, so that unused classes cost nothing */
} ob1_matcher_t;

/* False: no memory. */
bool ob1_matcher_init(ob1_matcher_t *matcher);

/* Frees the bins. Receives and messages that are still in them are the caller's. */
void ob1_matcher_fini(ob1_matcher_t *matcher);

/* Removes the receive that matches a message from source with tag. NULL: the message is
 * unexpected. */
ob1_posted_t *ob1_matcher_take_posted(ob1_matcher_t *matcher, int source, int tag);

/* The same, without removing it. */
ob1_posted_t *ob1_matcher_find_taker(ob1_matcher_t *matcher, int source, int tag);

/* Adds a message that take_posted found no receive for. source and tag are set. */
void ob1_matcher_add_unexpected(ob1_matcher_t *matcher, ob1_unexpected_t *unexpected);

/* The message that matches a receive; NULL: none. */
ob1_unexpected_t *ob1_matcher_find_unexpected(ob1_matcher_t *matcher, int source, int tag);

/* A message with exactly that source and tag that meets the condition; NULL: none. */
ob1_unexpected_t *ob1_matcher_search_unexpected(
    ob1_matcher_t *matcher, int source, int tag,
    bool (*condition)(const ob1_unexpected_t *unexpected, const void *context),
    const void *context);

void ob1_matcher_remove_unexpected(ob1_matcher_t *matcher, ob1_unexpected_t *unexpected);

/* Adds a receive that find_unexpected found no message for. source and tag are set. False: no
 * memory. */
bool ob1_matcher_post(ob1_matcher_t *matcher, ob1_posted_t *posted);

/* A posted receive that meets the condition; NULL: none. Searches all. */
ob1_posted_t *ob1_matcher_find_posted(const ob1_matcher_t *matcher,
                                      bool (*condition)(const ob1_posted_t *posted, void *context),
                                      void *context);

void ob1_matcher_remove_posted(ob1_matcher_t *matcher, ob1_posted_t *posted);

#endif
