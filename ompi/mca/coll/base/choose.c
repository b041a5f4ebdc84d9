/* SPDX-License-Identifier: BSD-3-Clause */
/* What decides about a call's algorithm, the rules of tables, and the choice. */
#include "ompi/mca/coll/base/choose.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/util/text.h"
#include "ompi/mca/coll/base/data.h"

static const char *const family_names[OMPI_FAMILIES] = {
    [OMPI_FAMILY_ALLGATHER] = "allgather",
    [OMPI_FAMILY_ALLREDUCE] = "allreduce",
    [OMPI_FAMILY_ALLTOALL] = "alltoall",
    [OMPI_FAMILY_BARRIER] = "barrier",
    [OMPI_FAMILY_BCAST] = "bcast",
    [OMPI_FAMILY_EXSCAN] = "exscan",
    [OMPI_FAMILY_GATHER] = "gather",
    [OMPI_FAMILY_REDUCE] = "reduce",
    [OMPI_FAMILY_REDUCE_SCATTER] = "reduce_scatter",
    [OMPI_FAMILY_SCAN] = "scan",
    [OMPI_FAMILY_SCATTER] = "scatter",
};

const char *ompi_coll_family_name(ompi_coll_family_t family)
{
    return family_names[family];
}

/* -- measures -------------------------------------------------------------------------------- */

/* The average bytes of a block, where each rank knows all counts. */
static size_t mean_block(const ompi_coll_side_t *side, int blocks)
{
    size_t total = 0;
    if (side->counts.items == NULL)
        return ompi_coll_bytes(ompi_coll_whole(side));
    for (int i = 0; i < blocks; i++)
        total += ompi_coll_bytes(ompi_coll_block(side, i));
    return total / (size_t)blocks + (total % (size_t)blocks != 0);
}

static size_t total_of_blocks(const ompi_coll_side_t *side, int blocks)
{
    size_t total = 0;
    for (int i = 0; i < blocks; i++)
        total += ompi_coll_count(side, i);
    return ompi_datatype_bytes(side->type, total);
}

static ompi_coll_measure_t measure_data(const ompi_coll_call_t *call, bool is_root, int size)
{
    typedef ompi_coll_measure_t m;
    enum { SAME = OMPI_COLL_SAME_SIZES };
    const ompi_coll_side_t *send = &call->send, *recv = &call->recv;
    switch (call->kind) {
    case OMPI_ALLGATHER:
        return (m){OMPI_FAMILY_ALLGATHER, mean_block(recv, size), SAME};
    case OMPI_ALLGATHERV:
        return (m){OMPI_FAMILY_ALLGATHER, mean_block(recv, size), 0};
    case OMPI_ALLREDUCE:
        return (m){OMPI_FAMILY_ALLREDUCE, ompi_coll_bytes(ompi_coll_whole(recv)), 0};
    case OMPI_ALLTOALL:
        return (m){OMPI_FAMILY_ALLTOALL, mean_block(recv, size), SAME};
    case OMPI_ALLTOALLV:
    case OMPI_ALLTOALLW:
        return (m){OMPI_FAMILY_ALLTOALL, SIZE_MAX, 0};
    case OMPI_BARRIER:
        return (m){OMPI_FAMILY_BARRIER, SIZE_MAX, 0};
    case OMPI_BCAST:
        return (m){OMPI_FAMILY_BCAST, ompi_coll_bytes(ompi_coll_whole(recv)), 0};
    case OMPI_EXSCAN:
        return (m){OMPI_FAMILY_EXSCAN, ompi_coll_bytes(ompi_coll_whole(recv)), 0};
    case OMPI_GATHER:
        return (m){OMPI_FAMILY_GATHER, ompi_coll_bytes(ompi_coll_whole(is_root ? recv : send)),
                   SAME};
    case OMPI_GATHERV:
        return (m){OMPI_FAMILY_GATHER, SIZE_MAX, 0};
    case OMPI_REDUCE:
        return (m){OMPI_FAMILY_REDUCE, ompi_coll_bytes(ompi_coll_whole(recv)), 0};
    case OMPI_REDUCE_SCATTER:
    case OMPI_REDUCE_SCATTER_BLOCK:
        return (m){OMPI_FAMILY_REDUCE_SCATTER, total_of_blocks(recv, size), 0};
    case OMPI_SCAN:
        return (m){OMPI_FAMILY_SCAN, ompi_coll_bytes(ompi_coll_whole(recv)), 0};
    case OMPI_SCATTER:
        return (m){OMPI_FAMILY_SCATTER, ompi_coll_bytes(ompi_coll_whole(is_root ? send : recv)),
                   SAME};
    default:
        return (m){OMPI_FAMILY_SCATTER, SIZE_MAX, 0}; /* OMPI_SCATTERV */
    }
}

