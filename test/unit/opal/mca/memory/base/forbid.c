/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/memory/base/forbid.c: lists of components, and the words of switches. */
#include "opal/mca/memory/base/forbid.h"

#include "test/unit/opal/support.h"

static const struct {
    const char *name, *value;
    const char *reason; /* a part; NULL: nothing is in the way of "smheap" */
} cases[] = {
    {"NOTHING", "", NULL},
    {"OMPI_MCA_memory", "", NULL},
    {"OMPI_MCA_memory", "smheap", NULL},
    {"OMPI_MCA_memory", "ptmalloc2,smheap", NULL},
    {"OMPI_MCA_memory", "ptmalloc2", "OMPI_MCA_memory leaves it out"},
    {"OMPI_MCA_memory", "smheaps,smhea", "OMPI_MCA_memory leaves it out"},
    {"OMPI_MCA_memory", "^smheap", "OMPI_MCA_memory leaves it out"},
    {"OMPI_MCA_memory", "^ptmalloc2,smheap", "OMPI_MCA_memory leaves it out"},
    {"OMPI_MCA_memory", "^ptmalloc2", NULL},
    {"OMPI_MCA_memory_malloc_hooks", "no", "memory_malloc_hooks"},
    {"OMPI_MCA_memory_malloc_hooks", "OFF", "memory_malloc_hooks"},
    {"OMPI_MCA_memory_malloc_hooks", "yes", NULL},
    {"OMPI_MCA_memory_malloc_hooks", "noo", NULL},
    {"UCX_MEM_MALLOC_HOOKS", "0", "memory_malloc_hooks"},
    {"FAKEROOTKEY", "", "fakeroot"},
};

static size_t now;

static const char *variable(const char *name)
{
    return strcmp(name, cases[now].name) == 0 ? cases[now].value : NULL;
}

START_TEST(each_case)
{
    now = (size_t)_i;
    const char *reason = opal_memory_forbids(variable, "smheap");
    if (cases[now].reason == NULL)
        ck_assert_msg(reason == NULL, "%s", reason);
    else
        ck_assert(reason != NULL && strstr(reason, cases[now].reason) != NULL);
}
END_TEST

START_TEST(words)
{
    const char *const yes[] = {"yes", "true", "on", "enable", "1", "YES"};
    const char *const no[] = {"no", "false", "off", "disable", "0", "No"};
    for (size_t i = 0; i < OPAL_COUNT_OF(yes); i++) {
        ck_assert(opal_memory_says_yes(yes[i]) && !opal_memory_says_no(yes[i]));
        ck_assert(opal_memory_says_no(no[i]) && !opal_memory_says_yes(no[i]));
    }
    ck_assert(!opal_memory_says_yes(NULL) && !opal_memory_says_no(NULL));
    ck_assert(!opal_memory_says_yes("") && !opal_memory_says_no("12xyz"));
}
END_TEST

static const unit_test_t tests[] = {
    {&each_case, OPAL_COUNT_OF(cases), 0, 0},
    {&words, 0, 0, 0},
};

UNIT_MAIN("forbid", tests, NULL);
