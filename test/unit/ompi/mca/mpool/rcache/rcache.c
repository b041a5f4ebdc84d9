/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/mpool/rcache by way of the pool's functions: what is kept, what goes, and when. */
#include <sys/wait.h>

#include "opal/memory/events/events.h"
#include "opal/progress/wait.h"
#include "ompi/tool/event.h"
#include "test/unit/ompi/mca/mpool/fake.h"

static fake_device_t device;

static void setup(void)
{
    fake_setup();
    fake_open(&device);
}

static bool is_known(ompi_mpool_t *pool, size_t page, size_t count)
{
    return fake_is_known(&device, pool, page, count);
}

static void use_once(ompi_mpool_t *pool, size_t page, size_t count)
{
    fake_done(fake_use(pool, page, count));
}

/* Everything is unpinned when the pool ends. */
static void finish(ompi_mpool_t *pool)
{
    ompi_mpool_destroy(pool);
    ck_assert_uint_eq(device.pins, device.unpins);
    ck_assert(opal_list_is_empty(&device.pinned));
}

/* -- keeping ------------------------------------------------------------------------ */

START_TEST(what_was_used_is_found_again)
{
    ompi_mpool_t *pool = fake_pool(&device);
    ck_assert(pool->keeps);
    use_once(pool, 10, 4);
    ck_assert(is_known(pool, 10, 4));
    ck_assert(is_known(pool, 11, 2)); /* a part of it */
    ck_assert(!is_known(pool, 20, 1));
    ck_assert_uint_eq(device.pins, 2);
    ck_assert_uint_eq(fake_read_out("hits"), 2);
    ck_assert_uint_eq(fake_read_out("misses"), 2);
    ck_assert_uint_eq(fake_read_out("registrations"), 2);
    ck_assert_uint_eq(fake_read_out("registered_bytes"), 5 * FAKE_PAGE);
    finish(pool);
    ck_assert_uint_eq(fake_read_out("hits"), 2);
    ck_assert_uint_eq(fake_read_out("registrations"), 0);
}
END_TEST

START_TEST(bytes_become_whole_pages)
{
    ompi_mpool_t *pool = fake_pool(&device);
    ompi_mpool_use_t use;
    uintptr_t begin = fake_at(3) + 4000;
    ck_assert_int_eq(ompi_mpool_acquire(pool, (void *)begin, 200, OMPI_MPOOL_LOCAL_WRITE, &use),
                     OPAL_SUCCESS);
    ck_assert_uint_eq((uintptr_t)use.registration->base, fake_at(3));
    ck_assert_uint_eq(use.registration->bytes, 2 * FAKE_PAGE);
    ck_assert_uint_eq(use.begin, begin);
    ck_assert_uint_eq(use.end, begin + 200);
    ompi_mpool_release(&use);
    finish(pool);
}
END_TEST

START_TEST(nonsense_is_refused)
{
    ompi_mpool_t *pool = fake_pool(&device);
    ompi_mpool_use_t use = {.begin = 7};
    const struct {
        uintptr_t begin;
        size_t bytes;
    } bad[] = {{fake_at(1), 0}, {fake_at(1), SIZE_MAX}, {UINTPTR_MAX, 1}, {UINTPTR_MAX - 5000, 1}};
    for (size_t i = 0; i < OPAL_COUNT_OF(bad); i++)
        ck_assert_int_eq(ompi_mpool_acquire(pool, (void *)bad[i].begin, bad[i].bytes, 1, &use),
                         OPAL_ERR_BAD_PARAM);
    ck_assert_uint_eq(use.begin, 7);
    ck_assert_uint_eq(device.asked, 0);
    finish(pool);
}
END_TEST

START_TEST(without_leave_pinned_nothing_is_kept)
{
    ompi_mpool_start((ompi_mpool_leave_pinned_t){OPAL_LEAVE_PINNED_NO, OPAL_LEAVE_PINNED_NO});
    ompi_mpool_t *pool = fake_pool(&device);
    ck_assert(!pool->keeps);
    ompi_mpool_use_t *one = fake_use(pool, 10, 4);
    ck_assert(is_known(pool, 10, 4)); /* while it is in use, it serves others */
    fake_done(one);
    ck_assert_uint_eq(device.unpins, 1);
    ck_assert(!is_known(pool, 10, 4));
    finish(pool);
}
END_TEST

