/* Made by ompi/api/generate.py out of sample.tbl. */

#include "ompi/api/bodies.h"

OPAL_EXPORT int PMPI_Fleet_number(MPI_Fleet fleet)
{
    return number_of(fleet);
}
OMPI_API_ALIAS(MPI_Fleet_number, PMPI_Fleet_number);

OPAL_EXPORT double PMPI_Speed(int engine)
{
    return ompi_api_speed(engine);
}
OMPI_API_ALIAS(MPI_Speed, PMPI_Speed);
