/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat spreads in a plate, in two dimensions: a Cartesian communicator, a datatype for columns,
 * MPI_Sendrecv between neighbours, MPI_Allreduce; the picture is gathered by a subarray type.
 *
 *   mpicc -O2 -o heat examples/heat.c && mpirun -n 4 ./heat [SIDE [STEPS [FILE]]]
 *
 * The plate has SIDE x SIDE cells. Its upper edge is hot, the others are cold, and in the middle a
 * disc stays warm. In each step a cell becomes the mean of its four neighbours. Each rank has a
 * block of cells, and around it a halo: copies of the cells next to it, which its neighbours send
 * before each step. Rank 0 writes the plate as a picture, heat.png.
 *
 * A cell is computed the same way whoever has it, so the picture does not depend on the number of
 * ranks; rank 0 prints its checksum.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { HALO_TAG = 1, BLOCK_TAG };

/* The part of the plate that one rank has: rows x columns cells that begin at (top, left) of the
   plate, and the halo around them, so that a row of the memory has columns + 2 cells. */
typedef struct block {
    int top, left, rows, columns;
    double *now, *next;
    MPI_Datatype column; /* one cell of each row */
} block_t;

/* Who has the blocks around ours; MPI_PROC_NULL at the edge of the plate. */
typedef struct neighbours {
    int up, down, left, right;
} neighbours_t;

static int side = 256, steps = 2000;
static const char *file_name = "heat.png";

/* Cells from *begin on, *count of them: part `index` of `parts` about equal ones. */
static void split(int index, int parts, int *begin, int *count)
{
    *begin = (int)((long)side * index / parts);
    *count = (int)((long)side * (index + 1) / parts) - *begin;
}

/* In the memory; (0, 0) is the first cell that is ours, -1 and rows or columns are the halo. */
static size_t cell(const block_t *block, int row, int column)
{
    return (size_t)(row + 1) * (size_t)(block->columns + 2) + (size_t)(column + 1);
}

static int in_disc(int row, int column)
{
    int y = 2 * row - side, x = 2 * column - side;
    return 16L * (x * (long)x + y * (long)y) < (long)side * side;
}

/* Where the temperature is given, and which; the rest of the plate is cold at first. */
static int is_fixed(int row, int column, double *temperature)
{
    *temperature = row < 0 ? 1.0 : in_disc(row, column) ? 0.7 : 0.0;
    return row < 0 || row >= side || column < 0 || column >= side || in_disc(row, column);
}

static double *allocate(size_t cells)
{
    double *memory = calloc(cells, sizeof(double));
    if (memory == NULL) {
        fprintf(stderr, "heat: no memory for %zu cells\n", cells);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1); /* not reached, but the compiler cannot know */
    }
    return memory;
}

static void make_block(block_t *block, const int dims[2], const int coords[2])
{
    split(coords[0], dims[0], &block->top, &block->rows);
    split(coords[1], dims[1], &block->left, &block->columns);
    size_t cells = (size_t)(block->rows + 2) * (size_t)(block->columns + 2);
    block->now = allocate(cells);
    block->next = allocate(cells);
    for (int row = -1; row <= block->rows; row++) {
        for (int column = -1; column <= block->columns; column++) {
            double temperature;
            is_fixed(block->top + row, block->left + column, &temperature);
            block->now[cell(block, row, column)] = temperature;
            block->next[cell(block, row, column)] = temperature;
        }
    }
    MPI_Type_vector(block->rows, 1, block->columns + 2, MPI_DOUBLE, &block->column);
    MPI_Type_commit(&block->column);
}

static void free_block(block_t *block)
{
    MPI_Type_free(&block->column);
    free(block->now);
    free(block->next);
}

