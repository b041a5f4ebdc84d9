/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A census in bytes:
 *
 *   +-----+------------------------+------------+-------------+- -
 *   | now | opal_census_process_t  | text 0 \0  | where 0 \0  | ...   and so for each process
 *   +-----+------------------------+------------+-------------+- -
 *                                  of each of its waits; an empty `where`: none
 *
 * The ranks of a job are of one build and one byte order, which their start has compared, so a
 * structure goes as it is, without the pointers. Clocks of two hosts differ: times are moved by the
 * difference of both ends' now.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/roll/census.h"
#include "opal/util/text.h"

static void pack_process(opal_text_t *to, const opal_census_process_t *process)
{
    opal_census_process_t image = *process;
    if (image.host[0] == 0)
        gethostname(image.host, sizeof image.host - 1);
    for (unsigned i = 0; i < image.wait_count; i++)
        image.waits[i].text = image.waits[i].where = NULL;
    opal_text_append(to, (const char *)&image, sizeof image);
    for (unsigned i = 0; i < process->wait_count; i++) {
        const char *text = process->waits[i].text, *where = process->waits[i].where;
        opal_text_append(to, text, strlen(text) + 1);
        opal_text_append(to, where != NULL ? where : "", where != NULL ? strlen(where) + 1 : 1);
    }
}

void *opal_census_pack(const opal_census_t *census, size_t *length)
{
    opal_text_t packed = {0};
    uint64_t now = opal_clock_nsec();
    opal_text_append(&packed, (const char *)&now, sizeof now);
    for (size_t i = 0; i < census->count; i++)
        pack_process(&packed, &census->processes[i]);
    *length = packed.length;
    return opal_text_take(&packed);
}

/* -- and back -------------------------------------------------------------------------------- */

typedef struct reader {
    const char *at, *end;
    uint64_t now, now_there;
} reader_t;

static bool take(reader_t *reader, void *to, size_t bytes)
{
    if ((size_t)(reader->end - reader->at) < bytes)
        return false;
    memcpy(to, reader->at, bytes);
    reader->at += bytes;
    return true;
}

/* NULL: it does not end. */
static const char *take_string(reader_t *reader)
{
    const char *string = reader->at;
    const char *zero = memchr(string, 0, (size_t)(reader->end - string));
    if (zero != NULL)
        reader->at = zero + 1;
    return zero != NULL ? string : NULL;
}

/* A time before the start of this host's clock is that start. */
static uint64_t translate(const reader_t *reader, uint64_t nsec)
{
    uint64_t age = reader->now_there > nsec ? reader->now_there - nsec : 0;
    return reader->now > age ? reader->now - age : 1;
}

/* The strings end, whatever has come. */
static void bound(opal_census_process_t *process)
{
    process->job_id[sizeof process->job_id - 1] = 0;
    process->host[sizeof process->host - 1] = 0;
    process->command[sizeof process->command - 1] = 0;
}

static bool take_process(reader_t *reader, opal_census_t *census)
{
    opal_census_process_t image;
    if (!take(reader, &image, sizeof image) || image.wait_count > OPAL_ROLL_ENTRIES)
        return false;
    census->processes =
        opal_xrealloc(census->processes, (census->count + 1) * sizeof *census->processes);
    opal_census_process_t *process = &census->processes[census->count++];
    *process = image;
    process->wait_count = 0;
    bound(process);
    for (unsigned i = 0; i < image.wait_count; i++) {
        opal_census_wait_t *wait = &process->waits[i];
        const char *text = take_string(reader), *where = text != NULL ? take_string(reader) : NULL;
        if (where == NULL)
            return false;
        wait->text = opal_xstrdup(text);
        wait->where = *where != 0 ? opal_xstrdup(where) : NULL;
        wait->since_nsec = translate(reader, wait->since_nsec);
        wait->written_nsec = translate(reader, wait->written_nsec);
        process->wait_count++;
    }
    return true;
}

bool opal_census_unpack(opal_census_t *census, const void *bytes, size_t length)
{
    reader_t reader = {.at = bytes, .end = (const char *)bytes + length, .now = opal_clock_nsec()};
    size_t before = census->count;
    bool is_right = take(&reader, &reader.now_there, sizeof reader.now_there);
    while (is_right && reader.at < reader.end)
        is_right = take_process(&reader, census);
    while (!is_right && census->count > before)
        opal_census_free_process(&census->processes[--census->count]);
    return is_right;
}