ompi_coll_measure_t ompi_coll_measure(const ompi_coll_call_t *call, int rank, int size)
{
    ompi_coll_measure_t measure = measure_data(call, rank == call->root, size);
    if ((size & (size - 1)) == 0)
        measure.holds |= OMPI_COLL_POWER;
    if (call->op != NULL && ompi_op_is_commutative(call->op))
        measure.holds |= OMPI_COLL_COMMUTES;
    return measure;
}

/* -- rules ----------------------------------------------------------------------------------- */

static const ompi_coll_algorithm_t *find_algorithm(const ompi_coll_algorithm_t *algorithms,
                                                   const char *name)
{
    for (const ompi_coll_algorithm_t *each = algorithms; each->name != NULL; each++) {
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

static bool read_rule(const ompi_coll_algorithm_t *algorithms, const char *text,
                      ompi_coll_rule_t *rule)
{
    size_t length = strcspn(text, ":");
    char *name = opal_xstrndup(text, length);
    unsigned long long bytes, ranks;
    rule->algorithm = find_algorithm(algorithms, name);
    free(name);
    text += length;
    if (rule->algorithm == NULL || !read_number(&text, SIZE_MAX, &bytes) ||
        !read_number(&text, INT_MAX, &ranks) || *text != 0)
        return false;
    rule->bytes = bytes;
    rule->ranks = (int)ranks;
    return true;
}

/* OMPI_FAMILIES: there is none of this name. */
static ompi_coll_family_t find_family(const char *name, size_t length)
{
    ompi_coll_family_t id = 0;
    while (id < OMPI_FAMILIES &&
           (strncmp(family_names[id], name, length) != 0 || family_names[id][length] != 0))
        id++;
    return id;
}

static void complain_family(const char *parameter, const char *text)
{
    opal_text_t names = {0};
    for (int id = 0; id < OMPI_FAMILIES; id++)
        opal_text_printf(&names, "%s%s", id > 0 ? ", " : "", family_names[id]);
    opal_diagnostic(OPAL_ERROR,
                    "%s: \"%s\" names no collective; expected COLLECTIVE=RULE,RULE,..., with a "
                    "COLLECTIVE of %s",
                    parameter, text, opal_text_string(&names));
    opal_text_free(&names);
}

static void complain_rule(const ompi_coll_table_t *table, const char *parameter,
                          ompi_coll_family_t family, const char *text)
{
    opal_text_t names = {0};
    for (const ompi_coll_algorithm_t *each = table->algorithms[family]; each->name != NULL; each++)
        opal_text_printf(&names, "%s%s", names.length > 0 ? ", " : "", each->name);
    opal_diagnostic(OPAL_ERROR,
                    "%s: \"%s\" is no rule of %s; expected up to %d rules NAME[:BYTES[:RANKS]], "
                    "with a NAME of %s",
                    parameter, text, family_names[family], OMPI_COLL_RULES_MAX,
                    opal_text_string(&names));
    opal_text_free(&names);
}

/* Appends a rule to those of its family. */
static bool add_rule(ompi_coll_table_t *table, ompi_coll_family_t family, const char *text)
{
    ompi_coll_rule_t rule, *free_rule = table->rules[family];
    const ompi_coll_rule_t *end = free_rule + OMPI_COLL_RULES_MAX;
    while (free_rule < end && free_rule->algorithm != NULL)
        free_rule++;
    if (free_rule == end || !read_rule(table->algorithms[family], text, &rule))
        return false;
    *free_rule = rule;
    return true;
}

/* Replaces the rules of the families that the list names; `family` is that of its first rules, or
 * OMPI_FAMILIES, if the list must name it. Tells every rule that makes no sense, up to an item that
 * names no collective. */
opal_status_t ompi_coll_table_read_family(ompi_coll_table_t *table, ompi_coll_family_t family,
                                          const char *parameter, const opal_strings_t *list)
{
    opal_status_t status = OPAL_SUCCESS;
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i], *equals = strchr(text, '=');
        if (equals != NULL)
            family = find_family(text, (size_t)(equals - text));
        if (family == OMPI_FAMILIES) {
            complain_family(parameter, text);
            return OPAL_ERR_BAD_PARAM;
        }
        if (equals != NULL || i == 0)
            memset(table->rules[family], 0, sizeof table->rules[family]);
        const char *rule = equals != NULL ? equals + 1 : text;
        if (!add_rule(table, family, rule)) {
            complain_rule(table, parameter, family, rule);
            status = OPAL_ERR_BAD_PARAM;
        }
    }
    return status;
}

