/* Made by ompi/api/generate.py out of sample.tbl. */

#include "ompi/api/bodies.h"

OPAL_EXPORT int PMPI_T_look(int *depth OPAL_UNUSED)
{
    return MPI_T_ERR_NOT_SUPPORTED;
}
OMPI_API_ALIAS(MPI_T_look, PMPI_T_look);
