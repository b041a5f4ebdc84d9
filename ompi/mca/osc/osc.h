/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * osc: one-sided communication. Moves data between this process and the memory of a window's ranks.
 *
 * Contract of the framework. All usable components are chosen. When a window is made, each of its
 * ranks, the targets, gets the first component by priority that reaches it, so one window uses
 * shared memory for the ranks of this node and messages for the others. ompi/win has the MPI calls:
 * it checks arguments and epochs, and passes on accesses.
 *
 * Synchronization is not the components' business where ranks share a node: they use the window's
 * area (base/area.h). The ranks of other nodes are synchronized with by the component that has the
 * slots for it.
 *
 * One atomicity domain: all accumulates to one location exclude each other, whichever way they
 * come. Components apply them by base/accumulate.h, which knows the rules, or pass them to a
 * process that does. A component that has another way, such as the atomics of a network, has to get
 * those of all ranks (window->accumulates), and decides by the type of the elements and the
 * operation alone, so that all of them to a location go the same way.
 *
 * Visible before synchronized: an unlock, a post, a completion or the barrier of a fence is sent
 * when all accesses before it are complete at their targets. The caller flushes all components
 * first, so no component needs to know what the others have under way.
 *
 * Threading: put, get, accumulate and compare of a rank that is reached by shared memory take no
 * lock. Components take ompi_lock where they need it; the caller does not hold it, unless a slot
 * says so.
 */
#ifndef OMPI_MCA_OSC_H
#define OMPI_MCA_OSC_H

#include <stdatomic.h>

#include "opal/node/node.h"
#include "opal/util/text.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/op/op.h"
#include "ompi/request/request.h"

enum { OMPI_OSC_COMPONENTS = 4 };

struct ompi_osc_area;
struct ompi_osc_line;
struct ompi_osc_cell;
struct ompi_osc_ops;

/* Whether this process may access a target. Bits, so that the window's and the target's are one
 * question. */
typedef enum ompi_osc_permit {
    OMPI_OSC_CLOSED = 0,
    OMPI_OSC_AWAITS_POST = 1, /* MPI_Win_start was called; the target's MPI_Win_post is awaited */
    OMPI_OSC_AWAITS_LOCK = 2, /* MPI_Win_lock_all was called; the target is on another node */
    OMPI_OSC_OPEN = 4,
    OMPI_OSC_OPENS = 8, /* a thread waits for one of these two */
} ompi_osc_permit_t;

typedef enum ompi_osc_lock_kind {
    OMPI_OSC_UNLOCKED,
    OMPI_OSC_SHARED,
    OMPI_OSC_EXCLUSIVE,
    OMPI_OSC_UNCHECKED, /* with MPI_MODE_NOCHECK: nothing was locked */
} ompi_osc_lock_kind_t;

/* A rank of the window, as this process sees it. */
typedef struct ompi_osc_target {
    char *here;     /* its memory, which this process accesses by loads and stores; NULL: it does
                       not, or that is not known before an access (MPI_Win_create_dynamic) */
    uint64_t bytes; /* of its memory */
    int64_t unit;   /* of displacements */
    atomic_uchar permit; /* ompi_osc_permit_t; OPEN is published by a release */
    atomic_uchar lock;   /* ompi_osc_lock_kind_t: what this process holds there */
    bool has_ended;      /* it has failed or left, as far as a component has found out */
    bool is_shared; /* its memory lies in memory that all ranks of its node have mapped, so that
                       all of them use the CPU's atomics there; false: see ompi_osc_window_t */
    int local;      /* its index among the window's ranks of this node; -1: on another node */
    const struct ompi_osc_ops *ops;
    char *mapped;     /* for MPI_Win_shared_query; NULL: it is not mapped in this process */
    uintptr_t base;   /* the address of its memory in its process */
    uint32_t started; /* how many of its posts were used */
} ompi_osc_target_t;

/* A rank of this node. */
typedef struct ompi_osc_local {
    int rank;
    unsigned local_rank; /* opal/node/node.h */
    opal_doorbell_t *doorbell;
    opal_node_view_t view; /* of its memory */
} ompi_osc_local_t;

/* What a window wants of the thread in the background (base/background.h). */
typedef enum ompi_osc_background {
    OMPI_OSC_ALONE,   /* nothing */
    OMPI_OSC_WATCHES, /* it serves messages of other nodes */
    OMPI_OSC_HEARS,   /* and those of this node */
} ompi_osc_background_t;

