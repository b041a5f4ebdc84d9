/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/fabric/nic_locality.c: the choice of a NIC, on synthetic topologies of hwloc and a fake
 * sysfs. */
#include "opal/fabric/nic_locality.h"

#include <sys/stat.h>

#include "test/unit/opal/fabric/candidates.h"

static hwloc_topology_t topology;

/* 2 packages of 2 NUMA nodes of 4 cores: 16. */
static void setup(void)
{
    ck_assert_int_eq(hwloc_topology_init(&topology), 0);
    ck_assert_int_eq(hwloc_topology_set_synthetic(topology, "pack:2 numa:2 core:4 pu:1"), 0);
    ck_assert_int_eq(hwloc_topology_load(topology), 0);
}

static hwloc_bitmap_t cpus_of(unsigned first, unsigned last)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    hwloc_bitmap_set_range(cpus, first, (int)last);
    return cpus;
}

/* -- the rule --------------------------------------------------------------------------------- */

enum { NICS = 3, UNKNOWN = 99 };

static const struct {
    unsigned rank_first, rank_last;
    unsigned nics[NICS][2]; /* first and last core of each; UNKNOWN: sysfs does not say */
    unsigned chosen[NICS];  /* by local rank */
} cases[] = {
    /* Bound to a core: the NIC of its NUMA node, of its package, any. */
    {5, 5, {{0, 3}, {4, 7}, {8, 11}}, {1, 1, 1}},
    {5, 5, {{8, 11}, {12, 15}, {0, 3}}, {2, 2, 2}},
    {5, 5, {{8, 11}, {12, 15}, {8, 15}}, {0, 1, 2}},
    /* Bound to a package. */
    {8, 15, {{0, 3}, {8, 11}, {4, 7}}, {1, 1, 1}},
    {8, 15, {{8, 11}, {0, 7}, {12, 15}}, {0, 2, 0}},
    /* Not bound: the ranks take turns. */
    {0, 15, {{0, 3}, {4, 7}, {8, 11}}, {0, 1, 2}},
    /* A NIC whose cores are not known has the largest distance. */
    {5, 5, {{UNKNOWN, 0}, {4, 7}, {0, 15}}, {1, 1, 1}},
    {5, 5, {{UNKNOWN, 0}, {8, 11}, {0, 15}}, {0, 1, 2}},
    /* Cores that this machine does not have. */
    {5, 5, {{40, 43}, {0, 7}, {41, 41}}, {1, 1, 1}},
};

START_TEST(the_nearest)
{
    hwloc_bitmap_t rank = cpus_of(cases[_i].rank_first, cases[_i].rank_last);
    hwloc_const_cpuset_t nics[NICS];
    for (unsigned i = 0; i < NICS; i++) {
        const unsigned *nic = cases[_i].nics[i];
        nics[i] = nic[0] == UNKNOWN ? NULL : cpus_of(nic[0], nic[1]);
    }
    for (unsigned local = 0; local < NICS; local++)
        ck_assert_uint_eq(opal_fabric_nearest_nic(topology, rank, nics, NICS, local),
                          cases[_i].chosen[local]);
    hwloc_bitmap_free(rank);
    for (unsigned i = 0; i < NICS; i++)
        hwloc_bitmap_free((hwloc_bitmap_t)(uintptr_t)nics[i]);
}
END_TEST

/* -- sysfs ------------------------------------------------------------------------------------ */

