/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory events: what memory comes into this process and leaves it, delivered to handlers.
 *
 * Six events are calls. A handler of a call may look at it, change its arguments, or answer instead
 * of the system. Two events are what the calls come to:
 *
 *   VM_UNMAPPED   delivered BEFORE the pages go. Sources: munmap; mmap with MAP_FIXED (whatever was
 *                 there); mremap (what is moved or cut off, and the destination of MREMAP_FIXED);
 *                 shmdt (the whole attachment); shmat with SHM_REMAP; brk and sbrk downwards;
 *                 madvise with an advice that drops pages; remap_file_pages; dlclose of an object
 *                 that is unloaded; and allocators that raise it themselves (opal_memory_unmapped).
 *   VM_MAPPED     delivered AFTER the pages came.
 *
 * VM_UNMAPPED means "may be gone from now on". A call that cannot succeed (munmap of an unaligned
 * address, of no bytes, beyond the address space) raises none. A call that fails in the kernel has
 * raised it already, and no event says that the pages stayed, since some calls fail half done. To
 * forget too much costs time; to forget too little costs data. So a handler forgets what it knows
 * about the range, and does not conclude that the application has made a mistake.
 *
 * The range consists of whole pages, and may cover pages that were never mapped.
 *
 * Threading: everything here may be called by any thread at any time, before main and inside
 * handlers as well, but not from a signal handler, opal_memory_(un)mapped excepted. Delivery takes
 * no lock, allocates nothing and uses no stdio.
 */
#ifndef OPAL_MEMORY_EVENTS_EVENTS_H
#define OPAL_MEMORY_EVENTS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"

enum {
    OPAL_MEMORY_MMAP = 1 << 0,
    OPAL_MEMORY_MUNMAP = 1 << 1,
    OPAL_MEMORY_MREMAP = 1 << 2,
    OPAL_MEMORY_SHMAT = 1 << 3,
    OPAL_MEMORY_SHMDT = 1 << 4,
    OPAL_MEMORY_SBRK = 1 << 5, /* sbrk and brk */
    OPAL_MEMORY_VM_MAPPED = 1 << 6,
    OPAL_MEMORY_VM_UNMAPPED = 1 << 7,
    OPAL_MEMORY_EVENT_COUNT = 8,
    OPAL_MEMORY_ALL_EVENTS = (1 << OPAL_MEMORY_EVENT_COUNT) - 1,
};

/* An event under way. `result` is what the caller will get; with -1 or MAP_FAILED, `error` is its
 * errno. Before the call is made both are meaningless, unless a handler answers. */
typedef struct opal_memory_event {
    unsigned kind; /* one bit of the above; says which member counts */
    int error;
    union {
        struct {
            void *result, *address;
            size_t length;
            int protection, flags, fd;
            off_t offset;
        } mmap;
        struct {
            int result;
            void *address;
            size_t length;
        } munmap;
        struct {
            void *result, *old_address;
            size_t old_length, new_length;
            int flags;
            void *new_address;
        } mremap;
        struct {
            void *result;
            int id;
            const void *address;
            int flags;
        } shmat;
        struct {
            int result;
            const void *address;
        } shmdt;
        struct {
            void *result;       /* the old break, as sbrk answers, also if brk was called */
            intptr_t increment; /* bytes */
        } sbrk;
        struct {
            void *address;
            size_t length;
        } vm; /* VM_MAPPED, VM_UNMAPPED */
    };
} opal_memory_event_t;

typedef enum opal_memory_verdict {
    OPAL_MEMORY_PASS,   /* the next handler, then the call */
    OPAL_MEMORY_ANSWER, /* `result` is set: no call, no further handler. The handler has also raised
                         * what came and went (opal_memory_mapped, opal_memory_unmapped). Behind
                         * the call, and for the VM events: no further handler */
} opal_memory_verdict_t;

/*
 * Runs in the thread that makes the call, wherever that thread maps or unmaps: also inside an
 * allocator, which may hold its locks. So a handler allocates and frees nothing, waits for no lock
 * that a thread may hold while it allocates, and does not throw, longjmp, fork or end the thread.
 *
 * A handler may map and unmap: the other handlers get these events, it does not.
 */
typedef opal_memory_verdict_t opal_memory_handler_fn_t(opal_memory_event_t *event, void *context);

/*
 * A handler. The caller owns the storage, which stays valid and untouched from add until remove has
 * returned. Handlers are called in the order of their priorities, lowest first; equal ones in the
 * order in which they were added.
 *
 *   priority < 0    before the call is made: may change the arguments, or answer
 *   priority >= 0   after it, failed or not: sees the result, and may change it
 *
 * For the VM events both sorts are called, in this order.
 */
typedef struct opal_memory_handler {
    unsigned events; /* bits; more than one is fine */
    int priority;
    opal_memory_handler_fn_t *fn;
    void *context;

    struct opal_memory_handler *_Atomic next; /* written by add and remove */
} opal_memory_handler_t;

/*
 * Adds a handler and installs the hooks for its events, unless they are installed or memory events
 * are switched off. OPAL_ERR_NOT_AVAILABLE: the handler was added, but at least one of its events
 * is missing; opal_memory_events_report() says which and why.
 */
