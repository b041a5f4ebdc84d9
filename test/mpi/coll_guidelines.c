/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Self-consistent performance: no collective is slower than a composition of others that has the
 * same result, or than a more general operation. The table `guidelines` has the pairs.
 *
 *   coll_guidelines results [NAME]   both sides of each guideline have the same result
 *   coll_guidelines times [NAME]     the left side takes at most 10 % longer than the right one
 *
 * NAME: only the guidelines that begin with it. The sizes are the bytes of all blocks together.
 *
 * The two sides take turns in short blocks, so a change of the machine's speed hits both. The best
 * block of each side counts. A guideline is violated at a size if each of several measurements says
 * so.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum {
    MAX_BYTES = 4 << 20,
    TURNS = 12,       /* of each side in a measurement */
    MEASUREMENTS = 5, /* that must agree on a violation */
    MAX_CALLS = 4096, /* in a block */
};
static const size_t sizes[] = {8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, MAX_BYTES};
static const double block_sec = 0.0004, allowed_ratio = 1.1;

/* -- the operations ---------------------------------------------------------------------- */

/*
 * Each operation always moves data between the same two buffers, so compositions fit together:
 *
 *   from, sparse, repeated   operands, never written: all blocks of this rank; 0 but for its own
 *                            block; its own block for each rank
 *   to                       the data of all blocks
 *   work                     the block of this rank
 */
static double *from, *sparse, *repeated, *to, *work;
static int rank, ranks, block, whole; /* elements: of a block, of all blocks */
static int *counts, *displs, *byte_displs, *root_counts, *zeros; /* of the blocks */
static MPI_Datatype *types;
static const MPI_Comm comm = MPI_COMM_WORLD;

typedef void call_fn_t(int root);

static void barrier(int root)
{
    (void)root;
    MPI_Barrier(comm);
}

static void allreduce_int(int root)
{
    int one = 1, sum;
    (void)root;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}

static void bcast(int root)
{
    MPI_Bcast(to, whole, MPI_DOUBLE, root, comm);
}

static void reduce(int root)
{
    MPI_Reduce(from, to, whole, MPI_DOUBLE, MPI_SUM, root, comm);
}

static void reduce_sparse(int root)
{
    MPI_Reduce(sparse, to, whole, MPI_DOUBLE, MPI_SUM, root, comm);
}

static void allreduce(int root)
{
    (void)root;
    MPI_Allreduce(from, to, whole, MPI_DOUBLE, MPI_SUM, comm);
}

static void allreduce_sparse(int root)
{
    (void)root;
    MPI_Allreduce(sparse, to, whole, MPI_DOUBLE, MPI_SUM, comm);
}

static void reduce_scatter_block(int root)
{
    (void)root;
    MPI_Reduce_scatter_block(from, work, block, MPI_DOUBLE, MPI_SUM, comm);
}

static void reduce_scatter(int root)
{
    (void)root;
    MPI_Reduce_scatter(from, work, counts, MPI_DOUBLE, MPI_SUM, comm);
}

static void scan(int root)
{
    (void)root;
    MPI_Scan(from, to, whole, MPI_DOUBLE, MPI_SUM, comm);
}

static void exscan_and_reduce_local(int root)
{
    (void)root;
    MPI_Exscan(from, to, whole, MPI_DOUBLE, MPI_SUM, comm);
    if (rank == 0)
        memcpy(to, from, (size_t)whole * sizeof *to);
    else
        MPI_Reduce_local(from, to, whole, MPI_DOUBLE, MPI_SUM);
}

static void gather(int root)
{
    MPI_Gather(work, block, MPI_DOUBLE, to, block, MPI_DOUBLE, root, comm);
}

static void gatherv(int root)
{
    MPI_Gatherv(work, block, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, root, comm);
}

static void scatter(int root)
{
    MPI_Scatter(to, block, MPI_DOUBLE, work, block, MPI_DOUBLE, root, comm);
}

static void scatterv(int root)
{
    MPI_Scatterv(to, counts, displs, MPI_DOUBLE, work, block, MPI_DOUBLE, root, comm);
}

static void copy_own(int root)
{
    (void)root;
    memcpy(work, to + displs[rank], (size_t)block * sizeof *to);
}

static void allgather(int root)
{
    (void)root;
    MPI_Allgather(work, block, MPI_DOUBLE, to, block, MPI_DOUBLE, comm);
}

static void allgatherv(int root)
{
    (void)root;
    MPI_Allgatherv(work, block, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, comm);
}

