/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared file pointer: a position in the view's data, in etypes, that all ranks move.
 *
 * On one node it is a word of the file's area. On several nodes it is a word of rank 0's memory,
 * which the others reach by one-sided operations: a window that is made when the file is opened,
 * because a rank may use the pointer alone.
 *
 * Threading: any thread, without ompi_lock.
 */
#ifndef OMPI_FILE_POINTER_H
#define OMPI_FILE_POINTER_H

#include "ompi/file/area.h"

typedef struct ompi_file_pointer ompi_file_pointer_t;

/* Collective over comm, also for a rank with an error, as ompi_file_area_create. The area stays
 * until the pointer is destroyed; it may be NULL with an error. */
int ompi_file_pointer_create(ompi_communicator_t *comm, ompi_file_area_t *area, int error,
                             ompi_file_pointer_t **pointer);
/* Collective, with a barrier if there are several areas. May be NULL. */
void ompi_file_pointer_destroy(ompi_file_pointer_t *pointer);

/*
 * Moves it, and returns where it was. MPI_ERR_ARG: it would leave 0 to 2^63 - 1, and is where it
 * was. MPI_ERR_PROC_ABORTED, of all three: there are several areas, and rank 0 has ended.
 */
int ompi_file_pointer_add(ompi_file_pointer_t *pointer, int64_t etypes, int64_t *before);
int ompi_file_pointer_get(ompi_file_pointer_t *pointer, int64_t *value);
int ompi_file_pointer_set(ompi_file_pointer_t *pointer, int64_t value);

#endif
