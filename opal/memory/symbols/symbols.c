/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libopen-pal-memory: the hooks under libc's own names. Preloaded (LD_PRELOAD), or linked before
 * libc, dynamically or statically, it makes the linker lead every call of every object to them:
 * nothing has to be patched but what libc calls itself.
 *
 * Threading: as libc's functions. They may be called before any constructor has run.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "opal/memory/events/events.h"

/* By this name the patcher recognizes an object whose functions are the hooks. */
OPAL_EXPORT void opal_memory_symbols(void);

void opal_memory_symbols(void)
{
}

OPAL_EXPORT void *mmap(void *address, size_t length, int protection, int flags, int fd,
                       off_t offset)
{
    return opal_memory_mmap(address, length, protection, flags, fd, offset);
}

OPAL_EXPORT void *mmap64(void *address, size_t length, int protection, int flags, int fd,
                         off64_t offset)
{
    return opal_memory_mmap(address, length, protection, flags, fd, offset);
}

OPAL_EXPORT int munmap(void *address, size_t length)
{
    return opal_memory_munmap(address, length);
}

OPAL_EXPORT void *mremap(void *old_address, size_t old_length, size_t new_length, int flags, ...)
{
    if ((flags & MREMAP_FIXED) == 0)
        return opal_memory_mremap(old_address, old_length, new_length, flags);
    va_list arguments;
    va_start(arguments, flags);
    void *new_address = va_arg(arguments, void *);
    va_end(arguments);
    return opal_memory_mremap(old_address, old_length, new_length, flags, new_address);
}

OPAL_EXPORT void *shmat(int id, const void *address, int flags)
{
    return opal_memory_shmat(id, address, flags);
}

OPAL_EXPORT int shmdt(const void *address)
{
    return opal_memory_shmdt(address);
}

OPAL_EXPORT void *sbrk(intptr_t increment)
{
    return opal_memory_sbrk(increment);
}

OPAL_EXPORT int brk(void *address)
{
    return opal_memory_brk(address);
}

OPAL_EXPORT int madvise(void *address, size_t length, int advice)
{
    return opal_memory_madvise(address, length, advice);
}

OPAL_EXPORT int remap_file_pages(void *address, size_t length, int protection, size_t page_offset,
                                 int flags)
{
    return opal_memory_remap_file_pages(address, length, protection, page_offset, flags);
}
