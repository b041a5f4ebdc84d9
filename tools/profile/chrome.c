/* SPDX-License-Identifier: BSD-3-Clause */
/* Two passes over the records: the first counts messages, the second writes. See chrome.h. */
#include "tools/profile/chrome.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/profile/trace.h"
#include "opal/util/log.h"
#include "opal/util/text.h"
#include "tools/profile/flows.h"
#include "tools/profile/summary.h"

enum { KIND_BITS = 4, KIND_MASK = 15, SITE_BITS = 16, CONTEXTS = 4 };

/* A message or a wait, until the record of its call comes. */
typedef struct part {
    unsigned kind;
    uint64_t words[3];
} part_t;

/* The records of a thread, while they are read. */
typedef struct reader {
    const record_t *record;
    const opal_profile_block_t *block;
    unsigned rank, thread;
    const opal_trace_head_t *head; /* of the file, which has so many */
    size_t bytes;
    part_t *parts;
    size_t part_count, part_room;
    uint64_t last[OPAL_TRACE_SLOTS][3]; /* the last message of each slot */
} reader_t;

/* A message of a rank with several threads, which are read one after the other. */
typedef struct numbered {
    uint32_t order;
    flow_end_t end;
    flow_key_t key;
    size_t index;
} numbered_t;

/* Of such a rank. */
typedef struct numbers {
    numbered_t *messages; /* in the first pass */
    size_t count, room;
    uint64_t *before; /* of each message: how many of its kind were before it */
    size_t next;      /* in the second pass */
} numbers_t;

typedef struct chrome {
    const char *folder;
    FILE *out;
    records_t records;
    summary_t summary;
    flows_t flows;
    numbers_t *numbers; /* by rank */
    bool is_first_pass, has_events;
    uint64_t calls, messages;
} chrome_t;

/* -- reading ---------------------------------------------------------------------------------- */

static char *path_of(const chrome_t *chrome, unsigned rank, unsigned thread)
{
    return opal_xprintf("%s/" OPAL_PROFILE_PREFIX "%u.%u" OPAL_TRACE_SUFFIX, chrome->folder, rank,
                        thread);
}

/* False: there are no records of this thread. */
static bool open_reader(const chrome_t *chrome, unsigned rank, unsigned thread, reader_t *reader)
{
    struct stat status;
    char *path = path_of(chrome, rank, thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *memory = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size >= (off_t)(2 * OPAL_TRACE_PIECE))
        memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    bool is_good =
        memory != MAP_FAILED && ((const opal_trace_head_t *)memory)->magic == OPAL_TRACE_MAGIC;
    if (fd >= 0 && !is_good)
        opal_log_warning("%s is no trace, and is left out", path);
    free(path);
    if (!is_good) {
        if (memory != MAP_FAILED)
            munmap(memory, (size_t)status.st_size);
        return false;
    }
    const record_t *record = &chrome->records.ranks[rank];
    *reader = (reader_t){.record = record,
                         .block = record_block(record, thread),
                         .rank = rank,
                         .thread = thread,
                         .head = memory,
                         .bytes = (size_t)status.st_size};
    return true;
}

static void close_reader(reader_t *reader)
{
    munmap((void *)(uintptr_t)reader->head, reader->bytes);
    free(reader->parts);
}

static void keep_part(reader_t *reader, const uint64_t *words, unsigned count)
{
    if (reader->part_count == reader->part_room) {
        reader->part_room = 2 * reader->part_room + 8;
        reader->parts = opal_xrealloc(reader->parts, reader->part_room * sizeof *reader->parts);
    }
    part_t *part = &reader->parts[reader->part_count++];
    part->kind = words[0] & KIND_MASK;
    memcpy(part->words, words, count * sizeof *words);
}

static void keep_message(reader_t *reader, const uint64_t *words)
{
    const opal_trace_message_t message = {words[0], words[1], (uint32_t)words[2]};
    memcpy(reader->last[opal_trace_slot_of(&message)], words, sizeof reader->last[0]);
    keep_part(reader, words, 3);
}

static void keep_again(reader_t *reader, uint64_t word)
{
    const uint64_t *last = reader->last[(word >> KIND_BITS) % OPAL_TRACE_SLOTS];
    uint64_t order = word >> 32 << 32;
    if (last[0] != 0) /* else the file is damaged */
        keep_part(reader, (uint64_t[]){last[0], last[1], order | (uint32_t)last[2]}, 3);
}

