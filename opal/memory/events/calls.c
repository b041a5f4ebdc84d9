/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks: each does what the function does that it stands for, and raises its events. All have
 * the same steps:
 *
 *   1  handlers before the call, which may change its arguments or answer
 *   2  VM_UNMAPPED for what the call will drop
 *   3  the call
 *   4  VM_MAPPED for what has come
 *   5  handlers behind the call, which may change its result
 *
 * A step without handlers is left out; without any handler a hook is one load and the call.
 *
 * Threading: as the functions themselves. errno is that of the call if it fails, or of the handler
 * that answered.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "opal/memory/events/dispatch.h"
#include "opal/memory/events/range.h"
#include "opal/memory/events/system.h"

static inline void raise_unmapped(opal_memory_range_t range)
{
    opal_memory_deliver_vm(OPAL_MEMORY_VM_UNMAPPED, range.start, range.length);
}

static inline void raise_mapped(opal_memory_range_t range)
{
    opal_memory_deliver_vm(OPAL_MEMORY_VM_MAPPED, range.start, range.length);
}

OPAL_MEMORY_HOT_FIRST void *opal_memory_mmap(void *address, size_t length, int protection,
                                             int flags, int fd, off_t offset)
{
    const unsigned events = OPAL_MEMORY_MMAP | OPAL_MEMORY_VM_MAPPED | OPAL_MEMORY_VM_UNMAPPED;
    if (opal_likely(!opal_memory_wanted(events)))
        return opal_memory_system_mmap(address, length, protection, flags, fd, offset);

    opal_memory_event_t event = {
        .kind = OPAL_MEMORY_MMAP,
        .mmap = {MAP_FAILED, address, length, protection, flags, fd, offset},
    };
    if (!opal_memory_deliver(&event, false)) {
        if (opal_memory_wanted(OPAL_MEMORY_VM_UNMAPPED))
            raise_unmapped(opal_memory_range_mmap(&event));
        event.mmap.result =
            opal_memory_system_mmap(event.mmap.address, event.mmap.length, event.mmap.protection,
                                    event.mmap.flags, event.mmap.fd, event.mmap.offset);
        if (event.mmap.result != MAP_FAILED)
            raise_mapped(opal_memory_range_of(event.mmap.result, event.mmap.length));
        else
            event.error = errno;
        opal_memory_deliver(&event, true);
    }
    if (event.mmap.result == MAP_FAILED)
        errno = event.error;
    return event.mmap.result;
}

OPAL_MEMORY_HOT int opal_memory_munmap(void *address, size_t length)
{
    if (opal_likely(!opal_memory_wanted(OPAL_MEMORY_MUNMAP | OPAL_MEMORY_VM_UNMAPPED)))
        return opal_memory_system_munmap(address, length);
    if (opal_likely(!opal_memory_wanted(OPAL_MEMORY_MUNMAP))) {
        raise_unmapped(opal_memory_range_of(address, length));
        return opal_memory_system_munmap(address, length);
    }

    opal_memory_event_t event = {.kind = OPAL_MEMORY_MUNMAP, .munmap = {-1, address, length}};
    if (!opal_memory_deliver(&event, false)) {
        raise_unmapped(opal_memory_range_of(event.munmap.address, event.munmap.length));
        event.munmap.result = opal_memory_system_munmap(event.munmap.address, event.munmap.length);
        if (event.munmap.result != 0)
            event.error = errno;
        opal_memory_deliver(&event, true);
    }
    if (event.munmap.result != 0)
        errno = event.error;
    return event.munmap.result;
}

/* As in libc, the fifth argument is read only with the flag that requires it. */
void *opal_memory_mremap(void *old_address, size_t old_length, size_t new_length, int flags, ...)
{
    const unsigned events = OPAL_MEMORY_MREMAP | OPAL_MEMORY_VM_MAPPED | OPAL_MEMORY_VM_UNMAPPED;
    void *new_address = NULL;
    if ((flags & MREMAP_FIXED) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        new_address = va_arg(arguments, void *);
        va_end(arguments);
    }
    if (opal_likely(!opal_memory_wanted(events)))
        return opal_memory_system_mremap(old_address, old_length, new_length, flags, new_address);

    opal_memory_event_t event = {
        .kind = OPAL_MEMORY_MREMAP,
        .mremap = {MAP_FAILED, old_address, old_length, new_length, flags, new_address},
    };
    if (!opal_memory_deliver(&event, false)) {
        raise_unmapped(opal_memory_range_mremap_old(&event));
        raise_unmapped(opal_memory_range_mremap_new(&event));
        event.mremap.result = opal_memory_system_mremap(
            event.mremap.old_address, event.mremap.old_length, event.mremap.new_length,
            event.mremap.flags, event.mremap.new_address);
        if (event.mremap.result != MAP_FAILED)
            raise_mapped(opal_memory_range_of(event.mremap.result, event.mremap.new_length));
        else
            event.error = errno;
        opal_memory_deliver(&event, true);
    }
    if (event.mremap.result == MAP_FAILED)
        errno = event.error;
    return event.mremap.result;
}

