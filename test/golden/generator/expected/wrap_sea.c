/* Made by ompi/api/generate.py out of sample.tbl. */

#include "ompi/api/bodies.h"

OPAL_EXPORT int PMPI_Ship(const void *buf, int count, MPI_Cargo cargo, int harbour, MPI_Fleet fleet)
{
    cargo_t *cargo_object = ompi_handle_object(cargo);
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Ship");
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Ship", "fleet");
        }
        if (!(count >= 0)) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_COUNT, "MPI_Ship", "count");
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_CARGO, "MPI_Ship", "cargo");
        }
        if (!(has_rank(fleet_object, harbour) && count >= 0)) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_RANK, "MPI_Ship", "harbour");
        }
    }
    int outcome = ompi_api_ship(buf, count, cargo_object, harbour, fleet_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, "MPI_Ship");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Ship, PMPI_Ship);

OPAL_EXPORT int PMPI_Ship_c(const void *buf, MPI_Count count, MPI_Cargo cargo, int harbour,
    MPI_Fleet fleet)
{
    cargo_t *cargo_object = ompi_handle_object(cargo);
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Ship_c");
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Ship_c", "fleet");
        }
        if (!(count >= 0)) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_COUNT, "MPI_Ship_c", "count");
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_CARGO, "MPI_Ship_c", "cargo");
        }
        if (!(has_rank(fleet_object, harbour) && count >= 0)) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_RANK, "MPI_Ship_c", "harbour");
        }
    }
    int outcome = ompi_api_ship(buf, count, cargo_object, harbour, fleet_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, "MPI_Ship_c");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Ship_c, PMPI_Ship_c);

OPAL_EXPORT int PMPI_Load(const int amounts[], MPI_Fleet fleet, MPI_Cargo *loaded)
{
    fleet_t *fleet_object = ompi_handle_object(fleet);
    cargo_t *loaded_object = NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_wrong_state("MPI_Load");
        }
        if (!(is_fleet(fleet_object))) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Load", "fleet");
        }
        if (!(loaded != NULL)) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_bad_argument(fleet_object, MPI_ERR_ARG, "MPI_Load", "loaded");
        }
    }
    int outcome = ompi_api_load(ompi_ints_small(amounts), fleet_object, &loaded_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
        return ompi_api_fail(fleet_object, outcome, "MPI_Load");
    }
    *loaded = loaded_object != NULL ? ompi_object_handle(loaded_object) : MPI_CARGO_NULL;
    ompi_check_made(loaded_object);
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Load, PMPI_Load);

OPAL_EXPORT int PMPI_Load_c(const MPI_Count amounts[], MPI_Fleet fleet, MPI_Cargo *loaded)
{
    fleet_t *fleet_object = ompi_handle_object(fleet);
    cargo_t *loaded_object = NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_wrong_state("MPI_Load_c");
        }
        if (!(is_fleet(fleet_object))) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Load_c", "fleet");
        }
        if (!(loaded != NULL)) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_bad_argument(fleet_object, MPI_ERR_ARG, "MPI_Load_c", "loaded");
        }
    }
    int outcome = ompi_api_load(ompi_ints_large(amounts), fleet_object, &loaded_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
        return ompi_api_fail(fleet_object, outcome, "MPI_Load_c");
    }
    *loaded = loaded_object != NULL ? ompi_object_handle(loaded_object) : MPI_CARGO_NULL;
    ompi_check_made(loaded_object);
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Load_c, PMPI_Load_c);

OPAL_EXPORT int PMPI_Weigh(MPI_Cargo cargo, int *weight)
{
    cargo_t *cargo_object = ompi_handle_object(cargo);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Weigh");
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_CARGO, "MPI_Weigh", "cargo");
        }
        if (!(weight != NULL)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, "MPI_Weigh", "weight");
        }
    }
    MPI_Count weight_wide = 0;
    int outcome = ompi_api_weigh(cargo_object, &weight_wide);
    if (!((int)weight_wide == weight_wide)) {
        weight_wide = MPI_UNDEFINED;
    }
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, "MPI_Weigh");
    }
    *weight = (int)weight_wide;
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Weigh, PMPI_Weigh);

OPAL_EXPORT int PMPI_Weigh_c(MPI_Cargo cargo, MPI_Count *weight)
{
    cargo_t *cargo_object = ompi_handle_object(cargo);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Weigh_c");
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_CARGO, "MPI_Weigh_c", "cargo");
        }
        if (!(weight != NULL)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, "MPI_Weigh_c", "weight");
        }
    }
    int outcome = ompi_api_weigh(cargo_object, weight);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, "MPI_Weigh_c");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Weigh_c, PMPI_Weigh_c);

OPAL_EXPORT int PMPI_Weigh_x(MPI_Cargo cargo, MPI_Count *weight)
{
    cargo_t *cargo_object = ompi_handle_object(cargo);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Weigh_x");
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_CARGO, "MPI_Weigh_x", "cargo");
        }
        if (!(weight != NULL)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, "MPI_Weigh_x", "weight");
        }
    }
    int outcome = ompi_api_weigh(cargo_object, weight);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, "MPI_Weigh_x");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Weigh_x, PMPI_Weigh_x);

OPAL_EXPORT int PMPI_Stow(MPI_Fleet fleet, int *stowed, int *position)
{
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Stow");
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Stow", "fleet");
        }
    }
    MPI_Count stowed_wide = 0;
    MPI_Count position_wide = *position;
    int outcome = ompi_api_stow(fleet_object, &stowed_wide, &position_wide, 0);
    if (outcome == MPI_SUCCESS && !((int)stowed_wide == stowed_wide)) {
        outcome = MPI_ERR_VALUE_TOO_LARGE;
    }
    if (outcome == MPI_SUCCESS && !((int)position_wide == position_wide)) {
        outcome = MPI_ERR_VALUE_TOO_LARGE;
    }
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, "MPI_Stow");
    }
    *stowed = (int)stowed_wide;
    *position = (int)position_wide;
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Stow, PMPI_Stow);

