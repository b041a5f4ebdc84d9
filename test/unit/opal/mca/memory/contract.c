/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every component of memory promises (opal/mca/memory/memory.h), held against ptmalloc2 and
 * smheap. They decide before main, so the program starts itself once for each setting: nothing is
 * asked for, one of the two, both.
 */
#include "opal/mca/memory/memory.h"

#include <pthread.h>
#include <sys/wait.h>

#include "opal/memory/hooks/watcher.h"
#include "opal/mca/memory/base/base.h"
#include "opal/node/region_file.h"
#include "test/unit/opal/mca/memory/watch.h"
#include "test/unit/opal/support.h"

enum { LARGE = 8 << 20, SMALL = 64, PAGE = 4096, REGION = 64 << 20, THREADS = 4 };

/* -- settings ------------------------------------------------------------------------------ */

typedef struct setting {
    const char *name;
    bool is_pinned, has_region;
    const char *chosen;    /* the component */
    unsigned support;      /* that it vouches for at least */
    const char *smheap_is; /* a part of smheap's reason, if it is not usable */
} setting_t;

static const setting_t settings[] = {
    {"nothing", false, false, "ptmalloc2", 0, "no launcher"},
    {"pinned", true, false, "ptmalloc2", everything, "no launcher"},
    {"region", false, true, "smheap", OPAL_MEMORY_MUNMAP_SUPPORT, NULL},
    {"both", true, true, "smheap", everything, NULL},
};

static const setting_t *setting;

static void set_environment(const setting_t *wanted)
{
    const opal_region_request_t request = {.bytes = REGION, .ranks = 2, .shares = 2};
    const char *step;
    char fd[16];
    setenv("UNIT_SETTING", wanted->name, 1);
    setenv("CK_FORK", "no", 1);
    if (wanted->is_pinned)
        setenv("OMPI_MCA_mpi_leave_pinned", "1", 1);
    if (!wanted->has_region)
        return;
    snprintf(fd, sizeof fd, "%d", dup(opal_region_create(&request, &step)));
    setenv("MICA_HEAP_FD", fd, 1);
    setenv("MICA_JOBID", "1-2", 1);
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "2", 1);
    setenv("MICA_LOCAL_SIZE", "2", 1);
}

/* -- tests --------------------------------------------------------------------------------- */

extern const opal_component_t mca_memory_smheap_component;

static const opal_candidate_t *choose(void)
{
    opal_param_init();
    ck_assert_int_eq(opal_framework_open(&mca_memory_framework), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_select(&mca_memory_framework), OPAL_SUCCESS);
    return opal_framework_best(&mca_memory_framework);
}

/* Chosen, and with the one operation that there is. */
START_TEST(one_is_chosen)
{
    const opal_candidate_t *chosen = choose();
    ck_assert_ptr_nonnull(chosen);
    ck_assert_str_eq(chosen->component->name, setting->chosen);
    const opal_memory_ops_t *ops = chosen->answer.ops;
    ck_assert(ops->support != NULL);
    ck_assert_uint_eq(ops->support(chosen->answer.state), opal_memory_support());
    ck_assert_uint_eq(unit_findings(), 0);
    opal_framework_close(&mca_memory_framework);
}
END_TEST

START_TEST(one_that_is_not_wanted_says_why)
{
    opal_answer_t answer = {0};
    choose();
    mca_memory_smheap_component.query(&answer);
    ck_assert_msg(answer.usable == (setting->smheap_is == NULL), "%s", answer.reason);
    ck_assert_uint_gt(strlen(answer.reason), 0);
    if (setting->smheap_is != NULL)
        unit_assert_part(answer.reason, setting->smheap_is);
    opal_framework_close(&mca_memory_framework);
}
END_TEST

/* Also where it was usable, and is not in a child. The other tests run in the process that has
 * begun so (CK_FORK). */
START_TEST(a_child_is_told_why_not)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        opal_answer_t answer = {0};
        choose();
        mca_memory_smheap_component.query(&answer);
        _exit(!answer.usable && answer.reason[0] != 0 ? 0 : EXIT_FAILURE);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* Whoever relies on a bit hears of what goes. */
START_TEST(what_is_promised_is_seen)
{
    choose();
    watch_begin();
    unsigned support = opal_memory_support();
    ck_assert_uint_eq(support & setting->support, setting->support);
    ck_assert_uint_eq(support & ~everything, 0);
    ck_assert_int_eq(times_unmapped() > 0, (support & OPAL_MEMORY_MUNMAP_SUPPORT) != 0);
    if ((support & OPAL_MEMORY_FREE_SUPPORT) != 0)
        ck_assert_uint_gt(times_freed(), 0);
    watch_end();
    opal_framework_close(&mca_memory_framework);
}
END_TEST

static void *ask(void *argument OPAL_UNUSED)
{
    return (void *)(uintptr_t)opal_memory_support();
}

START_TEST(any_thread_asks)
{
    pthread_t threads[THREADS];
    choose();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, ask, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *answer;
        pthread_join(threads[i], &answer);
        ck_assert_uint_eq((uintptr_t)answer, opal_memory_support());
    }
    opal_framework_close(&mca_memory_framework);
    ck_assert_uint_eq(opal_memory_support(), 0); /* there is none any more */
}
END_TEST

/* What was handed out before the component was opened is freed behind its end. */
START_TEST(blocks_know_no_component)
{
    static const size_t sizes[] = {SMALL, PAGE, LARGE};
    for (size_t i = 0; i < OPAL_COUNT_OF(sizes); i++) {
        char *block = malloc(sizes[i]);
        memset(block, 'x', sizes[i]);
        choose();
        block = realloc(block, 2 * sizes[i]);
        ck_assert_int_eq(block[sizes[i] - 1], 'x');
        opal_framework_close(&mca_memory_framework);
        free(block);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &one_is_chosen},           {.test = &one_that_is_not_wanted_says_why},
    {.test = &a_child_is_told_why_not}, {.test = &what_is_promised_is_seen},
    {.test = &any_thread_asks},         {.test = &blocks_know_no_component},
};

int main(int argc OPAL_UNUSED, char **argv)
{
    const char *name = getenv("UNIT_SETTING");
    int failed = 0, status;
    if (opal_memory_watcher() != NULL) {
        puts("1..1\nok 1 - all of it # SKIP the allocator stands aside for the sanitizer");
        return 0;
    }
    for (size_t i = 0; i < OPAL_COUNT_OF(settings); i++) {
        setting = &settings[i];
        if (name != NULL && strcmp(name, setting->name) == 0)
            return unit_run("memory contract", tests, OPAL_COUNT_OF(tests), NULL);
        pid_t child = name == NULL ? fork() : -1;
        if (child == 0) {
            set_environment(setting);
            execv("/proc/self/exe", argv);
            _exit(EXIT_FAILURE);
        }
        if (child > 0)
            failed += waitpid(child, &status, 0) != child || status != 0;
    }
    return failed > 0;
}
