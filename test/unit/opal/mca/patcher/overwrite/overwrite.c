/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/patcher/overwrite, on functions of libc that nobody misses. */
#include "opal/mca/patcher/overwrite/code.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/mca/patcher/base/base.h"
#include "opal/util/maps.h"
#include "test/unit/opal/support.h"

static pid_t replaced_getppid(void)
{
    return 4711;
}

static mode_t replaced_umask(mode_t mode)
{
    return mode + 1;
}

static opal_patch_t patch = {.symbol = "getppid", .replacement = replaced_getppid};

static void apply(opal_patch_t *first, opal_patch_t *second)
{
    void *state = NULL;
    char reason[OPAL_PATCH_REASON_MAX_BYTES];
    opal_patch_t *patches[] = {first, NULL, second};
    const opal_patcher_ops_t *ops = opal_patcher_method("overwrite", &state, reason);
    ck_assert_msg(ops != NULL, "%s", reason);
    opal_patcher_resolve(patches, OPAL_COUNT_OF(patches));
    ops->apply(state, patches, OPAL_COUNT_OF(patches));
}

START_TEST(the_function_itself_leads_to_the_replacement)
{
    opal_patch_t second = {.symbol = "umask", .replacement = replaced_umask};
    pid_t (*volatile taken_before)(void) = dlsym(RTLD_DEFAULT, "getppid");
    ck_assert_int_ne(taken_before(), 4711);
    apply(&patch, &second);
    ck_assert_str_eq(patch.reason, "");
    ck_assert(patch.overwritten);
    ck_assert(second.overwritten);
    ck_assert_int_eq(taken_before(), 4711);
    ck_assert_int_eq(getppid(), 4711);
    ck_assert_int_eq(umask(41), 42);
}
END_TEST

START_TEST(repeated_it_does_nothing)
{
    unsigned char code[32];
    apply(&patch, NULL);
    memcpy(code, patch.original, sizeof code);
    apply(&patch, NULL);
    ck_assert_mem_eq(patch.original, code, sizeof code);
    ck_assert(patch.overwritten);
}
END_TEST

START_TEST(two_names_are_one_function)
{
    opal_patch_t namesake = {.symbol = "__getpid", .replacement = replaced_getppid};
    opal_patch_t getpid_patch = {.symbol = "getpid", .replacement = replaced_getppid};
    apply(&getpid_patch, &namesake);
    ck_assert(getpid_patch.overwritten);
    if (namesake.original == getpid_patch.original)
        ck_assert(namesake.overwritten);
    ck_assert_int_eq(getpid(), 4711);
}
END_TEST

START_TEST(who_was_here_before_stays)
{
    opal_patch_t other = {.symbol = "getppid", .replacement = replaced_umask};
    apply(&patch, NULL);
    apply(&other, NULL);
    ck_assert(!other.overwritten);
    ck_assert_ptr_nonnull(strstr(other.reason, "other code has patched it"));
    ck_assert_int_eq(getppid(), 4711);
}
END_TEST

static bool is_writable_code(const opal_mapping_t *mapping, void *context)
{
    const int both = PROT_WRITE | PROT_EXEC;
    *(size_t *)context += (mapping->protection & both) == both;
    return true;
}

START_TEST(no_code_stays_writable)
{
    size_t count = 0;
    opal_mapping_t mapping;
    apply(&patch, NULL);
    ck_assert(opal_maps_walk(is_writable_code, &count));
    ck_assert_uint_eq(count, 0);
    ck_assert(opal_maps_find(patch.original, &mapping));
    ck_assert_int_eq(mapping.protection, PROT_READ | PROT_EXEC);
}
END_TEST

/* -- a function of ours, changed while threads are in it ------------------------------- */

enum { THREADS = 4 };

static atomic_bool stop;
static atomic_uint started, wrong;

/* Each thread sees the old function, and from some call on the new one for ever. */
static void *call_all_the_time(void *context)
{
    pid_t parent = *(pid_t *)context;
    bool changed = false;
    atomic_fetch_add(&started, 1);
    while (!atomic_load(&stop)) {
        pid_t answer = getppid();
        if (answer == 4711)
            changed = true;
        else if (answer != parent || changed)
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

START_TEST(threads_go_from_the_old_to_the_new)
{
    pthread_t threads[THREADS];
    pid_t parent = getppid();
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, call_all_the_time, &parent);
    while (atomic_load(&started) < THREADS)
        sched_yield();
    apply(&patch, NULL);
    ck_assert_int_eq(getppid(), 4711);
    atomic_store(&stop, true);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&wrong), 0);
}
END_TEST

static int answer(void)
{
    return 42;
}

START_TEST(an_island_jumps_anywhere)
{
    unsigned char *page =
        mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    overwrite_make_island(page, (void *)answer);
    overwrite_make_island(page + overwrite_island_bytes, (void *)abort);
    ck_assert_int_eq(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    __builtin___clear_cache((char *)page, (char *)page + overwrite_island_bytes);
    ck_assert_int_eq(((int (*)(void))(void *)page)(), 42);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &an_island_jumps_anywhere},
    {.test = &the_function_itself_leads_to_the_replacement},
    {.test = &repeated_it_does_nothing},
    {.test = &two_names_are_one_function},
    {.test = &who_was_here_before_stays},
    {.test = &no_code_stays_writable},
    {.test = &threads_go_from_the_old_to_the_new, .repeats = 20},
};

int main(void)
{
#ifdef __SANITIZE_THREAD__ /* it watches every store, and knows nothing of libc's code */
    puts("1..1\nok 1 - all of it # SKIP the hooks stand aside for the sanitizer");
    return 0;
#endif
    return unit_run("overwrite", tests, OPAL_COUNT_OF(tests), NULL);
}