START_TEST(a_pool_cannot_keep_what_it_does_not_see)
{
    fake_support = 0;
    ompi_mpool_start((ompi_mpool_leave_pinned_t){OPAL_LEAVE_PINNED_YES, OPAL_LEAVE_PINNED_NO});
    ompi_mpool_t *pool = fake_pool(&device);
    ck_assert(!pool->keeps);
    finish(pool);
}
END_TEST

START_TEST(without_a_component_there_is_no_pool)
{
    ompi_mpool_t *pool = NULL;
    opal_framework_close(&mca_mpool_framework);
    opal_param_fini();
    setenv("OMPI_MCA_mpool", "^rcache", 1);
    fake_setup();
    ck_assert_int_eq(ompi_mpool_create(&device.device, &pool), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_ptr_null(pool);
}
END_TEST

/* -- access, neighbours ---------------------------------------------------------------- */

START_TEST(more_access_needs_another_registration)
{
    ompi_mpool_t *pool = fake_pool(&device);
    ompi_mpool_use_t use, other;
    use_once(pool, 10, 4);
    ck_assert_int_eq(
        ompi_mpool_acquire(pool, (void *)fake_at(10), 4 * FAKE_PAGE, OMPI_MPOOL_REMOTE_WRITE, &use),
        OPAL_SUCCESS);
    ck_assert_uint_eq(device.pins, 2);
    ck_assert_uint_eq(device.unpins, 1); /* the first one is of no use beside it */
    ck_assert_uint_eq(use.registration->access, OMPI_MPOOL_REMOTE_WRITE | OMPI_MPOOL_LOCAL_READ);
    ck_assert_int_eq(
        ompi_mpool_acquire(pool, (void *)fake_at(12), FAKE_PAGE, OMPI_MPOOL_LOCAL_READ, &other),
        OPAL_SUCCESS);
    ck_assert_ptr_eq(use.registration, other.registration);
    ompi_mpool_release(&other);
    ompi_mpool_release(&use);
    finish(pool);
}
END_TEST

START_TEST(read_only_pages_can_be_read)
{
    ompi_mpool_t *pool = fake_pool(&device);
    ompi_mpool_use_t use;
    device.failure = OPAL_ERR_SYSTEM;
    device.bad_begin = fake_at(12);
    device.bad_end = fake_at(14);
    device.bad_access = OMPI_MPOOL_LOCAL_WRITE;
    ck_assert_int_eq(
        ompi_mpool_acquire(pool, (void *)fake_at(10), 2 * FAKE_PAGE, OMPI_MPOOL_LOCAL_WRITE, &use),
        OPAL_SUCCESS);
    ompi_mpool_release(&use);
    use_once(pool, 10, 4); /* with what is known of the first two, this could not be pinned */
    ck_assert(is_known(pool, 10, 4));
    ck_assert_int_eq(
        ompi_mpool_acquire(pool, (void *)fake_at(10), 4 * FAKE_PAGE, OMPI_MPOOL_LOCAL_WRITE, &use),
        OPAL_ERR_SYSTEM);
    finish(pool);
}
END_TEST

START_TEST(neighbours_become_one)
{
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 10, 4);
    use_once(pool, 14, 4); /* touches */
    ck_assert_uint_eq(fake_read_out("registrations"), 1);
    ck_assert_uint_eq(fake_read_out("registered_bytes"), 8 * FAKE_PAGE);
    ck_assert(is_known(pool, 10, 8));
    use_once(pool, 6, 8); /* overlaps */
    ck_assert_uint_eq(fake_read_out("registrations"), 1);
    ck_assert(is_known(pool, 6, 12));
    use_once(pool, 0, 20); /* contains */
    ck_assert_uint_eq(fake_read_out("registrations"), 1);
    use_once(pool, 20, 5); /* too small to pin the others again */
    ck_assert_uint_eq(fake_read_out("registrations"), 2);
    use_once(pool, 30, 5); /* does not touch */
    ck_assert_uint_eq(fake_read_out("registrations"), 3);
    finish(pool);
}
END_TEST

