/* SPDX-License-Identifier: BSD-3-Clause */
/* See hw_topology.h. A part is identified by its lowest CPU and its node. */
#include "ompi/communicator/hw_topology.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "opal/include/compiler.h"
#include "opal/process/job.h"

enum { MACHINE, PACKAGE, NUMA, L3, L2, CORE, PU };

#define PROVIDER "hwloc://"

static const char *const names[OMPI_HW_LEVELS] = {
    [MACHINE] = PROVIDER "Machine", [PACKAGE] = PROVIDER "Package", [NUMA] = PROVIDER "NUMANode",
    [L3] = PROVIDER "L3Cache",      [L2] = PROVIDER "L2Cache",      [CORE] = PROVIDER "Core",
    [PU] = PROVIDER "PU",
};

const char *ompi_hw_level_name(int level)
{
    return names[level];
}

int ompi_hw_level_of(const char *name)
{
    if (strcasecmp(name, "mpi_shared_memory") == 0)
        return MACHINE;
    for (int level = 0; level < OMPI_HW_LEVELS; level++) {
        if (strcasecmp(name, names[level]) == 0 ||
            strcasecmp(name, names[level] + strlen(PROVIDER)) == 0)
            return level;
    }
    return -1;
}

/* The first line of a file; false: there is no such file. */
static bool read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool is_read = fgets(line, size, file) != NULL;
    fclose(file);
    return is_read;
}

/* "0-3,8" */
static void parse_list(const char *list, cpu_set_t *set)
{
    CPU_ZERO(set);
    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (; first <= last && first < CPU_SETSIZE; first++)
            CPU_SET(first, set);
        list = *end == ',' ? end + 1 : end;
    }
}

static bool read_set(const char *path, cpu_set_t *set)
{
    char line[4096];
    if (!read_line(path, line, sizeof line))
        return false;
    parse_list(line, set);
    return true;
}

static bool read_numa(int cpu, cpu_set_t *set)
{
    char path[64];
    cpu_set_t online;
    if (!read_set("/sys/devices/system/node/online", &online))
        return false;
    for (unsigned node = 0; node < CPU_SETSIZE; node++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpulist", node);
        if (CPU_ISSET(node, &online) && read_set(path, set) && CPU_ISSET((unsigned)cpu, set))
            return true;
    }
    return false;
}

static bool read_cache(int cpu, int wanted, cpu_set_t *set)
{
    char path[96], line[32];
    for (int index = 0;; index++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu,
                 index);
        if (!read_line(path, line, sizeof line))
            return false;
        if (strtol(line, NULL, 10) != wanted)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list",
                 cpu, index);
        return read_set(path, set);
    }
}

static bool read_topology(int cpu, const char *name, const char *old_name, cpu_set_t *set)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name);
    if (read_set(path, set))
        return true;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, old_name);
    return read_set(path, set);
}

/* The CPUs of the part that a CPU is in. */
static bool read_part(int level, int cpu, cpu_set_t *set)
{
    switch (level) {
    case PACKAGE:
        return read_topology(cpu, "package_cpus_list", "core_siblings_list", set);
    case NUMA:
        return read_numa(cpu, set);
    case L3:
        return read_cache(cpu, 3, set);
    case L2:
        return read_cache(cpu, 2, set);
    case CORE:
        return read_topology(cpu, "core_cpus_list", "thread_siblings_list", set);
    default:
        CPU_ZERO(set);
        CPU_SET((unsigned)cpu, set);
        return true;
    }
}

static int lowest(const cpu_set_t *set)
{
    unsigned cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, set))
        cpu++;
    return (int)cpu;
}

ompi_hw_binding_t ompi_hw_level_find(int level, int *color)
{
    cpu_set_t allowed, part, both;
    const opal_pmi_job_t *job = opal_job();
    int first = 0;
    if (level != MACHINE) {
        if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
            !read_part(level, lowest(&allowed), &part))
            return OMPI_HW_UNKNOWN;
        CPU_AND(&both, &allowed, &part);
        if (!CPU_EQUAL(&both, &allowed))
            return OMPI_HW_SEVERAL;
        first = lowest(&part);
    }
    *color = (int)(job->node_of[job->rank] % (INT32_MAX / CPU_SETSIZE)) * CPU_SETSIZE + first;
    return OMPI_HW_ONE;
}
