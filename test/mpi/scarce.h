/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations that fail: the program's malloc, calloc, realloc and aligned_alloc are the library's,
 * too. Only what libmpi asks for itself fails, and of that what `is_to_fail` says.
 */
#ifndef MICA_TEST_SCARCE_H
#define MICA_TEST_SCARCE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether this allocation of the library's fails. */
static __attribute__((unused)) bool is_to_fail(void);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SCARCE_WORKS = 0 }; /* the allocator is the sanitizer's */
#else
enum { SCARCE_WORKS = 1 };

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static bool scarce(const void *caller)
{
    static _Thread_local bool is_asking; /* dladdr may allocate */
    Dl_info found;
    if (is_asking)
        return false;
    is_asking = true;
    bool is_ours = dladdr(caller, &found) != 0 && strstr(found.dli_fname, "libmpi") != NULL;
    is_asking = false;
    return is_ours && is_to_fail();
}

void *malloc(size_t bytes)
{
    return scarce(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return scarce(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return scarce(__builtin_return_address(0)) ? NULL : __libc_realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return scarce(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}
#endif

#endif