START_TEST(small_pieces_do_not_pin_large_ones_again)
{
    ompi_mpool_t *pool = fake_pool(&device);
    size_t pages = 0;
    for (size_t i = 0; i < 1024; i++) {
        size_t before = device.bytes, unpins = device.unpins;
        use_once(pool, i, 1);
        if (device.unpins == unpins)
            pages += (device.bytes - before) / FAKE_PAGE;
        else
            pages += 2;
    }
    ck_assert_uint_le(pages, 2 * 1024);
    ck_assert_uint_le(fake_read_out("registrations"), 512);
    for (size_t i = 0; i < 1024; i++)
        ck_assert(is_known(pool, i, 1));
    finish(pool);
}
END_TEST

START_TEST(a_registration_in_use_stays_until_its_end)
{
    ompi_mpool_t *pool = fake_pool(&device);
    ompi_mpool_use_t *inner = fake_use(pool, 12, 2);
    use_once(pool, 10, 8);
    ck_assert_uint_eq(device.unpins, 0);
    ck_assert(fake_is_fresh(inner->registration, fake_at(12), fake_at(14)));
    ompi_mpool_use_t *outer = fake_use(pool, 12, 2);
    ck_assert_ptr_ne(outer->registration, inner->registration);
    fake_done(outer);
    fake_done(inner);
    ck_assert_uint_eq(device.unpins, 1); /* the large one does */
    ck_assert(is_known(pool, 10, 8));
    ck_assert(is_known(pool, 12, 2));
    finish(pool);
}
END_TEST

/* -- limits ------------------------------------------------------------------------------ */

/* What tools hear of it. */
static size_t evicted_events;
static ompi_event_evicted_t last_evicted;

static void note_evicted(MPI_T_event_instance instance,
                         MPI_T_event_registration registration OPAL_UNUSED,
                         MPI_T_cb_safety level OPAL_UNUSED, void *user_data OPAL_UNUSED)
{
    evicted_events++;
    ompi_event_copy(instance, &last_evicted);
}

START_TEST(the_longest_unused_makes_room)
{
    MPI_T_event_registration registration;
    ompi_event_register(OMPI_EVENT_REGISTRATION_EVICTED, NULL, &registration);
    ompi_event_set_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, note_evicted, NULL);
    device.device.max_registrations = _i == 0 ? 3 : 0;
    device.device.max_bytes = _i == 1 ? 3 * FAKE_PAGE : 0;
    device.room_bytes = _i == 2 ? 3 * FAKE_PAGE : 0;
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 0, 1);
    use_once(pool, 10, 1);
    use_once(pool, 20, 1);
    ck_assert(is_known(pool, 0, 1)); /* so 10 is the longest unused now */
    use_once(pool, 30, 1);
    ck_assert_uint_ge(fake_read_out("evictions"), 1);
    ck_assert_uint_eq(fake_read_out("evictions"), evicted_events);
    if (_i < 2)
        ck_assert_uint_eq((uintptr_t)last_evicted.address, fake_at(10));
    ck_assert_int_eq(last_evicted.bytes, FAKE_PAGE);
    ompi_event_unregister(registration, NULL, NULL);
    ck_assert_uint_le(fake_read_out("registrations"), 3);
    ck_assert(is_known(pool, 30, 1));
    if (_i < 2) { /* a device that fails makes two go */
        ck_assert(is_known(pool, 0, 1));
        ck_assert(is_known(pool, 20, 1));
    }
    ck_assert(!is_known(pool, 10, 1));
    ck_assert_uint_le(fake_read_out("registrations"), 3);
    ck_assert_uint_le(fake_read_out("peak_bytes"), 3 * FAKE_PAGE);
    finish(pool);
}
END_TEST

