/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the wrappers of sample.tbl over bodies that do little: what the generator writes must not
 * only look as expected but do it. Prints a line for everything that is wrong.
 */
#include <stdio.h>
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/api/mica.h"

static unsigned mode = OMPI_API_CHECKED;

/* The last error, and to whom it went. */
static struct {
    void *object;
    int code;
    const char *function, *argument;
} invoked;

/* What the bodies were called with, and what they are to do. */
static struct {
    int calls, fails;
    MPI_Count count, position, give;
    bool large, has_holds;
    void *object;
} body;

/* What a full check counts. */
static struct {
    const void *made, *taken, *now;
    int settled;
} counted;

static fleet_t fleet = {3}, sunk;
static cargo_t cargo = {7};

#define expect(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            printf("run.c:%d: %s\n", __LINE__, #condition);                                        \
    } while (0)

static void reset(void)
{
    memset(&invoked, 0, sizeof invoked);
    memset(&body, 0, sizeof body);
    memset(&counted, 0, sizeof counted);
    mode = OMPI_API_CHECKED;
}

static bool was_invoked(void *object, int code, const char *function, const char *argument)
{
    bool same_argument = argument == NULL ? invoked.argument == NULL
                                          : invoked.argument && !strcmp(invoked.argument, argument);
    return invoked.object == object && invoked.code == code &&
           !strncmp(invoked.function, function, strcspn(invoked.function, "(")) && same_argument &&
           (argument == NULL || body.calls == 0);
}

/* The helpers of wrapper.h. */
unsigned ompi_api_mode(void)
{
    return mode;
}

bool ompi_api_checks(void)
{
    return mode & OMPI_API_CHECKED;
}

static int note(void *object, int code, const char *call, const char *argument)
{
    invoked.object = object;
    invoked.code = code;
    invoked.function = call; /* "MPI_Ship(buf=%p, ...)" */
    invoked.argument = argument;
    return code;
}

int ompi_api_bad_argument(void *object, int code, const char *call, const char *argument, ...)
{
    return note(object, code, call, argument);
}

int ompi_api_fail(void *object, int code, const char *call, ...)
{
    return note(object, code, call, NULL);
}

int ompi_api_wrong_state(const char *call, ...)
{
    return note(NULL, MPI_ERR_STATE, call, NULL);
}

void ompi_check_made(void *object)
{
    counted.made = object;
}

ompi_check_entry_t *ompi_check_take(const void *object)
{
    counted.taken = object;
    return (ompi_check_entry_t *)&counted;
}

void ompi_check_settle(ompi_check_entry_t *entry, const void *now)
{
    expect(entry == (ompi_check_entry_t *)&counted);
    counted.now = now;
    counted.settled++;
}

bool is_fleet(const fleet_t *object)
{
    return object == &fleet;
}

bool is_cargo(const cargo_t *object)
{
    return object == &cargo;
}

bool has_rank(const fleet_t *object, int rank)
{
    return rank >= 0 && rank < object->ships;
}

int number_of(MPI_Fleet handle)
{
    return handle == &fleet ? 1 : 0;
}

static cargo_t harbour;

void *harbour_of(void *object)
{
    return object != NULL ? object : &harbour;
}

/* The bodies. */
static int done(void)
{
    body.calls++;
    return body.fails ? MPI_ERR_CARGO : MPI_SUCCESS;
}

int ompi_api_dock(int pier, fleet_t *ships)
{
    expect(pier >= 0 && ships == &fleet);
    return done();
}

int ompi_api_ship(const void *buf, MPI_Count count, cargo_t *goods, int harbour, fleet_t *ships)
{
    body.count = count;
    expect(buf != NULL && goods == &cargo && harbour == 2 && ships == &fleet);
    return done();
}

int ompi_api_load(ompi_ints_t amounts, fleet_t *ships, cargo_t **loaded)
{
    body.large = amounts.large;
    expect(ships == &fleet && *loaded == NULL);
    *loaded = body.object;
    return done();
}

