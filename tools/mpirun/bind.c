/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapping and binding with hwloc. See bind.h.
 *
 * Process p is mapped to object p modulo n of the --map-by level (p / N modulo n with ppr:N).
 * Processes that are mapped to the same object take its parts of the --bind-to level in turn: one
 * part, or as many as PE says. If the --bind-to level is larger than the --map-by level, a process
 * is bound to the object that contains the one it was mapped to. Process p becomes rank p unless
 * --rank-by says otherwise.
 */
#include "tools/mpirun/bind.h"

#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/log.h"

/* The part of the machine that mpirun may use. NULL: an error was reported. */
static hwloc_topology_t load_topology(void)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0) {
        opal_log_error("hwloc does not start: %s", strerror(errno));
        return NULL;
    }
    /* Devices are not requested from hwloc: finding them can cost 100 ms. */
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

/* The number of objects of a type; 1 (the machine itself) if the kernel shows none. */
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

static hwloc_obj_type_t type_of(topology_level_t level)
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

unsigned bind_count(topology_level_t level)
{
    hwloc_topology_t topology = load_topology();
    if (topology == NULL)
        return 1;
    unsigned count = count_objects(topology, type_of(level));
    hwloc_topology_destroy(topology);
    return count;
}

/* What one process is bound to: objects of one type, and their hardware threads. */
typedef struct binding {
    hwloc_obj_t first;      /* object */
    hwloc_bitmap_t objects; /* their logical indexes */
    hwloc_bitmap_t threads;
} cpu_binding_t;

static void binding_init(cpu_binding_t *binding)
{
    *binding = (cpu_binding_t){.objects = hwloc_bitmap_alloc(), .threads = hwloc_bitmap_alloc()};
}

static void binding_fini(cpu_binding_t *binding)
{
    hwloc_bitmap_free(binding->objects);
    hwloc_bitmap_free(binding->threads);
}

static void binding_add(cpu_binding_t *binding, hwloc_obj_t object)
{
    if (binding->first == NULL)
        binding->first = object;
    hwloc_bitmap_set(binding->objects, object->logical_index);
    hwloc_bitmap_or(binding->threads, binding->threads, object->cpuset);
}

/* The object of a type that contains another object. */
static hwloc_obj_t object_around(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t part)
{
    int all = hwloc_get_nbobjs_by_type(topology, type);
    for (int i = 0; i < all; i++) {
        hwloc_obj_t object = object_at(topology, type, (unsigned)i);
        if (hwloc_bitmap_isincluded(part->cpuset, object->cpuset))
            return object;
    }
    return hwloc_get_root_obj(topology);
}

static const char *name_type(hwloc_obj_type_t type)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } names[] = {{HWLOC_OBJ_PU, "hardware thread"},
                 {HWLOC_OBJ_CORE, "core"},
                 {HWLOC_OBJ_NUMANODE, "NUMA node"},
                 {HWLOC_OBJ_PACKAGE, "socket"}};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++) {
        if (names[i].type == type)
            return names[i].name;
    }
    return "the whole machine";
}

/* Binds to `count` parts of an object, beginning with part `from` and wrapping around after the
 * last one. False: the object has fewer parts, which was reported. */
static bool take_parts(hwloc_topology_t topology, hwloc_obj_t whole, hwloc_obj_type_t type,
                       unsigned from, unsigned count, cpu_binding_t *binding)
{
    int inside = hwloc_get_nbobjs_inside_cpuset_by_type(topology, whole->cpuset, type);
    if (count > 1 && inside < (int)count) {
        opal_log_error("each rank is to have %u %ss (PE=), but %s%s has %d", count, name_type(type),
                       whole->type == HWLOC_OBJ_MACHINE ? "" : "a ", name_type(whole->type),
                       inside);
        return false;
    }
    for (unsigned i = 0; inside > 0 && i < count; i++)
        binding_add(binding, hwloc_get_obj_inside_cpuset_by_type(topology, whole->cpuset, type,
                                                                 (from + i) % (unsigned)inside));
    if (inside <= 0)
        binding_add(binding, object_around(topology, type, whole));
    return true;
}

/* The binding of a process; processes are counted from 0 in the order of mapping. False: as
 * take_parts. */