START_TEST(parameters_are_limits_too)
{
    opal_framework_close(&mca_mpool_framework);
    setenv("OMPI_MCA_mpool_rcache_max_registrations", "2", 1);
    opal_param_fini();
    fake_setup();
    device.device.max_registrations = 5; /* the stricter one counts */
    ompi_mpool_t *pool = fake_pool(&device);
    for (size_t i = 0; i < 10; i++)
        use_once(pool, 10 * i, 1);
    ck_assert_uint_eq(fake_read_out("registrations"), 2);
    finish(pool);
}
END_TEST

START_TEST(what_is_in_use_does_not_make_room)
{
    ompi_mpool_use_t use;
    device.device.max_bytes = 4 * FAKE_PAGE;
    ompi_mpool_t *pool = fake_pool(&device);
    ompi_mpool_use_t *one = fake_use(pool, 0, 3);
    ck_assert_int_eq(ompi_mpool_acquire(pool, (void *)fake_at(10), 2 * FAKE_PAGE, FAKE_ALL, &use),
                     OPAL_ERR_BUSY);
    ck_assert_int_eq(ompi_mpool_acquire(pool, (void *)fake_at(10), 5 * FAKE_PAGE, FAKE_ALL, &use),
                     OPAL_ERR_TOO_LARGE);
    use_once(pool, 10, 1);
    fake_done(one);
    use_once(pool, 10, 2);
    finish(pool);
}
END_TEST

START_TEST(a_device_that_fails_is_asked_once)
{
    ompi_mpool_use_t use;
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 0, 1);
    device.failure = OPAL_ERR_SYSTEM;
    device.bad_end = UINTPTR_MAX;
    ck_assert_int_eq(ompi_mpool_acquire(pool, (void *)fake_at(10), 1, FAKE_ALL, &use),
                     OPAL_ERR_SYSTEM);
    ck_assert_uint_eq(device.asked, 2);
    ck_assert(is_known(pool, 0, 1)); /* nothing goes for it */
    device.failure = OPAL_ERR_NO_MEMORY;
    ck_assert_int_eq(ompi_mpool_acquire(pool, (void *)fake_at(10), 1, FAKE_ALL, &use),
                     OPAL_ERR_NO_MEMORY);
    ck_assert_uint_eq(device.asked, 4); /* again when there was something to make room with */
    device.failure = OPAL_SUCCESS;
    use_once(pool, 10, 1);
    finish(pool);
}
END_TEST

/* A neighbour may be gone without a mark, if it went between the look at the marks and the pin. */
START_TEST(a_neighbour_that_cannot_be_pinned_is_left_out)
{
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 10, 4);
    device.failure = OPAL_ERR_SYSTEM;
    device.bad_begin = fake_at(10);
    device.bad_end = fake_at(14);
    use_once(pool, 14, 4);
    ck_assert(is_known(pool, 14, 4));
    ck_assert_uint_eq(fake_read_out("registrations"), 1);
    finish(pool);
}
END_TEST

/* -- memory that leaves ---------------------------------------------------------------- */

START_TEST(what_has_left_is_not_found)
{
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 10, 4);
    fake_unmap(10, 4);
    ck_assert_uint_eq(device.unpins, 0); /* nothing is done inside the event */
    ck_assert(!is_known(pool, 10, 4));
    ck_assert_uint_eq(device.unpins, 1);
    ck_assert_uint_eq(fake_read_out("cuts"), 1);
    finish(pool);
}
END_TEST

START_TEST(progress_unpins_what_has_left)
{
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 10, 4);
    fake_unmap(8, 100);
    ck_assert_int_eq(opal_progress(), 0);
    ck_assert_uint_eq(device.unpins, 1);
    finish(pool);
    ck_assert_int_eq(opal_progress(), 0);
}
END_TEST

START_TEST(one_unmapping_covers_200_registrations)
{
    ompi_mpool_t *pool = fake_pool(&device);
    for (size_t i = 0; i < 202; i++)
        use_once(pool, 10 * i, 3);
    ck_assert_uint_eq(fake_read_out("registrations"), 202);
    fake_unmap(10, 2000);
    ck_assert(is_known(pool, 0, 3));
    ck_assert_uint_eq(device.unpins, 200);
    ck_assert(is_known(pool, 2010, 3));
    for (size_t i = 1; i < 201; i++)
        ck_assert(!is_known(pool, 10 * i, 3));
    finish(pool);
}
END_TEST