static flow_key_t key_of(const reader_t *reader, const part_t *part)
{
    uint32_t peer = (uint32_t)(part->words[1] >> 32);
    bool is_sent = part->kind == OPAL_TRACE_SENT;
    return (flow_key_t){.context = (uint32_t)part->words[2],
                        .from = is_sent ? reader->rank : peer,
                        .to = is_sent ? peer : reader->rank,
                        .tag = (int32_t)(uint32_t)part->words[1]};
}

static flow_end_t end_of(const part_t *part)
{
    return part->kind == OPAL_TRACE_SENT ? FLOW_SENT : FLOW_MATCHED;
}

static bool has_threads(const reader_t *reader)
{
    return reader->record->head->blocks > 1;
}

static bool is_message(const part_t *part)
{
    return part->kind == OPAL_TRACE_SENT || part->kind == OPAL_TRACE_MATCHED;
}

/* -- writing ---------------------------------------------------------------------------------- */

static double usec_of(const reader_t *reader, uint64_t ticks)
{
    return record_moment(reader->record, ticks) * 1e6;
}

/* Up to the time of the event: all that differs between kinds follows. */
static void begin_event(chrome_t *chrome, const char *phase, unsigned rank, unsigned thread)
{
    fprintf(chrome->out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u", chrome->has_events ? ",\n" : "",
            phase, rank, thread);
    chrome->has_events = true;
}

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != 0; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fputc('\\', out);
        fputc(c < 0x20 ? '?' : c, out);
    }
    fputc('"', out);
}

static void put_name(chrome_t *chrome, const char *kind, unsigned rank, unsigned thread, char *text)
{
    begin_event(chrome, "M", rank, thread);
    fprintf(chrome->out, ",\"name\":\"%s\",\"args\":{\"name\":", kind);
    put_text(chrome->out, text);
    fputs("}}", chrome->out);
    free(text);
}

static void put_slice(chrome_t *chrome, const reader_t *reader, uint64_t begin, uint64_t ticks,
                      const char *name, const char *category)
{
    begin_event(chrome, "X", reader->rank, reader->thread);
    fprintf(chrome->out, ",\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\",\"cat\":\"%s\"",
            usec_of(reader, begin), record_seconds(reader->record, ticks) * 1e6, name, category);
}

static void put_flow(chrome_t *chrome, const reader_t *reader, const part_t *part, double usec)
{
    flow_key_t key = key_of(reader, part);
    numbers_t *numbers = &chrome->numbers[reader->rank];
    uint64_t id = has_threads(reader)
                      ? flows_id(&chrome->flows, &key, numbers->before[numbers->next++])
                      : flows_next(&chrome->flows, &key, end_of(part));
    if (id == 0)
        return;
    bool is_sent = part->kind == OPAL_TRACE_SENT;
    begin_event(chrome, is_sent ? "s" : "f", reader->rank, reader->thread);
    fprintf(chrome->out,
            ",\"ts\":%.3f,\"id\":%llu,\"name\":\"message\",\"cat\":\"%s\"%s,\"args\":{\"from\":%u,"
            "\"to\":%u,\"tag\":%d,\"bytes\":%llu}}",
            usec, (unsigned long long)id, key.context % CONTEXTS == 0 ? "message" : "library",
            is_sent ? "" : ",\"bp\":\"e\"", key.from, key.to, key.tag,
            (unsigned long long)(part->words[0] >> KIND_BITS));
    chrome->messages += is_sent;
}

static void put_wait(chrome_t *chrome, const reader_t *reader, uint64_t begin, uint64_t ticks)
{
    put_slice(chrome, reader, begin, ticks, "waiting", "wait");
    fputc('}', chrome->out);
}

/* A call with its parts. A message is drawn from where its call begins to where its call ends. */
static void put_call(chrome_t *chrome, reader_t *reader, const uint64_t *words)
{
    uint64_t begin = words[0] >> KIND_BITS, ticks = words[1] >> SITE_BITS;
    uint64_t slot = words[1] & ((1 << SITE_BITS) - 1);
    int site = summary_site_of(&chrome->summary, reader->block, slot);
    put_slice(chrome, reader, begin, ticks,
              site >= 0 ? chrome->summary.sites[site].place->function : "MPI", "mpi");
    fputs(",\"args\":{\"place\":", chrome->out);
    put_text(chrome->out, site >= 0 ? chrome->summary.sites[site].text : "");
    fputs("}}", chrome->out);
    for (size_t i = 0; i < reader->part_count; i++) {
        const part_t *part = &reader->parts[i];
        if (is_message(part)) {
            uint64_t at = part->kind == OPAL_TRACE_SENT ? begin : begin + ticks;
            put_flow(chrome, reader, part, usec_of(reader, at));
        } else {
            put_wait(chrome, reader, part->words[0] >> KIND_BITS, part->words[1] >> SITE_BITS);
        }
    }
    if ((words[0] & KIND_MASK) == OPAL_TRACE_WAITED)
        put_wait(chrome, reader, begin, ticks);
    chrome->calls++;
}