typedef struct ompi_osc_window {
    ompi_communicator_t *comm;
    int rank, size, flavor;
    bool is_dynamic;   /* displacements are addresses, and is_shared is asked of each address */
    bool uses_atomics; /* false: every accumulate takes a lock, or goes to `accumulates` */
    bool has_same_op;  /* hint: accumulates at the same time to a location have one operation */
    bool is_unordered; /* hint: the order of this rank's accumulates does not matter */
    bool is_mixed; /* some targets are not accessed directly: they, and this rank, need progress */
    bool all_map;  /* all ranks of this node have mapped the same region (opal/node/region.h) */
    atomic_uchar permit;  /* to all targets, of a fence; 0: those of the targets count */
    atomic_bool is_used;  /* an access since the last fence */
    atomic_bool is_dirty; /* a store since the last flush */
    atomic_bool is_sent;  /* set by components with a flush: an access may not be complete */
    ompi_osc_target_t *targets;

    /* What the ranks of this node use together (base/area.h). */
    struct ompi_osc_area *area;
    bool area_is_shared; /* false: this process alone uses it */
    int local_count, self;
    ompi_osc_local_t *locals;
    struct ompi_osc_cell *cells;
    struct ompi_osc_line *own;
    atomic_uint *internode_posts; /* of ranks on other nodes to this one; written under ompi_lock */

    const struct ompi_osc_ops *internode; /* synchronizes with other nodes; NULL: there are none */
    /* Gets the accumulates to all ranks first, also to this one; NULL: each target's component. */
    const struct ompi_osc_ops *accumulates;
    ompi_osc_background_t background;
    void *states[OMPI_OSC_COMPONENTS];
} ompi_osc_window_t;

/* One access: of put and get `origin` and `remote`; of accumulates also `op` and, if the value
 * before is wanted, `result`, else result.type is NULL. */
typedef struct ompi_osc_access {
    ompi_osc_window_t *window;
    ompi_osc_target_t *target;
    int rank;
    ompi_data_t origin, result;
    ompi_data_t remote; /* its buffer is the address in the target's process */
    ptrdiff_t shift;    /* from there to where it is mapped here, if `is_here` */
    bool is_here;
    bool is_shared; /* as in the target, of this memory */
    const ompi_op_t *op;
    /* Of a part of an accumulate that comes in frames: the bytes of `remote`'s packed data that it
     * is for. All of them if `part_bytes` is 0. */
    size_t part_from, part_bytes;
    bool wants_request;
    ompi_request_t *request; /* NULL after the call: it is complete */
} ompi_osc_access_t;

/* What a component returns if the access is not for it: the next one that reaches the target gets
 * it. It is no MPI error code. */
enum { OMPI_OSC_PASS_ON = -1 };

typedef int ompi_osc_access_fn_t(ompi_osc_access_t *access);

typedef struct ompi_osc_ops {
    const char *name;
    bool is_direct; /* it accesses mapped memory; then short accesses are not handed to it */

    /* Called when messages have begun, by all ranks of the job, and before they end. NULL: nothing
     * to do. A failure was logged. */
    opal_status_t (*start)(void);
    void (*stop)(void);

    /* Called when a window is made, after its targets and its area are known; and at its end, when
     * all accesses are done, under ompi_lock. NULL: nothing to do. */
    int (*add)(ompi_osc_window_t *window, void **state);
    void (*remove)(ompi_osc_window_t *window, void *state);

    /*
     * Collective: called when a window is made by all its ranks, behind `add`, to agree on what the
     * component does for the window; afterwards `reaches` is asked again. `state` is NULL if this
     * rank has failed before: then it takes part, so that nobody waits for it. NULL: nothing to
     * agree on.
     */
    int (*agree)(ompi_osc_window_t *window, void *state);

    /* Adds what the user should know of the component in this window, such as why it does not do
     * accumulates. NULL: nothing. */
    void (*describe)(const ompi_osc_window_t *window, opal_text_t *text);

    /* Whether it moves data to and from that rank. Required. */
    bool (*reaches)(const ompi_osc_window_t *window, int rank);

    /* Required. They return an MPI error code or OMPI_OSC_PASS_ON. The access is complete at the
     * target after a flush, and here after a local flush, or when the request is. `compare` writes
     * origin if the value there equals `with`; both have one element of an integer type. */
    ompi_osc_access_fn_t *put, *get, *accumulate;
    int (*compare)(ompi_osc_access_t *access, const void *with);

    /* Waits until the accesses to a rank are complete at the target or, if `local`, here. NULL:
     * they always are. */
    int (*flush)(ompi_osc_window_t *window, int rank, bool local);

    /* Synchronization with a rank of another node: all of them or none. `lock` waits for the lock;
     * unlock, post and complete return at once. They come to the target after the accesses before
     * them. */
    int (*lock)(ompi_osc_window_t *window, int rank, ompi_osc_lock_kind_t kind);
    int (*unlock)(ompi_osc_window_t *window, int rank, ompi_osc_lock_kind_t kind);
    int (*post)(ompi_osc_window_t *window, int rank);
    int (*complete)(ompi_osc_window_t *window, int rank);
} ompi_osc_ops_t;

/* Whether this process may access a target now. Other threads may be changing it. */
static inline ompi_osc_permit_t ompi_osc_permit(const ompi_osc_window_t *window,
                                                const ompi_osc_target_t *target)
{
    return (ompi_osc_permit_t)(atomic_load_explicit(&window->permit, memory_order_acquire) |
                               atomic_load_explicit(&target->permit, memory_order_acquire));
}

static inline ompi_osc_lock_kind_t ompi_osc_lock_held(const ompi_osc_target_t *target)
{
    return (ompi_osc_lock_kind_t)atomic_load_explicit(&target->lock, memory_order_relaxed);
}

/* What `add` returned for that window. */
OPAL_EXPORT void *ompi_osc_state(const ompi_osc_window_t *window, const ompi_osc_ops_t *ops);

#endif
