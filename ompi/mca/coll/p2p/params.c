/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms, and the parameters, whose presets are measured figures
 * (ompi/mca/coll/base/tuning.h). */
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/pvar.h"
#include "opal/util/text.h"
#include "ompi/mca/coll/base/tuning.h"
#include "ompi/mca/coll/p2p/p2p.h"

size_t p2p_segment_bytes;
unsigned p2p_window;

/* What the user has set: coll_p2p_table, and the names that it replaced. */
static opal_strings_t set_table, old_tables[OMPI_FAMILIES];

static const ompi_coll_algorithm_t algorithms[OMPI_FAMILIES][OMPI_COLL_ALGORITHMS_MAX + 1] = {
    [OMPI_FAMILY_ALLGATHER] = {{"ring", p2p_allgather_ring, 0},
                               {"linear", p2p_allgather_linear, 0},
                               {"bruck", p2p_allgather_bruck, 0},
                               {"doubling", p2p_allgather_doubling,
                                OMPI_COLL_POWER | OMPI_COLL_SAME_SIZES}},
    [OMPI_FAMILY_ALLREDUCE] = {{"doubling", p2p_allreduce_doubling, 0},
                               {"reduce_bcast", p2p_allreduce_reduce_bcast, 0},
                               {"halving", p2p_allreduce_halving, OMPI_COLL_COMMUTES},
                               {"ring", p2p_allreduce_ring, OMPI_COLL_COMMUTES}},
    [OMPI_FAMILY_ALLTOALL] = {{"linear", p2p_alltoall_linear, 0},
                              {"pairwise", p2p_alltoall_pairwise, 0},
                              {"bruck", p2p_alltoall_bruck, OMPI_COLL_SAME_SIZES}},
    [OMPI_FAMILY_BARRIER] = {{"dissemination", p2p_barrier_dissemination, 0},
                             {"tree", p2p_barrier_tree, 0}},
    [OMPI_FAMILY_BCAST] = {{"binomial", p2p_bcast_binomial, 0},
                           {"linear", p2p_bcast_linear, 0},
                           {"scatter_allgather", p2p_bcast_scatter_allgather, OMPI_COLL_ON_NODE},
                           {"chain", p2p_bcast_chain, 0}},
    [OMPI_FAMILY_EXSCAN] = {{"doubling", p2p_exscan_doubling, 0}, {"linear", p2p_exscan_linear, 0}},
    [OMPI_FAMILY_GATHER] = {{"linear", p2p_gather_linear, 0},
                            {"binomial", p2p_gather_binomial, OMPI_COLL_SAME_SIZES}},
    [OMPI_FAMILY_REDUCE] = {{"binomial", p2p_reduce_binomial, 0},
                            {"linear", p2p_reduce_linear, 0},
                            {"scatter_gather", p2p_reduce_scatter_gather, OMPI_COLL_COMMUTES}},
    [OMPI_FAMILY_REDUCE_SCATTER] = {{"reduce", p2p_reduce_scatter_reduce, 0},
                                    {"halving", p2p_reduce_scatter_halving, OMPI_COLL_COMMUTES},
                                    {"pairwise", p2p_reduce_scatter_pairwise, OMPI_COLL_COMMUTES}},
    [OMPI_FAMILY_SCAN] = {{"doubling", p2p_scan_doubling, 0}, {"linear", p2p_scan_linear, 0}},
    [OMPI_FAMILY_SCATTER] = {{"linear", p2p_scatter_linear, 0},
                             {"binomial", p2p_scatter_binomial, OMPI_COLL_SAME_SIZES}},
};

ompi_coll_table_t p2p_rules = {.algorithms = algorithms,
                               .parameter = "coll_p2p_table",
                               .preset = OMPI_COLL_P2P_TABLE,
                               .ranks = "ranks"};

static bool read_rules_again(void);

/* The names of a family that coll_p2p_table replaced: of its rules, and before that of one
 * algorithm, which is a table of one rule. */
