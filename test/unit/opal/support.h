/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the unit tests of opal share: running a suite, an own folder, stderr as a
 * string, and the findings of opal/mca/base/diagnostic.h.
 *
 * Check runs every test in a process of its own, so a test may leave the
 * environment, the parameters and stderr as they are when it ends.
 */
#ifndef OPAL_UNIT_SUPPORT_H
#define OPAL_UNIT_SUPPORT_H

#include <check.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/include/compiler.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/util/text.h"

typedef struct unit_test {
    const TTest *const *test; /* what START_TEST defines */
    int repeats;              /* 0: once; else with _i from 0 to it */
    int signal;               /* that must end it; 0: none */
    int exit_code;            /* that it must end with */
} unit_test_t;

/* The folder of this program, without a slash at its end. */
static char unit_folder[256];

static inline void unit_make_folder(void)
{
    const char *parent = getenv("MICA_TMP");
    snprintf(unit_folder, sizeof unit_folder, "%s/unit-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(unit_folder) == NULL) {
        perror(unit_folder);
        exit(1);
    }
}

static inline int unit_remove(const char *path, const struct stat *status OPAL_UNUSED,
                              int type OPAL_UNUSED, struct FTW *place OPAL_UNUSED)
{
    return remove(path);
}

static inline void unit_remove_folder(void)
{
    nftw(unit_folder, unit_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* Runs the tests, which `setup` (may be NULL) precedes each; main's result. */
static inline int unit_run(const char *name, const unit_test_t *tests, size_t count,
                           void (*setup)(void))
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 110); /* before the runner's time is over, which knows no cases */
    tcase_add_checked_fixture(tcase, setup, NULL);
    for (size_t i = 0; i < count; i++)
        _tcase_add_test(tcase, *tests[i].test, tests[i].signal, tests[i].exit_code, 0,
                        tests[i].repeats > 0 ? tests[i].repeats : 1);

    unit_make_folder();
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    unit_remove_folder();
    return failed > 0;
}

#define UNIT_MAIN(name, tests, setup)                                                              \
    int main(void)                                                                                 \
    {                                                                                              \
        return unit_run(name, tests, OPAL_COUNT_OF(tests), setup);                                 \
    }                                                                                              \
    struct unit_main_ends_in_a_semicolon

/* "<folder>/<name>"; never freed before the test's process ends. */
static inline const char *unit_path(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % OPAL_COUNT_OF(paths)];
    snprintf(path, sizeof paths[0], "%s/%s", unit_folder, name);
    return path;
}

/* Writes a file into the folder and returns its path. */
static inline const char *unit_file(const char *name, const char *bytes)
{
    const char *path = unit_path(name);
    FILE *stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_ge(fputs(bytes, stream), 0);
    ck_assert_int_eq(fclose(stream), 0);
    return path;
}

static int unit_captured = -1;

/* From here on stderr goes into memory. */
static inline void unit_capture(void)
{
    unit_captured = memfd_create("stderr", MFD_CLOEXEC);
    ck_assert_int_ge(unit_captured, 0);
    ck_assert_int_ge(dup2(unit_captured, STDERR_FILENO), 0);
}

/* What came to stderr so far. */
static inline const char *unit_stderr(void)
{
    static char text[64 * 1024];
    ssize_t length = pread(unit_captured, text, sizeof text - 1, 0);
    ck_assert_int_ge(length, 0);
    text[length] = 0;
    return text;
}

/* How often `part` is in `text`. */
static inline unsigned unit_count(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + strlen(part), part))
        count++;
    return count;
}

/* A sanitizer's shadow is memory of the process too, and its own threads' ends come when they like.
 */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define UNIT_SANITIZED 1
#else
#define UNIT_SANITIZED 0
#endif

/* The memory that this process has; not what it has only addresses of. The second time the question
 * itself needs none. */
static inline size_t unit_resident(void)
{
    char line[256];
    size_t kib = 0;
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen("/proc/self/smaps_rollup", "r");
        ck_assert_ptr_nonnull(file);
        while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Rss: %zu", &kib) != 1)
            ;
        fclose(file);
    }
    return kib * 1024;
}

/* How many descriptors it has, and one. */
static inline unsigned unit_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static inline size_t unit_findings(void)
{
    size_t count = 0;
    while (opal_diagnostic_peek(count, NULL) != NULL)
        count++;
    return count;
}

/* The finding must be there, have the severity, and hold the text. */
static inline void unit_finding(size_t index, opal_severity_t wanted, const char *part)
{
    opal_severity_t severity;
    const char *text = opal_diagnostic_peek(index, &severity);
    ck_assert_msg(text != NULL, "there is no finding %zu with \"%s\"", index, part);
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" does not say \"%s\"", text, part);
    ck_assert_msg(severity == wanted, "\"%s\" has another severity", text);
}

#define unit_assert_part(text, part)                                                               \
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" does not hold \"%s\"", text, part)

#endif
