/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/mpool/rcache against the kernel's own word: threads use buffers by the cache while
 * others take the pages of the same buffers away and bring new ones, by every call that there is.
 *
 *   stale [SECONDS [SEED]]   3 seconds times MICA_TEST_SOAK, but 1 at least; MICA_TEST_SEED or
 *                            the time
 *
 * Each page has an age. The oracle (userfaultfd) makes it older when the page has left; hooks have
 * no part in that. The device remembers the ages of what it pins. A registration that is handed out
 * is stale if a page of it is older by then. Who changes a buffer waits for the oracle before the
 * users may have it again, so the ages are right whenever somebody looks at them.
 *
 * A changer has buffers of its own at addresses of its own, and a lock for each, which a user takes
 * for reading: a program does not take a buffer away during its message. The allocator's blocks and
 * the break have one changer together. The process's own malloc is libc's, which moves no break as
 * long as the main thread sleeps.
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "opal/memory/hooks/watcher.h"
#include "opal/memory/events/events.h"
#include "opal/mca/memory/ptmalloc2/symbols.h"
#include "ompi/mca/mpool/base/marks.h"
#include "test/unit/ompi/mca/mpool/fake.h"
#include "test/unit/opal/mca/memory/oracle.h"

#define P ((size_t)FAKE_PAGE)

enum { USERS = 4, MAPPERS = 3, MAPPED_SLOTS = 8, BLOCK_SLOTS = 4, MOST_PAGES = 16 };
enum { SLOTS = MAPPERS * MAPPED_SLOTS + BLOCK_SLOTS + 1, BLOCK_PAGES = 700, ROOM = 4096 };

/* What is done to buffers; each must have been done. */
typedef enum change {
    MUNMAP,
    MUNMAP_END,
    MMAP_FIXED,
    MADVISE,
    MREMAP_MOVE,
    MREMAP_SHRINK,
    FREE,
    TRIM,
    BRK,
    SBRK,
    CHANGES,
} change_t;

static const char *const change_names[CHANGES] = {
    "munmap", "munmap of the end", "mmap over it", "madvise", "mremap", "shrink",
    "free",   "malloc_trim",       "brk",          "sbrk"};

typedef struct slot {
    pthread_rwlock_t lock;
    char *pages; /* NULL: there is no buffer */
    size_t count;
    char *homes[2]; /* of what is mapped: where it may lie, MOST_PAGES each */
    bool held[2];   /* something of ours is there */
    change_t last;
} slot_t;

static slot_t slots[SLOTS];
static ompi_mpool_t *pool;
static atomic_bool stop;
static atomic_size_t uses, changes[CHANGES];
static double seconds;
static unsigned seed;

static unsigned next_random(unsigned *state)
{
    *state = *state * 1103515245 + 12345;
    return *state >> 16;
}

/* -- ages ------------------------------------------------------------------------------- */

/* Pages that were ever pinned. */
static struct {
    atomic_uintptr_t page;
    atomic_uint age;
} ages[1 << 18];

static atomic_size_t aged;