#define REPLACED(id, family)                                                                       \
    {                                                                                              \
        .name = family "_table", .type = OPAL_PARAM_LIST, .value = &old_tables[OMPI_FAMILY_##id],  \
        .synonyms = "coll_p2p_" family "_algorithm",                                               \
        .deprecated = "set coll_p2p_table to " family "=RULES, which counts if both are set"       \
    }

const opal_param_row_t p2p_params[] = {
    {.name = "table",
     .type = OPAL_PARAM_LIST,
     .value = &set_table,
     .preset = OMPI_COLL_P2P_TABLE,
     .write = OPAL_PARAM_ANYTIME_EQUAL,
     .written = read_rules_again,
     .prose = "Which algorithm a collective uses: COLLECTIVE=RULE,RULE,..., for one or several "
              "collectives; the others keep their default rules. The last rule "
              "NAME[:BYTES[:RANKS]] counts whose bytes and ranks a call reaches. doc/SETTINGS.md "
              "lists the algorithms. All ranks need the same table"},
    {.name = "segment_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &p2p_segment_bytes,
     .preset = OMPI_COLL_P2P_SEGMENT_BYTES,
     .min = "64",
     .unit = "bytes",
     .write = OPAL_PARAM_ANYTIME_EQUAL,
     .prose = "The longest pieces in which a pipelined collective (bcast=chain) passes data "
              "from rank to rank. All ranks need the same length"},
    {.name = "window",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &p2p_window,
     .preset = OMPI_COLL_P2P_WINDOW,
     .min = "1",
     .max = "100000",
     .write = OPAL_PARAM_ANYTIME,
     .prose = "How many exchanges with other ranks a linear alltoall has under way at a time"},
    REPLACED(ALLGATHER, "allgather"),
    REPLACED(ALLREDUCE, "allreduce"),
    REPLACED(ALLTOALL, "alltoall"),
    REPLACED(BARRIER, "barrier"),
    REPLACED(BCAST, "bcast"),
    REPLACED(EXSCAN, "exscan"),
    REPLACED(GATHER, "gather"),
    REPLACED(REDUCE, "reduce"),
    REPLACED(REDUCE_SCATTER, "reduce_scatter"),
    REPLACED(SCAN, "scan"),
    REPLACED(SCATTER, "scatter"),
    {0},
};

opal_counter_t p2p_counts[OMPI_FAMILIES][OMPI_COLL_ALGORITHMS_MAX];

/* `number` is the algorithm's in `algorithms`. */
#define USES(family, number, id)                                                                   \
    {                                                                                              \
        .name = id, .class = OPAL_PVAR_COUNTER,                                                    \
        .value = &p2p_counts[OMPI_FAMILY_##family][number],                                        \
        .prose = "How often this algorithm was used, also in a part of a collective over several " \
                 "levels"                                                                          \
    }

const opal_pvar_row_t p2p_pvars[] = {
    USES(ALLGATHER, 0, "allgather_ring"),
    USES(ALLGATHER, 1, "allgather_linear"),
    USES(ALLGATHER, 2, "allgather_bruck"),
    USES(ALLGATHER, 3, "allgather_doubling"),
    USES(ALLREDUCE, 0, "allreduce_doubling"),
    USES(ALLREDUCE, 1, "allreduce_reduce_bcast"),
    USES(ALLREDUCE, 2, "allreduce_halving"),
    USES(ALLREDUCE, 3, "allreduce_ring"),
    USES(ALLTOALL, 0, "alltoall_linear"),
    USES(ALLTOALL, 1, "alltoall_pairwise"),
    USES(ALLTOALL, 2, "alltoall_bruck"),
    USES(BARRIER, 0, "barrier_dissemination"),
    USES(BARRIER, 1, "barrier_tree"),
    USES(BCAST, 0, "bcast_binomial"),
    USES(BCAST, 1, "bcast_linear"),
    USES(BCAST, 2, "bcast_scatter_allgather"),
    USES(BCAST, 3, "bcast_chain"),
    USES(EXSCAN, 0, "exscan_doubling"),
    USES(EXSCAN, 1, "exscan_linear"),
    USES(GATHER, 0, "gather_linear"),
    USES(GATHER, 1, "gather_binomial"),
    USES(REDUCE, 0, "reduce_binomial"),
    USES(REDUCE, 1, "reduce_linear"),
    USES(REDUCE, 2, "reduce_scatter_gather"),
    USES(REDUCE_SCATTER, 0, "reduce_scatter_reduce"),
    USES(REDUCE_SCATTER, 1, "reduce_scatter_halving"),
    USES(REDUCE_SCATTER, 2, "reduce_scatter_pairwise"),
    USES(SCAN, 0, "scan_doubling"),
    USES(SCAN, 1, "scan_linear"),
    USES(SCATTER, 0, "scatter_linear"),
    USES(SCATTER, 1, "scatter_binomial"),
    {0},
};

static opal_status_t read_old_table(ompi_coll_family_t family)
{
    const opal_strings_t *table = &old_tables[family];
    /* The parameter of an algorithm could say this; it is the preset. */
    if (table->count == 0 || (table->count == 1 && strcmp(table->items[0], "auto") == 0))
        return OPAL_SUCCESS;
    char *parameter = opal_xprintf("coll_p2p_%s_table", ompi_coll_family_name(family));
    opal_status_t status = ompi_coll_table_read_family(&p2p_rules, family, parameter, table);
    free(parameter);
    return status;
}

static opal_status_t read_rules(bool has_set)
{
    opal_status_t status = ompi_coll_table_preset(&p2p_rules);
    for (ompi_coll_family_t family = 0; family < OMPI_FAMILIES; family++) {
        opal_status_t read = read_old_table(family);
        if (status == OPAL_SUCCESS)
            status = read;
    }
    opal_status_t read = has_set ? ompi_coll_table_read(&p2p_rules, &set_table) : OPAL_SUCCESS;
    return status != OPAL_SUCCESS ? status : read;
}

opal_status_t p2p_open_rules(void)
{
    return read_rules(opal_param_setting(p2p_rules.parameter, NULL) != NULL);
}

static bool read_rules_again(void)
{
    return read_rules(true) == OPAL_SUCCESS;
}

/* Families that the list does not name have the rules that the process has now. */
bool p2p_read_comm_table(p2p_comm_t *own, const opal_strings_t *list)
{
    ompi_coll_table_t *rules = NULL;
    if (list->count > 0) {
        rules = malloc(sizeof *rules);
        if (rules == NULL)
            return false;
        *rules = p2p_rules;
        rules->parameter = "coll_p2p_comm_table";
        if (ompi_coll_table_read(rules, list) != OPAL_SUCCESS) {
            free(rules);
            return false;
        }
    }
    free(own->rules);
    own->rules = rules;
    opal_strings_free(&own->table);
    for (size_t i = 0; i < list->count; i++)
        opal_strings_add(&own->table, list->items[i]);
    return true;
}
