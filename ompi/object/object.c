/* SPDX-License-Identifier: BSD-3-Clause */
/* Life and death of objects. */
#include "ompi/object/object.h"

#include <assert.h>

#include "ompi/errhandler/errhandler.h"
#include "ompi/object/handle.h"

void ompi_object_init(ompi_object_t *object, ompi_kind_t kind,
                      void (*destroy)(ompi_object_t *object))
{
    assert(destroy != NULL);
    object->mark = OMPI_OBJECT_MARK + kind;
    object->number = 0;
    atomic_init(&object->references, 1);
    object->handle = object;
    object->errhandler = NULL;
    object->attributes = NULL;
    object->destroy = destroy;
}

void ompi_object_retain(ompi_object_t *object)
{
    if (object->destroy != NULL)
        atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
}

void ompi_object_release(ompi_object_t *object)
{
    if (object->destroy == NULL)
        return;
    /* Release, and acquire by the last one: it sees what all others did to the object. */
    if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) > 1)
        return;
    /* Nobody else has it any more, so a look without the locks is enough. */
    if (object->errhandler != NULL)
        ompi_errhandler_detach(object);
    if (object->number != 0)
        ompi_handle_forget(object);
    object->mark = 0;
    object->destroy(object);
}
