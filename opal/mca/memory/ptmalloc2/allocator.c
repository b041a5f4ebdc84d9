/* SPDX-License-Identifier: BSD-3-Clause */
/* One heap for the process. See allocator.h. */
#include "opal/mca/memory/ptmalloc2/allocator.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "opal/heap/system.h"
#include "opal/mca/memory/base/events.h"
#include "opal/mca/memory/base/redirect.h"
#include "opal/mca/memory/base/settings.h"
#include "opal/mca/memory/ptmalloc2/symbols.h"
#include "opal/util/say.h"

/* -- the heap ------------------------------------------------------------------------------------
 */

typedef enum heap_state { UNOPENED, OPEN, IMPOSSIBLE } heap_state_t;

static opal_heap_t heap;
static opal_heap_system_t source;
static _Atomic heap_state_t state;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static void tell_release(void *context OPAL_UNUSED, void *start, size_t bytes)
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
    source.before_release = tell_release;
    if (opal_heap_system_open(&source, &config) != 0)
        return IMPOSSIBLE;
    if (opal_heap_open(&heap, &config) == 0)
        return OPEN;
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

size_t ptmalloc2_used_blocks(void)
{
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    return stats.used_blocks;
}

/* -- taking the place of malloc ------------------------------------------------------------------
 */

/* What gives back or looks comes first, and is redirected first; see redirect.h. */
enum { PATCH_FREE, PATCH_REALLOC, PATCH_USABLE_SIZE, PATCH_MALLOC, FIRST_STEP = PATCH_MALLOC };

#define SHIFTED(name)                                                                              \
    {                                                                                              \
        .symbol = #name, .replacement = opal_memory_ptmalloc2_##name                               \
    }

static opal_patch_t family[] = {
    [PATCH_FREE] = SHIFTED(free),
    [PATCH_REALLOC] = SHIFTED(realloc),
    [PATCH_USABLE_SIZE] = SHIFTED(malloc_usable_size),
    [PATCH_MALLOC] = SHIFTED(malloc),
    SHIFTED(calloc),
    SHIFTED(reallocarray),
    SHIFTED(memalign),
    SHIFTED(posix_memalign),
    SHIFTED(aligned_alloc),
    SHIFTED(valloc),
    SHIFTED(pvalloc),
    SHIFTED(malloc_trim),
    SHIFTED(malloc_stats),
    SHIFTED(mallinfo),
    SHIFTED(mallinfo2),
    SHIFTED(mallopt),
};

static atomic_bool hands_out;
static ptmalloc2_owner_t owner;
static pthread_once_t owner_once = PTHREAD_ONCE_INIT;

static void list_family(opal_patch_t *patches[OPAL_COUNT_OF(family)])
{
    for (size_t i = 0; i < OPAL_COUNT_OF(family); i++)
        patches[i] = &family[i];
}

bool ptmalloc2_hands_out(void)
{
    return atomic_load_explicit(&hands_out, memory_order_relaxed);
}

/* In a static program there is nothing to look up, and nothing of it was patched. */
static void learn_owner(void)
{
    opal_patch_t *patches[OPAL_COUNT_OF(family)];
    list_family(patches);
    opal_memory_find_originals(patches, OPAL_COUNT_OF(family));
    bool found = family[PATCH_MALLOC].original != NULL && family[PATCH_FREE].original != NULL &&
                 family[PATCH_REALLOC].original != NULL &&
                 family[PATCH_USABLE_SIZE].original != NULL;
    owner = (ptmalloc2_owner_t){
        .malloc = malloc, .free = free, .realloc = realloc, .usable_size = malloc_usable_size};
    if (found) {
        *(void **)&owner.malloc = family[PATCH_MALLOC].original;
        *(void **)&owner.free = family[PATCH_FREE].original;
        *(void **)&owner.realloc = family[PATCH_REALLOC].original;
        *(void **)&owner.usable_size = family[PATCH_USABLE_SIZE].original;
    }
}

const ptmalloc2_owner_t *ptmalloc2_owner(void)
{
    pthread_once(&owner_once, learn_owner);
    return &owner;
}

/* The program has brought an allocator of its own, by linking or preloading it. */
static bool is_foreign(char *reason, size_t size)
{
    Dl_info info;
    void *found = dlsym(RTLD_DEFAULT, "malloc");
    if (found == family[PATCH_MALLOC].original)
        return false;
    const char *file = dladdr(found, &info) != 0 ? info.dli_fname : "somebody";
    opal_say_into(reason, size, "malloc is that of %s, which stays", file);
    return true;
}

/* Calls malloc as any other code does. */
static bool comes_to_us(void)
{
    void *volatile block = malloc(100);
    bool ours = block != NULL && opal_heap_owns(&heap, block);
    free(block);
    return ours;
}

/* Not every member has to be there: an older libc lacks some. What counts is what is seen. */
static void redirect_family(void)
{
    opal_patch_t *patches[OPAL_COUNT_OF(family)];
    list_family(patches);
    opal_memory_redirect(patches, FIRST_STEP);
    atomic_store(&hands_out, true);
    opal_memory_redirect(patches + FIRST_STEP, OPAL_COUNT_OF(family) - FIRST_STEP);
}

bool ptmalloc2_replace(char *reason, size_t size)
{
    ptmalloc2_owner();
    if (family[PATCH_MALLOC].original == NULL) {
        opal_say_into(reason, size, "libc was not found, as in a static program");
        return false;
    }
    if (is_foreign(reason, size))
        return false;
    if (ptmalloc2_heap() == NULL) {
        opal_say_into(reason, size, "there is no memory for a heap");
        return false;
    }
    redirect_family();
    if (comes_to_us())
        return true;
    atomic_store(&hands_out, false);
    const char *why = family[PATCH_MALLOC].reason;
    opal_say_into(reason, size, "%s", why[0] != 0 ? why : "no call of malloc was found");
    return false;
}
