/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Pack and MPI_Unpack on one rank: the time of a call, by layout and bytes of data.
 *
 *   datatype [--quick] [NAME]     pack/LAYOUT and unpack/LAYOUT
 */
#include <mpi.h>
#include <stdio.h>

#include "layouts.h"
#include "measure.h"

enum { MIN_BYTES = 1024, MAX_BYTES = 1024 * 1024 };

struct job {
    MPI_Datatype type;
    int size;
};

static char *memory, *packed;

static void pack(void *context, int rounds)
{
    const struct job *job = context;
    for (int i = 0; i < rounds; i++) {
        int position = 0;
        MPI_Pack(memory, 1, job->type, packed, job->size, &position, MPI_COMM_SELF);
    }
}

static void unpack(void *context, int rounds)
{
    const struct job *job = context;
    for (int i = 0; i < rounds; i++) {
        int position = 0;
        MPI_Unpack(packed, job->size, &position, memory, 1, job->type, MPI_COMM_SELF);
    }
}

static void measure(const char *what, const char *layout, int bytes, bench_rounds_fn_t *run,
                    struct job *job)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s", what, layout);
    bench_measure(&(bench_case_t){.name = name,
                                  .size = bytes,
                                  .unit = BENCH_USEC,
                                  .work = 1,
                                  .ranks = 1,
                                  .run = run,
                                  .context = job});
}

int main(int argc, char **argv)
{
    bench_init(&argc, &argv);
    memory = bench_memory((size_t)MAX_BYTES * BENCH_SPREAD);
    packed = bench_memory(MAX_BYTES);
    for (const bench_layout_t *layout = bench_layouts; layout->name != NULL; layout++) {
        for (int bytes = MIN_BYTES; bytes <= MAX_BYTES; bytes *= bench_quick ? 32 : 4) {
            struct job job = {.type = layout->create(bytes)};
            MPI_Type_commit(&job.type);
            MPI_Type_size(job.type, &job.size);
            measure("pack", layout->name, bytes, pack, &job);
            measure("unpack", layout->name, bytes, unpack, &job);
            MPI_Type_free(&job.type);
        }
    }
    return bench_fini();
}
