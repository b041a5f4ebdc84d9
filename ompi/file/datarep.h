/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data representations: how elements look in a file.
 *
 *   native, internal   as in memory
 *   external32         big-endian, with the sizes of the standard (ompi/datatype/external.h)
 *   others             registered by the program, with functions that convert
 *
 * Threading: any. Representations are never taken away before MPI ends.
 */
#ifndef OMPI_DATAREP_H
#define OMPI_DATAREP_H

#include "ompi/datatype/datatype.h"
#include "ompi/object/ints.h"

typedef struct ompi_datarep ompi_datarep_t;

/* The program's function, in one of two forms; neither: MPI_CONVERSION_FN_NULL. */
typedef struct ompi_datarep_fn {
    MPI_Datarep_conversion_function *small;
    MPI_Datarep_conversion_function_c *large;
} ompi_datarep_fn_t;

/* What the wrappers of MPI_Register_datarep and MPI_Register_datarep_c make of their arguments. */
static inline ompi_datarep_fn_t ompi_datarep_fn_small(MPI_Datarep_conversion_function *function)
{
    return (ompi_datarep_fn_t){.small = function};
}

static inline ompi_datarep_fn_t ompi_datarep_fn_large(MPI_Datarep_conversion_function_c *function)
{
    return (ompi_datarep_fn_t){.large = function};
}

/* NULL: there is none of that name. */
const ompi_datarep_t *ompi_datarep_find(const char *name);
const char *ompi_datarep_name(const ompi_datarep_t *datarep);

/* MPI_Register_datarep: MPI_ERR_DUP_DATAREP, MPI_ERR_ARG (a name that is too long or empty),
 * MPI_ERR_NO_MEM. */
int ompi_datarep_register(const char *name, ompi_datarep_fn_t read, ompi_datarep_fn_t write,
                          MPI_Datarep_extent_function *extent, void *extra_state);
void ompi_datarep_fini(void);

/* The representation that was registered with this state calls `release` with it when MPI ends. For
 * the Fortran library, after the call of C's function: nothing is done if a tool has changed the
 * state meanwhile. */
OPAL_EXPORT void ompi_datarep_set_release(const void *extra_state, void (*release)(void *state));

/* Whether bytes in memory and in the file are the same, which they also are without any function
 * that converts. Short paths ask this alone. */
bool ompi_datarep_is_native(const ompi_datarep_t *datarep);

/* The bytes of an element in the file. MPI_ERR_CONVERSION: the representation has no size for it.
 */
int ompi_datarep_element_bytes(const ompi_datarep_t *datarep, const ompi_basic_t *basic,
                               size_t *bytes);

/* How a type lies in a file: the type itself or a new one, with a reference for the caller. All
 * elements are byte-aligned, but for native bytes. MPI_ERR_CONVERSION, MPI_ERR_VALUE_TOO_LARGE,
 * MPI_ERR_NO_MEM. */
int ompi_datarep_layout(const ompi_datarep_t *datarep, ompi_datatype_t *type,
                        ompi_datatype_t **layout);

/* MPI_File_get_type_extent. */
int ompi_datarep_extent(const ompi_datarep_t *datarep, ompi_datatype_t *type, MPI_Count *extent);

/* The bytes in the file of `count` elements of a type of memory; SIZE_MAX: they cannot be counted.
 */
size_t ompi_datarep_bytes(const ompi_datarep_t *datarep, ompi_datatype_t *type, size_t count);

/*
 * Convert elements [from, from + elements) of predefined types out of the data of a buffer, in the
 * order of packing, to or from `file`, which is that piece of the file's data. MPI_ERR_CONVERSION:
 * the program's function failed, or there is none and elements are not as long as in memory.
 */
int ompi_datarep_write(const ompi_datarep_t *datarep, const ompi_datatype_t *type, size_t count,
                       const void *buffer, size_t from, size_t elements, void *file);
int ompi_datarep_read(const ompi_datarep_t *datarep, const ompi_datatype_t *type, size_t count,
                      void *buffer, size_t from, size_t elements, const void *file);

/* Of the data in the file of `count` elements of a type: how many elements of predefined types lie
 * in the first `bytes`, and how many bytes that many are. */
size_t ompi_datarep_elements_in(const ompi_datarep_t *datarep, const ompi_datatype_t *type,
                                size_t count, size_t bytes);
size_t ompi_datarep_bytes_of(const ompi_datarep_t *datarep, const ompi_datatype_t *type,
                             size_t count, size_t elements);

#endif