START_TEST(what_stays_of_a_registration_is_found)
{
    static const struct {
        size_t page, count;
    } holes[] = {{100, 10}, {190, 10}, {140, 20}, {90, 15}, {195, 20}};
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 100, 100);
    fake_unmap(holes[_i].page, holes[_i].count);
    size_t end = holes[_i].page + holes[_i].count;
    if (holes[_i].page > 100)
        ck_assert(is_known(pool, 100, holes[_i].page - 100));
    if (end < 200)
        ck_assert(is_known(pool, end, 200 - end));
    ck_assert_uint_eq(device.unpins, 0);
    ck_assert(!is_known(pool, holes[_i].page > 100 ? holes[_i].page : 100, 5));
    finish(pool);
}
END_TEST

START_TEST(holes_are_cut_one_by_one)
{
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 0, 256);
    for (size_t i = 0; i < 32; i++)
        fake_unmap(8 * i + 3, 2);
    for (size_t i = 0; i < 32; i++) {
        ck_assert(is_known(pool, 8 * i, 3));
        ck_assert(is_known(pool, 8 * i + 5, 3));
    }
    ck_assert_uint_eq(fake_read_out("cuts"), 32);
    ck_assert_uint_eq(device.pins, 1);
    /* More than half is gone then, so it is not worth its pages any more. */
    fake_unmap(0, 100);
    opal_progress();
    ck_assert_uint_eq(device.unpins, 1);
    ck_assert(!is_known(pool, 200, 3));
    finish(pool);
}
END_TEST

START_TEST(a_failing_call_unmaps_nothing)
{
    char *odd = (char *)fake_at(0) + 1;
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 0, 4);
    ck_assert_int_eq(opal_memory_munmap((void *)fake_at(0), 0), -1);
    ck_assert_int_eq(opal_memory_munmap(odd, FAKE_PAGE), -1);
    ck_assert_int_eq(opal_memory_munmap((void *)fake_at(0), SIZE_MAX - FAKE_PAGE), -1);
    ck_assert_int_eq(opal_memory_madvise(odd, FAKE_PAGE, MADV_DONTNEED), -1);
    ck_assert_ptr_eq(
        opal_memory_mmap(odd, FAKE_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
        MAP_FAILED);
    ck_assert_ptr_eq(opal_memory_mremap(odd, FAKE_PAGE, 2 * FAKE_PAGE, MREMAP_MAYMOVE), MAP_FAILED);
    ck_assert_uint_eq(fake_read_out("ranges_unmapped"), 0);
    ck_assert(is_known(pool, 0, 4));
    finish(pool);
}
END_TEST

START_TEST(two_pools_hear_of_the_same)
{
    fake_device_t other;
    fake_open(&other);
    ompi_mpool_t *one = fake_pool(&device), *two = fake_pool(&other);
    use_once(one, 10, 4);
    fake_done(fake_use(two, 12, 8));
    fake_unmap(10, 4);
    ck_assert(!is_known(one, 10, 4));
    ck_assert(fake_is_known(&other, two, 14, 6));
    ck_assert(!fake_is_known(&other, two, 12, 1));
    ompi_mpool_destroy(two);
    ck_assert(is_known(one, 10, 4));
    fake_unmap(10, 4);
    ck_assert(!is_known(one, 10, 4));
    finish(one);
}
END_TEST

/* -- too much at once ---------------------------------------------------------------- */

START_TEST(when_marks_are_lost_everything_is_suspect)
{
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 0, 1);
    use_once(pool, 8000, 1);
    ompi_mpool_use_t *used = fake_use(pool, 9000, 1);
    unit_capture();
    for (size_t i = 0; i < 2000; i++)
        fake_unmap(10 + 2 * i, 1);
    ck_assert(!is_known(pool, 0, 1));
    ck_assert(!is_known(pool, 8000, 1));
    ck_assert(!is_known(pool, 9000, 1));
    ck_assert_uint_eq(fake_read_out("flushes"), 1);
    ck_assert_uint_eq(fake_read_out("faults"), 0); /* nobody knows, so nobody is accused */
    ck_assert_str_eq(unit_stderr(), "");
    ck_assert(fake_is_fresh(used->registration, fake_at(9000), fake_at(9001)));
    fake_done(used);
    ck_assert(is_known(pool, 0, 1)); /* it goes on as before */
    ck_assert(is_known(pool, 9000, 1));
    finish(pool);
}
END_TEST

