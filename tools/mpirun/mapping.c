/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of mapping, binding and ranking: --map-by, --bind-to, --rank-by and related ones,
 * with the values that Open MPI and MPICH have ("ppr:2:node", "socket:PE=2", "core:2",
 * ":OVERSUBSCRIBE").
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "opal/util/log.h"
#include "tools/mpirun/number.h"
#include "tools/mpirun/option_rows.h"

static const word_t bind_levels[] = {
    {"none", LEVEL_NONE},
    {"core", LEVEL_CORE},
    {"socket", LEVEL_SOCKET},
    {"numa", LEVEL_NUMA},
    {"hwthread", LEVEL_HWTHREAD},
    {"package", LEVEL_SOCKET},
    {NULL, 0},
};

/* The levels of --map-by and --rank-by. */
static const word_t deal_levels[] = {
    {"slot", LEVEL_SLOT},      {"core", LEVEL_CORE},
    {"socket", LEVEL_SOCKET},  {"numa", LEVEL_NUMA},
    {"node", LEVEL_NODE},      {"hwthread", LEVEL_HWTHREAD},
    {"package", LEVEL_SOCKET}, {NULL, 0},
};

/* The first name of a level, which is the one in spelling.c. */
static const char *name_level(const word_t *words, int level)
{
    while (words->value != level)
        words++;
    return words->name;
}

static bool take_per_rank(cursor_t *cursor, const char *option, const char *value)
{
    if (!number_parse_unsigned(value, 1, MAX_RANKS, &cursor->job->options.cpus_per_rank))
        return option_refuse(cursor, option, value, "a number of cores for each rank");
    option_record(cursor, "cpus-per-rank", option, value);
    return true;
}

static bool take_cpus_per_rank(cursor_t *cursor, const char *option, char **values)
{
    return take_per_rank(cursor, option, values[0]);
}

/* A modifier, after the ':' of --map-by or --bind-to. */
static bool take_modifier(cursor_t *cursor, const char *option, const char *text)
{
    /* Modifiers that ask for the default: one machine, its cores, which may be shared. */
    static const char *const idle[] = {"span",     "overload-allowed", "if-supported",
                                       "corecpus", "inherit",          "noinherit"};
    if (strncasecmp(text, "pe=", 3) == 0)
        return take_per_rank(cursor, option, text + 3);
    if (strcasecmp(text, "oversubscribe") == 0 || strcasecmp(text, "nooversubscribe") == 0)
        return option_take(cursor,
                           text[0] == 'n' || text[0] == 'N' ? "no-oversubscribe" : "oversubscribe",
                           option, NULL);
    if (strcasecmp(text, "hwtcpus") == 0)
        return option_take(cursor, "use-hwthread-cpus", option, NULL);
    for (size_t i = 0; i < OPAL_COUNT_OF(idle); i++) {
        if (strcasecmp(text, idle[i]) == 0)
            return true;
    }
    return option_refuse(cursor, option, text,
                         "one of PE=N, OVERSUBSCRIBE, NOOVERSUBSCRIBE, HWTCPUS, SPAN");
}

/* All modifiers; `text` begins after the first ':'. */
static bool take_modifiers(cursor_t *cursor, const char *option, const char *text)
{
    opal_strings_t words = {0};
    bool good = true;
    opal_strings_split(&words, text, ":,");
    for (size_t i = 0; good && i < words.count; i++)
        good = take_modifier(cursor, option, words.items[i]);
    opal_strings_free(&words);
    return good;
}

static bool take_level(cursor_t *cursor, const char *option, const char *value,
                       const word_t *levels, const char *row, topology_level_t *result)
{
    int level;
    if (!option_take_word(cursor, option, value, levels, &level))
        return false;
    *result = (topology_level_t)level;
    option_record(cursor, row, option, name_level(levels, level));
    return true;
}

static bool take_per_node(cursor_t *cursor, const char *option, const char *value, bool may_wrap)
{
    options_t *options = &cursor->job->options;
    if (!number_parse_unsigned(value, 1, MAX_RANKS, &options->per_node))
        return option_refuse(cursor, option, value, "a number of ranks for each node");
    options->per_node_wraps = may_wrap;
    option_record(cursor, "npernode", option, value);
    return true;
}

/* As in MPICH, further ranks begin with the first node again. */
static bool take_ppn(cursor_t *cursor, const char *option, char **values)
{
    return take_per_node(cursor, option, values[0], true);
}

static bool take_npernode(cursor_t *cursor, const char *option, char **values)
{
    return take_per_node(cursor, option, values[0], false);
}

/* `number` consecutive ranks on each object of a level. */
static bool take_per_object(cursor_t *cursor, const char *option, const char *number,
                            const char *object)
{
    options_t *options = &cursor->job->options;
    int level;
    if (!option_take_word(cursor, option, object, deal_levels, &level))
        return false;
    if (level == LEVEL_NODE)
        return take_per_node(cursor, option, number, false);
    if (!number_parse_unsigned(number, 1, MAX_RANKS, &options->per_object))
        return option_refuse(cursor, option, number, "a number of ranks for each of them");
    options->map_by = (topology_level_t)level;
    char *text = opal_xprintf("%s:%s", number, name_level(deal_levels, level));
    option_record(cursor, "ppr", option, text);
    free(text);
    return true;
}

