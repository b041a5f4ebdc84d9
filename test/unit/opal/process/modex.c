/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/process/modex.c: one record for each node, whoever comes last; what is asked of the launcher
 * and what is not; records that are damaged. This process is one rank after the other: nobody waits
 * for anybody here, which is part of what is tested.
 */
#include "opal/process/modex.h"

#include "opal/mca/base/param.h"
#include "opal/process/job.h"
#include "test/unit/opal/no_memory.h"
#include "test/unit/opal/support.h"

enum { RANKS = 6, NODES = 2, LOCAL = 3, MOST_VALUES = 16 };

/* -- the launcher, and who this process is ------------------------------------------------- */

static struct {
    unsigned rank;
    unsigned char *bytes;
    size_t length;
} values[MOST_VALUES];
static unsigned value_count, fences, gets;
static bool is_alone;

static opal_status_t put_for(void *state OPAL_UNUSED, unsigned rank, const char *key,
                             const void *bytes, size_t length)
{
    ck_assert_str_eq(key, is_alone ? "btl-alone" : "btl-modex");
    ck_assert_uint_lt(value_count, MOST_VALUES);
    for (unsigned i = 0; i < value_count; i++)
        ck_assert_uint_ne(values[i].rank, rank); /* a key is put once */
    values[value_count].rank = rank;
    values[value_count].length = length;
    values[value_count].bytes = opal_xmalloc(length);
    memcpy(values[value_count++].bytes, bytes, length);
    return OPAL_SUCCESS;
}

static opal_pmi_job_t job;

static opal_status_t put(void *state, const char *key, const void *bytes, size_t length)
{
    return put_for(state, job.rank, key, bytes, length);
}

static opal_status_t fence(void *state OPAL_UNUSED)
{
    fences++;
    return OPAL_SUCCESS;
}

static opal_status_t get(void *state OPAL_UNUSED, unsigned rank, const char *key, void **bytes,
                         size_t *length)
{
    gets++;
    if (strcmp(key, is_alone ? "btl-alone" : "btl-modex") != 0)
        return OPAL_ERR_NOT_FOUND;
    for (unsigned i = 0; i < value_count; i++) {
        if (values[i].rank != rank)
            continue;
        *bytes = __real_malloc(values[i].length);
        memcpy(*bytes, values[i].bytes, values[i].length);
        *length = values[i].length;
        return OPAL_SUCCESS;
    }
    return OPAL_ERR_NOT_FOUND;
}

static opal_pmi_ops_t pmi;

const opal_pmi_job_t *opal_job(void)
{
    return &job;
}

const opal_pmi_ops_t *opal_pmi(void **state)
{
    *state = NULL;
    return &pmi;
}

opal_status_t opal_job_fence(void)
{
    return is_alone ? OPAL_SUCCESS : fence(NULL);
}

bool opal_job_is_alone(void)
{
    return is_alone;
}

bool opal_job_sees_notices_only(void)
{
    return is_alone && !pmi.is_prompt;
}

const char *opal_start_key(const char *name, char key[OPAL_START_KEY_BYTES] OPAL_UNUSED)
{
    return name;
}

void opal_abort(int code)
{
    _exit(code);
}

/* -- the job: ranks 0, 2, 4 on one node, 1, 3, 5 on another one ---------------------------- */

static unsigned node_of[RANKS];
static opal_node_segment_t segments[NODES];
static size_t lengths[RANKS];
static unsigned char records[RANKS][OPAL_MODEX_MAX_BYTES];

static void setup(void)
{
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    unsetenv("MICA_JOBID");
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    ck_assert_int_eq(opal_node_register(), OPAL_SUCCESS);
    pmi = (opal_pmi_ops_t){.put = put, .put_for = put_for, .fence = fence, .get = get};
    job = (opal_pmi_job_t){.size = RANKS,
                           .local_size = LOCAL,
                           .node_of = node_of,
                           .node_count = NODES,
                           .job_id = "unit"};
    ck_assert_int_eq(opal_process_start(&job), OPAL_SUCCESS);
    for (unsigned i = 0; i < NODES; i++)
        ck_assert_int_eq(opal_node_create("unit", LOCAL, (int)getpid(), &segments[i]),
                         OPAL_SUCCESS);
    for (unsigned i = 0; i < RANKS; i++) {
        node_of[i] = i % NODES;
        lengths[i] = 150;
        memset(records[i], 'a' + (int)node_of[i], lengths[i]);
        records[i][70] = records[i][90] = (unsigned char)i; /* as two ports */
    }
    unit_capture();
}

static void leave(void)
{
    opal_modex_forget(OPAL_MODEX_BTL);
    opal_node_detach();
}

