/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of several NICs that lead to the same peers, the one nearest to the cores that this rank may use.
 *
 * The kernel says which cores are local to a NIC (sysfs, local_cpus). The distance of a NIC is the
 * number of cores of the smallest object in hwloc's tree that holds both the cores of the rank and
 * those of the NIC. So a rank that is bound to a NUMA node takes the NIC of that node, then one of
 * its package, then any. NICs of equal distance, as all are for a rank that is not bound, are
 * shared out among the ranks of a node in turn.
 *
 * hwloc's own discovery of devices costs 100 ms. These functions read one file per NIC, and load
 * the topology only if there is a choice to make.
 *
 * Threading: called at start-up by one thread.
 */
#ifndef OPAL_FABRIC_NIC_LOCALITY_H
#define OPAL_FABRIC_NIC_LOCALITY_H

#include <hwloc.h>

#include "opal/fabric/candidates.h"

/* The index of the NIC for a rank that may use `cpus`. nics[i] are the cores local to NIC i; NULL:
 * not known. */
size_t opal_fabric_nearest_nic(hwloc_topology_t topology, hwloc_const_cpuset_t cpus,
                               const hwloc_const_cpuset_t nics[], size_t count,
                               unsigned local_rank);

/* The cores local to the NIC of a candidate, from sysfs below `root` ("": that of the machine), for
 * hwloc_bitmap_free. NULL: not known. */
hwloc_bitmap_t opal_fabric_nic_cpus(const char *root, const struct fi_info *info);

/*
 * The candidate to use: `best`, or one like it (opal_fabric_candidates_are_alike) over a nearer
 * NIC. `topology` NULL: that of this machine; `cpus` NULL: those of this process. Adds a phrase to
 * `why` if there were several NICs.
 */
const struct fi_info *opal_fabric_candidates_nearest(const opal_fabric_candidates_t *candidates,
                                                     const struct fi_info *best, const char *root,
                                                     hwloc_topology_t topology,
                                                     hwloc_const_cpuset_t cpus, unsigned local_rank,
                                                     opal_text_t *why);

#endif
