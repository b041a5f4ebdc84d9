/* SPDX-License-Identifier: BSD-3-Clause */
/* See nic_locality.h. */
#include "opal/fabric/nic_locality.h"

#include <hwloc/linux.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The number of cores of the smallest object that holds both cpusets; all cores if the NIC's cores
 * are not known. */
static int distance_of(hwloc_topology_t topology, hwloc_const_cpuset_t cpus,
                       hwloc_const_cpuset_t nic)
{
    hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
    hwloc_obj_t holder = NULL;
    if (nic != NULL) {
        hwloc_bitmap_t both = hwloc_bitmap_alloc();
        hwloc_bitmap_or(both, cpus, nic);
        holder = hwloc_get_obj_covering_cpuset(topology, both);
        hwloc_bitmap_free(both);
    }
    return hwloc_bitmap_weight(holder != NULL ? holder->cpuset : all);
}

size_t opal_fabric_nearest_nic(hwloc_topology_t topology, hwloc_const_cpuset_t cpus,
                               const hwloc_const_cpuset_t nics[], size_t count, unsigned local_rank)
{
    size_t *equals = opal_xcalloc(count, sizeof *equals); /* the nearest ones so far */
    size_t found = 0;
    int least = INT_MAX;
    for (size_t i = 0; i < count; i++) {
        int distance = distance_of(topology, cpus, nics[i]);
        if (distance < least)
            found = 0;
        if (distance <= least) {
            least = distance;
            equals[found++] = i;
        }
    }
    size_t chosen = found > 0 ? equals[local_rank % found] : 0;
    free(equals);
    return chosen;
}

hwloc_bitmap_t opal_fabric_nic_cpus(const char *root, const struct fi_info *info)
{
    const struct fi_bus_attr *bus = info->nic != NULL ? info->nic->bus_attr : NULL;
    if (bus == NULL || bus->bus_type != FI_BUS_PCI)
        return NULL;
    const struct fi_pci_attr *pci = &bus->attr.pci;
    char *path = opal_xprintf("%s/sys/bus/pci/devices/%04x:%02x:%02x.%x/local_cpus", root,
                              pci->domain_id, pci->bus_id, pci->device_id, pci->function_id);
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    if (hwloc_linux_read_path_as_cpumask(path, cpus) != 0 || hwloc_bitmap_iszero(cpus)) {
        hwloc_bitmap_free(cpus);
        cpus = NULL;
    }
    free(path);
    return cpus;
}

/* -- candidates
 * -------------------------------------------------------------------------------------
 */

/* The usable candidates that are alike, one for each domain, and the cores of their NICs. */
typedef struct nics {
    const struct fi_info **infos;
    hwloc_const_cpuset_t *cpus;
    size_t count;
} nics_t;

static bool has_domain(const nics_t *nics, const struct fi_info *info)
{
    for (size_t i = 0; i < nics->count; i++) {
        if (strcmp(nics->infos[i]->domain_attr->name, info->domain_attr->name) == 0)
            return true;
    }
    return false;
}

static void collect(nics_t *nics, const opal_fabric_candidates_t *candidates,
                    const struct fi_info *best, const char *root)
{
    nics->infos = opal_xcalloc(candidates->count, sizeof *nics->infos);
    nics->cpus = opal_xcalloc(candidates->count, sizeof *nics->cpus);
    for (size_t i = 0; i < candidates->count; i++) {
        const struct fi_info *info = candidates->items[i].info;
        if (candidates->items[i].refusal != NULL || info->domain_attr->name == NULL ||
            !opal_fabric_candidates_are_alike(best, info) || has_domain(nics, info))
            continue;
        nics->cpus[nics->count] = opal_fabric_nic_cpus(root, info);
        nics->infos[nics->count++] = info;
    }
}

static void end(nics_t *nics)
{
    for (size_t i = 0; i < nics->count; i++)
        hwloc_bitmap_free((hwloc_bitmap_t)nics->cpus[i]);
    free(nics->infos);
    free(nics->cpus);
}

static hwloc_topology_t load_topology(void)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return NULL;
    if (hwloc_topology_load(topology) == 0)
        return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

static hwloc_bitmap_t cpus_of_process(hwloc_topology_t topology)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    if (hwloc_get_cpubind(topology, cpus, HWLOC_CPUBIND_PROCESS) != 0 || hwloc_bitmap_iszero(cpus))
        hwloc_bitmap_copy(cpus, hwloc_topology_get_topology_cpuset(topology));
    return cpus;
}

/* Without a topology the ranks take turns. */
static size_t choose(const nics_t *nics, hwloc_topology_t topology, hwloc_const_cpuset_t cpus,
                     unsigned local_rank)
{
    hwloc_topology_t own = topology == NULL ? load_topology() : NULL;
    if (topology == NULL && own == NULL)
        return local_rank % nics->count;
    topology = topology != NULL ? topology : own;
    hwloc_bitmap_t bound = cpus == NULL ? cpus_of_process(topology) : NULL;
    size_t chosen = opal_fabric_nearest_nic(topology, cpus != NULL ? cpus : bound, nics->cpus,
                                            nics->count, local_rank);
    hwloc_bitmap_free(bound);
    if (own != NULL)
        hwloc_topology_destroy(own);
    return chosen;
}

const struct fi_info *opal_fabric_candidates_nearest(const opal_fabric_candidates_t *candidates,
                                                     const struct fi_info *best, const char *root,
                                                     hwloc_topology_t topology,
                                                     hwloc_const_cpuset_t cpus, unsigned local_rank,
                                                     opal_text_t *why)
{
    nics_t nics = {0};
    bool is_known = false;
    collect(&nics, candidates, best, root);
    for (size_t i = 0; i < nics.count; i++)
        is_known = is_known || nics.cpus[i] != NULL;
    /* Without a NIC whose cores are known, libfabric's order decides. */
    if (nics.count > 1 && is_known) {
        best = nics.infos[choose(&nics, topology, cpus, local_rank)];
        opal_text_printf(why, "nearest of %zu NICs", nics.count);
    }
    end(&nics);
    return best;
}
