/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The place is the innermost function on the stack that is not of this library. Its name is that
 * which the loader knows; a program exports few, so without one the offset in the file remains.
 */
#include "ompi/check/place.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const void *own_base;

/* The first walk loads the unwinder, which allocates; later ones do not. */
void ompi_check_places_start(void)
{
    Dl_info own;
    ompi_check_place_t first;
    ompi_check_place_here(&first);
    if (dladdr((const void *)(uintptr_t)&ompi_check_places_start, &own) != 0)
        own_base = own.dli_fbase;
}

void ompi_check_place_here(ompi_check_place_t *place)
{
    memset(place, 0, sizeof *place);
    backtrace(place->frames, OMPI_CHECK_FRAMES);
}

void ompi_check_place_describe(const ompi_check_place_t *place, char text[OMPI_CHECK_PLACE_BYTES])
{
    Dl_info found;
    snprintf(text, OMPI_CHECK_PLACE_BYTES, "an unknown place");
    for (int i = 0; i < OMPI_CHECK_FRAMES && place->frames[i] != NULL; i++) {
        uintptr_t address = (uintptr_t)place->frames[i] - 1; /* in the call, not behind it */
        if (dladdr((const void *)address, &found) == 0 || found.dli_fbase == own_base)
            continue;
        const char *slash = strrchr(found.dli_fname, '/');
        const char *file = slash != NULL ? slash + 1 : found.dli_fname;
        unsigned long offset = (unsigned long)(address - (uintptr_t)found.dli_fbase);
        if (found.dli_sname != NULL)
            snprintf(text, OMPI_CHECK_PLACE_BYTES, "%.64s+0x%lx (%.64s+0x%lx)", found.dli_sname,
                     (unsigned long)(address - (uintptr_t)found.dli_saddr), file, offset);
        else
            snprintf(text, OMPI_CHECK_PLACE_BYTES, "%.128s+0x%lx", file, offset);
        return;
    }
}
