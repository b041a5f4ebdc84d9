/* SPDX-License-Identifier: BSD-3-Clause */
/* libc's functions through pointers, or what they do. */
#include "opal/memory/events/system.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "opal/arch/syscall.h"
#include "opal/memory/events/readers.h"

/* Where glibc keeps the break for its sbrk: updated by every call that moves the break. */
extern void *__curbrk __attribute__((weak));

void opal_memory_system_use(opal_memory_call_t call, void *function)
{
    atomic_store(&opal_memory_hot.functions[call], function);
}

/*
 * The function for a call, NULL for none; go_up is due behind it. Relaxed: a thread that sees the
 * older function makes the same call in the older way.
 *
 * The function may come back to the hook: that of another library may ask dlsym for the next one
 * and find the hook, and libc's code may lead to the hook by now. The second time the kernel is
 * called.
 */
OPAL_MEMORY_HOT static void *go_down(opal_memory_call_t call)
{
    void *function = atomic_load_explicit(&opal_memory_hot.functions[call], memory_order_relaxed);
    if (function == NULL || opal_memory_thread.below)
        return NULL;
    opal_memory_thread.below = true;
    return function;
}

static inline long go_up(long result)
{
    opal_memory_thread.below = false;
    return result;
}

/* With the type of `like`. */
#define GO_DOWN(call, like) ((__typeof__(&(like)))go_down(OPAL_MEMORY_CALL_##call))

/* The kernel's answer as libc gives it: -1 and errno for a failure. */
OPAL_MEMORY_HOT static long settle(long answer)
{
    enum { MAX_ERRNO = 4095 };
    if (opal_likely((unsigned long)answer < -(unsigned long)MAX_ERRNO))
        return answer;
    errno = (int)-answer;
    return -1;
}

OPAL_MEMORY_HOT void *opal_memory_system_mmap(void *address, size_t length, int protection,
                                              int flags, int fd, off_t offset)
{
    __typeof__(&mmap) function = GO_DOWN(MMAP, mmap);
    if (function != NULL)
        return (void *)go_up((long)function(address, length, protection, flags, fd, offset));
    return (void *)settle(
        opal_syscall(SYS_mmap, (long)address, (long)length, protection, flags, fd, offset));
}

OPAL_MEMORY_HOT int opal_memory_system_munmap(void *address, size_t length)
{
    __typeof__(&munmap) function = GO_DOWN(MUNMAP, munmap);
    if (function != NULL)
        return (int)go_up(function(address, length));
    return (int)settle(opal_syscall(SYS_munmap, (long)address, (long)length, 0, 0, 0, 0));
}

void *opal_memory_system_mremap(void *old_address, size_t old_length, size_t new_length, int flags,
                                void *new_address)
{
    __typeof__(&mremap) function = GO_DOWN(MREMAP, mremap);
    if (function != NULL)
        return (void *)go_up(
            (long)function(old_address, old_length, new_length, flags, new_address));
    return (void *)settle(opal_syscall(SYS_mremap, (long)old_address, (long)old_length,
                                       (long)new_length, flags, (long)new_address, 0));
}

void *opal_memory_system_shmat(int id, const void *address, int flags)
{
    __typeof__(&shmat) function = GO_DOWN(SHMAT, shmat);
    if (function != NULL)
        return (void *)go_up((long)function(id, address, flags));
    return (void *)settle(opal_syscall(SYS_shmat, id, (long)address, flags, 0, 0, 0));
}

int opal_memory_system_shmdt(const void *address)
{
    __typeof__(&shmdt) function = GO_DOWN(SHMDT, shmdt);
    if (function != NULL)
        return (int)go_up(function(address));
    return (int)settle(opal_syscall(SYS_shmdt, (long)address, 0, 0, 0, 0, 0));
}

OPAL_MEMORY_HOT int opal_memory_system_madvise(void *address, size_t length, int advice)
{
    __typeof__(&madvise) function = GO_DOWN(MADVISE, madvise);
    if (function != NULL)
        return (int)go_up(function(address, length, advice));
    return (int)settle(opal_syscall(SYS_madvise, (long)address, (long)length, advice, 0, 0, 0));
}

int opal_memory_system_remap_file_pages(void *address, size_t length, int protection,
                                        size_t page_offset, int flags)
{
    __typeof__(&remap_file_pages) function = GO_DOWN(REMAP_FILE_PAGES, remap_file_pages);
    if (function != NULL)
        return (int)go_up(function(address, length, protection, page_offset, flags));
    return (int)settle(opal_syscall(SYS_remap_file_pages, (long)address, (long)length, protection,
                                    (long)page_offset, flags, 0));
}

void *opal_memory_system_break(void)
{
    return (void *)opal_syscall(SYS_brk, 0, 0, 0, 0, 0, 0);
}

/* The kernel answers with the break as it is then, whatever was asked for. */
static int move_break(void *address)
{
    void *now = (void *)opal_syscall(SYS_brk, (long)address, 0, 0, 0, 0, 0);
    if (&__curbrk != NULL)
        __curbrk = now;
    if ((uintptr_t)now >= (uintptr_t)address)
        return 0;
    errno = ENOMEM;
    return -1;
}

int opal_memory_system_brk(void *address)
{
    __typeof__(&brk) function = GO_DOWN(BRK, brk);
    return function != NULL ? (int)go_up(function(address)) : move_break(address);
}

void *opal_memory_system_sbrk(intptr_t increment)
{
    __typeof__(&sbrk) function = GO_DOWN(SBRK, sbrk);
    if (function != NULL)
        return (void *)go_up((long)function(increment));
    void *old = opal_memory_system_break();
    uintptr_t wanted;
    if (increment == 0)
        return old;
    if (__builtin_add_overflow((uintptr_t)old, increment, &wanted)) {
        errno = ENOMEM;
        return (void *)-1;
    }
    return move_break((void *)wanted) == 0 ? old : (void *)-1;
}
