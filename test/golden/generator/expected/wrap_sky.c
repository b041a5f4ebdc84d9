/* Made by ompi/api/generate.py out of sample.tbl. */

#include "ompi/api/bodies.h"

OPAL_EXPORT int PMPI_Fly(MPI_Fleet fleet OPAL_UNUSED, ...)
{
    return ompi_api_unbuilt(ompi_handle_object(fleet), "MPI_Fly", false);
}
OMPI_API_ALIAS(MPI_Fly, PMPI_Fly);

OPAL_EXPORT int PMPI_Land(MPI_Fleet *fleet OPAL_UNUSED)
{
    return ompi_api_unbuilt(fleet != NULL ? ompi_handle_object(*fleet) : NULL, "MPI_Land", false);
}
OMPI_API_ALIAS(MPI_Land, PMPI_Land);

OPAL_EXPORT int PMPI_Drop(MPI_Cargo *dropped OPAL_UNUSED)
{
    OMPI_API_NOTHING(dropped, MPI_CARGO_NULL);
    return ompi_api_unbuilt(harbour_of(NULL), "MPI_Drop", false);
}
OMPI_API_ALIAS(MPI_Drop, PMPI_Drop);

OPAL_EXPORT int PMPI_Hover(int whole OPAL_UNUSED)
{
    return ompi_api_unbuilt(NULL, "MPI_Hover", true);
}
OMPI_API_ALIAS(MPI_Hover, PMPI_Hover);
