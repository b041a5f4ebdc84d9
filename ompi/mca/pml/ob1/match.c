/* SPDX-License-Identifier: BSD-3-Clause */
/* Bins by hash of source and tag. Empty bins stay for the next use until they are many. */
#include "ompi/mca/pml/ob1/match.h"

#include <stdlib.h>

#include "ompi/api/mpi.h"

enum {
    ANY_SOURCE_BIT = 1,
    ANY_TAG_BIT = 2,
    FIRST_HEADS = 16,
    IDLE_BINS = 256, /* up to so many bins, empty ones are kept */
};

static unsigned class_of(int source, int tag)
{
    return (source == MPI_ANY_SOURCE ? ANY_SOURCE_BIT : 0) | (tag == MPI_ANY_TAG ? ANY_TAG_BIT : 0);
}

static int source_in_class(unsigned class, int source)
{
    return class & ANY_SOURCE_BIT ? MPI_ANY_SOURCE : source;
}

static int tag_in_class(unsigned class, int tag)
{
    return class & ANY_TAG_BIT ? MPI_ANY_TAG : tag;
}

static size_t head_of(const ob1_matcher_t *matcher, int source, int tag)
{
    uint64_t key = (uint64_t)(uint32_t)source << 32 | (uint32_t)tag;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(key >> 40) & (matcher->head_count - 1);
}

bool ob1_matcher_init(ob1_matcher_t *matcher)
{
    *matcher = (ob1_matcher_t){.heads = calloc(FIRST_HEADS, sizeof(ob1_bin_t *))};
    matcher->head_count = matcher->heads != NULL ? FIRST_HEADS : 0;
    matcher->classes = 1; /* without wildcards */
    opal_list_init(&matcher->all_unexpected);
    return matcher->heads != NULL;
}

void ob1_matcher_fini(ob1_matcher_t *matcher)
{
    for (size_t i = 0; i < matcher->head_count; i++) {
        while (matcher->heads[i] != NULL) {
            ob1_bin_t *bin = matcher->heads[i];
            matcher->heads[i] = bin->next;
            free(bin);
        }
    }
    free(matcher->heads);
    matcher->heads = NULL;
}

static ob1_bin_t *search_bin(ob1_matcher_t *matcher, int source, int tag)
{
    ob1_bin_t *bin = matcher->heads[head_of(matcher, source, tag)];
    while (bin != NULL && (bin->source != source || bin->tag != tag))
        bin = bin->next;
    if (bin != NULL)
        matcher->recent = bin;
    return bin;
}

static inline bool is_bin_of(const ob1_bin_t *bin, int source, int tag)
{
    return opal_likely(bin != NULL && bin->source == source && bin->tag == tag);
}

static inline ob1_bin_t *find_bin(ob1_matcher_t *matcher, int source, int tag)
{
    return is_bin_of(matcher->recent, source, tag) ? matcher->recent
                                                   : search_bin(matcher, source, tag);
}

static bool is_idle(const ob1_bin_t *bin)
{
    return opal_list_is_empty(&bin->posted) && opal_list_is_empty(&bin->unexpected);
}

/* Removes all bins from the table. If they are many, idle ones are freed. Returns a chain. */
static ob1_bin_t *take_bins(ob1_matcher_t *matcher)
{
    ob1_bin_t *all = NULL;
    bool many = matcher->bin_count >= IDLE_BINS;
    matcher->bin_count = 0;
    matcher->recent = NULL;
    for (size_t i = 0; i < matcher->head_count; i++) {
        while (matcher->heads[i] != NULL) {
            ob1_bin_t *bin = matcher->heads[i];
            matcher->heads[i] = bin->next;
            if (many && is_idle(bin)) {
                free(bin);
                continue;
            }
            bin->next = all;
            all = bin;
            matcher->bin_count++;
        }
    }
    return all;
}

