/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of ranks. See rank_set.h. */
#include "tools/mpirun/rank_set.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/text.h"
#include "tools/mpirun/job.h"
#include "tools/mpirun/number.h"

/* Reads "3" or "3-5". */
static bool parse_range(const char *text, struct rank_range *range)
{
    const char *dash = strchr(text, '-');
    char *first = opal_xstrndup(text, dash != NULL ? (size_t)(dash - text) : strlen(text));
    bool good = number_parse_unsigned(first, 0, MAX_RANKS - 1, &range->first);
    range->last = range->first;
    if (good && dash != NULL)
        good = number_parse_unsigned(dash + 1, range->first, MAX_RANKS - 1, &range->last);
    free(first);
    return good;
}

bool rank_set_parse(rank_set_t *set, const char *text, size_t length)
{
    bool good = length > 0;
    *set = (rank_set_t){0};
    for (size_t used = 0; good && used <= length;) {
        const char *comma = memchr(text + used, ',', length - used);
        size_t end = comma != NULL ? (size_t)(comma - text) : length;
        char *part = opal_xstrndup(text + used, end - used);
        set->ranges = opal_xrealloc(set->ranges, (set->count + 1) * sizeof *set->ranges);
        good = parse_range(part, &set->ranges[set->count++]);
        free(part);
        used = end + 1;
    }
    if (!good)
        rank_set_free(set);
    return good;
}

void rank_set_copy(rank_set_t *to, const rank_set_t *from)
{
    *to = (rank_set_t){.count = from->count};
    if (from->count > 0) {
        to->ranges = opal_xcalloc(from->count, sizeof *to->ranges);
        memcpy(to->ranges, from->ranges, from->count * sizeof *to->ranges);
    }
}

void rank_set_free(rank_set_t *set)
{
    free(set->ranges);
    *set = (rank_set_t){0};
}

bool rank_set_has(const rank_set_t *set, unsigned rank)
{
    for (size_t i = 0; i < set->count; i++) {
        if (rank >= set->ranges[i].first && rank <= set->ranges[i].last)
            return true;
    }
    return false;
}

unsigned rank_set_highest(const rank_set_t *set)
{
    unsigned highest = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (set->ranges[i].last > highest)
            highest = set->ranges[i].last;
    }
    return highest;
}
