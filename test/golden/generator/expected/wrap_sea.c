/* Made by ompi/api/generate.py out of sample.tbl. */

#include "ompi/api/bodies.h"

OPAL_EXPORT int PMPI_Ship(const void *buf, int count, MPI_Cargo cargo, int harbour, MPI_Fleet fleet)
{
    static const char call[] =
        "MPI_Ship(buf=%p, count=%d, cargo=%p, harbour=%r, fleet=%p)";
    cargo_t *cargo_object = ompi_handle_object(cargo);
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, buf, count, cargo_object, harbour, fleet_object);
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", buf, count,
                cargo_object, harbour, fleet_object);
        }
        if (!(count >= 0)) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_COUNT, call, "count", buf, count,
                cargo_object, harbour, fleet_object);
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_CARGO, call, "cargo", buf, count,
                cargo_object, harbour, fleet_object);
        }
        if (!(has_rank(fleet_object, harbour) && count >= 0)) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_RANK, call, "harbour", buf, count,
                cargo_object, harbour, fleet_object);
        }
    }
    int outcome = ompi_api_ship(buf, count, cargo_object, harbour, fleet_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, call, buf, count, cargo_object, harbour,
            fleet_object);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Ship, PMPI_Ship);

OPAL_EXPORT int PMPI_Ship_c(const void *buf, MPI_Count count, MPI_Cargo cargo, int harbour,
    MPI_Fleet fleet)
{
    static const char call[] =
        "MPI_Ship_c(buf=%p, count=%l, cargo=%p, harbour=%r, fleet=%p)";
    cargo_t *cargo_object = ompi_handle_object(cargo);
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, buf, count, cargo_object, harbour, fleet_object);
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", buf, count,
                cargo_object, harbour, fleet_object);
        }
        if (!(count >= 0)) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_COUNT, call, "count", buf, count,
                cargo_object, harbour, fleet_object);
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_CARGO, call, "cargo", buf, count,
                cargo_object, harbour, fleet_object);
        }
        if (!(has_rank(fleet_object, harbour) && count >= 0)) {
            return ompi_api_bad_argument(fleet_object, MPI_ERR_RANK, call, "harbour", buf, count,
                cargo_object, harbour, fleet_object);
        }
    }
    int outcome = ompi_api_ship(buf, count, cargo_object, harbour, fleet_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, call, buf, count, cargo_object, harbour,
            fleet_object);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Ship_c, PMPI_Ship_c);

OPAL_EXPORT int PMPI_Load(const int amounts[], MPI_Fleet fleet, MPI_Cargo *loaded)
{
    static const char call[] =
        "MPI_Load(amounts=%p, fleet=%p, loaded=%p)";
    fleet_t *fleet_object = ompi_handle_object(fleet);
    cargo_t *loaded_object = NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_wrong_state(call, amounts, fleet_object, loaded);
        }
        if (!(is_fleet(fleet_object))) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", amounts, fleet_object,
                loaded);
        }
        if (!(loaded != NULL)) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_bad_argument(fleet_object, MPI_ERR_ARG, call, "loaded", amounts,
                fleet_object, loaded);
        }
    }
    int outcome = ompi_api_load(ompi_ints_small(amounts), fleet_object, &loaded_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
        return ompi_api_fail(fleet_object, outcome, call, amounts, fleet_object, loaded);
    }
    *loaded = loaded_object != NULL ? ompi_object_handle(loaded_object) : MPI_CARGO_NULL;
    ompi_check_made(loaded_object);
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Load, PMPI_Load);

OPAL_EXPORT int PMPI_Load_c(const MPI_Count amounts[], MPI_Fleet fleet, MPI_Cargo *loaded)
{
    static const char call[] =
        "MPI_Load_c(amounts=%p, fleet=%p, loaded=%p)";
    fleet_t *fleet_object = ompi_handle_object(fleet);
    cargo_t *loaded_object = NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_wrong_state(call, amounts, fleet_object, loaded);
        }
        if (!(is_fleet(fleet_object))) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", amounts, fleet_object,
                loaded);
        }
        if (!(loaded != NULL)) {
            OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
            return ompi_api_bad_argument(fleet_object, MPI_ERR_ARG, call, "loaded", amounts,
                fleet_object, loaded);
        }
    }
    int outcome = ompi_api_load(ompi_ints_large(amounts), fleet_object, &loaded_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        OMPI_API_NOTHING(loaded, MPI_CARGO_NULL);
        return ompi_api_fail(fleet_object, outcome, call, amounts, fleet_object, loaded);
    }
    *loaded = loaded_object != NULL ? ompi_object_handle(loaded_object) : MPI_CARGO_NULL;
    ompi_check_made(loaded_object);
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Load_c, PMPI_Load_c);

