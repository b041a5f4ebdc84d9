/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/network.c: every network, and what only looks like one. */
#include "opal/util/network.h"

#include "test/unit/opal/machine.h"

static const struct {
    const char *path, *network;
    bool is_libfabrics;
} machines[] = {
    {"/sys/class/infiniband/mlx5_0", "InfiniBand", true},
    {"/sys/class/infiniband/efa_0", "EFA", true},
    {"/sys/class/infiniband/hfi1_0", "Omni-Path", true},
    {"/dev/infiniband/uverbs3", "InfiniBand", true},
    {"/dev/hfi1_0", "Omni-Path", true},
    {"/sys/class/cxi/cxi0", "Slingshot", true},
    {"/dev/cxi0", "Slingshot", true},
    {"/sys/class/cxi/cxi1", "Slingshot", true},
    {"/dev/mx0", "Myrinet MX", false},
    {"/sys/class/infiniband/hfi1_3", "Omni-Path", true},
    {"/dev/mxctl", "Myrinet MX", false},
    {"/dev/open-mx", "Open-MX", false},
    /* Lookalikes. */
    {"/sys/class/infiniband/", NULL, false},
    {"/sys/class/cxi/", NULL, false},
    {"/dev/infiniband/rdma_cm", NULL, false},
    {"/dev/infiniband/uverbs", NULL, false},
    {"/dev/mxfoo", NULL, false},
    {"/dev/open-mx-raw", NULL, false},
    {"/dev/cxi", NULL, false},
    {"/dev/null", NULL, false},
};

START_TEST(a_machine)
{
    ck_assert_ptr_null(opal_network(root, OPAL_NETWORK_ANY));
    make(machines[_i].path);
    ck_assert_pstr_eq(opal_network(root, OPAL_NETWORK_ANY), machines[_i].network);
    ck_assert_pstr_eq(opal_network(root, OPAL_NETWORK_OF_LIBFABRIC),
                      machines[_i].is_libfabrics ? machines[_i].network : NULL);
}
END_TEST

/* Whatever the order in which the system lists them. */
START_TEST(the_more_precise_one_counts)
{
    make("/sys/class/infiniband/mlx5_0");
    make("/sys/class/infiniband/zzz");
    ck_assert_pstr_eq(opal_network(root, OPAL_NETWORK_ANY), "InfiniBand");
    make("/sys/class/infiniband/hfi1_0");
    ck_assert_pstr_eq(opal_network(root, OPAL_NETWORK_ANY), "Omni-Path");
    make("/sys/class/infiniband/efa_0");
    ck_assert_pstr_eq(opal_network(root, OPAL_NETWORK_ANY), "EFA");
}
END_TEST

/* The wanted one may not be in the first block of a long list. */
START_TEST(a_long_folder)
{
    char name[64];
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "/dev/infiniband/a-rather-long-name-of-a-device-%d", i);
        make(name);
    }
    ck_assert_ptr_null(opal_network(root, OPAL_NETWORK_ANY));
    make("/dev/infiniband/uverbs0");
    ck_assert_pstr_eq(opal_network(root, OPAL_NETWORK_ANY), "InfiniBand");
}
END_TEST

/* One that libfabric does not know hides none that it does. */
START_TEST(two_networks)
{
    make("/dev/mx0");
    ck_assert_ptr_null(opal_network(root, OPAL_NETWORK_OF_LIBFABRIC));
    make("/dev/cxi0");
    ck_assert_pstr_eq(opal_network(root, OPAL_NETWORK_OF_LIBFABRIC), "Slingshot");
}
END_TEST

START_TEST(a_root_that_is_too_long)
{
    static char path[8192];
    memset(path, 'x', sizeof path - 1);
    ck_assert_ptr_null(opal_network(path, OPAL_NETWORK_ANY));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_machine, .repeats = OPAL_COUNT_OF(machines)},
    {.test = &the_more_precise_one_counts},
    {.test = &a_long_folder},
    {.test = &two_networks},
    {.test = &a_root_that_is_too_long},
};

UNIT_MAIN("network", tests, empty_machine);
