/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter io: files as a whole, views, pointers, representations. */
#include <stdio.h>

#include "ompi/api/bodies.h"

int ompi_api_file_open(ompi_communicator_t *comm, const char *filename, int amode,
                       ompi_info_t *info, ompi_file_t **fh)
{
    if (ompi_comm_is_inter(comm))
        return ompi_api_set_error_detail(MPI_ERR_COMM, "A file needs an intracommunicator.");
    return ompi_file_open(comm, filename, amode, info, fh);
}

/* The file is closed also if that fails; its error handler gets the error. */
int ompi_api_file_close(ompi_file_t **fh)
{
    ompi_file_t *file = *fh;
    ompi_object_retain(&file->head);
    int error = ompi_file_close(fh);
    if (error != MPI_SUCCESS)
        ompi_api_set_error_object(&file->head);
    ompi_lock();
    ompi_object_release(&file->head);
    ompi_unlock();
    return error;
}

int ompi_api_file_delete(const char *filename, ompi_info_t *info OPAL_UNUSED)
{
    return ompi_file_delete(filename);
}

/* -- what is known of a file ----------------------------------------------------------------- */

int ompi_api_file_get_amode(ompi_file_t *fh, int *amode)
{
    *amode = fh->amode;
    return MPI_SUCCESS;
}

int ompi_api_file_get_group(ompi_file_t *fh, ompi_group_t **group)
{
    ompi_object_retain(&fh->comm->group->head);
    *group = fh->comm->group;
    return MPI_SUCCESS;
}

int ompi_api_file_get_info(ompi_file_t *fh, ompi_info_t **info_used)
{
    ompi_info_t *info = ompi_info_create();
    int error = info != NULL ? ompi_file_hints_write(&fh->hints, info) : MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS)
        *info_used = info;
    else if (info != NULL)
        ompi_object_release(&info->head);
    return error;
}

int ompi_api_file_set_info(ompi_file_t *fh, ompi_info_t *info)
{
    return ompi_file_set_hints(fh, info);
}

int ompi_api_file_get_size(ompi_file_t *fh, MPI_Offset *size)
{
    return ompi_file_get_size(fh, size);
}

int ompi_api_file_set_size(ompi_file_t *fh, MPI_Offset size)
{
    return ompi_file_set_size(fh, size);
}

int ompi_api_file_preallocate(ompi_file_t *fh, MPI_Offset size)
{
    return ompi_file_preallocate(fh, size);
}

int ompi_api_file_sync(ompi_file_t *fh)
{
    return ompi_file_sync(fh);
}

int ompi_api_file_get_atomicity(ompi_file_t *fh, int *flag)
{
    *flag = atomic_load(&fh->is_atomic);
    return MPI_SUCCESS;
}

int ompi_api_file_set_atomicity(ompi_file_t *fh, int flag)
{
    return ompi_file_set_atomicity(fh, flag != 0);
}

/* -- views and pointers ---------------------------------------------------------------------- */

int ompi_api_file_set_view(ompi_file_t *fh, MPI_Offset disp, ompi_datatype_t *etype,
                           ompi_datatype_t *filetype, const char *datarep, ompi_info_t *info)
{
    return ompi_file_set_view(fh, disp, etype, filetype, datarep, info);
}

int ompi_api_file_get_view(ompi_file_t *fh, MPI_Offset *disp, ompi_datatype_t **etype,
                           ompi_datatype_t **filetype, char *datarep)
{
    ompi_view_t *view = ompi_file_get_view(fh);
    ompi_datatype_retain(view->etype);
    ompi_datatype_retain(view->filetype);
    *disp = view->disp;
    *etype = view->etype;
    *filetype = view->filetype;
    snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s", ompi_datarep_name(view->datarep));
    ompi_view_release(view);
    return MPI_SUCCESS;
}

int ompi_api_file_get_byte_offset(ompi_file_t *fh, MPI_Offset offset, MPI_Offset *disp)
{
    return ompi_file_get_byte_offset(fh, offset, disp);
}

int ompi_api_file_get_position(ompi_file_t *fh, MPI_Offset *offset)
{
    return ompi_file_get_position(fh, offset);
}

int ompi_api_file_get_position_shared(ompi_file_t *fh, MPI_Offset *offset)
{
    return ompi_file_get_position_shared(fh, offset);
}

int ompi_api_file_seek(ompi_file_t *fh, MPI_Offset offset, int whence)
{
    return ompi_file_seek(fh, offset, whence);
}

int ompi_api_file_seek_shared(ompi_file_t *fh, MPI_Offset offset, int whence)
{
    return ompi_file_seek_shared(fh, offset, whence);
}

/* -- representations ------------------------------------------------------------------------- */

int ompi_api_file_get_type_extent(ompi_file_t *fh, ompi_datatype_t *datatype, MPI_Count *extent)
{
    ompi_view_t *view = ompi_file_get_view(fh);
    int error = ompi_datarep_extent(view->datarep, datatype, extent);
    ompi_view_release(view);
    return error;
}

int ompi_api_register_datarep(const char *datarep, ompi_datarep_fn_t read_conversion_fn,
                              ompi_datarep_fn_t write_conversion_fn,
                              MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
    return ompi_datarep_register(datarep, read_conversion_fn, write_conversion_fn,
                                 dtype_file_extent_fn, extra_state);
}
