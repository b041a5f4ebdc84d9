/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls below the hooks. Each goes to libc's own function, so that code that has patched that
 * function sees the call, too; or straight to the kernel, if that function leads back to the hook
 * or is not known. Results and errno are libc's in both cases. Internal to opal/memory.
 *
 * Threading: opal_memory_system_use under the lock of install.c; the rest any thread.
 */
#ifndef OPAL_MEMORY_EVENTS_SYSTEM_H
#define OPAL_MEMORY_EVENTS_SYSTEM_H

#include "opal/memory/events/events.h"

/* The functions that are hooked. */
typedef enum opal_memory_call {
    OPAL_MEMORY_CALL_MMAP,
    OPAL_MEMORY_CALL_MUNMAP,
    OPAL_MEMORY_CALL_MREMAP,
    OPAL_MEMORY_CALL_SHMAT,
    OPAL_MEMORY_CALL_SHMDT,
    OPAL_MEMORY_CALL_SBRK,
    OPAL_MEMORY_CALL_BRK,
    OPAL_MEMORY_CALL_MADVISE,
    OPAL_MEMORY_CALL_REMAP_FILE_PAGES,
    OPAL_MEMORY_CALL_COUNT,
} opal_memory_call_t;

/* libc's function for a call, or NULL: the kernel. */
void opal_memory_system_use(opal_memory_call_t call, void *function);

void *opal_memory_system_mmap(void *address, size_t length, int protection, int flags, int fd,
                              off_t offset);
int opal_memory_system_munmap(void *address, size_t length);
void *opal_memory_system_mremap(void *old_address, size_t old_length, size_t new_length, int flags,
                                void *new_address);
void *opal_memory_system_shmat(int id, const void *address, int flags);
int opal_memory_system_shmdt(const void *address);
void *opal_memory_system_sbrk(intptr_t increment);
int opal_memory_system_brk(void *address);
int opal_memory_system_madvise(void *address, size_t length, int advice);
int opal_memory_system_remap_file_pages(void *address, size_t length, int protection,
                                        size_t page_offset, int flags);

/* The kernel's idea of the end of the heap. */
void *opal_memory_system_break(void);

#endif
