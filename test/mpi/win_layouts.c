/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes of operations on windows: every pair of layouts at the origin and at the target, among
 * them negative lower bounds, gaps, elements out of order and interleaved, first bytes that are not
 * the lower bound, and addresses with MPI_BOTTOM. The displacement unit is another one at each
 * rank. What must be there is made with messages of a rank to itself.
 */
#include <mpi.h>
#include <string.h>

#include "tap.h"

/* MIDDLE: where an operation works, a multiple of every displacement unit. */
enum { NUMBERS = 12, BYTES = 2400, MIDDLE = 1200, LAYOUTS = 8 };

/* `count` elements of `type` are 12 numbers. */
typedef struct layout {
    const char *name;
    MPI_Datatype type;
    int count;
} layout_t;

typedef union bytes {
    char bytes[BYTES];
    int numbers[BYTES / sizeof(int)];
} bytes_t;

static int rank, size, left, right;
static MPI_Win win;
static bytes_t memory;
static layout_t layouts[LAYOUTS];

static int unit_of(int owner)
{
    static const int units[] = {1, 3, 8};
    return units[owner % 3];
}

static void fill(bytes_t *buffer, int owner, int what)
{
    for (int i = 0; i < (int)(sizeof buffer->numbers / sizeof(int)); i++)
        buffer->numbers[i] = 1000000 * what + 1000 * owner + i;
}

static void fill_window(void)
{
    fill(&memory, rank, 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- layouts ----------------------------------------------------------------------------------- */

static void keep(int index, const char *name, MPI_Datatype type, int count)
{
    MPI_Type_commit(&type);
    layouts[index] = (layout_t){name, type, count};
}

static void make_interleaved(int index)
{
    MPI_Datatype column, type;
    MPI_Type_vector(3, 1, 4, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &type);
    MPI_Type_free(&column);
    keep(index, "interleaved columns", type, 4);
}

/* With a gap in front of the data, and one behind it. */
static void make_padded(int index)
{
    MPI_Datatype pair, type;
    MPI_Type_create_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){8, 20}, MPI_INT, &pair);
    MPI_Type_create_resized(pair, -8, 52, &type);
    MPI_Type_free(&pair);
    keep(index, "padded elements", type, 4);
}

/* The later elements are in front of the first. */
static void make_backwards(int index)
{
    MPI_Datatype type;
    MPI_Type_create_hvector(6, 2, -20, MPI_INT, &type);
    keep(index, "a vector that runs backwards", type, 1);
}

static void make_layouts(void)
{
    MPI_Datatype type;
    MPI_Type_dup(MPI_INT, &type);
    keep(0, "numbers", type, NUMBERS);
    MPI_Type_contiguous(4, MPI_INT, &type);
    keep(1, "contiguous elements", type, 3);
    MPI_Type_vector(6, 2, 5, MPI_INT, &type);
    keep(2, "a vector", type, 1);
    make_interleaved(3);
    MPI_Type_indexed(4, (int[]){1, 2, 1, 2}, (int[]){3, -5, 0, -2}, MPI_INT, &type);
    keep(4, "blocks below and above, out of order", type, 2);
    make_padded(5);
    MPI_Type_create_subarray(2, (int[]){5, 6}, (int[]){3, 4}, (int[]){1, 2}, MPI_ORDER_C, MPI_INT,
                             &type);
    keep(6, "a subarray", type, 1);
    make_backwards(7);
}

/* -- the origin's buffer ------------------------------------------------------------------------
 */

/* The same bytes of `buffer`, with an address or without one. */
typedef struct origin {
    bytes_t buffer;
    void *address;
    int count;
    MPI_Datatype type;
    bool is_absolute;
} origin_t;

static void begin_origin(origin_t *origin, const layout_t *layout, bool is_absolute)
{
    char *middle = origin->buffer.bytes + MIDDLE;
    MPI_Aint address;
    MPI_Get_address(middle, &address);
    *origin = (origin_t){.address = middle, .count = layout->count, .type = layout->type};
    origin->is_absolute = is_absolute;
    if (is_absolute) {
        MPI_Type_create_hindexed(1, &origin->count, &address, layout->type, &origin->type);
        MPI_Type_commit(&origin->type);
        origin->address = MPI_BOTTOM;
        origin->count = 1;
    }
}

static void end_origin(origin_t *origin)
{
    if (origin->is_absolute)
        MPI_Type_free(&origin->type);
}

/* -- what must be there ------------------------------------------------------------------------ */

