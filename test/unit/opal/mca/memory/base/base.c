/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/memory/base/base.c: the layer is opened and closed more than once, as by a program that
 * makes one MPI session after the other. What was put in place before main stays; what is vouched
 * for is found out anew each time. The program starts itself with mpi_leave_pinned for that.
 */
#include "opal/mca/memory/base/base.h"

#include <malloc.h>
#include <stdatomic.h>

#include "opal/memory/hooks/watcher.h"
#include "opal/memory/events/events.h"
#include "opal/mca/memory/memory.h"
#include "test/unit/opal/support.h"

enum { ROUNDS = 4, BYTES = 8 << 20, PAGE = 4096 };

static const unsigned everything =
    OPAL_MEMORY_FREE_SUPPORT | OPAL_MEMORY_CHUNK_SUPPORT | OPAL_MEMORY_MUNMAP_SUPPORT;

static atomic_uintptr_t watched;
static atomic_uint gone;

static opal_memory_verdict_t watch(opal_memory_event_t *event, void *context OPAL_UNUSED)
{
    uintptr_t start = (uintptr_t)event->vm.address, address = atomic_load(&watched);
    if (start <= address && address - start < event->vm.length)
        atomic_fetch_add(&gone, 1);
    return OPAL_MEMORY_PASS;
}

/* How often it is heard that a page goes. */
static unsigned times_unmapped(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    atomic_store(&watched, (uintptr_t)page);
    ck_assert_int_eq(munmap(page, PAGE), 0);
    return atomic_exchange(&gone, 0);
}

static unsigned times_freed(void)
{
    char *volatile block = malloc(BYTES);
    ck_assert_ptr_nonnull(block);
    memset(block, 1, BYTES);
    atomic_store(&watched, (uintptr_t)block + BYTES / 2);
    free(block);
    malloc_trim(0);
    return atomic_exchange(&gone, 0);
}

static unsigned open_and_ask(void)
{
    ck_assert_int_eq(opal_framework_open(&mca_memory_framework), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_select(&mca_memory_framework), OPAL_SUCCESS);
    return opal_memory_support();
}

START_TEST(opened_again_it_vouches_for_the_same)
{
    opal_memory_handler_t handler = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = watch};
    opal_param_init();
    for (int round = 0; round < ROUNDS; round++) {
        ck_assert_uint_eq(open_and_ask(), everything);
        ck_assert_int_eq(opal_memory_handler_add(&handler), OPAL_SUCCESS);
        ck_assert_uint_eq(times_unmapped(), 1);
        ck_assert_uint_gt(times_freed(), 0);
        ck_assert(opal_memory_handler_remove(&handler));
        opal_framework_close(&mca_memory_framework);
        ck_assert_uint_eq(opal_memory_support(), 0);
        ck_assert_uint_eq(times_unmapped() + times_freed(), 0);
    }
    ck_assert_uint_eq(unit_findings(), 0);
}
END_TEST

/* A block from one time goes in another, and from none. */
START_TEST(blocks_outlive_what_was_opened)
{
    char *blocks[ROUNDS];
    opal_param_init();
    for (int round = 0; round < ROUNDS; round++) {
        open_and_ask();
        blocks[round] = malloc(BYTES);
        memset(blocks[round], round, BYTES);
        if (round % 2 == 1)
            free(blocks[round - 1]);
        opal_framework_close(&mca_memory_framework);
    }
    for (int round = 1; round < ROUNDS; round += 2) {
        ck_assert_int_eq(blocks[round][BYTES - 1], round);
        blocks[round] = realloc(blocks[round], 2 * (size_t)BYTES);
        ck_assert_int_eq(blocks[round][BYTES - 1], round);
        free(blocks[round]);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &opened_again_it_vouches_for_the_same},
    {.test = &blocks_outlive_what_was_opened},
};

int main(int argc OPAL_UNUSED, char **argv)
{
    if (opal_memory_watcher() != NULL) {
        puts("1..1\nok 1 - all of it # SKIP the allocator stands aside for the sanitizer");
        return 0;
    }
    if (getenv("OMPI_MCA_mpi_leave_pinned") == NULL) {
        setenv("OMPI_MCA_mpi_leave_pinned", "1", 1);
        execv("/proc/self/exe", argv);
        perror("/proc/self/exe");
        return EXIT_FAILURE;
    }
    return unit_run("base", tests, OPAL_COUNT_OF(tests), NULL);
}