/* Rebuilds the table: there are twice as many heads as bins, if there is memory for them. */
static void rebuild(ob1_matcher_t *matcher)
{
    ob1_bin_t *all = take_bins(matcher);
    size_t count = FIRST_HEADS;
    while (count < 2 * matcher->bin_count)
        count *= 2;
    ob1_bin_t **heads = calloc(count, sizeof *heads);
    if (heads != NULL) {
        free(matcher->heads);
        matcher->heads = heads;
        matcher->head_count = count;
    }
    while (all != NULL) {
        ob1_bin_t *bin = all;
        all = bin->next;
        size_t head = head_of(matcher, bin->source, bin->tag);
        bin->next = matcher->heads[head];
        matcher->heads[head] = bin;
    }
}

/* NULL: no memory. */
static ob1_bin_t *make_bin(ob1_matcher_t *matcher, int source, int tag)
{
    if (matcher->bin_count >= matcher->head_count)
        rebuild(matcher);
    ob1_bin_t *bin = malloc(sizeof *bin);
    if (bin == NULL)
        return NULL;
    size_t head = head_of(matcher, source, tag);
    *bin = (ob1_bin_t){.next = matcher->heads[head], .source = source, .tag = tag};
    opal_list_init(&bin->posted);
    opal_list_init(&bin->unexpected);
    matcher->heads[head] = bin;
    matcher->bin_count++;
    return bin;
}

static inline ob1_bin_t *need_bin(ob1_matcher_t *matcher, int source, int tag)
{
    ob1_bin_t *bin = find_bin(matcher, source, tag);
    return opal_likely(bin != NULL) ? bin : make_bin(matcher, source, tag);
}

static bool takes(const ob1_posted_t *posted, int source, int tag)
{
    return (posted->source == source || posted->source == MPI_ANY_SOURCE) &&
           (posted->tag == tag || posted->tag == MPI_ANY_TAG);
}

static inline void remove_filed(ob1_matcher_t *matcher, ob1_posted_t *posted)
{
    opal_list_remove(&posted->node);
    matcher->posted[posted->class]--;
    matcher->posted_total--;
}

/* The first receive of a bin; NULL: none. */
static inline ob1_posted_t *first_posted(const ob1_bin_t *bin)
{
    opal_list_node_t *first = bin != NULL ? opal_list_first(&bin->posted) : NULL;
    return first != NULL ? opal_container_of(first, ob1_posted_t, node) : NULL;
}

/* In all classes. */
static ob1_posted_t *find_filed(ob1_matcher_t *matcher, int source, int tag)
{
    ob1_posted_t *oldest = NULL;
    size_t others = matcher->posted_total; /* in the classes that are still to be searched */
    for (unsigned class = 0; others > 0; class ++) {
        if (matcher->posted[class] == 0)
            continue;
        others -= matcher->posted[class];
        ob1_posted_t *posted = first_posted(
            find_bin(matcher, source_in_class(class, source), tag_in_class(class, tag)));
        if (posted != NULL && (oldest == NULL || posted->order < oldest->order))
            oldest = posted;
    }
    return oldest;
}

OPAL_NOINLINE static ob1_posted_t *take_filed(ob1_matcher_t *matcher, int source, int tag)
{
    ob1_posted_t *oldest = find_filed(matcher, source, tag);
    if (oldest != NULL)
        remove_filed(matcher, oldest);
    return oldest;
}

ob1_posted_t *ob1_matcher_find_taker(ob1_matcher_t *matcher, int source, int tag)
{
    if (matcher->only == NULL)
        return find_filed(matcher, source, tag);
    return takes(matcher->only, source, tag) ? matcher->only : NULL;
}

ob1_posted_t *ob1_matcher_take_posted(ob1_matcher_t *matcher, int source, int tag)
{
    ob1_posted_t *only = matcher->only;
    if (opal_likely(only != NULL)) {
        if (!takes(only, source, tag))
            return NULL;
        matcher->only = NULL;
        return only;
    }
    if (matcher->posted_total == 0)
        return NULL;
    if (matcher->posted[0] < matcher->posted_total || !is_bin_of(matcher->recent, source, tag))
        return take_filed(matcher, source, tag);
    ob1_posted_t *posted = first_posted(matcher->recent);
    if (posted != NULL)
        remove_filed(matcher, posted);
    return posted;
}