/* Four times: send an edge of the block one way, receive the halo from the other side. */
static void exchange_halo(block_t *block, const neighbours_t *to, MPI_Comm grid)
{
    double *at = block->now;
    int rows = block->rows, columns = block->columns;
    MPI_Sendrecv(&at[cell(block, 0, 0)], columns, MPI_DOUBLE, to->up, HALO_TAG,
                 &at[cell(block, rows, 0)], columns, MPI_DOUBLE, to->down, HALO_TAG, grid,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&at[cell(block, rows - 1, 0)], columns, MPI_DOUBLE, to->down, HALO_TAG,
                 &at[cell(block, -1, 0)], columns, MPI_DOUBLE, to->up, HALO_TAG, grid,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&at[cell(block, 0, 0)], 1, block->column, to->left, HALO_TAG,
                 &at[cell(block, 0, columns)], 1, block->column, to->right, HALO_TAG, grid,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&at[cell(block, 0, columns - 1)], 1, block->column, to->right, HALO_TAG,
                 &at[cell(block, 0, -1)], 1, block->column, to->left, HALO_TAG, grid,
                 MPI_STATUS_IGNORE);
}

/* One step; returns the largest change of a cell. */
static double relax(block_t *block)
{
    double largest = 0, *now = block->now, *next = block->next;
    for (int row = 0; row < block->rows; row++) {
        for (int column = 0; column < block->columns; column++) {
            size_t at = cell(block, row, column);
            double fixed;
            if (is_fixed(block->top + row, block->left + column, &fixed))
                continue;
            next[at] = 0.25 * (now[cell(block, row - 1, column)] +
                               now[cell(block, row + 1, column)] + now[at - 1] + now[at + 1]);
            double change = next[at] > now[at] ? next[at] - now[at] : now[at] - next[at];
            largest = change > largest ? change : largest;
        }
    }
    block->now = next;
    block->next = now;
    return largest;
}

/* Every rank's block comes to rank 0, which says by a subarray type where in the plate it belongs.
   Returns the plate on rank 0, NULL on the others. */
static double *gather_plate(const block_t *block, const int dims[2], MPI_Comm grid)
{
    int rank, size;
    MPI_Request request;
    double *plate = NULL;
    MPI_Comm_rank(grid, &rank);
    MPI_Comm_size(grid, &size);

    int all[2] = {block->rows + 2, block->columns + 2}, mine[2] = {block->rows, block->columns};
    MPI_Datatype inner;
    MPI_Type_create_subarray(2, all, mine, (int[2]){1, 1}, MPI_ORDER_C, MPI_DOUBLE, &inner);
    MPI_Type_commit(&inner);
    MPI_Isend(block->now, 1, inner, 0, BLOCK_TAG, grid, &request);
    if (rank == 0) {
        plate = allocate((size_t)side * (size_t)side);
        for (int from = 0; from < size; from++) {
            int coords[2], starts[2], counts[2], whole[2] = {side, side};
            MPI_Datatype place;
            MPI_Cart_coords(grid, from, 2, coords);
            split(coords[0], dims[0], &starts[0], &counts[0]);
            split(coords[1], dims[1], &starts[1], &counts[1]);
            MPI_Type_create_subarray(2, whole, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &place);
            MPI_Type_commit(&place);
            MPI_Recv(plate, 1, place, from, BLOCK_TAG, grid, MPI_STATUS_IGNORE);
            MPI_Type_free(&place);
        }
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&inner);
    return plate;
}

/* Black, blue, red, yellow, white. */
static void colour(double temperature, unsigned char rgb[3])
{
    static const double stops[5][3] = {
        {0, 0, 0}, {20, 40, 160}, {210, 40, 40}, {250, 210, 60}, {255, 255, 255}};
    double place = 4 * temperature;
    int stop = place >= 4 ? 3 : (int)place;
    for (int i = 0; i < 3; i++)
        rgb[i] = (unsigned char)(stops[stop][i] +
                                 (place - stop) * (stops[stop + 1][i] - stops[stop][i]));
}

/* A PNG is a list of chunks: the length of the data, a name, the data, a checksum (CRC-32). */
typedef struct png {
    FILE *file;
    uint32_t crc; /* of the chunk that is being written */
} png_t;

static void put(png_t *png, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    fwrite(bytes, 1, length, png->file);
    for (size_t i = 0; i < length; i++) {
        png->crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            png->crc = png->crc >> 1 ^ (png->crc & 1 ? 0xedb88320U : 0);
    }
}

static void put_number(png_t *png, uint32_t number)
{
    unsigned char bytes[4] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                              (unsigned char)(number >> 8), (unsigned char)number};
    put(png, bytes, sizeof bytes);
}

static void begin_chunk(png_t *png, uint32_t length, const char *name)
{
    put_number(png, length);
    png->crc = 0xffffffffU;
    put(png, name, 4);
}

