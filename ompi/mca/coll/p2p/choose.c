/* SPDX-License-Identifier: BSD-3-Clause */
/* The families with their algorithms, their parameters, and the choice. */
#include "ompi/mca/coll/p2p/choose.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/util/text.h"
#include "ompi/mca/coll/p2p/p2p.h"

typedef struct algorithm {
    const char *name; /* NULL ends the array */
    p2p_build_fn_t *build;
    unsigned needs;
} algorithm_t;

typedef struct rule {
    const algorithm_t *algorithm;
    size_t bytes;
    int ranks;
} rule_t;

static const struct family {
    const char *name;
    algorithm_t algorithms[P2P_ALGORITHMS_MAX + 1];
} families[P2P_FAMILIES] = {
    [P2P_ALLGATHER] = {"allgather",
                       {{"ring", p2p_allgather_ring, 0},
                        {"linear", p2p_allgather_linear, 0},
                        {"bruck", p2p_allgather_bruck, 0},
                        {"doubling", p2p_allgather_doubling, P2P_POWER | P2P_SAME_SIZES}}},
    [P2P_ALLREDUCE] = {"allreduce",
                       {{"doubling", p2p_allreduce_doubling, 0},
                        {"reduce_bcast", p2p_allreduce_reduce_bcast, 0},
                        {"halving", p2p_allreduce_halving, P2P_COMMUTES},
                        {"ring", p2p_allreduce_ring, P2P_COMMUTES}}},
    [P2P_ALLTOALL] = {"alltoall",
                      {{"linear", p2p_alltoall_linear, 0},
                       {"pairwise", p2p_alltoall_pairwise, 0},
                       {"bruck", p2p_alltoall_bruck, P2P_SAME_SIZES}}},
    [P2P_BARRIER] = {"barrier",
                     {{"dissemination", p2p_barrier_dissemination, 0},
                      {"tree", p2p_barrier_tree, 0}}},
    [P2P_BCAST] = {"bcast",
                   {{"binomial", p2p_bcast_binomial, 0},
                    {"linear", p2p_bcast_linear, 0},
                    {"scatter_allgather", p2p_bcast_scatter_allgather, 0},
                    {"chain", p2p_bcast_chain, 0}}},
    [P2P_EXSCAN] = {"exscan",
                    {{"doubling", p2p_exscan_doubling, 0}, {"linear", p2p_exscan_linear, 0}}},
    [P2P_GATHER] = {"gather",
                    {{"linear", p2p_gather_linear, 0},
                     {"binomial", p2p_gather_binomial, P2P_SAME_SIZES}}},
    [P2P_REDUCE] = {"reduce",
                    {{"binomial", p2p_reduce_binomial, 0},
                     {"linear", p2p_reduce_linear, 0},
                     {"scatter_gather", p2p_reduce_scatter_gather, P2P_COMMUTES}}},
    [P2P_REDUCE_SCATTER] = {"reduce_scatter",
                            {{"reduce", p2p_reduce_scatter_reduce, 0},
                             {"halving", p2p_reduce_scatter_halving, P2P_COMMUTES},
                             {"pairwise", p2p_reduce_scatter_pairwise, P2P_COMMUTES}}},
    [P2P_SCAN] = {"scan", {{"doubling", p2p_scan_doubling, 0}, {"linear", p2p_scan_linear, 0}}},
    [P2P_SCATTER] = {"scatter",
                     {{"linear", p2p_scatter_linear, 0},
                      {"binomial", p2p_scatter_binomial, P2P_SAME_SIZES}}},
};

size_t p2p_segment_bytes;
unsigned p2p_window;

/* What the parameters say: the algorithm's number, counted from 1, and 0 for auto. */
static int forced[P2P_FAMILIES];
static opal_strings_t tables[P2P_FAMILIES];
static rule_t rules[P2P_FAMILIES][P2P_RULES_MAX];

static const opal_param_choice_t allgather_choices[] = {
    {"auto", 0}, {"ring", 1}, {"linear", 2}, {"bruck", 3}, {"doubling", 4}, {NULL, 0}};
