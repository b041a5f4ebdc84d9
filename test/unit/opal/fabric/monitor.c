/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/fabric/monitor.c, with a libfabric that imports monitors, as ours may not yet: what it
 * is given, what it hears, and when it may not use what it knows. Events are raised by hand;
 * nothing is hooked.
 */
#include "opal/fabric/monitor.h"

#include <rdma/fi_errno.h>

#include "opal/mca/memory/memory.h"
#include "test/unit/opal/support.h"

#define PAGE ((uintptr_t)4096)

enum { WORDS = 256, MOST_TOLD = 1024 };

/* An address that nobody has to have mapped. */
static const uintptr_t base = (uintptr_t)1 << 40;

static struct fi_ops_mem_monitor *monitor;

/* -- a libfabric ---------------------------------------------------------------------------- */

static struct {
    int open_result, bind_result;
    int opened, cache_closed, monitor_closed;
    struct {
        uintptr_t start;
        size_t length;
    } told[MOST_TOLD];
    size_t told_count;
    uintptr_t leaves_meanwhile; /* while it is told the next time; 0: nothing */
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
    ck_assert_uint_lt(fabric.told_count, MOST_TOLD);
    fabric.told[fabric.told_count].start = (uintptr_t)address;
    fabric.told[fabric.told_count++].length = length;
    uintptr_t leaves = fabric.leaves_meanwhile;
    fabric.leaves_meanwhile = 0;
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

/* Takes the place of the library's, which fi_import calls. */
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
    for (size_t i = 0; i < fabric.told_count; i++) {
        if (fabric.told[i].start == start && fabric.told[i].length == length)
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

START_TEST(it_is_imported_and_withdrawn)
{
    ck_assert_int_eq(fabric.opened, 1);
    ck_assert_int_eq(fabric.cache_closed, 1); /* what it was bound to is not needed any more */
    ck_assert_int_eq(fabric.monitor_closed, 0);
    opal_fabric_monitor_withdraw();
    opal_fabric_monitor_withdraw();
    ck_assert_int_eq(fabric.monitor_closed, 1);
}
END_TEST

/* It cannot, or does not want to, or the user has chosen another one. */
START_TEST(it_is_not_imported)
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

/* -- hearing -------------------------------------------------------------------------------- */

START_TEST(what_leaves_is_told)
{
    ck_assert_int_eq(monitor->subscribe(&opal_fabric_monitor, (void *)base, 8 * PAGE), 0);
    ck_assert(is_valid(base, 8 * PAGE));
    ck_assert(!atomic_load(&opal_fabric_monitor_pending));
    leave(base + 2 * PAGE, 3 * PAGE);
    ck_assert(atomic_load(&opal_fabric_monitor_pending));
    /* By whole pages: up to the range, in it, behind it. */
    ck_assert(is_valid(base, 2 * PAGE));
    ck_assert(!is_valid(base, 2 * PAGE + 1));
    ck_assert(!is_valid(base + 3 * PAGE + 7, 1));
    ck_assert(!is_valid(base + 5 * PAGE - 1, 1));
    ck_assert(is_valid(base + 5 * PAGE, PAGE));
    ck_assert_uint_eq(fabric.told_count, 0); /* an event is no place to call it */
    opal_fabric_monitor_tell();
    ck_assert_uint_eq(fabric.told_count, 1);
    ck_assert(was_told(base + 2 * PAGE, 3 * PAGE));
    ck_assert(is_valid(base, 8 * PAGE));
    opal_fabric_monitor_tell(); /* once */
    ck_assert_uint_eq(fabric.told_count, 1);
    monitor->unsubscribe(&opal_fabric_monitor, (void *)base, 8 * PAGE);
}
END_TEST

START_TEST(more_than_can_be_noted)
{
    for (uintptr_t i = 0; i < WORDS; i++)
        leave(base + 2 * i * PAGE, PAGE);
    ck_assert(is_valid(base + PAGE, PAGE));
    leave(base + 2 * WORDS * PAGE, PAGE);
    ck_assert(!is_valid(base + PAGE, PAGE)); /* it could be that one */
    opal_fabric_monitor_tell();
    ck_assert_uint_eq(fabric.told_count, WORDS + 1);
    ck_assert(was_told(0, SIZE_MAX / 2));
    for (uintptr_t i = 0; i < WORDS; i++)
        ck_assert(was_told(base + 2 * i * PAGE, PAGE));
    ck_assert(is_valid(base, 2 * WORDS * PAGE));
    leave(base, PAGE); /* and there is room again */
    ck_assert(is_valid(base + PAGE, PAGE) && !is_valid(base, PAGE));
}
END_TEST

/* The number of pages has 20 bits. */
START_TEST(longer_than_can_be_noted)
{
    size_t most = ((size_t)1 << 20) - 1;
    leave(base, most * PAGE);
    ck_assert(!is_valid(base + (most - 1) * PAGE, 1) && is_valid(base + most * PAGE, 1));
    opal_fabric_monitor_tell();
    ck_assert(was_told(base, most * PAGE));
    fabric.told_count = 0;
    leave(base, (most + 1) * PAGE);
    ck_assert(!is_valid(base - PAGE, 1));
    opal_fabric_monitor_tell();
    ck_assert_uint_eq(fabric.told_count, 1);
    ck_assert(was_told(0, SIZE_MAX / 2));
    ck_assert(is_valid(base, PAGE));
}
END_TEST

START_TEST(what_leaves_meanwhile_is_told_too)
{
    fabric.leaves_meanwhile = base + 100 * PAGE;
    leave(base, PAGE);
    opal_fabric_monitor_tell();
    ck_assert(was_told(base, PAGE));
    ck_assert(atomic_load(&opal_fabric_monitor_pending));
    opal_fabric_monitor_tell();
    ck_assert(was_told(base + 100 * PAGE, PAGE));
    ck_assert(!atomic_load(&opal_fabric_monitor_pending) && is_valid(base + 100 * PAGE, PAGE));
}
END_TEST

/* -- starting and stopping ------------------------------------------------------------------ */

START_TEST(it_hears_nothing_any_more)
{
    monitor->stop(&opal_fabric_monitor);
    leave(base, PAGE);
    ck_assert(!atomic_load(&opal_fabric_monitor_pending) && is_valid(base, PAGE));
    ck_assert_int_eq(monitor->start(&opal_fabric_monitor), 0);
    leave(base, PAGE);
    ck_assert(!is_valid(base, PAGE));
}
END_TEST

/* Events that cannot be had: libfabric has to watch by itself. */
START_TEST(it_cannot_hear)
{
    monitor->stop(&opal_fabric_monitor);
    add_status = OPAL_ERR_NOT_AVAILABLE;
    ck_assert_int_eq(monitor->start(&opal_fabric_monitor), -FI_ENOSYS);
    leave(base, PAGE);
    ck_assert(!atomic_load(&opal_fabric_monitor_pending));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &it_is_imported_and_withdrawn}, {.test = &it_is_not_imported, .repeats = 3},
    {.test = &what_leaves_is_told},          {.test = &more_than_can_be_noted},
    {.test = &longer_than_can_be_noted},     {.test = &what_leaves_meanwhile_is_told_too},
    {.test = &it_hears_nothing_any_more},    {.test = &it_cannot_hear},
};

UNIT_MAIN("fabric/monitor", tests, setup);
