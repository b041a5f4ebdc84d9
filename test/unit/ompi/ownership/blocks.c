/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/ownership/blocks.c: random blocks against a plain list, in few hash slots and in many. */
#include "ompi/ownership/blocks.h"

#include <stdlib.h>
#include <unistd.h>

#include "opal/memory/events/events.h"

#include "test/unit/opal/support.h"

enum { MOST = 3000, STEPS = 60000 };

static ompi_block_t model[MOST];
static size_t model_count;

static void *address_of(unsigned number, unsigned stride)
{
    return (void *)((uintptr_t)(number + 1) * stride);
}

static size_t find_in_model(const void *start)
{
    size_t i = 0;
    while (i < model_count && model[i].start != start)
        i++;
    return i;
}

static void step(unsigned stride)
{
    void *start = address_of((unsigned)rand() % MOST, stride);
    size_t at = find_in_model(start);
    ompi_block_t found = {0};
    ck_assert(ompi_block_find(start, &found) == (at < model_count));
    if (at == model_count) {
        ck_assert(!ompi_block_disown(start, &found));
        model[model_count++] = (ompi_block_t){start, (size_t)rand(), rand() % 2};
        ck_assert(ompi_block_reserve());
        ompi_block_own(&model[at]);
        return;
    }
    ck_assert_uint_eq(found.bytes, model[at].bytes);
    ck_assert(found.is_taken == model[at].is_taken);
    ck_assert(ompi_block_disown(start, &found));
    ck_assert_ptr_eq(found.start, start);
    if (rand() % 8 == 0) { /* it comes back, as if it could not be given */
        ompi_block_own(&found);
        return;
    }
    ompi_block_unreserve();
    model[at] = model[--model_count];
}

static void check_all(void)
{
    ompi_block_t found;
    for (size_t i = 0; i < model_count; i++)
        ck_assert(ompi_block_find(model[i].start, &found) && found.bytes == model[i].bytes);
}

START_TEST(every_block_is_found_until_it_goes)
{
    static const unsigned strides[] = {1, 16, 64, 4096, 1 << 20, 1 << 30};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        model_count = 0;
        for (int n = 0; n < STEPS; n++)
            step(strides[i]);
        check_all();
        ompi_blocks_end();
        ompi_block_t found;
        ck_assert(!ompi_block_find(address_of(0, strides[i]), &found));
    }
}
END_TEST

/* What is reserved cannot be taken away by others. */
START_TEST(what_is_reserved_is_there)
{
    enum { COUNT = 500 };
    ompi_block_t block = {.bytes = 1};
    for (int i = 0; i < COUNT; i++)
        ck_assert(ompi_block_reserve());
    for (unsigned i = 0; i < COUNT; i++) {
        block.start = address_of(i, 64);
        ompi_block_own(&block);
        ck_assert(ompi_block_find(block.start, &block));
    }
    ck_assert(!ompi_block_find(NULL, &block));
    ompi_blocks_end();
}
END_TEST

START_TEST(memory_is_aligned)
{
    ompi_block_t block;
    ck_assert(!ompi_block_allocate(SIZE_MAX - 8, &block));
    for (size_t bytes = 0; bytes < 100000; bytes = 3 * bytes + 1) {
        ck_assert(ompi_block_allocate(bytes, &block));
        ck_assert_uint_eq((uintptr_t)block.start % 64, 0);
        ck_assert_uint_eq(block.bytes, bytes);
        memset(block.start, 1, bytes);
        ompi_block_free(&block);
    }
}
END_TEST

static uintptr_t told_start;
static size_t told_bytes, told_count;

static opal_memory_verdict_t hear(opal_memory_event_t *event, void *context OPAL_UNUSED)
{
    told_start = (uintptr_t)event->vm.address;
    told_bytes = event->vm.length;
    told_count++;
    return OPAL_MEMORY_PASS;
}

/* Leaves the block, and says whether just these pages were told of; 0: none. */
static bool leaves(ompi_block_t *block, uintptr_t first, size_t pages, size_t page)
{
    ck_assert(ompi_block_disown(block->start, block));
    ompi_block_unreserve();
    told_count = told_bytes = 0;
    told_start = first;
    ompi_block_leave(block);
    return told_start == first && told_bytes == pages * page && told_count == (pages > 0);
}

/* A page that has another taken block in it stays, until the last one leaves. */
START_TEST(a_page_is_told_of_when_the_last_leaves)
{
    opal_memory_handler_t handler = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = hear};
    const size_t page = (size_t)getpagesize();
    const uintptr_t at = 1000 * page;
    ompi_block_t small = {(void *)(at + 256), 256, true},
                 across = {(void *)(at + 1024), page, true},
                 behind = {(void *)(at + page + 2048), 2 * page, true},
                 ours = {(void *)(at + 768), 64, false};
    ompi_block_t *const all[] = {&small, &across, &behind, &ours};
    opal_memory_handler_add_passive(&handler);
    for (size_t i = 0; i < OPAL_COUNT_OF(all); i++) {
        ck_assert(ompi_block_reserve());
        ompi_block_own(all[i]);
    }
    ck_assert(leaves(&small, 0, 0, page));
    ck_assert(leaves(&across, at, 1, page));
    ck_assert(leaves(&behind, at + page, 3, page));
    ck_assert(leaves(&ours, 0, 0, page));
    opal_memory_handler_remove(&handler);
    ompi_blocks_end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_page_is_told_of_when_the_last_leaves},
    {.test = &every_block_is_found_until_it_goes},
    {.test = &what_is_reserved_is_there},
    {.test = &memory_is_aligned},
};

UNIT_MAIN("blocks", tests, NULL);