/* A process finds its segment by the number of a descriptor, which it keeps. */
static void become(unsigned rank)
{
    enum { FD = 50 };
    job.rank = rank;
    job.local_rank = rank / NODES;
    setenv("MICA_NODE_FD", "50", 1);
    ck_assert_int_eq(dup2(segments[node_of[rank]].fd, FD), FD);
    ck_assert_int_eq(opal_node_attach(&job, &pmi, NULL), OPAL_SUCCESS);
}

static opal_status_t hand_in(unsigned rank)
{
    become(rank);
    opal_status_t status = opal_modex_exchange(OPAL_MODEX_BTL, records[rank], lengths[rank]);
    leave();
    return status;
}

static void hand_in_all(void)
{
    static const unsigned order[RANKS] = {4, 1, 0, 5, 2, 3};
    for (unsigned i = 0; i < RANKS; i++)
        ck_assert_int_eq(hand_in(order[i]), OPAL_SUCCESS);
    ck_assert_uint_eq(fences, RANKS);
}

static opal_status_t look_up(unsigned rank)
{
    void *bytes;
    size_t length;
    opal_status_t status = opal_modex_get(OPAL_MODEX_BTL, opal_process(rank), &bytes, &length);
    if (status == OPAL_SUCCESS) {
        ck_assert_uint_eq(length, lengths[rank]);
        ck_assert_mem_eq(bytes, records[rank], length);
        free(bytes);
    }
    return status;
}

/* Every rank finds every other one's. */
static void look_up_all(void)
{
    for (unsigned rank = 0; rank < RANKS; rank++) {
        become(rank);
        for (unsigned other = 0; other < RANKS; other++)
            ck_assert_int_eq(look_up(other), OPAL_SUCCESS);
        leave();
    }
    ck_assert_str_eq(unit_stderr(), "");
}

/* -- tests --------------------------------------------------------------------------------- */

START_TEST(a_node_publishes_one_record)
{
    hand_in_all();
    ck_assert_uint_eq(value_count, NODES);
    ck_assert_uint_eq(gets, 0);
    for (unsigned i = 0; i < NODES; i++)
        ck_assert_uint_lt(values[i].rank, NODES); /* the first rank of each */
    look_up_all();
    /* One for the other node; none for the own one, which is in the segment. */
    ck_assert_uint_eq(gets, RANKS);
}
END_TEST

