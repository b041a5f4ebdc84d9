/* SPDX-License-Identifier: BSD-3-Clause */
/* An object to be loaded: it unmaps, it loads, it has a buffer. See dlopen.c. */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/mman.h>

char object_buffer[3 * 4096];

int object_unmap(void *address, size_t length)
{
    return munmap(address, length);
}

void *object_load(const char *name, int mode)
{
    return dlopen(name, mode);
}
