/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of sections. The memory of a copy has room for all that a request needs to know about it,
 * so that attaching cannot fail.
 */
#include "ompi/fortran/copy.h"

#include <stdlib.h>

#include "ompi/datatype/datatype.h"
#include "ompi/handle/handle.h"
#include "ompi/request/callbacks.h"

/* Elements are at most as long as the memory is, and lie at addresses that malloc would give. */
typedef struct ompi_fortran_made_copy {
    ompi_fortran_message_t section; /* all of it, as bytes */
    size_t bytes;

    /* Of a copy that is attached to a request. */
    bool is_written;
    struct ompi_fortran_made_copy *next; /* of the same request */
    ompi_request_callbacks_t callbacks;  /* of the first one */

    _Alignas(max_align_t) char elements[];
} made_copy_t;

/* -- elements -------------------------------------------------------------------------------- */

static void take_elements(made_copy_t *copy)
{
    ompi_datatype_pack(copy->section.made, 1, copy->section.buffer, 0, copy->elements, copy->bytes);
}

static void put_elements(const made_copy_t *copy)
{
    ompi_datatype_unpack(copy->section.made, 1, copy->section.buffer, 0, copy->elements,
                         copy->bytes);
}

static size_t bytes_of(const ompi_fortran_array_t *array)
{
    size_t bytes = array->element_bytes;
    for (int i = 0; i < array->rank; i++)
        bytes *= (size_t)array->dims[i].extent;
    return bytes;
}

ompi_fortran_copy_t ompi_fortran_copy_of_section(const ompi_fortran_array_t *array)
{
    const ompi_fortran_copy_t failed = {.buffer = array->base, .has_failed = true};
    size_t bytes = bytes_of(array);
    made_copy_t *copy = malloc(sizeof *copy + bytes);
    if (copy == NULL)
        return failed;
    copy->section = ompi_fortran_message_of_section(array, (MPI_Count)bytes, MPI_BYTE);
    copy->bytes = bytes;
    if (copy->section.made == NULL) { /* or MPI does not run, which it will say */
        free(copy);
        return failed;
    }
    take_elements(copy);
    return (ompi_fortran_copy_t){.buffer = copy->elements, .made = copy};
}

static void destroy(made_copy_t *copy)
{
    ompi_fortran_message_end(&copy->section);
    free(copy);
}

void ompi_fortran_copy_release(made_copy_t *copy, bool is_written)
{
    if (is_written)
        put_elements(copy);
    destroy(copy);
}

/* -- copies of requests ---------------------------------------------------------------------- */

static made_copy_t *first_of(ompi_request_callbacks_t *callbacks)
{
    return opal_container_of(callbacks, made_copy_t, callbacks);
}

static void on_start(ompi_request_callbacks_t *callbacks)
{
    for (made_copy_t *copy = first_of(callbacks); copy != NULL; copy = copy->next)
        take_elements(copy);
}

static void on_complete(ompi_request_callbacks_t *callbacks)
{
    for (made_copy_t *copy = first_of(callbacks); copy != NULL; copy = copy->next) {
        if (copy->is_written)
            put_elements(copy);
    }
}

static void on_end(ompi_request_callbacks_t *callbacks)
{
    for (made_copy_t *copy = first_of(callbacks), *next; copy != NULL; copy = next) {
        next = copy->next;
        destroy(copy);
    }
}

void ompi_fortran_copy_attach(MPI_Request request, ompi_fortran_copy_t *copies[],
                              const bool is_written[], int count)
{
    made_copy_t *first = NULL;
    for (int i = 0; i < count; i++) {
        made_copy_t *copy = copies[i]->made;
        if (copy == NULL)
            continue;
        copies[i]->made = NULL;
        copy->is_written = is_written[i];
        copy->next = first;
        first = copy;
    }
    if (first == NULL)
        return;
    first->callbacks = (ompi_request_callbacks_t){
        .on_start = on_start, .on_complete = on_complete, .on_end = on_end};
    ompi_request_t *object = ompi_handle_object(request);
    if (object == NULL) {
        on_end(&first->callbacks);
        return;
    }
    ompi_lock();
    ompi_request_attach(object, &first->callbacks);
    ompi_unlock();
}
