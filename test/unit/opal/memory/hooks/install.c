/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/memory/hooks/install.c, probe.c and settings.c: the methods, each alone and together, in
 * this process. Every test is a process of its own, so each begins unpatched.
 *
 *   install [RUNS]   how often the process is patched while threads unmap (200)
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "opal/memory/hooks/watcher.h"
#include "opal/memory/events/dispatch.h"
#include "opal/memory/hooks/settings.h"
#include "opal/util/maps.h"
#include "test/unit/opal/support.h"

#define P    4096UL
#define WIDE ((size_t)4 << 20) /* what malloc maps for itself */

static atomic_uintptr_t watched; /* an address whose going is waited for */
static atomic_uint gone;
static atomic_uint kinds; /* of all events */

static opal_memory_verdict_t watch(opal_memory_event_t *event, void *context OPAL_UNUSED)
{
    uintptr_t start = (uintptr_t)event->vm.address, address = atomic_load(&watched);
    atomic_fetch_or(&kinds, event->kind);
    if (event->kind == OPAL_MEMORY_VM_UNMAPPED && address != 0 && start <= address &&
        address - start < event->vm.length)
        atomic_fetch_add(&gone, 1);
    return OPAL_MEMORY_PASS;
}

static opal_memory_handler_t watcher = {.events = OPAL_MEMORY_ALL_EVENTS, .fn = watch};

/* How often the event came for an address since the last question. */
static unsigned times_gone(void)
{
    atomic_store(&watched, 0);
    return atomic_exchange(&gone, 0);
}

static char *map(size_t length)
{
    char *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    atomic_store(&watched, (uintptr_t)pages);
    return pages;
}

/* Malloc learns from frees to map less; here it must not. */
static void keep_malloc_mapping(void)
{
    ck_assert_int_eq(mallopt(M_MMAP_THRESHOLD, 1 << 17), 1);
}

/* Of a block that malloc maps and free unmaps: only who is inside libc sees it. */
static unsigned times_freed(void)
{
    char *volatile block = malloc(WIDE);
    ck_assert_ptr_nonnull(block);
    block[WIDE / 2] = 1;
    atomic_store(&watched, (uintptr_t)block + WIDE / 2);
    free(block);
    return times_gone();
}

static opal_memory_report_t report_of(unsigned event)
{
    opal_memory_report_t report;
    opal_memory_events_report(event, &report);
    return report;
}

/* -- what each method catches --------------------------------------------------------- */

static const struct {
    const char *variable, *value;
    opal_memory_method_t method;
    unsigned of_malloc; /* events of a free of a large block */
} methods[] = {
    {"UCX_MEM_EVENTS", "y", OPAL_MEMORY_BY_RELOC, 1},
    {"OMPI_MCA_memory_overwrite_hooks", "no", OPAL_MEMORY_BY_RELOC, 0},
    {"OMPI_MCA_patcher", "reloc", OPAL_MEMORY_BY_RELOC, 0},
    {"UCX_MEM_RELOC_HOOKS", "n", OPAL_MEMORY_BY_OVERWRITE, 1},
    {"OMPI_MCA_patcher", "^reloc", OPAL_MEMORY_BY_OVERWRITE, 1},
};

START_TEST(a_method_alone_catches_every_event)
{
    ck_assert_int_eq(setenv(methods[_i].variable, methods[_i].value, 1), 0);
    ck_assert_int_eq(opal_memory_handler_add(&watcher), OPAL_SUCCESS);
    for (unsigned event = 1; event < OPAL_MEMORY_ALL_EVENTS; event <<= 1) {
        opal_memory_report_t report = report_of(event);
        ck_assert_int_eq(report.finding, OPAL_MEMORY_VERIFIED);
        ck_assert_str_eq(opal_memory_method_name(report.method),
                         opal_memory_method_name(methods[_i].method));
        if ((event & (OPAL_MEMORY_SHMAT | OPAL_MEMORY_SHMDT)) == 0)
            ck_assert_int_eq(report.inside_libc, methods[_i].of_malloc != 0);
    }
    ck_assert_uint_eq(opal_memory_events_test(OPAL_MEMORY_ALL_EVENTS), OPAL_MEMORY_ALL_EVENTS);

    /* Once each: libc below the hook does not come back to it. */
    char *pages = map(2 * P);
    ck_assert_int_eq(munmap(pages, 2 * P), 0);
    ck_assert_uint_eq(times_gone(), 1);
    ck_assert_uint_eq(times_freed(), methods[_i].of_malloc);
}
END_TEST