void *opal_memory_shmat(int id, const void *address, int flags)
{
    const unsigned events = OPAL_MEMORY_SHMAT | OPAL_MEMORY_VM_MAPPED | OPAL_MEMORY_VM_UNMAPPED;
    void *const failed = (void *)-1;
    if (opal_likely(!opal_memory_wanted(events)))
        return opal_memory_system_shmat(id, address, flags);

    opal_memory_event_t event = {.kind = OPAL_MEMORY_SHMAT, .shmat = {failed, id, address, flags}};
    if (!opal_memory_deliver(&event, false)) {
        if (opal_memory_wanted(OPAL_MEMORY_VM_UNMAPPED))
            raise_unmapped(opal_memory_range_shmat(&event));
        event.shmat.result =
            opal_memory_system_shmat(event.shmat.id, event.shmat.address, event.shmat.flags);
        event.error = errno;
        if (event.shmat.result != failed && opal_memory_wanted(OPAL_MEMORY_VM_MAPPED))
            raise_mapped(opal_memory_range_segment(event.shmat.id, event.shmat.result));
        opal_memory_deliver(&event, true);
    }
    if (event.shmat.result == failed)
        errno = event.error;
    return event.shmat.result;
}

int opal_memory_shmdt(const void *address)
{
    if (opal_likely(!opal_memory_wanted(OPAL_MEMORY_SHMDT | OPAL_MEMORY_VM_UNMAPPED)))
        return opal_memory_system_shmdt(address);

    opal_memory_event_t event = {.kind = OPAL_MEMORY_SHMDT, .shmdt = {-1, address}};
    if (!opal_memory_deliver(&event, false)) {
        if (opal_memory_wanted(OPAL_MEMORY_VM_UNMAPPED))
            raise_unmapped(opal_memory_range_shmdt(event.shmdt.address));
        event.shmdt.result = opal_memory_system_shmdt(event.shmdt.address);
        event.error = errno;
        opal_memory_deliver(&event, true);
    }
    if (event.shmdt.result != 0)
        errno = event.error;
    return event.shmdt.result;
}

/* -- the break ------------------------------------------------------------------ */

/* Moves the break by either function. False: it failed, with errno. */
typedef bool move_fn_t(opal_memory_event_t *event, void *old);

static bool move_by_sbrk(opal_memory_event_t *event, void *old OPAL_UNUSED)
{
    event->sbrk.result = opal_memory_system_sbrk(event->sbrk.increment);
    return event->sbrk.result != (void *)-1;
}

static bool move_by_brk(opal_memory_event_t *event, void *old)
{
    /* The kernel takes NULL for a question. */
    intptr_t increment = event->sbrk.increment;
    bool moved = opal_memory_system_brk(increment != 0 ? (char *)old + increment : NULL) == 0;
    event->sbrk.result = moved ? old : (void *)-1;
    return moved;
}

/* Two functions, one event. */
static void *move_break(void *old, intptr_t increment, move_fn_t *move)
{
    opal_memory_event_t event = {.kind = OPAL_MEMORY_SBRK, .sbrk = {(void *)-1, increment}};
    if (!opal_memory_deliver(&event, false)) {
        uintptr_t wanted = (uintptr_t)old + (uintptr_t)event.sbrk.increment;
        if (event.sbrk.increment < 0)
            raise_unmapped(opal_memory_range_break((void *)wanted, old));
        bool moved = move(&event, old);
        event.error = errno;
        if (moved && event.sbrk.increment > 0)
            raise_mapped(opal_memory_range_break(old, (void *)wanted));
        opal_memory_deliver(&event, true);
    }
    if (event.sbrk.result == (void *)-1)
        errno = event.error;
    return event.sbrk.result;
}

static bool is_break_wanted(void)
{
    return opal_memory_wanted(OPAL_MEMORY_SBRK | OPAL_MEMORY_VM_MAPPED | OPAL_MEMORY_VM_UNMAPPED);
}

void *opal_memory_sbrk(intptr_t increment)
{
    if (opal_likely(!is_break_wanted()))
        return opal_memory_system_sbrk(increment);
    return move_break(opal_memory_system_break(), increment, move_by_sbrk);
}

int opal_memory_brk(void *address)
{
    if (opal_likely(!is_break_wanted()))
        return opal_memory_system_brk(address);
    char *old = opal_memory_system_break();
    intptr_t increment = address != NULL ? (char *)address - old : 0;
    return move_break(old, increment, move_by_brk) == (void *)-1 ? -1 : 0;
}

/* -- pages without a mapping call ----------------------------------------------- */

OPAL_MEMORY_HOT int opal_memory_madvise(void *address, size_t length, int advice)
{
    raise_unmapped(opal_memory_range_madvise(address, length, advice));
    return opal_memory_system_madvise(address, length, advice);
}

int opal_memory_remap_file_pages(void *address, size_t length, int protection, size_t page_offset,
                                 int flags)
{
    raise_unmapped(opal_memory_range_of(address, length));
    int result =
        opal_memory_system_remap_file_pages(address, length, protection, page_offset, flags);
    if (result == 0)
        raise_mapped(opal_memory_range_of(address, length));
    return result;
}
