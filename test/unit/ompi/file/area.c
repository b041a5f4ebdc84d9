/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/file/area.c: which ranks share an area. The ranks are threads of the test; the linker wraps
 * the functions of the node and the collectives, so that a test says who is where.
 */
#include "ompi/file/area.h"

#include <pthread.h>

#include "ompi/file/file.h"
#include "test/unit/opal/support.h"

enum { RANKS = 5, ITEM_BYTES = 16 };

/* -- the fake node ------------------------------------------------------------------------- */

static int node_of[RANKS];
static bool has_no_segment[RANKS]; /* which the other ranks do not know */
static int size;
static bool is_full[RANKS]; /* the segments of the nodes */
static atomic_int releases, leaves, made;

static _Thread_local int own_rank;
static _Alignas(64) char segment[1 + RANKS][sizeof(ompi_file_shared_t)];
static opal_node_slot_t slots[RANKS];
static pthread_barrier_t barrier;
static char items[RANKS][ITEM_BYTES];
static int errors[RANKS];

/* What a rank makes; offset 0 is nothing. */
static void *memory_of(int rank)
{
    return segment[1 + rank];
}

bool __wrap_opal_node_has(unsigned process);
int __wrap_opal_node_local_rank(unsigned process);
opal_node_slot_t *__wrap_opal_node_slot(unsigned local_rank);
void *__wrap_opal_node_base(void);
bool __wrap_opal_node_peer_is_dead(unsigned local_rank);
void __wrap_opal_node_watch(void);
opal_shared_t *__wrap_opal_shared_make(size_t bytes, size_t cleared, size_t populated);
void __wrap_opal_shared_release(opal_shared_t *shared, int users);
void __wrap_opal_shared_leave(opal_shared_t *shared);
int __wrap_ompi_file_exchange(ompi_communicator_t *comm, const void *own, size_t bytes, void *all);
int __wrap_ompi_file_agree(ompi_communicator_t *comm, int error);

bool __wrap_opal_node_has(unsigned process)
{
    return !has_no_segment[own_rank] && node_of[process] == node_of[own_rank];
}

/* Local ranks are those of the process plus 10, to tell them apart from ranks. */
int __wrap_opal_node_local_rank(unsigned process)
{
    return __wrap_opal_node_has(process) ? (int)process + 10 : -1;
}

opal_node_slot_t *__wrap_opal_node_slot(unsigned local_rank)
{
    return &slots[local_rank - 10];
}

void *__wrap_opal_node_base(void)
{
    return segment[0];
}

bool __wrap_opal_node_peer_is_dead(unsigned local_rank)
{
    return local_rank == 11;
}

void __wrap_opal_node_watch(void)
{
}

opal_shared_t *__wrap_opal_shared_make(size_t bytes, size_t cleared, size_t populated)
{
    ck_assert_uint_eq(bytes, sizeof segment[0]);
    ck_assert_uint_eq(cleared, bytes);
    ck_assert_uint_eq(populated, bytes);
    if (is_full[node_of[own_rank]])
        return NULL;
    atomic_fetch_add(&made, 1);
    return memory_of(own_rank);
}

void __wrap_opal_shared_release(opal_shared_t *shared, int users)
{
    ck_assert_ptr_eq(shared, memory_of(own_rank));
    atomic_fetch_add(&releases, users);
}

void __wrap_opal_shared_leave(opal_shared_t *shared OPAL_UNUSED)
{
    atomic_fetch_add(&leaves, 1);
}

int __wrap_ompi_file_exchange(ompi_communicator_t *comm, const void *own, size_t bytes, void *all)
{
    ck_assert_uint_eq(bytes, ITEM_BYTES);
    memcpy(items[comm->rank], own, bytes);
    pthread_barrier_wait(&barrier);
    memcpy(all, items, bytes * (size_t)comm->size);
    return MPI_SUCCESS;
}

int __wrap_ompi_file_agree(ompi_communicator_t *comm, int error)
{
    if (comm->size == 1)
        return error;
    errors[comm->rank] = error;
    pthread_barrier_wait(&barrier);
    for (int rank = 0; rank < comm->size; rank++)
        error = errors[rank] > error ? errors[rank] : error;
    return error;
}

/* -- ranks --------------------------------------------------------------------------------- */

typedef struct rank {
    pthread_t thread;
    ompi_communicator_t comm;
    int own_error, error;
    ompi_file_area_t *area;
} rank_t;

static rank_t ranks[RANKS];

static void *create(void *given)
{
    rank_t *rank = given;
    own_rank = rank->comm.rank;
    rank->error = ompi_file_area_create(&rank->comm, rank->own_error, &rank->area);
    return NULL;
}

