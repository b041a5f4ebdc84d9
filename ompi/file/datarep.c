/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Representations: their list, the sizes of elements, and conversion.
 *
 * What a representation with sizes of its own needs to know of a type is in its signature, whose
 * parts say how many bytes or elements can be passed in one step.
 */
#include "ompi/file/datarep.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/external.h"
#include "ompi/datatype/predefined.h"

typedef enum kind { NATIVE, EXTERNAL32, REGISTERED } kind_t;

struct ompi_datarep {
    const char *name;
    kind_t kind;
    ompi_datarep_fn_t read, write; /* neither form: native bytes in that direction */
    MPI_Datarep_extent_function *extent;
    void *extra_state;
    void (*release)(void *extra_state); /* or NULL */
    ompi_datarep_t *next;
};

static const ompi_datarep_t predefined[] = {
    {.name = "native", .kind = NATIVE},
    {.name = "internal", .kind = NATIVE},
    {.name = "external32", .kind = EXTERNAL32},
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static ompi_datarep_t *registered; /* under list_lock; the newest is first */

/* The caller holds list_lock. */
static const ompi_datarep_t *find_locked(const char *name)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(predefined); i++) {
        if (strcmp(name, predefined[i].name) == 0)
            return &predefined[i];
    }
    const ompi_datarep_t *datarep = registered;
    while (datarep != NULL && strcmp(name, datarep->name) != 0)
        datarep = datarep->next;
    return datarep;
}

const ompi_datarep_t *ompi_datarep_find(const char *name)
{
    pthread_mutex_lock(&list_lock);
    const ompi_datarep_t *datarep = find_locked(name);
    pthread_mutex_unlock(&list_lock);
    return datarep;
}

const char *ompi_datarep_name(const ompi_datarep_t *datarep)
{
    return datarep->name;
}

static void destroy(ompi_datarep_t *datarep)
{
    free((char *)datarep->name);
    free(datarep);
}

int ompi_datarep_register(const char *name, ompi_datarep_fn_t read, ompi_datarep_fn_t write,
                          MPI_Datarep_extent_function *extent, void *extra_state)
{
    size_t length = strlen(name);
    if (length == 0 || length >= MPI_MAX_DATAREP_STRING)
        return MPI_ERR_ARG;
    ompi_datarep_t *datarep = calloc(1, sizeof *datarep);
    char *copy = strdup(name);
    if (datarep == NULL || copy == NULL) {
        free(datarep);
        free(copy);
        return MPI_ERR_NO_MEM;
    }
    *datarep = (ompi_datarep_t){copy, REGISTERED, read, write, extent, extra_state, NULL, NULL};
    pthread_mutex_lock(&list_lock);
    bool is_new = find_locked(name) == NULL;
    if (is_new) {
        datarep->next = registered;
        registered = datarep;
    }
    pthread_mutex_unlock(&list_lock);
    if (!is_new)
        destroy(datarep);
    return is_new ? MPI_SUCCESS : MPI_ERR_DUP_DATAREP;
}

void ompi_datarep_set_release(const void *extra_state, void (*release)(void *state))
{
    pthread_mutex_lock(&list_lock);
    ompi_datarep_t *datarep = registered;
    while (datarep != NULL && datarep->extra_state != extra_state)
        datarep = datarep->next;
    if (datarep != NULL)
        datarep->release = release;
    pthread_mutex_unlock(&list_lock);
}

void ompi_datarep_fini(void)
{
    while (registered != NULL) {
        ompi_datarep_t *datarep = registered;
        registered = datarep->next;
        if (datarep->release != NULL)
            datarep->release(datarep->extra_state);
        destroy(datarep);
    }
}

static bool has_function(ompi_datarep_fn_t function)
{
    return function.small != NULL || function.large != NULL;
}

bool ompi_datarep_is_native(const ompi_datarep_t *datarep)
{
    return datarep->kind == NATIVE ||
           (datarep->kind == REGISTERED && !has_function(datarep->read) &&
            !has_function(datarep->write));
}

/* Sizes. */

int ompi_datarep_element_bytes(const ompi_datarep_t *datarep, const ompi_basic_t *basic,
                               size_t *bytes)
{
    MPI_Aint extent = 0;
    if (datarep->kind != REGISTERED) {
        *bytes = (size_t)basic->numbers *
                 (datarep->kind == NATIVE ? basic->bytes : basic->external_bytes);
        return MPI_SUCCESS;
    }
    MPI_Datatype handle = ompi_object_handle(ompi_datatype_of_basic(basic));
    if (datarep->extent == NULL ||
        datarep->extent(handle, &extent, datarep->extra_state) != MPI_SUCCESS || extent <= 0)
        return MPI_ERR_CONVERSION;
    *bytes = (size_t)extent;
    return MPI_SUCCESS;
}

/* The bytes of a signature in the file. false: the representation has no size for an element, or
 * there are too many bytes. */
static bool measure(const ompi_datarep_t *datarep, const ompi_signature_t *signature, size_t *bytes)
{
    size_t sum = 0, part;
    if (ompi_datarep_is_native(datarep) || datarep->kind == EXTERNAL32) {
        *bytes = datarep->kind == EXTERNAL32 ? signature->external_bytes : signature->bytes;
        return true;
    }
    if (signature->basic != NULL)
        return ompi_datarep_element_bytes(datarep, signature->basic, bytes) == MPI_SUCCESS;
    for (size_t i = 0; i < signature->count; i++) {
        if (!measure(datarep, signature->parts[i].signature, &part) ||
            __builtin_mul_overflow(part, signature->parts[i].count, &part) ||
            __builtin_add_overflow(sum, part, &sum))
            return false;
    }
    *bytes = sum;
    return true;
}

