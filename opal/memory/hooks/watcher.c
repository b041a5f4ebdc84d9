/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sanitizers are found by the function that each compiled object calls first. valgrind runs the
 * program on a processor of its own, which copies code before it is executed; it is found by the
 * library that it preloads.
 */
#include "opal/memory/hooks/watcher.h"

#include <link.h>
#include <string.h>

#include "opal/include/compiler.h"

/* The names are theirs. */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

static int is_valgrind(struct dl_phdr_info *info, size_t size OPAL_UNUSED,
                       void *context OPAL_UNUSED)
{
    return info->dlpi_name != NULL && strstr(info->dlpi_name, "/vgpreload_") != NULL;
}

const char *opal_memory_watcher(void)
{
    const struct {
        void (*mark)(void);
        const char *name;
    } sanitizers[] = {
        {__asan_init, "AddressSanitizer"},
        {__hwasan_init, "HWAddressSanitizer"},
        {__msan_init, "MemorySanitizer"},
        {__tsan_init, "ThreadSanitizer"},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(sanitizers); i++) {
        if (sanitizers[i].mark != NULL)
            return sanitizers[i].name;
    }
    return dl_iterate_phdr(is_valgrind, NULL) != 0 ? "valgrind" : NULL;
}
