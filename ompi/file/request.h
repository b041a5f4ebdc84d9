/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses that go on while the program computes. Threading: as file.h. */
#ifndef OMPI_FILE_REQUEST_H
#define OMPI_FILE_REQUEST_H

#include "ompi/file/access.h"

/* Begins a prepared access; takes it in any case. */
int ompi_access_begin(ompi_access_t *access, ompi_request_t **request);

/* Waits until no access of the file goes on. */
void ompi_file_wait_pending(ompi_file_t *file);

#endif
