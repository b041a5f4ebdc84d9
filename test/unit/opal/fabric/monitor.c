/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/fabric/monitor.c, with a fake of a libfabric that imports monitors: what it imports, what it
 * is notified of, and when a registration is not valid. The test raises the events itself; nothing
 * is hooked.
 */
#include "opal/fabric/monitor.h"

#include <rdma/fi_errno.h>

#include "opal/mca/memory/memory.h"
#include "test/unit/opal/support.h"

#define PAGE ((uintptr_t)4096)

enum { WORDS = 256, MOST_NOTIFIED = 1024 };

/* An address that need not be mapped. */
static const uintptr_t base = (uintptr_t)1 << 40;

static struct fi_ops_mem_monitor *monitor;

/* -- a libfabric ---------------------------------------------------------------------------- */

static struct {
    int open_result, bind_result;
    int opened, cache_closed, monitor_closed;
    struct {
        uintptr_t start;
        size_t length;
    } notified[MOST_NOTIFIED];
    size_t notify_count;
    uintptr_t unmapped_meanwhile; /* unmapped during the next notify; 0: nothing */
} fabric;

static int close_monitor(struct fid *fid)
{
    ck_assert_ptr_eq(fid, &opal_fabric_monitor.fid);
    fabric.monitor_closed++;
    return 0;
}

static int close_cache(struct fid *fid OPAL_UNUSED)
{
    fabric.cache_closed++;
    return 0;
}

static void notify(struct fid_mem_monitor *who, const void *address, size_t length)
{
    ck_assert_ptr_eq(who, &opal_fabric_monitor);
    ck_assert_uint_lt(fabric.notify_count, MOST_NOTIFIED);
    fabric.notified[fabric.notify_count].start = (uintptr_t)address;
    fabric.notified[fabric.notify_count++].length = length;
    uintptr_t leaves = fabric.unmapped_meanwhile;
    fabric.unmapped_meanwhile = 0;
    if (leaves != 0)
        opal_memory_unmapped((void *)leaves, PAGE);
}

static int bind_to_cache(struct fid *cache OPAL_UNUSED, struct fid *fid, uint64_t flags)
{
    static struct fi_ops of_monitor = {.size = sizeof of_monitor, .close = close_monitor};
    static struct fi_ops_mem_notify notifier = {.size = sizeof notifier, .notify = notify};
    ck_assert_ptr_eq(fid, &opal_fabric_monitor.fid);
    ck_assert_uint_eq(fid->fclass, FI_CLASS_MEM_MONITOR);
    ck_assert_uint_eq(flags, 0);
    if (fabric.bind_result != 0)
        return fabric.bind_result;
    fid->ops = &of_monitor;
    opal_fabric_monitor.import_ops = &notifier;
    return 0;
}

/* Replaces libfabric's function, which fi_import calls. */
int fi_open(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags,
            struct fid **fid, void *context)
{
    static struct fi_ops of_cache = {
        .size = sizeof of_cache, .close = close_cache, .bind = bind_to_cache};
    static struct fid cache = {.ops = &of_cache};
    ck_assert_uint_ge(version, FI_VERSION(1, 13));
    ck_assert_str_eq(name, "mr_cache");
    ck_assert(attr == NULL && attr_len == 0 && flags == 0 && context == NULL);
    fabric.opened++;
    *fid = &cache;
    return fabric.open_result;
}

/* -- events --------------------------------------------------------------------------------- */

opal_status_t __wrap_opal_memory_handler_add(opal_memory_handler_t *handler);

static opal_status_t add_status;

opal_status_t __wrap_opal_memory_handler_add(opal_memory_handler_t *handler)
{
    opal_memory_handler_add_passive(handler);
    return add_status;
}

static void leave(uintptr_t start, size_t length)
{
    opal_memory_unmapped((void *)start, length);
}

static bool is_valid(uintptr_t start, size_t length)
{
    return monitor->valid(&opal_fabric_monitor, (void *)start, length);
}

static bool was_told(uintptr_t start, size_t length)
{
    for (size_t i = 0; i < fabric.notify_count; i++) {
        if (fabric.notified[i].start == start && fabric.notified[i].length == length)
            return true;
    }
    return false;
}

static void setup(void)
{
    unsetenv("FI_MR_CACHE_MONITOR");
    monitor = opal_fabric_monitor.export_ops;
    opal_fabric_monitor_import();
    ck_assert_int_eq(monitor->start(&opal_fabric_monitor), 0);
}

/* -- importing ------------------------------------------------------------------------------ */

START_TEST(the_monitor_is_imported_and_withdrawn)
{
    ck_assert_int_eq(fabric.opened, 1);
    ck_assert_int_eq(fabric.cache_closed, 1); /* the cache that the monitor was bound to */
    ck_assert_int_eq(fabric.monitor_closed, 0);
    opal_fabric_monitor_withdraw();
    opal_fabric_monitor_withdraw();
    ck_assert_int_eq(fabric.monitor_closed, 1);
}
END_TEST

/* libfabric cannot import it, refuses it, or the user has set another monitor. */
START_TEST(the_monitor_is_not_imported)
{
    opal_fabric_monitor_withdraw();
    memset(&fabric, 0, sizeof fabric);
    if (_i == 0)
        fabric.open_result = -FI_ENOSYS;
    if (_i == 1)
        fabric.bind_result = -FI_EBUSY;
    if (_i == 2)
        setenv("FI_MR_CACHE_MONITOR", "userfaultfd", 1);
    opal_fabric_monitor_import();
    ck_assert_int_eq(fabric.opened, _i < 2);
    ck_assert_int_eq(fabric.cache_closed, _i == 1);
    opal_fabric_monitor_withdraw();
    ck_assert_int_eq(fabric.monitor_closed, 0);
}
END_TEST