OPAL_EXPORT opal_status_t opal_memory_handler_add(opal_memory_handler_t *handler);

/* Adds a handler without installing hooks: it gets the events that are raised anyway. */
OPAL_EXPORT void opal_memory_handler_add_passive(opal_memory_handler_t *handler);

/*
 * Removes a handler. Returns true when no thread is inside it any more: its storage and its code
 * may go. The caller holds nothing that the handler could wait for. Called inside a handler (of any
 * event) it cannot wait: it returns false at once, no thread enters the removed handler any more,
 * and its storage stays until opal_memory_quiesce() was called outside of handlers. Removing a
 * handler that was not added is harmless.
 */
OPAL_EXPORT bool opal_memory_handler_remove(opal_memory_handler_t *handler);

/* Returns true when every delivery that is under way now has ended; inside a handler false, at
 * once.
 */
OPAL_EXPORT bool opal_memory_quiesce(void);

/* -- raising ------------------------------------------------------------------- */

/*
 * For allocators, and for code that maps and unmaps by ways that no hook catches. Safe in signal
 * handlers and under any lock. opal_memory_unmapped is called before the pages go,
 * opal_memory_mapped after they came.
 */
OPAL_EXPORT void opal_memory_mapped(void *address, size_t length);
OPAL_EXPORT void opal_memory_unmapped(void *address, size_t length);

/* Whether a handler of VM_UNMAPPED is there; for callers that must find out first what goes. */
OPAL_EXPORT bool opal_memory_unmapping_matters(void);

/* Raises any event, for code that catches calls itself. True: a handler has answered. `after`:
 * calls the handlers behind the call, not those before it; ignored for VM events. */
OPAL_EXPORT bool opal_memory_raise(opal_memory_event_t *event, bool after);

/*
 * The hooks: each delivers the events of a call and makes the call. Patched calls and the library
 * to be preloaded lead to them; they may be called directly.
 */
OPAL_EXPORT void *opal_memory_mmap(void *address, size_t length, int protection, int flags, int fd,
                                   off_t offset);
OPAL_EXPORT int opal_memory_munmap(void *address, size_t length);
OPAL_EXPORT void *opal_memory_mremap(void *old_address, size_t old_length, size_t new_length,
                                     int flags, ...);
OPAL_EXPORT void *opal_memory_shmat(int id, const void *address, int flags);
OPAL_EXPORT int opal_memory_shmdt(const void *address);
OPAL_EXPORT void *opal_memory_sbrk(intptr_t increment);
OPAL_EXPORT int opal_memory_brk(void *address);
OPAL_EXPORT int opal_memory_madvise(void *address, size_t length, int advice);
OPAL_EXPORT int opal_memory_remap_file_pages(void *address, size_t length, int protection,
                                             size_t page_offset, int flags);

/* -- what is caught, and how --------------------------------------------------- */

typedef enum opal_memory_method {
    OPAL_MEMORY_BY_NOBODY,
    OPAL_MEMORY_BY_SYMBOLS,   /* the linker prefers our functions: preloaded, or linked first */
    OPAL_MEMORY_BY_RELOC,     /* relocation tables were patched */
    OPAL_MEMORY_BY_OVERWRITE, /* libc's code was patched */
    OPAL_MEMORY_BY_OTHERS,    /* declared by opal_memory_events_external */
} opal_memory_method_t;

typedef enum opal_memory_finding {
    OPAL_MEMORY_NOT_ASKED_FOR,
    OPAL_MEMORY_VERIFIED, /* a call was made, and its event came */
    OPAL_MEMORY_MISSING,  /* `reason` says why */
} opal_memory_finding_t;

enum { OPAL_MEMORY_REASON_MAX_BYTES = 160 };

typedef struct opal_memory_report {
    opal_memory_finding_t finding;
    opal_memory_method_t method; /* that made it work */
    bool
        inside_libc; /* calls that libc makes itself (its malloc, its threads) are caught as well */
    char reason[OPAL_MEMORY_REASON_MAX_BYTES]; /* why missing, or why not by an earlier method */
} opal_memory_report_t;

/*
 * Installs hooks for these events by one method after the other, each followed by its test, until
 * all events are verified: own symbols, relocations, code. Returns the verified events. A repeated
 * call does only what is missing. No malloc, no stdio: works in a constructor.
 */
OPAL_EXPORT unsigned opal_memory_events_install(unsigned events);

/* The caller raises these events by opal_memory_raise or opal_memory_(un)mapped: no hook is
 * installed for them from now on. */
OPAL_EXPORT void opal_memory_events_external(unsigned events);

/* Makes the calls once more, and returns the events that came: other code may have patched the same
 * functions since. */
OPAL_EXPORT unsigned opal_memory_events_test(unsigned events);

/* Writes whether, and by which method, the calls of an event are intercepted. */
OPAL_EXPORT void opal_memory_events_report(unsigned event, opal_memory_report_t *report);

/* "mmap", "vm_unmapped", ...; "symbols", "reloc", ... */
OPAL_EXPORT const char *opal_memory_event_name(unsigned event);
OPAL_EXPORT const char *opal_memory_method_name(opal_memory_method_t method);

#endif
