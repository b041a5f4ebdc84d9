/* SPDX-License-Identifier: BSD-3-Clause */
/* The io framework object, and the component that has the files. */
#ifndef OMPI_MCA_IO_BASE_H
#define OMPI_MCA_IO_BASE_H

#include "opal/mca/base/framework.h"
#include "ompi/mca/io/io.h"

OPAL_EXPORT extern opal_framework_t mca_io_framework;

/* Of the pool (pool.h). */
extern unsigned ompi_io_threads;

/* NULL: no component can be used. */
OPAL_EXPORT const ompi_io_ops_t *ompi_io(void);

#endif
