/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/mpool/rcache under threads: nobody waits for ever, and no look-up is stale.
 *
 *   race [SECONDS]    per test; if not told 1, or MICA_TEST_SOAK if that is more
 *
 * The first test has an allocator of its own with a lock, which it holds while memory leaves, and
 * which the device needs to pin. The second one maps and unmaps real pages; who finds a page of
 * zeros fills it with a number that no other page ever has. The third one does the same with
 * blocks of the real allocator, which memory/ptmalloc2 replaces; for that, this program starts
 * itself with mpi_leave_pinned.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "opal/mca/memory/base/base.h"
#include "opal/memory/events/events.h"
#include "opal/progress/wait.h"
#include "test/unit/ompi/mca/mpool/fake.h"

enum { THREADS = 8, SLOTS = 6 };

static double seconds = 1;
static atomic_bool stop;
static ompi_mpool_t *pool;
static atomic_size_t rounds;

static bool has_real_pool;
static size_t least_cuts; /* an allocator gives back seldom what it has */

/* On a machine that does something else, the time alone does not say that. */
static bool has_run_enough(void)
{
    return atomic_load(&rounds) > 100 &&
           (!has_real_pool || (fake_read_out("hits") > 100 && fake_read_out("cuts") > least_cuts));
}

static void run_threads(void *(*run)(void *))
{
    pthread_t threads[THREADS];
    struct timespec length = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run, (void *)i), 0);
    do
        nanosleep(&length, NULL);
    while (!has_run_enough());
    atomic_store(&stop, true);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(fake_read_out("faults"), 0);
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245 + 12345;
    return *seed >> 16;
}

/* -- an allocator that frees under its lock ------------------------------------------------ */

enum { BLOCK_PAGES = 4, BLOCKS = 64 };

static fake_device_t device;
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_taken[BLOCKS];

/* Pages of a block; the first ones that are free, so that blocks are used again soon. */
static size_t take_block(void)
{
    size_t i = 0;
    pthread_mutex_lock(&heap_lock);
    while (is_taken[i])
        i++;
    is_taken[i] = true;
    pthread_mutex_unlock(&heap_lock);
    return i * BLOCK_PAGES;
}

static void give_block(size_t page)
{
    pthread_mutex_lock(&heap_lock);
    fake_unmap(page, BLOCK_PAGES);
    is_taken[page / BLOCK_PAGES] = false;
    pthread_mutex_unlock(&heap_lock);
}

static void allocate_while_pinning(void)
{
    give_block(take_block());
}

static void *allocate_and_use(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument + 1;
    for (; !atomic_load(&stop); atomic_fetch_add(&rounds, 1)) {
        size_t page = take_block();
        for (unsigned i = next_random(&seed) % 4; i > 0; i--) {
            size_t from = page + next_random(&seed) % BLOCK_PAGES;
            fake_done(fake_use(pool, from, page + BLOCK_PAGES - from));
        }
        if (next_random(&seed) % 64 == 0)
            opal_progress();
        give_block(page);
    }
    return NULL;
}

START_TEST(who_frees_waits_for_nobody)
{
    fake_open(&device);
    device.on_pin = allocate_while_pinning;
    device.device.max_registrations = _i == 0 ? 0 : THREADS; /* each needs one */
    pool = fake_pool(&device);
    run_threads(allocate_and_use);
    ompi_mpool_destroy(pool);
    ck_assert_uint_eq(device.pins, device.unpins);
}
END_TEST

/* -- real pages ----------------------------------------------------------------------------- */

/* The calls: the program's, if they are caught, else the hooks themselves. */
static void *(*map)(void *, size_t, int, int, int, off_t) = mmap;
static int (*unmap)(void *, size_t) = munmap;
static void *(*remap)(void *, size_t, size_t, int, ...) = mremap;
static int (*advise)(void *, size_t, int) = madvise;

static void choose_calls(void)
{
    const unsigned events = OPAL_MEMORY_VM_UNMAPPED;
    if (opal_memory_events_install(events) == events)
        return;
    map = opal_memory_mmap;
    unmap = opal_memory_munmap;
    remap = opal_memory_mremap;
    advise = opal_memory_madvise;
}

/*
 * A page has its number in many places, since an allocator that keeps a free page lets others write
 * there: some of them stay. A number tells of which page it is, and nothing else looks like it
 * there.
 */
enum { NUMBERS = 16, APART = FAKE_PAGE / NUMBERS / sizeof(size_t), PLACE_BITS = 36 };

static size_t place_of(const char *page)
{
    return (uintptr_t)page / FAKE_PAGE;
}

/* 0: it has none, or there is nothing left of it. `words`: what it has, or had. */
static size_t number_of(const char *page, const size_t *words)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        if (words[i * APART] % ((size_t)1 << PLACE_BITS) == place_of(page))
            return words[i * APART];
    }
    return 0;
}

static size_t *words_of(char *page)
{
    return (size_t *)(void *)page;
}

