/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows: memory that the ranks of a communicator show each other, as objects: what they are made
 * of, their attributes, names and hints.
 *
 * Threading: any; what does not change after its creation needs no lock, name and info have the
 * message lock.
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
    ompi_communicator_t *comm; /* of its own, with the ranks of the program's */
    ompi_win_shape_t shape;    /* what MPI_WIN_BASE ... point into */
    int model;
    void *memory;      /* what it allocated itself; NULL: nothing */
    ompi_info_t *info; /* the hints that are known */
    char name[MPI_MAX_OBJECT_NAME];
} ompi_win_t;

/*
 * Collective over comm, an intracommunicator. `memory` (may be NULL) belongs to the window, if it
 * is made. Returns an MPI error code.
 */
int ompi_win_create(const ompi_win_shape_t *shape, void *memory, ompi_info_t *info,
                    ompi_communicator_t *comm, ompi_win_t **result);

/* Collective: nobody goes on before all have come. The caller's reference is gone if it succeeds;
 * the attributes have been deleted. */
int ompi_win_free(ompi_win_t *win);

/* Takes over the known ones of the hints; MPI_ERR_NO_MEM: or a part of them. */
int ompi_win_set_hints(ompi_win_t *win, ompi_info_t *info);

#endif
