/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchange of modex records: one value at the launcher for each node. */
#include "opal/process/modex.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "opal/process/job.h"
#include "opal/process/notice.h"
#include "opal/process/process_record.h"
#include "opal/util/bytes.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

enum { NUMBER_BYTES = 2, LONGEST_GAP_BYTES = 2 * NUMBER_BYTES, MOST_RANKS = UINT16_MAX };

static const char *const keys[OPAL_MODEX_KINDS] = {
    [OPAL_MODEX_BTL] = "btl-modex",
    [OPAL_MODEX_MTL] = "mtl-modex",
    [OPAL_MODEX_SM] = "sm-modex",
};

/* For the record of a rank that has started alone, so not with the others of its node. */
static const char *const alone_keys[OPAL_MODEX_KINDS] = {
    [OPAL_MODEX_BTL] = "btl-alone",
    [OPAL_MODEX_MTL] = "mtl-alone",
};

typedef struct modex {
    size_t length;
    unsigned char bytes[OPAL_MODEX_MAX_BYTES];
} modex_t;

typedef struct record {
    size_t length;
    unsigned char bytes[];
} record_t;

static record_t **records[OPAL_MODEX_KINDS]; /* by node; NULL: not fetched yet */
static modex_t *own_modex[OPAL_MODEX_KINDS]; /* as handed in; NULL: none was */

/* -- a record as bytes --------------------------------------------------------------------- */

static void add_number(opal_text_t *text, size_t number)
{
    unsigned char bytes[NUMBER_BYTES];
    opal_put_le16(bytes, (uint16_t)number);
    opal_text_append(text, (const char *)bytes, sizeof bytes);
}

static bool take_number(const unsigned char **at, const unsigned char *end, size_t *number)
{
    if (end - *at < NUMBER_BYTES)
        return false;
    *number = opal_get_le16(*at);
    *at += NUMBER_BYTES;
    return true;
}

/* Equal bytes are sent, too, unless leaving them out saves more than a run costs. */
static size_t count_other(const unsigned char *bytes, const unsigned char *before, size_t left)
{
    size_t other = 0, equal = 0;
    for (size_t i = 0; i < left && equal <= LONGEST_GAP_BYTES; i++) {
        equal = bytes[i] == before[i] ? equal + 1 : 0;
        if (equal == 0)
            other = i + 1;
    }
    return other;
}

static void add_modex(opal_text_t *text, const modex_t *modex, const modex_t *before)
{
    add_number(text, modex->length);
    for (size_t done = 0; done < modex->length;) {
        size_t same = 0;
        while (done + same < modex->length &&
               modex->bytes[done + same] == before->bytes[done + same])
            same++;
        done += same;
        size_t other = count_other(modex->bytes + done, before->bytes + done, modex->length - done);
        add_number(text, same);
        add_number(text, other);
        opal_text_append(text, (const char *)modex->bytes + done, other);
        done += other;
    }
}

/* Makes the record before into this one; false: these bytes are no record. */
static bool take_modex(const unsigned char **at, const unsigned char *end, modex_t *modex)
{
    size_t same, other, done = 0;
    if (!take_number(at, end, &modex->length) || modex->length > sizeof modex->bytes)
        return false;
    while (done < modex->length) {
        if (!take_number(at, end, &same) || !take_number(at, end, &other) || same + other == 0 ||
            same + other > modex->length - done || other > (size_t)(end - *at))
            return false;
        memcpy(modex->bytes + done + same, *at, other);
        *at += other;
        done += same + other;
    }
    memset(modex->bytes + done, 0, sizeof modex->bytes - done);
    return true;
}

static bool take_records(const record_t *record, size_t index, modex_t *modex)
{
    const unsigned char *at = record->bytes, *end = at + record->length;
    size_t count;
    *modex = (modex_t){.length = 0};
    if (!take_number(&at, end, &count) || index >= count)
        return false;
    for (size_t i = 0; i <= index; i++) {
        if (!take_modex(&at, end, modex))
            return false;
    }
    return true;
}

/* -- the modex records of this node -------------------------------------------------------- */

static bool read_from_segment(opal_modex_kind_t kind, unsigned local_rank, modex_t *modex)
{
    const opal_node_slot_t *slot = opal_node_slot(local_rank);
    uint64_t offset = atomic_load_explicit(&slot->modex[kind], memory_order_acquire);
    *modex = (modex_t){.length = 0};
    if (offset == 0)
        return false;
    /* Peers can write to it: the length is read once. */
    const modex_t *written = opal_node_at(offset);
    size_t length = written->length;
    if (length > sizeof modex->bytes)
        return false;
    modex->length = length;
    memcpy(modex->bytes, written->bytes, length);
    return true;
}