static bool choose(hwloc_topology_t topology, const options_t *options, unsigned process,
                   cpu_binding_t *binding)
{
    unsigned parts = options->cpus_per_rank > 0 ? options->cpus_per_rank : 1;
    hwloc_obj_type_t bind_type = type_of(options->bind_to);
    hwloc_obj_type_t map_type =
        options->map_by == LEVEL_SLOT && parts > 1 ? bind_type : type_of(options->map_by);
    unsigned map_count = count_objects(topology, map_type);
    unsigned together = options->per_object > 0 ? options->per_object : 1;
    unsigned index = process / together % map_count;
    unsigned turn = process / together / map_count * together + process % together;
    hwloc_obj_t dealt = object_at(topology, map_type, index);
    /* The mapped object is no larger than a part, so a rank takes several objects. */
    bool is_small = map_type == HWLOC_OBJ_PU || map_type == bind_type;
    if (is_small && parts > 1)
        return take_parts(topology, hwloc_get_root_obj(topology), bind_type, process * parts, parts,
                          binding);
    return take_parts(topology, dealt, bind_type, turn * parts, parts, binding);
}

/* "core 1 of socket 0 (hardware threads 2-3)", "cores 0-1 of socket 0 (...)" */
static char *describe(hwloc_topology_t topology, const cpu_binding_t *binding)
{
    opal_text_t text = {0};
    hwloc_obj_t object = binding->first;
    opal_text_add(&text, name_type(object->type));
    char *list = NULL;
    if (object->type != HWLOC_OBJ_MACHINE &&
        hwloc_bitmap_list_asprintf(&list, binding->objects) >= 0)
        opal_text_printf(&text, "%s %s", hwloc_bitmap_weight(binding->objects) == 1 ? "" : "s",
                         list);
    free(list);
    hwloc_obj_t socket = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
    if (socket != NULL && hwloc_bitmap_isincluded(binding->threads, socket->cpuset))
        opal_text_printf(&text, " of socket %u", socket->logical_index);

    char *threads = NULL;
    if (hwloc_bitmap_list_asprintf(&threads, binding->threads) >= 0)
        opal_text_printf(&text, " (hardware thread%s %s)",
                         hwloc_bitmap_weight(binding->threads) == 1 ? "" : "s", threads);
    free(threads);
    return opal_text_take(&text);
}

static void bind_rank(hwloc_topology_t topology, rank_t *rank, const cpu_binding_t *binding)
{
    int last = hwloc_bitmap_last(binding->threads);
    rank->cpus_bytes = CPU_ALLOC_SIZE(last + 1);
    rank->cpus = opal_xcalloc(1, rank->cpus_bytes);
    unsigned cpu;
    hwloc_bitmap_foreach_begin(cpu, binding->threads) CPU_SET_S(cpu, rank->cpus_bytes, rank->cpus);
    hwloc_bitmap_foreach_end();
    rank->binding_text = describe(topology, binding);
}

/* -- by the options -----------------------------------------------------------------------------
 */

static void warn_of_sharing(hwloc_topology_t topology, const job_t *job,
                            const cpu_binding_t *bindings)
{
    const options_t *options = &job->options;
    hwloc_obj_type_t type = type_of(options->bind_to);
    hwloc_bitmap_t used = hwloc_bitmap_alloc();
    bool shares = false;
    for (unsigned i = 0; i < job->size; i++) {
        shares = shares || hwloc_bitmap_intersects(used, bindings[i].threads);
        hwloc_bitmap_or(used, used, bindings[i].threads);
    }
    int parts = hwloc_get_nbobjs_inside_cpuset_by_type(topology, used, type);
    parts = parts > 0 ? parts : 1; /* the machine itself, as in count_objects */
    bool is_small = options->bind_to == LEVEL_CORE || options->bind_to == LEVEL_HWTHREAD;
    if (shares && is_small && !options->quiet)
        opal_log_warning("%u ranks are bound to %d %s%s: some share one and slow each other down",
                         job->size, parts, name_type(type), parts == 1 ? "" : "s");
    hwloc_bitmap_free(used);
}

static bool starts_in(const cpu_binding_t *binding, hwloc_obj_t object)
{
    return hwloc_bitmap_isset(object->cpuset, (unsigned)hwloc_bitmap_first(binding->threads));
}

/*
 * --rank-by: which process becomes which rank. Ranks are numbered round the objects of a level, one
 * process of each object at a time; processes outside of all objects come last. A process may be in
 * several objects: where memory is of two kinds, two NUMA nodes have the same hardware threads.
 * Returns the process of each rank, malloc'ed.
 */
