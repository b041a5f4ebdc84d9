/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What opal/runtime/init.h offers, for the ranks of a crew: the job, and a pmi in memory that all
 * of them see. It replaces opal/runtime/init.c in the programs that are linked with it.
 *
 * Values have their places for ever, so a reader needs no lock: one is put again only by a rank
 * that starts again, when the others do.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/process/job.h"
#include "opal/process/key.h"
#include "opal/util/text.h"

#include "test/unit/opal/mca/btl/crew.h"

enum { KEY_BYTES = 41, VALUE_BYTES = 1000, MOST_VALUES = 256 };

typedef struct value {
    unsigned rank;
    char key[KEY_BYTES];
    size_t length;
    unsigned char bytes[VALUE_BYTES];
} value_t;

typedef struct board {
    unsigned count, in_fence;
    value_t values[MOST_VALUES];
} board_t;

static board_t *board;
static const opal_pmi_job_t *job;
static unsigned visible; /* values, since the last fence */

static value_t *find(unsigned rank, const char *key, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        value_t *value = &board->values[i];
        if (value->rank == rank && strcmp(value->key, key) == 0)
            return value;
    }
    return NULL;
}

static void add(unsigned rank, const char *key, const void *bytes, size_t length)
{
    CREW_MUST(length <= VALUE_BYTES && strlen(key) < KEY_BYTES);
    value_t *value = find(rank, key, __atomic_load_n(&board->count, __ATOMIC_ACQUIRE));
    if (value == NULL)
        value = &board->values[__atomic_fetch_add(&board->count, 1, __ATOMIC_ACQ_REL)];
    CREW_MUST(value < board->values + MOST_VALUES);
    value->rank = rank;
    value->length = length;
    strcpy(value->key, key);
    memcpy(value->bytes, bytes, length);
}

static opal_status_t crew_put(void *state OPAL_UNUSED, const char *key, const void *bytes,
                              size_t length)
{
    add(job->rank, key, bytes, length);
    return OPAL_SUCCESS;
}

static opal_status_t crew_fence(void *state OPAL_UNUSED)
{
    unsigned mine = __atomic_add_fetch(&board->in_fence, 1, __ATOMIC_ACQ_REL);
    unsigned wanted = (mine + job->size - 1) / job->size * job->size;
    while (__atomic_load_n(&board->in_fence, __ATOMIC_ACQUIRE) < wanted)
        sched_yield();
    visible = __atomic_load_n(&board->count, __ATOMIC_ACQUIRE);
    return OPAL_SUCCESS;
}

static opal_status_t crew_get(void *state OPAL_UNUSED, unsigned rank, const char *key, void **bytes,
                              size_t *length)
{
    const value_t *value = find(rank, key, visible);
    if (value == NULL)
        return OPAL_ERR_NOT_FOUND;
    *bytes = opal_xmalloc(value->length);
    memcpy(*bytes, value->bytes, value->length);
    *length = value->length;
    return OPAL_SUCCESS;
}

void crew_pmi_create(unsigned char byte)
{
    unsigned char key[OPAL_JOB_KEY_BYTES];
    memset(key, byte, sizeof key);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    add(0, OPAL_JOB_KEY_NAME, key, sizeof key);
}

void crew_pmi_destroy(void)
{
    munmap(board, sizeof *board);
}

void crew_pmi_join(const opal_pmi_job_t *its)
{
    job = its;
}

/* -- opal/runtime/init.h ------------------------------------------------------------------- */

const opal_pmi_job_t *opal_job(void)
{
    static const opal_pmi_job_t alone = {.size = 1, .local_size = 1};
    return job != NULL ? job : &alone;
}

const char *opal_start_key(const char *name, char key[OPAL_START_KEY_BYTES] OPAL_UNUSED)
{
    return name;
}

const opal_pmi_ops_t *opal_pmi(void **state)
{
    static const opal_pmi_ops_t ops = {.put = crew_put, .fence = crew_fence, .get = crew_get};
    *state = NULL;
    return &ops;
}

opal_status_t opal_job_fence(void)
{
    return crew_fence(NULL);
}

bool opal_job_is_alone(void)
{
    return false;
}

bool opal_job_sees_notices_only(void)
{
    return false;
}

void opal_abort(int code)
{
    _exit(code);
}
