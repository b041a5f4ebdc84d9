/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows as objects: memory that the ranks of a communicator expose to each other, with
 * attributes, names and hints. Communication through windows is not built yet.
 *
 * Threading: any. Name and info have the message lock; the other fields do not change.
 */
#ifndef OMPI_WIN_H
#define OMPI_WIN_H

#include "ompi/communicator/communicator.h"
#include "ompi/info/info.h"
#include "ompi/object/object.h"

/* What the program asks for; base and size are those of this rank. */
typedef struct ompi_win_shape {
    int flavor; /* MPI_WIN_FLAVOR_... */
    void *base;
    MPI_Aint size;
    int disp_unit;
} ompi_win_shape_t;

typedef struct ompi_win {
    ompi_object_t head;
    ompi_communicator_t *comm; /* its own, with the ranks of the program's */
    ompi_win_shape_t shape;    /* MPI_WIN_BASE and so on point into it */
    int model;
    void *memory;      /* that the window allocated; NULL: none */
    ompi_info_t *info; /* the hints of the standard */
    char name[MPI_MAX_OBJECT_NAME];
} ompi_win_t;

/*
 * Collective over comm, an intracommunicator. `memory` (may be NULL) belongs to the window, if it
 * is made. Returns an MPI error code.
 */
int ompi_win_create(const ompi_win_shape_t *shape, void *memory, ompi_info_t *info,
                    ompi_communicator_t *comm, ompi_win_t **result);

/* Collective, with a barrier. The caller has deleted the attributes. On success it has lost its
 * reference. */
int ompi_win_free(ompi_win_t *win);

/* Sets those hints of `info` that the standard knows; MPI_ERR_NO_MEM: only a part of them. */
int ompi_win_set_hints(ompi_win_t *win, ompi_info_t *info);

#endif
