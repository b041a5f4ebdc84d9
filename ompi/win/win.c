/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: making and ending them, and their hints. */
#include "ompi/win/win.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/attribute/attribute.h"
#include "ompi/comm_create/create.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/handle/handle.h"
#include "ompi/mca/coll/coll.h"

/* The hints of the standard, with the value that holds when the program gives none. */
static const struct {
    const char *key, *preset;
} hints[] = {
    {"no_locks", "false"},
    {"accumulate_ordering", "rar,raw,war,waw"},
    {"accumulate_ops", "same_op_no_op"},
    {"mpi_accumulate_granularity", "0"},
    {"same_size", "false"},
    {"same_disp_unit", "false"},
    {"alloc_shared_noncontig", "false"},
};

static void destroy(ompi_object_t *head)
{
    ompi_win_t *win = opal_container_of(head, ompi_win_t, head);
    if (win->info != NULL)
        ompi_object_release(&win->info->head);
    if (win->comm != NULL)
        ompi_object_release(&win->comm->head);
    free(win->memory);
    free(win);
}

int ompi_win_set_hints(ompi_win_t *win, ompi_info_t *info)
{
    char value[MPI_MAX_INFO_VAL];
    size_t length;
    int error = MPI_SUCCESS;
    for (size_t i = 0; info != NULL && i < OPAL_COUNT_OF(hints) && error == MPI_SUCCESS; i++) {
        if (ompi_info_get(info, hints[i].key, value, sizeof value, &length))
            error = ompi_info_set(win->info, hints[i].key, value);
    }
    return error;
}

static int begin_hints(ompi_win_t *win, ompi_info_t *info)
{
    win->info = ompi_info_create();
    int error = win->info != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (size_t i = 0; i < OPAL_COUNT_OF(hints) && error == MPI_SUCCESS; i++)
        error = ompi_info_set(win->info, hints[i].key, hints[i].preset);
    return error == MPI_SUCCESS ? ompi_win_set_hints(win, info) : error;
}

static int define_attributes(ompi_win_t *win)
{
    const struct {
        int keyval;
        void *value;
    } attributes[] = {
        {MPI_WIN_BASE, win->shape.base},
        {MPI_WIN_SIZE, &win->shape.size},
        {MPI_WIN_DISP_UNIT, &win->shape.disp_unit},
        {MPI_WIN_CREATE_FLAVOR, &win->shape.flavor},
        {MPI_WIN_MODEL, &win->model},
    };
    int error = MPI_SUCCESS;
    for (size_t i = 0; i < OPAL_COUNT_OF(attributes) && error == MPI_SUCCESS; i++)
        error = ompi_attribute_predefine(&win->head, attributes[i].keyval, attributes[i].value);
    return error;
}

int ompi_win_create(const ompi_win_shape_t *shape, void *memory, ompi_info_t *info,
                    ompi_communicator_t *comm, ompi_win_t **result)
{
    ompi_win_t *win = calloc(1, sizeof *win);
    if (win == NULL)
        return MPI_ERR_NO_MEM;
    ompi_object_init(&win->head, OMPI_WIN, destroy);
    ompi_errhandler_attach(&win->head, &ompi_errors_are_fatal);
    win->shape = *shape;
    win->model = MPI_WIN_UNIFIED;
    /* All ranks take part in what is collective, also those with an error. */
    int error = ompi_comm_split(comm, 0, comm->rank, NULL, &win->comm);
    if (error == MPI_SUCCESS)
        error = begin_hints(win, info);
    if (error == MPI_SUCCESS)
        error = define_attributes(win);
    if (error != MPI_SUCCESS) {
        ompi_attributes_delete_all(&win->head);
        ompi_lock();
        ompi_object_release(&win->head);
        ompi_unlock();
        return error;
    }
    win->memory = memory;
    *result = win;
    return MPI_SUCCESS;
}

int ompi_win_free(ompi_win_t *win)
{
    ompi_coll_call_t barrier = {.kind = OMPI_BARRIER, .comm = win->comm};
    int error = ompi_coll_run(&barrier);
    if (error == MPI_SUCCESS)
        ompi_object_release(&win->head);
    return error;
}
