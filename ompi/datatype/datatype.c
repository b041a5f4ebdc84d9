/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of datatypes, and their names. */
#include "ompi/datatype/datatype.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/envelope.h"
#include "ompi/datatype/predefined.h"

static pthread_mutex_t name_lock = PTHREAD_MUTEX_INITIALIZER;

static void destroy(ompi_object_t *object)
{
    ompi_datatype_t *type = (ompi_datatype_t *)object;
    ompi_shape_release(&type->shape);
    ompi_envelope_destroy(type->envelope);
    free(type->name);
    free(type);
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
    type->shape = *shape;
    type->envelope = envelope;
    atomic_init(&type->is_committed, false);
    return type;
}

void ompi_datatype_commit(ompi_datatype_t *type)
{
    atomic_store_explicit(&type->is_committed, true, memory_order_relaxed);
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
    const char *predefined = ompi_datatype_predefined_name(type);
    pthread_mutex_lock(&name_lock);
    strcpy(name, type->name != NULL ? type->name : predefined != NULL ? predefined : "");
    pthread_mutex_unlock(&name_lock);
}
