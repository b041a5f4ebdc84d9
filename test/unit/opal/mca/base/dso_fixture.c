/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DSOs of the test of dso.c, made of this one file: NAME is the component's, and a
 * BREAK_... says what is wrong with it. Each leaves its name in the environment variable
 * UNIT_LOADED when it is mapped, and UNIT_UNLOADED when it is not any more.
 */
#include <stdlib.h>
#include <string.h>

#include "test/unit/opal/mca/base/fake.h"

#define TEXT_OF(x)         #x
#define TEXT(x)            TEXT_OF(x)
#define JOIN_OF(a, b, c)   a##b##c
#define JOIN(a, b, c)      JOIN_OF(a, b, c)
#define COMPONENT_OF(name) JOIN(mca_fake_, name, _component)

static void leave_mark(const char *variable)
{
    char marks[256] = "";
    const char *before = getenv(variable);
    if (before != NULL && strlen(before) + sizeof TEXT(NAME) + 1 < sizeof marks)
        strcpy(marks, before);
    strcat(marks, TEXT(NAME) " ");
    setenv(variable, marks, 1);
}

__attribute__((constructor)) static void loaded(void)
{
    leave_mark("UNIT_LOADED");
}

__attribute__((destructor)) static void unloaded(void)
{
    leave_mark("UNIT_UNLOADED");
}

#ifdef BREAK_UNRESOLVED
int nobody_has_this(void);
#endif

static int work(void)
{
#ifdef BREAK_UNRESOLVED
    return nobody_has_this();
#else
    return 42;
#endif
}

static const fake_ops_t ops = {
#ifdef BREAK_SLOT
    .rest = work,
#else
    .work = work,
#endif
};

static int level;

static const opal_param_row_t params[] = {
    {.name = "level", .type = OPAL_PARAM_INT, .value = &level, .preset = "3"},
    {0},
};

OPAL_UNUSED static void query(opal_answer_t *answer)
{
    opal_answer_yes(answer, 50, &ops, &level, "it is a file");
}

#ifdef BREAK_SYMBOL
#define SYMBOL mca_fake_elsewhere_component
#else
#define SYMBOL COMPONENT_OF(NAME)
#endif

OPAL_EXPORT extern const opal_component_t SYMBOL;
const opal_component_t SYMBOL = {
#ifdef BREAK_ABI
    .abi = OPAL_COMPONENT_ABI + 1,
#else
    .abi = OPAL_COMPONENT_ABI,
#endif
#ifdef BREAK_BASE
    .base = &level,
#else
    .base = &opal_component_base,
#endif
#ifdef BREAK_FRAMEWORK
    .framework = "pmi",
#else
    .framework = "fake",
#endif
#ifdef BREAK_NAME
    .name = "somebody_else",
#else
    .name = TEXT(NAME),
#endif
    .prose = "a file of the tests",
    .params = params,
#ifndef BREAK_QUERY
    .query = query,
#endif
};
