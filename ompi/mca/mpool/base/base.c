/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mpool framework object, the pools of this process, and what became of mpi_leave_pinned.
 *
 * Threading: the list of pools changes when transports start and stop; no thread polls then.
 */
#include "ompi/mca/mpool/base/base.h"

#include <pthread.h>

#include "opal/mca/memory/base/base.h"
#include "opal/memory/events/events.h"
#include "opal/progress/wait.h"

static const opal_slot_t mpool_slots[] = {
    OPAL_SLOT_REQUIRED(ompi_mpool_ops_t, create),   OPAL_SLOT_REQUIRED(ompi_mpool_ops_t, destroy),
    OPAL_SLOT_REQUIRED(ompi_mpool_ops_t, acquire),  OPAL_SLOT_REQUIRED(ompi_mpool_ops_t, release),
    OPAL_SLOT_REQUIRED(ompi_mpool_ops_t, progress), {0},
};

static bool use_mem_hooks;

static const opal_param_row_t mpool_params[] = {
    {.name = "use_mem_hooks",
     .type = OPAL_PARAM_BOOL,
     .value = &use_mem_hooks,
     .preset = "no",
     .prose = "Whether memory is watched also where buffers do not stay registered, so that a "
              "buffer that is unmapped during its message is reported. Memory of malloc is "
              "watched only with mpi_leave_pinned or mpi_leave_pinned_pipeline"},
    {0},
};

opal_framework_t mca_mpool_framework = {
    .name = "mpool",
    .prose = "buffers that a device has to know before it moves them",
    .params = mpool_params,
    .slots = mpool_slots,
    .may_be_empty = true,
};

/* -- leave_pinned ---------------------------------------------------------------- */

static ompi_mpool_leave_pinned_t pinned = {OPAL_LEAVE_PINNED_NO, OPAL_LEAVE_PINNED_NO};

/* mpool_use_mem_hooks installs the hooks that can be installed now. Those of malloc are installed
 * before main, by mpi_leave_pinned. */
void ompi_mpool_start(ompi_mpool_leave_pinned_t asked)
{
    if (use_mem_hooks)
        opal_memory_events_install(OPAL_MEMORY_VM_UNMAPPED);
    pinned = ompi_mpool_decide(asked, use_mem_hooks, opal_memory_support());
}

ompi_mpool_leave_pinned_t ompi_mpool_leave_pinned(void)
{
    return pinned;
}

bool ompi_mpool_uses_mem_hooks(void)
{
    return use_mem_hooks;
}

static bool is_in_effect(opal_leave_pinned_t decided, const ompi_mpool_device_t *device)
{
    return decided == OPAL_LEAVE_PINNED_YES ||
           (decided == OPAL_LEAVE_PINNED_RUNTIME && device->gains);
}

bool ompi_mpool_leaves_pinned(const ompi_mpool_device_t *device)
{
    return is_in_effect(pinned.leave, device);
}

/* If both are `runtime`, the buffer stays registered as a whole. */
bool ompi_mpool_leaves_pipeline_pinned(const ompi_mpool_device_t *device)
{
    return is_in_effect(pinned.pipeline, device) && !ompi_mpool_leaves_pinned(device);
}

/* -- fork -------------------------------------------------------------------------- */

atomic_uint ompi_mpool_generation;

/* No lock is taken around fork: the thread that forks may hold the allocator's lock, and a thread
 * that registers pages may wait for it. The child leaves the parent's pools as they are. */
static void begin_generation(void)
{
    atomic_fetch_add(&ompi_mpool_generation, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, begin_generation);
}

/* -- pools --------------------------------------------------------------------------- */

static opal_list_t pools = {.head = {&pools.head, &pools.head}};

/* No wait waits for this: returns 0. */
static int progress(void *state)
{
    const opal_list_t *all = state;
    for (opal_list_node_t *node = opal_list_first(all); node != NULL;
         node = opal_list_next(all, node)) {
        ompi_mpool_t *pool = opal_container_of(node, ompi_mpool_t, node);
        if (!ompi_mpool_is_inherited(pool))
            pool->ops->progress(pool);
    }
    return 0;
}

opal_status_t ompi_mpool_create(const ompi_mpool_device_t *device, ompi_mpool_t **pool)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const opal_candidate_t *chosen = opal_framework_best(&mca_mpool_framework);
    if (chosen == NULL)
        return OPAL_ERR_NOT_AVAILABLE;
    pthread_once(&once, watch_forks);

    const ompi_mpool_ops_t *ops = chosen->answer.ops;
    bool keep = ompi_mpool_leaves_pinned(device) || ompi_mpool_leaves_pipeline_pinned(device);
    ompi_mpool_t *new;
    opal_status_t status = ops->create(chosen->answer.state, device, keep, &new);
    if (status == OPAL_SUCCESS && opal_list_is_empty(&pools)) {
        status = opal_progress_add(progress, &pools);
        if (status != OPAL_SUCCESS)
            ops->destroy(new);
    }
    if (status != OPAL_SUCCESS)
        return status;
    new->ops = ops;
    new->device = device;
    new->generation = atomic_load(&ompi_mpool_generation);
    opal_list_append(&pools, &new->node);
    *pool = new;
    return OPAL_SUCCESS;
}

void ompi_mpool_destroy(ompi_mpool_t *pool)
{
    if (pool == NULL || ompi_mpool_is_inherited(pool))
        return;
    opal_list_remove(&pool->node);
    if (opal_list_is_empty(&pools))
        opal_progress_remove(progress, &pools);
    pool->ops->destroy(pool);
}
