/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A checkpoint: an array of three dimensions, of which each rank has a block, goes into one file
 * and comes back. A subarray type says where a block lies in the array, and that is the rank's view
 * of the file; MPI_File_write_all and MPI_File_read_all do the rest.
 *
 *   mpicc -O2 -o checkpoint examples/checkpoint.c && mpirun -n 4 ./checkpoint [SIDE [FILE]]
 *
 * The array has SIDE x SIDE x SIDE numbers, in the file as in C: the last index runs fastest. So
 * the file does not depend on the number of ranks, and another number of them could read it. Rank 0
 * prints how fast it went, which is mostly how fast the page cache of the system is. The file is
 * deleted at the end, unless FILE is given.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIMS = 3 };

/* The part of the array that one rank has. */
typedef struct block {
    int starts[DIMS], lengths[DIMS];
    int count;
    double *values;
    MPI_Datatype part; /* where in the array it is */
} block_t;

static int side = 128;
static const char *file_name = "checkpoint.dat";
static int keeps_file;

static void read_arguments(int argc, char **argv)
{
    if (argc > 1)
        side = (int)strtol(argv[1], NULL, 10);
    if (argc > 2) {
        file_name = argv[2];
        keeps_file = 1;
    }
}

/* What number i of the block is to be: half of its place in the file. */
static double value_at(const block_t *block, int i)
{
    long place = 0;
    int at[DIMS];
    for (int d = DIMS - 1; d >= 0; d--) {
        at[d] = block->starts[d] + i % block->lengths[d];
        i /= block->lengths[d];
    }
    for (int d = 0; d < DIMS; d++)
        place = place * side + at[d];
    return 0.5 * (double)place;
}

static void make_block(block_t *block, const int dims[DIMS], const int coords[DIMS])
{
    const int sides[DIMS] = {side, side, side};
    block->count = 1;
    for (int d = 0; d < DIMS; d++) {
        block->starts[d] = (int)((long)side * coords[d] / dims[d]);
        block->lengths[d] = (int)((long)side * (coords[d] + 1) / dims[d]) - block->starts[d];
        block->count *= block->lengths[d];
    }
    block->values = malloc((size_t)block->count * sizeof(double));
    if (block->values == NULL) {
        fprintf(stderr, "checkpoint: no memory for %d numbers\n", block->count);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1); /* not reached, but the compiler cannot know */
    }
    MPI_Type_create_subarray(DIMS, sides, block->lengths, block->starts, MPI_ORDER_C, MPI_DOUBLE,
                             &block->part);
    MPI_Type_commit(&block->part);
}

static void free_block(block_t *block)
{
    MPI_Type_free(&block->part);
    free(block->values);
}

static double slowest(double begin, MPI_Comm grid)
{
    double own = MPI_Wtime() - begin, all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, grid);
    return all;
}

/* Returns the seconds. */
static double write_file(const block_t *block, MPI_Comm grid)
{
    MPI_File file;
    MPI_Barrier(grid);
    double begin = MPI_Wtime();
    MPI_File_open(grid, file_name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, 0); /* what was in the file before is none of this checkpoint */
    MPI_File_set_view(file, 0, MPI_DOUBLE, block->part, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, block->values, block->count, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return slowest(begin, grid);
}

static double read_file(block_t *block, MPI_Comm grid)
{
    MPI_File file;
    MPI_Barrier(grid);
    double begin = MPI_Wtime();
    int amode = MPI_MODE_RDONLY | (keeps_file ? 0 : MPI_MODE_DELETE_ON_CLOSE);
    MPI_File_open(grid, file_name, amode, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_DOUBLE, block->part, "native", MPI_INFO_NULL);
    MPI_File_read_all(file, block->values, block->count, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return slowest(begin, grid);
}

static void fill(block_t *block)
{
    for (int i = 0; i < block->count; i++)
        block->values[i] = value_at(block, i);
}

/* How many numbers of all ranks are wrong; they are forgotten. */
static long check(block_t *block, MPI_Comm grid)
{
    long wrong = 0, all = 0;
    for (int i = 0; i < block->count; i++) {
        wrong += block->values[i] != value_at(block, i);
        block->values[i] = -1;
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, grid);
    return all;
}

int main(int argc, char **argv)
{
    int rank, size, dims[DIMS] = {0, 0, 0}, periods[DIMS] = {0, 0, 0}, coords[DIMS];
    MPI_Comm grid;
    block_t block;

    MPI_Init(&argc, &argv);
    read_arguments(argc, argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, DIMS, dims);
    if (side < dims[0] || side > 1024) {
        fprintf(stderr, "usage: checkpoint [SIDE [FILE]], SIDE from %d to 1024\n", dims[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    /* An error of a file is returned by default; here it ends the job, as others do. */
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_Cart_create(MPI_COMM_WORLD, DIMS, dims, periods, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, DIMS, coords);

    make_block(&block, dims, coords);
    fill(&block);
    double writing = write_file(&block, grid);
    check(&block, grid); /* forgets them */
    double reading = read_file(&block, grid);
    long wrong = check(&block, grid);
    if (rank == 0) {
        double megabytes = 8e-6 * side * side * side;
        printf("%d x %d x %d numbers in blocks of %d x %d x %d ranks\n", side, side, side, dims[0],
               dims[1], dims[2]);
        printf("written with %.0f MB/s, read with %.0f MB/s\n", megabytes / writing,
               megabytes / reading);
        printf("%ld numbers are wrong\n", wrong);
    }
    free_block(&block);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return wrong != 0;
}