/* Writes the kernel's mask of the cores that are local to the NIC on a bus. */
static void place_nic(unsigned bus, const char *mask)
{
    char path[512];
    static const char *const folders[] = {"sys", "sys/bus", "sys/bus/pci", "sys/bus/pci/devices"};
    for (size_t i = 0; i < OPAL_COUNT_OF(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", unit_folder, folders[i]);
        mkdir(path, 0755);
    }
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0001:%02x:00.0", unit_folder, bus);
    mkdir(path, 0755);
    strcat(path, "/local_cpus");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\n", mask);
    fclose(file);
}

START_TEST(a_nic_in_sysfs)
{
    list_t list = {0};
    candidate_t *candidate = list_add(&list, "verbs", "mlx5_0", "f", NULL);
    ck_assert_ptr_null(opal_fabric_nic_cpus(unit_folder, &candidate->info));
    candidate_add_nic(candidate, 0xa3);
    ck_assert_ptr_null(opal_fabric_nic_cpus(unit_folder, &candidate->info));
    place_nic(0xa3, "00000000,000000f0");
    hwloc_bitmap_t cpus = opal_fabric_nic_cpus(unit_folder, &candidate->info),
                   expected = cpus_of(4, 7);
    ck_assert_ptr_nonnull(cpus);
    ck_assert(hwloc_bitmap_isequal(cpus, expected));
    hwloc_bitmap_free(cpus);
    hwloc_bitmap_free(expected);
    place_nic(0xa3, "0");
    ck_assert_ptr_null(opal_fabric_nic_cpus(unit_folder, &candidate->info));
    place_nic(0xa3, "f");
    candidate->bus.bus_type = FI_BUS_UNKNOWN;
    ck_assert_ptr_null(opal_fabric_nic_cpus(unit_folder, &candidate->info));
}
END_TEST

/* -- candidates -----------------------------------------------------------------------------------
 */

static list_t list;
static opal_fabric_candidates_t candidates;
static opal_strings_t none;

/* Two NICs of one fabric, one of another, and an interface without known cores. */
static void plug_in(void)
{
    opal_fabric_wishes_t wishes = {.include = &none, .exclude = &none, .domains = &none};
    candidate_add_nic(list_add(&list, "verbs", "mlx5_0", "IB", NULL), 0x10);
    candidate_add_nic(list_add(&list, "verbs", "mlx5_0", "IB", NULL), 0x10);
    candidate_add_nic(list_add(&list, "verbs", "mlx5_1", "IB", NULL), 0x20);
    candidate_add_nic(list_add(&list, "verbs", "mlx5_2", "other", NULL), 0x30);
    list_add(&list, "tcp", "eth0", "f", "10.0.0.1");
    list_add(&list, "tcp", "eth1", "f", "10.0.0.2");
    list_add(&list, "tcp", NULL, "f", "10.0.0.3");
    place_nic(0x10, "000f");
    place_nic(0x20, "ff00");
    place_nic(0x30, "00f0");
    opal_fabric_candidates_judge(&candidates, list_first(&list), &wishes);
}

static const char *domain_for(unsigned index, hwloc_const_cpuset_t cpus, unsigned local_rank,
                              const char *why)
{
    opal_text_t text = {0};
    const struct fi_info *info = opal_fabric_candidates_nearest(
        &candidates, &list.candidates[index].info, unit_folder, topology, cpus, local_rank, &text);
    ck_assert_str_eq(opal_text_string(&text), why);
    opal_text_free(&text);
    return info->domain_attr->name;
}

START_TEST(the_nic_of_the_rank)
{
    const char *why = "nearest of 2 NICs";
    plug_in();
    hwloc_bitmap_t low = cpus_of(1, 1), high = cpus_of(9, 9), middle = cpus_of(5, 5);
    ck_assert_str_eq(domain_for(0, low, 1, why), "mlx5_0");
    ck_assert_str_eq(domain_for(0, high, 0, why), "mlx5_1");
    /* The NIC of the other fabric would be nearer. */
    ck_assert_str_eq(domain_for(0, middle, 1, why), "mlx5_0");
    ck_assert_str_eq(domain_for(3, low, 0, ""), "mlx5_2");
    /* The cores of an interface are not known. */
    ck_assert_str_eq(domain_for(4, low, 1, ""), "eth0");
    ck_assert_ptr_null(domain_for(6, low, 1, ""));
    /* A refused candidate is not taken. */
    candidates.items[0].refusal = candidates.items[1].refusal = opal_xprintf("broken");
    ck_assert_str_eq(domain_for(2, low, 0, ""), "mlx5_1");
    hwloc_bitmap_free(low);
    hwloc_bitmap_free(high);
    hwloc_bitmap_free(middle);
}
END_TEST

/* Both NICs are local to core 0, so they are equally near. */
START_TEST(this_machine)
{
    opal_text_t why = {0};
    plug_in();
    place_nic(0x10, "1");
    place_nic(0x20, "1");
    for (unsigned local = 0; local < 4; local++) {
        const struct fi_info *info = opal_fabric_candidates_nearest(
            &candidates, &list.candidates[0].info, unit_folder, NULL, NULL, local, &why);
        ck_assert_str_eq(info->domain_attr->name, local % 2 == 0 ? "mlx5_0" : "mlx5_1");
    }
    ck_assert_str_eq(opal_text_string(&why), "nearest of 2 NICsnearest of 2 NICs"
                                             "nearest of 2 NICsnearest of 2 NICs");
    opal_text_free(&why);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_nearest, .repeats = OPAL_COUNT_OF(cases)},
    {.test = &a_nic_in_sysfs},
    {.test = &the_nic_of_the_rank},
    {.test = &this_machine},
};

UNIT_MAIN("nic_locality", tests, setup);
