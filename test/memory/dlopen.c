/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dlopen OUTER INNER: hooks are installed, then an object is loaded that loads another one by its
 * bare name, which only its own run path leads to. Both unmap; both are heard. Prints TAP.
 *
 * The objects are made of object.c. OUTER is a path, INNER a name.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "opal/memory/events/events.h"
#include "test/mpi/tap.h"

typedef void *load_fn_t(const char *name, int mode);
typedef int unmap_fn_t(void *address, size_t length);

/* libc's declarations promise that munmap calls nothing of ours, and compilers believe them. */
static volatile uintptr_t watched;
static volatile unsigned gone;

static opal_memory_verdict_t watch(opal_memory_event_t *event, void *context)
{
    uintptr_t start = (uintptr_t)event->vm.address;
    (void)context;
    if (start <= watched && watched - start < event->vm.length)
        gone++;
    return OPAL_MEMORY_PASS;
}

/* Whether the unmapping by a function of an object is heard once. */
static void check_unmap(void *object, const char *text)
{
    unmap_fn_t *unmap = (unmap_fn_t *)dlsym(object, "object_unmap");
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    watched = (uintptr_t)page;
    gone = 0;
    tap_check(unmap != NULL && unmap(page, 4096) == 0 && gone == 1, "%s", text);
}

int main(int argc, char **argv)
{
    opal_memory_handler_t handler = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = watch};
    const char *outer_name = argc > 1 ? argv[1] : "", *inner_name = argc > 2 ? argv[2] : "";
    tap_rank(0);
    tap_check(opal_memory_handler_add(&handler) == OPAL_SUCCESS, "events are installed");
    tap_check(dlopen(inner_name, RTLD_NOW) == NULL, "the inner one is not found from here");
    tap_check(dlopen(NULL, RTLD_NOW) != NULL, "dlopen(NULL) gives the program");
    tap_check(dlopen(outer_name, RTLD_NOW | RTLD_NOLOAD) == NULL, "the outer one is not loaded");

    void *outer = dlopen(outer_name, RTLD_LAZY);
    tap_check(outer != NULL, "the outer one is loaded");
    if (outer == NULL)
        return tap_finish();
    check_unmap(outer, "what it unmaps is heard");
    load_fn_t *load = (load_fn_t *)dlsym(outer, "object_load");
    void *inner = load(inner_name, RTLD_LAZY);
    tap_check(inner != NULL, "it loads the inner one by its run path");
    if (inner == NULL)
        return tap_finish();
    tap_check(load(inner_name, RTLD_NOW | RTLD_NOLOAD) == inner, "which is loaded then");
    dlclose(inner);
    check_unmap(inner, "what that unmaps is heard");
    tap_check(dlopen(outer_name, RTLD_NOW) == outer, "binding all at once");
    dlclose(outer);
    check_unmap(outer, "changes nothing");

    watched = (uintptr_t)dlsym(inner, "object_buffer") + 4096;
    gone = 0;
    tap_check(dlclose(inner) == 0 && gone == 1, "the buffer of an object that is unloaded goes");
    gone = 0;
    watched = (uintptr_t)dlsym(outer, "object_buffer");
    void *again = dlopen(outer_name, RTLD_NOW);
    tap_check(dlclose(again) == 0 && gone == 0, "that of an object that stays does not");
    tap_check(dlclose(outer) == 0 && gone == 1, "until it is unloaded");
    again = dlopen(outer_name, RTLD_NOW);
    check_unmap(again, "loaded again it is heard again");
    return tap_finish();
}