int ompi_api_weigh(cargo_t *goods, MPI_Count *weight)
{
    expect(goods == &cargo);
    *weight = body.give;
    return done();
}

int ompi_api_stow(fleet_t *ships, MPI_Count *stowed, MPI_Count *position, MPI_Count *holds)
{
    expect(ships == &fleet);
    body.position = *position;
    body.has_holds = holds != NULL;
    *stowed = body.give;
    *position += 10;
    return done();
}

int ompi_api_borrow(fleet_t *ships, cargo_t **borrowed)
{
    expect(ships == &fleet);
    *borrowed = &cargo;
    return done();
}

int ompi_api_drop(cargo_t **dropped)
{
    *dropped = &cargo;
    return done();
}

int ompi_api_sink(fleet_t **ships)
{
    expect(*ships == &fleet && counted.taken == &fleet && counted.settled == 0);
    if (!body.fails)
        *ships = NULL;
    return done();
}

int ompi_api_cruise(fleet_t *ships, int knots)
{
    expect(ships == &fleet);
    body.count = knots;
    return done();
}

int ompi_api_wait(void)
{
    return done();
}

int ompi_api_depth(int *depth)
{
    *depth = 20;
    return done();
}

int ompi_api_signal(int flag)
{
    body.count = flag;
    return done();
}

int ompi_api_mica_tame(int arms, fleet_t *ships)
{
    expect(ships == &fleet);
    body.count = arms;
    return done();
}

double ompi_api_speed(int engine)
{
    return engine * 2.5;
}

static void check_arguments(void)
{
    reset();
    expect(MPI_Ship("x", 5, &cargo, 2, &fleet) == MPI_SUCCESS && body.count == 5);
    expect(MPI_Ship_c("x", INT64_C(5000000000), &cargo, 2, &fleet) == MPI_SUCCESS);
    expect(body.count == INT64_C(5000000000) && invoked.function == NULL);
    reset();
    expect(MPI_Cruise(&fleet) == MPI_SUCCESS && body.count == 3);
    expect(MPI_Race(&fleet) == MPI_SUCCESS && body.count == 9);
    reset();
    expect(MPI_Race(MPI_FLEET_NULL) == MPI_ERR_FLEET);
    expect(was_invoked(NULL, MPI_ERR_FLEET, "MPI_Race", "fleet"));
    expect(MPI_Ship("x", -1, MPI_CARGO_NULL, 2, &fleet) == MPI_ERR_COUNT);
    expect(was_invoked(&fleet, MPI_ERR_COUNT, "MPI_Ship", "count"));
    expect(MPI_Ship_c("x", 1, MPI_CARGO_NULL, 2, &fleet) == MPI_ERR_CARGO);
    expect(was_invoked(&fleet, MPI_ERR_CARGO, "MPI_Ship_c", "cargo"));
    expect(MPI_Ship("x", 1, &cargo, 3, &fleet) == MPI_ERR_RANK);
    expect(was_invoked(&fleet, MPI_ERR_RANK, "MPI_Ship", "harbour"));
    /* The object that is invoked of errors is checked first: the other checks may ask it. */
    expect(MPI_Ship("x", -1, MPI_CARGO_NULL, 9, MPI_FLEET_NULL) == MPI_ERR_FLEET);
    expect(was_invoked(NULL, MPI_ERR_FLEET, "MPI_Ship", "fleet"));
    /* One that is not valid is not invoked either. */
    expect(MPI_Ship("x", 1, &cargo, 2, &sunk) == MPI_ERR_FLEET);
    expect(was_invoked(NULL, MPI_ERR_FLEET, "MPI_Ship", "fleet"));
    expect(MPI_Depth(NULL) == MPI_ERR_ARG && was_invoked(NULL, MPI_ERR_ARG, "MPI_Depth", "depth"));
    expect(MPI_Signal(-2, "x", 1.0) == MPI_ERR_ARG);
    expect(MPI_Signal(MPI_ANY, "x", 1.0) == MPI_SUCCESS && body.count == -1);
}

