/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The head of everything that an MPI handle stands for.
 *
 * A handle is a number below 4096 if its object is predefined, and the object's address
 * otherwise (ompi/handle/handle.h). The head says that there is an object at that address at all,
 * and of which kind; it is erased before the memory is released, so that a handle that was freed is
 * mostly recognised.
 *
 * Threading: references are counted atomically at MPI_THREAD_MULTIPLE; below it only those of info
 * objects, error handlers and sessions, which threads may use at the same time at every level. The
 * handle and the kind never change. The number is atomic (number.h). The lines of the fields name
 * the locks of the error handler and the attributes.
 */
#ifndef OMPI_OBJECT_H
#define OMPI_OBJECT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "opal/include/compiler.h"
#include "ompi/api/mpi.h"

typedef enum ompi_kind {
    OMPI_COMM,
    OMPI_DATATYPE,
    OMPI_ERRHANDLER,
    OMPI_FILE,
    OMPI_GROUP,
    OMPI_INFO,
    OMPI_MESSAGE,
    OMPI_OP,
    OMPI_REQUEST,
    OMPI_SESSION,
    OMPI_WIN,
    OMPI_KIND_COUNT
} ompi_kind_t;

/* The mark of a live object; the kind is added to it. */
#define OMPI_OBJECT_MARK UINT32_C(0x4d696361)

typedef struct ompi_object {
    uint32_t mark;                     /* OMPI_OBJECT_MARK + kind while it lives, 0 afterwards */
    atomic_int number;                 /* MPI_Comm_toint's; 0: none yet. See number.h */
    atomic_int references;             /* of a predefined object: not used */
    void *handle;                      /* what the user holds */
    struct ompi_object *errhandler;    /* retained. NULL: none. Lock of errhandler.c */
    struct ompi_attribute *attributes; /* the newest of a list. Lock of attribute.c */
    void (*destroy)(struct ompi_object *object); /* frees it; NULL: it is predefined */
} ompi_object_t;

/* The head of a predefined object. */
#define OMPI_OBJECT_PREDEFINED(object_kind, object_handle)                                         \
    {                                                                                              \
        .mark = OMPI_OBJECT_MARK + (object_kind), .handle = (object_handle)                        \
    }

/* Whether there is an object of that kind. Safe for NULL and for addresses that are not aligned. */
static inline bool ompi_object_is(const void *object, ompi_kind_t kind)
{
    return object != NULL && ((uintptr_t)object & (_Alignof(ompi_object_t) - 1)) == 0 &&
           ((const ompi_object_t *)object)->mark == OMPI_OBJECT_MARK + kind;
}

static inline ompi_kind_t ompi_object_kind(const ompi_object_t *object)
{
    return (ompi_kind_t)(object->mark - OMPI_OBJECT_MARK);
}

static inline void *ompi_object_handle(const void *object)
{
    return ((const ompi_object_t *)object)->handle;
}

/* Whether MPI runs at MPI_THREAD_MULTIPLE; true also before MPI_Init. */
extern bool ompi_object_threads;

/* Whether only one thread at a time uses objects of that kind: what is said of them is changed by
 * plain loads and stores. Info objects, error handlers and sessions are for all threads at every
 * level. */
static inline bool ompi_kind_is_of_one_thread(ompi_kind_t kind)
{
    enum { OF_ALL_THREADS = 1 << OMPI_INFO | 1 << OMPI_ERRHANDLER | 1 << OMPI_SESSION };
    return !ompi_object_threads && (OF_ALL_THREADS >> kind & 1) == 0;
}

/* Initializes an object on the heap, with one reference, which is the caller's. */
static inline void ompi_object_init(ompi_object_t *object, ompi_kind_t kind,
                                    void (*destroy)(ompi_object_t *object))
{
    assert(destroy != NULL);
    object->mark = OMPI_OBJECT_MARK + kind;
    atomic_init(&object->number, 0);
    atomic_init(&object->references, 1);
    object->handle = object;
    object->errhandler = NULL;
    object->attributes = NULL;
    object->destroy = destroy;
}

/* Releases a reference; the last release destroys the object. Predefined objects have none, and
 * most are: nothing is called for them. */
OPAL_EXPORT void ompi_object_retain_made(ompi_object_t *object);
OPAL_EXPORT void ompi_object_release_made(ompi_object_t *object);

static inline void ompi_object_retain(ompi_object_t *object)
{
    if (object->destroy != NULL)
        ompi_object_retain_made(object);
}

static inline void ompi_object_release(ompi_object_t *object)
{
    if (object->destroy != NULL)
        ompi_object_release_made(object);
}

/* Releases a reference unless it is the last one. False: it is the last one, and the caller still
 * has it. For callers without the lock that destroying the object needs. */
bool ompi_object_release_unless_last(ompi_object_t *object);

#endif