static void end_chunk(png_t *png)
{
    put_number(png, ~png->crc);
}

/* The pixels, a byte each, as a zlib stream that does not compress: a stored block is a row, behind
   the byte that says that no filter was used. Returns the checksum of the rows (Adler-32). */
static uint32_t put_rows(png_t *png, const double *plate)
{
    uint32_t row_bytes = 1 + (uint32_t)side, low = 1, high = 0;
    begin_chunk(png, 2 + (5 + row_bytes) * (uint32_t)side + 4, "IDAT");
    put(png, "\x78\x01", 2);
    for (int row = 0; row < side; row++) {
        unsigned char head[6] = {row == side - 1, (unsigned char)row_bytes,
                                 (unsigned char)(row_bytes >> 8), (unsigned char)~row_bytes,
                                 (unsigned char)(~row_bytes >> 8)};
        put(png, head, sizeof head);
        high = (high + low) % 65521; /* of the byte of the filter, 0 */
        for (int column = 0; column < side; column++) {
            unsigned char level =
                (unsigned char)(255 * plate[(size_t)row * (size_t)side + (size_t)column] + 0.5);
            put(png, &level, 1);
            low = (low + level) % 65521;
            high = (high + low) % 65521;
        }
    }
    put_number(png, high << 16 | low);
    end_chunk(png);
    return high << 16 | low;
}

/* Returns the checksum of the pixels, 0 if the picture cannot be written. */
static uint32_t write_picture(const double *plate)
{
    png_t png = {.file = fopen(file_name, "wb")};
    if (png.file == NULL) {
        perror(file_name);
        return 0;
    }
    put(&png, "\x89PNG\r\n\x1a\n", 8);
    begin_chunk(&png, 13, "IHDR");
    put_number(&png, (uint32_t)side);
    put_number(&png, (uint32_t)side);
    put(&png, "\x08\x03\0\0", 5); /* 8 bits, which are numbers of colours; the usual coding */
    end_chunk(&png);
    begin_chunk(&png, 3 * 256, "PLTE");
    for (int level = 0; level < 256; level++) {
        unsigned char rgb[3];
        colour(level / 255.0, rgb);
        put(&png, rgb, sizeof rgb);
    }
    end_chunk(&png);
    uint32_t checksum = put_rows(&png, plate);
    begin_chunk(&png, 0, "IEND");
    end_chunk(&png);
    int failed = ferror(png.file);
    if (fclose(png.file) != 0 || failed) {
        perror(file_name);
        return 0;
    }
    return checksum;
}

static void read_arguments(int argc, char **argv)
{
    if (argc > 1)
        side = (int)strtol(argv[1], NULL, 10);
    if (argc > 2)
        steps = (int)strtol(argv[2], NULL, 10);
    if (argc > 3)
        file_name = argv[3];
}

int main(int argc, char **argv)
{
    int rank, size, dims[2] = {0, 0}, periods[2] = {0, 0}, coords[2], failed = 0;
    double change = 0, largest = 0;
    MPI_Comm grid;
    neighbours_t to;
    block_t block;

    MPI_Init(&argc, &argv);
    read_arguments(argc, argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    if (side < dims[0] || side > 16384 || steps < 0) {
        fprintf(stderr, "usage: heat [SIDE [STEPS [FILE]]], SIDE from %d to 16384\n", dims[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, coords);
    MPI_Cart_shift(grid, 0, 1, &to.up, &to.down);
    MPI_Cart_shift(grid, 1, 1, &to.left, &to.right);

    make_block(&block, dims, coords);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        exchange_halo(&block, &to, grid);
        change = relax(&block);
    }
    MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, grid);
    double seconds = MPI_Wtime() - begin;

    double *plate = gather_plate(&block, dims, grid);
    if (rank == 0) {
        uint32_t checksum = write_picture(plate);
        failed = checksum == 0;
        printf("%d x %d cells on %d x %d ranks, %d steps, %.1f ms; last change %.1e\n", side, side,
               dims[0], dims[1], steps, 1e3 * seconds, largest);
        printf("%s has the checksum %08x\n", file_name, (unsigned)checksum);
    }
    free(plate);
    free_block(&block);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return failed;
}