static inline void append(ob1_matcher_t *matcher, ob1_bin_t *bin, ob1_posted_t *posted)
{
    posted->order = matcher->next_order++;
    posted->class = class_of(posted->source, posted->tag);
    opal_list_append(&bin->posted, &posted->node);
    matcher->posted[posted->class]++;
    matcher->posted_total++;
    opal_counter_raise(&matcher->most_posted, matcher->posted_total);
}

OPAL_NOINLINE static bool file(ob1_matcher_t *matcher, ob1_posted_t *posted)
{
    ob1_bin_t *bin = need_bin(matcher, posted->source, posted->tag);
    if (bin == NULL)
        return false;
    append(matcher, bin, posted);
    return true;
}

/* There is the only one. */
OPAL_NOINLINE static bool file_both(ob1_matcher_t *matcher, ob1_posted_t *posted)
{
    if (!file(matcher, matcher->only))
        return false;
    matcher->only = NULL;
    return file(matcher, posted);
}

bool ob1_matcher_post(ob1_matcher_t *matcher, ob1_posted_t *posted)
{
    if (matcher->only != NULL)
        return file_both(matcher, posted);
    if (matcher->posted_total > 0) {
        if (!is_bin_of(matcher->recent, posted->source, posted->tag))
            return file(matcher, posted);
        append(matcher, matcher->recent, posted);
        return true;
    }
    matcher->only = posted;
    return true;
}

ob1_posted_t *ob1_matcher_find_posted(const ob1_matcher_t *matcher,
                                      bool (*condition)(const ob1_posted_t *posted, void *context),
                                      void *context)
{
    if (matcher->only != NULL)
        return condition(matcher->only, context) ? matcher->only : NULL;
    for (size_t i = 0; i < matcher->head_count && matcher->posted_total > 0; i++) {
        for (ob1_bin_t *bin = matcher->heads[i]; bin != NULL; bin = bin->next) {
            for (opal_list_node_t *node = opal_list_first(&bin->posted); node != NULL;
                 node = opal_list_next(&bin->posted, node)) {
                ob1_posted_t *posted = opal_container_of(node, ob1_posted_t, node);
                if (condition(posted, context))
                    return posted;
            }
        }
    }
    return NULL;
}

void ob1_matcher_remove_posted(ob1_matcher_t *matcher, ob1_posted_t *posted)
{
    if (matcher->only == posted) {
        matcher->only = NULL;
        return;
    }
    remove_filed(matcher, posted);
}

/* False: no memory. */
static bool file_unexpected(ob1_matcher_t *matcher, ob1_unexpected_t *unexpected, unsigned class)
{
    ob1_bin_t *bin = need_bin(matcher, source_in_class(class, unexpected->source),
                              tag_in_class(class, unexpected->tag));
    if (bin == NULL)
        return false;
    opal_list_append(&bin->unexpected, &unexpected->nodes[class]);
    unexpected->classes |= 1u << class;
    return true;
}

/* Removes a message from all bins, but not from the list. */
static void remove_from_bins(ob1_unexpected_t *unexpected)
{
    for (unsigned class = 0; class < OB1_BIN_CLASSES; class ++) {
        if ((unexpected->classes & 1u << class) != 0)
            opal_list_remove(&unexpected->nodes[class]);
    }
    unexpected->classes = 0;
}

/* There is no memory for one of its bins. */
OPAL_NOINLINE static void unfile(ob1_matcher_t *matcher, ob1_unexpected_t *unexpected)
{
    remove_from_bins(unexpected);
    matcher->unfiled++;
}

static ob1_unexpected_t *unexpected_at(opal_list_node_t *node)
{
    return opal_container_of(node, ob1_unexpected_t, nodes[OB1_BIN_CLASSES]);
}

void ob1_matcher_add_unexpected(ob1_matcher_t *matcher, ob1_unexpected_t *unexpected)
{
    unexpected->order = matcher->next_order++;
    unexpected->classes = 0;
    opal_list_append(&matcher->all_unexpected, &unexpected->nodes[OB1_BIN_CLASSES]);
    matcher->unexpected++;
    opal_counter_raise(&matcher->most_unexpected, matcher->unexpected);
    for (unsigned class = 0; class < OB1_BIN_CLASSES; class ++) {
        bool has_bins = (matcher->classes & 1u << class) != 0;
        if (has_bins && opal_unlikely(!file_unexpected(matcher, unexpected, class))) {
            unfile(matcher, unexpected);
            return;
        }
    }
}

