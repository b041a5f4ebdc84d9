/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapping and binding with hwloc. See bind.h.
 *
 * Rank r is dealt to object r modulo n of the --map-by level; ranks that come to
 * the same object take its parts of the --bind-to level in turn. Where the bound
 * level is the larger one, a rank gets the object around the one it was dealt to.
 */
#include "tools/mpirun/bind.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/log.h"

/* The machine as far as we may use it; NULL with a message. */
static hwloc_topology_t load_topology(void)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0) {
        opal_log_error("hwloc does not start: %s", strerror(errno));
        return NULL;
    }
    /* hwloc keeps devices out unless it is asked for them: they cost 100 ms here and there. */
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    int error = hwloc_topology_load(topology);
    if (error == 0 && allowed != NULL &&
        hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) == 0)
        error = hwloc_topology_restrict(topology, allowed, 0);
    hwloc_bitmap_free(allowed);
    if (error != 0) {
        opal_log_error("hwloc cannot read this machine's topology: %s", strerror(errno));
        hwloc_topology_destroy(topology);
        return NULL;
    }
    return topology;
}

/* How many objects of a type there are; 1 (the machine itself) where a kernel shows none. */
static unsigned count_objects(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);
    return count > 0 ? (unsigned)count : 1;
}

static hwloc_obj_t object_at(hwloc_topology_t topology, hwloc_obj_type_t type, unsigned index)
{
    hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, index);
    return object != NULL ? object : hwloc_get_root_obj(topology);
}

unsigned bind_allowed_cores(void)
{
    hwloc_topology_t topology = load_topology();
    if (topology == NULL)
        return 1;
    unsigned cores = count_objects(topology, HWLOC_OBJ_CORE);
    hwloc_topology_destroy(topology);
    return cores;
}

static hwloc_obj_type_t type_of(level_t level)
{
    switch (level) {
    case LEVEL_HWTHREAD:
        return HWLOC_OBJ_PU;
    case LEVEL_NUMA:
        return HWLOC_OBJ_NUMANODE;
    case LEVEL_SOCKET:
        return HWLOC_OBJ_PACKAGE;
    case LEVEL_NODE:
        return HWLOC_OBJ_MACHINE;
    case LEVEL_NONE:
    case LEVEL_SLOT:
    case LEVEL_CORE:
        break;
    }
    return HWLOC_OBJ_CORE;
}

/* The object that a rank is bound to. */
static hwloc_obj_t choose(hwloc_topology_t topology, const options_t *options, unsigned rank)
{
    hwloc_obj_type_t map_type = type_of(options->map_by), bind_type = type_of(options->bind_to);
    unsigned map_count = count_objects(topology, map_type);
    hwloc_obj_t dealt = object_at(topology, map_type, rank % map_count);
    if (dealt->type == bind_type)
        return dealt;

    int inside = hwloc_get_nbobjs_inside_cpuset_by_type(topology, dealt->cpuset, bind_type);
    if (inside > 0)
        return hwloc_get_obj_inside_cpuset_by_type(topology, dealt->cpuset, bind_type,
                                                   rank / map_count % (unsigned)inside);
    int all = hwloc_get_nbobjs_by_type(topology, bind_type);
    for (int i = 0; i < all; i++) {
        hwloc_obj_t object = object_at(topology, bind_type, (unsigned)i);
        if (hwloc_bitmap_isincluded(dealt->cpuset, object->cpuset))
            return object;
    }
    return hwloc_get_root_obj(topology);
}

/* "core 1 of socket 0 (hardware threads 2-3)" */
static char *describe(hwloc_topology_t topology, hwloc_obj_t object)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } names[] = {{HWLOC_OBJ_PU, "hardware thread"},
                 {HWLOC_OBJ_CORE, "core"},
                 {HWLOC_OBJ_NUMANODE, "NUMA node"},
                 {HWLOC_OBJ_PACKAGE, "socket"}};
    opal_text_t text = {0};
    const char *name = "the whole machine";
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++) {
        if (names[i].type == object->type)
            name = names[i].name;
    }
    opal_text_add(&text, name);
    if (object->type != HWLOC_OBJ_MACHINE)
        opal_text_printf(&text, " %u", object->logical_index);
    hwloc_obj_t socket = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
    if (socket != NULL)
        opal_text_printf(&text, " of socket %u", socket->logical_index);

    char *threads = NULL;
    if (hwloc_bitmap_list_asprintf(&threads, object->cpuset) >= 0)
        opal_text_printf(&text, " (hardware thread%s %s)",
                         hwloc_bitmap_weight(object->cpuset) == 1 ? "" : "s", threads);
    free(threads);
    return opal_text_take(&text);
}

static void bind_rank(hwloc_topology_t topology, rank_t *rank, hwloc_obj_t object)
{
    int last = hwloc_bitmap_last(object->cpuset);
    rank->cpus_bytes = CPU_ALLOC_SIZE(last + 1);
    rank->cpus = opal_xcalloc(1, rank->cpus_bytes);
    unsigned cpu;
    hwloc_bitmap_foreach_begin(cpu, object->cpuset) CPU_SET_S(cpu, rank->cpus_bytes, rank->cpus);
    hwloc_bitmap_foreach_end();
    rank->where = describe(topology, object);
}

bool bind_ranks(job_t *job)
{
    hwloc_topology_t topology = load_topology();
    if (topology == NULL)
        return false;
    for (unsigned i = 0; i < job->size; i++)
        bind_rank(topology, &job->ranks[i], choose(topology, &job->options, i));

    unsigned parts = count_objects(topology, type_of(job->options.bind_to));
    bool shares = job->options.bind_to == LEVEL_CORE || job->options.bind_to == LEVEL_HWTHREAD;
    if (shares && job->size > parts && !job->options.quiet)
        opal_log_warning("%u ranks are bound to %u %s%s: some share one and slow each other down",
                         job->size, parts,
                         job->options.bind_to == LEVEL_CORE ? "core" : "hardware thread",
                         parts == 1 ? "" : "s");
    hwloc_topology_destroy(topology);
    return true;
}
