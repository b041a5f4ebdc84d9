/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of datatypes, and their names. */
#include "ompi/datatype/datatype.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/envelope.h"
#include "ompi/datatype/receive.h"

static pthread_mutex_t name_lock = PTHREAD_MUTEX_INITIALIZER;

static void destroy_one(ompi_datatype_t *type)
{
    ompi_shape_release(&type->shape);
    ompi_envelope_destroy(type->envelope);
    free(type->name);
    free(type);
}

/* Destroying a type can destroy the types that it was made of. A program can make chains of any
 * length, so this does not recurse: a type that ends meanwhile is put on a list, linked by
 * `handle`.
 */
static void destroy(ompi_object_t *object)
{
    static _Thread_local bool is_busy;
    static _Thread_local ompi_object_t *waiting;
    object->handle = waiting;
    waiting = object;
    if (is_busy)
        return;
    is_busy = true;
    while (waiting != NULL) {
        ompi_object_t *next = waiting;
        waiting = next->handle;
        destroy_one((ompi_datatype_t *)next);
    }
    is_busy = false;
}

ompi_datatype_t *ompi_datatype_create(ompi_shape_t *shape, ompi_envelope_t *envelope)
{
    ompi_datatype_t *type = calloc(1, sizeof *type);
    if (type == NULL) {
        ompi_shape_release(shape);
        ompi_envelope_destroy(envelope);
        return NULL;
    }
    ompi_object_init(&type->head, OMPI_DATATYPE, destroy);
    ompi_datatype_set_shape(type, shape);
    type->envelope = envelope;
    atomic_init(&type->is_committed, false);
    return type;
}

void ompi_datatype_set_shape(ompi_datatype_t *type, const ompi_shape_t *shape)
{
    type->shape = *shape;
    bool is_run = ompi_datatype_is_run(type) &&
                  (MPI_Count)ompi_datatype_size(type) == ompi_datatype_extent(type);
    type->run = is_run ? ompi_datatype_size(type) : 0;
}

void ompi_datatype_commit(ompi_datatype_t *type)
{
    atomic_store_explicit(&type->is_committed, true, memory_order_relaxed);
}

bool ompi_datatype_has_whole_elements(const ompi_datatype_t *type, size_t bytes)
{
    size_t elements;
    return ompi_signature_elements(type->shape.signature, bytes, &elements);
}

int ompi_datatype_set_name(ompi_datatype_t *type, const char *name)
{
    char *copy = strndup(name, MPI_MAX_OBJECT_NAME - 1);
    if (copy == NULL)
        return MPI_ERR_NO_MEM;
    pthread_mutex_lock(&name_lock);
    char *before = type->name;
    type->name = copy;
    pthread_mutex_unlock(&name_lock);
    free(before);
    return MPI_SUCCESS;
}

void ompi_datatype_get_name(const ompi_datatype_t *type, char name[MPI_MAX_OBJECT_NAME])
{
    pthread_mutex_lock(&name_lock);
    const char *current = type->name != NULL ? type->name : type->predefined_name;
    strcpy(name, current != NULL ? current : "");
    pthread_mutex_unlock(&name_lock);
}