/* -- passes ----------------------------------------------------------------------------------- */

static void number_message(numbers_t *numbers, const reader_t *reader, const part_t *part)
{
    if (numbers->count == numbers->room) {
        numbers->room = 2 * numbers->room + 64;
        numbers->messages =
            opal_xrealloc(numbers->messages, numbers->room * sizeof *numbers->messages);
    }
    numbers->messages[numbers->count] = (numbered_t){.order = (uint32_t)(part->words[2] >> 32),
                                                     .end = end_of(part),
                                                     .key = key_of(reader, part),
                                                     .index = numbers->count};
    numbers->count++;
}

/* A message that was recorded before there were several threads has order 0, and comes first. */
static int compare_order(const void *a, const void *b)
{
    const numbered_t *one = a, *other = b;
    if (one->order != other->order)
        return one->order < other->order ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

/* All messages of the rank are known. */
static void count_in_order(chrome_t *chrome, numbers_t *numbers)
{
    if (numbers->count == 0)
        return;
    qsort(numbers->messages, numbers->count, sizeof *numbers->messages, compare_order);
    numbers->before = opal_xcalloc(numbers->count, sizeof *numbers->before);
    for (size_t i = 0; i < numbers->count; i++) {
        const numbered_t *each = &numbers->messages[i];
        numbers->before[each->index] = flows_count(&chrome->flows, &each->key, each->end);
    }
    free(numbers->messages);
    numbers->messages = NULL;
}

static void count_message(chrome_t *chrome, const reader_t *reader, const part_t *part)
{
    flow_key_t key = key_of(reader, part);
    if (has_threads(reader))
        number_message(&chrome->numbers[reader->rank], reader, part);
    else
        flows_count(&chrome->flows, &key, end_of(part));
}

static void take_call(chrome_t *chrome, reader_t *reader, const uint64_t *words)
{
    if (!chrome->is_first_pass)
        put_call(chrome, reader, words);
    for (size_t i = 0; i < reader->part_count && chrome->is_first_pass; i++) {
        if (is_message(&reader->parts[i]))
            count_message(chrome, reader, &reader->parts[i]);
    }
    reader->part_count = 0;
}

static const uint64_t *piece_at(const reader_t *reader, size_t number)
{
    return (const void *)((const char *)reader->head + number * OPAL_TRACE_PIECE);
}

/* The words of a record; 0: there is no such kind. */
static unsigned length_of(unsigned kind)
{
    static const unsigned char lengths[KIND_MASK + 1] = {
        [OPAL_TRACE_CALL] = 2,    [OPAL_TRACE_WAIT] = 2,  [OPAL_TRACE_SENT] = 3,
        [OPAL_TRACE_MATCHED] = 3, [OPAL_TRACE_AGAIN] = 1, [OPAL_TRACE_WAITED] = 2,
    };
    return lengths[kind];
}

static void read_one(chrome_t *chrome, reader_t *reader, const uint64_t *words)
{
    switch (words[0] & KIND_MASK) {
    case OPAL_TRACE_CALL:
    case OPAL_TRACE_WAITED:
        take_call(chrome, reader, words);
        break;
    case OPAL_TRACE_WAIT:
        keep_part(reader, words, 2);
        break;
    case OPAL_TRACE_AGAIN:
        keep_again(reader, words[0]);
        break;
    default:
        keep_message(reader, words);
    }
}

/* The thread may have been killed in the middle of a record. */
static void read_piece(chrome_t *chrome, reader_t *reader, const uint64_t *words)
{
    size_t count = OPAL_TRACE_PIECE / sizeof *words;
    for (size_t i = 0; i < count;) {
        unsigned length = length_of(words[i] & KIND_MASK);
        if (length == 0 || i + length > count)
            break;
        read_one(chrome, reader, words + i);
        i += length;
    }
}

/* The window is the last piece. It may be there as another one, too, if the thread was killed. */
static void read_thread(chrome_t *chrome, reader_t *reader)
{
    size_t pieces = reader->bytes / OPAL_TRACE_PIECE - 2;
    if (reader->head->pieces < pieces)
        pieces = reader->head->pieces;
    for (size_t i = 0; i < pieces; i++)
        read_piece(chrome, reader, piece_at(reader, 2 + i));
    const uint64_t *window = piece_at(reader, 1);
    if (pieces == 0 || memcmp(window, piece_at(reader, 1 + pieces), OPAL_TRACE_PIECE) != 0)
        read_piece(chrome, reader, window);
}

static void note_cut(chrome_t *chrome, const reader_t *reader)
{
    char text[SUMMARY_TEXT_BYTES];
    uint64_t cut = reader->head->cut;
    if (cut == 0 || chrome->is_first_pass)
        return;
    opal_log_warning("the trace of rank %u ends %s after the beginning: it has reached "
                     "mpi_trace_limit (%zu MB); --mca mpi_trace_limit MB sets it",
                     reader->rank, summary_seconds(record_moment(reader->record, cut), text),
                     reader->bytes >> 20);
    begin_event(chrome, "i", reader->rank, reader->thread);
    fprintf(chrome->out, ",\"ts\":%.3f,\"s\":\"t\",\"name\":\"the trace was cut here\"}",
            usec_of(reader, cut));
}

static void name_thread(chrome_t *chrome, const reader_t *reader)
{
    const opal_profile_head_t *head = reader->record->head;
    if (chrome->is_first_pass)
        return;
    if (reader->thread == 0) {
        put_name(chrome, "process_name", reader->rank, 0,
                 opal_xprintf("rank %u (%s)", reader->rank, head->host));
        begin_event(chrome, "M", reader->rank, 0);
        fprintf(chrome->out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}",
                reader->rank);
    }
    put_name(chrome, "thread_name", reader->rank, reader->thread,
             opal_xprintf("thread %llu", (unsigned long long)reader->block->thread));
}

