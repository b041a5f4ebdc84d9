/* SPDX-License-Identifier: BSD-3-Clause */
/* See records.h. */
#include "tools/profile/records.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "opal/util/text.h"

enum { MOST_RANKS = 1 << 20 };

/* -- one file --------------------------------------------------------------------------------- */

/* Whether the file can be what it says, as far as the rest of this tool relies on it. */
static bool is_sound(const opal_profile_head_t *head, size_t bytes)
{
    return bytes >= OPAL_PROFILE_PAGE &&
           memcmp(head->magic, OPAL_PROFILE_MAGIC, sizeof head->magic) == 0 && head->size > 0 &&
           head->size <= MOST_RANKS && head->rank < head->size &&
           head->block_bytes == opal_profile_block_bytes(head->size) &&
           head->blocks <= OPAL_PROFILE_THREADS &&
           bytes >= OPAL_PROFILE_PAGE + head->blocks * head->block_bytes;
}

static const opal_profile_head_t *map_file(const char *path, size_t *bytes)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *memory = MAP_FAILED;
    if (fstat(fd, &status) == 0 && status.st_size >= OPAL_PROFILE_PAGE)
        memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        opal_log_warning("%s is no profile", path);
        return NULL;
    }
    *bytes = (size_t)status.st_size;
    if (is_sound(memory, *bytes))
        return memory;
    opal_log_warning("%s is no profile, or damaged", path);
    munmap(memory, *bytes);
    return NULL;
}

/* In this tool's copy. */
static void settle(const record_t *record)
{
    for (unsigned i = 0; i < record->head->blocks; i++) {
        opal_profile_block_t *block = (void *)(uintptr_t)record_block(record, i);
        for (unsigned k = 0; k < OPAL_PROFILE_SITES; k++) {
            if (block->sites[k].repeats > 0 && block->sites[k].peer <= record->head->size)
                opal_profile_settle(block, &block->sites[k]);
        }
    }
}

static const opal_profile_head_t *open_rank(const char *folder, unsigned rank, size_t *bytes)
{
    char *path = opal_xprintf("%s/" OPAL_PROFILE_PREFIX "%u" OPAL_PROFILE_SUFFIX, folder, rank);
    const opal_profile_head_t *head = map_file(path, bytes);
    free(path);
    return head;
}

const opal_profile_block_t *record_block(const record_t *record, unsigned i)
{
    const char *file = (const char *)record->head;
    return (const void *)(file + OPAL_PROFILE_PAGE + i * record->head->block_bytes);
}

/* -- clocks ----------------------------------------------------------------------------------- */

double record_moment(const record_t *record, uint64_t ticks)
{
    return record->zero + record_seconds(record, ticks);
}

static bool is_same_host(const opal_profile_head_t *one, const opal_profile_head_t *other)
{
    return strncmp(one->host, other->host, sizeof one->host) == 0;
}

/* The ranks of a host have one counter, so one of them says for all what its ticks are: else what
 * each has measured by itself would differ by some 10 ns, and messages would arrive before they
 * were sent. It is the one whose pairs are the farthest apart. */
static const opal_profile_head_t *clock_of(const records_t *records,
                                           const opal_profile_head_t *head)
{
    const opal_profile_head_t *best = head;
    for (unsigned i = 0; i < records->size; i++) {
        const opal_profile_head_t *other = records->ranks[i].head;
        if (other != NULL && is_same_host(other, head) &&
            other->last.ticks - other->first.ticks > best->last.ticks - best->first.ticks)
            best = other;
    }
    return best;
}

/* The rate by two pairs; of a host whose ranks have ended at once, by that of another one. */
static void set_rate(record_t *record, const opal_profile_head_t *clock, double otherwise)
{
    const opal_profile_clock_t *first = &clock->first, *last = &clock->last;
    bool is_known = last->ticks > first->ticks && last->nsec > first->nsec;
    record->nsec_per_tick =
        is_known ? (double)(last->nsec - first->nsec) / (double)(last->ticks - first->ticks)
                 : otherwise;
}

/* The last moment at which a rank that did not finalize is known to have been in MPI. */
static uint64_t last_ticks(const record_t *record)
{
    uint64_t last = record->head->last.ticks;
    for (unsigned i = 0; i < record->head->blocks; i++) {
        const opal_profile_block_t *block = record_block(record, i);
        for (unsigned k = OPAL_PROFILE_BINS; k > 0; k--) {
            uint64_t end = block->bins_begin + k * block->bin_ticks;
            if (block->bins[k - 1].in_mpi > 0 && end > last)
                last = end;
            if (block->bins[k - 1].in_mpi > 0)
                break;
        }
    }
    return last;
}