/* Wherever memory ends, it can be asked for again. */
START_TEST(a_modex_record_without_memory)
{
    opal_status_t status = OPAL_ERR_NO_MEMORY;
    hand_in_all();
    for (unsigned rank = 0; rank < NODES; rank++) {
        become(0);
        for (unsigned i = 0; i < 10; i++) {
            void *bytes = NULL;
            size_t length;
            unit_allocations = i;
            status = opal_modex_get(OPAL_MODEX_BTL, opal_process(rank), &bytes, &length);
            unit_allocations = UINT_MAX;
            ck_assert(status == (bytes != NULL ? OPAL_SUCCESS : OPAL_ERR_NO_MEMORY));
            ck_assert(i > 0 || bytes == NULL);
            free(bytes);
            opal_modex_forget(OPAL_MODEX_BTL);
        }
        ck_assert_int_eq(status, OPAL_SUCCESS);
        leave();
    }
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(what_modex_records_have_in_common_is_sent_once)
{
    hand_in_all();
    /* The first modex record and its head; then for each other one two ports, each with a run's
     * head, and a run for what is equal behind them. */
    for (unsigned i = 0; i < NODES; i++)
        ck_assert_uint_le(values[i].length, 2 + 6 + 150 + (LOCAL - 1) * (2 + 5 + 5 + 4));
}
END_TEST

START_TEST(nobody_publishes_before_the_last_one)
{
    ck_assert_int_eq(hand_in(0), OPAL_SUCCESS);
    ck_assert_int_eq(hand_in(4), OPAL_SUCCESS);
    ck_assert_uint_eq(value_count, 0);
    ck_assert_int_eq(hand_in(2), OPAL_SUCCESS);
    ck_assert_uint_eq(value_count, 1);
    /* Ranks 1, 3 and 5 have handed in nothing. */
    become(0);
    ck_assert_int_eq(look_up(3), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(look_up(4), OPAL_SUCCESS);
    leave();
    become(1);
    ck_assert_int_eq(look_up(3), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(look_up(4), OPAL_SUCCESS);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(who_speaks_for_itself_only_publishes_its_own)
{
    pmi.put_for = NULL;
    hand_in_all();
    ck_assert_uint_eq(value_count, RANKS);
    look_up_all();
}
END_TEST

static void spoil_lengths(void)
{
    lengths[0] = 0;
    lengths[1] = 1;
    lengths[2] = OPAL_MODEX_MAX_BYTES;
    lengths[3] = OPAL_MODEX_MAX_BYTES;
    lengths[4] = 3;
    lengths[5] = 600;
    for (unsigned i = 0; i < RANKS; i++) {
        for (size_t k = 0; k < lengths[i]; k++)
            records[i][k] = (unsigned char)(k * k / 7 * (i / 2 + 1));
    }
}

START_TEST(modex_records_of_all_lengths)
{
    spoil_lengths();
    hand_in_all();
    look_up_all();
    ck_assert_uint_eq(value_count, NODES);
}
END_TEST

START_TEST(one_that_is_too_long_is_refused)
{
    lengths[0] = OPAL_MODEX_MAX_BYTES + 1;
    become(0);
    ck_assert_int_eq(opal_modex_exchange(OPAL_MODEX_BTL, records[0], lengths[0]),
                     OPAL_ERR_TOO_LARGE);
    unit_assert_part(unit_stderr(), "take 2049 bytes, and there is room for 2048");
    ck_assert_uint_eq(fences, 0);
}
END_TEST

START_TEST(a_damaged_record_is_refused)
{
    hand_in_all();
    become(0);
    unsigned at = values[0].rank == 1 ? 0 : 1;
    size_t whole = values[at].length;
    for (size_t length = 0; length < whole; length++) {
        values[at].length = length;
        ck_assert_int_ne(look_up(5), OPAL_SUCCESS);
        opal_modex_forget(OPAL_MODEX_BTL);
    }
    unit_assert_part(unit_stderr(), "addresses of rank 5 is not understood");
}
END_TEST

START_TEST(no_bytes_do_harm)
{
    hand_in_all();
    become(0);
    unsigned at = values[0].rank == 1 ? 0 : 1;
    for (size_t i = 0; i < values[at].length; i++) {
        for (unsigned change = 1; change < 256; change += 2) {
            void *bytes;
            size_t length;
            values[at].bytes[i] ^= (unsigned char)change;
            if (opal_modex_get(OPAL_MODEX_BTL, opal_process(5), &bytes, &length) == OPAL_SUCCESS) {
                ck_assert_uint_le(length, OPAL_MODEX_MAX_BYTES);
                free(bytes);
            }
            values[at].bytes[i] ^= (unsigned char)change;
            opal_modex_forget(OPAL_MODEX_BTL);
        }
    }
}
END_TEST

static struct {
    char *name, *port;
} names[8];
static size_t name_count;

static opal_status_t publish(void *state OPAL_UNUSED, const char *name, const char *port)
{
    ck_assert_uint_lt(name_count, OPAL_COUNT_OF(names));
    names[name_count].name = strdup(name);
    names[name_count++].port = strdup(port);
    return OPAL_SUCCESS;
}

static opal_status_t find_name(void *state OPAL_UNUSED, const char *name, char **port)
{
    for (size_t i = 0; i < name_count; i++) {
        if (strcmp(names[i].name, name) != 0)
            continue;
        *port = strdup(names[i].port);
        return OPAL_SUCCESS;
    }
    return OPAL_ERR_NOT_FOUND;
}

/* Ranks 0 and 3 start alone; the others have not started. The launcher shows values at once, or
 * after a fence, and names at once. */
START_TEST(who_starts_alone_waits_for_nobody)
{
    void *bytes;
    size_t length;
    is_alone = true;
    pmi.is_prompt = _i == 0;
    pmi.publish = publish;
    pmi.lookup = find_name;
    ck_assert_int_eq(hand_in(0), OPAL_SUCCESS);
    ck_assert_int_eq(hand_in(3), OPAL_SUCCESS);
    ck_assert_uint_eq(fences, 0);
    become(0);
    ck_assert_int_eq(opal_modex_get(OPAL_MODEX_BTL, opal_process(3), &bytes, &length),
                     OPAL_SUCCESS);
    ck_assert_uint_eq(length, lengths[3]);
    ck_assert_mem_eq(bytes, records[3], length);
    free(bytes);
    ck_assert_int_eq(opal_modex_get(OPAL_MODEX_BTL, opal_process(1), &bytes, &length),
                     OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(name_count > 0, !pmi.is_prompt);
    leave();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &who_starts_alone_waits_for_nobody, .repeats = 2},
    {.test = &a_modex_record_without_memory},
    {.test = &a_node_publishes_one_record},
    {.test = &what_modex_records_have_in_common_is_sent_once},
    {.test = &nobody_publishes_before_the_last_one},
    {.test = &who_speaks_for_itself_only_publishes_its_own},
    {.test = &modex_records_of_all_lengths},
    {.test = &one_that_is_too_long_is_refused},
    {.test = &a_damaged_record_is_refused},
    {.test = &no_bytes_do_harm},
};

UNIT_MAIN("modex", tests, setup);
