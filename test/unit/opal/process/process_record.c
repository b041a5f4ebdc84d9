/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/process/process_record.c: records that come back as they were, and bytes that are none. */
#include "opal/process/process_record.h"

#include "test/unit/opal/support.h"

static unsigned char bytes[OPAL_RECORD_MOST_BYTES + 1];
static opal_process_record_t record, read_record;

/* A job id of so many letters, modex records of so many bytes. */
static size_t make(size_t id_bytes, size_t btl_bytes, size_t mtl_bytes)
{
    record = (opal_process_record_t){.rank = 0x01020304, .node = 77, .size = 0xfffffffe};
    memset(record.job_id, 'j', id_bytes);
    memset(record.key, 0x9c, sizeof record.key);
    record.modex[OPAL_MODEX_BTL].length = (uint16_t)btl_bytes;
    record.modex[OPAL_MODEX_MTL].length = (uint16_t)mtl_bytes;
    memset(record.modex[OPAL_MODEX_BTL].bytes, 0x11, btl_bytes);
    memset(record.modex[OPAL_MODEX_MTL].bytes, 0x22, mtl_bytes);
    opal_sha256(record.job_id, strlen(record.job_id), record.job);
    return opal_record_encode(&record, bytes);
}

START_TEST(records_come_back)
{
    static const size_t ids[] = {0, 1, 31, OPAL_JOB_ID_BYTES - 1};
    static const size_t records[] = {0, 1, 100, OPAL_MODEX_MAX_BYTES};
    for (size_t i = 0; i < 4 * 4 * 4; i++) {
        size_t length = make(ids[i % 4], records[i / 4 % 4], records[i / 16]);
        ck_assert_uint_le(length, OPAL_RECORD_MOST_BYTES);
        memset(&read_record, 0xee, sizeof read_record);
        ck_assert(opal_record_decode(&read_record, bytes, length));
        ck_assert_mem_eq(&read_record, &record, sizeof record);
    }
}
END_TEST

START_TEST(no_part_of_a_record_is_one)
{
    size_t length = make(20, 60, 5);
    for (size_t i = 0; i < length; i++)
        ck_assert(!opal_record_decode(&read_record, bytes, i));
    ck_assert(!opal_record_decode(&read_record, bytes, length + 1));
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    size_t length = make(3, 4, 5);
    bytes[0]++; /* another format */
    ck_assert(!opal_record_decode(&read_record, bytes, length));
    make(3, 4, 5);
    memcpy(bytes + 5 + 8, bytes + 5, 4); /* the rank, as the size of the job */
    ck_assert(!opal_record_decode(&read_record, bytes, length));
    make(3, 4, 5);
    const size_t modex = 5 + 12 + sizeof record.key;
    bytes[modex] = (unsigned char)(OPAL_MODEX_MAX_BYTES + 1);
    bytes[modex + 1] = (OPAL_MODEX_MAX_BYTES + 1) >> 8;
    ck_assert(!opal_record_decode(&read_record, bytes, sizeof bytes));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &records_come_back},
    {.test = &no_part_of_a_record_is_one},
    {.test = &what_cannot_be_is_refused},
};

UNIT_MAIN("process_record", tests, NULL);