/* `*is_last`: all records of the node are there now. */
static opal_status_t write_to_segment(opal_modex_kind_t kind, const void *bytes, size_t length,
                                      bool *is_last)
{
    uint64_t offset = atomic_load(&opal_node_own_slot()->modex[kind]); /* of an earlier start */
    if (offset == 0)
        offset = opal_node_carve(sizeof(modex_t));
    if (offset == 0) {
        opal_log_error("no room for the addresses of this rank in the node's shared memory; the "
                       "parameter node_segment_size sets its size");
        return OPAL_ERR_NO_MEMORY;
    }
    modex_t *modex = opal_node_at(offset);
    opal_status_t status = opal_node_populate(modex, offsetof(modex_t, bytes) + length);
    if (status != OPAL_SUCCESS)
        return status;
    modex->length = length;
    memcpy(modex->bytes, bytes, length);
    atomic_store_explicit(&opal_node_own_slot()->modex[kind], offset, memory_order_release);
    /* The rank that completes the records sees all of them. */
    unsigned written = atomic_fetch_add(&opal_node_slot(0)->modex_count[kind], 1) + 1;
    *is_last = written % opal_node_ranks() == 0; /* the ranks start together, every time */
    return OPAL_SUCCESS;
}

static opal_status_t publish_node(opal_modex_kind_t kind)
{
    void *state;
    char key[OPAL_START_KEY_BYTES];
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    modex_t *modex = opal_xcalloc(2, sizeof *modex), *before = modex + 1;
    opal_text_t text = {0};
    opal_status_t status = OPAL_SUCCESS;
    add_number(&text, opal_node_ranks());
    for (unsigned i = 0; i < opal_node_ranks() && status == OPAL_SUCCESS; i++) {
        if (!read_from_segment(kind, i, modex))
            status = OPAL_ERR_PROTOCOL;
        add_modex(&text, modex, before);
        *before = *modex;
    }
    if (status == OPAL_SUCCESS)
        status = pmi->put_for(state, opal_node_slot(0)->rank, opal_start_key(keys[kind], key),
                              text.bytes, text.length);
    else
        opal_log_error("the addresses of this node's ranks are damaged");
    opal_text_free(&text);
    free(modex);
    return status;
}

/* For ranks that have met this one in a fence; or for those that have started alone. */
typedef enum reader { TOGETHER, ALONE } reader_t;

static opal_status_t publish_own(opal_modex_kind_t kind, reader_t reader, const void *bytes,
                                 size_t length)
{
    void *state;
    char key[OPAL_START_KEY_BYTES];
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    modex_t *modex = opal_xcalloc(2, sizeof *modex);
    opal_text_t text = {0};
    modex->length = length;
    memcpy(modex->bytes, bytes, length);
    add_number(&text, 1);
    add_modex(&text, modex, modex + 1);
    opal_status_t status =
        reader == ALONE
            ? opal_notice_put(opal_start_key(alone_keys[kind], key), text.bytes, text.length)
            : pmi->put(state, opal_start_key(keys[kind], key), text.bytes, text.length);
    opal_text_free(&text);
    free(modex);
    return status;
}

opal_status_t opal_modex_offer(opal_modex_kind_t kind, const void *bytes, size_t length)
{
    modex_t *modex = malloc(offsetof(modex_t, bytes) + length);
    if (modex == NULL)
        return OPAL_ERR_NO_MEMORY;
    modex->length = length;
    memcpy(modex->bytes, bytes, length);
    free(own_modex[kind]);
    own_modex[kind] = modex;
    return OPAL_SUCCESS;
}

opal_status_t opal_modex_exchange(opal_modex_kind_t kind, const void *bytes, size_t length)
{
    void *state;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    bool together =
        pmi->put_for != NULL && opal_node_ranks() > 1 && opal_node_ranks() <= MOST_RANKS;
    bool is_last = false;
    opal_status_t status;
    if (length > OPAL_MODEX_MAX_BYTES) {
        opal_log_error("the addresses of this rank take %zu bytes, and there is room for %d",
                       length, OPAL_MODEX_MAX_BYTES);
        return OPAL_ERR_TOO_LARGE;
    }
    status = opal_modex_offer(kind, bytes, length);
    if (status != OPAL_SUCCESS)
        return status;
    if (together)
        status = write_to_segment(kind, bytes, length, &is_last);
    else
        status = publish_own(kind, TOGETHER, bytes, length);
    if (status == OPAL_SUCCESS &&
        ((together && opal_job_is_alone()) || opal_job_sees_notices_only()))
        status = publish_own(kind, ALONE, bytes, length);
    if (status == OPAL_SUCCESS && is_last)
        status = publish_node(kind);
    return status == OPAL_SUCCESS ? opal_job_fence() : status;
}

/* -- the modex records of other ranks ------------------------------------------------------ */

/* The first rank of a rank's node, and its index among the ranks there. */
typedef struct position {
    unsigned first, index;
} position_t;

static position_t find_position(unsigned rank)
{
    const opal_pmi_job_t *job = opal_job();
    position_t position = {.first = rank};
    for (unsigned i = job->size; i-- > 0;) {
        if (job->node_of[i] != job->node_of[rank])
            continue;
        position.index += i < rank;
        position.first = i;
    }
    return position;
}