static bool is_new(const size_t *words)
{
    size_t all = 0;
    for (size_t i = 0; i < NUMBERS; i++)
        all |= words[i * APART];
    return all == 0;
}

/* What the pages held when they were pinned. */
typedef struct real_pin {
    uintptr_t begin, end;
    size_t numbers[];
} real_pin_t;

static size_t real_pins; /* now */

/* As the kernel does it: pages that are not there make it fail. */
static opal_status_t pin_real(void *context OPAL_UNUSED, void *base, size_t bytes,
                              unsigned access OPAL_UNUSED, void **handle)
{
    size_t count = bytes / FAKE_PAGE;
    real_pin_t *pin = opal_xmalloc(sizeof *pin + count * sizeof pin->numbers[0]);
    for (size_t i = 0; i < count; i++) {
        size_t words[FAKE_PAGE / sizeof(size_t)];
        char *page = (char *)base + i * FAKE_PAGE;
        struct iovec here = {words, sizeof words}, there = {page, sizeof words};
        if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != (ssize_t)sizeof words) {
            free(pin);
            return OPAL_ERR_SYSTEM;
        }
        pin->numbers[i] = number_of(page, words);
    }
    pin->begin = (uintptr_t)base;
    pin->end = pin->begin + bytes;
    real_pins++;
    *handle = pin;
    return OPAL_SUCCESS;
}

static void unpin_real(void *context OPAL_UNUSED, void *handle, void *base OPAL_UNUSED,
                       size_t bytes OPAL_UNUSED)
{
    real_pins--;
    free(handle);
}

static atomic_size_t last_number;
static bool may_lose_numbers; /* somebody else writes into free pages, in the worst case all over */

static size_t next_number(const char *page)
{
    return (atomic_fetch_add(&last_number, 1) + 1) << PLACE_BITS | place_of(page);
}

static void write_number(char *page, size_t number)
{
    for (size_t i = 0; i < NUMBERS; i++)
        words_of(page)[i * APART] = number;
}

/* Those that are new. Pages that an allocator has kept are the same ones as before. */
static void number_pages(char *pages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *page = pages + i * FAKE_PAGE;
        size_t number =
            is_new(words_of(page)) ? next_number(page) : number_of(page, words_of(page));
        if (number != 0)
            write_number(page, number);
    }
}

static void transfer(char *pages, size_t count)
{
    ompi_mpool_use_t use;
    ck_assert_int_eq(ompi_mpool_acquire(pool, pages, count * FAKE_PAGE, FAKE_ALL, &use),
                     OPAL_SUCCESS);
    const real_pin_t *pin = use.registration->handle;
    for (size_t i = 0; i < count; i++) {
        size_t at = ((uintptr_t)pages - pin->begin) / FAKE_PAGE + i;
        char *page = pages + i * FAKE_PAGE;
        size_t number = number_of(page, words_of(page));
        ck_assert_msg(pin->numbers[at] == number || (number == 0 && may_lose_numbers),
                      "the device has page %zx, and not %zx", pin->numbers[at], number);
    }
    ompi_mpool_release(&use);
}

/* Memory of a thread. */
typedef struct slot {
    char *pages;
    size_t count;
} slot_t;

enum { MOST_PAGES = 12 };