START_TEST(real_calls_raise_their_events)
{
    ck_assert_int_eq(setenv(methods[_i].variable, methods[_i].value, 1), 0);
    ck_assert_int_eq(opal_memory_handler_add(&watcher), OPAL_SUCCESS);
    char *pages = map(4 * P),
         *moved = mmap(NULL, 4 * P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_eq(mmap(pages, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     pages);
    ck_assert_uint_eq(times_gone(), 1);
    atomic_store(&watched, (uintptr_t)pages);
    ck_assert_int_eq(madvise(pages, P, MADV_DONTNEED), 0);
    ck_assert_uint_eq(times_gone(), 1);
    atomic_store(&watched, (uintptr_t)moved + P);
    ck_assert_ptr_eq(mremap(pages, 4 * P, 4 * P, MREMAP_MAYMOVE | MREMAP_FIXED, moved), moved);
    ck_assert_uint_eq(times_gone(), 1);

    int id = shmget(IPC_PRIVATE, 2 * P, IPC_CREAT | 0600);
    ck_assert_int_ge(id, 0);
    atomic_store(&watched, (uintptr_t)moved + P);
    char *segment = shmat(id, moved, SHM_REMAP);
    ck_assert_ptr_eq(segment, moved);
    shmctl(id, IPC_RMID, NULL);
    ck_assert_uint_eq(times_gone(), 1);
    atomic_store(&watched, (uintptr_t)moved + P);
    ck_assert_int_eq(shmdt(segment), 0);
    ck_assert_uint_eq(times_gone(), 1);

    char *top = sbrk(3 * (intptr_t)P);
    ck_assert_ptr_ne(top, (void *)-1);
    atomic_store(&watched, (uintptr_t)top + 2 * P);
    ck_assert_int_eq(brk(top), 0);
    ck_assert_uint_eq(times_gone(), 1);
    ck_assert_uint_eq(atomic_load(&kinds), OPAL_MEMORY_ALL_EVENTS);
}
END_TEST

static void *end(void *context)
{
    atomic_store(&watched, (uintptr_t)&context & ~(P - 1));
    return NULL;
}

/* libc keeps the stack of a thread that has ended, without its pages. */
START_TEST(the_stack_of_a_thread_is_seen_going)
{
    pthread_t thread;
    ck_assert_int_eq(opal_memory_handler_add(&watcher), OPAL_SUCCESS);
    ck_assert_int_eq(pthread_create(&thread, NULL, end, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    /* Of its top pages the thread needs something until its end. */
    ck_assert_uint_eq(atomic_load(&kinds) & OPAL_MEMORY_VM_UNMAPPED, OPAL_MEMORY_VM_UNMAPPED);
}
END_TEST

/* -- when nothing, or not all, is to be done ------------------------------------------ */

typedef int unmap_fn_t(void *, size_t);

static unmap_fn_t *by_dlsym(void)
{
    return (unmap_fn_t *)dlsym(RTLD_DEFAULT, "munmap");
}

START_TEST(who_does_not_ask_pays_nothing)
{
    unsigned char code[16];
    memcpy(code, (void *)by_dlsym(), sizeof code);
    opal_memory_handler_add_passive(&watcher);
    char *pages = map(P);
    ck_assert_int_eq(munmap(pages, P), 0);
    ck_assert_uint_eq(times_gone(), 0);
    ck_assert_mem_eq((void *)by_dlsym(), code, sizeof code);
    ck_assert_int_eq(report_of(OPAL_MEMORY_MUNMAP).finding, OPAL_MEMORY_NOT_ASKED_FOR);
    ck_assert_uint_eq(opal_memory_events_test(OPAL_MEMORY_ALL_EVENTS), 0);

    opal_memory_unmapped(pages, P); /* an external event */
    ck_assert_uint_eq(atomic_load(&kinds), OPAL_MEMORY_VM_UNMAPPED);
}
END_TEST

START_TEST(events_are_switched_off)
{
    setenv("UCX_MEM_EVENTS", "no", 1);
    ck_assert_int_eq(opal_memory_handler_add(&watcher), OPAL_ERR_NOT_AVAILABLE);
    char *pages = map(P);
    munmap(pages, P);
    ck_assert_uint_eq(times_gone(), 0);
    opal_memory_report_t report = report_of(OPAL_MEMORY_VM_UNMAPPED);
    ck_assert_int_eq(report.finding, OPAL_MEMORY_MISSING);
    ck_assert_int_eq(report.method, OPAL_MEMORY_BY_NOBODY);
    ck_assert_ptr_nonnull(strstr(report.reason, "memory_events is no"));
}
END_TEST

START_TEST(all_methods_are_off)
{
    setenv("OMPI_MCA_memory_reloc_hooks", "false", 1);
    setenv("OMPI_MCA_memory_overwrite_hooks", "0", 1);
    ck_assert_uint_eq(opal_memory_events_install(OPAL_MEMORY_MUNMAP), 0);
    ck_assert_int_eq(report_of(OPAL_MEMORY_MUNMAP).finding, OPAL_MEMORY_MISSING);
    ck_assert_int_eq(report_of(OPAL_MEMORY_SHMAT).finding, OPAL_MEMORY_NOT_ASKED_FOR);
}
END_TEST

START_TEST(only_what_is_asked_for)
{
    unmap_fn_t *before = by_dlsym();
    ck_assert_uint_eq(opal_memory_events_install(OPAL_MEMORY_MREMAP), OPAL_MEMORY_MREMAP);
    ck_assert_ptr_eq((void *)by_dlsym(), (void *)before);
    ck_assert_uint_eq(opal_memory_events_install(OPAL_MEMORY_MUNMAP), OPAL_MEMORY_MUNMAP);
    ck_assert_ptr_ne((void *)by_dlsym(), (void *)before);
}
END_TEST

START_TEST(others_raise_the_event)
{
    unmap_fn_t *before = by_dlsym();
    opal_memory_events_external(OPAL_MEMORY_MUNMAP);
    ck_assert_uint_eq(opal_memory_events_install(OPAL_MEMORY_MUNMAP), OPAL_MEMORY_MUNMAP);
    ck_assert_ptr_eq((void *)by_dlsym(), (void *)before);
    ck_assert_int_eq(report_of(OPAL_MEMORY_MUNMAP).method, OPAL_MEMORY_BY_OTHERS);
}
END_TEST

static opal_memory_verdict_t install_inside(opal_memory_event_t *event OPAL_UNUSED, void *context)
{
    opal_memory_handler_t *other = context;
    ck_assert_int_eq(opal_memory_handler_add(other), OPAL_ERR_NOT_AVAILABLE);
    return OPAL_MEMORY_PASS;
}

START_TEST(a_handler_adds_but_does_not_install)
{
    opal_memory_handler_t handler = {
        .events = OPAL_MEMORY_VM_MAPPED, .fn = install_inside, .context = &watcher};
    opal_memory_handler_add_passive(&handler);
    opal_memory_mapped(&handler, 1);
    ck_assert(opal_memory_handler_remove(&handler));
    opal_memory_unmapped(&handler, 1);
    ck_assert_uint_eq(atomic_load(&kinds) & OPAL_MEMORY_VM_UNMAPPED, OPAL_MEMORY_VM_UNMAPPED);
    ck_assert_uint_eq(opal_memory_events_install(OPAL_MEMORY_ALL_EVENTS), OPAL_MEMORY_ALL_EVENTS);
}
END_TEST

typedef struct writable {
    size_t count;
    uintptr_t first;
} writable_t;

static bool find_writable_code(const opal_mapping_t *mapping, void *context)
{
    const int both = PROT_WRITE | PROT_EXEC;
    writable_t *writable = context;
    if ((mapping->protection & both) == both && writable->count++ == 0)
        writable->first = mapping->start;
    return true;
}

/* By bytes: the mappings stay in pieces, as the kernel does not join them again. */
static bool add_read_only(const opal_mapping_t *mapping, void *context)
{
    size_t *bytes = context;
    if (mapping->inode != 0 && (mapping->protection & PROT_WRITE) == 0)
        *bytes += mapping->end - mapping->start;
    return true;
}

START_TEST(protections_are_given_back)
{
    writable_t writable = {0};
    size_t before = 0, after = 0;
    opal_maps_walk(add_read_only, &before);
    ck_assert_uint_gt(before, 0);
    ck_assert_int_eq(opal_memory_handler_add(&watcher), OPAL_SUCCESS);
    opal_maps_walk(add_read_only, &after);
    opal_maps_walk(find_writable_code, &writable);
    ck_assert_uint_eq(after, before);
    ck_assert_uint_eq(writable.count, 0);
}
END_TEST

/* -- threads and children ------------------------------------------------------------- */

enum { THREADS = 4 };

static atomic_bool stop;
static atomic_uint started;

static void *unmap_all_the_time(void *context OPAL_UNUSED)
{
    atomic_fetch_add(&started, 1);
    while (!atomic_load(&stop)) {
        char *pages = mmap(NULL, 2 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pages[0] = 1;
        pages = mremap(pages, 2 * P, P, 0);
        madvise(pages, P, MADV_DONTNEED);
        if (pages[0] != 0 || munmap(pages, P) != 0)
            abort();
        shmdt(NULL);
        free(malloc(WIDE));
    }
    return NULL;
}

START_TEST(patching_under_running_threads)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, unmap_all_the_time, NULL);
    while (atomic_load(&started) < THREADS)
        sched_yield();
    ck_assert_int_eq(opal_memory_handler_add(&watcher), OPAL_SUCCESS);
    for (int i = 0; i < 50; i++) { /* come and go while the others are in munmap */
        ck_assert(opal_memory_handler_remove(&watcher));
        opal_memory_handler_add_passive(&watcher);
    }
    char *pages = map(P);
    munmap(pages, P);
    ck_assert_uint_ge(times_gone(), 1); /* another thread may get the address */
    atomic_store(&stop, true);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

static char *taken; /* what another thread would have been given */

/* At once, where the call has just made room. */
static opal_memory_verdict_t take_room(opal_memory_event_t *event, void *context OPAL_UNUSED)
{
    char *room = (char *)event->mremap.old_address + event->mremap.new_length;
    taken = mmap(room, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return OPAL_MEMORY_PASS;
}

START_TEST(a_test_unmaps_only_what_is_its_own)
{
    unsigned char there;
    opal_memory_handler_t taker = {.events = OPAL_MEMORY_MREMAP, .fn = take_room};
    ck_assert_int_eq(opal_memory_handler_add(&taker), OPAL_SUCCESS);
    taken = MAP_FAILED;
    ck_assert_uint_eq(opal_memory_events_test(OPAL_MEMORY_MREMAP), OPAL_MEMORY_MREMAP);
    ck_assert_ptr_ne(taken, MAP_FAILED);
    ck_assert_int_eq(mincore(taken, P, &there), 0);
    ck_assert(opal_memory_handler_remove(&taker));
}
END_TEST

static void *install_too(void *context OPAL_UNUSED)
{
    return (void *)(uintptr_t)opal_memory_events_install(OPAL_MEMORY_ALL_EVENTS);
}

START_TEST(several_threads_install)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, install_too, NULL);
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        ck_assert_uint_eq((uintptr_t)result, OPAL_MEMORY_ALL_EVENTS);
    }
}
END_TEST

static void await(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* While threads are in the hooks. */
START_TEST(children_of_all_kinds)
{
    static char *const words[] = {"true", NULL};
    pthread_t threads[2];
    ck_assert_int_eq(opal_memory_handler_add(&watcher), OPAL_SUCCESS);
    for (size_t i = 0; i < OPAL_COUNT_OF(threads); i++)
        pthread_create(&threads[i], NULL, unmap_all_the_time, NULL);
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        if (child == 0) {
            char *volatile block = malloc(WIDE);
            free(block);
            opal_memory_handler_remove(&watcher);
            _exit(times_freed() != 0 || opal_memory_handler_add(&watcher) != OPAL_SUCCESS ||
                  times_freed() != 1);
        }
        await(child);
        child = vfork();
        if (child == 0) {
            execvp(words[0], words);
            _exit(1);
        }
        await(child);
        ck_assert_int_eq(posix_spawnp(&child, words[0], NULL, NULL, words, environ), 0);
        await(child);
    }
    ck_assert_int_eq(system("true"), 0);
    FILE *pipe = popen("echo word", "r");
    char word[8] = "";
    ck_assert_ptr_nonnull(fgets(word, sizeof word, pipe));
    ck_assert_int_eq(pclose(pipe), 0);
    ck_assert_str_eq(word, "word\n");
    atomic_store(&stop, true);
    for (size_t i = 0; i < OPAL_COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
}
END_TEST

/* In a build with a sanitizer this is all there is to test. */
START_TEST(standing_aside)
{
    unmap_fn_t *before = by_dlsym();
    ck_assert_int_eq(opal_memory_handler_add(&watcher), OPAL_ERR_NOT_AVAILABLE);
    opal_memory_report_t report = report_of(OPAL_MEMORY_VM_UNMAPPED);
    ck_assert_int_eq(report.finding, OPAL_MEMORY_MISSING);
    ck_assert_ptr_nonnull(strstr(report.reason, "standing aside for"));
    ck_assert_ptr_nonnull(strstr(report.reason, opal_memory_watcher()));
    ck_assert_ptr_eq((void *)by_dlsym(), (void *)before);
}
END_TEST

/* -- settings ------------------------------------------------------------------------- */

START_TEST(settings_are_read_from_the_environment_alone)
{
    setenv("UCX_MEM_RELOC_HOOKS", "n", 1);
    setenv("OMPI_MCA_memory_reloc_hooks", "yes", 1); /* counts more */
    setenv("UCX_MEM_MALLOC_HOOKS", "no", 1);
    setenv("UCX_MEM_ALLOC_ALIGN", "64", 1);
    setenv("OMPI_MCA_memory_overwrite_hooks", "nonsense", 1); /* told when it is registered */
    const opal_memory_settings_t *settings = opal_memory_settings();
    ck_assert(settings->events);
    ck_assert(settings->reloc_hooks);
    ck_assert(!settings->malloc_hooks);
    ck_assert(settings->overwrite_hooks);
    ck_assert_uint_eq(settings->alloc_align, 64);
}
END_TEST

/* The file is read in MPI_Init; who asked before that got the default. */
START_TEST(a_file_comes_too_late)
{
    const char *file = unit_file("late.conf", "memory_reloc_hooks = no\nmemory_alloc_align = 16\n");
    setenv("OMPI_MCA_mca_base_param_files", file, 1);
    bool early = _i == 0;
    if (early)
        ck_assert(opal_memory_settings()->reloc_hooks);
    opal_param_init();
    ck_assert_int_eq(opal_param_register("memory", "", opal_memory_params), OPAL_SUCCESS);
    opal_memory_settings_check();
    ck_assert_int_eq(opal_memory_settings()->reloc_hooks, early);
    unit_capture();
    opal_diagnostic_report(true);
    const char *said = unit_stderr();
    ck_assert_int_eq(strstr(said, "memory_reloc_hooks") != NULL, early);
    ck_assert_int_eq(strstr(said, "comes too late") != NULL, early);
    ck_assert_ptr_null(strstr(said, "memory_alloc_align"));
}
END_TEST

static unit_test_t tests[] = {
    {.test = &patching_under_running_threads, .repeats = 200},
    {.test = &a_method_alone_catches_every_event, .repeats = OPAL_COUNT_OF(methods)},
    {.test = &real_calls_raise_their_events, .repeats = OPAL_COUNT_OF(methods)},
    {.test = &the_stack_of_a_thread_is_seen_going},
    {.test = &who_does_not_ask_pays_nothing},
    {.test = &events_are_switched_off},
    {.test = &all_methods_are_off},
    {.test = &only_what_is_asked_for},
    {.test = &others_raise_the_event},
    {.test = &a_handler_adds_but_does_not_install},
    {.test = &protections_are_given_back},
    {.test = &a_test_unmaps_only_what_is_its_own},
    {.test = &several_threads_install},
    {.test = &children_of_all_kinds},
    {.test = &settings_are_read_from_the_environment_alone},
    {.test = &a_file_comes_too_late, .repeats = 2},
};

static const unit_test_t tests_aside[] = {
    {.test = &standing_aside},
    {.test = &who_does_not_ask_pays_nothing},
    {.test = &settings_are_read_from_the_environment_alone},
};

int main(int argc, char **argv)
{
    if (opal_memory_watcher() != NULL)
        return unit_run("install", tests_aside, OPAL_COUNT_OF(tests_aside), NULL);
    if (argc > 1)
        tests[0].repeats = atoi(argv[1]);
    return unit_run("install", tests, OPAL_COUNT_OF(tests), keep_malloc_mapping);
}
