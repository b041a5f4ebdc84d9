/* SPDX-License-Identifier: BSD-3-Clause */
/* The pml of mpi_check=full: it passes all calls on to the chosen one, and looks at the buffers and
 * elements of the user's messages. */
#ifndef OMPI_PML_CHECK_H
#define OMPI_PML_CHECK_H

#include "ompi/check/check.h"
#include "ompi/mca/pml/pml.h"

/* The operations of a pml at that level of checks. One at a time. */
const ompi_pml_ops_t *ompi_pml_check(const ompi_pml_ops_t *chosen, ompi_check_level_t wanted);

/* The name of the chosen pml, with a mark for the level: what all processes that exchange messages
 * must have alike. */
const char *ompi_pml_name(void);

/* The value of mpi_check in such a name. */
const char *ompi_pml_check_level_of(const char *name);

#endif