/* The first receive of a class has come: its bins get the messages that wait. */
OPAL_NOINLINE static void begin_class(ob1_matcher_t *matcher, unsigned class)
{
    matcher->classes |= 1u << class;
    for (opal_list_node_t *node = opal_list_first(&matcher->all_unexpected); node != NULL;
         node = opal_list_next(&matcher->all_unexpected, node)) {
        ob1_unexpected_t *unexpected = unexpected_at(node);
        if (unexpected->classes != 0 && !file_unexpected(matcher, unexpected, class))
            unfile(matcher, unexpected);
    }
}

/* The oldest message in no bin that matches a receive, if it is older than `than` or that is NULL;
 * else `than`. */
OPAL_NOINLINE static ob1_unexpected_t *older_unfiled(const ob1_matcher_t *matcher, int source,
                                                     int tag, ob1_unexpected_t *than)
{
    const ob1_posted_t receive = {.source = source, .tag = tag};
    for (opal_list_node_t *node = opal_list_first(&matcher->all_unexpected); node != NULL;
         node = opal_list_next(&matcher->all_unexpected, node)) {
        ob1_unexpected_t *unexpected = unexpected_at(node);
        if (unexpected == than)
            break;
        if (unexpected->classes == 0 && takes(&receive, unexpected->source, unexpected->tag))
            return unexpected;
    }
    return than;
}

ob1_unexpected_t *ob1_matcher_find_unexpected(ob1_matcher_t *matcher, int source, int tag)
{
    if (matcher->unexpected == 0)
        return NULL;
    unsigned class = class_of(source, tag);
    if (class == OB1_BIN_CLASSES)
        return unexpected_at(opal_list_first(&matcher->all_unexpected));
    if (opal_unlikely((matcher->classes & 1u << class) == 0))
        begin_class(matcher, class);
    const ob1_bin_t *bin = find_bin(matcher, source, tag);
    opal_list_node_t *first = bin != NULL ? opal_list_first(&bin->unexpected) : NULL;
    /* Which node of the record this is depends on the class of the receive. */
    ob1_unexpected_t *found =
        first != NULL ? opal_container_of(first - class, ob1_unexpected_t, nodes) : NULL;
    return opal_likely(matcher->unfiled == 0) ? found : older_unfiled(matcher, source, tag, found);
}

/* As ob1_matcher_search_unexpected, in a list of the nodes of a class. */
static ob1_unexpected_t *search_list(const opal_list_t *list, unsigned class, int source, int tag,
                                     bool (*condition)(const ob1_unexpected_t *unexpected,
                                                       const void *context),
                                     const void *context)
{
    for (opal_list_node_t *node = opal_list_first(list); node != NULL;
         node = opal_list_next(list, node)) {
        ob1_unexpected_t *unexpected = opal_container_of(node - class, ob1_unexpected_t, nodes);
        if (unexpected->source == source && unexpected->tag == tag &&
            condition(unexpected, context))
            return unexpected;
    }
    return NULL;
}

ob1_unexpected_t *ob1_matcher_search_unexpected(
    ob1_matcher_t *matcher, int source, int tag,
    bool (*condition)(const ob1_unexpected_t *unexpected, const void *context), const void *context)
{
    const ob1_bin_t *bin = matcher->unexpected > 0 ? find_bin(matcher, source, tag) : NULL;
    ob1_unexpected_t *found =
        bin != NULL ? search_list(&bin->unexpected, 0, source, tag, condition, context) : NULL;
    if (found == NULL && matcher->unfiled > 0)
        found =
            search_list(&matcher->all_unexpected, OB1_BIN_CLASSES, source, tag, condition, context);
    return found;
}

void ob1_matcher_remove_unexpected(ob1_matcher_t *matcher, ob1_unexpected_t *unexpected)
{
    if (opal_unlikely(unexpected->classes == 0))
        matcher->unfiled--;
    remove_from_bins(unexpected);
    opal_list_remove(&unexpected->nodes[OB1_BIN_CLASSES]);
    matcher->unexpected--;
}
