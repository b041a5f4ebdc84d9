/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The caller is the innermost function on the stack that is not of this library. Its name is that
 * which the loader knows; a program exports few, so without one the offset in the file remains.
 */
#include "ompi/check/caller.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

void ompi_check_caller_describe(const ompi_check_caller_t *caller,
                                char text[OMPI_CHECK_CALLER_BYTES])
{
    Dl_info found;
    uintptr_t address = find(caller, &found);
    if (address == 0) {
        snprintf(text, OMPI_CHECK_CALLER_BYTES, "an unknown place");
        return;
    }
    const char *slash = strrchr(found.dli_fname, '/');
    const char *file = slash != NULL ? slash + 1 : found.dli_fname;
    unsigned long offset = (unsigned long)(address - (uintptr_t)found.dli_fbase);
    if (found.dli_sname != NULL)
        snprintf(text, OMPI_CHECK_CALLER_BYTES, "%.64s+0x%lx (%.64s+0x%lx)", found.dli_sname,
                 (unsigned long)(address - (uintptr_t)found.dli_saddr), file, offset);
    else
        snprintf(text, OMPI_CHECK_CALLER_BYTES, "%.128s+0x%lx", file, offset);
}