static opal_status_t fetch(opal_modex_kind_t kind, reader_t reader, unsigned rank,
                           record_t **record)
{
    void *state, *bytes;
    char key[OPAL_START_KEY_BYTES];
    size_t length;
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    opal_status_t status =
        reader == ALONE
            ? opal_notice_get(rank, opal_start_key(alone_keys[kind], key), &bytes, &length)
            : pmi->get(state, rank, opal_start_key(keys[kind], key), &bytes, &length);
    if (status != OPAL_SUCCESS)
        return status;
    *record = malloc(sizeof **record + length);
    if (*record != NULL) {
        (*record)->length = length;
        memcpy((*record)->bytes, bytes, length);
    }
    free(bytes);
    return *record != NULL ? OPAL_SUCCESS : OPAL_ERR_NO_MEMORY;
}

/* The value that the node's first rank has published, which may be that rank's record alone. */
static opal_status_t find_record(opal_modex_kind_t kind, unsigned node, unsigned first,
                                 const record_t **record)
{
    if (records[kind] == NULL)
        records[kind] = calloc(opal_job()->node_count, sizeof(record_t *));
    if (records[kind] == NULL)
        return OPAL_ERR_NO_MEMORY;
    record_t **known = &records[kind][node];
    opal_status_t status = *known == NULL ? fetch(kind, TOGETHER, first, known) : OPAL_SUCCESS;
    *record = *known;
    return status;
}

static bool is_of_one(const record_t *record)
{
    const unsigned char *at = record->bytes;
    size_t count;
    return take_number(&at, at + record->length, &count) && count == 1;
}

/* *own: the record of that rank alone, malloc'ed, unless *is_of_all. */
static opal_status_t find_by_values(opal_modex_kind_t kind, unsigned rank, position_t position,
                                    const record_t **record, record_t **own, bool *is_of_all)
{
    opal_status_t status = find_record(kind, opal_job()->node_of[rank], position.first, record);
    *is_of_all = status == OPAL_SUCCESS && !is_of_one(*record);
    if ((status == OPAL_SUCCESS || status == OPAL_ERR_NOT_FOUND) && !*is_of_all &&
        rank != position.first) {
        status = fetch(kind, TOGETHER, rank, own);
        *record = *own;
    }
    return status;
}

static opal_status_t find_remote(opal_modex_kind_t kind, unsigned rank, modex_t *modex)
{
    const record_t *record;
    record_t *own = NULL;
    bool is_of_all = false;
    if (rank >= opal_job()->size)
        return OPAL_ERR_NOT_FOUND;
    position_t position = find_position(rank);
    opal_status_t status = OPAL_ERR_NOT_FOUND;
    if (!opal_job_sees_notices_only())
        status = find_by_values(kind, rank, position, &record, &own, &is_of_all);
    if (status == OPAL_ERR_NOT_FOUND && opal_job_is_alone()) {
        status = fetch(kind, ALONE, rank, &own);
        record = own;
    }
    if (status == OPAL_SUCCESS && !take_records(record, is_of_all ? position.index : 0, modex)) {
        opal_log_error("what the launcher has of the addresses of rank %u is not understood: it "
                       "runs another version of this library",
                       rank);
        status = OPAL_ERR_PROTOCOL;
    }
    free(own);
    return status;
}

static opal_status_t find_foreign(opal_modex_kind_t kind, const opal_process_record_t *record,
                                  modex_t *modex)
{
    modex->length = record->modex[kind].length;
    memcpy(modex->bytes, record->modex[kind].bytes, modex->length);
    return modex->length > 0 ? OPAL_SUCCESS : OPAL_ERR_NOT_FOUND;
}

static opal_status_t find(opal_modex_kind_t kind, const opal_process_t *process, modex_t *modex)
{
    if (opal_process_record(process) != NULL)
        return find_foreign(kind, opal_process_record(process), modex);
    int local_rank = opal_node_local_rank(process->rank);
    if (local_rank >= 0 && read_from_segment(kind, (unsigned)local_rank, modex))
        return OPAL_SUCCESS;
    return find_remote(kind, process->rank, modex);
}

opal_status_t opal_modex_get(opal_modex_kind_t kind, const opal_process_t *process, void **bytes,
                             size_t *length)
{
    modex_t *modex = malloc(sizeof *modex);
    if (modex == NULL)
        return OPAL_ERR_NO_MEMORY;
    opal_status_t status = find(kind, process, modex);
    void *copy = status == OPAL_SUCCESS ? malloc(modex->length + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, modex->bytes, modex->length);
        *bytes = copy;
        *length = modex->length;
    } else if (status == OPAL_SUCCESS) {
        status = OPAL_ERR_NO_MEMORY;
    }
    free(modex);
    return status;
}

size_t opal_modex_own(opal_modex_kind_t kind, unsigned char bytes[OPAL_MODEX_MAX_BYTES])
{
    if (own_modex[kind] == NULL)
        return 0;
    memcpy(bytes, own_modex[kind]->bytes, own_modex[kind]->length);
    return own_modex[kind]->length;
}

void opal_modex_forget(opal_modex_kind_t kind)
{
    for (unsigned node = 0; records[kind] != NULL && node < opal_job()->node_count; node++)
        free(records[kind][node]);
    free(records[kind]);
    free(own_modex[kind]);
    records[kind] = NULL;
    own_modex[kind] = NULL;
}
