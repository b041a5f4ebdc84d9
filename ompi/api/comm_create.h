/* SPDX-License-Identifier: BSD-3-Clause */
/* What bodies that make communicators share. */
#ifndef OMPI_API_COMM_CREATE_H
#define OMPI_API_COMM_CREATE_H

/* Adds a sentence to a result of ompi/comm_create/create.h, which becomes an error code of MPI. */
int ompi_api_set_creation_error(int error);

#endif
