/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of the table whose objects do not exist yet, for generator.test. One that is built goes. */
#ifndef TEST_GOLDEN_UNBUILT_H
#define TEST_GOLDEN_UNBUILT_H

#include "ompi/api/wrapper.h"

typedef struct ompi_session ompi_session_t;

/* A function of the user's that is another one for X_c. */
typedef struct ompi_datarep_fn {
    MPI_Datarep_conversion_function *small;
    MPI_Datarep_conversion_function_c *large;
} ompi_datarep_fn_t;

#define ompi_datarep_fn_small(fn) ((ompi_datarep_fn_t){.small = (fn)})
#define ompi_datarep_fn_large(fn) ((ompi_datarep_fn_t){.large = (fn)})

#endif