/* Ranks of one host have one clock. Between hosts the time of day has to do. */
static void align(records_t *records, const opal_profile_head_t *reference)
{
    double rate = 1;
    double begin = 0, end = 0;
    for (unsigned i = 0; i < records->size; i++) {
        record_t *record = &records->ranks[i];
        if (record->head == NULL)
            continue;
        const opal_profile_head_t *head = record->head, *clock = clock_of(records, head);
        set_rate(record, clock, rate);
        rate = record->nsec_per_tick;
        bool is_same = is_same_host(head, reference);
        uint64_t offset = is_same ? 0 : clock->realtime_nsec - reference->realtime_nsec;
        int64_t nsec = (int64_t)(clock->first.nsec + offset - reference->first.nsec);
        record->zero = (double)nsec * 1e-9 - record_seconds(record, clock->first.ticks);
        record->begin = record_moment(record, head->begin);
        record->end = record_moment(record, head->end != 0 ? head->end : last_ticks(record));
        if (record->end < record->begin)
            record->end = record->begin;
        begin = head == reference || record->begin < begin ? record->begin : begin;
        end = head == reference || record->end > end ? record->end : end;
    }
    for (unsigned i = 0; i < records->size; i++) {
        records->ranks[i].zero -= begin;
        records->ranks[i].begin -= begin;
        records->ranks[i].end -= begin;
    }
    records->wall = end - begin;
}

/* -- the folder ------------------------------------------------------------------------------- */

/* A rank that has a file: the job is its job. mpirun has removed the files of earlier jobs. */
static const opal_profile_head_t *find_reference(const char *folder, size_t *bytes)
{
    static const char form[] = OPAL_PROFILE_PREFIX "%u" OPAL_PROFILE_SUFFIX "%n";
    const opal_profile_head_t *head = NULL;
    DIR *entries = opendir(folder);
    struct dirent *entry;
    unsigned rank;
    while (head == NULL && entries != NULL && (entry = readdir(entries)) != NULL) {
        int end = 0;
        if (sscanf(entry->d_name, form, &rank, &end) == 1 && end > 0 && entry->d_name[end] == 0)
            head = open_rank(folder, rank, bytes);
    }
    if (entries != NULL)
        closedir(entries);
    return head;
}

static void open_ranks(const char *folder, const opal_profile_head_t *reference, records_t *records)
{
    for (unsigned rank = 0; rank < records->size; rank++) {
        record_t *record = &records->ranks[rank];
        record->head = open_rank(folder, rank, &record->file_bytes);
        const opal_profile_head_t *head = record->head;
        if (head == NULL)
            continue;
        if (head->size != reference->size || head->rank != rank ||
            strncmp(head->job, reference->job, sizeof head->job) != 0) {
            opal_log_warning("the profile of rank %u in %s is of another job, and is left out",
                             rank, folder);
            munmap((void *)(uintptr_t)head, record->file_bytes);
            record->head = NULL;
            continue;
        }
        settle(record);
        records->present++;
        records->unfinished += head->phase != OPAL_PROFILE_ENDED;
        if (head->node >= records->nodes)
            records->nodes = head->node + 1;
    }
}

bool records_open(const char *folder, records_t *records)
{
    size_t bytes;
    *records = (records_t){0};
    const opal_profile_head_t *reference = find_reference(folder, &bytes);
    if (reference == NULL) {
        opal_log_error("there is no profile in '%s': no rank has got through MPI_Init, or it is "
                       "another directory",
                       folder);
        return false;
    }
    records->size = reference->size;
    records->ranks = opal_xcalloc(records->size, sizeof *records->ranks);
    open_ranks(folder, reference, records);
    for (unsigned i = 0; i < records->size; i++) {
        if (records->ranks[i].head != NULL) {
            align(records, records->ranks[i].head);
            break;
        }
    }
    munmap((void *)(uintptr_t)reference, bytes);
    return true;
}

void records_close(records_t *records)
{
    for (unsigned i = 0; i < records->size; i++) {
        if (records->ranks[i].head != NULL)
            munmap((void *)(uintptr_t)records->ranks[i].head, records->ranks[i].file_bytes);
    }
    free(records->ranks);
    *records = (records_t){0};
}
