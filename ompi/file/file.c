/* SPDX-License-Identifier: BSD-3-Clause */
/* The default error handler of files. */
#include "ompi/file/file.h"

#include "ompi/errhandler/errhandler.h"

ompi_file_t ompi_file_default = {.head = {.mark = OMPI_OBJECT_MARK + OMPI_FILE,
                                          .handle = MPI_FILE_NULL,
                                          .errhandler = &ompi_errors_return.head}};

void ompi_file_fini(void)
{
    ompi_errhandler_attach(&ompi_file_default.head, &ompi_errors_return);
}