static void map_slot(slot_t *slot, unsigned *seed)
{
    slot->count = 2 + next_random(seed) % (MOST_PAGES - 2);
    slot->pages = map(NULL, slot->count * FAKE_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(slot->pages, MAP_FAILED);
    number_pages(slot->pages, slot->count);
}

static void unmap_slot(slot_t *slot)
{
    ck_assert_int_eq(unmap(slot->pages, slot->count * FAKE_PAGE), 0);
    slot->pages = NULL;
}

static void unmap_end(slot_t *slot)
{
    slot->count--;
    ck_assert_int_eq(unmap(slot->pages + slot->count * FAKE_PAGE, FAKE_PAGE), 0);
    if (slot->count == 0)
        slot->pages = NULL;
}

static void map_over(slot_t *slot, unsigned *seed)
{
    size_t at = next_random(seed) % slot->count;
    ck_assert_ptr_ne(map(slot->pages + at * FAKE_PAGE, FAKE_PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     MAP_FAILED);
    number_pages(slot->pages + at * FAKE_PAGE, 1);
}

static void drop_pages(slot_t *slot, unsigned *seed)
{
    size_t at = next_random(seed) % slot->count;
    ck_assert_int_eq(advise(slot->pages + at * FAKE_PAGE, FAKE_PAGE, MADV_DONTNEED), 0);
    number_pages(slot->pages + at * FAKE_PAGE, 1);
}

static void move_slot(slot_t *slot)
{
    char *moved =
        remap(slot->pages, slot->count * FAKE_PAGE, (slot->count + 1) * FAKE_PAGE, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) { /* what was mapped over is another mapping, which does not move */
        ck_assert_int_eq(errno, EFAULT);
        return;
    }
    slot->pages = moved;
    slot->count++;
    for (size_t i = 0; i < slot->count; i++)
        write_number(moved + i * FAKE_PAGE, next_number(moved + i * FAKE_PAGE));
}

static void change_slot(slot_t *slot, unsigned *seed)
{
    switch (next_random(seed) % 6) {
    case 0:
        unmap_end(slot);
        break;
    case 1:
        map_over(slot, seed);
        break;
    case 2:
        drop_pages(slot, seed);
        break;
    case 3:
        move_slot(slot);
        break;
    default:
        unmap_slot(slot);
    }
}

static void *map_and_use(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument + 1;
    slot_t slots[SLOTS] = {0};
    for (; !atomic_load(&stop); atomic_fetch_add(&rounds, 1)) {
        slot_t *slot = &slots[next_random(&seed) % SLOTS];
        if (slot->pages == NULL)
            map_slot(slot, &seed);
        for (unsigned i = next_random(&seed) % 4; i > 0; i--) {
            size_t at = next_random(&seed) % slot->count;
            transfer(slot->pages + at * FAKE_PAGE, slot->count - at);
        }
        change_slot(slot, &seed);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        if (slots[i].pages != NULL)
            unmap_slot(&slots[i]);
    }
    return NULL;
}

static void run_real(void *(*run)(void *), size_t cuts)
{
    static const ompi_mpool_device_t real = {
        .name = "a device that reads", .pin = pin_real, .unpin = unpin_real};
    ck_assert_int_eq(ompi_mpool_create(&real, &pool), OPAL_SUCCESS);
    ck_assert(pool->keeps);
    has_real_pool = true;
    least_cuts = cuts;
    run_threads(run);
    ompi_mpool_destroy(pool);
    ck_assert_uint_eq(real_pins, 0);
}

START_TEST(no_real_page_is_stale)
{
    const char *sanitizer = getenv("MICA_SANITIZER");
    if (sanitizer != NULL && strcmp(sanitizer, "tsan") == 0)
        return; /* it does not see the calls, and takes a page at an old address for the old one */
    run_real(map_and_use, 100);
}
END_TEST

/* -- the real allocator ----------------------------------------------------------------------- */

unsigned __real_opal_memory_support(void);

/* What memory/ptmalloc2 has found out by its probes. */
static bool is_allocator_watched(void)
{
    const unsigned needed = OPAL_MEMORY_FREE_SUPPORT | OPAL_MEMORY_MUNMAP_SUPPORT;
    ck_assert_int_eq(opal_framework_open(&mca_memory_framework), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_select(&mca_memory_framework), OPAL_SUCCESS);
    bool watched = (__real_opal_memory_support() & needed) == needed;
    opal_framework_close(&mca_memory_framework);
    return watched;
}

static void *allocate_and_transfer(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument + 1;
    for (; !atomic_load(&stop); atomic_fetch_add(&rounds, 1)) {
        size_t count = 1 + next_random(&seed) % (next_random(&seed) % 8 == 0 ? 1500 : 100);
        char *block = memalign(FAKE_PAGE, count * FAKE_PAGE);
        ck_assert_ptr_nonnull(block);
        number_pages(block, count);
        for (unsigned i = next_random(&seed) % 4; i > 0; i--) {
            size_t at = next_random(&seed) % count;
            transfer(block + at * FAKE_PAGE, count - at);
        }
        free(block);
        if (next_random(&seed) % 16 == 0)
            malloc_trim(0);
    }
    return NULL;
}

START_TEST(no_page_of_the_real_allocator_is_stale)
{
    bool watched = is_allocator_watched();
    if (getenv("MICA_SANITIZER") != NULL && !watched)
        return; /* sanitizers have allocators of their own */
    ck_assert(watched);
    may_lose_numbers = true;
    run_real(allocate_and_transfer, 10);
}
END_TEST

static void setup(void)
{
    choose_calls();
    fake_setup();
}

static const unit_test_t tests[] = {
    {.test = &who_frees_waits_for_nobody, .repeats = 2},
    {.test = &no_real_page_is_stale},
    {.test = &no_page_of_the_real_allocator_is_stale},
};

int main(int argc, char **argv)
{
    char factor[32];
    if (getenv("OMPI_MCA_mpi_leave_pinned") == NULL) {
        setenv("OMPI_MCA_mpi_leave_pinned", "1", 1);
        execv("/proc/self/exe", argv);
        perror("/proc/self/exe");
        return EXIT_FAILURE;
    }
    const char *soak = getenv("MICA_TEST_SOAK");
    if (argc > 1)
        seconds = strtod(argv[1], NULL);
    else if (soak != NULL && strtod(soak, NULL) > seconds)
        seconds = strtod(soak, NULL);
    snprintf(factor, sizeof factor, "%d", 1 + (int)(seconds / 20));
    setenv("CK_TIMEOUT_MULTIPLIER", factor, 0);
    return unit_run("race", tests, OPAL_COUNT_OF(tests), setup);
}
