/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/mpool/rcache, driven at random against what must hold whatever happens: the device knows
 * the pages that are there, nothing is pinned beyond the limits, what is unused makes room, and who
 * takes a buffer away is told so.
 */
#include "test/unit/ompi/mca/mpool/fake.h"

enum { PAGES = 400, USES = 12, STEPS = 15000 };

static fake_device_t device;
static ompi_mpool_t *pool;

/* The uses that there are, and whether a page of theirs has left. */
static struct {
    ompi_mpool_use_t use;
    bool on, robbed;
} uses[USES];
static size_t faults;

static void setup(void)
{
    fake_setup();
    fake_open(&device);
    unit_capture();
}

static size_t random_length(void)
{
    return 1 + (size_t)rand() % (rand() % 8 == 0 ? 60 : 6);
}

static bool is_any_in_use(void)
{
    for (size_t i = 0; i < USES; i++) {
        if (uses[i].on)
            return true;
    }
    return false;
}

static void begin(size_t i)
{
    size_t count = random_length(), page = (size_t)rand() % (PAGES - count);
    unsigned access = 1U << rand() % 2;
    opal_status_t status = ompi_mpool_acquire(pool, (void *)(fake_at(page) + 5),
                                              count * FAKE_PAGE - 5, access, &uses[i].use);
    if (status != OPAL_SUCCESS) {
        bool bad = status == OPAL_ERR_SYSTEM && (access & device.bad_access) != 0 &&
                   fake_at(page) < device.bad_end && fake_at(page + count) > device.bad_begin;
        bool full = status == OPAL_ERR_NO_MEMORY && device.room_bytes > 0;
        bool busy = status == OPAL_ERR_BUSY && is_any_in_use();
        ck_assert_msg(bad || full || busy, "status %s", opal_status_name(status));
        return;
    }
    uses[i].on = true;
    uses[i].robbed = false;
    ck_assert_uint_eq(uses[i].use.registration->access & access, access);
    ck_assert(fake_is_fresh(uses[i].use.registration, fake_at(page), fake_at(page + count)));
}

static void end(size_t i)
{
    ck_assert(uses[i].robbed ||
              fake_is_fresh(uses[i].use.registration, uses[i].use.begin, uses[i].use.end));
    ompi_mpool_release(&uses[i].use);
    uses[i].on = false;
}

static void unmap(void)
{
    size_t count = random_length(), page = (size_t)rand() % (PAGES - count);
    for (size_t i = 0; i < USES; i++) {
        if (!uses[i].on || uses[i].use.end <= fake_at(page) ||
            uses[i].use.begin >= fake_at(page + count))
            continue;
        if (rand() % 50 > 0)
            return; /* programs mostly do it right */
    }
    for (size_t i = 0; i < USES; i++) {
        if (!uses[i].on || uses[i].robbed || uses[i].use.end <= fake_at(page) ||
            uses[i].use.begin >= fake_at(page + count))
            continue;
        uses[i].robbed = true;
        faults++;
    }
    fake_unmap(page, count);
}

/* Now and then the device has little room, or some pages cannot be written. */
static void change_device(void)
{
    size_t page = (size_t)rand() % PAGES;
    device.failure = rand() % 2 == 0 ? OPAL_ERR_SYSTEM : OPAL_SUCCESS;
    device.bad_access = OMPI_MPOOL_LOCAL_WRITE;
    device.bad_begin = fake_at(page);
    device.bad_end = fake_at(page + 10);
    device.room_bytes = rand() % 3 == 0 ? device.bytes + (size_t)rand() % 50 * FAKE_PAGE : 0;
}

START_TEST(whatever_happens_nothing_is_stale)
{
    srand((unsigned)_i);
    device.device.max_bytes = _i % 3 == 0 ? 150 * FAKE_PAGE : 0;
    device.device.max_registrations = _i % 3 == 1 ? 20 : 0;
    pool = fake_pool(&device);
    for (size_t step = 0; step < STEPS; step++) {
        size_t i = (size_t)rand() % USES;
        if (rand() % 4 == 0)
            unmap();
        else if (uses[i].on)
            end(i);
        else
            begin(i);
        if (step % 100 == 0)
            change_device();
        ck_assert(device.device.max_bytes == 0 || device.bytes <= device.device.max_bytes);
        ck_assert(device.device.max_registrations == 0 ||
                  device.pins - device.unpins <= device.device.max_registrations);
    }
    for (size_t i = 0; i < USES; i++) {
        if (uses[i].on)
            end(i);
    }
    ck_assert_uint_eq(fake_read_out("faults"), faults);
    ck_assert_uint_gt(faults, 0);
    ck_assert_uint_eq(fake_read_out("registered_bytes"), device.bytes);
    ck_assert_uint_eq(fake_read_out("registrations"), device.pins - device.unpins);
    ck_assert_uint_gt(fake_read_out("hits"), STEPS / 100);
    ompi_mpool_destroy(pool);
    ck_assert_uint_eq(device.pins, device.unpins);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &whatever_happens_nothing_is_stale, .repeats = 6},
};

UNIT_MAIN("soak", tests, setup);
