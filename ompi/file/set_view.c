/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_File_set_view: what may be a view of a file, and how all ranks change theirs. */
#include "opal/util/hash.h"
#include "ompi/datatype/order.h"
#include "ompi/file/file.h"
#include "ompi/file/peers.h"

/* The displacement that MPI_DISPLACEMENT_CURRENT stands for. */
static int find_displacement(ompi_file_t *file, MPI_Offset *disp)
{
    bool is_sequential = (file->amode & MPI_MODE_SEQUENTIAL) != 0;
    if ((*disp == MPI_DISPLACEMENT_CURRENT) != is_sequential)
        return ompi_file_fail(MPI_ERR_ARG,
                              is_sequential ? "The file %s is sequential, and needs the "
                                              "displacement MPI_DISPLACEMENT_CURRENT."
                                            : "MPI_DISPLACEMENT_CURRENT is for files that are "
                                              "opened with MPI_MODE_SEQUENTIAL, and %s is not.",
                              file->path);
    if (!is_sequential)
        return MPI_SUCCESS;
    int64_t position;
    int error = ompi_file_pointer_get(file->shared, &position);
    return error == MPI_SUCCESS ? ompi_file_get_byte_offset(file, position, disp) : error;
}

/* What the standard wants of displacements, besides that they are not negative. */
static int check_displacements(const ompi_file_t *file, const ompi_datatype_t *type)
{
    ompi_layout_span_t span = ompi_layout_span(type->shape.layout);
    if (!span.is_rising)
        return ompi_file_fail(MPI_ERR_IO, "The displacements of an etype or filetype decrease.");
    if ((file->amode & MPI_MODE_RDONLY) == 0 && !span.is_ordered)
        return ompi_file_fail(MPI_ERR_IO,
                              "Data of an etype or filetype overlaps, and the file %s "
                              "may be written.",
                              file->path);
    return MPI_SUCCESS;
}

static int new_view(ompi_file_t *file, MPI_Offset disp, ompi_datatype_t *etype,
                    ompi_datatype_t *filetype, const char *name, ompi_view_t **view)
{
    const char *reason = NULL;
    const ompi_datarep_t *datarep = ompi_datarep_find(name);
    if (datarep == NULL)
        return ompi_file_fail(MPI_ERR_UNSUPPORTED_DATAREP,
                              "There is no data representation \"%.*s\"; MPI_Register_datarep "
                              "defines one.",
                              MPI_MAX_DATAREP_STRING, name);
    int error = find_displacement(file, &disp);
    if (error != MPI_SUCCESS)
        return error;
    error = check_displacements(file, etype);
    if (error == MPI_SUCCESS)
        error = check_displacements(file, filetype);
    if (error != MPI_SUCCESS)
        return error;
    error = ompi_view_create(disp, etype, filetype, datarep, view, &reason);
    return error != MPI_SUCCESS && reason != NULL ? ompi_file_fail(error, "%s", reason) : error;
}

static void use_view(ompi_file_t *file, ompi_view_t *view)
{
    pthread_mutex_lock(&file->lock);
    ompi_view_t *before = file->view;
    if (file->peers != NULL)
        ompi_file_peers_renew(file->peers);
    file->view = view;
    file->position = 0;
    pthread_mutex_unlock(&file->lock);
    ompi_view_release(before);
}

/* What has to be the same in all ranks. */
static int describe_view(const ompi_view_t *view, uint64_t values[OMPI_FILE_SAME_VALUES])
{
    MPI_Count extent = 0;
    int error = ompi_datarep_extent(view->datarep, view->etype, &extent);
    values[0] = (uint64_t)extent;
    values[1] = opal_hash_text(OPAL_HASH_START, ompi_datarep_name(view->datarep));
    return error;
}

int ompi_file_set_view(ompi_file_t *file, MPI_Offset disp, ompi_datatype_t *etype,
                       ompi_datatype_t *filetype, const char *name, ompi_info_t *info)
{
    ompi_view_t *view = NULL;
    uint64_t values[OMPI_FILE_SAME_VALUES] = {0}, other = 0;
    int error = new_view(file, disp, etype, filetype, name, &view);
    if (error == MPI_SUCCESS && view != NULL) {
        error = describe_view(view, values);
        other = !view->is_run;
    }
    error = ompi_file_check_same(file->comm, error, values, OMPI_FILE_SAME_VALUES, &other,
                                 "extents of the etype, or representations");
    if (error == MPI_SUCCESS) { /* all ranks are here: no rank uses the shared pointer now */
        if (file->comm->rank == 0)
            error = ompi_file_pointer_set(file->shared, 0);
        error = ompi_file_share_hints(file, info, error);
    }
    if (error != MPI_SUCCESS) {
        ompi_view_release(view);
        return error;
    }
    use_view(file, view);
    file->has_run_views = other == 0;
    return MPI_SUCCESS;
}
