/* Made by ompi/api/generate.py out of sample.tbl. */

#include "ompi/api/bodies.h"

OPAL_EXPORT int PMICA_Tame(int arms, MPI_Fleet fleet)
{
    static const char call[] =
        "MICA_Tame(arms=%d, fleet=%p)";
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, arms, fleet_object);
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", arms, fleet_object);
        }
        if (!(arms >= 0 || arms == MPI_ANY)) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_ARG, call, "arms", arms,
                fleet_object);
        }
    }
    int outcome = ompi_api_mica_tame(arms, fleet_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, call, arms, fleet_object);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MICA_Tame, PMICA_Tame);
