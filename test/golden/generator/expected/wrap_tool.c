/* Made by ompi/api/generate.py out of sample.tbl. */

#include "ompi/api/bodies.h"

OPAL_EXPORT int PMPI_T_look(char *name OPAL_UNUSED, int *name_len OPAL_UNUSED,
    int *depth OPAL_UNUSED)
{
    if (name_len != NULL && *name_len > 0) {
        OMPI_API_NOTHING(name, 0);
    }
    OMPI_API_NOTHING(name_len, 0);
    OMPI_API_NOTHING(depth, 0);
    return MPI_T_ERR_NOT_SUPPORTED;
}
OMPI_API_ALIAS(MPI_T_look, PMPI_T_look);
