/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages from any layout to any other: in one piece, in few long pieces, in many, in short ones;
 * from buffers of the shared heap and from others; into as much room, more or less.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { MOST = 300000, SPAN = 4 * MOST, GUARD = 64 };

/* Blocks of a length, at distances that begin with `stride` and change by `drift` in turns. */
typedef struct layout {
    const char *name;
    int block, stride, drift;
} layout_t;

static const layout_t layouts[] = {
    {"one piece", MOST, MOST, 0},      {"blocks of 64", 64, 150, 0},
    {"blocks of 700", 700, 1500, 0},   {"blocks of 700 at odd places", 700, 1500, 37},
    {"blocks of 5000", 5000, 9000, 3}, {"blocks of 50000", 50000, 70000, 0},
};

enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static int count_of(const layout_t *layout, int bytes)
{
    return layout->block >= bytes ? 1 : bytes / layout->block;
}

static int length_of(const layout_t *layout, int bytes)
{
    return layout->block >= bytes ? bytes : layout->block;
}

static MPI_Aint place_of(const layout_t *layout, int i)
{
    return (MPI_Aint)i * layout->stride + i % 3 * layout->drift;
}

/* As many whole blocks as fit. Returns their bytes. */
static int make_type(const layout_t *layout, int bytes, MPI_Datatype *type)
{
    int count = count_of(layout, bytes), length = length_of(layout, bytes);
    int *lengths = malloc((size_t)count * sizeof *lengths);
    MPI_Aint *places = malloc((size_t)count * sizeof *places);
    for (int i = 0; i < count; i++) {
        lengths[i] = length;
        places[i] = place_of(layout, i);
    }
    if (layout->drift != 0)
        MPI_Type_create_hindexed(count, lengths, places, MPI_BYTE, type);
    else
        MPI_Type_vector(count, length, layout->stride, MPI_BYTE, type);
    MPI_Type_commit(type);
    free(lengths);
    free(places);
    return count * length;
}

static unsigned char byte_at(int i, int round)
{
    return (unsigned char)(i * 31 + i / 253 + round * 17);
}

static MPI_Aint span_of(const layout_t *layout, int bytes)
{
    int last = count_of(layout, bytes) - 1;
    MPI_Aint span = 0;
    for (int i = last; i >= 0 && i > last - 3; i--) {
        MPI_Aint end = place_of(layout, i) + length_of(layout, bytes);
        span = end > span ? end : span;
    }
    return span;
}

/* The first `count` bytes of a message where they lie; in between stays what is there. */
static void lay_out(unsigned char *buffer, const layout_t *layout, int bytes, int count, int round)
{
    int length = length_of(layout, bytes);
    for (int index = 0; index < count; index++)
        buffer[place_of(layout, index / length) + index % length] = byte_at(index, round);
}

static void fill(unsigned char *buffer, const layout_t *layout, int bytes, int round)
{
    memset(buffer, 0x55, (size_t)span_of(layout, bytes));
    lay_out(buffer, layout, bytes, count_of(layout, bytes) * length_of(layout, bytes), round);
}

/* What has come is there, and nothing else has changed. */
static int is_right(const unsigned char *buffer, const layout_t *layout, int bytes, int came,
                    int round)
{
    static unsigned char expected[SPAN];
    size_t span = (size_t)span_of(layout, bytes) + GUARD;
    memset(expected, 0xaa, span);
    lay_out(expected, layout, bytes, came, round);
    return memcmp(buffer, expected, span) == 0;
}

static int rank, round_number;

static void send(unsigned char *buffer, const layout_t *layout, int bytes)
{
    MPI_Datatype type;
    make_type(layout, bytes, &type);
    fill(buffer, layout, bytes, round_number);
    if (round_number % 3 == 0) {
        MPI_Request request;
        MPI_Isend(buffer, 1, type, !rank, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (round_number % 3 == 1) {
        MPI_Ssend(buffer, 1, type, !rank, 7, MPI_COMM_WORLD);
    } else {
        MPI_Send(buffer, 1, type, !rank, 7, MPI_COMM_WORLD);
    }
    memset(buffer, 0x11, (size_t)span_of(layout, bytes)); /* it is ours again */
    MPI_Type_free(&type);
}

/* `sent` bytes come. */
static int receive(unsigned char *buffer, const layout_t *layout, int bytes, int sent)
{
    MPI_Datatype type;
    MPI_Status status;
    int came, room = make_type(layout, bytes, &type);
    memset(buffer, 0xaa, (size_t)span_of(layout, bytes) + GUARD);
    int error = MPI_Recv(buffer, 1, type, !rank, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &came);
    MPI_Type_free(&type);
    int expected = sent > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS, class;
    MPI_Error_class(error, &class);
    return class == expected && came == (sent > room ? room : sent) &&
           is_right(buffer, layout, bytes, came, round_number);
}

/* All pairs of layouts; the receiver's room is `room` bytes. */
static int exchange(unsigned char *source, unsigned char *target, int bytes, int room)
{
    int good = 1;
    for (int i = 0; i < LAYOUTS * LAYOUTS; i++, round_number++) {
        const layout_t *from = &layouts[i / LAYOUTS], *to = &layouts[i % LAYOUTS];
        int sent = count_of(from, bytes) * length_of(from, bytes);
        if (round_number % 2 == rank) {
            send(source, from, bytes);
        } else if (!receive(target, to, room, sent)) {
            printf("# %d bytes, room for %d: %s to %s\n", bytes, room, from->name, to->name);
            good = 0;
        }
    }
    return good;
}

static unsigned char static_source[SPAN], static_target[SPAN];

int main(int argc, char **argv)
{
    static const int sizes[] = {5000, 40000, MOST};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char *source = malloc(SPAN), *target = malloc(SPAN);
    for (int i = 0; i < 3; i++) {
        int bytes = sizes[i];
        tap_check(exchange(source, target, bytes, bytes), "%d bytes", bytes);
        tap_check(exchange(source, static_target, bytes, bytes), "%d, not into the heap", bytes);
        tap_check(exchange(static_source, target, bytes, bytes), "%d, not from the heap", bytes);
        tap_check(exchange(source, target, bytes, bytes / 2), "%d, into less room", bytes);
        tap_check(exchange(source, target, bytes / 2, bytes), "%d, into more room", bytes / 2);
    }
    free(source);
    free(target);
    MPI_Finalize();
    return tap_finish();
}
