/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parents and children: what they get of each other, errors of all parents, nested spawns, and
 * nothing that grows with the number of spawns. Children are this program with an argument.
 */
#include <mpi.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resident.h"
#include "tap.h"

/* A connection to the last child may be about to end, or may have ended before. */
enum { WARM = 10, MOST_GROWTH_KIB = 1024, MOST_OF_CONNECTION = 3 };

static int rank, size;
static char *self;

static bool is_class(int code, int wanted)
{
    int class = -1;
    return MPI_Error_class(code, &class) == MPI_SUCCESS && class == wanted;
}

/* -- children -------------------------------------------------------------------------------- */

static int sum_of_merged(MPI_Comm inter, int high)
{
    int sum = 0, one = 1;
    MPI_Comm merged;
    MPI_Intercomm_merge(inter, high, &merged);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
    MPI_Comm_free(&merged);
    return sum;
}

/* What it finds is counted by its parents. */
static void be_child(MPI_Comm parent, const char *what)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, faults = 0, depth = atoi(what);
    MPI_Comm again, inter;
    MPI_Comm_get_name(parent, name, &length);
    faults += strcmp(name, "MPI_COMM_PARENT") != 0;
    MPI_Comm_get_parent(&again);
    faults += again != parent;
    sum_of_merged(parent, 1);
    if (depth > 1) {
        char *argv[] = {"1", NULL};
        MPI_Comm_spawn(self, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        faults += sum_of_merged(inter, 0) != size + 1;
        int theirs = 0;
        MPI_Reduce(NULL, &theirs, 1, MPI_INT, MPI_SUM, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
        faults += theirs;
        MPI_Comm_disconnect(&inter);
    }
    MPI_Reduce(&faults, NULL, 1, MPI_INT, MPI_SUM, 0, parent);
    MPI_Comm_disconnect(&parent);
    MPI_Comm_get_parent(&again);
    if (again != MPI_COMM_NULL)
        abort();
}

/* -- parents --------------------------------------------------------------------------------- */

/* Returns the children's faults. */
static int end_children(MPI_Comm *inter)
{
    int faults = 0;
    MPI_Reduce(NULL, &faults, 1, MPI_INT, MPI_SUM, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, *inter);
    MPI_Comm_disconnect(inter);
    return faults;
}

/* False: this launcher starts no processes, and all parents know. */
static bool test_spawn(void)
{
    char *argv[] = {"1", NULL};
    int codes[3] = {-1, -1, -1}, remote = 0;
    MPI_Comm inter = MPI_COMM_NULL;
    int code = MPI_Comm_spawn(rank == 0 ? self : NULL, rank == 0 ? argv : MPI_ARGV_NULL,
                              rank == 0 ? 3 : -1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    if (is_class(code, MPI_ERR_UNSUPPORTED_OPERATION))
        return false;
    tap_check(code == MPI_SUCCESS && codes[0] == 0 && codes[1] == 0 && codes[2] == 0,
              "three processes are spawned");
    MPI_Comm_remote_size(inter, &remote);
    tap_check(remote == 3 && sum_of_merged(inter, 0) == size + 3, "they merge with their parents");
    tap_check(end_children(&inter) == 0, "and find their parents");
    return true;
}

static void test_multiple(void)
{
    char *one[] = {"1", NULL}, **arguments[] = {one, one};
    char *commands[] = {self, self};
    int counts[] = {1, 2}, codes[3], remote = 0;
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    tap_check(MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, size - 1,
                                      MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS,
              "two programs");
    MPI_Comm_remote_size(inter, &remote);
    tap_check(remote == 3 && sum_of_merged(inter, 0) == size + 3, "are one job");
    tap_check(end_children(&inter) == 0, "with the same parents");
}

static void test_nested(void)
{
    char *argv[] = {"2", NULL};
    MPI_Comm inter;
    MPI_Comm_spawn(self, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    sum_of_merged(inter, 0);
    tap_check(end_children(&inter) == 0, "children have children");
}

/* Every parent gets the error and the codes. */
static void test_errors(void)
{
    int codes[2] = {0, 0};
    MPI_Comm inter = MPI_COMM_SELF;
    tap_check(is_class(MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0,
                                      MPI_COMM_WORLD, &inter, codes),
                       MPI_ERR_SPAWN) &&
                  inter == MPI_COMM_NULL && is_class(codes[0], MPI_ERR_SPAWN) &&
                  is_class(codes[1], MPI_ERR_SPAWN),
              "a program that is not there");
    tap_check(is_class(MPI_Comm_spawn(self, MPI_ARGV_NULL, -1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                      &inter, codes),
                       MPI_ERR_ARG),
              "a number of processes that is none");
    char *commands[] = {self, self, self};
    int counts[] = {INT_MAX, INT_MAX, 3}; /* whose sum is 1 in 32 bits */
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL, MPI_INFO_NULL};
    tap_check(is_class(MPI_Comm_spawn_multiple(3, commands, MPI_ARGVS_NULL, counts, infos, 0,
                                               MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
                       MPI_ERR_SPAWN),
              "more processes than any launcher starts");
}

/* Programs that never call MPI_Init, or end before. */
static void test_strangers(void)
{
    int codes[2];
    MPI_Comm inter = MPI_COMM_SELF;
    static char *const ends[] = {"exit 0", "exit 3", "kill -9 $$"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char *argv[] = {"-c", ends[i], NULL};
        codes[0] = codes[1] = 0;
        int code = MPI_Comm_spawn("sh", argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
        tap_check(is_class(code, MPI_ERR_SPAWN) && inter == MPI_COMM_NULL &&
                      is_class(codes[0], MPI_ERR_SPAWN) && is_class(codes[1], MPI_ERR_SPAWN),
                  "a program that ends before MPI_Init: %s", ends[i]);
    }
    /* One that calls MPI_Init, and waits for the other one, who never does. */
    char *late[] = {"1", NULL}, *early[] = {"-c", "exit 0", NULL}, **arguments[] = {late, early};
    char *commands[] = {self, "sh"};
    int counts[] = {1, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    tap_check(is_class(MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0,
                                               MPI_COMM_WORLD, &inter, codes),
                       MPI_ERR_SPAWN) &&
                  inter == MPI_COMM_NULL,
              "one of two that does");
}

static void test_growth(int rounds)
{
    int faults = 0, descriptors = 0;
    long ids = 0;
    long kib = 0;
    char *argv[] = {"1", NULL};
    MPI_Comm inter;
    for (int round = 0; round < rounds; round++) {
        if (round == WARM) {
            descriptors = count_descriptors();
            kib = memory_kib();
            ids = ids_taken();
        }
        MPI_Comm_spawn(self, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        faults += sum_of_merged(inter, 0) != size + 1;
        faults += end_children(&inter);
    }
    tap_check(faults == 0, "%d rounds", rounds);
    tap_check(ids > 0 && ids_taken() == ids, "and no id is taken (%ld)", ids);
    tap_check(count_descriptors() <= descriptors + MOST_OF_CONNECTION,
              "and no descriptor is left (%d, then %d)", descriptors, count_descriptors());
    tap_check(TAP_HAS_SANITIZER || memory_kib() - kib < MOST_GROWTH_KIB,
              "and the memory has not grown (%ld KiB)", memory_kib() - kib);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    self = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        be_child(parent, argc > 1 ? argv[1] : "0");
        MPI_Finalize();
        return 0;
    }
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (test_spawn()) {
        test_multiple();
        test_nested();
        test_errors();
        test_strangers();
        test_growth(argc > 1 ? atoi(argv[1]) : 20);
    } else {
        tap_skip("spawning", "this launcher starts no further processes");
    }
    MPI_Finalize();
    return tap_finish();
}