static bool take_npersocket(cursor_t *cursor, const char *option, char **values)
{
    return take_per_object(cursor, option, values[0], "socket");
}

/* "ppr:N:WHAT[:MODIFIER...]" */
static bool take_ppr(cursor_t *cursor, const char *option, const char *value)
{
    opal_strings_t words = {0};
    opal_strings_split(&words, value, ":");
    bool good = words.count >= 3;
    if (!good)
        option_refuse(cursor, option, value, "ppr:N:WHAT, such as ppr:2:node");
    good = good && take_per_object(cursor, option, words.items[1], words.items[2]);
    for (size_t i = 3; good && i < words.count; i++)
        good = take_modifiers(cursor, option, words.items[i]);
    opal_strings_free(&words);
    return good;
}

static bool take_map(cursor_t *cursor, const char *option, char **values)
{
    const char *value = values[0];
    size_t length = strcspn(value, ":");
    if (strncasecmp(value, "ppr:", 4) == 0)
        return take_ppr(cursor, option, value);
    if (strncasecmp(value, "rankfile:file=", 14) == 0)
        return option_take(cursor, "rankfile", option, value + 14);
    char *level = opal_xstrndup(value, length);
    bool good =
        (length == 0 && value[0] == ':') ||
        take_level(cursor, option, level, deal_levels, "map-by", &cursor->job->options.map_by);
    free(level);
    return good && take_modifiers(cursor, option, value + length);
}

/* MPICH's "core:2" is two cores for each rank. */
static bool take_bind(cursor_t *cursor, const char *option, char **values)
{
    options_t *options = &cursor->job->options;
    const char *value = values[0];
    size_t length = strcspn(value, ":");
    char *level = opal_xstrndup(value, length);
    bool good = take_level(cursor, option, level, bind_levels, "bind-to", &options->bind_to);
    free(level);
    if (!good)
        return false;
    options->bind_given = true;
    unsigned number;
    const char *rest = value + length + (value[length] == ':');
    return number_parse_unsigned(rest, 1, MAX_RANKS, &number)
               ? take_per_rank(cursor, option, rest)
               : take_modifiers(cursor, option, rest);
}

static bool take_rank_by(cursor_t *cursor, const char *option, char **values)
{
    return take_level(cursor, option, values[0], deal_levels, "rank-by",
                      &cursor->job->options.rank_by);
}

static bool take_rankfile(cursor_t *cursor, const char *option, char **values)
{
    (void)option;
    free(cursor->job->options.rankfile);
    cursor->job->options.rankfile = opal_xstrdup(values[0]);
    return true;
}

static bool take_hwthreads(cursor_t *cursor, const char *option, char **values)
{
    (void)option, (void)values;
    cursor->job->options.use_hwthreads = true;
    return true;
}

/* Open MPI's older options: "-bynode", "-bind-to-core". */
static bool take_by_level(cursor_t *cursor, const char *option, char **values)
{
    (void)values;
    return option_take(cursor, "map-by", option, strstr(option, "by") + 2);
}

static bool take_bind_to_level(cursor_t *cursor, const char *option, char **values)
{
    (void)values;
    return option_take(cursor, "bind-to", option, strstr(option, "to-") + 3);
}

/* clang-format off */
const option_row_t options_of_mapping[] = {
    {"map-by", "WHAT", take_map,
     "map ranks to slot, hwthread, core, numa, socket or node; ppr:N:WHAT: N ranks to each; "
     "after a ':', PE=N: N cores for each rank", OPTION_TRANSLATED},
    {"bind-to", "WHAT", take_bind, "bind each rank to a hwthread, core, numa or socket, or to none",
     OPTION_TRANSLATED},
    {"rank-by", "WHAT", take_rank_by, "with --bind-to: number the ranks round these objects",
     OPTION_TRANSLATED},
    {"npernode N", "COUNT", take_npernode, "start COUNT ranks on each node", OPTION_TRANSLATED},
    {"rankfile rf", "FILE", take_rankfile, "bind ranks: 'rank N=HOST slot=SOCKET:CORES', a line each", OPTION_RECORDED},
    {"use-hwthread-cpus", "", take_hwthreads, "count and bind by hardware threads instead of cores", OPTION_RECORDED},

    {"ppn perhost", "COUNT", take_ppn, NULL, OPTION_TRANSLATED},
    {"npersocket", "COUNT", take_npersocket, NULL, OPTION_TRANSLATED},
    {"cpus-per-rank cpus-per-proc", "COUNT", take_cpus_per_rank, NULL, OPTION_TRANSLATED},
    {"bynode byslot bysocket bycore", "", take_by_level, NULL, OPTION_TRANSLATED},
    {"bind-to-none bind-to-core bind-to-socket", "", take_bind_to_level, NULL, OPTION_TRANSLATED},
    {0},
};
/* clang-format on */