/* A broadcast: only the root has a block. */
static void allgatherv_of_root(int root)
{
    root_counts[root] = whole;
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, root_counts, zeros, MPI_DOUBLE, comm);
    root_counts[root] = 0;
}

static void alltoall(int root)
{
    (void)root;
    MPI_Alltoall(from, block, MPI_DOUBLE, to, block, MPI_DOUBLE, comm);
}

static void alltoall_repeated(int root)
{
    (void)root;
    MPI_Alltoall(repeated, block, MPI_DOUBLE, to, block, MPI_DOUBLE, comm);
}

static void alltoallv(int root)
{
    (void)root;
    MPI_Alltoallv(from, counts, displs, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, comm);
}

static void alltoallw(int root)
{
    (void)root;
    MPI_Alltoallw(from, counts, byte_displs, types, to, counts, byte_displs, types, comm);
}

/* -- nonblocking forms ------------------------------------------------------------------- */

static MPI_Request request;

static void await(int root)
{
    (void)root;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ibarrier(int root)
{
    (void)root;
    MPI_Ibarrier(comm, &request);
}

static void ibcast(int root)
{
    MPI_Ibcast(to, whole, MPI_DOUBLE, root, comm, &request);
}

static void ireduce(int root)
{
    MPI_Ireduce(from, to, whole, MPI_DOUBLE, MPI_SUM, root, comm, &request);
}

static void iallreduce(int root)
{
    (void)root;
    MPI_Iallreduce(from, to, whole, MPI_DOUBLE, MPI_SUM, comm, &request);
}

static void ireduce_scatter_block(int root)
{
    (void)root;
    MPI_Ireduce_scatter_block(from, work, block, MPI_DOUBLE, MPI_SUM, comm, &request);
}

static void igather(int root)
{
    MPI_Igather(work, block, MPI_DOUBLE, to, block, MPI_DOUBLE, root, comm, &request);
}

static void iscatter(int root)
{
    MPI_Iscatter(to, block, MPI_DOUBLE, work, block, MPI_DOUBLE, root, comm, &request);
}

static void iallgather(int root)
{
    (void)root;
    MPI_Iallgather(work, block, MPI_DOUBLE, to, block, MPI_DOUBLE, comm, &request);
}

static void ialltoall(int root)
{
    (void)root;
    MPI_Ialltoall(from, block, MPI_DOUBLE, to, block, MPI_DOUBLE, comm, &request);
}

/* -- the guidelines ---------------------------------------------------------------------- */

typedef enum extent {
    NOTHING, /* the operations have no data: one size */
    WHOLE,   /* data of any length */
    BLOCKS,  /* a block for each rank */
} extent_t;

typedef struct guideline {
    const char *name;
    extent_t extent;
    call_fn_t *left, *right[2];
} guideline_t;

static const guideline_t guidelines[] = {
    {"barrier <= allreduce of an int", NOTHING, barrier, {allreduce_int}},
    {"barrier <= ibarrier", NOTHING, barrier, {ibarrier, await}},
    {"bcast <= scatter + allgather", BLOCKS, bcast, {scatter, allgather}},
    {"bcast <= allgatherv", WHOLE, bcast, {allgatherv_of_root}},
    {"bcast <= ibcast", WHOLE, bcast, {ibcast, await}},
    {"reduce <= allreduce", WHOLE, reduce, {allreduce}},
    {"reduce <= reduce_scatter_block + gather", BLOCKS, reduce, {reduce_scatter_block, gather}},
    {"reduce <= reduce_scatter + gatherv", BLOCKS, reduce, {reduce_scatter, gatherv}},
    {"reduce <= ireduce", WHOLE, reduce, {ireduce, await}},
    {"allreduce <= reduce + bcast", WHOLE, allreduce, {reduce, bcast}},
    {"allreduce <= reduce_scatter_block + allgather",
     BLOCKS,
     allreduce,
     {reduce_scatter_block, allgather}},
    {"allreduce <= reduce_scatter + allgatherv", BLOCKS, allreduce, {reduce_scatter, allgatherv}},
    {"allreduce <= iallreduce", WHOLE, allreduce, {iallreduce, await}},
    {"reduce_scatter_block <= reduce + scatter", BLOCKS, reduce_scatter_block, {reduce, scatter}},
    {"reduce_scatter_block <= allreduce", BLOCKS, reduce_scatter_block, {allreduce, copy_own}},
    {"reduce_scatter_block <= reduce_scatter", BLOCKS, reduce_scatter_block, {reduce_scatter}},
    {"reduce_scatter_block <= ireduce_scatter_block",
     BLOCKS,
     reduce_scatter_block,
     {ireduce_scatter_block, await}},
    {"reduce_scatter <= reduce + scatterv", BLOCKS, reduce_scatter, {reduce, scatterv}},
    {"reduce_scatter <= allreduce", BLOCKS, reduce_scatter, {allreduce, copy_own}},
    {"scan <= exscan + local reduction", WHOLE, scan, {exscan_and_reduce_local}},
    {"gather <= allgather", BLOCKS, gather, {allgather}},
    {"gather <= gatherv", BLOCKS, gather, {gatherv}},
    {"gather <= reduce", BLOCKS, gather, {reduce_sparse}},
    {"gather <= igather", BLOCKS, gather, {igather, await}},
    {"gatherv <= allgatherv", BLOCKS, gatherv, {allgatherv}},
    {"scatter <= bcast", BLOCKS, scatter, {bcast, copy_own}},
    {"scatter <= scatterv", BLOCKS, scatter, {scatterv}},
    {"scatter <= iscatter", BLOCKS, scatter, {iscatter, await}},
    {"scatterv <= bcast", BLOCKS, scatterv, {bcast, copy_own}},
    {"allgather <= gather + bcast", BLOCKS, allgather, {gather, bcast}},
    {"allgather <= alltoall", BLOCKS, allgather, {alltoall_repeated}},
    {"allgather <= allreduce", BLOCKS, allgather, {allreduce_sparse}},
    {"allgather <= allgatherv", BLOCKS, allgather, {allgatherv}},
    {"allgather <= iallgather", BLOCKS, allgather, {iallgather, await}},
    {"allgatherv <= gatherv + bcast", BLOCKS, allgatherv, {gatherv, bcast}},
    {"alltoall <= alltoallv", BLOCKS, alltoall, {alltoallv}},
    {"alltoall <= ialltoall", BLOCKS, alltoall, {ialltoall, await}},
    {"alltoallv <= alltoallw", BLOCKS, alltoallv, {alltoallw}},
};

static void run_left(const guideline_t *guideline, int root)
{
    guideline->left(root);
}

static void run_right(const guideline_t *guideline, int root)
{
    guideline->right[0](root);
    if (guideline->right[1] != NULL)
        guideline->right[1](root);
}

typedef void run_fn_t(const guideline_t *guideline, int root);

/* -- data -------------------------------------------------------------------------------- */

/* Element i of a rank: small integers, of which every sum is exact and none is 0. */
static double value(int of_rank, int i)
{
    return 1 + (of_rank * 7 + i) % 13;
}

static double *allocate(void)
{
    size_t bytes = MAX_BYTES + (size_t)ranks * sizeof(double);
    double *buffer = malloc(bytes);
    if (buffer == NULL)
        MPI_Abort(comm, 1);
    memset(buffer, 0, bytes);
    return buffer;
}

static void allocate_all(void)
{
    size_t n = (size_t)ranks;
    from = allocate(), sparse = allocate(), repeated = allocate();
    to = allocate(), work = allocate();
    counts = calloc(5 * n, sizeof *counts);
    types = calloc(n, sizeof(MPI_Datatype));
    if (counts == NULL || types == NULL)
        MPI_Abort(comm, 1);
    displs = counts + n, byte_displs = displs + n;
    root_counts = byte_displs + n, zeros = root_counts + n;
}

static void free_all(void)
{
    free(from), free(sparse), free(repeated), free(to), free(work);
    free(counts), free((void *)types);
}

/* Sets the lengths, and fills the operands. */
static void set_bytes(size_t bytes, extent_t extent)
{
    int count = (int)(bytes / sizeof(double));
    block = count > ranks ? count / ranks : 1;
    whole = extent == BLOCKS ? block * ranks : count;
    for (int i = 0; i < ranks; i++) {
        counts[i] = block;
        displs[i] = i * block;
        byte_displs[i] = displs[i] * (int)sizeof(double);
        types[i] = MPI_DOUBLE;
    }
    for (int i = 0; i < whole; i++)
        from[i] = value(rank, i);
    if (extent != BLOCKS)
        return;
    memset(sparse, 0, (size_t)whole * sizeof *sparse);
    for (int i = 0; i < whole; i++)
        repeated[i] = value(rank, i % block);
    memcpy(sparse + displs[rank], repeated, (size_t)block * sizeof *sparse);
}

/* The contents before a run: the root has all blocks, and each rank has its own. */
static double to_before(int root, int i)
{
    return rank == root ? value(root, i) : 0;
}

static double work_before(int i)
{
    return i < block ? value(rank, i) : 0;
}

static void clear(int root)
{
    for (int i = 0; i < whole; i++) {
        to[i] = to_before(root, i);
        work[i] = work_before(i);
    }
}

/* -- results ----------------------------------------------------------------------------- */

/* What the left side changes, the right side changes in the same way. It may change more. */
static bool has_equal_results(const guideline_t *guideline, size_t bytes)
{
    int root = ranks - 1, wrong = 0;
    set_bytes(bytes, guideline->extent);
    size_t length = (size_t)whole;
    double *kept = malloc(2 * length * sizeof *kept), *kept_work = kept + length;
    if (kept == NULL)
        MPI_Abort(comm, 1);
    clear(root);
    run_left(guideline, root);
    memcpy(kept, to, length * sizeof *to);
    memcpy(kept_work, work, length * sizeof *work);
    clear(root);
    run_right(guideline, root);
    for (int i = 0; i < whole; i++)
        wrong += (kept[i] != to_before(root, i) && kept[i] != to[i]) ||
                 (kept_work[i] != work_before(i) && kept_work[i] != work[i]);
    free(kept);
    if (wrong > 0)
        fprintf(stderr, "rank %d: %s: %zu bytes, %d elements differ\n", rank, guideline->name,
                bytes, wrong);
    return wrong == 0;
}

/* -- times ------------------------------------------------------------------------------- */

/* Seconds of a call: the longest of all ranks, so equal in all. */
static double time_block(const guideline_t *guideline, run_fn_t *run, int calls)
{
    run(guideline, 0); /* its data takes the place of the other side's in the caches */
    MPI_Barrier(comm);
    double sec = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        run(guideline, i % ranks);
    sec = MPI_Wtime() - sec;
    MPI_Allreduce(MPI_IN_PLACE, &sec, 1, MPI_DOUBLE, MPI_MAX, comm);
    return sec / calls;
}

static int calls_of_block(const guideline_t *guideline)
{
    int calls = 1;
    while (calls < MAX_CALLS && time_block(guideline, run_right, calls) * calls < block_sec)
        calls *= 2;
    return calls;
}

typedef struct times {
    double left, right;
} times_t;

static double ratio(times_t times)
{
    return times.left / times.right;
}

static times_t measure(const guideline_t *guideline, int calls)
{
    times_t best = {1e9, 1e9};
    for (int turn = 0; turn < TURNS; turn++) {
        double left = time_block(guideline, run_left, calls);
        double right = time_block(guideline, run_right, calls);
        best.left = left < best.left ? left : best.left;
        best.right = right < best.right ? right : best.right;
    }
    return best;
}

/* False: violated at this size. */
static bool holds_at(const guideline_t *guideline, size_t bytes)
{
    set_bytes(bytes, guideline->extent);
    clear(0);
    int calls = calls_of_block(guideline);
    times_t mildest = measure(guideline, calls);
    for (int i = 1; i < MEASUREMENTS && ratio(mildest) > allowed_ratio; i++) {
        times_t times = measure(guideline, calls);
        if (ratio(times) < ratio(mildest))
            mildest = times;
    }
    bool holds = ratio(mildest) <= allowed_ratio;
    if (!holds && rank == 0)
        printf("# %s: %zu bytes, %.2f us and %.2f us, ratio %.2f\n", guideline->name, bytes,
               mildest.left * 1e6, mildest.right * 1e6, ratio(mildest));
    return holds;
}

/* Makes the check at each size that the guideline has. Returns whether all hold. */
static bool check_sizes(const guideline_t *guideline,
                        bool check(const guideline_t *guideline, size_t bytes))
{
    bool holds = true;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bool has_block = sizes[i] >= (size_t)ranks * sizeof(double);
        if (guideline->extent == WHOLE || (guideline->extent == NOTHING && i == 0) ||
            (guideline->extent == BLOCKS && has_block))
            holds = check(guideline, sizes[i]) && holds;
    }
    return holds;
}

int main(int argc, char **argv)
{
    bool is_timed = argc > 1 && strcmp(argv[1], "times") == 0;
    const char *only = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    tap_rank(rank);
    allocate_all();
    for (size_t i = 0; i < sizeof guidelines / sizeof guidelines[0]; i++) {
        const guideline_t *each = &guidelines[i];
        if (strncmp(each->name, only, strlen(only)) != 0)
            continue;
        tap_check(check_sizes(each, is_timed ? holds_at : has_equal_results), "%s", each->name);
    }
    free_all();
    MPI_Finalize();
    return tap_finish();
}