START_TEST(what_nobody_watches_leaves_no_mark)
{
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 100, 1);
    use_once(pool, 200, 1);
    for (size_t i = 0; i < 5000; i++)
        fake_unmap(300 + 2 * i, 1);
    ck_assert(is_known(pool, 100, 1));
    ck_assert_uint_eq(fake_read_out("ranges_unmapped"), 0);
    ck_assert_uint_eq(fake_read_out("flushes"), 0);
    finish(pool);
}
END_TEST

/* -- mistakes of the application -------------------------------------------------------- */

START_TEST(a_buffer_that_leaves_during_its_transfer_is_reported_once)
{
    char wanted[128];
    unit_capture();
    ompi_mpool_t *pool = fake_pool(&device);
    ompi_mpool_use_t *use = fake_use(pool, 10, 4);
    fake_unmap(8, 3);
    ck_assert_str_eq(unit_stderr(), ""); /* not inside the event */
    opal_progress();
    snprintf(wanted, sizeof wanted, "0x%zx to 0x%zx of the buffer 0x%zx to 0x%zx",
             (size_t)fake_at(10), (size_t)fake_at(11), (size_t)fake_at(10), (size_t)fake_at(14));
    ck_assert_uint_eq(unit_count(unit_stderr(), wanted), 1);
    ck_assert_uint_eq(unit_count(unit_stderr(), "the fake device"), 1);
    fake_unmap(12, 10);
    opal_progress();
    ck_assert_uint_eq(unit_count(unit_stderr(), "error:"), 1);
    ck_assert_uint_eq(fake_read_out("faults"), 1);
    fake_done(use);
    ck_assert_uint_eq(device.unpins, 1);
    ck_assert(!is_known(pool, 10, 4));
    finish(pool);
}
END_TEST

START_TEST(the_end_of_a_use_reports_too)
{
    unit_capture();
    ompi_mpool_t *pool = fake_pool(&device);
    ompi_mpool_use_t *use = fake_use(pool, 10, 4);
    fake_unmap(10, 4);
    fake_done(use);
    ck_assert_uint_eq(unit_count(unit_stderr(), "error:"), 1);
    finish(pool);
}
END_TEST

/* The registration is larger than the buffer: the rest of it belongs to nobody. */
START_TEST(what_is_not_in_use_may_leave)
{
    unit_capture();
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 10, 20);
    ompi_mpool_use_t *use = fake_use(pool, 12, 2);
    ck_assert_uint_eq(use->registration->bytes, 20 * FAKE_PAGE);
    fake_unmap(14, 100);
    fake_unmap(0, 12);
    opal_progress();
    ck_assert(fake_is_fresh(use->registration, fake_at(12), fake_at(14)));
    fake_done(use);
    ck_assert_str_eq(unit_stderr(), "");
    ck_assert_uint_eq(device.unpins, 1);
    finish(pool);
}
END_TEST

/* -- fork ---------------------------------------------------------------------------------- */

START_TEST(a_child_leaves_the_parents_pool_alone)
{
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 10, 4);
    ompi_mpool_use_t *use = fake_use(pool, 20, 4);
    pid_t child = fork();
    if (child == 0) {
        ompi_mpool_use_t other;
        fake_device_t mine;
        if (ompi_mpool_acquire(pool, (void *)fake_at(10), 1, 1, &other) != OPAL_ERR_NOT_AVAILABLE)
            _exit(1);
        fake_unmap(10, 4);
        opal_progress();
        ompi_mpool_release(use);
        ompi_mpool_destroy(pool);
        if (device.unpins != 0 || device.asked != 2)
            _exit(2);
        fake_open(&mine);
        ompi_mpool_t *own = fake_pool(&mine);
        fake_done(fake_use(own, 10, 4));
        fake_unmap(10, 1);
        if (fake_is_known(&mine, own, 10, 4))
            _exit(3);
        ompi_mpool_destroy(own);
        _exit(mine.pins == 2 && mine.unpins == 2 ? 0 : 4);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(is_known(pool, 10, 4));
    fake_done(use);
    finish(pool);
}
END_TEST

