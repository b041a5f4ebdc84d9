/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands in for ompi/api/wrapper.h under the wrappers of sample.tbl: a little MPI of fleets and
 * cargoes whose handles are numbers, and helpers that remember what they were called with.
 */
#ifndef TEST_GOLDEN_FAKE_WRAPPER_H
#define TEST_GOLDEN_FAKE_WRAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t MPI_Count;
typedef struct fleet *MPI_Fleet;
typedef struct cargo *MPI_Cargo;

enum {
    MPI_SUCCESS,
    MPI_ERR_ARG,
    MPI_ERR_COUNT,
    MPI_ERR_RANK,
    MPI_ERR_FLEET,
    MPI_ERR_CARGO,
    MPI_ERR_VALUE_TOO_LARGE,
    MPI_ERR_STATE,
    MPI_ANY = -1,
    MPI_UNDEFINED = -32766
};
#define MPI_FLEET_NULL ((MPI_Fleet)0x100)
#define MPI_CARGO_NULL ((MPI_Cargo)0x200)

typedef struct fleet {
    int ships;
} fleet_t;
typedef struct cargo {
    int weight;
} cargo_t;

/* Null handles lead to no object, other handles are their object's address. */
static inline void *ompi_handle_object(const void *handle)
{
    return (uintptr_t)handle < 4096 ? NULL : (void *)(uintptr_t)handle;
}

static inline void *ompi_object_handle(void *object)
{
    return object;
}

bool is_fleet(const fleet_t *fleet);
bool is_cargo(const cargo_t *cargo);
bool has_rank(const fleet_t *fleet, int rank);
int number_of(MPI_Fleet fleet);
void *harbour_of(void *object);

typedef struct ompi_ints {
    const void *items;
    bool large;
} ompi_ints_t;

static inline ompi_ints_t ompi_ints_small(const int *items)
{
    return (ompi_ints_t){items, false};
}

static inline ompi_ints_t ompi_ints_large(const MPI_Count *items)
{
    return (ompi_ints_t){items, true};
}

enum { OMPI_API_UNCHECKED, OMPI_API_CHECKED, OMPI_API_UNUSABLE };

unsigned ompi_api_mode(void);
bool ompi_api_checks(void);
int ompi_api_fail(void *object, int code, const char *call, ...);
int ompi_api_bad_argument(void *object, int code, const char *call, const char *argument, ...);
int ompi_api_wrong_state(const char *call, ...);

typedef struct ompi_check_entry ompi_check_entry_t;

void ompi_check_made(void *object);
ompi_check_entry_t *ompi_check_take(const void *object);
void ompi_check_settle(ompi_check_entry_t *entry, const void *now);

#define OMPI_API_NOTHING(output, nothing)                                                          \
    do {                                                                                           \
        if ((output) != NULL)                                                                      \
            *(output) = (nothing);                                                                 \
    } while (0)

#define OPAL_EXPORT
#define OPAL_UNUSED      __attribute__((unused))
#define opal_unlikely(x) (x)
#define OMPI_API_ALIAS(name, target)                                                               \
    extern __typeof__(target) name __attribute__((weak, alias(#target)))

/* What mpi.h would declare; the wrappers are called by these names. */
int MPI_Ship(const void *buf, int count, MPI_Cargo cargo, int harbour, MPI_Fleet fleet);
int MPI_Ship_c(const void *buf, MPI_Count count, MPI_Cargo cargo, int harbour, MPI_Fleet fleet);
int MPI_Load(const int amounts[], MPI_Fleet fleet, MPI_Cargo *loaded);
int MPI_Load_c(const MPI_Count amounts[], MPI_Fleet fleet, MPI_Cargo *loaded);
int MPI_Weigh(MPI_Cargo cargo, int *weight);
int MPI_Weigh_c(MPI_Cargo cargo, MPI_Count *weight);
int MPI_Weigh_x(MPI_Cargo cargo, MPI_Count *weight);
int MPI_Stow(MPI_Fleet fleet, int *stowed, int *position);
int MPI_Stow_c(MPI_Fleet fleet, MPI_Count *stowed, MPI_Count *position, MPI_Count *holds);
int MPI_Borrow(MPI_Fleet fleet, MPI_Cargo *borrowed);
int MPI_Sink(MPI_Fleet *fleet);
int MPI_Drop(MPI_Cargo *dropped);
int MPI_Race(MPI_Fleet fleet);
int MPI_Cruise(MPI_Fleet fleet);
int MPI_Dock(int pier, MPI_Fleet fleet);
int MPI_Wait(void);
int MPI_Depth(int *depth);
int MPI_Signal(int flag, ...);
int MPI_Fleet_number(MPI_Fleet fleet);
double MPI_Speed(int engine);

#endif
