/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpool: buffers that a device has to know before it moves data to or from them.
 *
 * Making a buffer known (pinning its pages, telling the device where they are) costs microseconds
 * to milliseconds. So a pool keeps a registration when its last use is over, and finds it again
 * when the same pages come back. What was kept must go when the pages leave the process: the
 * application may get other pages at the same address, and the device would read the old ones. A
 * pool that keeps hears of that by memory events (opal/memory/events/events.h).
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
 * The application keeps its buffer until the message is over. If it does not, the error is
 * reported, once for each use; nothing of ours breaks.
 *
 * Threading: acquire, release and progress by any thread, but neither by a handler of memory events
 * nor by a device's slots. The device is called with the pool's lock held, one call at a time. That
 * lock is never taken by a handler, so a device may allocate, free, map and unmap.
 *
 * fork: a child has its parent's pools, but not the device. There acquire refuses, release and
 * destroy do nothing; what the parent has registered stays registered. A child may make new pools.
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

/* Who may do what with the pages. */
enum {
    OMPI_MPOOL_LOCAL_READ = 1 << 0,
    OMPI_MPOOL_LOCAL_WRITE = 1 << 1,
    OMPI_MPOOL_REMOTE_READ = 1 << 2,
    OMPI_MPOOL_REMOTE_WRITE = 1 << 3,
};

/* What a transport brings. It is the transport's, and stays until the pool is destroyed. */
typedef struct ompi_mpool_device {
    const char *name; /* for messages */
    void *context;    /* of the slots */

    /*
     * Makes whole pages known, with at least this access. They may overlap what is registered
     * already. Sets *handle. OPAL_ERR_NO_MEMORY: no room, and the pool unpins what nobody uses and
     * asks again. Anything else: these pages cannot be registered. Required.
     */
    opal_status_t (*pin)(void *context, void *base, size_t bytes, unsigned access, void **handle);

    /* Takes back a pin that succeeded, with its arguments. Some of the pages may have left the
     * process meanwhile. Cannot fail towards the pool. Required. */
    void (*unpin)(void *context, void *handle, void *base, size_t bytes);

    size_t max_bytes, max_registrations; /* at the same time; 0: no limit */
    bool gains; /* keeping pays: with mpi_leave_pinned=runtime, registrations are kept */
} ompi_mpool_device_t;

typedef struct ompi_mpool ompi_mpool_t;

/* What a pool knows of pages. The base's and the component's; the others read. */
typedef struct ompi_mpool_registration {
    ompi_mpool_t *pool;
    void *handle;    /* what the device said */
    void *base;      /* whole pages: what the device knows, which may be more than was asked for */
    size_t bytes;    /* */
    unsigned access; /* OMPI_MPOOL_* */
} ompi_mpool_registration_t;

/* One transfer's use of a buffer; the storage is the caller's, from acquire until release has
 * returned. Which part of a registration is in use decides who made a mistake when pages leave. */
typedef struct ompi_mpool_use {
    ompi_mpool_registration_t *registration;
    uintptr_t begin, end; /* what was asked for */
    bool told;            /* that pages of it have left */
    opal_list_node_t node;
} ompi_mpool_use_t;

/* Every slot is required. */
typedef struct ompi_mpool_ops {
    /* Makes a pool; `keep`: registrations outlive their uses, and memory events are heard. The base
     * sets what is in ompi_mpool_t. */
    opal_status_t (*create)(void *state, const ompi_mpool_device_t *device, bool keep,
                            ompi_mpool_t **pool);

    /* Unpins everything. Nobody uses the pool any more. */
    void (*destroy)(ompi_mpool_t *pool);

    /* See ompi_mpool_acquire, ompi_mpool_release. Not called in a child of fork. */
    opal_status_t (*acquire)(ompi_mpool_t *pool, const void *address, size_t bytes, unsigned access,
                             ompi_mpool_use_t *use);
    void (*release)(ompi_mpool_use_t *use);

    /* Unpins what has left the process. Does not wait for a lock. */
    void (*progress)(ompi_mpool_t *pool);
} ompi_mpool_ops_t;

/* A component's pool begins with it. */
struct ompi_mpool {
    const ompi_mpool_ops_t *ops;
    const ompi_mpool_device_t *device;
    unsigned generation; /* ompi_mpool_generation when it was made */
    bool keeps;          /* the component's: false also where memory events do not work */
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
 * When the transport starts and stops; nobody polls meanwhile. OPAL_ERR_NOT_AVAILABLE: the user
 * wants no component of mpool. destroy: no registration is in use; NULL is legal.
 */
OPAL_EXPORT opal_status_t ompi_mpool_create(const ompi_mpool_device_t *device, ompi_mpool_t **pool);
OPAL_EXPORT void ompi_mpool_destroy(ompi_mpool_t *pool);

/*
 * What of mpi_leave_pinned and mpi_leave_pinned_pipeline came true: yes or no for a device that
 * gains by it or not. With the second one a transport registers the parts of a long message one
 * after the other, and the pool keeps them.
 */
OPAL_EXPORT bool ompi_mpool_leaves_pinned(const ompi_mpool_device_t *device);
OPAL_EXPORT bool ompi_mpool_leaves_pipeline_pinned(const ompi_mpool_device_t *device);

/*
 * Begins a use of [address, address + bytes). Blocks as long as the device's pin does. Only on
 * success `use` is written. What is registered may be more than what was asked for.
 *
 *   OPAL_ERR_BAD_PARAM      no bytes, or beyond the address space
 *   OPAL_ERR_TOO_LARGE      more than the limits allow at all
 *   OPAL_ERR_BUSY           the limits are reached by what is in use: later, perhaps
 *   OPAL_ERR_NOT_AVAILABLE  this is a child of fork
 *   and what the device says
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
