/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter rma: windows as objects. */
#include <stdlib.h>
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/attribute/attribute.h"

static int create(const ompi_win_shape_t *shape, void *memory, ompi_info_t *info,
                  ompi_communicator_t *comm, ompi_win_t **win)
{
    if (ompi_comm_is_inter(comm))
        return ompi_api_set_error_detail(MPI_ERR_COMM, "A window needs an intracommunicator.");
    return ompi_win_create(shape, memory, info, comm, win);
}

int ompi_api_win_create(void *base, MPI_Aint size, MPI_Aint disp_unit, ompi_info_t *info,
                        ompi_communicator_t *comm, ompi_win_t **win)
{
    ompi_win_shape_t shape = {MPI_WIN_FLAVOR_CREATE, base, size, (int)disp_unit};
    return create(&shape, NULL, info, comm, win);
}

int ompi_api_win_allocate(MPI_Aint size, MPI_Aint disp_unit, ompi_info_t *info,
                          ompi_communicator_t *comm, void *baseptr, ompi_win_t **win)
{
    void *memory = calloc(1, size > 0 ? (size_t)size : 1);
    if (memory == NULL)
        return MPI_ERR_NO_MEM;
    ompi_win_shape_t shape = {MPI_WIN_FLAVOR_ALLOCATE, memory, size, (int)disp_unit};
    int error = create(&shape, memory, info, comm, win);
    if (error != MPI_SUCCESS)
        free(memory);
    else
        memcpy(baseptr, &memory, sizeof memory); /* a pointer to any kind of pointer */
    return error;
}

int ompi_api_win_create_dynamic(ompi_info_t *info, ompi_communicator_t *comm, ompi_win_t **win)
{
    ompi_win_shape_t shape = {MPI_WIN_FLAVOR_DYNAMIC, MPI_BOTTOM, 0, 1};
    return create(&shape, NULL, info, comm, win);
}

int ompi_api_win_free(ompi_win_t **win)
{
    int error = ompi_attributes_delete_all(&(*win)->head);
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    error = ompi_win_free(*win);
    ompi_unlock();
    if (error == MPI_SUCCESS)
        *win = NULL;
    return error;
}

int ompi_api_win_get_group(ompi_win_t *win, ompi_group_t **group)
{
    ompi_object_retain(&win->comm->group->head);
    *group = win->comm->group;
    return MPI_SUCCESS;
}

int ompi_api_win_set_name(ompi_win_t *win, const char *win_name)
{
    size_t length = strnlen(win_name, sizeof win->name - 1);
    ompi_lock();
    memcpy(win->name, win_name, length);
    win->name[length] = 0;
    ompi_unlock();
    return MPI_SUCCESS;
}

int ompi_api_win_get_name(ompi_win_t *win, char *win_name, int *resultlen)
{
    ompi_lock();
    strcpy(win_name, win != NULL ? win->name : "MPI_WIN_NULL");
    ompi_unlock();
    *resultlen = (int)strlen(win_name);
    return MPI_SUCCESS;
}

int ompi_api_win_set_info(ompi_win_t *win, ompi_info_t *info)
{
    return ompi_win_set_hints(win, info);
}

int ompi_api_win_get_info(ompi_win_t *win, ompi_info_t **info_used)
{
    ompi_info_t *info = ompi_info_dup(win->info);
    if (info == NULL)
        return MPI_ERR_NO_MEM;
    *info_used = info;
    return MPI_SUCCESS;
}
