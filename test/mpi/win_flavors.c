/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of windows: sizes and displacement units that differ among the ranks, memory that is
 * allocated, shared, attached; what MPI_Win_shared_query, the attributes and the hints tell of it.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "tap.h"

enum { WORDS = 5 };

static int rank, size;
static MPI_Comm node;
static int node_rank, node_size;

/* Words of the size of an int that rank `owner` of a communicator has; every third rank has none.
 */
static int words_of(int owner)
{
    return owner % 3 == 2 ? 0 : 2 + 3 * owner;
}

static int number(int owner, int origin)
{
    return 1000 * (owner + 1) + origin;
}

/* Everybody puts a number into the last word of everybody's window, and gets what the first has. */
static bool works(MPI_Win win, int *memory)
{
    bool good = true;
    if (words_of(rank) > 0)
        memory[0] = number(rank, 0);
    MPI_Win_fence(0, win);
    for (int target = 0; target < size; target++) {
        int one = 1, last = words_of(target) - 1, in = -1;
        if (words_of(target) == 0)
            continue;
        MPI_Get(&in, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        good &= in == number(target, 0);
        if (rank == target)
            memory[last] = 0;
        MPI_Win_fence(0, win);
        MPI_Accumulate(&one, 1, MPI_INT, target, last, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_fence(0, win);
        good &= rank != target || memory[last] == size;
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    return good;
}

/* -- sizes and units --------------------------------------------------------------------------- */

/* The size of the window decides what is in it, not the unit, which may be larger. */
static int unit_of(int owner)
{
    static const int units[] = {1, 4, 8, 2, INT32_MAX};
    return units[owner % 5];
}

static MPI_Aint place_by_unit(int owner, int word)
{
    return (MPI_Aint)word * (MPI_Aint)sizeof(int) / unit_of(owner);
}

/* Words whose place is a multiple of the unit: all ints for 1, 2, 4; every other one for 8. */
static void check_units(void)
{
    int memory[4] = {7 * rank, 0, 0, 0};
    bool good = true;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, unit_of(rank), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int target = 0; target < size; target++) {
        int in = -1, one = 1, last = unit_of(target) > 8 ? 0 : 2;
        MPI_Win_fence(0, win);
        MPI_Get(&in, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        good &= in == 7 * target;
        MPI_Accumulate(&one, 1, MPI_INT, target, place_by_unit(target, last), 1, MPI_INT, MPI_SUM,
                       win);
        MPI_Win_fence(0, win);
    }
    good &= unit_of(rank) > 8 ? memory[0] == 7 * rank + size : memory[2] == size;
    tap_check(good, "units of 1, 4, 8, 2 and more than the window is long");
    MPI_Win_free(&win);
}

/* Only MPI_Win_create_c can have such a unit. */
static void check_large_unit(void)
{
    int memory[2] = {7 * rank, 1}, in = -1, right = (rank + 1) % size;
    MPI_Win win;
    MPI_Win_create_c(memory, sizeof memory, (MPI_Aint)1 << 40, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Get(&in, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    tap_check(in == 7 * right, "a unit of a terabyte");
    MPI_Win_free(&win);
}

static void check_create(void)
{
    int *memory = words_of(rank) > 0 ? calloc((size_t)words_of(rank), sizeof *memory) : NULL;
    MPI_Win win;
    MPI_Win_create(memory, words_of(rank) * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    tap_check(works(win, memory), "MPI_Win_create: another size at each rank, some have nothing");
    MPI_Win_free(&win);
    free(memory);
}

static void check_allocate(void)
{
    int *memory = NULL;
    MPI_Win win;
    MPI_Win_allocate(words_of(rank) * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &memory, &win);
    tap_check(words_of(rank) == 0 || (uintptr_t)memory % 16 == 0, "MPI_Win_allocate aligns");
    tap_check(works(win, memory), "MPI_Win_allocate: another size at each rank, some have nothing");
    MPI_Win_free(&win);
}

/* The last byte of a large window is there, too. */
static void check_large(void)
{
    const MPI_Aint bytes = 5000001;
    char *memory = NULL, in = 0;
    int right = (rank + 1) % size;
    MPI_Win win;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 1 + rank, (size_t)bytes);
    MPI_Win_fence(0, win);
    MPI_Get(&in, 1, MPI_CHAR, right, bytes - 1, 1, MPI_CHAR, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    tap_check(in == 1 + right, "the last of %ld bytes", (long)bytes);
    MPI_Win_free(&win);
}

/* -- shared memory ----------------------------------------------------------------------------- */

static void *attribute(MPI_Win win, int keyval)
{
    void *value = NULL;
    int flag = 0;
    MPI_Win_get_attr(win, keyval, &value, &flag);
    return flag ? value : NULL;
}

static MPI_Info make_info(const char *key, const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return info;
}

/* Each rank stores into the memory of the next one that has some. */
static void check_stores(MPI_Win win, const char *what)
{
    bool good = true;
    int *own = NULL, unit;
    MPI_Aint bytes;
    MPI_Win_lock_all(0, win);
    for (int target = 0; target < node_size; target++) {
        int *there = NULL;
        MPI_Win_shared_query(win, target, &bytes, &unit, &there);
        good &= bytes == words_of(target) * (MPI_Aint)sizeof(int) && unit == 1 + target;
        if (words_of(target) > 0 && node_rank == (target + 1) % node_size)
            there[words_of(target) - 1] = number(target, node_rank);
    }
    tap_check(good, "MPI_Win_shared_query tells size and unit of each rank (%s)", what);
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    MPI_Win_shared_query(win, node_rank, &bytes, &unit, &own);
    good = words_of(node_rank) == 0 ||
           own[words_of(node_rank) - 1] == number(node_rank, (node_rank + 1) % node_size);
    MPI_Win_unlock_all(win);
    tap_check(good, "what one rank stores the other one loads (%s)", what);
    MPI_Barrier(node);
}

/* At the place that all units have: word 0. */
static void check_shared_operations(MPI_Win win, const char *what)
{
    int right = (node_rank + 1) % node_size, one = 1, *own = NULL, unit;
    MPI_Aint bytes;
    MPI_Win_shared_query(win, node_rank, &bytes, &unit, &own);
    if (bytes > 0)
        own[0] = 10;
    MPI_Win_fence(0, win);
    if (words_of(right) > 0)
        MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    tap_check(bytes == 0 || own[0] == 11, "operations on shared memory (%s)", what);
}

static void check_shared(bool is_contiguous)
{
    const char *what = is_contiguous ? "contiguous" : "not contiguous";
    MPI_Info info = make_info("alloc_shared_noncontig", is_contiguous ? "false" : "true");
    MPI_Aint bytes = words_of(node_rank) * (MPI_Aint)sizeof(int), first_bytes, there;
    int *memory = NULL, *first = NULL, *next = NULL, unit = -1, first_unit = -1;
    bool good = true;
    MPI_Win win;
    MPI_Win_allocate_shared(bytes, 1 + node_rank, info, node, &memory, &win);
    MPI_Info_free(&info);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &first_bytes, &first_unit, &first);
    tap_check(first_bytes == words_of(0) * (MPI_Aint)sizeof(int) && first_unit == 1 && first,
              "MPI_PROC_NULL stands for the first rank that has memory (%s)", what);
    for (int other = 0; other < node_size && is_contiguous; other++) {
        MPI_Win_shared_query(win, other, &there, &unit, &next);
        good &= there == 0 || next == first;
        first += words_of(other);
    }
    if (is_contiguous)
        tap_check(good, "each rank's memory follows that of the one before");
    tap_check(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR) == MPI_WIN_FLAVOR_SHARED &&
                  *(MPI_Aint *)attribute(win, MPI_WIN_SIZE) == bytes &&
                  *(int *)attribute(win, MPI_WIN_DISP_UNIT) == 1 + node_rank &&
                  (bytes == 0 || attribute(win, MPI_WIN_BASE) == memory),
              "attributes of shared memory (%s)", what);
    check_stores(win, what);
    check_shared_operations(win, what);
    MPI_Win_free(&win);
}

/* Memory of which nobody has any; units that only the form with _c has. */
static void check_shared_edges(void)
{
    int *memory = NULL, *there = NULL, unit = 0;
    MPI_Aint bytes = -1, large = 0;
    MPI_Win win;
    MPI_Win_allocate_shared(0, 4, MPI_INFO_NULL, node, &memory, &win);
    int error = MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &there);
    tap_check(error == MPI_SUCCESS && bytes == 0, "shared memory of no bytes");
    MPI_Win_free(&win);
    MPI_Win_allocate_shared_c(16, (MPI_Aint)1 << 33, MPI_INFO_NULL, node, &memory, &win);
    memory[0] = node_rank;
    MPI_Win_fence(0, win);
    MPI_Win_shared_query_c(win, node_size - 1, &bytes, &large, &there);
    tap_check(bytes == 16 && large == (MPI_Aint)1 << 33 && there[0] == node_size - 1,
              "MPI_Win_allocate_shared_c and MPI_Win_shared_query_c have large units");
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
}

/* Other memory may be shared, too; if it is not, the answer is no memory. */
static void check_query(MPI_Win win, const char *flavor)
{
    int *there = NULL, unit = 0, *own = attribute(win, MPI_WIN_BASE), last = size - 1;
    MPI_Aint bytes = -1;
    own[0] = 300 + rank;
    MPI_Win_fence(0, win);
    int error = MPI_Win_shared_query(win, last, &bytes, &unit, &there);
    bool is_shared = error == MPI_SUCCESS && bytes > 0;
    tap_check(error == MPI_SUCCESS &&
                  (is_shared ? bytes == WORDS * sizeof(int) && unit == 4 && there[0] == 300 + last
                             : bytes == 0 && there == NULL),
              "%s: MPI_Win_shared_query shows the memory, or none", flavor);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
}

static void check_queries(void)
{
    int data[WORDS], *memory;
    MPI_Win win;
    MPI_Win_create(data, sizeof data, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    check_query(win, "MPI_Win_create");
    MPI_Win_allocate(sizeof data, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    check_query(win, "MPI_Win_allocate");
}

/* -- hints ------------------------------------------------------------------------------------- */

static void check_alignment(const char *alignment)
{
    MPI_Info info = make_info("mpi_minimum_memory_alignment", alignment);
    uintptr_t wanted = strtoul(alignment, NULL, 10);
    char *memory[3] = {NULL};
    MPI_Win win[3];
    for (int i = 0; i < 2; i++)
        MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &memory[i], &win[i]);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Win_allocate_shared(100, 1, info, node, &memory[2], &win[2]);
    MPI_Info_free(&info);
    tap_check((uintptr_t)memory[0] % wanted == 0 && (uintptr_t)memory[1] % wanted == 0,
              "MPI_Win_allocate aligns to %s", alignment);
    tap_check((uintptr_t)memory[2] % wanted == 0, "MPI_Win_allocate_shared aligns to %s",
              alignment);
    for (int i = 0; i < 3; i++) {
        memset(memory[i], 1, 100);
        MPI_Win_free(&win[i]);
    }
}

static void check_told(MPI_Win win, const char *key, const char *expected, const char *when)
{
    MPI_Info told;
    char value[MPI_MAX_INFO_VAL] = "";
    int length = sizeof value, flag = 0;
    MPI_Win_get_info(win, &told);
    MPI_Info_get_string(told, key, &length, value, &flag);
    tap_check(flag == (*expected != 0) && strcmp(value, expected) == 0, "%s: %s=%s is told", when,
              key, expected);
    MPI_Info_free(&told);
}

/* A hint with a value that it may have holds. */
static void check_hints(void)
{
    static const char *const rows[][2] = {
        {"no_locks", "true"},
        {"accumulate_ordering", "none"},
        {"accumulate_ops", "same_op"},
        {"same_size", "true"},
        {"same_disp_unit", "true"},
        {"accumulate_ordering", "waw,rar"},
        {"no_locks", "false"},
        {"mpi_accumulate_granularity", "16"},
        {"mpi_minimum_memory_alignment", "512"},
        {"mpi_assert_memory_alloc_kinds", "mpi:win_allocate"},
    };
    int *memory;
    MPI_Win win;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MPI_Info info = make_info(rows[i][0], rows[i][1]);
        MPI_Win_allocate(16, 4, info, MPI_COMM_WORLD, &memory, &win);
        check_told(win, rows[i][0], rows[i][1], "given");
        MPI_Info_free(&info);
        MPI_Win_free(&win);
    }
}

/* One with another value, or of another kind of window, is as if it was not given. */
static void check_ignored_hints(void)
{
    static const char *const rows[][3] = {
        {"no_locks", "maybe", "false"},
        {"same_size", "1", "false"},
        {"same_disp_unit", "True", "false"},
        {"accumulate_ordering", "rar,foo", "rar,raw,war,waw"},
        {"accumulate_ordering", "rar,", "rar,raw,war,waw"},
        {"accumulate_ordering", "none,rar", "rar,raw,war,waw"},
        {"accumulate_ops", "any", "same_op_no_op"},
        {"mpi_accumulate_granularity", "-8", "0"},
        {"mpi_accumulate_granularity", "8 bytes", "0"},
        {"mpi_minimum_memory_alignment", "24", "0"},
        {"mpi_minimum_memory_alignment", "99999999999999999999", "0"},
        {"alloc_shared_noncontig", "true", "false"},
        {"mpi_assert_memory_alloc_kinds", "cuda", ""},
        {"mpi_memory_alloc_kinds", "system",
         "system,mpi,mpi:alloc_mem,mpi:win_allocate,mpi:win_allocate_shared"},
    };
    int *memory;
    MPI_Win win;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MPI_Info info = make_info(rows[i][0], rows[i][1]);
        MPI_Win_allocate(16, 4, info, MPI_COMM_WORLD, &memory, &win);
        check_told(win, rows[i][0], rows[i][2], rows[i][1]);
        MPI_Info_free(&info);
        MPI_Win_free(&win);
    }
}

/* What a window is made by does not change later. */
static void check_late_hints(void)
{
    static const char *const rows[][3] = {
        {"accumulate_ops", "same_op", "same_op"},     {"accumulate_ops", "any", "same_op"},
        {"alloc_shared_noncontig", "true", "false"},  {"mpi_accumulate_granularity", "16", "0"},
        {"mpi_minimum_memory_alignment", "512", "0"},
    };
    int *memory;
    MPI_Win win;
    MPI_Win_allocate_shared(16, 4, MPI_INFO_NULL, node, &memory, &win);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MPI_Info info = make_info(rows[i][0], rows[i][1]);
        MPI_Win_set_info(win, info);
        check_told(win, rows[i][0], rows[i][2], "given later");
        MPI_Info_free(&info);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_size(node, &node_size);
    tap_rank(rank);
    check_units();
    check_large_unit();
    check_create();
    check_allocate();
    check_large();
    check_shared(true);
    check_shared(false);
    check_shared_edges();
    check_queries();
    check_alignment("4096");
    check_alignment("65536");
    check_hints();
    check_ignored_hints();
    check_late_hints();
    MPI_Comm_free(&node);
    MPI_Finalize();
    return tap_finish();
}
