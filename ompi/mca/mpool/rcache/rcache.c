/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpool/rcache: the component, its parameters, its pools and their counters.
 *
 * Threading: pools_lock protects the list of pools, because any thread may read the counters.
 */
#include "ompi/mca/mpool/rcache/rcache.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/pvar.h"
#include "opal/util/log.h"

enum { PRIORITY = 50 };

static size_t max_bytes, max_registrations;

/* -- read-outs ----------------------------------------------------------------- */

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static opal_list_t pools = {.head = {&pools.head, &pools.head}};

/* Sums over all pools. Destroyed pools count too, except for what was registered at its peak. */
typedef struct sums {
    size_t hits, misses, evictions, ranges_unmapped, cuts, flushes, faults;
    size_t registrations, registered_bytes, peak_bytes;
} sums_t;

static sums_t past, now;

static void add_counters(sums_t *sums, const rcache_counters_t *counters)
{
    sums->hits += rcache_counted(&counters->hits);
    sums->misses += rcache_counted(&counters->misses);
    sums->evictions += rcache_counted(&counters->evictions);
    sums->ranges_unmapped += rcache_counted(&counters->ranges_unmapped);
    sums->cuts += rcache_counted(&counters->cuts);
    sums->flushes += rcache_counted(&counters->flushes);
    sums->faults += rcache_counted(&counters->faults);
    sums->registrations += rcache_counted(&counters->registrations);
    sums->registered_bytes += rcache_counted(&counters->registered_bytes);
    sums->peak_bytes += rcache_counted(&counters->peak_bytes);
}

static void refresh(void)
{
    pthread_mutex_lock(&pools_lock);
    now = past;
    for (opal_list_node_t *node = opal_list_first(&pools); node != NULL;
         node = opal_list_next(&pools, node))
        add_counters(&now, &opal_container_of(node, rcache_t, node)->counters);
    pthread_mutex_unlock(&pools_lock);
}

#define READ_OUT(member, of, text)                                                                 \
    {                                                                                              \
        .name = #member, .type = OPAL_PARAM_SIZE, .value = &now.member, .refresh = refresh,        \
        .unit = of, .prose = text                                                                  \
    }

#define INTERNAL_READ_OUT(member, text)                                                            \
    {                                                                                              \
        .name = #member, .type = OPAL_PARAM_SIZE, .is_internal = true, .value = &now.member,       \
        .refresh = refresh, .prose = text                                                          \
    }

static const opal_param_row_t params[] = {
    {.name = "max_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &max_bytes,
     .preset = "0",
     .unit = "bytes",
     .prose = "The most memory that a device may have registered at the same time, unused "
              "registrations included; 0: as much as the device permits"},
    {.name = "max_registrations",
     .type = OPAL_PARAM_SIZE,
     .value = &max_registrations,
     .preset = "0",
     .prose = "The most registrations that a device may have at the same time, unused ones "
              "included; 0: as many as the device permits"},
    READ_OUT(hits, NULL, "How many buffers were registered already when a message needed them"),
    READ_OUT(misses, NULL, "How many buffers had to be registered for a message"),
    READ_OUT(evictions, NULL, "How many registrations were dropped to make room for others"),
    READ_OUT(flushes, NULL,
             "How often all registrations were dropped, because too many pieces of memory left the "
             "process at once"),
    READ_OUT(faults, NULL, "How many buffers the program freed during their messages"),
    READ_OUT(registrations, NULL, "How many registrations there are now"),
    READ_OUT(registered_bytes, "bytes", "How much memory is registered now"),
    READ_OUT(peak_bytes, "bytes", "The most memory that was registered at the same time"),
    INTERNAL_READ_OUT(ranges_unmapped,
                      "How many pieces of memory left the process near registrations"),
    INTERNAL_READ_OUT(cuts, "How many registrations lost pages that left the process"),
    {0},
};

/* -- performance variables ------------------------------------------------------------ */

static uint64_t read_sum(const opal_pvar_row_t *row, void *object OPAL_UNUSED)
{
    size_t value;
    refresh();
    memcpy(&value, (const char *)&now + row->which, sizeof value);
    return value;
}