static void check_modes(void)
{
    int depth = 0;
    reset();
    mode = OMPI_API_UNCHECKED;
    expect(MPI_Ship("x", -1, &cargo, 2, &fleet) == MPI_SUCCESS && body.count == -1);
    mode = OMPI_API_UNUSABLE | OMPI_API_CHECKED;
    expect(MPI_Ship("x", 1, &cargo, 2, &fleet) == MPI_ERR_STATE && body.calls == 1);
    expect(MPI_Wait() == MPI_SUCCESS && MPI_Depth(&depth) == MPI_SUCCESS && depth == 20);
    expect(MPI_Depth(NULL) == MPI_ERR_ARG);
}

static void check_errors(void)
{
    MPI_Fleet handle = &fleet;
    MPI_Cargo loaded = MPI_CARGO_NULL;
    int weight = 1, stowed = 1, position = 5;
    reset();
    body.fails = 1;
    expect(MPI_Ship("x", 1, &cargo, 2, &fleet) == MPI_ERR_CARGO);
    expect(was_invoked(&fleet, MPI_ERR_CARGO, "MPI_Ship", NULL));
    body.object = &cargo;
    expect(MPI_Load(NULL, &fleet, &loaded) == MPI_ERR_CARGO && loaded == MPI_CARGO_NULL);
    expect(MPI_Weigh(&cargo, &weight) == MPI_ERR_CARGO && weight == 1);
    expect(MPI_Stow(&fleet, &stowed, &position) == MPI_ERR_CARGO && stowed == 1 && position == 5);
    expect(MPI_Sink(&handle) == MPI_ERR_CARGO && handle == &fleet);
}

/* What would have been made is a null handle, whatever the reason, unless there is no place for it.
 */
static void check_nothing_made(void)
{
    MPI_Cargo loaded = &cargo;
    reset();
    expect(MPI_Load(NULL, NULL, &loaded) == MPI_ERR_FLEET && loaded == MPI_CARGO_NULL);
    loaded = &cargo;
    body.fails = 1;
    expect(MPI_Load_c(NULL, &fleet, &loaded) == MPI_ERR_CARGO && loaded == MPI_CARGO_NULL);
    loaded = &cargo;
    mode = OMPI_API_CHECKED | OMPI_API_UNUSABLE;
    expect(MPI_Load(NULL, &fleet, &loaded) == MPI_ERR_STATE && loaded == MPI_CARGO_NULL);
    reset();
    loaded = &cargo;
    body.fails = 1;
    expect(MPI_Drop(&loaded) == MPI_ERR_CARGO && loaded == MPI_CARGO_NULL);
    expect(was_invoked(&harbour, MPI_ERR_CARGO, "MPI_Drop", NULL));
    expect(MPI_Drop(NULL) == MPI_ERR_ARG && MPI_Load(NULL, &fleet, NULL) == MPI_ERR_ARG);
}

/* A function of the table may choose who is invoked. */
static void check_told(void)
{
    reset();
    expect(MPI_Dock(1, NULL) == MPI_ERR_FLEET &&
           was_invoked(&harbour, MPI_ERR_FLEET, "MPI_Dock", "fleet"));
    expect(MPI_Dock(-5, &fleet) == MPI_ERR_ARG &&
           was_invoked(&fleet, MPI_ERR_ARG, "MPI_Dock", "pier"));
    body.fails = 1;
    expect(MPI_Dock(1, &fleet) == MPI_ERR_CARGO &&
           was_invoked(&fleet, MPI_ERR_CARGO, "MPI_Dock", NULL));
}

