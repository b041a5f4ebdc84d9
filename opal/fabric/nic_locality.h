/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of several NICs that lead to the same peers, the one nearest to the cores that this rank may
 * use.
 *
 * The kernel says which cores are local to a NIC (sysfs, local_cpus). The nearer NIC is the one
 * that has a smaller part of the machine in common with the rank: the smallest object of hwloc's
 * tree that holds the cores of both has fewer of them. So a rank that is bound to a NUMA node takes
 * the NIC of that node, then one of its package, then any. Among equals, as they all are for a
 * rank that is not bound, the ranks of a node take turns.
 *
 * hwloc's own discovery of devices costs 100 ms; this reads a file per NIC, and the topology only
 * if there is a choice to make. Start-up; one thread.
 */
#ifndef OPAL_FABRIC_NIC_LOCALITY_H
#define OPAL_FABRIC_NIC_LOCALITY_H

#include <hwloc.h>

#include "opal/fabric/offers.h"

/* Which of the NICs is for a rank that may use `cpus`: an index. A NULL in `nics`: nobody knows
 * where it is. */
size_t opal_fabric_nearest_nic(hwloc_topology_t topology, hwloc_const_cpuset_t cpus,
                               const hwloc_const_cpuset_t nics[], size_t count,
                               unsigned local_rank);

/* The cores local to the NIC of an offer, from sysfs below `root` ("" is the machine's), for
 * hwloc_bitmap_free; NULL: it does not say. */
hwloc_bitmap_t opal_fabric_nic_cpus(const char *root, const struct fi_info *info);

/*
 * The offer to use: `best`, or one like it (opal_fabric_offers_are_alike) over a nearer NIC.
 * `topology` NULL: that of this machine; `cpus` NULL: those of this process. `why` gets a phrase if
 * there were several.
 */
const struct fi_info *opal_fabric_offers_nearest(const opal_fabric_offers_t *offers,
                                                 const struct fi_info *best, const char *root,
                                                 hwloc_topology_t topology,
                                                 hwloc_const_cpuset_t cpus, unsigned local_rank,
                                                 opal_text_t *why);

#endif
