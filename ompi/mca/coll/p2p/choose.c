/* SPDX-License-Identifier: BSD-3-Clause */
/* The families with their algorithms, the rules of the table, and the choice. */
#include "ompi/mca/coll/p2p/choose.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/util/text.h"
#include "ompi/mca/coll/base/tuning.h"
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

/* Of each family, up to the first without an algorithm. */
static rule_t rules[P2P_FAMILIES][P2P_RULES_MAX];

static const algorithm_t *find_algorithm(const struct family *family, const char *name)
{
    for (const algorithm_t *each = family->algorithms; each->name != NULL; each++) {
        if (strcmp(each->name, name) == 0)
            return each;
    }
    return NULL;
}

/* Reads ":NUMBER" and moves *text behind it. Without a colon the number is 0. False: a mistake. */
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

/* "ring, linear, bruck" */
static char *algorithm_names(const struct family *family)
{
    opal_text_t names = {0};
    for (const algorithm_t *each = family->algorithms; each->name != NULL; each++)
        opal_text_printf(&names, "%s%s", names.length > 0 ? ", " : "", each->name);
    return opal_text_take(&names);
}

/* P2P_FAMILIES: there is none of this name. */
static int find_family(const char *name, size_t length)
{
    int id = 0;
    while (id < P2P_FAMILIES &&
           (strncmp(families[id].name, name, length) != 0 || families[id].name[length] != 0))
        id++;
    return id;
}

static void complain_family(const char *parameter, const char *text)
{
    opal_text_t names = {0};
    for (int id = 0; id < P2P_FAMILIES; id++)
        opal_text_printf(&names, "%s%s", id > 0 ? ", " : "", families[id].name);
    opal_diagnostic(OPAL_ERROR,
                    "%s: \"%s\" names no collective; expected COLLECTIVE=RULE,RULE,..., with a "
                    "COLLECTIVE of %s",
                    parameter, text, opal_text_string(&names));
    opal_text_free(&names);
}

static void complain_rule(const char *parameter, const struct family *family, const char *text)
{
    char *names = algorithm_names(family);
    opal_diagnostic(OPAL_ERROR,
                    "%s: \"%s\" is no rule of %s; expected up to %d rules NAME[:BYTES[:RANKS]], "
                    "with a NAME of %s",
                    parameter, text, family->name, P2P_RULES_MAX, names);
    free(names);
}

/* Appends a rule to those of its family. */
static bool add_rule(int id, const char *text)
{
    rule_t rule;
    rule_t *free_rule = rules[id];
    while (free_rule < rules[id] + P2P_RULES_MAX && free_rule->algorithm != NULL)
        free_rule++;
    if (free_rule == rules[id] + P2P_RULES_MAX || !read_rule(&families[id], text, &rule))
        return false;
    *free_rule = rule;
    return true;
}

/* Replaces the rules of the families that the list names; `id` is that of its first rules, or
 * P2P_FAMILIES, if the list must name it. Tells every rule that makes no sense, up to an item that
 * names no collective. */
static opal_status_t read_rules(const char *parameter, const opal_strings_t *list, int id)
{
    opal_status_t status = OPAL_SUCCESS;
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i], *equals = strchr(text, '=');
        if (equals != NULL)
            id = find_family(text, (size_t)(equals - text));
        if (id == P2P_FAMILIES) {
            complain_family(parameter, text);
            return OPAL_ERR_BAD_PARAM;
        }
        if (equals != NULL || i == 0)
            memset(rules[id], 0, sizeof rules[id]);
        const char *rule = equals != NULL ? equals + 1 : text;
        if (!add_rule(id, rule)) {
            complain_rule(parameter, &families[id], rule);
            status = OPAL_ERR_BAD_PARAM;
        }
    }
    return status;
}

static opal_status_t read_old_table(int id)
{
    const opal_strings_t *table = &p2p_old_tables[id];
    /* The parameter of an algorithm could say this; it is the preset. */
    if (table->count == 1 && strcmp(table->items[0], "auto") == 0)
        return OPAL_SUCCESS;
    char *parameter = opal_xprintf("coll_p2p_%s_table", families[id].name);
    opal_status_t status = read_rules(parameter, table, id);
    free(parameter);
    return status;
}

opal_status_t p2p_choose_open(void)
{
    static const char parameter[] = "coll_p2p_table";
    opal_strings_t preset = {0};
    opal_strings_split(&preset, OMPI_COLL_P2P_TABLE, ",");
    opal_status_t status = read_rules(parameter, &preset, P2P_FAMILIES);
    opal_strings_free(&preset);
    for (int id = 0; id < P2P_FAMILIES; id++) {
        opal_status_t read = read_old_table(id);
        if (status == OPAL_SUCCESS)
            status = read;
    }
    if (opal_param_setting(parameter, NULL) == NULL)
        return status;
    opal_status_t read = read_rules(parameter, &p2p_table, P2P_FAMILIES);
    return status != OPAL_SUCCESS ? status : read;
}

p2p_build_fn_t *p2p_choose(p2p_family_id_t id, size_t bytes, int ranks, unsigned holds)
{
    const algorithm_t *chosen = &families[id].algorithms[0];
    for (const rule_t *rule = rules[id];
         rule < rules[id] + P2P_RULES_MAX && rule->algorithm != NULL; rule++) {
        if (bytes >= rule->bytes && ranks >= rule->ranks && (rule->algorithm->needs & ~holds) == 0)
            chosen = rule->algorithm;
    }
    return chosen->build;
}
