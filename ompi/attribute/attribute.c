/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of objects. See attribute.h.
 *
 * An object has a list of values, the newest first. A value stays in the list while its delete
 * callback runs, marked as busy: the callback may read the value, but no thread deletes it again.
 */
#include "ompi/attribute/attribute.h"

#include <pthread.h>
#include <stdlib.h>

#include "ompi/attribute/callback.h"
#include "ompi/attribute/value.h"

typedef struct ompi_attribute {
    struct ompi_attribute *next;
    ompi_keyval_t *keyval;        /* with a reference */
    ompi_attribute_value_t value; /* C may have a pointer into it */
    unsigned references;          /* by its list and by copies that are being made */
    bool is_busy;
} attribute_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Keyvals. */

int ompi_keyval_create(ompi_kind_t kind, ompi_attribute_copy_fn_t copy,
                       ompi_attribute_delete_fn_t delete, void *extra_state, int *number)
{
    ompi_keyval_t *keyval = malloc(sizeof *keyval);
    if (keyval == NULL)
        return MPI_ERR_NO_MEM;
    *keyval = (ompi_keyval_t){
        .kind = kind, .copy = copy, .delete = delete, .extra_state = extra_state, .references = 1};
    pthread_mutex_lock(&lock);
    bool is_entered = ompi_keyval_enter(keyval);
    pthread_mutex_unlock(&lock);
    if (!is_entered) {
        free(keyval);
        return MPI_ERR_NO_MEM;
    }
    *number = keyval->number;
    return MPI_SUCCESS;
}

