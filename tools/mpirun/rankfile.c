/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading rank files. See rankfile.h. */
#include "tools/mpirun/rankfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/log.h"
#include "opal/util/text.h"
#include "tools/mpirun/hosts.h"
#include "tools/mpirun/job.h"
#include "tools/mpirun/number.h"

/* Cores of a machine are numbered below this. */
enum { MAX_CORES = 65536 };

static void add_range(rankfile_t *file, const core_range_t *range)
{
    file->ranges = opal_xrealloc(file->ranges, (file->range_count + 1) * sizeof *file->ranges);
    file->ranges[file->range_count++] = *range;
}

/* "3", "0-1" or "*" */
static bool parse_cores(char *text, core_range_t *range)
{
    if (strcmp(text, "*") == 0) {
        range->first = 0;
        range->last = UINT_MAX;
        return true;
    }
    char *dash = strchr(text, '-');
    if (dash != NULL)
        *dash++ = 0;
    return number_parse_unsigned(text, 0, MAX_CORES, &range->first) &&
           number_parse_unsigned(dash != NULL ? dash : text, range->first, MAX_CORES, &range->last);
}

/* "0:0-1,1:*" or "0,2-3"; a socket applies to all numbers after it. NULL, or what is wrong. */
static const char *add_slots(rankfile_t *file, unsigned rank, const char *text)
{
    opal_strings_t parts = {0};
    const char *complaint = NULL;
    core_range_t range = {.rank = rank, .socket = -1};
    opal_strings_split(&parts, text, ",");
    if (parts.count == 0)
        complaint = "it names no core";
    for (size_t i = 0; complaint == NULL && i < parts.count; i++) {
        char *cores = parts.items[i], *colon = strchr(cores, ':');
        unsigned socket = 0;
        if (colon != NULL) {
            *colon = 0;
            if (!number_parse_unsigned(cores, 0, MAX_CORES, &socket))
                complaint = "before a ':' there must be the number of a socket";
            range.socket = (int)socket;
            cores = colon + 1;
        }
        if (complaint == NULL && !parse_cores(cores, &range))
            complaint = "cores are written as 2, 0-3, 1:0-3 or 1:*, separated by commas";
        if (complaint == NULL)
            add_range(file, &range);
    }
    opal_strings_free(&parts);
    return complaint;
}

/* "rank N=HOST slot=SLOTS"; NULL, or what is wrong. */
static const char *add_line(rankfile_t *file, const char *line, const char *this_host)
{
    static const char format[] = "a line is: rank N=HOST slot=CORES";
    opal_strings_t words = {0};
    opal_strings_split(&words, line, " \t\r\n=");
    const char *complaint = NULL;
    unsigned rank = 0;
    if (words.count == 0)
        complaint = NULL;
    else if (words.count != 5 || strcmp(words.items[0], "rank") != 0 ||
             (strcmp(words.items[3], "slot") != 0 && strcmp(words.items[3], "slots") != 0))
        complaint = format;
    else if (!number_parse_unsigned(words.items[1], 0, MAX_RANKS - 1, &rank))
        complaint = "there is no such rank";
    else if (rankfile_has(file, rank))
        complaint = "the rank is there already";
    else if (strcmp(words.items[2], "+n0") != 0 && !host_is_this_machine(words.items[2], this_host))
        complaint = "mpirun pins ranks of this machine only; name it, or localhost, as the host";
    else
        complaint = add_slots(file, rank, words.items[4]);
    if (complaint == NULL && words.count > 0 && rank >= file->rank_count)
        file->rank_count = rank + 1;
    opal_strings_free(&words);
    return complaint;
}

bool rankfile_read(rankfile_t *file, const char *path, const char *this_host)
{
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        opal_log_error("--rankfile: cannot read %s: %s", path, strerror(errno));
        return false;
    }
    unsigned number = 0;
    char *line = NULL;
    size_t capacity = 0;
    const char *complaint = NULL;
    while (complaint == NULL && getline(&line, &capacity, stream) >= 0) {
        line[strcspn(line, "#")] = 0;
        complaint = add_line(file, line, this_host);
        number++;
    }
    if (complaint == NULL && ferror(stream))
        complaint = strerror(errno);
    else if (complaint == NULL && file->rank_count == 0)
        complaint = "it names no rank";
    if (complaint != NULL)
        opal_log_error("--rankfile: %s:%u: %s", path, number, complaint);
    free(line);
    fclose(stream);
    return complaint == NULL;
}

bool rankfile_has(const rankfile_t *file, unsigned rank)
{
    for (size_t i = 0; i < file->range_count; i++) {
        if (file->ranges[i].rank == rank)
            return true;
    }
    return false;
}

void rankfile_free(rankfile_t *file)
{
    free(file->ranges);
    *file = (rankfile_t){0};
}
