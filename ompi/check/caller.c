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

#include "opal/lines/lines.h"

static const void *own_base;

/* The first walk loads the unwinder, which allocates; later ones do not. */
void ompi_check_callers_start(void)
{
    Dl_info own;
    ompi_check_caller_t first;
    ompi_check_caller_here(&first);
    if (dladdr((const void *)(uintptr_t)&ompi_check_callers_start, &own) != 0)
        own_base = own.dli_fbase;
}

void ompi_check_caller_here(ompi_check_caller_t *caller)
{
    memset(caller, 0, sizeof *caller);
    backtrace(caller->frames, OMPI_CHECK_FRAMES);
}

/* In the call, not behind it. 0: no frame is the program's. */
static uintptr_t find(const ompi_check_caller_t *caller, Dl_info *found)
{
    bool is_inside = false; /* before it, a sanitizer's frame may be on top */
    for (int i = 0; i < OMPI_CHECK_FRAMES && caller->frames[i] != NULL; i++) {
        uintptr_t address = (uintptr_t)caller->frames[i] - 1;
        bool is_known = dladdr((const void *)address, found) != 0;
        if (is_known && found->dli_fbase == own_base)
            is_inside = true;
        else if (is_known && is_inside)
            return address;
    }
    return 0;
}

uintptr_t ompi_check_caller_address(const ompi_check_caller_t *caller)
{
    Dl_info found;
    return find(caller, &found);
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
