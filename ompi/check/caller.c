/* SPDX-License-Identifier: BSD-3-Clause */
/* The caller is the innermost function on the stack that is not of this library. */
#include "ompi/check/caller.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "opal/include/compiler.h"
#include "opal/lines/lines.h"

static _Atomic(const void *) own_base; /* NULL: not asked for yet */

/* The first walk loads the unwinder, which allocates; later ones do not. */
void ompi_check_callers_start(void)
{
    ompi_check_caller_t first;
    ompi_check_caller_here(&first);
}

static const void *base_of_this(void)
{
    Dl_info own;
    if (own_base == NULL && dladdr((const void *)(uintptr_t)&ompi_check_callers_start, &own) != 0)
        own_base = own.dli_fbase;
    return own_base;
}

void ompi_check_caller_here(ompi_check_caller_t *caller)
{
    memset(caller, 0, sizeof *caller);
    backtrace(caller->frames, OMPI_CHECK_FRAMES);
}

/* Whether it is in one of our libraries: this one calls libopen-pal and components, which call it
 * back, and Fortran's calls this one. */
static bool is_own(const Dl_info *info)
{
    static const char *const names[] = {"libmpifort", "libopen-pal", "mca_"};
    const char *slash = strrchr(info->dli_fname, '/');
    const char *name = slash != NULL ? slash + 1 : info->dli_fname;
    bool is_ours = info->dli_fbase == base_of_this();
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++)
        is_ours = is_ours || strncmp(name, names[i], strlen(names[i])) == 0;
    return is_ours;
}

/* In the call, not behind it. 0: no frame is the program's. *inside, if it is not NULL: the address
 * in the function of this library that was called, or 0. */
static uintptr_t find(const ompi_check_caller_t *caller, Dl_info *found, uintptr_t *inside)
{
    bool is_inside = false; /* before it, a sanitizer's frame may be on top */
    for (int i = 0; i < OMPI_CHECK_FRAMES && caller->frames[i] != NULL; i++) {
        uintptr_t address = (uintptr_t)caller->frames[i] - 1;
        bool is_known = dladdr((const void *)address, found) != 0;
        if (is_known && is_own(found))
            is_inside = true;
        else if (is_known && is_inside)
            return address;
        if (inside != NULL && is_known && found->dli_fbase == base_of_this())
            *inside = address;
    }
    return 0;
}

const char *ompi_check_caller_function(const ompi_check_caller_t *caller)
{
    Dl_info found;
    uintptr_t inside = 0;
    find(caller, &found, &inside);
    if (inside == 0 || dladdr((const void *)inside, &found) == 0 || found.dli_sname == NULL)
        return "an unknown function";
    return found.dli_sname + (strncmp(found.dli_sname, "PM", 2) == 0);
}

uintptr_t ompi_check_caller_address(const ompi_check_caller_t *caller)
{
    Dl_info found;
    return find(caller, &found, NULL);
}

/* What was read of the program's files is kept: a report names many places. */
static void describe(uintptr_t address, char text[OMPI_CHECK_CALLER_BYTES])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static opal_lines_t *lines;
    opal_location_t location = {.address = address};
    pthread_mutex_lock(&lock);
    if (lines == NULL)
        lines = opal_lines_open(getpid());
    if (lines != NULL)
        opal_lines_find(lines, address, &location);
    opal_lines_describe(&location, text, OMPI_CHECK_CALLER_BYTES);
    pthread_mutex_unlock(&lock);
}

void ompi_check_caller_describe(const ompi_check_caller_t *caller,
                                char text[OMPI_CHECK_CALLER_BYTES])
{
    uintptr_t address = ompi_check_caller_address(caller);
    if (address != 0)
        describe(address, text);
    else
        snprintf(text, OMPI_CHECK_CALLER_BYTES, "an unknown place");
}