static void pass(chrome_t *chrome)
{
    for (unsigned rank = 0; rank < chrome->records.size; rank++) {
        const record_t *record = &chrome->records.ranks[rank];
        for (unsigned i = 0; record->head != NULL && i < record->head->blocks; i++) {
            reader_t reader;
            if (!open_reader(chrome, rank, i, &reader))
                continue;
            name_thread(chrome, &reader);
            read_thread(chrome, &reader);
            note_cut(chrome, &reader);
            close_reader(&reader);
        }
        if (chrome->is_first_pass)
            count_in_order(chrome, &chrome->numbers[rank]);
    }
}

static void free_numbers(chrome_t *chrome)
{
    for (unsigned rank = 0; rank < chrome->records.size; rank++)
        free(chrome->numbers[rank].before);
    free(chrome->numbers);
}

static bool write_trace(chrome_t *chrome, const char *path)
{
    chrome->out = fopen(path, "w");
    bool is_good = chrome->out != NULL;
    if (is_good) {
        fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", chrome->out);
        chrome->numbers = opal_xcalloc(chrome->records.size, sizeof *chrome->numbers);
        chrome->is_first_pass = true;
        pass(chrome);
        flows_number(&chrome->flows);
        chrome->is_first_pass = false;
        pass(chrome);
        fputs("\n]}\n", chrome->out);
        free_numbers(chrome);
        is_good = ferror(chrome->out) == 0;
        is_good = fclose(chrome->out) == 0 && is_good;
    }
    if (!is_good)
        opal_log_error("cannot write %s: %s", path, strerror(errno));
    return is_good;
}

/* -- the folder ------------------------------------------------------------------------------- */

static bool is_record(const char *name, bool is_profile)
{
    const char *dot = strrchr(name, '.');
    return strncmp(name, OPAL_PROFILE_PREFIX, strlen(OPAL_PROFILE_PREFIX)) == 0 && dot != NULL &&
           (strcmp(dot, OPAL_TRACE_SUFFIX) == 0 ||
            (!is_profile && strcmp(dot, OPAL_PROFILE_SUFFIX) == 0));
}

/* What else is in the folder stays. */
static void remove_records(const char *folder, bool is_profile)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (is_record(entry->d_name, is_profile))
            unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries != NULL)
        closedir(entries);
    if (!is_profile)
        rmdir(folder);
}

bool chrome_trace(const char *path, const char *profile, bool quiet)
{
    char *folder = profile != NULL ? opal_xstrdup(profile) : opal_xprintf("%s.parts", path);
    chrome_t chrome = {.folder = folder};
    bool is_good = records_open(folder, &chrome.records);
    if (is_good) {
        summary_make(&chrome.records, &chrome.summary);
        is_good = write_trace(&chrome, path);
        summary_free(&chrome.summary);
        records_close(&chrome.records);
        flows_free(&chrome.flows);
    }
    if (is_good) {
        remove_records(folder, profile != NULL);
        if (!quiet)
            opal_log_note("%s: %llu calls, %llu messages; ui.perfetto.dev opens it", path,
                          (unsigned long long)chrome.calls, (unsigned long long)chrome.messages);
    }
    free(folder);
    return is_good;
}
