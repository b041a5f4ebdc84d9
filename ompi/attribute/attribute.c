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

typedef struct ompi_attribute {
    struct ompi_attribute *next;
    ompi_keyval_t *keyval; /* with a reference */
    void *value;
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

/* Callbacks, without the lock. */

static int call_delete(const ompi_keyval_t *keyval, const ompi_object_t *object, void *value)
{
    ompi_attribute_delete_fn_t fn = keyval->delete;
    /* The predefined callbacks have the same numbers for all kinds. */
    if (fn.comm == MPI_COMM_NULL_DELETE_FN)
        return MPI_SUCCESS;
    switch (keyval->kind) {
    case OMPI_COMM:
        return fn.comm(object->handle, keyval->number, value, keyval->extra_state);
    case OMPI_DATATYPE:
        return fn.type(object->handle, keyval->number, value, keyval->extra_state);
    case OMPI_WIN:
        return fn.win(object->handle, keyval->number, value, keyval->extra_state);
    default:
        abort(); /* ompi_keyval_create is given one of these */
    }
}

static int call_copy(const ompi_keyval_t *keyval, const ompi_object_t *object, void *value,
                     void **copy, int *flag)
{
    ompi_attribute_copy_fn_t fn = keyval->copy;
    *flag = fn.comm == MPI_COMM_DUP_FN;
    *copy = value;
    if (fn.comm == MPI_COMM_NULL_COPY_FN || fn.comm == MPI_COMM_DUP_FN)
        return MPI_SUCCESS;
    switch (keyval->kind) {
    case OMPI_COMM:
        return fn.comm(object->handle, keyval->number, keyval->extra_state, value, copy, flag);
    case OMPI_DATATYPE:
        return fn.type(object->handle, keyval->number, keyval->extra_state, value, copy, flag);
    case OMPI_WIN:
        return fn.win(object->handle, keyval->number, keyval->extra_state, value, copy, flag);
    default:
        abort();
    }
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
    int error = call_delete(attribute->keyval, object, attribute->value);
    pthread_mutex_lock(&lock);
    attribute->is_busy = false;
    return error;
}

static void remove_attribute(ompi_object_t *object, attribute_t *attribute)
{
    unlink_attribute(object, attribute);
    ompi_keyval_release(attribute->keyval);
    free(attribute);
}

static int delete_attribute(ompi_object_t *object, attribute_t *attribute)
{
    int error = let_go(object, attribute);
    if (error == MPI_SUCCESS)
        remove_attribute(object, attribute);
    return error;
}

/* Replaces a value; the new value is the newest. */
static int replace(ompi_object_t *object, attribute_t *attribute, void *value)
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

static int add(ompi_object_t *object, ompi_keyval_t *keyval, void *value)
{
    attribute_t *attribute = malloc(sizeof *attribute);
    if (attribute == NULL)
        return MPI_ERR_NO_MEM;
    *attribute = (attribute_t){.keyval = keyval, .value = value};
    ompi_keyval_retain(keyval);
    push(object, attribute);
    return MPI_SUCCESS;
}

/* Single values. */

int ompi_attribute_set(ompi_object_t *object, int number, void *value)
{
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

int ompi_attribute_predefine(ompi_object_t *object, int number, void *value)
{
    int error = MPI_ERR_KEYVAL;
    pthread_mutex_lock(&lock);
    ompi_keyval_t *keyval = ompi_keyval_find(ompi_object_kind(object), number);
    if (keyval != NULL && keyval->is_predefined)
        error = add(object, keyval, value);
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
        const attribute_t *attribute = find(object, number);
        *flag = attribute != NULL;
        if (attribute != NULL)
            *value = attribute->value;
        error = MPI_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return error;
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

/* A picture of the list, with references to the keyvals, the newest first; with the lock. */
static attribute_t *snapshot(const ompi_object_t *object, size_t *count)
{
    *count = 0;
    for (const attribute_t *from = object->attributes; from != NULL; from = from->next)
        ++*count;
    attribute_t *all = malloc(*count * sizeof *all);
    if (all == NULL)
        return NULL;
    size_t used = 0;
    for (const attribute_t *from = object->attributes; from != NULL; from = from->next) {
        all[used++] = *from;
        ompi_keyval_retain(from->keyval);
    }
    return all;
}

/* Without the lock. */
static int copy_attribute(const ompi_object_t *from, ompi_object_t *to, const attribute_t *original)
{
    void *copy;
    int flag;
    int error = call_copy(original->keyval, from, original->value, &copy, &flag);
    if (error != MPI_SUCCESS || !flag)
        return error;
    pthread_mutex_lock(&lock);
    error = add(to, original->keyval, copy);
    pthread_mutex_unlock(&lock);
    if (error != MPI_SUCCESS)
        call_delete(original->keyval, to, copy); /* `to` did not get it */
    return error;
}

int ompi_attributes_copy_all(ompi_object_t *from, ompi_object_t *to)
{
    size_t count = 0;
    attribute_t *all = NULL;
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
        ompi_keyval_release(all[i].keyval);
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