/* -- a device that allocates ------------------------------------------------------------- */

static void unmap_something(void)
{
    fake_unmap(100, 50);
    opal_progress();
}

/* Who asks for what another thread is just unmapping is told so, and still gets what is there. */
START_TEST(a_device_may_unmap)
{
    unit_capture();
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 100, 4);
    use_once(pool, 300, 4);
    device.on_pin = unmap_something;
    use_once(pool, 200, 4);
    ck_assert(!is_known(pool, 100, 4)); /* and leaves again while it comes */
    ck_assert(!is_known(pool, 100, 4));
    ck_assert(is_known(pool, 200, 4));
    finish(pool);
}
END_TEST

/* -- between the look at the marks and the pin -------------------------------------------- */

static size_t calls_until_event;

static void raise_at_call(void)
{
    if (calls_until_event-- == 0)
        opal_memory_unmapped((void *)fake_at(10), 4 * FAKE_PAGE);
}

/*
 * Another thread unmaps a neighbour that nobody uses while it is taken in: its event comes while
 * the device unpins the old registration or pins the new one, and its pages go later.
 */
START_TEST(a_neighbour_leaves_while_it_is_taken_in)
{
    ompi_mpool_t *pool = fake_pool(&device);
    use_once(pool, 10, 4);
    calls_until_event = (size_t)_i;
    device.on_pin = raise_at_call;
    use_once(pool, 14, 4);
    device.on_pin = NULL;
    ck_assert_uint_eq(fake_read_out("registered_bytes"), 8 * FAKE_PAGE);
    fake_age(10, 4);
    ck_assert(is_known(pool, 14, 4));
    ck_assert(!is_known(pool, 10, 4));
    finish(pool);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_was_used_is_found_again},
    {.test = &bytes_become_whole_pages},
    {.test = &nonsense_is_refused},
    {.test = &without_leave_pinned_nothing_is_kept},
    {.test = &a_pool_cannot_keep_what_it_does_not_see},
    {.test = &without_a_component_there_is_no_pool},
    {.test = &more_access_needs_another_registration},
    {.test = &read_only_pages_can_be_read},
    {.test = &neighbours_become_one},
    {.test = &small_pieces_do_not_pin_large_ones_again},
    {.test = &a_registration_in_use_stays_until_its_end},
    {.test = &the_longest_unused_makes_room, .repeats = 3},
    {.test = &parameters_are_limits_too},
    {.test = &what_is_in_use_does_not_make_room},
    {.test = &a_device_that_fails_is_asked_once},
    {.test = &a_neighbour_that_cannot_be_pinned_is_left_out},
    {.test = &what_has_left_is_not_found},
    {.test = &progress_unpins_what_has_left},
    {.test = &one_unmapping_covers_200_registrations},
    {.test = &what_stays_of_a_registration_is_found, .repeats = 5},
    {.test = &holes_are_cut_one_by_one},
    {.test = &a_failing_call_unmaps_nothing},
    {.test = &two_pools_hear_of_the_same},
    {.test = &when_marks_are_lost_everything_is_suspect},
    {.test = &what_nobody_watches_leaves_no_mark},
    {.test = &a_buffer_that_leaves_during_its_transfer_is_reported_once},
    {.test = &the_end_of_a_use_reports_too},
    {.test = &what_is_not_in_use_may_leave},
    {.test = &a_child_leaves_the_parents_pool_alone},
    {.test = &a_device_may_unmap},
    {.test = &a_neighbour_leaves_while_it_is_taken_in, .repeats = 2},
};

UNIT_MAIN("rcache", tests, setup);