opal_status_t ompi_coll_table_read(ompi_coll_table_t *table, const opal_strings_t *list)
{
    return ompi_coll_table_read_family(table, OMPI_FAMILIES, table->parameter, list);
}

opal_status_t ompi_coll_table_preset(ompi_coll_table_t *table)
{
    opal_strings_t list = {0};
    opal_strings_split(&list, table->preset, ",");
    opal_status_t status = ompi_coll_table_read(table, &list);
    opal_strings_free(&list);
    return status;
}

const ompi_coll_algorithm_t *ompi_coll_choose(const ompi_coll_table_t *table,
                                              const ompi_coll_measure_t *measure, int ranks)
{
    const ompi_coll_algorithm_t *chosen = &table->algorithms[measure->family][0];
    const ompi_coll_rule_t *rule = table->rules[measure->family];
    for (int i = 0; i < OMPI_COLL_RULES_MAX && rule[i].algorithm != NULL; i++) {
        if (measure->bytes >= rule[i].bytes && ranks >= rule[i].ranks &&
            (rule[i].algorithm->needs & ~measure->holds) == 0)
            chosen = rule[i].algorithm;
    }
    return chosen;
}

void ompi_coll_table_tell(const ompi_coll_table_t *table, opal_rule_fn_t *say, void *context)
{
    for (ompi_coll_family_t family = 0; family < OMPI_FAMILIES; family++) {
        const ompi_coll_rule_t *rule = table->rules[family];
        for (int i = 0; i < OMPI_COLL_RULES_MAX && rule[i].algorithm != NULL; i++) {
            opal_text_t way = {0};
            opal_text_printf(&way, "%s", rule[i].algorithm->name);
            if (rule[i].ranks > 0)
                opal_text_printf(&way, ", with %d %s or more", rule[i].ranks, table->ranks);
            if (rule[i].algorithm->needs & OMPI_COLL_COMMUTES)
                opal_text_printf(&way, ", if the operator commutes");
            if (rule[i].algorithm->needs & OMPI_COLL_POWER)
                opal_text_printf(&way, ", if their number is a power of two");
            if (rule[i].algorithm->needs & OMPI_COLL_ON_NODE)
                opal_text_printf(&way, ", on one node");
            if (rule[i].algorithm->needs & OMPI_COLL_EVEN)
                opal_text_printf(&way, ", if all %s have the same number of ranks", table->ranks);
            say(context, family_names[family], rule[i].bytes, opal_text_string(&way),
                table->parameter);
            opal_text_free(&way);
        }
    }
}
