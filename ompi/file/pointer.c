/* SPDX-License-Identifier: BSD-3-Clause */
/* The word of the area, or that of rank 0 by a window. */
#include "ompi/file/pointer.h"

#include <stdlib.h>

#include "ompi/attribute/attribute.h"
#include "ompi/file/file.h"
#include "ompi/handle/handle.h"
#include "ompi/request/request.h"
#include "ompi/win/win.h"

struct ompi_file_pointer {
    _Atomic uint64_t *word; /* in the area; NULL: there is a window */
    ompi_win_t *window;     /* of rank 0's `own`, which has a lock of all ranks */
    uint64_t own;
};

/* -- the window ------------------------------------------------------------------------------ */

static int make_window(ompi_file_pointer_t *pointer, ompi_communicator_t *comm)
{
    ompi_win_shape_t shape = {.flavor = MPI_WIN_FLAVOR_CREATE,
                              .base = &pointer->own,
                              .size = comm->rank == 0 ? sizeof pointer->own : 0,
                              .disp_unit = 1};
    int error = ompi_win_create(&shape, NULL, comm, &pointer->window);
    if (error != MPI_SUCCESS)
        return error;
    /* Nobody locks it otherwise, so this sends nothing. */
    return ompi_win_lock(pointer->window, MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK);
}

/* The window stays if the ranks cannot agree on its end, because one of them has ended. */
static void free_window(ompi_file_pointer_t *pointer)
{
    ompi_win_unlock(pointer->window, 0);
    ompi_attributes_delete_all(&pointer->window->head);
    ompi_win_free(&pointer->window);
}

/* Its request says what has become of this access alone: a flush is one of all threads. */
static int fetch(ompi_file_pointer_t *pointer, MPI_Op op, int64_t value, int64_t *before)
{
    ompi_datatype_t *type = ompi_datatype_of(MPI_INT64_T);
    int64_t was;
    ompi_data_t origin = {&value, 1, type}, result = {&was, 1, type};
    ompi_win_remote_t remote = {.rank = 0, .count = 1, .type = type};
    ompi_request_t *request;
    int error = ompi_win_accumulate(pointer->window, origin, &result, &remote,
                                    ompi_handle_object(op), &request);
    if (error != MPI_SUCCESS) /* the word is there for as long as its process is */
        return error == MPI_ERR_RMA_RANGE ? MPI_ERR_PROC_ABORTED : error;
    ompi_lock();
    ompi_request_wait(&request, 1, 1);
    error = ompi_request_finish(&request, MPI_STATUS_IGNORE);
    ompi_unlock();
    if (error == MPI_SUCCESS)
        *before = was;
    return error;
}

/* -- the pointer ----------------------------------------------------------------------------- */

int ompi_file_pointer_create(ompi_communicator_t *comm, ompi_file_area_t *area, int error,
                             ompi_file_pointer_t **result)
{
    ompi_file_pointer_t *pointer = error == MPI_SUCCESS ? calloc(1, sizeof *pointer) : NULL;
    if (error == MPI_SUCCESS && pointer == NULL)
        error = MPI_ERR_NO_MEM;
    error = ompi_file_agree(comm, error);
    if (error != MPI_SUCCESS || pointer == NULL) {
        free(pointer);
        return error;
    }
    if (area->nodes == 1)
        pointer->word = &area->memory->pointer;
    else
        error = make_window(pointer, comm);
    if (error == MPI_SUCCESS)
        *result = pointer;
    else if (pointer->window == NULL)
        free(pointer);
    return error;
}

void ompi_file_pointer_destroy(ompi_file_pointer_t *pointer)
{
    if (pointer == NULL)
        return;
    if (pointer->window != NULL)
        free_window(pointer);
    if (pointer->window == NULL)
        free(pointer);
}

static bool can_move(int64_t before, int64_t etypes)
{
    int64_t after;
    return !__builtin_add_overflow(before, etypes, &after) && after >= 0;
}

static int add_to_word(_Atomic uint64_t *word, int64_t etypes, int64_t *before)
{
    uint64_t was = atomic_load_explicit(word, memory_order_relaxed);
    do {
        if (!can_move((int64_t)was, etypes))
            return MPI_ERR_ARG;
    } while (!atomic_compare_exchange_weak_explicit(word, &was, was + (uint64_t)etypes,
                                                    memory_order_acq_rel, memory_order_relaxed));
    *before = (int64_t)was;
    return MPI_SUCCESS;
}

int ompi_file_pointer_add(ompi_file_pointer_t *pointer, int64_t etypes, int64_t *before)
{
    if (pointer->word != NULL)
        return add_to_word(pointer->word, etypes, before);
    int64_t was;
    int error = fetch(pointer, MPI_SUM, etypes, &was);
    if (error == MPI_SUCCESS && !can_move(was, etypes)) {
        error = fetch(pointer, MPI_SUM, -etypes, &was);
        return error == MPI_SUCCESS ? MPI_ERR_ARG : error;
    }
    if (error == MPI_SUCCESS)
        *before = was;
    return error;
}

int ompi_file_pointer_get(ompi_file_pointer_t *pointer, int64_t *value)
{
    if (pointer->word == NULL)
        return fetch(pointer, MPI_NO_OP, 0, value);
    *value = (int64_t)atomic_load_explicit(pointer->word, memory_order_acquire);
    return MPI_SUCCESS;
}

int ompi_file_pointer_set(ompi_file_pointer_t *pointer, int64_t value)
{
    int64_t before;
    if (pointer->word == NULL)
        return fetch(pointer, MPI_REPLACE, value, &before);
    atomic_store_explicit(pointer->word, (uint64_t)value, memory_order_release);
    return MPI_SUCCESS;
}
