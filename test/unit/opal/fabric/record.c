/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/fabric/record.c: encoding and decoding of records, and which two agree. */
#include "opal/fabric/record.h"

#include <rdma/fabric.h>

#include "test/unit/opal/support.h"

static opal_fabric_record_t a_record(void)
{
    return (opal_fabric_record_t){.address_format = FI_SOCKADDR_IN,
                                  .version = FI_VERSION(1, 17),
                                  .host = "node1",
                                  .provider = "tcp;ofi_rxm",
                                  .fabric = "10.0.0.0/24",
                                  .added = "abc",
                                  .added_bytes = 3,
                                  .address = "\0\1\2",
                                  .address_bytes = 3};
}

static void check_equal(const opal_fabric_record_t *one, const opal_fabric_record_t *other)
{
    ck_assert_uint_eq(one->address_format, other->address_format);
    ck_assert_uint_eq(one->version, other->version);
    ck_assert_str_eq(one->host, other->host);
    ck_assert_str_eq(one->provider, other->provider);
    ck_assert_str_eq(one->fabric, other->fabric);
    ck_assert_uint_eq(one->added_bytes, other->added_bytes);
    ck_assert_mem_eq(one->added, other->added, one->added_bytes);
    ck_assert_uint_eq(one->address_bytes, other->address_bytes);
    ck_assert_mem_eq(one->address, other->address, one->address_bytes);
}

START_TEST(there_and_back)
{
    opal_fabric_record_t record = a_record(), again;
    size_t length;
    for (unsigned i = 0; i < 3; i++) {
        unsigned char *bytes = opal_fabric_record_encode(&record, &length);
        ck_assert(opal_fabric_record_decode(&again, bytes, length));
        check_equal(&again, &record);
        free(bytes);
        if (i == 0)
            record.address_bytes = 0;
        if (i == 1)
            record = (opal_fabric_record_t){.address_format = UINT32_MAX,
                                            .version = 0x80000001,
                                            .host = "",
                                            .provider = "",
                                            .fabric = "",
                                            .added = "",
                                            .address = "x",
                                            .address_bytes = 1};
    }
}
END_TEST

/* Every field before the address must be complete. */
START_TEST(a_cut_record_is_none)
{
    opal_fabric_record_t record = a_record(), again = {.host = "untouched"};
    size_t length;
    unsigned char *bytes = opal_fabric_record_encode(&record, &length);
    for (size_t cut = 0; cut < length - record.address_bytes; cut++) {
        unsigned char *part = malloc(cut + 1); /* so that a sanitizer sees reads behind the end */
        memcpy(part, bytes, cut);
        ck_assert(!opal_fabric_record_decode(&again, part, cut));
        free(part);
    }
    ck_assert_str_eq(again.host, "untouched");
    bytes[9] = 255; /* more bytes than there are */
    ck_assert(!opal_fabric_record_decode(&again, bytes, length));
    bytes[9] = 3;
    bytes[0]++;
    ck_assert(!opal_fabric_record_decode(&again, bytes, length));
    free(bytes);
}
END_TEST

START_TEST(an_address_of_another_kind)
{
    opal_fabric_record_t record = a_record();
    ck_assert(opal_fabric_record_has_address(&record, FI_SOCKADDR_IN, 3));
    ck_assert(!opal_fabric_record_has_address(&record, FI_SOCKADDR_IN, 4));
    ck_assert(!opal_fabric_record_has_address(&record, FI_SOCKADDR_IN6, 3));
    record.address_format = FI_ADDR_STR;
    ck_assert(opal_fabric_record_has_address(&record, FI_ADDR_STR, 100));
    record.address = "fi_shm://7"; /* its end was cut off */
    ck_assert(!opal_fabric_record_has_address(&record, FI_ADDR_STR, 3));
}
END_TEST

/* The user's part is one letter here. */
static bool compare(const void *mine, size_t mine_bytes, const void *others, size_t other_bytes,
                    opal_fabric_difference_t *difference)
{
    if (mine_bytes == other_bytes && memcmp(mine, others, mine_bytes) == 0)
        return true;
    difference->what = "the letter";
    difference->advice = "fake_letter";
    snprintf(difference->mine, sizeof difference->mine, "%.1s", (const char *)mine);
    snprintf(difference->others, sizeof difference->others, "%.1s", (const char *)others);
    return false;
}

START_TEST(records_that_agree)
{
    opal_text_t message = {0};
    opal_fabric_record_t one = a_record(), other = a_record();
    other.host = "node2";
    other.fabric = "10.1.0.0/24"; /* IP networks are routed */
    other.address = "abc";
    other.version = FI_VERSION(1, 18);
    ck_assert(opal_fabric_records_agree(&one, 0, &other, 1, "fake", compare, &message));
    one.address_format = other.address_format = FI_ADDR_EFA;
    one.fabric = other.fabric = "efa";
    ck_assert(opal_fabric_records_agree(&one, 0, &other, 1, "fake", compare, &message));
    ck_assert_uint_eq(message.length, 0);
}
END_TEST

static void set_provider(opal_fabric_record_t *record)
{
    record->provider = "net";
    record->added = "xbc"; /* the first difference is reported */
}

static void set_format(opal_fabric_record_t *record)
{
    record->address_format = FI_SOCKADDR_IN6;
    record->fabric = "fd00::/64";
}

static void set_fabric(opal_fabric_record_t *record)
{
    record->fabric = "IB-2";
}

static void set_added(opal_fabric_record_t *record)
{
    record->added = "xbc";
}

static const struct {
    uint32_t format;
    void (*set)(opal_fabric_record_t *record);
    const char *message;
} cases[] = {
    {FI_SOCKADDR_IN, set_provider,
     "rank 3 on node1 (libfabric 1.17) has the provider tcp;ofi_rxm, and rank 4 on node2 "
     "(libfabric 1.20) net; all ranks need the same, and fake_provider_include can say which"},
    {FI_SOCKADDR_IN, set_format,
     "rank 3 on node1 (libfabric 1.17) has the fabric 10.0.0.0/24, and rank 4 on node2 "
     "(libfabric 1.20) fd00::/64; all ranks need the same, and fake_domain_include can say which"},
    {FI_ADDR_IB_UD, set_fabric,
     "rank 3 on node1 (libfabric 1.17) has the fabric 10.0.0.0/24, and rank 4 on node2 "
     "(libfabric 1.20) IB-2; all ranks need the same, and fake_domain_include can say which"},
    {FI_SOCKADDR_IN, set_added,
     "rank 3 on node1 (libfabric 1.17) has the letter a, and rank 4 on node2 (libfabric 1.20) x; "
     "all ranks need the same, and fake_letter can say which"},
};

START_TEST(records_that_do_not)
{
    opal_text_t message = {0};
    opal_fabric_record_t one = a_record(), other = a_record();
    one.address_format = other.address_format = cases[_i].format;
    other.host = "node2";
    other.version = FI_VERSION(1, 20);
    cases[_i].set(&other);
    ck_assert(!opal_fabric_records_agree(&one, 3, &other, 4, "fake", compare, &message));
    ck_assert_str_eq(opal_text_string(&message), cases[_i].message);
    ck_assert(!opal_fabric_records_agree(&other, 4, &one, 3, "fake", compare, &message));
    opal_text_free(&message);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &there_and_back},
    {.test = &a_cut_record_is_none},
    {.test = &an_address_of_another_kind},
    {.test = &records_that_agree},
    {.test = &records_that_do_not, .repeats = OPAL_COUNT_OF(cases)},
};

UNIT_MAIN("record", tests, NULL);