#define SUM(member, kind, of, text)                                                                \
    {                                                                                              \
        .name = #member, .class = kind, .unit = of, .read = read_sum,                              \
        .which = offsetof(sums_t, member), .prose = text                                           \
    }

static const opal_pvar_row_t pvars[] = {
    SUM(hits, OPAL_PVAR_COUNTER, NULL,
        "How many buffers were registered already when a message needed them"),
    SUM(misses, OPAL_PVAR_COUNTER, NULL, "How many buffers had to be registered for a message"),
    SUM(evictions, OPAL_PVAR_COUNTER, NULL,
        "How many registrations were dropped to make room for others"),
    SUM(flushes, OPAL_PVAR_COUNTER, NULL,
        "How often all registrations were dropped, because too many pieces of memory left the "
        "process at once"),
    SUM(faults, OPAL_PVAR_COUNTER, NULL,
        "How many buffers the program freed during their messages"),
    SUM(registrations, OPAL_PVAR_LEVEL, NULL, "How many registrations there are"),
    SUM(registered_bytes, OPAL_PVAR_LEVEL, "bytes", "How much memory is registered"),
    {0},
};

/* -- pools ----------------------------------------------------------------------- */

/* The smaller of two limits, where 0 is none. */
static size_t stricter(size_t one, size_t two)
{
    return one == 0 || (two != 0 && two < one) ? two : one;
}

static opal_status_t create(void *state OPAL_UNUSED, const ompi_mpool_device_t *device, bool keep,
                            ompi_mpool_t **pool)
{
    size_t bytes = (sizeof(rcache_t) + _Alignof(rcache_t) - 1) & ~(_Alignof(rcache_t) - 1);
    rcache_t *cache = aligned_alloc(_Alignof(rcache_t), bytes);
    if (cache == NULL)
        return OPAL_ERR_NO_MEMORY;
    memset(cache, 0, sizeof *cache);
    cache->device = device;
    cache->max_bytes = stricter(max_bytes, device->max_bytes);
    cache->max_registrations = stricter(max_registrations, device->max_registrations);
    cache->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pthread_mutex_init(&cache->lock, NULL);
    opal_list_init(&cache->unused);
    opal_list_init(&cache->used);
    /* The support that start-up found is about calls; here the event counts. */
    bool install = keep || ompi_mpool_uses_mem_hooks();
    cache->keeps = ompi_mpool_marks_open(&cache->marks, install) == OPAL_SUCCESS && keep;
    cache->outer.keeps = cache->keeps;

    pthread_mutex_lock(&pools_lock);
    opal_list_append(&pools, &cache->node);
    pthread_mutex_unlock(&pools_lock);
    *pool = &cache->outer;
    return OPAL_SUCCESS;
}

static void destroy(ompi_mpool_t *pool)
{
    rcache_t *cache = opal_container_of(pool, rcache_t, outer);
    opal_list_node_t *node;
    ompi_mpool_marks_close(&cache->marks);
    pthread_mutex_lock(&cache->lock);
    rcache_retire_all(cache);
    if (!opal_list_is_empty(&cache->used))
        opal_log_error("%s ends while buffers are registered with it for transfers; a bug in Mica",
                       cache->device->name);
    while ((node = opal_list_first(&cache->used)) != NULL)
        rcache_drop(cache, opal_container_of(node, rcache_registration_t, node));
    pthread_mutex_unlock(&cache->lock);

    pthread_mutex_lock(&pools_lock);
    opal_list_remove(&cache->node);
    add_counters(&past, &cache->counters);
    past.peak_bytes = 0;
    pthread_mutex_unlock(&pools_lock);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* -- the component ------------------------------------------------------------------- */

static const ompi_mpool_ops_t ops = {
    .create = create,
    .destroy = destroy,
    .acquire = rcache_acquire,
    .release = rcache_release,
    .progress = rcache_progress,
};

static void query(opal_answer_t *answer)
{
    opal_answer_yes(answer, PRIORITY, &ops, NULL, "it serves every device");
}

OPAL_EXPORT extern const opal_component_t mca_mpool_rcache_component;
const opal_component_t mca_mpool_rcache_component = {
    OPAL_COMPONENT_HEAD(mpool, rcache),
    .prose = "a cache of registrations, notified of memory that leaves the process",
    .params = params,
    .pvars = pvars,
    .query = query,
};