OPAL_EXPORT int PMPI_Weigh(MPI_Cargo cargo, int *weight)
{
    static const char call[] =
        "MPI_Weigh(cargo=%p, weight=%p)";
    cargo_t *cargo_object = ompi_handle_object(cargo);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, cargo_object, weight);
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_CARGO, call, "cargo", cargo_object, weight);
        }
        if (!(weight != NULL)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, call, "weight", cargo_object, weight);
        }
    }
    MPI_Count weight_wide = 0;
    int outcome = ompi_api_weigh(cargo_object, &weight_wide);
    if (!((int)weight_wide == weight_wide)) {
        weight_wide = MPI_UNDEFINED;
    }
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, call, cargo_object, weight);
    }
    *weight = (int)weight_wide;
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Weigh, PMPI_Weigh);

OPAL_EXPORT int PMPI_Weigh_c(MPI_Cargo cargo, MPI_Count *weight)
{
    static const char call[] =
        "MPI_Weigh_c(cargo=%p, weight=%p)";
    cargo_t *cargo_object = ompi_handle_object(cargo);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, cargo_object, weight);
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_CARGO, call, "cargo", cargo_object, weight);
        }
        if (!(weight != NULL)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, call, "weight", cargo_object, weight);
        }
    }
    int outcome = ompi_api_weigh(cargo_object, weight);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, call, cargo_object, weight);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Weigh_c, PMPI_Weigh_c);

OPAL_EXPORT int PMPI_Weigh_x(MPI_Cargo cargo, MPI_Count *weight)
{
    static const char call[] =
        "MPI_Weigh_x(cargo=%p, weight=%p)";
    cargo_t *cargo_object = ompi_handle_object(cargo);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, cargo_object, weight);
        }
        if (!(is_cargo(cargo_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_CARGO, call, "cargo", cargo_object, weight);
        }
        if (!(weight != NULL)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, call, "weight", cargo_object, weight);
        }
    }
    int outcome = ompi_api_weigh(cargo_object, weight);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, call, cargo_object, weight);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Weigh_x, PMPI_Weigh_x);

OPAL_EXPORT int PMPI_Stow(MPI_Fleet fleet, int *stowed, int *position)
{
    static const char call[] =
        "MPI_Stow(fleet=%p, stowed=%p, position=%p)";
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, fleet_object, stowed, position);
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", fleet_object, stowed,
                position);
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
        return ompi_api_fail(fleet_object, outcome, call, fleet_object, stowed, position);
    }
    *stowed = (int)stowed_wide;
    *position = (int)position_wide;
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Stow, PMPI_Stow);

OPAL_EXPORT int PMPI_Stow_c(MPI_Fleet fleet, MPI_Count *stowed, MPI_Count *position,
    MPI_Count *holds)
{
    static const char call[] =
        "MPI_Stow_c(fleet=%p, stowed=%p, position=%p, holds=%p)";
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, fleet_object, stowed, position, holds);
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", fleet_object, stowed,
                position, holds);
        }
    }
    int outcome = ompi_api_stow(fleet_object, stowed, position, holds);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, call, fleet_object, stowed, position, holds);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Stow_c, PMPI_Stow_c);

OPAL_EXPORT int PMPI_Borrow(MPI_Fleet fleet, MPI_Cargo *borrowed)
{
    static const char call[] =
        "MPI_Borrow(fleet=%p, borrowed=%p)";
    fleet_t *fleet_object = ompi_handle_object(fleet);
    cargo_t *borrowed_object = NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            OMPI_API_NOTHING(borrowed, MPI_CARGO_NULL);
            return ompi_api_wrong_state(call, fleet_object, borrowed);
        }
        if (!(is_fleet(fleet_object))) {
            OMPI_API_NOTHING(borrowed, MPI_CARGO_NULL);
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", fleet_object,
                borrowed);
        }
        if (!(borrowed != NULL)) {
            OMPI_API_NOTHING(borrowed, MPI_CARGO_NULL);
            return ompi_api_bad_argument(fleet_object, MPI_ERR_ARG, call, "borrowed", fleet_object,
                borrowed);
        }
    }
    int outcome = ompi_api_borrow(fleet_object, &borrowed_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        OMPI_API_NOTHING(borrowed, MPI_CARGO_NULL);
        return ompi_api_fail(fleet_object, outcome, call, fleet_object, borrowed);
    }
    *borrowed = borrowed_object != NULL ? ompi_object_handle(borrowed_object) : MPI_CARGO_NULL;
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Borrow, PMPI_Borrow);

