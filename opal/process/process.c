/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process table.
 *
 * The entries of other jobs' processes are in blocks, each twice as long as the one before, so that
 * entries do not move and a look-up needs no lock:
 *
 *   block 0: 64 entries, block 1: 128, block 2: 256 ...
 */
#include "opal/process/process.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opal/process/job.h"
#include "opal/process/process_record.h"
#include "opal/util/log.h"

enum { FIRST_BLOCK_LOG = 6, BLOCKS = 24 };

_Static_assert(sizeof(opal_process_t) == 64, "an entry is a cache line");

opal_process_t *opal_process_own_job;
uint32_t opal_process_own_size;

static const opal_pmi_job_t *job;
static unsigned char own_tag[OPAL_SHA256_BYTES];
static opal_process_t *_Atomic blocks[BLOCKS];
static uint32_t foreign_count; /* entries that were in use at some time */
static void (*forgetters[OPAL_ENDS])(opal_process_t *process);
static void (*prepare_to_describe)(void);
static atomic_bool any_is_dropped;
static pthread_mutex_t fill_lock = PTHREAD_MUTEX_INITIALIZER;

/* -- entries ------------------------------------------------------------------------------- */

enum { FEW = 32 }; /* entries, which fit a part of a page */

/* Addresses; memory comes with the first touch. Zero. NULL: there are none. */
static opal_process_t *map_entries(size_t count)
{
    if (count <= FEW)
        return calloc(count, sizeof(opal_process_t));
    void *base = mmap(NULL, count * sizeof(opal_process_t), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return base != MAP_FAILED ? base : NULL;
}

static void unmap_entries(opal_process_t *entries, size_t count)
{
    if (count <= FEW)
        free(entries);
    else if (entries != NULL)
        munmap(entries, count * sizeof *entries);
}

static uint32_t block_entries(unsigned block)
{
    return UINT32_C(1) << (FIRST_BLOCK_LOG + block);
}

static unsigned block_of(uint32_t number)
{
    return 31 - (unsigned)__builtin_clz(number + block_entries(0)) - FIRST_BLOCK_LOG;
}

opal_process_t *opal_process_foreign_entry(uint32_t index)
{
    uint32_t number = index - opal_process_own_size;
    unsigned block = block_of(number);
    return atomic_load_explicit(&blocks[block], memory_order_acquire) + number + block_entries(0) -
           block_entries(block);
}

opal_status_t opal_process_start(const opal_pmi_job_t *own)
{
    job = own;
    opal_process_own_job = map_entries(own->size);
    if (opal_process_own_job == NULL) {
        opal_log_error("no memory for the table of %u processes", own->size);
        return OPAL_ERR_NO_MEMORY;
    }
    opal_process_own_size = own->size;
    opal_sha256(own->job_id, strlen(own->job_id), own_tag);
    return OPAL_SUCCESS;
}

/* Wiped, because it has the key of a job. */
static void free_record(opal_process_record_t *record)
{
    if (record != NULL)
        explicit_bzero(record, sizeof *record);
    free(record);
}

void opal_process_stop(void)
{
    for (uint32_t i = 0; i < foreign_count; i++)
        free_record(opal_process_foreign_entry(opal_process_own_size + i)->record);
    for (unsigned block = 0; block < BLOCKS; block++) {
        unmap_entries(atomic_load(&blocks[block]), block_entries(block));
        atomic_store(&blocks[block], NULL);
    }
    unmap_entries(opal_process_own_job, opal_process_own_size);
    opal_process_own_job = NULL;
    opal_process_own_size = foreign_count = 0;
    job = NULL;
}

/* -- looking up ---------------------------------------------------------------------------- */

opal_process_t *opal_process(uint32_t index)
{
    opal_process_t *process = opal_process_entry(index);
    if (opal_process_is_foreign(index) ||
        opal_likely(atomic_load_explicit(&process->users, memory_order_acquire) > 0))
        return process;
    pthread_mutex_lock(&fill_lock);
    process->index = process->rank = index;
    process->node = job->node_of[index];
    atomic_store_explicit(&process->users, 1, memory_order_release);
    pthread_mutex_unlock(&fill_lock);
    return process;
}

opal_process_t *opal_process_self(void)
{
    return opal_process(job->rank);
}

static const unsigned char *tag_of(const opal_process_t *process)
{
    return process->record != NULL ? process->record->job : own_tag;
}

opal_process_name_t opal_process_name(uint32_t index)
{
    const opal_process_t *process = opal_process(index);
    opal_process_name_t name = {.rank = process->rank};
    memcpy(name.job, tag_of(process), sizeof name.job);
    return name;
}

const char *opal_process_text(const opal_process_t *process, char text[OPAL_PROCESS_TEXT_BYTES])
{
    if (process->record == NULL)
        snprintf(text, OPAL_PROCESS_TEXT_BYTES, "rank %u", process->rank);
    else
        snprintf(text, OPAL_PROCESS_TEXT_BYTES, "rank %u of job %.64s", process->rank,
                 process->record->job_id);
    return text;
}

static opal_process_t *find_foreign(const unsigned char *tag, size_t tag_bytes, uint32_t rank)
{
    for (uint32_t i = 0; i < foreign_count; i++) {
        opal_process_t *process = opal_process_foreign_entry(opal_process_own_size + i);
        if (process->record != NULL && process->rank == rank &&
            memcmp(tag_of(process), tag, tag_bytes) == 0)
            return process;
    }
    return NULL;
}

opal_process_t *opal_process_find(const opal_process_name_t *name)
{
    if (memcmp(name->job, own_tag, sizeof name->job) != 0)
        return find_foreign(name->job, sizeof name->job, name->rank);
    return name->rank < opal_process_own_size ? opal_process(name->rank) : NULL;
}

bool opal_process_is_before(uint32_t one, uint32_t other)
{
    opal_process_name_t name = opal_process_name(one), its = opal_process_name(other);
    int order = memcmp(name.job, its.job, sizeof name.job);
    return order != 0 ? order < 0 : name.rank < its.rank;
}

/* -- processes of other jobs --------------------------------------------------------------- */

void opal_process_on_describe(void (*prepare)(void))
{
    prepare_to_describe = prepare;
}

opal_status_t opal_process_describe(void *bytes, size_t *length)
{
    opal_process_record_t *record = calloc(1, sizeof *record);
    opal_status_t status = record != NULL ? OPAL_SUCCESS : OPAL_ERR_NO_MEMORY;
    if (prepare_to_describe != NULL)
        prepare_to_describe();
    if (status == OPAL_SUCCESS)
        status = opal_job_key(record->key);
    if (status == OPAL_SUCCESS) {
        strncpy(record->job_id, job->job_id, sizeof record->job_id - 1);
        record->rank = job->rank;
        record->size = job->size;
        record->node = job->node_of[job->rank];
        for (unsigned kind = 0; kind < OPAL_MODEX_KINDS; kind++)
            record->modex[kind].length =
                (uint16_t)opal_modex_own((opal_modex_kind_t)kind, record->modex[kind].bytes);
        *length = opal_record_encode(record, bytes);
    }
    free_record(record);
    return status;
}

/* An unused entry; NULL: no memory for one more. */
static opal_process_t *take_entry(void)
{
    for (uint32_t i = 0; i < foreign_count; i++) {
        opal_process_t *process = opal_process_foreign_entry(opal_process_own_size + i);
        if (process->record == NULL)
            return process;
    }
    unsigned block = block_of(foreign_count);
    if (block >= BLOCKS)
        return NULL;
    if (atomic_load(&blocks[block]) == NULL)
        atomic_store(&blocks[block], map_entries(block_entries(block)));
    if (atomic_load(&blocks[block]) == NULL)
        return NULL;
    uint32_t index = opal_process_own_size + foreign_count++;
    opal_process_t *process = opal_process_foreign_entry(index);
    process->index = index;
    return process;
}

static bool is_node_taken(uint32_t node)
{
    for (uint32_t i = 0; i < foreign_count; i++) {
        const opal_process_t *other = opal_process_foreign_entry(opal_process_own_size + i);
        if (other->record != NULL && other->node == node)
            return true;
    }
    return false;
}

/* Processes of one job are on the same host if their job gives it the same number. Another host
 * gets the lowest number that no process has, so that numbers do not grow with the jobs that come
 * and go. */
static uint32_t number_node(const opal_process_record_t *record)
{
    for (uint32_t i = 0; i < foreign_count; i++) {
        const opal_process_t *other = opal_process_foreign_entry(opal_process_own_size + i);
        if (other->record != NULL && other->record->node == record->node &&
            memcmp(other->record->job, record->job, sizeof record->job) == 0)
            return other->node;
    }
    uint32_t node = job->node_count;
    while (is_node_taken(node))
        node++;
    return node;
}

static opal_status_t add_foreign(opal_process_record_t *record, opal_process_t **process)
{
    uint32_t node = number_node(record);
    *process = take_entry();
    if (*process == NULL) {
        opal_log_error("no memory for a process of another job (rank %u of %s)", record->rank,
                       record->job_id);
        return OPAL_ERR_NO_MEMORY;
    }
    (*process)->record = record;
    (*process)->rank = record->rank;
    (*process)->node = node;
    (*process)->users = 1;
    return OPAL_SUCCESS;
}

static opal_status_t find_own(const opal_process_record_t *record, opal_process_t **process)
{
    if (record->rank >= opal_process_own_size) {
        opal_log_error("the address of rank %u of this job of %u is damaged", record->rank,
                       opal_process_own_size);
        return OPAL_ERR_PROTOCOL;
    }
    *process = opal_process(record->rank);
    return OPAL_SUCCESS;
}

static void forget_dropped(void);

opal_status_t opal_process_add(const void *bytes, size_t length, opal_process_t **process)
{
    forget_dropped();
    opal_process_record_t *record = malloc(sizeof *record);
    if (record == NULL) {
        opal_log_error("no memory for the address of a process of another job");
        return OPAL_ERR_NO_MEMORY;
    }
    opal_status_t status = OPAL_SUCCESS;
    bool is_known = false;
    if (!opal_record_decode(record, bytes, length)) {
        opal_log_error("the address of a process of another job is damaged (%zu bytes), or of "
                       "another version of this library",
                       length);
        status = OPAL_ERR_PROTOCOL;
    } else if (memcmp(record->job, own_tag, sizeof own_tag) == 0) {
        is_known = true;
        status = find_own(record, process);
    } else if ((*process = find_foreign(record->job, sizeof record->job, record->rank)) != NULL) {
        is_known = true;
        (*process)->users++;
    } else {
        status = add_foreign(record, process);
    }
    if (status != OPAL_SUCCESS || is_known)
        free_record(record);
    return status;
}

void opal_process_retain(uint32_t index)
{
    if (opal_process_is_foreign(index))
        atomic_fetch_add(&opal_process_entry(index)->users, 1);
}

static void forget(opal_process_t *process)
{
    for (unsigned end = OPAL_ENDS; end-- > 0;) {
        if (forgetters[end] != NULL)
            forgetters[end](process);
        opal_process_set_end(process, (opal_process_end_t)end, NULL);
    }
    free_record(process->record);
    process->record = NULL;
}

/* Forgets the processes that were dropped by their last users. */
static void forget_dropped(void)
{
    if (!atomic_exchange(&any_is_dropped, false))
        return;
    for (uint32_t i = 0; i < foreign_count; i++) {
        opal_process_t *process = opal_process_foreign_entry(opal_process_own_size + i);
        if (atomic_load(&process->users) == 0 && process->record != NULL)
            forget(process);
    }
}

void opal_process_drop(uint32_t index)
{
    if (opal_process_is_foreign(index) &&
        atomic_fetch_sub(&opal_process_entry(index)->users, 1) == 1)
        atomic_store(&any_is_dropped, true);
}

void opal_process_release(uint32_t index)
{
    opal_process_drop(index);
    forget_dropped();
}

void opal_process_on_forget(opal_process_end_t end, void (*forget)(opal_process_t *process))
{
    forgetters[end] = forget;
}

void opal_process_forget_end(opal_process_end_t end)
{
    for (uint32_t i = 0; i < foreign_count; i++)
        forgetters[end](opal_process_foreign_entry(opal_process_own_size + i));
    forgetters[end] = NULL;
}
