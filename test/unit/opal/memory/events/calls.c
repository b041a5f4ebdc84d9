/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/memory/events/calls.c: the hooks, called by their own names, on real memory. The handler
 * looks at the pages while the event is there: they must still be there when they are about to go.
 */
#include <errno.h>
#include <limits.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "opal/memory/events/dispatch.h"
#include "test/unit/opal/support.h"

#define P 4096UL

typedef struct record {
    unsigned kind;
    uintptr_t start;
    size_t length;
    bool was_mapped; /* all of it, when the event came */
} record_t;

static record_t records[64];
static size_t record_count;
static bool recording;

static bool is_mapped(uintptr_t start, size_t length)
{
    unsigned char state[64];
    return length / P <= sizeof state && mincore((void *)start, length, state) == 0;
}

static opal_memory_verdict_t record(opal_memory_event_t *event, void *context OPAL_UNUSED)
{
    uintptr_t start = (uintptr_t)event->vm.address;
    if (recording && record_count < OPAL_COUNT_OF(records))
        records[record_count++] =
            (record_t){event->kind, start, event->vm.length, is_mapped(start, event->vm.length)};
    return OPAL_MEMORY_PASS;
}

static opal_memory_handler_t recorder = {.events = OPAL_MEMORY_VM_MAPPED | OPAL_MEMORY_VM_UNMAPPED,
                                         .fn = record};

static void listen(void)
{
    opal_memory_handler_add_passive(&recorder);
}

static void begin(void)
{
    record_count = 0;
    recording = true;
}

/* What came since begin() must be this, in this order. */
static void expect(size_t count, const record_t *expected)
{
    recording = false;
    ck_assert_uint_eq(record_count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(opal_memory_event_name(records[i].kind),
                         opal_memory_event_name(expected[i].kind));
        ck_assert_uint_eq(records[i].start, expected[i].start);
        ck_assert_uint_eq(records[i].length, expected[i].length);
        ck_assert_int_eq(records[i].was_mapped, expected[i].was_mapped);
    }
}

#define EXPECT(...)                                                                                \
    expect(sizeof((record_t[]){__VA_ARGS__}) / sizeof(record_t), (record_t[]){__VA_ARGS__})
#define GOES(address, length)                                                                      \
    {                                                                                              \
        OPAL_MEMORY_VM_UNMAPPED, (uintptr_t)(address), length, true                                \
    }
#define COMES(address, length)                                                                     \
    {                                                                                              \
        OPAL_MEMORY_VM_MAPPED, (uintptr_t)(address), length, true                                  \
    }
#define EXPECT_NOTHING() expect(0, NULL)

static char *map(size_t length)
{
    char *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    memset(pages, 1, length);
    return pages;
}

START_TEST(mapping_and_unmapping)
{
    begin();
    char *pages = opal_memory_mmap(NULL, 3 * P - 5, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(COMES(pages, 3 * P));
    begin();
    ck_assert_int_eq(opal_memory_munmap(pages + P, 1), 0);
    EXPECT(GOES(pages + P, P));
    ck_assert(is_mapped((uintptr_t)pages, P));
    ck_assert(!is_mapped((uintptr_t)pages + P, P));
}
END_TEST

START_TEST(unmapping_that_cannot_succeed_tells_nothing)
{
    char *pages = map(2 * P);
    static const size_t lengths[] = {0, SIZE_MAX, SIZE_MAX / 2};
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        begin();
        errno = 0;
        ck_assert_int_eq(opal_memory_munmap(pages, lengths[i]), -1);
        ck_assert_int_eq(errno, EINVAL);
        EXPECT_NOTHING();
    }
    begin();
    ck_assert_int_eq(opal_memory_munmap(pages + 1, P), -1);
    ck_assert_int_eq(errno, EINVAL);
    EXPECT_NOTHING();
    ck_assert(is_mapped((uintptr_t)pages, 2 * P));
}
END_TEST

START_TEST(mapping_over_live_pages)
{
    const int fixed = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    char *pages = map(4 * P);
    begin();
    ck_assert_ptr_eq(opal_memory_mmap(pages + P, 2 * P, PROT_READ, fixed, -1, 0), pages + P);
    EXPECT(GOES(pages + P, 2 * P), COMES(pages + P, 2 * P));
    begin();
    ck_assert_ptr_eq(opal_memory_mmap(pages, P, PROT_READ, fixed | MAP_FIXED_NOREPLACE, -1, 0),
                     MAP_FAILED);
    ck_assert_int_eq(errno, EEXIST);
    EXPECT_NOTHING();
    begin(); /* fails half way, maybe: told all the same */
    ck_assert_ptr_eq(opal_memory_mmap(pages, P, PROT_READ, MAP_FIXED | MAP_SHARED, -1, 0),
                     MAP_FAILED);
    ck_assert_int_eq(errno, EBADF);
    EXPECT(GOES(pages, P));
}
END_TEST