OPAL_EXPORT int PMPI_Sink(MPI_Fleet *fleet)
{
    static const char call[] =
        "MPI_Sink(fleet=%p)";
    fleet_t *fleet_object = fleet != NULL ? ompi_handle_object(*fleet) : NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, fleet);
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", fleet);
        }
    }
    ompi_check_entry_t *const fleet_entry = ompi_check_take(fleet_object);
    int outcome = ompi_api_sink(&fleet_object);
    *fleet = fleet_object != NULL ? ompi_object_handle(fleet_object) : MPI_FLEET_NULL;
    ompi_check_settle(fleet_entry, fleet_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, call, fleet);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Sink, PMPI_Sink);

OPAL_EXPORT int PMPI_Drop(MPI_Cargo *dropped)
{
    static const char call[] =
        "MPI_Drop(dropped=%p)";
    cargo_t *dropped_object = NULL;
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            OMPI_API_NOTHING(dropped, MPI_CARGO_NULL);
            return ompi_api_wrong_state(call, dropped);
        }
        if (!(dropped != NULL)) {
            OMPI_API_NOTHING(dropped, MPI_CARGO_NULL);
            return ompi_api_bad_argument(harbour_of(NULL), MPI_ERR_ARG, call, "dropped", dropped);
        }
    }
    int outcome = ompi_api_drop(&dropped_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        OMPI_API_NOTHING(dropped, MPI_CARGO_NULL);
        return ompi_api_fail(harbour_of(NULL), outcome, call, dropped);
    }
    *dropped = dropped_object != NULL ? ompi_object_handle(dropped_object) : MPI_CARGO_NULL;
    ompi_check_made(dropped_object);
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Drop, PMPI_Drop);

OPAL_EXPORT int PMPI_Race(MPI_Fleet fleet)
{
    static const char call[] =
        "MPI_Race(fleet=%p)";
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, fleet_object);
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", fleet_object);
        }
    }
    int outcome = ompi_api_cruise(fleet_object, 9);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, call, fleet_object);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Race, PMPI_Race);

OPAL_EXPORT int PMPI_Cruise(MPI_Fleet fleet)
{
    static const char call[] =
        "MPI_Cruise(fleet=%p)";
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, fleet_object);
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(NULL, MPI_ERR_FLEET, call, "fleet", fleet_object);
        }
    }
    int outcome = ompi_api_cruise(fleet_object, 3);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(fleet_object, outcome, call, fleet_object);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Cruise, PMPI_Cruise);

OPAL_EXPORT int PMPI_Dock(int pier, MPI_Fleet fleet)
{
    static const char call[] =
        "MPI_Dock(pier=%d, fleet=%p)";
    fleet_t *fleet_object = ompi_handle_object(fleet);
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, pier, fleet_object);
        }
        if (!(is_fleet(fleet_object))) {
            return ompi_api_bad_argument(harbour_of(NULL), MPI_ERR_FLEET, call, "fleet", pier,
                fleet_object);
        }
        if (!(pier >= 0 || pier == MPI_ANY)) {
            return ompi_api_bad_argument(harbour_of(fleet_object), MPI_ERR_ARG, call, "pier", pier,
                fleet_object);
        }
    }
    int outcome = ompi_api_dock(pier, fleet_object);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(harbour_of(fleet_object), outcome, call, pier, fleet_object);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Dock, PMPI_Dock);

OPAL_EXPORT int PMPI_Wait(void)
{
    static const char call[] =
        "MPI_Wait()";
    int outcome = ompi_api_wait();
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, call);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Wait, PMPI_Wait);

OPAL_EXPORT int PMPI_Depth(int *depth)
{
    static const char call[] =
        "MPI_Depth(depth=%p)";
    if (opal_unlikely(ompi_api_checks())) {
        if (!(depth != NULL)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, call, "depth", depth);
        }
    }
    int outcome = ompi_api_depth(depth);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, call, depth);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Depth, PMPI_Depth);

OPAL_EXPORT int PMPI_Signal(int flag, ...)
{
    static const char call[] =
        "MPI_Signal(flag=%d)";
    if (opal_unlikely(ompi_api_mode() != OMPI_API_UNCHECKED)) {
        if (ompi_api_mode() & OMPI_API_UNUSABLE) {
            return ompi_api_wrong_state(call, flag);
        }
        if (!(flag >= 0 || flag == MPI_ANY)) {
            return ompi_api_bad_argument(NULL, MPI_ERR_ARG, call, "flag", flag);
        }
    }
    int outcome = ompi_api_signal(flag);
    if (opal_unlikely(outcome != MPI_SUCCESS)) {
        return ompi_api_fail(NULL, outcome, call, flag);
    }
    return MPI_SUCCESS;
}
OMPI_API_ALIAS(MPI_Signal, PMPI_Signal);
