/* SPDX-License-Identifier: BSD-3-Clause */
/* References of objects. */
#include "ompi/object/object.h"

#include "ompi/object/number.h"

bool ompi_object_threads = true;

/* Returns the references that there were. Release, and acquire by the last one: it sees what all
 * others did to the object. */
static int count(ompi_object_t *object, int change)
{
    if (!ompi_kind_is_of_one_thread(ompi_object_kind(object)))
        return atomic_fetch_add_explicit(&object->references, change, memory_order_acq_rel);
    int before = atomic_load_explicit(&object->references, memory_order_relaxed);
    atomic_store_explicit(&object->references, before + change, memory_order_relaxed);
    return before;
}

void ompi_object_retain_made(ompi_object_t *object)
{
    count(object, 1);
}

bool ompi_object_release_unless_last(ompi_object_t *object)
{
    if (object->destroy == NULL)
        return true;
    int seen = atomic_load_explicit(&object->references, memory_order_relaxed);
    while (seen > 1) {
        if (atomic_compare_exchange_weak_explicit(&object->references, &seen, seen - 1,
                                                  memory_order_release, memory_order_relaxed))
            return true;
    }
    return false;
}

void ompi_object_release_made(ompi_object_t *object)
{
    /* The holder of the only reference need not count it down. */
    if (atomic_load_explicit(&object->references, memory_order_acquire) > 1 &&
        count(object, -1) > 1)
        return;
    /* No other thread has the object any more, so its fields are read without their locks. */
    if (object->errhandler != NULL)
        ompi_object_release(object->errhandler);
    ompi_object_release_number(object);
    object->mark = 0;
    object->destroy(object);
}