START_TEST(moving)
{
    char *pages = map(4 * P), *target = map(4 * P);
    begin();
    ck_assert_ptr_eq(opal_memory_mremap(pages, 4 * P, 3 * P, 0), pages);
    EXPECT(GOES(pages + 3 * P, P), COMES(pages, 3 * P));
    begin();
    ck_assert_ptr_eq(opal_memory_mremap(pages, 3 * P, 2 * P, MREMAP_MAYMOVE | MREMAP_FIXED, target),
                     target);
    EXPECT(GOES(pages, 3 * P), GOES(target, 2 * P), COMES(target, 2 * P));
    ck_assert_int_eq(target[P], 1);
    begin();
    char *moved = opal_memory_mremap(target, 2 * P, 40 * P, MREMAP_MAYMOVE);
    ck_assert_ptr_ne(moved, MAP_FAILED);
    EXPECT(GOES(target, 2 * P), COMES(moved, 40 * P));
    begin();
    ck_assert_ptr_eq(opal_memory_mremap(moved + 1, P, P, 0), MAP_FAILED);
    ck_assert_int_eq(errno, EINVAL);
    EXPECT_NOTHING();
}
END_TEST

START_TEST(segments)
{
    int id = shmget(IPC_PRIVATE, 3 * P, IPC_CREAT | 0600);
    char *pages = map(5 * P);
    begin();
    char *segment = opal_memory_shmat(id, NULL, 0);
    ck_assert_ptr_ne(segment, (void *)-1);
    EXPECT(COMES(segment, 3 * P));
    begin();
    char *over = opal_memory_shmat(id, pages + P + 7, SHM_REMAP | SHM_RND);
    shmctl(id, IPC_RMID, NULL);
    ck_assert_ptr_eq(over, pages + P);
    EXPECT(GOES(pages + P, 3 * P), COMES(pages + P, 3 * P));
    begin();
    ck_assert_int_eq(opal_memory_shmdt(segment), 0);
    EXPECT(GOES(segment, 3 * P));
    ck_assert(!is_mapped((uintptr_t)segment, P));
    begin();
    ck_assert_int_eq(opal_memory_shmdt(segment), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_eq(opal_memory_shmat(-1, NULL, 0), (void *)-1);
    ck_assert_int_eq(errno, EINVAL);
    EXPECT_NOTHING();
    ck_assert_int_eq(opal_memory_shmdt(over), 0);
}
END_TEST

/* In a child: nobody else moves its break. */
START_TEST(the_break)
{
    char *old = opal_memory_sbrk(0);
    char *start = (char *)(((uintptr_t)old + P - 1) / P * P);
    size_t to_start = (size_t)(start - old);
    begin();
    ck_assert_ptr_eq(opal_memory_sbrk((intptr_t)(to_start + 3 * P)), old);
    EXPECT(COMES(start, 3 * P));
    start[3 * P - 1] = 1;
    begin();
    ck_assert_ptr_eq(opal_memory_sbrk(-(intptr_t)P - 1), start + 3 * P);
    EXPECT(GOES(start + 2 * P, P)); /* and a byte of the page before, which stays */
    begin();
    ck_assert_int_eq(opal_memory_brk(start), 0);
    EXPECT(GOES(start, 2 * P));
    ck_assert_ptr_eq(sbrk(0), start); /* libc has heard of it */
    begin();
    ck_assert_int_eq(opal_memory_brk(start + P), 0);
    EXPECT(COMES(start, P));
    begin();
    ck_assert_int_eq(opal_memory_brk(NULL), 0); /* a question */
    ck_assert_ptr_eq(opal_memory_sbrk(INTPTR_MAX), (void *)-1);
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert_ptr_eq(opal_memory_sbrk(0), start + P);
    EXPECT_NOTHING();
}
END_TEST

START_TEST(pages_that_are_dropped)
{
    char *pages = map(3 * P);
    begin();
    ck_assert_int_eq(opal_memory_madvise(pages, 2 * P, MADV_DONTNEED), 0);
    EXPECT(GOES(pages, 2 * P));
    ck_assert_int_eq(pages[0], 0);
    begin();
    ck_assert_int_eq(opal_memory_madvise(pages + P, P, MADV_FREE), 0);
    EXPECT(GOES(pages + P, P));
    begin();
    ck_assert_int_eq(opal_memory_madvise(pages, P, MADV_WILLNEED), 0);
    ck_assert_int_eq(opal_memory_madvise(pages + 1, P, MADV_DONTNEED), -1);
    EXPECT_NOTHING();
}
END_TEST

START_TEST(pages_of_files_that_are_exchanged)
{
    char *pages = mmap(NULL, 2 * P, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pages[P] = 7;
    begin();
    if (opal_memory_remap_file_pages(pages, P, 0, 1, 0) != 0) {
        ck_assert_int_eq(errno, ENOSYS); /* a kernel without it */
        return;
    }
    EXPECT(GOES(pages, P), COMES(pages, P));
    ck_assert_int_eq(pages[0], 7);
}
END_TEST

/* -- handlers that interfere -------------------------------------------------------- */

static char own_memory[64];

static opal_memory_verdict_t interfere(opal_memory_event_t *event, void *context)
{
    const char *how = context;
    if (strcmp(how, "answer") == 0) {
        event->mmap.result = own_memory;
        return OPAL_MEMORY_ANSWER;
    }
    if (strcmp(how, "refuse") == 0) {
        event->mmap.result = MAP_FAILED;
        event->error = EDQUOT;
        return OPAL_MEMORY_ANSWER;
    }
    if (strcmp(how, "double") == 0)
        event->mmap.length *= 2;
    return OPAL_MEMORY_PASS;
}

START_TEST(a_handler_answers_or_changes)
{
    opal_memory_handler_t handler = {
        .events = OPAL_MEMORY_MMAP, .priority = -1, .fn = interfere, .context = "answer"};
    opal_memory_handler_add_passive(&handler);
    begin();
    ck_assert_ptr_eq(opal_memory_mmap(NULL, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                     own_memory);
    EXPECT_NOTHING();
    handler.context = "refuse";
    ck_assert_ptr_eq(opal_memory_mmap(NULL, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                     MAP_FAILED);
    ck_assert_int_eq(errno, EDQUOT);
    handler.context = "double";
    begin();
    char *pages = opal_memory_mmap(NULL, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(COMES(pages, 2 * P));
}
END_TEST

static opal_memory_verdict_t spoil(opal_memory_event_t *event, void *context)
{
    *(opal_memory_event_t *)context = *event;
    event->munmap.result = -1;
    event->error = EPERM;
    return OPAL_MEMORY_PASS;
}

START_TEST(a_handler_behind_the_call_sees_and_changes_the_result)
{
    opal_memory_event_t seen = {0};
    opal_memory_handler_t handler = {
        .events = OPAL_MEMORY_MUNMAP, .priority = 0, .fn = spoil, .context = &seen};
    opal_memory_handler_add_passive(&handler);
    char *pages = map(P);
    ck_assert_int_eq(opal_memory_munmap(pages, P), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(seen.munmap.result, 0);
    ck_assert_ptr_eq(seen.munmap.address, pages);
    ck_assert_int_eq(opal_memory_munmap(pages + 1, P), -1);
    ck_assert_int_eq(seen.munmap.result, -1);
    ck_assert_int_eq(seen.error, EINVAL);
}
END_TEST

START_TEST(without_listeners_they_are_the_calls)
{
    opal_memory_handler_remove(&recorder);
    char *pages =
        opal_memory_mmap(NULL, 2 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages[0] = 3;
    pages = opal_memory_mremap(pages, 2 * P, 50 * P, MREMAP_MAYMOVE);
    ck_assert_int_eq(pages[0], 3);
    ck_assert_int_eq(opal_memory_madvise(pages, P, MADV_DONTNEED), 0);
    ck_assert_int_eq(pages[0], 0);
    ck_assert_ptr_eq(opal_memory_sbrk(0), sbrk(0));
    ck_assert_int_eq(opal_memory_brk(NULL), 0);
    ck_assert_int_eq(opal_memory_shmdt(pages), -1);
    ck_assert_int_eq(opal_memory_munmap(pages, 50 * P), 0);
    ck_assert_int_eq(opal_memory_munmap(pages + 1, P), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert(!is_mapped((uintptr_t)pages, P));
}
END_TEST

/* A child of vfork works on our memory, handlers and counts included. */
START_TEST(a_child_of_vfork_is_heard)
{
    char *pages = map(2 * P);
    begin();
    pid_t child = vfork();
    if (child == 0) {
        opal_memory_munmap(pages, P);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    EXPECT(GOES(pages, P));
    ck_assert(opal_memory_handler_remove(&recorder));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &mapping_and_unmapping},
    {.test = &unmapping_that_cannot_succeed_tells_nothing},
    {.test = &mapping_over_live_pages},
    {.test = &moving},
    {.test = &segments},
    {.test = &the_break},
    {.test = &pages_that_are_dropped},
    {.test = &pages_of_files_that_are_exchanged},
    {.test = &a_handler_answers_or_changes},
    {.test = &a_handler_behind_the_call_sees_and_changes_the_result},
    {.test = &without_listeners_they_are_the_calls},
#ifndef __SANITIZE_THREAD__ /* makes a fork of vfork */
    {.test = &a_child_of_vfork_is_heard},
#endif
};

UNIT_MAIN("calls", tests, listen);
