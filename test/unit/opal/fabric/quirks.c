/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/fabric/quirks.c: what a provider finds in the environment, and what is left of it. */
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdlib.h>

#include "ompi/mca/mtl/ofi/ofi.h"
#include "test/unit/opal/support.h"

#define EAGER   "FI_OFI_RXM_EAGER_LIMIT"
#define PACKETS "FI_OFI_RXM_SAR_LIMIT"
#define PACKET  "FI_OFI_RXM_BUFFER_SIZE"
#define UNACKED "FI_OFI_RXD_MAX_UNACKED"

static opal_fabric_quirks_t quirks;
static struct fi_fabric_attr fabric;
static struct fi_domain_attr domain;
static struct fi_rx_attr receives;
static struct fi_tx_attr sends = {.inject_size = 1200};
static struct fi_info info = {
    .fabric_attr = &fabric, .domain_attr = &domain, .rx_attr = &receives, .tx_attr = &sends};

static void setup(void)
{
    unsetenv(EAGER);
    unsetenv(PACKETS);
    unsetenv(PACKET);
    receives.iov_limit = 4;
    domain.mr_mode = 0;
}

static void begin(const char *provider)
{
    fabric.prov_name = (char *)(uintptr_t)provider;
    opal_fabric_quirks_begin(&info, &quirks);
}

static void check_limits(const char *eager, const char *packets)
{
    ck_assert_pstr_eq(getenv(EAGER), eager);
    ck_assert_pstr_eq(getenv(PACKETS), packets);
}

START_TEST(settings_are_lent)
{
    begin("net;ofi_rxm");
    check_limits("65536", "65536");
    ck_assert_uint_eq(quirks.unclaimable_from, 16385);
    ck_assert_uint_eq(quirks.unclaimable_end, 65537);
    ck_assert_uint_eq(quirks.spill_below, 65536);
    ck_assert_uint_eq(quirks.spill_bytes, 65536);
    opal_fabric_quirks_end();
    check_limits(NULL, NULL);
    opal_fabric_quirks_end();
}
END_TEST

/* Whatever it sends without asking must fit. */
START_TEST(the_users_stay)
{
    setenv(EAGER, "262144", 1);
    setenv(PACKETS, "0", 1);
    begin("tcp;ofi_rxm");
    check_limits("262144", "0");
    ck_assert_uint_eq(quirks.unclaimable_end, 262145);
    ck_assert_uint_eq(quirks.spill_below, 262144);
    ck_assert_uint_eq(quirks.spill_bytes, 262144);
    opal_fabric_quirks_end();
    check_limits("262144", "0");

    setenv(PACKET, "0x100000", 1);
    begin("tcp;ofi_rxm");
    ck_assert_uint_eq(quirks.unclaimable_from, (1 << 20) + 1);
    ck_assert_uint_eq(quirks.unclaimable_end, (1 << 20) + 1);
    opal_fabric_quirks_end();
}
END_TEST

/* Without room for what does not fit there must be no packets. */
START_TEST(no_room)
{
    domain.mr_mode = FI_MR_LOCAL;
    begin("verbs;ofi_rxm");
    check_limits("65536", "0");
    ck_assert_uint_eq(quirks.spill_below, 0);
    opal_fabric_quirks_end();

    domain.mr_mode = 0;
    receives.iov_limit = 1;
    begin("net;ofi_rxm");
    check_limits("65536", "0");
    ck_assert_uint_eq(quirks.spill_below, 0);
    opal_fabric_quirks_end();
    begin("udp;ofi_rxd");
    ck_assert_uint_eq(quirks.spill_below, 0);
    opal_fabric_quirks_end();
}
END_TEST

START_TEST(others)
{
    begin("udp;ofi_rxd");
    check_limits(NULL, NULL);
    ck_assert_uint_eq(quirks.spill_below, 1200);
    ck_assert_uint_eq(quirks.spill_bytes, 1200);
    ck_assert_uint_eq(quirks.max_bytes, 1200);
    ck_assert_uint_eq(quirks.unclaimable_from, 0);
    ck_assert_uint_eq(quirks.unclaimable_end, SIZE_MAX);
    ck_assert(quirks.needs_polling && !quirks.never_injects && !quirks.meets_all);
    opal_fabric_quirks_end();
    begin("sockets");
    check_limits(NULL, NULL);
    ck_assert(quirks.never_injects && quirks.meets_all && quirks.peeks_taken &&
              !quirks.needs_polling);
    ck_assert_uint_eq(quirks.max_bytes, 0);
    opal_fabric_quirks_end();
    begin("ofi_rxmore");
    check_limits(NULL, NULL);
    ck_assert_uint_eq(quirks.spill_below, 0);
    ck_assert_uint_eq(quirks.unclaimable_end, 0);
    opal_fabric_quirks_end();
}
END_TEST

/* The user's setting stays; ours is gone afterwards. */
START_TEST(packets_under_way)
{
    static const struct {
        unsigned peers;
        const char *packets;
    } cases[] = {{0, "32"}, {1, "32"}, {3, "21"}, {64, "4"}};
    unsetenv(UNACKED);
    for (size_t i = 0; i < OPAL_COUNT_OF(cases); i++) {
        opal_fabric_quirks_prepare(cases[i].peers);
        ck_assert_str_eq(getenv(UNACKED), cases[i].packets);
        opal_fabric_quirks_end();
        ck_assert_pstr_eq(getenv(UNACKED), NULL);
    }
    setenv(UNACKED, "7", 1);
    opal_fabric_quirks_prepare(3);
    opal_fabric_quirks_end();
    ck_assert_str_eq(getenv(UNACKED), "7");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &settings_are_lent}, {.test = &the_users_stay}, {.test = &no_room}, {.test = &others},
    {.test = &packets_under_way},
};

UNIT_MAIN("quirks", tests, setup);
