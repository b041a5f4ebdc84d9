/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What events.h promises, held against the kernel's own word (oracle.h): whatever a program does to
 * its mappings, by whatever method we hear of it, no page leaves that VM_UNMAPPED was not raised
 * for before. Random calls on an arena, with results that the kernel decides on, failures included.
 */
#include "opal/memory/events/events.h"

#include <stdatomic.h>

#include "opal/memory/hooks/watcher.h"
#include "test/unit/opal/mca/memory/oracle.h"
#include "test/unit/opal/support.h"

enum { PAGES = 64, STEPS = 4000 };
#define P 4096UL

static char *arena;
static atomic_bool reported[PAGES]; /* since the call began */
static unsigned left_count;

static size_t page_of(uintptr_t address)
{
    return (address - (uintptr_t)arena) / P;
}

static opal_memory_verdict_t note(opal_memory_event_t *event, void *context OPAL_UNUSED)
{
    uintptr_t start = (uintptr_t)event->vm.address, end = start + event->vm.length;
    for (size_t i = 0; i < PAGES; i++) {
        uintptr_t page = (uintptr_t)arena + i * P;
        if (start <= page && page < end)
            atomic_store(&reported[i], true);
    }
    return OPAL_MEMORY_PASS;
}

static opal_memory_handler_t handler = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = note};

static unsigned random_below(unsigned limit)
{
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 20) % limit;
}

static void *some_page(void)
{
    return arena + random_below(PAGES) * P;
}

static size_t some_length(const void *from)
{
    size_t rest = PAGES - page_of((uintptr_t)from);
    return (1 + random_below((unsigned)(rest < 9 ? rest : 9))) * P - random_below(3);
}

/* Everything mapped and watched, as at the beginning. */
static void restore(void)
{
    void *fresh = mmap(arena, PAGES * P, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ck_assert_ptr_eq(fresh, arena);
    memset(arena, 1, PAGES * P);
    ck_assert(oracle_watch(arena, PAGES * P));
}

static void some_mremap(void)
{
    static const int flags[] = {0, MREMAP_MAYMOVE, MREMAP_MAYMOVE | MREMAP_FIXED};
    void *from = some_page(), *to = some_page();
    size_t old_length = some_length(from), new_length = some_length(to);
    int how = flags[random_below(OPAL_COUNT_OF(flags))];
    char *moved = mremap(from, old_length, new_length, how, to);
    if (moved != MAP_FAILED && (moved < arena || moved >= arena + PAGES * P))
        munmap(moved, new_length);
}

static void some_call(void)
{
    static const int advice[] = {MADV_DONTNEED, MADV_FREE, MADV_WILLNEED, MADV_REMOVE,
                                 MADV_NOHUGEPAGE};
    void *at = some_page();
    size_t length = some_length(at);
    switch (random_below(7)) {
    case 0:
        munmap(at, length);
        break;
    case 1:
        munmap((char *)at + random_below(2), random_below(2) * SIZE_MAX); /* nonsense */
        break;
    case 2:
        if (mmap(at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) == at)
            oracle_watch(at, (length + P - 1) / P * P);
        break;
    case 3:
    case 4:
        some_mremap();
        break;
    default:
        madvise(at, length, advice[random_below(OPAL_COUNT_OF(advice))]);
        break;
    }
}

/* No page has left of which we were not told. */
static void compare(unsigned step)
{
    oracle_range_t ranges[64];
    size_t count = oracle_take(ranges, OPAL_COUNT_OF(ranges));
    for (size_t i = 0; i < count; i++) {
        for (uintptr_t page = ranges[i].start; page < ranges[i].end; page += P) {
            bool inside = page >= (uintptr_t)arena && page_of(page) < PAGES;
            left_count += inside;
            if (inside && !atomic_load(&reported[page_of(page)]))
                ck_abort_msg("step %u: page %zu has left, and nobody was told", step,
                             page_of(page));
        }
    }
    for (size_t i = 0; i < PAGES; i++)
        atomic_store(&reported[i], false);
}

static const char *const methods[] = {"reloc", "overwrite", "reloc,overwrite"};

START_TEST(no_page_leaves_untold)
{
    setenv("OMPI_MCA_patcher", methods[_i], 1);
    ck_assert_int_eq(opal_memory_handler_add(&handler), OPAL_SUCCESS);
    ck_assert(oracle_open());
    arena = mmap(NULL, PAGES * P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned step = 0; step < STEPS; step++) {
        if (step % 8 == 0) {
            restore();
            compare(step);
        }
        some_call();
        compare(step);
    }
    ck_assert_uint_gt(left_count, STEPS);
    oracle_close();
}
END_TEST

/* It is no oracle if it does not see what nobody hooks. */
START_TEST(the_oracle_sees_what_we_do_not)
{
    oracle_range_t range;
    ck_assert(oracle_open());
    arena = mmap(NULL, PAGES * P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    restore();
    ck_assert_uint_eq(oracle_take(&range, 1), 0);
    ck_assert_int_eq(munmap(arena + 2 * P, 3 * P), 0);
    ck_assert_uint_eq(oracle_take(&range, 1), 1);
    ck_assert_uint_eq(range.start, (uintptr_t)arena + 2 * P);
    ck_assert_uint_eq(range.end, (uintptr_t)arena + 5 * P);
    oracle_close();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_oracle_sees_what_we_do_not},
    {.test = &no_page_leaves_untold, .repeats = OPAL_COUNT_OF(methods)},
};

static void skip(const char *reason)
{
    printf("1..1\nok 1 - all of it # SKIP %s\n", reason);
}

int main(void)
{
    if (opal_memory_watcher() != NULL) {
        skip("the hooks stand aside for the sanitizer");
        return 0;
    }
    if (!oracle_open()) {
        skip("userfaultfd is not to be had");
        return 0;
    }
    oracle_close();
    return unit_run("events", tests, OPAL_COUNT_OF(tests), NULL);
}
