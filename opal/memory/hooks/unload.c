/* SPDX-License-Identifier: BSD-3-Clause */
/* The argument of __cxa_finalize is a variable of the object that ends. */
#include "opal/memory/hooks/unload.h"

#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "opal/memory/events/dispatch.h"

typedef struct object {
    uintptr_t address; /* in it */
    uintptr_t start, end;
} object_t;

/* From its first segment to its last: the loader unmaps what is between them too. */
static int visit_object(struct dl_phdr_info *info, size_t size OPAL_UNUSED, void *context)
{
    object_t *object = context;
    uintptr_t start = UINTPTR_MAX, end = 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t first = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD)
            continue;
        start = first < start ? first : start;
        end = first + header->p_memsz > end ? first + header->p_memsz : end;
    }
    if (object->address < start || object->address >= end)
        return 0;
    object->start = start;
    object->end = end;
    return 1;
}

/* When the process ends every object ends, but nothing is unmapped, and the objects of handlers may
 * have ended already. */
static atomic_bool exiting;

static void note_exit(void)
{
    atomic_store(&exiting, true);
}

void opal_memory_unload_prepare(void)
{
    static atomic_flag prepared = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&prepared))
        atexit(note_exit);
}

static void finalize(void *variable)
{
    object_t object = {.address = (uintptr_t)variable};
    if (!atomic_load(&exiting) && opal_memory_wanted(OPAL_MEMORY_VM_UNMAPPED) &&
        dl_iterate_phdr(visit_object, &object) != 0) {
        uintptr_t mask = (uintptr_t)getpagesize() - 1;
        uintptr_t start = object.start & ~mask, end = (object.end + mask) & ~mask;
        opal_memory_unmapped((void *)start, end - start);
    }
    ((void (*)(void *))opal_memory_unload_patch.original)(variable);
}

opal_patch_t opal_memory_unload_patch = {
    .symbol = "__cxa_finalize",
    .replacement = finalize,
};