static unsigned *number_ranks(hwloc_topology_t topology, topology_level_t level,
                              const cpu_binding_t *bindings, unsigned size)
{
    hwloc_obj_type_t type = type_of(level);
    unsigned groups = count_objects(topology, type), given = 0;
    unsigned *process = opal_xcalloc(size, sizeof *process);
    unsigned *next = opal_xcalloc(groups, sizeof *next);
    bool *taken = opal_xcalloc(size, sizeof *taken);
    bool in_order = level == LEVEL_NONE || level == LEVEL_SLOT || level == LEVEL_NODE;
    unsigned misses = in_order ? groups : 0; /* in a row */
    for (unsigned group = 0; given < size && misses < groups; group = (group + 1) % groups) {
        hwloc_obj_t object = object_at(topology, type, group);
        unsigned *i = &next[group];
        while (*i < size && (taken[*i] || !starts_in(&bindings[*i], object)))
            ++*i;
        misses = *i < size ? 0 : misses + 1;
        if (*i < size) {
            taken[*i] = true;
            process[given++] = *i;
        }
    }
    for (unsigned i = 0; i < size; i++) {
        if (!taken[i])
            process[given++] = i;
    }
    free(taken);
    free(next);
    return process;
}

static bool bind_by_options(hwloc_topology_t topology, job_t *job)
{
    cpu_binding_t *bindings = opal_xcalloc(job->size, sizeof *bindings);
    bool good = true;
    for (unsigned i = 0; i < job->size; i++) {
        binding_init(&bindings[i]);
        good = good && choose(topology, &job->options, job->first_place + i, &bindings[i]);
    }
    if (good) {
        unsigned *process = number_ranks(topology, job->options.rank_by, bindings, job->size);
        for (unsigned i = 0; i < job->size; i++)
            bind_rank(topology, &job->ranks[i], &bindings[process[i]]);
        free(process);
        warn_of_sharing(topology, job, bindings);
    }
    for (unsigned i = 0; i < job->size; i++)
        binding_fini(&bindings[i]);
    free(bindings);
    return good;
}

/* -- by a rank file -----------------------------------------------------------------------------
 */

/* False: the machine does not have these cores. */
static bool add_range(hwloc_topology_t topology, hwloc_obj_type_t type, const core_range_t *range,
                      cpu_binding_t *binding)
{
    hwloc_obj_t whole = range->socket < 0 ? hwloc_get_root_obj(topology)
                                          : hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE,
                                                                  (unsigned)range->socket);
    if (whole == NULL)
        return false;
    int inside = hwloc_get_nbobjs_inside_cpuset_by_type(topology, whole->cpuset, type);
    bool all = range->last == UINT_MAX;
    if (inside <= 0 || (!all && range->last >= (unsigned)inside))
        return false;
    unsigned last = all ? (unsigned)inside - 1 : range->last;
    for (unsigned i = range->first; i <= last; i++)
        binding_add(binding, hwloc_get_obj_inside_cpuset_by_type(topology, whole->cpuset, type, i));
    return true;
}

static bool bind_by_file(hwloc_topology_t topology, const job_t *job, unsigned rank)
{
    const rankfile_t *file = &job->rankfile;
    hwloc_obj_type_t type = job->options.use_hwthreads ? HWLOC_OBJ_PU : HWLOC_OBJ_CORE;
    cpu_binding_t binding;
    bool good = true;
    binding_init(&binding);
    for (size_t i = 0; good && i < file->range_count; i++) {
        if (file->ranges[i].rank == rank)
            good = add_range(topology, type, &file->ranges[i], &binding);
    }
    if (!good)
        opal_log_error("--rankfile: rank %u is given %s that this machine does not have, or that "
                       "mpirun may not use",
                       rank, job->options.use_hwthreads ? "hardware threads" : "cores");
    else if (binding.first == NULL)
        opal_log_error("--rankfile: %s says nothing of rank %u", job->options.rankfile, rank);
    good = good && binding.first != NULL;
    if (good)
        bind_rank(topology, &job->ranks[rank], &binding);
    binding_fini(&binding);
    return good;
}

int bind_ranks(job_t *job)
{
    hwloc_topology_t topology = load_topology();
    if (topology == NULL)
        return STATUS_TROUBLE;
    bool good = job->options.rankfile != NULL || bind_by_options(topology, job);
    for (unsigned i = 0; good && job->options.rankfile != NULL && i < job->size; i++)
        good = bind_by_file(topology, job, i);
    hwloc_topology_destroy(topology);
    return good ? 0 : STATUS_USAGE;
}