OPAL_EXPORT int PMPI_Stow_c(MPI_Fleet fleet, MPI_Count *stowed, MPI_Count *position,
    MPI_Count *holds)
{
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Stow_c");
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Stow_c", "fleet");
        }
    }
    int outcome = ompi_api_stow(fleet_object, stowed, position, holds);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, "MPI_Stow_c");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Stow_c, PMPI_Stow_c);

OPAL_EXPORT int PMPI_Borrow(MPI_Fleet fleet, MPI_Cargo *borrowed)
{
    fleet_t *fleet_object = ompi_handle_object(fleet);
    cargo_t *borrowed_object = NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            OMPI_API_NOTHING(borrowed, MPI_CARGO_NULL);
            return ompi_api_wrong_state("MPI_Borrow");
        }
        if (!(is_fleet(fleet_object))) {
            OMPI_API_NOTHING(borrowed, MPI_CARGO_NULL);
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Borrow", "fleet");
        }
        if (!(borrowed != NULL)) {
            OMPI_API_NOTHING(borrowed, MPI_CARGO_NULL);
            return ompi_api_bad_argument(fleet_object, MPI_ERR_ARG, "MPI_Borrow", "borrowed");
        }
    }
    int outcome = ompi_api_borrow(fleet_object, &borrowed_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        OMPI_API_NOTHING(borrowed, MPI_CARGO_NULL);
        return ompi_api_fail(fleet_object, outcome, "MPI_Borrow");
    }
    *borrowed = borrowed_object != NULL ? ompi_object_handle(borrowed_object) : MPI_CARGO_NULL;
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Borrow, PMPI_Borrow);

OPAL_EXPORT int PMPI_Sink(MPI_Fleet *fleet)
{
    fleet_t *fleet_object = fleet != NULL ? ompi_handle_object(*fleet) : NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Sink");
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Sink", "fleet");
        }
    }
    ompi_check_entry_t *const fleet_entry = ompi_check_take(fleet_object);
    int outcome = ompi_api_sink(&fleet_object);
    *fleet = fleet_object != NULL ? ompi_object_handle(fleet_object) : MPI_FLEET_NULL;
    ompi_check_settle(fleet_entry, fleet_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, "MPI_Sink");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Sink, PMPI_Sink);

OPAL_EXPORT int PMPI_Drop(MPI_Cargo *dropped)
{
    cargo_t *dropped_object = NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            OMPI_API_NOTHING(dropped, MPI_CARGO_NULL);
            return ompi_api_wrong_state("MPI_Drop");
        }
        if (!(dropped != NULL)) {
            OMPI_API_NOTHING(dropped, MPI_CARGO_NULL);
            return ompi_api_bad_argument(harbour_of(NULL), MPI_ERR_ARG, "MPI_Drop", "dropped");
        }
    }
    int outcome = ompi_api_drop(&dropped_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        OMPI_API_NOTHING(dropped, MPI_CARGO_NULL);
        return ompi_api_fail(harbour_of(NULL), outcome, "MPI_Drop");
    }
    *dropped = dropped_object != NULL ? ompi_object_handle(dropped_object) : MPI_CARGO_NULL;
    ompi_check_made(dropped_object);
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Drop, PMPI_Drop);

OPAL_EXPORT int PMPI_Race(MPI_Fleet fleet)
{
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Race");
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Race", "fleet");
        }
    }
    int outcome = ompi_api_cruise(fleet_object, 9);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, "MPI_Race");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Race, PMPI_Race);

OPAL_EXPORT int PMPI_Cruise(MPI_Fleet fleet)
{
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Cruise");
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, "MPI_Cruise", "fleet");
        }
    }
    int outcome = ompi_api_cruise(fleet_object, 3);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, "MPI_Cruise");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Cruise, PMPI_Cruise);

OPAL_EXPORT int PMPI_Dock(int pier, MPI_Fleet fleet)
{
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Dock");
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(harbour_of(NULL), MPI_ERR_FLEET, "MPI_Dock", "fleet");
        }
        if (!(pier >= 0 || pier == MPI_ANY)) {
            return ompi_api_bad_argument(harbour_of(fleet_object), MPI_ERR_ARG, "MPI_Dock", "pier");
        }
    }
    int outcome = ompi_api_dock(pier, fleet_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(harbour_of(fleet_object), outcome, "MPI_Dock");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Dock, PMPI_Dock);

OPAL_EXPORT int PMPI_Wait(void)
{
    int outcome = ompi_api_wait();
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, "MPI_Wait");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Wait, PMPI_Wait);

OPAL_EXPORT int PMPI_Depth(int *depth)
{
    if (opal_unlikely(ompi_api_checks())) {
        if (!(depth != NULL)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, "MPI_Depth", "depth");
        }
    }
    int outcome = ompi_api_depth(depth);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, "MPI_Depth");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Depth, PMPI_Depth);

OPAL_EXPORT int PMPI_Signal(int flag, ...)
{
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state("MPI_Signal");
        }
        if (!(flag >= 0 || flag == MPI_ANY)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, "MPI_Signal", "flag");
        }
    }
    int outcome = ompi_api_signal(flag);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, "MPI_Signal");
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Signal, PMPI_Signal);