static const opal_param_choice_t allreduce_choices[] = {
    {"auto", 0}, {"doubling", 1}, {"reduce_bcast", 2}, {"halving", 3}, {"ring", 4}, {NULL, 0}};
static const opal_param_choice_t alltoall_choices[] = {
    {"auto", 0}, {"linear", 1}, {"pairwise", 2}, {"bruck", 3}, {NULL, 0}};
static const opal_param_choice_t barrier_choices[] = {
    {"auto", 0}, {"dissemination", 1}, {"tree", 2}, {NULL, 0}};
static const opal_param_choice_t bcast_choices[] = {
    {"auto", 0}, {"binomial", 1}, {"linear", 2}, {"scatter_allgather", 3}, {"chain", 4}, {NULL, 0}};
static const opal_param_choice_t tree_choices[] = {
    {"auto", 0}, {"linear", 1}, {"binomial", 2}, {NULL, 0}};
static const opal_param_choice_t reduce_choices[] = {
    {"auto", 0}, {"binomial", 1}, {"linear", 2}, {"scatter_gather", 3}, {NULL, 0}};
static const opal_param_choice_t reduce_scatter_choices[] = {
    {"auto", 0}, {"reduce", 1}, {"halving", 2}, {"pairwise", 3}, {NULL, 0}};
static const opal_param_choice_t scan_choices[] = {
    {"auto", 0}, {"doubling", 1}, {"linear", 2}, {NULL, 0}};

/* The two parameters of a family. */
#define FAMILY(id, text, its_choices, table, algorithm_prose)                                      \
    {.name = text "_algorithm",                                                                    \
     .type = OPAL_PARAM_ENUM,                                                                      \
     .value = &forced[id],                                                                         \
     .preset = "auto",                                                                             \
     .choices = (its_choices),                                                                     \
     .prose = algorithm_prose},                                                                    \
    {                                                                                              \
        .name = text "_table", .type = OPAL_PARAM_LIST, .value = &tables[id], .preset = (table),   \
        .prose = "What auto takes: the last NAME[:BYTES[:RANKS]] that is reached"                  \
    }

const opal_param_row_t p2p_params[] = {
    FAMILY(P2P_ALLGATHER, "allgather", allgather_choices,
           "linear,bruck:0:8,doubling:0:4,ring:32768:3",
           "ring: around the ranks; linear: all to all at once; bruck, doubling: distances of "
           "powers of two, doubling for 2^k ranks and equal blocks. Bytes: of a block"),
    FAMILY(P2P_ALLREDUCE, "allreduce", allreduce_choices, "doubling,halving:16384:2,ring:1048576:5",
           "doubling: pairs, pairs of pairs; reduce_bcast: up a tree and down; halving, ring: "
           "pieces of the data, for operators that commute"),
    FAMILY(
        P2P_ALLTOALL, "alltoall", alltoall_choices,
        "linear,bruck:0:8,linear:512:8,pairwise:32768:3",
        "linear: coll_p2p_window exchanges at a time; pairwise: one at a time; bruck: in hops of "
        "powers of two, equal blocks. Bytes: of a block"),
    FAMILY(P2P_BARRIER, "barrier", barrier_choices, "dissemination",
           "dissemination: log2(n) rounds of n messages; tree: up and down, with 2n messages"),
    FAMILY(
        P2P_BCAST, "bcast", bcast_choices, "binomial,scatter_allgather:65536:4,chain:1048576:3",
        "binomial: a tree; linear: the root to each; scatter_allgather: pieces down a tree, then "
        "around a ring; chain: a pipeline"),
    FAMILY(P2P_EXSCAN, "exscan", scan_choices, "doubling",
           "doubling: distances of powers of two; linear: from rank to rank"),
    FAMILY(P2P_GATHER, "gather", tree_choices, "binomial,linear:2048",
           "linear: each to the root; binomial: a tree, for equal blocks. Bytes: of a block"),
    FAMILY(P2P_REDUCE, "reduce", reduce_choices, "binomial,scatter_gather:32768:3",
           "binomial: a tree; linear: each to the root; scatter_gather: pieces of the data, for "
           "operators that commute"),
    FAMILY(
        P2P_REDUCE_SCATTER, "reduce_scatter", reduce_scatter_choices,
        "reduce,halving,pairwise:0:2,halving:0:3,pairwise:524288:3",
        "reduce: a reduction and a scatter; halving: pairs of halves of the data; pairwise: each "
        "to each; both for operators that commute. Bytes: of all blocks"),
    FAMILY(P2P_SCAN, "scan", scan_choices, "doubling",
           "doubling: distances of powers of two; linear: from rank to rank"),
    FAMILY(P2P_SCATTER, "scatter", tree_choices, "binomial,linear:2048",
           "linear: the root to each; binomial: a tree, for equal blocks. Bytes: of a block"),
    {.name = "segment_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &p2p_segment_bytes,
     .preset = "128K",
     .min = "64",
     .unit = "bytes",
     .prose = "Length of the pieces that a pipeline passes on"},
    {.name = "window",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &p2p_window,
     .preset = "16",
     .min = "1",
     .max = "100000",
     .prose = "How many exchanges a linear alltoall has under way at a time"},
    {0},
};

