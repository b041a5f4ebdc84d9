/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NUMA nodes. A page lies on the node of the thread that touches it first. That is not enough for
 * the memory of a window:
 *
 *   - the heap keeps pages of blocks that were freed; in a block of rank 0 for all ranks they lie
 *     on the node of rank 0. So they are given back, and come anew.
 *   - another rank may be first, with a put or as it initializes the memory of all. So a rank that
 *     is bound to one node asks the system for pages of that node.
 *
 * The system keeps the second in the file that is mapped, for all processes, so it must be taken
 * back before the block is used for something else. On a machine with one node nothing is done.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ompi/communicator/hw_topology.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/win/win.h"

/* Of the system's interface (numaif.h is libnuma's). */
enum { POLICY_DEFAULT = 0, POLICY_PREFERRED = 1, MOST_NODES = 1024 };

/* "0-3": several; "0": one. */
static bool has_several_nodes(void)
{
    char nodes[64] = "";
    FILE *file = fopen("/sys/devices/system/node/online", "re");
    if (file != NULL) {
        if (fgets(nodes, sizeof nodes, file) == NULL)
            nodes[0] = 0;
        fclose(file);
    }
    return strpbrk(nodes, "-,") != NULL;
}

static bool is_needed(void)
{
    static _Atomic int several = -1;
    if (ompi_osc_numa != OPAL_PARAM_AUTO)
        return ompi_osc_numa == OPAL_PARAM_YES;
    if (several < 0)
        several = has_several_nodes();
    return several > 0;
}

/* The whole pages of memory. False: there is none. */
static bool find_pages(char **start, size_t *bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)*start + page - 1) / page * page;
    uintptr_t behind = ((uintptr_t)*start + *bytes) / page * page;
    *start = (char *)first;
    *bytes = behind > first ? behind - first : 0;
    return *bytes > 0;
}

static void set_policy(char *start, size_t bytes, int policy, const unsigned long *nodes)
{
    syscall(SYS_mbind, start, bytes, policy, nodes, nodes != NULL ? MOST_NODES + 1 : 0, 0);
}

void ompi_win_numa_renew(char *start, size_t bytes)
{
    if (is_needed() && find_pages(&start, &bytes))
        madvise(start, bytes, MADV_REMOVE);
}

void ompi_win_numa_prefer(char *start, size_t bytes)
{
    enum { BITS = 8 * sizeof(unsigned long) };
    unsigned long nodes[MOST_NODES / BITS] = {0};
    unsigned node;
    int color;
    if (!is_needed() || !find_pages(&start, &bytes) ||
        ompi_hw_level_find(ompi_hw_level_of("NUMANode"), &color) != OMPI_HW_ONE ||
        syscall(SYS_getcpu, NULL, &node, NULL) != 0 || node >= MOST_NODES)
        return;
    nodes[node / BITS] = 1UL << (node % BITS);
    set_policy(start, bytes, POLICY_PREFERRED, nodes);
}

void ompi_win_numa_forget(char *start, size_t bytes)
{
    if (is_needed() && find_pages(&start, &bytes))
        set_policy(start, bytes, POLICY_DEFAULT, NULL);
}
