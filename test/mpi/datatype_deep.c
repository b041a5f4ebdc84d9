/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of derived types, each made of the one before, on a small stack: nothing that is done with
 * a type calls itself once for each type of its chain.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { LENGTH = 20000, STACK_BYTES = 256 * 1024, STEP = 3 };

/* A way to make a type of the one before, and how many bytes it then has more. */
typedef MPI_Datatype make_fn_t(MPI_Datatype old);

static MPI_Datatype struct_of(MPI_Datatype first, MPI_Aint first_at, MPI_Datatype second,
                              MPI_Aint second_at)
{
    const int one[2] = {1, 1};
    MPI_Datatype types[2] = {first, second}, type;
    MPI_Aint at[2] = {first_at, second_at};
    MPI_Type_create_struct(2, one, at, types, &type);
    return type;
}

/* A byte, a gap, and the old one. */
static MPI_Datatype make_front(MPI_Datatype old)
{
    return struct_of(MPI_CHAR, 0, old, STEP);
}

/* The old one, a gap, and a byte; the bytes lie from the end to the beginning. */
static MPI_Datatype make_back(MPI_Datatype old)
{
    return struct_of(old, STEP, MPI_BYTE, 0);
}

static MPI_Datatype make_indexed(MPI_Datatype old)
{
    MPI_Datatype type, pair = struct_of(MPI_CHAR, 0, MPI_BYTE, 2);
    type = struct_of(pair, 0, old, STEP);
    MPI_Type_free(&pair);
    return type;
}

static MPI_Datatype make_dup(MPI_Datatype old)
{
    MPI_Datatype type;
    MPI_Type_dup(old, &type);
    return type;
}

static MPI_Datatype make_resized(MPI_Datatype old)
{
    MPI_Datatype type;
    MPI_Type_create_resized(old, 0, 7, &type);
    return type;
}

static MPI_Datatype make_contiguous(MPI_Datatype old)
{
    MPI_Datatype type;
    MPI_Type_contiguous(1, old, &type);
    return type;
}

static const struct {
    const char *name;
    make_fn_t *make;
    int bytes;     /* that a type has more than the one before */
    bool is_front; /* they come before those of the old one */
} ways[] = {
    {"structs with a byte in front", make_front, 1, true},
    {"structs with a byte behind", make_back, 1, false},
    {"structs with a struct in front", make_indexed, 2, true},
    {"duplicates", make_dup, 0, true},
    {"resized types", make_resized, 0, true},
    {"contiguous types", make_contiguous, 0, true},
};

/* Only the last type has a handle: the others live by it. */
static MPI_Datatype make_chain(make_fn_t *make)
{
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_CHAR, &type);
    for (int i = 0; i < LENGTH; i++) {
        MPI_Datatype next = make(type);
        MPI_Type_free(&type);
        type = next;
    }
    MPI_Type_commit(&type);
    return type;
}

/* Where the byte of packed data lies, of a chain of the first two ways. */
static int place_of(bool is_front, int byte)
{
    if (is_front)
        return byte < LENGTH ? byte * STEP : LENGTH * STEP + byte - LENGTH;
    return byte < 2 ? LENGTH * STEP + byte : (LENGTH + 1 - byte) * STEP;
}

static void check_data(MPI_Datatype type, const char *name, bool is_front)
{
    int size, position = 0, right = 0, back = 0, count;
    MPI_Aint external = 0;
    const size_t room = LENGTH * STEP + 16;
    char *data = malloc(room), *packed = malloc(room), *again = calloc(room, 1);
    MPI_Status status;
    MPI_Type_size(type, &size);
    for (size_t i = 0; i < room; i++)
        data[i] = (char)(i * 31 + i / 256);
    MPI_Pack(data, 1, type, packed, size, &position, MPI_COMM_SELF);
    for (int i = 0; i < size; i++)
        right += packed[i] == data[place_of(is_front, i)];
    tap_check(position == size && right == size, "%s: packed", name);
    position = 0;
    MPI_Unpack(packed, size, &position, again, 1, type, MPI_COMM_SELF);
    for (int i = 0; i < size; i++)
        back += again[place_of(is_front, i)] == packed[i];
    tap_check(back == size, "%s: unpacked", name);
    MPI_Pack_external("external32", data, 1, type, again, (MPI_Aint)room, &external);
    tap_check(external == size && memcmp(packed, again, (size_t)size) == 0, "%s: converted", name);
    MPI_Sendrecv(data, 1, type, 0, 0, again, size, MPI_PACKED, 0, 0, MPI_COMM_SELF, &status);
    MPI_Get_elements(&status, type, &count);
    tap_check(memcmp(packed, again, (size_t)size) == 0 && count == size, "%s: sent", name);
    free(data);
    free(packed);
    free(again);
}

static void check_way(size_t way)
{
    int size, integers, addresses, datatypes, combiner;
    MPI_Datatype type = make_chain(ways[way].make), copy;
    MPI_Type_size(type, &size);
    MPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
    tap_check(size == 2 + LENGTH * ways[way].bytes && datatypes > 0, "a chain of %s",
              ways[way].name);
    if (ways[way].bytes == 1)
        check_data(type, ways[way].name, ways[way].is_front);
    MPI_Type_dup(type, &copy);
    MPI_Type_free(&type);
    MPI_Type_free(&copy);
    tap_check(true, "%s: freed", ways[way].name);
}

static void *run(void *argument)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        check_way(i);
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    tap_rank(0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_create(&thread, &attributes, run, NULL);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return tap_finish();
}