/* NULL: it is not there, and not to be put there. */
static atomic_uint *age_of(uintptr_t page, bool put)
{
    size_t place = (size_t)(page / P * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (size_t i = 0; i < OPAL_COUNT_OF(ages); i++) {
        size_t at = (place + i) % OPAL_COUNT_OF(ages);
        uintptr_t there = atomic_load(&ages[at].page);
        if (there == 0 && !put)
            return NULL;
        if (there == page ||
            (there == 0 &&
             (atomic_compare_exchange_strong(&ages[at].page, &there, page) || there == page)))
            return &ages[at].age;
    }
    abort();
}

/* Called by the oracle. */
static void make_older(uintptr_t start, uintptr_t end)
{
    for (uintptr_t page = start; page < end; page += P) {
        atomic_uint *age = age_of(page, false);
        if (age != NULL) {
            atomic_fetch_add(age, 1);
            atomic_fetch_add(&aged, 1);
        }
    }
}

/* -- the device --------------------------------------------------------------------------- */

typedef struct pin {
    uintptr_t begin;
    unsigned ages[];
} pin_t;

static size_t pins; /* now */

/* As the kernel does it: pages that are not there make it fail. */
static opal_status_t pin(void *context OPAL_UNUSED, void *base, size_t bytes,
                         unsigned access OPAL_UNUSED, void **handle)
{
    static unsigned char there[ROOM];
    size_t count = bytes / P;
    ck_assert_uint_le(count, ROOM);
    pin_t *new = opal_xmalloc(sizeof *new + count * sizeof new->ages[0]);
    new->begin = (uintptr_t)base;
    for (size_t i = 0; i < count; i++)
        new->ages[i] = atomic_load(age_of(new->begin + i *P, true));
    if (mincore(base, bytes, there) != 0) {
        free(new);
        return OPAL_ERR_SYSTEM;
    }
    pins++;
    *handle = new;
    return OPAL_SUCCESS;
}

static void unpin(void *context OPAL_UNUSED, void *handle, void *base OPAL_UNUSED,
                  size_t bytes OPAL_UNUSED)
{
    pins--;
    free(handle);
}

/* -- a cache that hears nothing -------------------------------------------------------------- */

static bool deaf; /* the pool does not get to know of what has left */

bool __real_ompi_mpool_marks_take(ompi_mpool_marks_t *marks, ompi_mpool_unmapped_fn_t *gone,
                                  void *context);
bool __wrap_ompi_mpool_marks_take(ompi_mpool_marks_t *marks, ompi_mpool_unmapped_fn_t *gone,
                                  void *context);

bool __wrap_ompi_mpool_marks_take(ompi_mpool_marks_t *marks, ompi_mpool_unmapped_fn_t *gone,
                                  void *context)
{
    return deaf || __real_ompi_mpool_marks_take(marks, gone, context);
}

/* -- users ------------------------------------------------------------------------------------ */

static atomic_size_t stale_count;
static atomic_int stale_by = -1; /* what had been done to the first one */

static void look_for_stale(const slot_t *slot, const ompi_mpool_use_t *use)
{
    const pin_t *known = use->registration->handle;
    for (uintptr_t page = use->begin; page < use->end; page += P) {
        if (known->ages[(page - known->begin) / P] == atomic_load(age_of(page, true)))
            continue;
        int nobody = -1;
        atomic_compare_exchange_strong(&stale_by, &nobody, (int)slot->last);
        atomic_fetch_add(&stale_count, 1);
        return;
    }
}

static void use_slot(slot_t *slot, unsigned *state)
{
    ompi_mpool_use_t use;
    size_t from = next_random(state) % slot->count;
    size_t count = 1 + next_random(state) % (slot->count - from);
    ck_assert_int_eq(ompi_mpool_acquire(pool, slot->pages + from * P, count * P, FAKE_ALL, &use),
                     OPAL_SUCCESS);
    look_for_stale(slot, &use);
    if (next_random(state) % 8 == 0)
        sched_yield();
    ompi_mpool_release(&use);
    atomic_fetch_add(&uses, 1);
}

static void *use_all_the_time(void *number)
{
    unsigned state = seed * 31 + (unsigned)(uintptr_t)number;
    while (!atomic_load(&stop)) {
        slot_t *slot = &slots[next_random(&state) % SLOTS];
        pthread_rwlock_rdlock(&slot->lock);
        for (unsigned i = next_random(&state) % 4; slot->pages != NULL && i > 0; i--)
            use_slot(slot, &state);
        pthread_rwlock_unlock(&slot->lock);
    }
    return NULL;
}

/* -- changers ------------------------------------------------------------------------------- */

static void done(slot_t *slot, change_t change)
{
    slot->last = change;
    atomic_fetch_add(&changes[change], 1);
}

/* Maps one of its homes, unless something of others is there by now. */
static bool hold(slot_t *slot, int home)
{
    if (!slot->held[home])
        slot->held[home] =
            mmap(slot->homes[home], MOST_PAGES * P, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == slot->homes[home];
    return slot->held[home];
}

static void take_home(slot_t *slot, int home)
{
    if (!hold(slot, home))
        return;
    slot->pages = slot->homes[home];
    slot->count = MOST_PAGES;
    ck_assert(oracle_watch(slot->pages, slot->count * P));
}

static void unmap_home(slot_t *slot)
{
    int home = slot->pages == slot->homes[1];
    ck_assert_int_eq(munmap(slot->pages, slot->count * P), 0);
    slot->held[home] = false;
    slot->pages = NULL;
}

/* Into the other home, over what is there. A buffer of several mappings does not move. */
static void move_home(slot_t *slot)
{
    int home = slot->pages == slot->homes[1];
    if (slot->count != MOST_PAGES || !hold(slot, !home) ||
        mremap(slot->pages, slot->count * P, slot->count * P, MREMAP_MAYMOVE | MREMAP_FIXED,
               slot->homes[!home]) == MAP_FAILED)
        return;
    slot->held[home] = false;
    slot->pages = slot->homes[!home];
    done(slot, MREMAP_MOVE);
}

static void map_over(slot_t *slot, size_t page)
{
    char *at = slot->pages + page * P;
    ck_assert_ptr_eq(
        mmap(at, P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), at);
    ck_assert(oracle_watch(at, P));
    done(slot, MMAP_FIXED);
}

/* The end goes; with the last page, the buffer. */
static void cut_end(slot_t *slot, bool by_mremap)
{
    if (slot->count == 1) {
        unmap_home(slot);
        return;
    }
    if (by_mremap && mremap(slot->pages, slot->count * P, (slot->count - 1) * P, 0) == slot->pages)
        done(slot, MREMAP_SHRINK);
    else if (munmap(slot->pages + (slot->count - 1) * P, P) == 0)
        done(slot, MUNMAP_END);
    slot->count--;
}

static void change_mapped(slot_t *slot, unsigned *state)
{
    static const int advice[] = {MADV_DONTNEED, MADV_FREE};
    if (slot->pages == NULL) {
        take_home(slot, next_random(state) % 2);
        return;
    }
    size_t page = next_random(state) % slot->count;
    switch (next_random(state) % 8) {
    case 0:
        cut_end(slot, true);
        break;
    case 1:
        cut_end(slot, false);
        break;
    case 2:
        map_over(slot, page);
        break;
    case 3:
        ck_assert_int_eq(madvise(slot->pages + page * P, P, advice[next_random(state) % 2]), 0);
        done(slot, MADVISE);
        break;
    case 4:
    case 5:
        move_home(slot);
        break;
    default:
        unmap_home(slot);
        done(slot, MUNMAP);
    }
}

static void change_block(slot_t *slot, unsigned *state)
{
    if (slot->pages == NULL) {
        slot->count = 1 + next_random(state) % (next_random(state) % 4 == 0 ? BLOCK_PAGES : 40);
        slot->pages = opal_memory_ptmalloc2_memalign(P, slot->count * P);
        ck_assert_ptr_nonnull(slot->pages);
        ck_assert(oracle_watch(slot->pages, slot->count * P));
        return;
    }
    opal_memory_ptmalloc2_free(slot->pages);
    slot->pages = NULL;
    done(slot, FREE);
    if (next_random(state) % 4 == 0) {
        opal_memory_ptmalloc2_malloc_trim(0);
        done(slot, TRIM);
    }
}

static void change_break(slot_t *slot, unsigned *state)
{
    char *end = slot->pages + slot->count * P;
    if (slot->pages == NULL) {
        char *old = sbrk((MOST_PAGES + 1) * (intptr_t)P);
        ck_assert_ptr_ne(old, (void *)-1);
        slot->pages = old + (P - (uintptr_t)old % P) % P;
        slot->count = (size_t)((char *)sbrk(0) - slot->pages) / P;
        ck_assert(oracle_watch(slot->pages, slot->count * P));
        return;
    }
    size_t less = 1 + next_random(state) % slot->count;
    if (next_random(state) % 2 == 0) {
        ck_assert_int_eq(brk(end - less * P), 0);
        done(slot, BRK);
    } else {
        ck_assert_ptr_ne(sbrk((char *)sbrk(0) - end - (intptr_t)(less * P)), (void *)-1);
        done(slot, SBRK);
    }
    slot->count -= less;
    if (slot->count == 0)
        slot->pages = NULL;
}

static void *change_all_the_time(void *number)
{
    uintptr_t changer = (uintptr_t)number;
    unsigned state = seed * 37 + (unsigned)changer;
    size_t first = changer * MAPPED_SLOTS;
    size_t count = changer < MAPPERS ? MAPPED_SLOTS : BLOCK_SLOTS + 1;
    while (!atomic_load(&stop)) {
        slot_t *slot = &slots[first + next_random(&state) % count];
        pthread_rwlock_wrlock(&slot->lock);
        if (changer < MAPPERS)
            change_mapped(slot, &state);
        else if (slot < &slots[SLOTS - 1])
            change_block(slot, &state);
        else
            change_break(slot, &state);
        oracle_sync();
        pthread_rwlock_unlock(&slot->lock);
    }
    return NULL;
}

/* -- together ---------------------------------------------------------------------------------- */

static void lay_out(void)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    size_t bytes = MAPPERS * MAPPED_SLOTS * 2 * MOST_PAGES * P;
    char *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(arena, MAP_FAILED);
    for (size_t i = 0; i < SLOTS; i++) {
        pthread_rwlock_init(&slots[i].lock, &attributes);
        for (size_t home = 0; i < MAPPERS * MAPPED_SLOTS && home < 2; home++) {
            slots[i].homes[home] = arena + (2 * i + home) * MOST_PAGES * P;
            slots[i].held[home] = true;
        }
    }
}

/* On a machine that does something else, the time alone does not say that. */
static bool all_has_happened(void)
{
    bool all =
        atomic_load(&aged) > 100 && fake_read_out("hits") > 100 && fake_read_out("cuts") > 100;
    for (size_t i = 0; i < CHANGES; i++)
        all = all && atomic_load(&changes[i]) > 0;
    return all;
}

static bool one_was_stale(void)
{
    return atomic_load(&stale_count) > 0;
}

/* For that long, and until it is enough. */
static void run(double length, bool (*is_enough)(void))
{
    static const ompi_mpool_device_t device = {
        .name = "a device that remembers", .pin = pin, .unpin = unpin};
    pthread_t threads[USERS + MAPPERS + 1];
    struct timespec pause = {(time_t)length, (long)((length - (double)(time_t)length) * 1e9)};
    ck_assert(oracle_open());
    oracle_tell(make_older);
    lay_out();
    ck_assert_int_eq(ompi_mpool_create(&device, &pool), OPAL_SUCCESS);
    ck_assert(pool->keeps);
    for (uintptr_t i = 0; i < OPAL_COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL,
                                        i <= MAPPERS ? change_all_the_time : use_all_the_time,
                                        (void *)i),
                         0);
    do
        nanosleep(&pause, NULL);
    while (!is_enough());
    atomic_store(&stop, true);
    for (size_t i = 0; i < OPAL_COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    oracle_close();
}

START_TEST(no_look_up_is_stale)
{
    run(seconds, all_has_happened);
    int by = atomic_load(&stale_by);
    ck_assert_msg(by < 0, "%zu of %zu uses were stale, the first one after %s",
                  atomic_load(&stale_count), atomic_load(&uses), by < 0 ? "" : change_names[by]);
    ck_assert_uint_eq(fake_read_out("faults"), 0);
    ompi_mpool_destroy(pool);
    ck_assert_uint_eq(pins, 0);
}
END_TEST

/* It would be no test if it did not notice. */
START_TEST(a_cache_that_hears_nothing_is_stale)
{
    deaf = true;
    run(0.1, one_was_stale); /* or until the time of the test is over */
}
END_TEST

static void setup(void)
{
    const unsigned events = OPAL_MEMORY_VM_UNMAPPED;
    ck_assert_uint_eq(opal_memory_events_install(events), events);
    fake_setup();
}

static const unit_test_t tests[] = {
    {.test = &no_look_up_is_stale},
    {.test = &a_cache_that_hears_nothing_is_stale},
};

static int skip(const char *reason)
{
    printf("1..1\nok 1 - all of it # SKIP %s\n", reason);
    return EXIT_SUCCESS;
}

static double number_of(const char *variable, double preset)
{
    const char *text = getenv(variable);
    return text != NULL && text[0] != 0 ? strtod(text, NULL) : preset;
}

int main(int argc, char **argv)
{
    char factor[32];
    if (opal_memory_watcher() != NULL)
        return skip("the hooks stand aside for the sanitizer");
    if (!oracle_open())
        return skip("userfaultfd is not to be had");
    oracle_close();
    if (getenv("OMPI_MCA_memory_ptmalloc2_disable") == NULL) {
        setenv("OMPI_MCA_memory_ptmalloc2_disable", "yes", 1);
        execv("/proc/self/exe", argv);
        perror("/proc/self/exe");
        return EXIT_FAILURE;
    }
    seconds = 3 * number_of("MICA_TEST_SOAK", 1);
    seconds = argc > 1 ? strtod(argv[1], NULL) : seconds < 1 ? 1 : seconds;
    seed = (unsigned)(argc > 2 ? strtod(argv[2], NULL)
                               : number_of("MICA_TEST_SEED", (double)(time(NULL) % 100000000)));
    printf("# again: %s %g %u\n", argv[0], seconds, seed);
    fflush(stdout);
    snprintf(factor, sizeof factor, "%d", 1 + (int)(seconds / 20));
    setenv("CK_TIMEOUT_MULTIPLIER", factor, 0);
    return unit_run("stale", tests, OPAL_COUNT_OF(tests), setup);
}
