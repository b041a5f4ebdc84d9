/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank whose static arrays lie in the region, or do not (argument "on" or "off"): what they hold
 * when main begins, messages and collectives on them, and children. Two ranks or more; prints TAP,
 * rank 0 for all. With EARLY_THREAD in the environment there is a second thread before main.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/node/region.h"
#include "test/memory/children.h"
#include "test/memory/ranks.h"

enum { INTS = 1 << 20, EARLY = 1234567, MAX_RANKS = 8 };

static int out[INTS], in[MAX_RANKS * INTS];
static _Alignas(4096) int early[INTS]; /* whole pages, that are written to before main */

/* -- before main -------------------------------------------------------------------------- */

static void *idle(void *nothing)
{
    pause();
    return nothing;
}

/* Before all constructors, so before the library's. */
static void be_early(int argc, char **argv, char **environment)
{
    pthread_t thread;
    (void)argc, (void)argv;
    early[INTS / 2] = EARLY;
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, "EARLY_THREAD=", 13) == 0)
            pthread_create(&thread, NULL, idle, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*before_all)(int, char **,
                                                                           char **) = be_early;

/* -- messages ----------------------------------------------------------------------------- */

static int value_of(int sender, int i)
{
    return sender * 1000003 + i;
}

static void fill(int *array)
{
    for (int i = 0; i < INTS; i++)
        array[i] = value_of(rank, i);
    memset(in, 0xff, sizeof in);
}

static bool is_from(const int *array, int sender, int ints)
{
    for (int i = 0; i < ints; i++)
        if (array[i] != value_of(sender, i))
            return false;
    return true;
}

static int next(void)
{
    return (rank + 1) % size;
}

static int before(void)
{
    return (rank + size - 1) % size;
}

static void exchange(const void *from, MPI_Datatype from_type, void *to, MPI_Datatype to_type)
{
    MPI_Sendrecv(from, 1, from_type, next(), 0, to, 1, to_type, before(), 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void check_messages(void)
{
    static const int sizes[] = {1, 100, 1024, 5000, 100000, INTS};
    bool good = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill(out);
        MPI_Sendrecv(out, sizes[i], MPI_INT, next(), 0, in, sizes[i], MPI_INT, before(), 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good &= is_from(in, before(), sizes[i]) && in[sizes[i]] == -1;
    }
    check(good, "messages between static arrays");
}

/* One message out of a static array and a block of malloc's, into the other one of the kind. */
static void check_mixed(void)
{
    MPI_Datatype from, to;
    const int half = INTS / 2, halves[] = {half, half};
    int *block = malloc(sizeof out);
    MPI_Aint out_of[2], into[2];
    fill(out);
    memcpy(block, out, sizeof out);
    MPI_Get_address(out, &out_of[0]);
    MPI_Get_address(block + half, &out_of[1]);
    MPI_Get_address(in, &into[0]);
    into[1] = into[0] + (MPI_Aint)sizeof out;
    MPI_Type_create_hindexed(2, halves, out_of, MPI_INT, &from);
    MPI_Type_create_hindexed(2, halves, into, MPI_INT, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    exchange(MPI_BOTTOM, from, MPI_BOTTOM, to);
    memmove(in + half, in + INTS, sizeof out / 2);
    check(is_from(in, before(), INTS), "one out of a static array and a block");
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    free(block);
}

static void check_collectives(void)
{
    fill(out);
    MPI_Allgather(out, INTS, MPI_INT, in, INTS, MPI_INT, MPI_COMM_WORLD);
    bool good = true;
    for (int i = 0; i < size; i++)
        good &= is_from(in + (size_t)i * INTS, i, INTS);
    check(good, "MPI_Allgather");

    fill(out);
    MPI_Gather(out, INTS, MPI_INT, in, INTS, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == 0; i++)
        good &= is_from(in + (size_t)i * INTS, i, INTS);
    check(good, "MPI_Gather");

    MPI_Request request;
    MPI_Igather(out, INTS, MPI_INT, in, INTS, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < size && rank == 0; i++)
        good &= is_from(in + (size_t)i * INTS, i, INTS);
    check(good, "MPI_Igather");

    MPI_Datatype every_second;
    MPI_Type_vector(INTS / 2, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Bcast(out, 1, every_second, 0, MPI_COMM_WORLD);
    for (int i = 0; i < INTS; i++)
        good &= out[i] == value_of(i % 2 == 0 ? 0 : rank, i);
    check(good, "MPI_Bcast of every second element");
    MPI_Type_free(&every_second);

    for (int i = 0; i < INTS; i++)
        out[i] = i + rank;
    MPI_Allreduce(MPI_IN_PLACE, out, INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < INTS; i++)
        good &= out[i] == i * size + size * (size - 1) / 2;
    check(good, "MPI_Allreduce in place");
}

/* -- children ----------------------------------------------------------------------------- */

/* The child looks, and writes, after the parent has written. */
static bool is_apart_from_child(void)
{
    int go[2], gone[2];
    char byte = 0;
    if (pipe(go) != 0 || pipe(gone) != 0)
        return false;
    fill(out);
    pid_t child = fork();
    if (child == 0) {
        bool good = read(go[0], &byte, 1) == 1 && is_from(out, rank, INTS);
        memset(out, 0, sizeof out);
        good &= write(gone[1], &byte, 1) == 1;
        _exit(good ? 7 : 8);
    }
    out[5] = 50;
    bool good = write(go[1], &byte, 1) == 1 && read(gone[0], &byte, 1) == 1;
    good &= out[5] == 50 && out[6] == value_of(rank, 6);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        close(gone[i]);
    }
    return ended_with(child, 7) && good;
}

static void check_children(void)
{
    check(is_apart_from_child(), "a child has arrays of its own");
    pid_t child = fork();
    if (child == 0)
        _exit(is_apart_from_child() ? 3 : 4);
    check(ended_with(child, 3), "and a child's child, too");
}

int main(int argc, char **argv)
{
    bool on = argc > 1 && strcmp(argv[1], "on") == 0;
    bool is_there = opal_region_has(early, sizeof early) && opal_region_has(in, sizeof in) &&
                    !opal_region_has(in, sizeof in * 2);
    MPI_Init(&argc, &argv);
    begin_checks();
    if (size > MAX_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    check(is_there == on, on ? "static arrays are in the region" : "static arrays are private");
    check(early[INTS / 2] == EARLY && early[INTS / 2 + 1] == 0 && early[0] == 0,
          "what was written before main is there");
    check(before_all == be_early, "and so is data with initial values");
    pid_t child = fork(); /* when little was touched, all is copied at once */
    if (child == 0)
        _exit(early[INTS / 2] == EARLY ? 5 : 6);
    check(ended_with(child, 5), "a child sees what was there");
    if (size > 1)
        check_messages();
    check_mixed();
    check_collectives();
    check_children();
    return end_checks();
}