int ompi_keyval_free(ompi_kind_t kind, int number)
{
    int error = MPI_ERR_KEYVAL;
    pthread_mutex_lock(&lock);
    ompi_keyval_t *keyval = ompi_keyval_find(kind, number);
    if (keyval != NULL && !keyval->is_predefined) {
        error = MPI_SUCCESS;
        if (!keyval->is_freed) {
            keyval->is_freed = true;
            ompi_keyval_release(keyval);
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

void ompi_keyval_set_language(ompi_kind_t kind, int number, ompi_language_t language)
{
    pthread_mutex_lock(&lock);
    ompi_keyval_t *keyval = ompi_keyval_find(kind, number);
    if (keyval != NULL && !keyval->is_predefined)
        keyval->language = language;
    pthread_mutex_unlock(&lock);
}

/* The list of an object, with the lock. */

static attribute_t *find(const ompi_object_t *object, int number)
{
    attribute_t *attribute = object->attributes;
    while (attribute != NULL && attribute->keyval->number != number)
        attribute = attribute->next;
    return attribute;
}

static void push(ompi_object_t *object, attribute_t *attribute)
{
    attribute->next = object->attributes;
    object->attributes = attribute;
}

static void unlink_attribute(ompi_object_t *object, attribute_t *attribute)
{
    attribute_t **link = &object->attributes;
    while (*link != attribute)
        link = &(*link)->next;
    *link = attribute->next;
}

/* Calls the delete callback without the lock. If the callback fails, the value stays. */
static int let_go(const ompi_object_t *object, attribute_t *attribute)
{
    attribute->is_busy = true;
    pthread_mutex_unlock(&lock);
    int error = ompi_keyval_call_delete(attribute->keyval, object, &attribute->value);
    pthread_mutex_lock(&lock);
    attribute->is_busy = false;
    return error;
}

static void release(attribute_t *attribute)
{
    if (--attribute->references > 0)
        return;
    ompi_keyval_release(attribute->keyval);
    free(attribute);
}

static void remove_attribute(ompi_object_t *object, attribute_t *attribute)
{
    unlink_attribute(object, attribute);
    release(attribute);
}

static int delete_attribute(ompi_object_t *object, attribute_t *attribute)
{
    int error = let_go(object, attribute);
    if (error == MPI_SUCCESS)
        remove_attribute(object, attribute);
    return error;
}

/* Replaces a value; the new value is the newest. */
static int replace(ompi_object_t *object, attribute_t *attribute, ompi_attribute_value_t value)
{
    if (attribute->is_busy)
        return MPI_ERR_KEYVAL;
    int error = let_go(object, attribute);
    if (error == MPI_SUCCESS) {
        attribute->value = value;
        unlink_attribute(object, attribute);
        push(object, attribute);
    }
    return error;
}

static int add(ompi_object_t *object, ompi_keyval_t *keyval, ompi_attribute_value_t value)
{
    attribute_t *attribute = malloc(sizeof *attribute);
    if (attribute == NULL)
        return MPI_ERR_NO_MEM;
    *attribute = (attribute_t){.keyval = keyval, .value = value, .references = 1};
    ompi_keyval_retain(keyval);
    push(object, attribute);
    return MPI_SUCCESS;
}

/* Single values. */

int ompi_attribute_set(ompi_object_t *object, int number, void *pointer)
{
    ompi_attribute_value_t value = ompi_attribute_value_of_c(pointer);
    int error = MPI_ERR_KEYVAL;
    pthread_mutex_lock(&lock);
    ompi_keyval_t *keyval = ompi_keyval_find(ompi_object_kind(object), number);
    if (keyval != NULL && !keyval->is_predefined && !keyval->is_freed) {
        attribute_t *attribute = find(object, number);
        error = attribute != NULL ? replace(object, attribute, value) : add(object, keyval, value);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

void ompi_attribute_set_language(ompi_object_t *object, int number, ompi_language_t language)
{
    pthread_mutex_lock(&lock);
    attribute_t *attribute = find(object, number);
    if (attribute != NULL && !attribute->is_busy && attribute->value.language == OMPI_LANGUAGE_C)
        attribute->value =
            ompi_attribute_value_of_fortran(language, (MPI_Aint)attribute->value.is.pointer);
    pthread_mutex_unlock(&lock);
}

int ompi_attribute_predefine(ompi_object_t *object, int number, void *value)
{
    int error = MPI_ERR_KEYVAL;
    pthread_mutex_lock(&lock);
    ompi_keyval_t *keyval = ompi_keyval_find(ompi_object_kind(object), number);
    if (keyval != NULL && keyval->is_predefined)
        error = add(object, keyval, ompi_attribute_value_of_c(value));
    pthread_mutex_unlock(&lock);
    return error;
}

int ompi_attribute_get(ompi_object_t *object, int number, void **value, int *flag)
{
    int error = MPI_ERR_KEYVAL;
    ompi_kind_t kind = ompi_object_kind(object);
    pthread_mutex_lock(&lock);
    const ompi_keyval_t *keyval = ompi_keyval_find(kind, number);
    if (keyval != NULL && keyval->is_predefined && kind == OMPI_COMM) {
        *flag = ompi_attribute_of_comms(number, value);
        error = MPI_SUCCESS;
    } else if (keyval != NULL) {
        attribute_t *attribute = find(object, number);
        *flag = attribute != NULL;
        if (attribute != NULL)
            *value = ompi_attribute_value_in_c(&attribute->value);
        error = MPI_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* Of a value that the library has set. */
static MPI_Aint predefined_in_fortran(const ompi_keyval_t *keyval, void *in_c)
{
    switch (keyval->language) {
    case OMPI_LANGUAGE_FORTRAN:
        return *(MPI_Aint *)in_c;
    case OMPI_LANGUAGE_FORTRAN_MPI1: /* other threads change MPI_LASTUSEDCODE */
        return __atomic_load_n((MPI_Fint *)in_c, __ATOMIC_RELAXED);
    default:
        return (MPI_Aint)in_c;
    }
}

MPI_Aint ompi_attribute_in_fortran(ompi_object_t *object, int number, void *in_c)
{
    MPI_Aint value = (MPI_Aint)in_c;
    pthread_mutex_lock(&lock);
    const ompi_keyval_t *keyval = ompi_keyval_find(ompi_object_kind(object), number);
    attribute_t *attribute = find(object, number);
    if (keyval != NULL && keyval->is_predefined)
        value = predefined_in_fortran(keyval, in_c);
    else if (attribute != NULL && ompi_attribute_value_in_c(&attribute->value) == in_c)
        value = ompi_attribute_value_in_fortran(&attribute->value);
    pthread_mutex_unlock(&lock);
    return value;
}

int ompi_attribute_delete(ompi_object_t *object, int number)
{
    int error = MPI_ERR_KEYVAL;
    pthread_mutex_lock(&lock);
    const ompi_keyval_t *keyval = ompi_keyval_find(ompi_object_kind(object), number);
    attribute_t *attribute = find(object, number);
    if (keyval != NULL && !keyval->is_predefined && attribute != NULL && !attribute->is_busy)
        error = delete_attribute(object, attribute);
    pthread_mutex_unlock(&lock);
    return error;
}

/* All values. */

/* The newest value that no thread is deleting; with the lock. */
static attribute_t *newest(const ompi_object_t *object)
{
    attribute_t *attribute = object->attributes;
    while (attribute != NULL && attribute->is_busy)
        attribute = attribute->next;
    return attribute;
}

/* Deletes the values of an object that no user will see, whatever their callbacks return. */
static void discard_all(ompi_object_t *object)
{
    attribute_t *attribute;
    pthread_mutex_lock(&lock);
    while ((attribute = newest(object)) != NULL) {
        let_go(object, attribute);
        remove_attribute(object, attribute);
    }
    pthread_mutex_unlock(&lock);
}

/* What a copy is made of: a value as it was, and its attribute, with a reference. */
typedef struct original {
    attribute_t *attribute;
    ompi_attribute_value_t value;
} original_t;

/* A picture of the list, the newest first; with the lock. */
static original_t *snapshot(const ompi_object_t *object, size_t *count)
{
    *count = 0;
    for (const attribute_t *from = object->attributes; from != NULL; from = from->next)
        ++*count;
    original_t *all = malloc(*count * sizeof *all);
    if (all == NULL)
        return NULL;
    size_t used = 0;
    for (attribute_t *from = object->attributes; from != NULL; from = from->next) {
        all[used++] = (original_t){.attribute = from, .value = from->value};
        from->references++;
    }
    return all;
}

/* What C gets. A pointer to an integer is to that of the original, which the callback may keep. */
static void *in_c_of(const original_t *original)
{
    return original->value.language == OMPI_LANGUAGE_C ? original->value.is.pointer
                                                       : &original->attribute->value.is;
}

/* Without the lock. */
static int copy_attribute(const ompi_object_t *from, ompi_object_t *to, const original_t *original)
{
    attribute_t *attribute = original->attribute;
    ompi_attribute_value_t copy;
    int flag;
    int error = ompi_keyval_call_copy(attribute->keyval, from, &original->value, in_c_of(original),
                                      &copy, &flag);
    if (error != MPI_SUCCESS || !flag)
        return error;
    pthread_mutex_lock(&lock);
    error = add(to, attribute->keyval, copy);
    pthread_mutex_unlock(&lock);
    if (error != MPI_SUCCESS)
        ompi_keyval_call_delete(attribute->keyval, to, &copy); /* `to` did not get it */
    return error;
}

int ompi_attributes_copy_all(ompi_object_t *from, ompi_object_t *to)
{
    size_t count = 0;
    original_t *all = NULL;
    int error = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    if (from->attributes != NULL) {
        all = snapshot(from, &count);
        error = all != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    pthread_mutex_unlock(&lock);
    if (all == NULL)
        return error;

    for (size_t i = count; i > 0 && error == MPI_SUCCESS; i--)
        error = copy_attribute(from, to, &all[i - 1]);
    if (error != MPI_SUCCESS)
        discard_all(to);

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        release(all[i].attribute);
    pthread_mutex_unlock(&lock);
    free(all);
    return error;
}

int ompi_attributes_delete_all(ompi_object_t *object)
{
    int error = MPI_SUCCESS;
    attribute_t *attribute;
    pthread_mutex_lock(&lock);
    while (error == MPI_SUCCESS && (attribute = newest(object)) != NULL)
        error = delete_attribute(object, attribute);
    pthread_mutex_unlock(&lock);
    return error;
}

void ompi_attributes_forget_all(ompi_object_t *object)
{
    pthread_mutex_lock(&lock);
    while (object->attributes != NULL)
        remove_attribute(object, object->attributes);
    pthread_mutex_unlock(&lock);
}