static const algorithm_t *find_algorithm(const struct family *family, const char *name)
{
    for (const algorithm_t *each = family->algorithms; each->name != NULL; each++) {
        if (strcmp(each->name, name) == 0)
            return each;
    }
    return NULL;
}

/* If a colon is next, a number must follow it. Moves *text behind both. */
static bool read_number(const char **text, unsigned long long most, unsigned long long *number)
{
    char *end;
    *number = 0;
    if (**text != ':')
        return true;
    if (!isdigit((unsigned char)(*text)[1]))
        return false;
    errno = 0;
    *number = strtoull(*text + 1, &end, 10);
    *text = end;
    return errno == 0 && *number <= most;
}

static bool read_rule(const struct family *family, const char *text, rule_t *rule)
{
    size_t length = strcspn(text, ":");
    char *name = opal_xstrndup(text, length);
    unsigned long long bytes, ranks;
    rule->algorithm = find_algorithm(family, name);
    free(name);
    text += length;
    if (rule->algorithm == NULL || !read_number(&text, SIZE_MAX, &bytes) ||
        !read_number(&text, INT_MAX, &ranks) || *text != 0)
        return false;
    rule->bytes = bytes;
    rule->ranks = (int)ranks;
    return true;
}

static opal_status_t read_table(p2p_family_id_t id)
{
    const struct family *family = &families[id];
    memset(rules[id], 0, sizeof rules[id]);
    for (size_t i = 0; i < tables[id].count; i++) {
        const char *text = tables[id].items[i];
        if (i < P2P_RULES_MAX && read_rule(family, text, &rules[id][i]))
            continue;
        opal_diagnostic(OPAL_ERROR,
                        "coll_p2p_%s_table: \"%s\" is no rule; expected up to %d rules "
                        "NAME[:BYTES[:RANKS]], with a name that coll_p2p_%s_algorithm may have",
                        family->name, text, P2P_RULES_MAX, family->name);
        return OPAL_ERR_BAD_PARAM;
    }
    return OPAL_SUCCESS;
}

opal_status_t p2p_choose_open(void)
{
    opal_status_t status = OPAL_SUCCESS;
    for (int id = 0; id < P2P_FAMILIES; id++) {
        opal_status_t read = read_table((p2p_family_id_t)id);
        if (status == OPAL_SUCCESS)
            status = read;
    }
    return status;
}

p2p_build_fn_t *p2p_choose(p2p_family_id_t id, size_t bytes, int ranks, unsigned holds)
{
    const algorithm_t *chosen = &families[id].algorithms[0];
    if (forced[id] > 0) {
        const algorithm_t *wanted = &families[id].algorithms[forced[id] - 1];
        return (wanted->needs & ~holds) == 0 ? wanted->build : chosen->build;
    }
    for (const rule_t *rule = rules[id];
         rule < rules[id] + P2P_RULES_MAX && rule->algorithm != NULL; rule++) {
        if (bytes >= rule->bytes && ranks >= rule->ranks && (rule->algorithm->needs & ~holds) == 0)
            chosen = rule->algorithm;
    }
    return chosen->build;
}
