/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which thread state a thread uses.
 *
 * A thread gets one when it first needs it: that of a thread that has ended, with its pages and
 * free blocks, or a new one. When the thread ends, its state goes back, and blocks in use do not
 * notice. What allocates later in a thread that ends (destructors of others, the C library) uses
 * the common state, with a lock; so does a thread for whose state there was no memory.
 *
 * Thread-local memory is scarce if the library comes by dlopen: it is a few words.
 */
#include "opal/heap/engine.h"

#include <errno.h>

__thread opal_heap_slot_t opal_heap_slots[OPAL_HEAP_SLOTS];
static __thread bool ending;

static pthread_mutex_t key_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key; /* its destructor runs when a thread ends */
static bool have_key;

/* -- a thread's beginning and end ------------------------------------------------------ */

static void set_up(const opal_heap_t *heap, opal_heap_thread_t *thread)
{
    *thread = (opal_heap_thread_t){.id = opal_heap_id_of(heap, thread)};
    for (unsigned i = 0; i < OPAL_HEAP_CLASSES; i++)
        thread->active[i] = &opal_heap_no_page;
    for (unsigned i = 0; i < OPAL_COUNT_OF(thread->class_of_granule); i++)
        thread->class_of_granule[i] = (uint8_t)opal_heap_class_aligned(
            (size_t)i << OPAL_HEAP_GRANULE_SHIFT, heap->config.alignment);
    atomic_store_explicit(opal_heap_mailbox(heap, thread->id), 0, memory_order_relaxed);
}

static opal_heap_thread_t *new_thread(opal_heap_t *heap)
{
    bool zero;
    opal_heap_enter(heap);
    opal_heap_thread_t *thread = opal_heap_idle_take(heap);
    if (thread == NULL) {
        thread = opal_heap_run_take(heap, 1, 1, &zero);
        if (thread != NULL) {
            heap->stats.threads++;
            set_up(heap, thread);
        }
    }
    opal_heap_leave(heap);
    return thread;
}

static void thread_ends(void *slots)
{
    opal_heap_slot_t *slot = slots;
    ending = true;
    for (int i = 0; i < OPAL_HEAP_SLOTS; i++, slot++) {
        opal_heap_t *heap = slot->heap;
        opal_heap_thread_t *thread = slot->thread;
        *slot = (opal_heap_slot_t){0};
        if (heap == NULL)
            continue;
        opal_heap_thread_trim(heap, thread);
        pthread_mutex_lock(&heap->lock);
        opal_heap_idle_add(heap, thread);
        pthread_mutex_unlock(&heap->lock);
    }
}

int opal_heap_threads_open(void)
{
    int error = 0;
    pthread_mutex_lock(&key_lock);
    if (!have_key)
        error = pthread_key_create(&key, thread_ends);
    have_key = error == 0;
    pthread_mutex_unlock(&key_lock);
    return error;
}

opal_heap_thread_t *opal_heap_thread_find(opal_heap_t *heap)
{
    opal_heap_slot_t *free_slot = NULL;
    for (int i = OPAL_HEAP_SLOTS - 1; i >= 0; i--) {
        if (opal_heap_slots[i].heap == heap)
            return opal_heap_slots[i].thread;
        if (opal_heap_slots[i].heap == NULL)
            free_slot = &opal_heap_slots[i];
    }
    if (ending || free_slot == NULL)
        return NULL;
    opal_heap_thread_t *thread = new_thread(heap);
    if (thread == NULL)
        return NULL;
    *free_slot = (opal_heap_slot_t){heap, thread};
    /* It may allocate, from this very heap: the slot is ready. If it fails, the state is lost when
       the thread ends. */
    int saved = errno;
    pthread_setspecific(key, opal_heap_slots);
    errno = saved;
    return thread;
}

void opal_heap_thread_forget(const opal_heap_t *heap)
{
    for (int i = 0; i < OPAL_HEAP_SLOTS; i++)
        if (opal_heap_slots[i].heap == heap)
            opal_heap_slots[i] = (opal_heap_slot_t){0};
}

/* -- the common state ------------------------------------------------------------------ */

opal_heap_thread_t *opal_heap_common_enter(opal_heap_t *heap)
{
    pthread_mutex_lock(&heap->common_lock);
    if (heap->common == NULL)
        heap->common = new_thread(heap);
    if (heap->common == NULL)
        pthread_mutex_unlock(&heap->common_lock);
    return heap->common;
}

void opal_heap_common_leave(opal_heap_t *heap)
{
    pthread_mutex_unlock(&heap->common_lock);
}
