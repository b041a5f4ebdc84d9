/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpool: registered memory, which a device has to know before it moves data to or from it.
 *
 * Registering a buffer (pinning its pages, giving the device their addresses) takes microseconds to
 * milliseconds. So a pool keeps a registration when its last use is over, and finds it again when
 * the same pages are used again. A kept registration must be dropped when the pages leave the
 * process: the application may get other pages at the same address, and the device would read the
 * old ones. A pool that keeps registrations is notified of that by memory events
 * (opal/memory/events/events.h).
 *
 * Contract of the framework. A component makes pools; a transport has one for each device:
 *
 *   ompi_mpool_create(&device, &pool);
 *   if (ompi_mpool_acquire(pool, buffer, bytes, access, &use) == OPAL_SUCCESS) {
 *       ... the device uses use.registration->handle ...
 *       ompi_mpool_release(&use);
 *   } else
 *       ... by a buffer of the transport's own ...
 *   ompi_mpool_destroy(pool);
 *
 * The application must not free its buffer before the message is complete. If it does, the error is
 * reported, once for each use, and the library continues.
 *
 * Threading: any thread may call acquire, release and progress, except from a handler of memory
 * events or from a slot of a device. The pool calls the device with the pool's lock held, one call
 * at a time. No handler takes that lock, so a device may allocate, free, map and unmap.
 *
 * fork: a child has its parent's pools, but not the device. In the child acquire fails, release and
 * destroy do nothing, and the parent's registrations stay. A child may create pools of its own.
 */
#ifndef OMPI_MCA_MPOOL_H
#define OMPI_MCA_MPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/util/list.h"

/* Access to the pages: by this process, by peers. */
enum {
    OMPI_MPOOL_LOCAL_READ = 1 << 0,
    OMPI_MPOOL_LOCAL_WRITE = 1 << 1,
    OMPI_MPOOL_REMOTE_READ = 1 << 2,
    OMPI_MPOOL_REMOTE_WRITE = 1 << 3,
};

/* A device, described by its transport, which owns this structure until the pool is destroyed. */
typedef struct ompi_mpool_device {
    const char *name; /* for messages */
    void *context;    /* of the slots */

    /*
     * Registers whole pages, with at least this access. They may overlap other registrations. Sets
     * *handle. OPAL_ERR_NO_MEMORY: no room; the pool drops unused registrations and calls again.
     * Any other error: these pages cannot be registered. Required.
     */
    opal_status_t (*pin)(void *context, void *base, size_t bytes, unsigned access, void **handle);

    /* Undoes a pin that succeeded, with its arguments. Some of the pages may have left the process
     * meanwhile. Reports no error to the pool. Required. */
    void (*unpin)(void *context, void *handle, void *base, size_t bytes);

    size_t max_bytes, max_registrations; /* at the same time; 0: no limit */
    bool gains; /* keeping pays: with mpi_leave_pinned=runtime, registrations are kept */
} ompi_mpool_device_t;

typedef struct ompi_mpool ompi_mpool_t;

/* Registered pages. Written by the base and the component, read by transports. */
typedef struct ompi_mpool_registration {
    ompi_mpool_t *pool;
    void *handle;    /* what `pin` of the device has set */
    void *base;      /* whole pages, perhaps more than were asked for */
    size_t bytes;    /* */
    unsigned access; /* OMPI_MPOOL_* */
} ompi_mpool_registration_t;

/* The use of a buffer by one transfer. The caller owns the storage from acquire until release has
 * returned. If pages leave that are in use, the application has freed a buffer too early. */
typedef struct ompi_mpool_use {
    ompi_mpool_registration_t *registration;
    uintptr_t begin, end; /* what was asked for */
    bool is_reported;     /* pages of it have left */
    opal_list_node_t node;
} ompi_mpool_use_t;

/* Every slot is required. */
typedef struct ompi_mpool_ops {
    /* Creates a pool. `keep`: registrations outlive their uses, so memory events are needed. The
     * base sets the fields of ompi_mpool_t. */
    opal_status_t (*create)(void *state, const ompi_mpool_device_t *device, bool keep,
                            ompi_mpool_t **pool);

    /* Drops all registrations. The caller uses none of them any more. */
    void (*destroy)(ompi_mpool_t *pool);

    /* See ompi_mpool_acquire, ompi_mpool_release. Not called in a child of fork. */
    opal_status_t (*acquire)(ompi_mpool_t *pool, const void *address, size_t bytes, unsigned access,
                             ompi_mpool_use_t *use);
    void (*release)(ompi_mpool_use_t *use);

    /* Drops registrations whose pages have left the process. Does not wait for a lock. */
    void (*progress)(ompi_mpool_t *pool);
} ompi_mpool_ops_t;

/* A component's pool begins with it. */
struct ompi_mpool {
    const ompi_mpool_ops_t *ops;
    const ompi_mpool_device_t *device;
    unsigned generation; /* ompi_mpool_generation when the pool was created */
    bool keeps;          /* set by the component: false where memory events do not work */
    opal_list_node_t node;
};

/* Goes up in the child of a fork: pools of other generations are the parent's. */
OPAL_EXPORT extern atomic_uint ompi_mpool_generation;

static inline bool ompi_mpool_is_inherited(const ompi_mpool_t *pool)
{
    return opal_unlikely(pool->generation !=
                         atomic_load_explicit(&ompi_mpool_generation, memory_order_relaxed));
}

/* -- what transports call (base/) -------------------------------------------------------- */

/*
 * Called when the transport starts and stops; no thread polls meanwhile. OPAL_ERR_NOT_AVAILABLE:
 * the user has excluded all components of mpool. destroy: no registration is in use; NULL is legal.
 */
OPAL_EXPORT opal_status_t ompi_mpool_create(const ompi_mpool_device_t *device, ompi_mpool_t **pool);
OPAL_EXPORT void ompi_mpool_destroy(ompi_mpool_t *pool);

/*
 * Whether mpi_leave_pinned, or mpi_leave_pinned_pipeline, is in effect for this device. With the
 * second a transport registers the parts of a long message one after the other, and the pool keeps
 * the registrations.
 */
OPAL_EXPORT bool ompi_mpool_leaves_pinned(const ompi_mpool_device_t *device);
OPAL_EXPORT bool ompi_mpool_leaves_pipeline_pinned(const ompi_mpool_device_t *device);

/*
 * Begins a use of [address, address + bytes). Blocks as long as the device's pin does. `use` is
 * written only on success. More pages may be registered than were asked for.
 *
 *   OPAL_ERR_BAD_PARAM      no bytes, or beyond the address space
 *   OPAL_ERR_TOO_LARGE      more than the limits allow at all
 *   OPAL_ERR_BUSY           registrations in use fill the limits: perhaps later
 *   OPAL_ERR_NOT_AVAILABLE  this is a child of fork
 *   and the errors of the device
 */
static inline opal_status_t ompi_mpool_acquire(ompi_mpool_t *pool, const void *address,
                                               size_t bytes, unsigned access, ompi_mpool_use_t *use)
{
    if (ompi_mpool_is_inherited(pool))
        return OPAL_ERR_NOT_AVAILABLE;
    return pool->ops->acquire(pool, address, bytes, access, use);
}

static inline void ompi_mpool_release(ompi_mpool_use_t *use)
{
    ompi_mpool_t *pool = use->registration->pool;
    if (!ompi_mpool_is_inherited(pool))
        pool->ops->release(use);
}

#endif