static void copy(const bytes_t *from, const layout_t *from_layout, bytes_t *into,
                 const layout_t *into_layout)
{
    MPI_Sendrecv(from->bytes + MIDDLE, from_layout->count, from_layout->type, 0, 0,
                 into->bytes + MIDDLE, into_layout->count, into_layout->type, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
}

static void add(const bytes_t *from, const layout_t *from_layout, bytes_t *into,
                const layout_t *into_layout)
{
    bytes_t one, other;
    copy(from, from_layout, &one, &layouts[0]);
    copy(into, into_layout, &other, &layouts[0]);
    for (int i = 0; i < NUMBERS; i++)
        one.numbers[MIDDLE / sizeof(int) + i] += other.numbers[MIDDLE / sizeof(int) + i];
    copy(&one, &layouts[0], into, into_layout);
}

static bool is_same(const bytes_t *one, const bytes_t *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

/* -- operations -------------------------------------------------------------------------------- */

typedef enum operation { PUT, GET, REPLACE, SUM, GET_SUM, OPERATIONS } operation_t;

static const char *const operation_names[] = {"MPI_Put", "MPI_Get", "MPI_Accumulate that replaces",
                                              "MPI_Accumulate", "MPI_Get_accumulate"};

static void operate(operation_t operation, origin_t *origin, origin_t *result,
                    const layout_t *target)
{
    MPI_Aint place = MIDDLE / unit_of(right);
    switch (operation) {
    case PUT:
        MPI_Put(origin->address, origin->count, origin->type, right, place, target->count,
                target->type, win);
        break;
    case GET:
        MPI_Get(result->address, result->count, result->type, right, place, target->count,
                target->type, win);
        break;
    case GET_SUM:
        MPI_Get_accumulate(origin->address, origin->count, origin->type, result->address,
                           result->count, result->type, right, place, target->count, target->type,
                           MPI_SUM, win);
        break;
    default:
        MPI_Accumulate(origin->address, origin->count, origin->type, right, place, target->count,
                       target->type, operation == SUM ? MPI_SUM : MPI_REPLACE, win);
    }
}

/* Of the window, to which the left neighbour has done this. */
static bool is_window_right(operation_t operation, const layout_t *here, const layout_t *target)
{
    bytes_t theirs, wanted;
    fill(&theirs, left, 2);
    fill(&wanted, rank, 1);
    if (operation == PUT || operation == REPLACE)
        copy(&theirs, here, &wanted, target);
    else if (operation != GET)
        add(&theirs, here, &wanted, target);
    return is_same(&memory, &wanted);
}

static bool is_result_right(operation_t operation, const origin_t *result, const layout_t *here,
                            const layout_t *target)
{
    bytes_t theirs, wanted;
    fill(&theirs, right, 1);
    fill(&wanted, rank, 3);
    if (operation == GET || operation == GET_SUM)
        copy(&theirs, target, &wanted, here);
    return is_same(&result->buffer, &wanted);
}

static void check(operation_t operation, int index, bool is_absolute)
{
    const layout_t *here = &layouts[index], *there = &layouts[(index + 3) % LAYOUTS];
    origin_t origin, result;
    bytes_t before;
    bool good = true;
    begin_origin(&origin, here, is_absolute);
    begin_origin(&result, operation == GET ? here : there, is_absolute);
    fill(&origin.buffer, rank, 2);
    fill(&before, rank, 2);
    for (int i = 0; i < LAYOUTS; i++) {
        fill(&result.buffer, rank, 3);
        fill_window();
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        operate(operation, &origin, &result, &layouts[i]);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        bool is_right =
            is_window_right(operation, here, &layouts[i]) &&
            is_result_right(operation, &result, operation == GET ? here : there, &layouts[i]) &&
            is_same(&origin.buffer, &before);
        if (!is_right)
            fprintf(stderr, "rank %d: %s with %s at the target\n", rank, operation_names[operation],
                    layouts[i].name);
        good &= is_right;
    }
    end_origin(&origin);
    end_origin(&result);
    tap_check(good, "%s of %s%s and every layout at the target", operation_names[operation],
              here->name, is_absolute ? " at MPI_BOTTOM" : "");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    MPI_Win_create(&memory, sizeof memory, unit_of(rank), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    make_layouts();
    for (int operation = 0; operation < OPERATIONS; operation++) {
        for (int i = 0; i < LAYOUTS; i++) {
            check((operation_t)operation, i, false);
            check((operation_t)operation, i, true);
        }
    }
    for (int i = 0; i < LAYOUTS; i++)
        MPI_Type_free(&layouts[i].type);
    MPI_Win_free(&win);
    MPI_Finalize();
    return tap_finish();
}
