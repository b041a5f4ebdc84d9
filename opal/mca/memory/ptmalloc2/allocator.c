/* SPDX-License-Identifier: BSD-3-Clause */
/* One heap for the process. */
#include "opal/mca/memory/ptmalloc2/allocator.h"

#include <pthread.h>
#include <stdatomic.h>

#include "opal/heap/system.h"
#include "opal/memory/events/events.h"
#include "opal/memory/malloc/family.h"
#include "opal/memory/hooks/settings.h"
#include "opal/util/say.h"

typedef enum heap_state { UNOPENED, OPEN, IMPOSSIBLE } heap_state_t;

static opal_heap_t heap;
static opal_heap_system_t source;
static _Atomic heap_state_t state;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static void report_release(void *context OPAL_UNUSED, void *start, size_t bytes)
{
    opal_memory_unmapped(start, bytes);
}

static void prepare_fork(void)
{
    opal_heap_fork_prepare(&heap);
}

static void after_fork_in_parent(void)
{
    opal_heap_fork_parent(&heap);
}

static void after_fork_in_child(void)
{
    opal_heap_fork_child(&heap);
}

static heap_state_t open_heap(void)
{
    opal_heap_config_t config = {.alignment = opal_memory_settings()->alloc_align};
    source.before_release = report_release;
    if (opal_heap_system_open(&source, &config) != 0)
        return IMPOSSIBLE;
    if (opal_heap_open(&heap, &config) == 0) {
        opal_memory_family_know(&heap, 0);
        return OPEN;
    }
    opal_heap_system_close(&source);
    return IMPOSSIBLE;
}

static opal_heap_t *heap_after_opening(void)
{
    bool opened = false;
    pthread_mutex_lock(&opening);
    if (atomic_load(&state) == UNOPENED) {
        atomic_store(&state, open_heap());
        opened = atomic_load(&state) == OPEN;
    }
    pthread_mutex_unlock(&opening);
    /* This allocates, maybe from us. */
    if (opened)
        pthread_atfork(prepare_fork, after_fork_in_parent, after_fork_in_child);
    return atomic_load(&state) == OPEN ? &heap : NULL;
}

opal_heap_t *ptmalloc2_heap(void)
{
    if (opal_likely(atomic_load_explicit(&state, memory_order_acquire) == OPEN))
        return &heap;
    return heap_after_opening();
}

bool ptmalloc2_replace(char *reason, size_t size)
{
    const char *obstacle = opal_memory_family_obstacle();
    if (obstacle == NULL && ptmalloc2_heap() == NULL)
        obstacle = "there is no memory for a heap";
    if (obstacle == NULL)
        return opal_memory_family_serve(&heap, 0, reason, size);
    opal_say_into(reason, size, "%s", obstacle);
    return false;
}