static void check_handles(void)
{
    MPI_Fleet handle = &fleet;
    MPI_Cargo loaded = NULL;
    reset();
    body.object = &cargo;
    expect(MPI_Load(NULL, &fleet, &loaded) == MPI_SUCCESS && loaded == &cargo && !body.large);
    body.object = NULL;
    expect(MPI_Load_c(NULL, &fleet, &loaded) == MPI_SUCCESS && loaded == MPI_CARGO_NULL);
    expect(body.large);
    expect(MPI_Sink(&handle) == MPI_SUCCESS && handle == MPI_FLEET_NULL);
    expect(MPI_Sink(&handle) == MPI_ERR_FLEET && MPI_Sink(NULL) == MPI_ERR_FLEET);
    expect(MPI_Fleet_number(&fleet) == 1 && MPI_Speed(2) == 5.0);
}

/* A handle counts from the call that gives it, unless it is lent. Where a call may take it back, it
 * is taken out before, and settled behind, with success and without. */
static void check_counted(void)
{
    MPI_Fleet handle = &fleet;
    MPI_Cargo loaded = NULL;
    reset();
    body.object = &cargo;
    expect(MPI_Load(NULL, &fleet, &loaded) == MPI_SUCCESS && counted.made == &cargo);
    reset();
    expect(MPI_Borrow(&fleet, &loaded) == MPI_SUCCESS && counted.made == NULL);
    body.fails = 1;
    expect(MPI_Load(NULL, &fleet, &loaded) == MPI_ERR_CARGO && counted.made == NULL);
    expect(MPI_Sink(&handle) == MPI_ERR_CARGO && counted.now == &fleet && counted.settled == 1);
    reset();
    expect(MPI_Sink(&handle) == MPI_SUCCESS && counted.now == NULL && counted.settled == 1);
}

static void check_narrow_values(void)
{
    int weight = 0, stowed = 1, position = 5;
    MPI_Count large = 0, large_position = 6, holds;
    reset();
    body.give = INT32_MAX;
    expect(MPI_Weigh(&cargo, &weight) == MPI_SUCCESS && weight == INT32_MAX);
    body.give = INT64_C(1) << 31;
    expect(MPI_Weigh(&cargo, &weight) == MPI_SUCCESS && weight == MPI_UNDEFINED);
    expect(MPI_Weigh_c(&cargo, &large) == MPI_SUCCESS && large == body.give);
    expect(MPI_Weigh_x(&cargo, &large) == MPI_SUCCESS && large == body.give);

    expect(MPI_Stow(&fleet, &stowed, &position) == MPI_ERR_VALUE_TOO_LARGE);
    expect(stowed == 1 && position == 5 && body.position == 5 && !body.has_holds);
    expect(was_invoked(&fleet, MPI_ERR_VALUE_TOO_LARGE, "MPI_Stow", NULL));
    expect(MPI_Stow_c(&fleet, &large, &large_position, &holds) == MPI_SUCCESS);
    expect(large == body.give && large_position == 16 && body.has_holds);
    body.give = 3;
    expect(MPI_Stow(&fleet, &stowed, &position) == MPI_SUCCESS && stowed == 3 && position == 15);
    position = INT32_MAX;
    expect(MPI_Stow(&fleet, &stowed, &position) == MPI_ERR_VALUE_TOO_LARGE);
    expect(position == INT32_MAX);
}

/* With a prefix of their own. */
static void check_mica(void)
{
    reset();
    expect(MICA_Tame(8, &fleet) == MPI_SUCCESS && body.count == 8);
    expect(PMICA_Tame(MPI_ANY, &fleet) == MPI_SUCCESS && body.count == MPI_ANY);
    reset();
    expect(MICA_Tame(-2, &fleet) == MPI_ERR_ARG);
    expect(was_invoked(&fleet, MPI_ERR_ARG, "MICA_Tame", "arms"));
}

int main(void)
{
    check_arguments();
    check_modes();
    check_errors();
    check_nothing_made();
    check_told();
    check_handles();
    check_counted();
    check_narrow_values();
    check_mica();
    return 0;
}