size_t ompi_datarep_bytes(const ompi_datarep_t *datarep, ompi_datatype_t *type, size_t count)
{
    size_t bytes;
    return measure(datarep, type->shape.signature, &bytes) &&
                   !__builtin_mul_overflow(bytes, count, &bytes)
               ? bytes
               : SIZE_MAX;
}

/* How far into the data of the file: whole elements, up to either limit. */
typedef struct cursor {
    size_t elements, bytes;
    size_t max_elements, max_bytes;
} cursor_t;

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Passes `count` times the signature. false: a limit was reached before. */
static bool pass(const ompi_datarep_t *datarep, const ompi_signature_t *signature, size_t count,
                 cursor_t *cursor)
{
    size_t bytes;
    if (!measure(datarep, signature, &bytes))
        return false;
    if (bytes == 0)
        return true;
    size_t whole = smallest(count, (cursor->max_elements - cursor->elements) / signature->elements,
                            (cursor->max_bytes - cursor->bytes) / bytes);
    cursor->elements += whole * signature->elements;
    cursor->bytes += whole * bytes;
    bool can_go_on = signature->basic == NULL;
    for (size_t i = 0; whole < count && can_go_on && i < signature->count; i++)
        can_go_on = pass(datarep, signature->parts[i].signature, signature->parts[i].count, cursor);
    return whole == count;
}

size_t ompi_datarep_elements_in(const ompi_datarep_t *datarep, const ompi_datatype_t *type,
                                size_t count, size_t bytes)
{
    cursor_t cursor = {.max_elements = SIZE_MAX, .max_bytes = bytes};
    pass(datarep, type->shape.signature, count, &cursor);
    return cursor.elements;
}

size_t ompi_datarep_bytes_of(const ompi_datarep_t *datarep, const ompi_datatype_t *type,
                             size_t count, size_t elements)
{
    cursor_t cursor = {.max_elements = elements, .max_bytes = SIZE_MAX};
    pass(datarep, type->shape.signature, count, &cursor);
    return cursor.bytes;
}

/* Conversion. */

/* What is converted: a range of the elements of a buffer, and where they lie in memory that has
 * them as the file has them. */
typedef struct range {
    const ompi_datatype_t *type;
    size_t count;
    void *buffer;
    size_t from, elements;
    char *file;
} range_t;

/* The bytes of the range in the buffer, if they are as many in the file. */
static int find_native(const ompi_datarep_t *datarep, const range_t *range, size_t *first,
                       size_t *bytes)
{
    size_t behind, end = range->from + range->elements;
    const ompi_signature_t *signature = range->type->shape.signature;
    if (!ompi_signature_bytes(signature, range->from, first) ||
        !ompi_signature_bytes(signature, end, &behind) ||
        ompi_datarep_bytes_of(datarep, range->type, range->count, range->from) != *first ||
        ompi_datarep_bytes_of(datarep, range->type, range->count, end) != behind)
        return MPI_ERR_CONVERSION;
    *bytes = behind - *first;
    return MPI_SUCCESS;
}

/* Calls the program's function, with no more elements than its count can say. */
static int call(const ompi_datarep_t *datarep, ompi_datarep_fn_t function, const range_t *range)
{
    MPI_Datatype handle = ompi_object_handle(range->type);
    MPI_Count most = function.large != NULL ? INT64_MAX : INT_MAX;
    size_t done = 0, base = ompi_datarep_bytes_of(datarep, range->type, range->count, range->from);
    while (done < range->elements) {
        size_t from = range->from + done, left = range->elements - done;
        MPI_Count elements = left < (size_t)most ? (MPI_Count)left : most;
        char *file =
            range->file + ompi_datarep_bytes_of(datarep, range->type, range->count, from) - base;
        int outcome = function.large != NULL
                          ? function.large(range->buffer, handle, elements, file, (MPI_Offset)from,
                                           datarep->extra_state)
                          : function.small(range->buffer, handle, (int)elements, file,
                                           (MPI_Offset)from, datarep->extra_state);
        if (outcome != MPI_SUCCESS)
            return MPI_ERR_CONVERSION;
        done += (size_t)elements;
    }
    return MPI_SUCCESS;
}

int ompi_datarep_write(const ompi_datarep_t *datarep, const ompi_datatype_t *type, size_t count,
                       const void *buffer, size_t from, size_t elements, void *file)
{
    size_t first, bytes;
    range_t range = {type, count, (void *)buffer, from, elements, file};
    if (datarep->kind == EXTERNAL32) {
        ompi_external_pack_elements(type, count, buffer, from, elements, file);
        return MPI_SUCCESS;
    }
    if (has_function(datarep->write))
        return call(datarep, datarep->write, &range);
    int outcome = find_native(datarep, &range, &first, &bytes);
    if (outcome == MPI_SUCCESS)
        ompi_datatype_pack(type, count, buffer, first, file, bytes);
    return outcome;
}

int ompi_datarep_read(const ompi_datarep_t *datarep, const ompi_datatype_t *type, size_t count,
                      void *buffer, size_t from, size_t elements, const void *file)
{
    size_t first, bytes;
    range_t range = {type, count, buffer, from, elements, (char *)file};
    if (datarep->kind == EXTERNAL32) {
        ompi_external_unpack_elements(type, count, buffer, from, elements, file);
        return MPI_SUCCESS;
    }
    if (has_function(datarep->read))
        return call(datarep, datarep->read, &range);
    int outcome = find_native(datarep, &range, &first, &bytes);
    if (outcome == MPI_SUCCESS)
        ompi_datatype_unpack(type, count, buffer, first, file, bytes);
    return outcome;
}