static void *leave(void *given)
{
    rank_t *rank = given;
    own_rank = rank->comm.rank;
    ompi_file_area_leave(rank->area);
    return NULL;
}

static void run(void *(*function)(void *))
{
    for (int i = 0; i < size; i++)
        ck_assert_int_eq(pthread_create(&ranks[i].thread, NULL, function, &ranks[i]), 0);
    for (int i = 0; i < size; i++)
        ck_assert_int_eq(pthread_join(ranks[i].thread, NULL), 0);
}

static void create_all(int count, const int *nodes)
{
    static ompi_group_t group = {.stride = 1};
    size = group.size = count;
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        node_of[i] = nodes[i];
        ranks[i].comm = (ompi_communicator_t){.size = count, .rank = i, .group = &group};
    }
    run(create);
}

/* The area of a rank has these ranks, and so many areas are there. */
static void check(int rank, int local_count, const int *locals, int nodes)
{
    const ompi_file_area_t *area = ranks[rank].area;
    ck_assert_int_eq(ranks[rank].error, MPI_SUCCESS);
    ck_assert_int_eq(area->local_count, local_count);
    ck_assert_int_eq(area->nodes, nodes);
    for (int i = 0; i < local_count; i++)
        ck_assert_int_eq(area->locals[i].rank, locals[i]);
    ck_assert_int_eq(area->locals[area->self].rank, rank);
    ck_assert_int_eq(area->is_shared, local_count > 1);
    if (area->is_shared) {
        ck_assert_ptr_eq(area->memory, memory_of(locals[0]));
        ck_assert_ptr_eq(area->locals[0].doorbell, &slots[locals[0]].doorbell);
    } else {
        ck_assert_uint_eq(atomic_load(&area->memory->belt), 0);
    }
}

/* Each rank that shares leaves, and the first one of each area waits for all. */
static void leave_all(int sharing)
{
    run(leave);
    ck_assert_int_eq(atomic_load(&leaves), sharing);
    ck_assert_int_eq(atomic_load(&releases), sharing);
}

/* -- tests --------------------------------------------------------------------------------- */

START_TEST(a_rank_alone_needs_nobody)
{
    create_all(1, (const int[]){0});
    check(0, 1, (const int[]){0}, 1);
    ck_assert_int_eq(atomic_load(&made), 0);
    leave_all(0);
}
END_TEST

START_TEST(ranks_of_a_node_share_an_area)
{
    create_all(5, (const int[]){0, 1, 1, 0, 2});
    for (int i = 0; i < 2; i++) {
        check(i * 3, 2, (const int[]){0, 3}, 3);
        check(i + 1, 2, (const int[]){1, 2}, 3);
    }
    check(4, 1, (const int[]){4}, 3);
    ck_assert(ompi_file_area_has_ended(ranks[2].area, 0)); /* rank 1 */
    ck_assert(!ompi_file_area_has_ended(ranks[2].area, 1));
    ck_assert(!ompi_file_area_has_ended(ranks[1].area, 0)); /* does not ask for itself */
    leave_all(4);
}
END_TEST

START_TEST(without_room_each_is_alone)
{
    is_full[1] = true;
    create_all(5, (const int[]){1, 1, 0, 1, 0});
    for (int i = 0; i < 5; i++) {
        if (node_of[i] == 1)
            check(i, 1, &i, 4);
        else
            check(i, 2, (const int[]){2, 4}, 4);
    }
    leave_all(2);
}
END_TEST

/* The last one is left alone; all need the first one. */
START_TEST(a_rank_without_a_segment_is_alone)
{
    has_no_segment[_i == 0 ? 2 : 0] = true;
    create_all(3, (const int[]){0, 0, 0});
    for (int i = 0; i < 3; i++) {
        if (_i == 0 && i < 2)
            check(i, 2, (const int[]){0, 1}, 2);
        else
            check(i, 1, &i, _i == 0 ? 2 : 3);
    }
    leave_all(_i == 0 ? 2 : 0);
}
END_TEST

START_TEST(an_error_is_one_of_all)
{
    ranks[3].own_error = MPI_ERR_NO_SUCH_FILE;
    create_all(4, (const int[]){0, 0, 0, 0});
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(ranks[i].error, MPI_ERR_NO_SUCH_FILE);
        ck_assert_ptr_null(ranks[i].area);
    }
    ck_assert_int_eq(atomic_load(&made), 0);
    leave_all(0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_rank_alone_needs_nobody},
    {.test = &ranks_of_a_node_share_an_area},
    {.test = &without_room_each_is_alone},
    {.test = &a_rank_without_a_segment_is_alone, .repeats = 2},
    {.test = &an_error_is_one_of_all},
};

UNIT_MAIN("area", tests, NULL);
