/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "Did you mean": the Damerau-Levenshtein distance, restricted form (a swapped
 * pair is not edited again), over a rolling window of three rows.
 */
#include <ctype.h>
#include <string.h>

#include "opal/util/text.h"

enum { LONGEST_NAME = 127 };

static char folded(char c)
{
    return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][LONGEST_NAME + 1];
    unsigned *before_last = rows[0], *last = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b_length; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            bool same = folded(a[i - 1]) == folded(b[j - 1]);
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + !same);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
                folded(a[i - 2]) == folded(b[j - 1]))
                row[j] = least(row[j], before_last[j - 2] + 1);
        }
        unsigned *spare = before_last;
        before_last = last;
        last = row;
        row = spare;
    }
    return last[b_length];
}

/*
 * A third of the letters may be wrong, but one in any case unless it is the only one. More, and
 * the suggestion is a riddle of its own.
 */
static unsigned most_mistakes(size_t length, size_t candidate_length)
{
    enum { MOST = 6 };
    size_t longer = length > candidate_length ? length : candidate_length;
    size_t third = longer < 2 ? 0 : longer < 6 ? 1 : longer / 3;
    return third < MOST ? (unsigned)third : MOST;
}

const char *opal_nearest_name(const char *mistyped, const char *const *candidates, size_t count)
{
    size_t length = strlen(mistyped);
    if (length == 0 || length > LONGEST_NAME)
        return NULL;

    const char *best = NULL;
    unsigned best_distance = 0;
    for (size_t i = 0; i < count; i++) {
        size_t candidate_length = strlen(candidates[i]);
        if (candidate_length > LONGEST_NAME)
            continue;
        unsigned d = distance(mistyped, length, candidates[i], candidate_length);
        if (d <= most_mistakes(length, candidate_length) && (best == NULL || d < best_distance)) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}
