/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast operations are, without communication: MPI_Reduce_local in portable MPI, on one rank.
 *
 *   reduce_local [REPETITIONS]
 *
 * For each operation, type and size one line: operation, bytes, nanoseconds of a call, the median
 * of the repetitions.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_BYTES = 1024,
    MAX_BYTES = 1024 * 1024,
    STEP = 4,
    DEFAULT_REPETITIONS = 15,
    REPETITION_BYTES = 8 * 1024 * 1024,
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of a call. */
static double once(const void *in, void *inout, int count, int calls, MPI_Datatype type, MPI_Op op)
{
    double begin = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        MPI_Reduce_local(in, inout, count, type, op);
    return (MPI_Wtime() - begin) / calls;
}

static void measure(const char *name, MPI_Datatype type, MPI_Op op, int repetitions)
{
    int size;
    void *in = aligned_alloc(4096, MAX_BYTES), *inout = aligned_alloc(4096, MAX_BYTES);
    double *seconds = malloc((size_t)repetitions * sizeof *seconds);
    MPI_Type_size(type, &size);
    if (in == NULL || inout == NULL || seconds == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(in, 0, MAX_BYTES);
    memset(inout, 0, MAX_BYTES);
    for (int bytes = MIN_BYTES; bytes <= MAX_BYTES; bytes *= STEP) {
        int calls = REPETITION_BYTES / bytes;
        once(in, inout, bytes / size, calls, type, op);
        for (int i = 0; i < repetitions; i++)
            seconds[i] = once(in, inout, bytes / size, calls, type, op);
        qsort(seconds, (size_t)repetitions, sizeof *seconds, compare);
        printf("%-12s %8d %10.1f\n", name, bytes, 1e9 * seconds[repetitions / 2]);
    }
    free(in);
    free(inout);
    free(seconds);
}

int main(int argc, char **argv)
{
    int repetitions = argc > 1 ? atoi(argv[1]) : DEFAULT_REPETITIONS;
    MPI_Init(&argc, &argv);
    if (repetitions < 1)
        MPI_Abort(MPI_COMM_WORLD, 2);
    measure("sum-double", MPI_DOUBLE, MPI_SUM, repetitions);
    measure("sum-float", MPI_FLOAT, MPI_SUM, repetitions);
    measure("sum-int", MPI_INT, MPI_SUM, repetitions);
    measure("max-int", MPI_INT, MPI_MAX, repetitions);
    measure("max-double", MPI_DOUBLE, MPI_MAX, repetitions);
    measure("prod-complex", MPI_C_DOUBLE_COMPLEX, MPI_PROD, repetitions);
    measure("land-int", MPI_INT, MPI_LAND, repetitions);
    measure("bor-byte", MPI_BYTE, MPI_BOR, repetitions);
    measure("minloc-2int", MPI_2INT, MPI_MINLOC, repetitions);
    MPI_Finalize();
    return 0;
}
