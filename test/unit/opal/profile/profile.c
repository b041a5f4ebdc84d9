/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/profile/profile.h: what is in the file is what was done. */
#include "opal/profile/profile.h"

#include <fcntl.h>
#include <pthread.h>

#include "opal/include/clock.h"
#include "test/unit/opal/support.h"

static const char send_name[] = "MPI_Send", barrier_name[] = "MPI_Barrier";
static char *file;
static const opal_profile_head_t *head;

static void setup(void)
{
    unit_make_folder();
}

static void start(void)
{
    ck_assert(opal_profile_start(&(opal_profile_setup_t){
        .folder = unit_folder, .rank = 1, .size = 3, .node = 2, .job = "a-job"}));
    opal_profile_note_begin();
}

/* The file, as another process sees it. */
static const opal_profile_block_t *look(unsigned number)
{
    char *path = opal_xprintf("%s/rank.1.profile", unit_folder);
    int fd = open(path, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    size_t bytes = OPAL_PROFILE_PAGE + (number + 1) * opal_profile_block_bytes(3);
    file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ck_assert_ptr_ne(file, MAP_FAILED);
    head = (const void *)file;
    close(fd);
    free(path);
    opal_profile_block_t *block = (void *)(file + OPAL_PROFILE_PAGE + number * head->block_bytes);
    for (unsigned i = 0; i < OPAL_PROFILE_SITES; i++)
        opal_profile_settle(block, &block->sites[i]);
    return block;
}

static void end(void)
{
    opal_profile_stop();
    unit_remove_folder();
}

static void call(const char *name, uintptr_t address)
{
    opal_profile_end(opal_profile_begin(name, address));
}

static const opal_profile_site_t *site_of(const opal_profile_block_t *block, uintptr_t address)
{
    for (unsigned i = 0; i < OPAL_PROFILE_SITES; i++) {
        if (block->sites[i].address == address)
            return &block->sites[i];
    }
    ck_abort_msg("no such site");
    return NULL;
}

START_TEST(each_call_is_counted_and_some_are_timed)
{
    start();
    for (unsigned i = 0; i < 10000; i++)
        call(send_name, 0x1000);
    call(barrier_name, 0x2000);
    const opal_profile_block_t *block = look(0);
    const opal_profile_site_t *site = site_of(block, 0x1000);
    ck_assert_uint_eq(site->calls, 10000);
    ck_assert_uint_gt(site->timed_calls, 0);
    ck_assert_uint_le(site->timed_calls, 10000);
    ck_assert_uint_eq(site_of(block, 0x2000)->calls, 1);
    ck_assert_str_eq(block->places[site - block->sites].function, "MPI_Send");
    ck_assert_uint_eq(head->rank, 1);
    ck_assert_uint_eq(head->node, 2);
    ck_assert_str_eq(head->job, "a-job");
    end();
}
END_TEST

START_TEST(long_calls_are_all_timed)
{
    start();
    for (unsigned i = 0; i < 5; i++) {
        opal_profile_thread_t *self = opal_profile_begin(send_name, 0x1000);
        for (uint64_t from = opal_clock_nsec(); opal_clock_nsec() - from < 3000000;)
            continue;
        opal_profile_end(self);
    }
    opal_profile_note_end();
    const opal_profile_site_t *site = site_of(look(0), 0x1000);
    ck_assert_uint_eq(site->timed_calls, 5);
    double rate = (double)(head->last.nsec - head->first.nsec) /
                  (double)(head->last.ticks - head->first.ticks);
    ck_assert_double_ge((double)site->time.sampled * rate, 15e6);
    ck_assert_uint_eq(head->phase, OPAL_PROFILE_ENDED);
    end();
}
END_TEST

/* What makes many calls is not timed, but what then waits for long is seen. */
START_TEST(a_long_wait_is_seen_in_any_call)
{
    start();
    for (unsigned i = 0; i < 1000; i++)
        call(send_name, 0x1000);
    opal_profile_thread_t *self = opal_profile_begin(send_name, 0x1000);
    while (self->begin != 0) { /* it happens to be timed */
        opal_profile_end(self);
        self = opal_profile_begin(send_name, 0x1000);
    }
    opal_profile_wait_end(0, self->block->bins_begin); /* since the beginning */
    opal_profile_end(self);
    const opal_profile_block_t *block = look(0);
    ck_assert_uint_gt(site_of(block, 0x1000)->time.long_waited, 0);
    ck_assert_uint_eq(block->intervals[block->interval_count - 1].waited,
                      site_of(block, 0x1000)->time.long_waited);
    end();
}
END_TEST

/* As the wrapper of a brief call does it. True: the call was counted alone. */
static bool call_brief(uintptr_t address)
{
    bool is_counted = opal_profile_count(send_name, address);
    if (!is_counted)
        call(send_name, address);
    return is_counted;
}

START_TEST(a_brief_call_is_counted_alone_or_timed)
{
    unsigned alone = 0;
    start();
    ck_assert(!call_brief(0x1000)); /* the thread, the place and a first time are new */
    for (unsigned i = 1; i < 10000; i++)
        alone += call_brief(0x1000);
    const opal_profile_site_t *site = site_of(look(0), 0x1000);
    ck_assert_uint_eq(site->calls, 10000);
    ck_assert_uint_gt(alone, 5000);
    ck_assert_uint_gt(site->timed_calls, 10);
    end();
}
END_TEST

/* Nothing comes behind a call that was counted alone. */
START_TEST(a_long_wait_of_a_call_that_was_counted_alone_is_seen)
{
    start();
    while (!call_brief(0x1000))
        continue;
    opal_profile_wait_end(0, opal_profile_self->block->bins_begin);
    const opal_profile_block_t *block = look(0);
    ck_assert_uint_gt(site_of(block, 0x1000)->time.long_waited, 0);
    ck_assert_uint_eq(site_of(block, 0x1000)->longest, site_of(block, 0x1000)->time.long_waited);
    call(barrier_name, 0x2000);
    ck_assert_uint_eq(site_of(look(0), 0x2000)->time.long_waited, 0);
    opal_profile_leave();
    opal_profile_wait_end(0, opal_profile_self->block->bins_begin);
    ck_assert_uint_eq(site_of(look(0), 0x2000)->time.long_waited, 0);
    end();
}
END_TEST

START_TEST(of_nested_calls_the_outer_one_counts)
{
    start();
    call(send_name, 0x1000);
    opal_profile_thread_t *outer = opal_profile_begin(barrier_name, 0x2000);
    ck_assert_ptr_null(opal_profile_begin(send_name, 0x1000));
    ck_assert(!opal_profile_count(send_name, 0x1000));
    opal_profile_end(NULL);
    opal_profile_end(outer);
    call(send_name, 0x1000);
    ck_assert_uint_eq(site_of(look(0), 0x1000)->calls, 2);
    ck_assert_uint_eq(site_of(look(0), 0x2000)->calls, 1);
    end();
}
END_TEST

START_TEST(messages_are_counted_by_receiver_and_size)
{
    start();
    opal_profile_thread_t *self = opal_profile_begin(send_name, 0x1000);
    opal_profile_sent(&(opal_profile_message_t){.peer = 2, .is_own = true, .bytes = 100});
    opal_profile_sent(&(opal_profile_message_t){.peer = 2, .is_own = true, .bytes = 0});
    opal_profile_sent(&(opal_profile_message_t){.peer = 0, .is_own = false, .bytes = 7});
    opal_profile_sent(&(opal_profile_message_t){.peer = 77, .is_own = true, .bytes = 5});
    opal_profile_end(self);
    const opal_profile_block_t *block = look(0);
    ck_assert_uint_eq(block->peers[2].own.messages, 2);
    ck_assert_uint_eq(block->peers[2].own.bytes, 100);
    ck_assert_uint_eq(block->peers[0].own.messages, 0);
    ck_assert_uint_eq(block->peers[0].library.bytes, 7);
    ck_assert_uint_eq(block->peers[3].own.bytes, 5); /* of another job */
    ck_assert_uint_eq(block->classes[7].messages, 1);
    ck_assert_uint_eq(block->classes[0].messages, 1);
    ck_assert_uint_eq(site_of(block, 0x1000)->bytes, 105);
    end();
}
END_TEST

/* As a pml does it. True: it was counted in the place alone. */
static bool send(unsigned peer, uint64_t bytes)
{
    bool is_usual = opal_profile_sent_again(peer, bytes);
    if (!is_usual)
        opal_profile_sent(&(opal_profile_message_t){.peer = peer, .is_own = true, .bytes = bytes});
    return is_usual;
}

START_TEST(messages_that_repeat_are_all_counted)
{
    unsigned usual = 0;
    start();
    opal_profile_thread_t *self = opal_profile_begin(send_name, 0x1000);
    for (unsigned i = 0; i < 10; i++)
        usual += send(2, 100);
    for (unsigned i = 0; i < 5; i++)
        usual += send(2, 7);
    usual += send(0, 7);
    ck_assert_uint_eq(usual, 9 + 4);
    ck_assert(send(0, 7));
    opal_profile_not_sent_again();
    opal_profile_end(self);
    opal_profile_leave();
    ck_assert(!send(0, 7)); /* outside of a call */
    const opal_profile_block_t *block = look(0);
    ck_assert_uint_eq(block->peers[2].own.messages, 15);
    ck_assert_uint_eq(block->peers[2].own.bytes, 1035);
    ck_assert_uint_eq(block->peers[0].own.messages, 2);
    ck_assert_uint_eq(block->classes[3].messages, 7);
    ck_assert_uint_eq(site_of(block, 0x1000)->bytes, 1042);
    end();
}
END_TEST

START_TEST(collectives_are_told_apart_by_algorithm)
{
    static const char component[] = "p2p", ring[] = "ring", tree[] = "tree";
    start();
    for (unsigned i = 0; i < 3; i++) {
        opal_profile_thread_t *self = opal_profile_begin(barrier_name, 0x2000);
        opal_profile_collective(component, i < 2 ? ring : tree, 10);
        opal_profile_end(self);
    }
    const opal_profile_collective_t *first = look(0)->collectives;
    ck_assert_str_eq(first[0].function, "MPI_Barrier");
    ck_assert_str_eq(first[0].algorithm, "ring");
    ck_assert_uint_eq(first[0].calls, 2);
    ck_assert_uint_eq(first[0].bytes, 20);
    ck_assert_str_eq(first[1].algorithm, "tree");
    ck_assert_uint_eq(first[1].calls, 1);
    end();
}
END_TEST

static void *call_once(void *argument)
{
    call(send_name, 0x1000);
    return argument;
}

START_TEST(each_thread_has_a_block)
{
    pthread_t thread;
    start();
    call(send_name, 0x1000);
    ck_assert_int_eq(pthread_create(&thread, NULL, call_once, NULL), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(site_of(look(1), 0x1000)->calls, 1);
    ck_assert_uint_eq(head->blocks, 2);
    end();
}
END_TEST

START_TEST(more_sites_than_slots_lose_no_call)
{
    start();
    for (uintptr_t i = 1; i <= 4 * OPAL_PROFILE_SITES; i++)
        call(send_name, 0x1000 * i);
    const opal_profile_block_t *block = look(0);
    uint64_t calls = 0;
    for (unsigned i = 0; i < OPAL_PROFILE_SITES; i++)
        calls += block->sites[i].calls;
    ck_assert_uint_eq(calls, 4 * OPAL_PROFILE_SITES);
    ck_assert_uint_gt(block->sites_full_calls, 0);
    end();
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_is_no_profile)
{
    opal_profile_setup_t setup = {.folder = "/proc/none", .size = 1, .job = ""};
    ck_assert(!opal_profile_start(&setup));
    ck_assert(!opal_profile_is_on);
    unit_remove_folder();
}
END_TEST

START_TEST(sizes_have_classes)
{
    ck_assert_uint_eq(opal_profile_class_of(0), 0);
    ck_assert_uint_eq(opal_profile_class_of(1), 1);
    ck_assert_uint_eq(opal_profile_class_of(3), 2);
    ck_assert_uint_eq(opal_profile_class_of(4), 3);
    ck_assert_uint_eq(opal_profile_class_of(UINT64_MAX), OPAL_PROFILE_CLASSES - 1);
    ck_assert_uint_eq(opal_profile_scaled(100, 30, 10), 300);
    ck_assert_uint_eq(opal_profile_scaled(100, 30, 0), 0);
    unit_remove_folder();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &each_call_is_counted_and_some_are_timed},
    {.test = &long_calls_are_all_timed},
    {.test = &a_long_wait_is_seen_in_any_call},
    {.test = &a_brief_call_is_counted_alone_or_timed},
    {.test = &a_long_wait_of_a_call_that_was_counted_alone_is_seen},
    {.test = &of_nested_calls_the_outer_one_counts},
    {.test = &messages_are_counted_by_receiver_and_size},
    {.test = &messages_that_repeat_are_all_counted},
    {.test = &collectives_are_told_apart_by_algorithm},
    {.test = &each_thread_has_a_block},
    {.test = &more_sites_than_slots_lose_no_call},
    {.test = &a_folder_that_cannot_be_written_is_no_profile},
    {.test = &sizes_have_classes},
};

UNIT_MAIN("profile", tests, setup);
