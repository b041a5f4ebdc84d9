/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory events of Mica as the monitor of libfabric's registration caches (fi_ext.h, since
 * 1.13). Providers have such a cache if their devices need registered memory. Without this monitor
 * libfabric patches the process too, and two libraries that patch the same calls can break each
 * other.
 *
 * libfabric asks before it takes a registration from its cache ("valid"), and is notified of pages
 * that were unmapped ("notify"). The handler of an event must not notify it: the handler runs
 * inside allocators, and notify waits for a lock of libfabric that is held while libfabric
 * allocates. So the handler writes the range into a free word, as ompi/mca/mpool/base/marks.h does.
 * "valid" returns false while a word has an overlapping range, and progress notifies libfabric
 * later. If no word is free, every registration is invalid until then.
 *
 *   word   | first page  44 | pages  20 |    0: free
 */
#include "opal/fabric/monitor.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <rdma/fi_errno.h>

#include "opal/include/compiler.h"
#include "opal/mca/memory/memory.h"

enum {
    WORDS = 256,
    PAGE_BITS = 12,
    COUNT_BITS = 20,
};

static _Atomic uint64_t words[WORDS];
static atomic_bool lost;
static atomic_uint next_word;
static bool is_imported;

atomic_bool opal_fabric_monitor_pending;

static uint64_t word_of(uintptr_t address, size_t length)
{
    uint64_t first = address >> PAGE_BITS;
    uint64_t end = (address + length + (1 << PAGE_BITS) - 1) >> PAGE_BITS;
    uint64_t count = end - first;
    return count < (1 << COUNT_BITS) ? first << COUNT_BITS | count : 0;
}

static opal_memory_verdict_t unmapped(opal_memory_event_t *event, void *context OPAL_UNUSED)
{
    uint64_t word = word_of((uintptr_t)event->vm.address, event->vm.length);
    bool written = false;
    for (unsigned i = 0; i < WORDS && !written && word != 0; i++) {
        uint64_t none = 0;
        unsigned n = atomic_fetch_add(&next_word, 1) % WORDS;
        written = atomic_compare_exchange_strong(&words[n], &none, word);
    }
    if (!written)
        atomic_store(&lost, true);
    atomic_store(&opal_fabric_monitor_pending, true);
    return OPAL_MEMORY_PASS;
}

static opal_memory_handler_t handler = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = unmapped};

/* -- called by libfabric ------------------------------------------------------------- */

static int start(struct fid_mem_monitor *monitor OPAL_UNUSED)
{
    if (opal_memory_handler_add(&handler) == OPAL_SUCCESS)
        return 0;
    opal_memory_handler_remove(&handler);
    return -FI_ENOSYS;
}

static void stop(struct fid_mem_monitor *monitor OPAL_UNUSED)
{
    opal_memory_handler_remove(&handler);
}

static int subscribe(struct fid_mem_monitor *monitor OPAL_UNUSED, const void *address OPAL_UNUSED,
                     size_t length OPAL_UNUSED)
{
    return 0; /* all events are seen */
}

static void unsubscribe(struct fid_mem_monitor *monitor OPAL_UNUSED,
                        const void *address OPAL_UNUSED, size_t length OPAL_UNUSED)
{
    /* all events are seen */
}

static bool valid(struct fid_mem_monitor *monitor OPAL_UNUSED, const void *address, size_t length)
{
    if (!atomic_load(&opal_fabric_monitor_pending))
        return true;
    if (atomic_load(&lost))
        return false;
    uint64_t begin = (uintptr_t)address >> PAGE_BITS;
    uint64_t end = ((uintptr_t)address + length + (1 << PAGE_BITS) - 1) >> PAGE_BITS;
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t word = atomic_load(&words[i]);
        uint64_t first = word >> COUNT_BITS, count = word & ((1 << COUNT_BITS) - 1);
        if (word != 0 && first < end && begin < first + count)
            return false;
    }
    return true;
}

static struct fi_ops_mem_monitor ops = {
    .size = sizeof ops,
    .start = start,
    .stop = stop,
    .subscribe = subscribe,
    .unsubscribe = unsubscribe,
    .valid = valid,
};

struct fid_mem_monitor opal_fabric_monitor = {
    .fid.fclass = FI_CLASS_MEM_MONITOR,
    .export_ops = &ops,
};

/* -- called by users of libfabric ----------------------------------------------------- */

void opal_fabric_monitor_notify(void)
{
    const struct fi_ops_mem_notify *notify = opal_fabric_monitor.import_ops;
    /* Cleared before the words are read, so that ranges that are written meanwhile are notified the
     * next time. No thread calls "valid" meanwhile: this thread holds the lock of all callers. */
    atomic_store(&opal_fabric_monitor_pending, false);
    if (atomic_exchange(&lost, false))
        notify->notify(&opal_fabric_monitor, NULL, SIZE_MAX / 2);
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t word = atomic_load(&words[i]);
        if (word == 0)
            continue;
        size_t count = word & ((1 << COUNT_BITS) - 1);
        notify->notify(&opal_fabric_monitor, (void *)(uintptr_t)(word >> COUNT_BITS << PAGE_BITS),
                       count << PAGE_BITS);
        /* Still the same word: no handler writes to a word that is not free. */
        atomic_store(&words[i], 0);
    }
}

void opal_fabric_monitor_import(void)
{
    /* A user who has set a monitor has a reason. An old libfabric cannot import one. */
    if (getenv("FI_MR_CACHE_MONITOR") == NULL)
        is_imported = fi_import(FI_VERSION(1, 13), "mr_cache", NULL, 0, 0, &opal_fabric_monitor.fid,
                                NULL) == 0;
}

void opal_fabric_monitor_withdraw(void)
{
    if (is_imported)
        fi_close(&opal_fabric_monitor.fid);
    is_imported = false;
}
