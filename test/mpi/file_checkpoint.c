/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A checkpoint as simulations write it: fields of a global array of three dimensions behind a
 * header, each rank has a block with ghost layers around it in memory. It is written by one
 * decomposition, compared byte for byte as the system has it, and read by another one.
 */
#include "file_calls.h"
#include "file_tests.h"

enum { DIMS = 3, GHOST = 2, FIELDS = 4, HEADER_BYTES = 100, UNTOUCHED = -1 };

static const int edges[DIMS] = {19, 23, 17};

/* What a rank has. */
typedef struct block {
    int start[DIMS], length[DIMS]; /* of the global array */
    int padded[DIMS];              /* in memory */
    size_t points;                 /* in memory */
    MPI_Datatype inside, part;     /* the block in memory, and in the file */
} block_t;

static double value_at(int field, long point)
{
    return field * 1e6 + (double)point;
}

static long points_of_array(void)
{
    return (long)edges[0] * edges[1] * edges[2];
}

static block_t make_block(const int grid[DIMS])
{
    block_t b = {.points = 1};
    int rest = rank, ghosts[DIMS] = {GHOST, GHOST, GHOST};
    for (int d = DIMS - 1; d >= 0; d--) {
        int at = rest % grid[d];
        rest /= grid[d];
        b.start[d] = edges[d] * at / grid[d];
        b.length[d] = edges[d] * (at + 1) / grid[d] - b.start[d];
        b.padded[d] = b.length[d] + 2 * GHOST;
        b.points *= (size_t)b.padded[d];
    }
    MPI_Type_create_subarray(DIMS, b.padded, b.length, ghosts, MPI_ORDER_C, MPI_DOUBLE, &b.inside);
    MPI_Type_create_subarray(DIMS, edges, b.length, b.start, MPI_ORDER_C, MPI_DOUBLE, &b.part);
    MPI_Type_commit(&b.inside);
    MPI_Type_commit(&b.part);
    return b;
}

static void free_block(block_t *b)
{
    MPI_Type_free(&b->inside);
    MPI_Type_free(&b->part);
}

/* The point of the global array, or -1 in the ghost layers. */
static long point_of(const block_t *b, size_t i)
{
    int at[DIMS];
    for (int d = DIMS - 1; d >= 0; d--) {
        at[d] = (int)(i % (size_t)b->padded[d]) - GHOST;
        i /= (size_t)b->padded[d];
        if (at[d] < 0 || at[d] >= b->length[d])
            return -1;
        at[d] += b->start[d];
    }
    return ((long)at[0] * edges[1] + at[1]) * edges[2] + at[2];
}

static MPI_Offset field_at(int field)
{
    return HEADER_BYTES + field * points_of_array() * (MPI_Offset)sizeof(double);
}

/* Each field in another way. */
static file_way_t way_of(int field)
{
    static const file_way_t ways[FIELDS] = {ALL, AT_ALL, IAT_ALL, ALL_SPLIT};
    return ways[field];
}

static void move_field(MPI_File file, const block_t *b, int field, bool is_write, double *memory)
{
    MPI_Status status;
    TRY(MPI_File_set_view(file, field_at(field), MPI_DOUBLE, b->part, "native", MPI_INFO_NULL));
    file_call_t c = {way_of(field), is_write, false,     file,    0,
                     memory,        1,        b->inside, &status, MPI_REQUEST_NULL};
    TRY(file_call_start(&c));
    TRY(file_call_finish(&c));
    long wanted = (long)b->length[0] * b->length[1] * b->length[2];
    tap_check(count_in(&status, MPI_DOUBLE) == wanted && count_in(&status, b->inside) == 1,
              "%s: %ld points", file_call_name(&c), wanted);
}

static void write_checkpoint(const int grid[DIMS])
{
    MPI_File file;
    block_t b = make_block(grid);
    double *memory = malloc(b.points * sizeof *memory);
    char header[HEADER_BYTES];
    TRY(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file));
    memset(header, 'h', sizeof header);
    if (rank == 0)
        TRY(MPI_File_write(file, header, HEADER_BYTES, MPI_CHAR, MPI_STATUS_IGNORE));
    for (int field = 0; field < FIELDS; field++) {
        for (size_t i = 0; i < b.points; i++) {
            long point = point_of(&b, i);
            memory[i] = point < 0 ? UNTOUCHED : value_at(field, point);
        }
        move_field(file, &b, field, true, memory);
    }
    TRY(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    free(memory);
    free_block(&b);
}

static void check_file(void)
{
    long points = FIELDS * points_of_array(), wrong = 0;
    size_t bytes = HEADER_BYTES + (size_t)points * sizeof(double);
    unsigned char *seen = malloc(bytes);
    tap_check(size_of_path() == (long long)bytes, "the file has %zu bytes", bytes);
    tap_check(read_path(0, seen, bytes) == (long)bytes, "the file is read");
    for (int i = 0; i < HEADER_BYTES; i++)
        wrong += seen[i] != 'h';
    for (long i = 0; i < points; i++) {
        double wanted = value_at((int)(i / points_of_array()), i % points_of_array());
        wrong +=
            memcmp(seen + HEADER_BYTES + (size_t)i * sizeof wanted, &wanted, sizeof wanted) != 0;
    }
    tap_check(wrong == 0, "%ld points of the file are wrong", wrong);
    free(seen);
}

static void read_checkpoint(const int grid[DIMS])
{
    MPI_File file;
    block_t b = make_block(grid);
    double *memory = malloc(b.points * sizeof *memory);
    TRY(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    for (int field = FIELDS - 1; field >= 0; field--) {
        long wrong = 0, wrong_ghosts = 0;
        for (size_t i = 0; i < b.points; i++)
            memory[i] = UNTOUCHED;
        move_field(file, &b, field, false, memory);
        for (size_t i = 0; i < b.points; i++) {
            long point = point_of(&b, i);
            wrong += point >= 0 && memory[i] != value_at(field, point);
            wrong_ghosts += point < 0 && memory[i] != UNTOUCHED;
        }
        tap_check(wrong == 0 && wrong_ghosts == 0, "field %d: %ld points, %ld ghosts are wrong",
                  field, wrong, wrong_ghosts);
    }
    TRY(MPI_File_close(&file));
    free(memory);
    free_block(&b);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    int cubes[DIMS] = {0, 0, 0}, pencils[DIMS] = {1, 0, 0}, slabs[DIMS] = {0, 1, 1};
    int columns[DIMS] = {1, 1, 0};
    MPI_Dims_create(size, DIMS, cubes);
    MPI_Dims_create(size, DIMS, pencils);
    MPI_Dims_create(size, DIMS, slabs);
    MPI_Dims_create(size, DIMS, columns);
    const int *grids[] = {cubes, pencils, slabs, columns};
    for (int i = 0; i < 4; i++) {
        write_checkpoint(grids[i]);
        check_file();
        read_checkpoint(grids[(i + 1) % 4]);
        remove_path();
    }
    MPI_Finalize();
    return tap_finish();
}
