/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast operations are, without communication: the time of a call of MPI_Reduce_local on one
 * rank, by operation, type and bytes.
 *
 *   reduce_local [--quick] [NAME]
 */
#include <mpi.h>
#include <string.h>

#include "measure.h"

enum { MIN_BYTES = 1024, MAX_BYTES = 1024 * 1024 };

struct job {
    MPI_Datatype type;
    MPI_Op op;
    int count;
};

static void *in, *inout;

static void reduce(void *context, int rounds)
{
    const struct job *job = context;
    for (int i = 0; i < rounds; i++)
        MPI_Reduce_local(in, inout, job->count, job->type, job->op);
}

static void measure(const char *name, MPI_Datatype type, MPI_Op op)
{
    int size;
    MPI_Type_size(type, &size);
    for (int bytes = MIN_BYTES; bytes <= MAX_BYTES; bytes *= bench_quick ? 32 : 4) {
        struct job job = {type, op, bytes / size};
        bench_measure(&(bench_case_t){.name = name,
                                      .size = bytes,
                                      .unit = BENCH_USEC,
                                      .work = 1,
                                      .ranks = 1,
                                      .run = reduce,
                                      .context = &job});
    }
}

int main(int argc, char **argv)
{
    bench_init(&argc, &argv);
    in = bench_memory(MAX_BYTES);
    inout = bench_memory(MAX_BYTES);
    /* Zeros: no sum or product leaves the range where the machine is fast. */
    memset(in, 0, MAX_BYTES);
    memset(inout, 0, MAX_BYTES);
    measure("sum-double", MPI_DOUBLE, MPI_SUM);
    measure("sum-float", MPI_FLOAT, MPI_SUM);
    measure("sum-int", MPI_INT, MPI_SUM);
    measure("max-int", MPI_INT, MPI_MAX);
    measure("max-double", MPI_DOUBLE, MPI_MAX);
    measure("prod-complex", MPI_C_DOUBLE_COMPLEX, MPI_PROD);
    measure("land-int", MPI_INT, MPI_LAND);
    measure("bor-byte", MPI_BYTE, MPI_BOR);
    measure("minloc-2int", MPI_2INT, MPI_MINLOC);
    return bench_fini();
}