/* -- notifying ------------------------------------------------------------------------------ */

START_TEST(unmapped_pages_are_notified)
{
    ck_assert_int_eq(monitor->subscribe(&opal_fabric_monitor, (void *)base, 8 * PAGE), 0);
    ck_assert(is_valid(base, 8 * PAGE));
    ck_assert(!atomic_load(&opal_fabric_monitor_pending));
    leave(base + 2 * PAGE, 3 * PAGE);
    ck_assert(atomic_load(&opal_fabric_monitor_pending));
    /* Whole pages: before the range, in it, behind it. */
    ck_assert(is_valid(base, 2 * PAGE));
    ck_assert(!is_valid(base, 2 * PAGE + 1));
    ck_assert(!is_valid(base + 3 * PAGE + 7, 1));
    ck_assert(!is_valid(base + 5 * PAGE - 1, 1));
    ck_assert(is_valid(base + 5 * PAGE, PAGE));
    ck_assert_uint_eq(fabric.notify_count, 0); /* not from the handler of an event */
    opal_fabric_monitor_notify();
    ck_assert_uint_eq(fabric.notify_count, 1);
    ck_assert(was_told(base + 2 * PAGE, 3 * PAGE));
    ck_assert(is_valid(base, 8 * PAGE));
    opal_fabric_monitor_notify(); /* once */
    ck_assert_uint_eq(fabric.notify_count, 1);
    monitor->unsubscribe(&opal_fabric_monitor, (void *)base, 8 * PAGE);
}
END_TEST

START_TEST(more_ranges_than_words)
{
    for (uintptr_t i = 0; i < WORDS; i++)
        leave(base + 2 * i * PAGE, PAGE);
    ck_assert(is_valid(base + PAGE, PAGE));
    leave(base + 2 * WORDS * PAGE, PAGE);
    ck_assert(!is_valid(base + PAGE, PAGE)); /* the range without a word could be this one */
    opal_fabric_monitor_notify();
    ck_assert_uint_eq(fabric.notify_count, WORDS + 1);
    ck_assert(was_told(0, SIZE_MAX / 2));
    for (uintptr_t i = 0; i < WORDS; i++)
        ck_assert(was_told(base + 2 * i * PAGE, PAGE));
    ck_assert(is_valid(base, 2 * WORDS * PAGE));
    leave(base, PAGE); /* words are free again */
    ck_assert(is_valid(base + PAGE, PAGE) && !is_valid(base, PAGE));
}
END_TEST

/* The number of pages has 20 bits. */
START_TEST(a_range_longer_than_a_word_can_hold)
{
    size_t most = ((size_t)1 << 20) - 1;
    leave(base, most * PAGE);
    ck_assert(!is_valid(base + (most - 1) * PAGE, 1) && is_valid(base + most * PAGE, 1));
    opal_fabric_monitor_notify();
    ck_assert(was_told(base, most * PAGE));
    fabric.notify_count = 0;
    leave(base, (most + 1) * PAGE);
    ck_assert(!is_valid(base - PAGE, 1));
    opal_fabric_monitor_notify();
    ck_assert_uint_eq(fabric.notify_count, 1);
    ck_assert(was_told(0, SIZE_MAX / 2));
    ck_assert(is_valid(base, PAGE));
}
END_TEST

START_TEST(pages_unmapped_during_notify_are_notified)
{
    fabric.unmapped_meanwhile = base + 100 * PAGE;
    leave(base, PAGE);
    opal_fabric_monitor_notify();
    ck_assert(was_told(base, PAGE));
    ck_assert(atomic_load(&opal_fabric_monitor_pending));
    opal_fabric_monitor_notify();
    ck_assert(was_told(base + 100 * PAGE, PAGE));
    ck_assert(!atomic_load(&opal_fabric_monitor_pending) && is_valid(base + 100 * PAGE, PAGE));
}
END_TEST

/* -- starting and stopping ------------------------------------------------------------------ */

START_TEST(a_stopped_monitor_gets_no_events)
{
    monitor->stop(&opal_fabric_monitor);
    leave(base, PAGE);
    ck_assert(!atomic_load(&opal_fabric_monitor_pending) && is_valid(base, PAGE));
    ck_assert_int_eq(monitor->start(&opal_fabric_monitor), 0);
    leave(base, PAGE);
    ck_assert(!is_valid(base, PAGE));
}
END_TEST

/* Where memory events are not available, libfabric has to watch by itself. */
START_TEST(events_are_not_available)
{
    monitor->stop(&opal_fabric_monitor);
    add_status = OPAL_ERR_NOT_AVAILABLE;
    ck_assert_int_eq(monitor->start(&opal_fabric_monitor), -FI_ENOSYS);
    leave(base, PAGE);
    ck_assert(!atomic_load(&opal_fabric_monitor_pending));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_monitor_is_imported_and_withdrawn},
    {.test = &the_monitor_is_not_imported, .repeats = 3},
    {.test = &unmapped_pages_are_notified},
    {.test = &more_ranges_than_words},
    {.test = &a_range_longer_than_a_word_can_hold},
    {.test = &pages_unmapped_during_notify_are_notified},
    {.test = &a_stopped_monitor_gets_no_events},
    {.test = &events_are_not_available},
};

UNIT_MAIN("fabric/monitor", tests, setup);
