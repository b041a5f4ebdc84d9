/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files: how fast ranks write and read one file together, by what each of them has of it. The file
 * is in $TMPDIR or the current folder, and is removed.
 *
 * What a rank has, and what the sizes are:
 *
 *   contiguous   one range; its bytes
 *   array3       a block of an array of doubles with 3 dimensions; an edge of the array
 *   array4       the same with 4
 *   records      records, those of the ranks in turn; bytes of a record
 *   nested       pieces of rows of planes; bytes of a piece
 *   strided      every second piece of a range of its own; bytes of a piece
 *   shared       a record by the shared pointer; its bytes
 *   ordered      a record in the order of ranks; its bytes
 *   open         it opens and closes a file; how many ranks there are
 *   overlap      a write of one rank beside a computation of the same length; its bytes
 *
 * Rates are those of all ranks together, in the page cache; "_sync": until it is on the device.
 * Where there are more ranks than cores they take turns, and the rate of accesses that wait for no
 * other rank is that of the turns. "plain" is the same number of bytes by pwrite and pread, in one
 * range for each rank: the limit.
 *
 *   files [--quick] [NAME]
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"

enum {
    TOTAL_BYTES = 4 << 20,
    FILE_ROUNDS = 256, /* that a file of records has room for */
    PATH_BYTES = 512,
    DIMS_MAX = 4
};

typedef enum access {
    WRITE,
    WRITE_ALL,
    READ,
    READ_ALL,
    SHARED_WRITE,
    SHARED_READ,
    ORDERED_WRITE,
    ORDERED_READ,
    PLAIN_WRITE,
    PLAIN_READ,
    PLAIN_OPEN,
    OPEN
} access_t;

typedef struct use {
    access_t access;
    bool syncs;
    size_t bytes; /* of this rank */
} use_t;

static char path[PATH_BYTES];
static char *buffer;
static MPI_File file;
static int fd;

static void must(int error, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (error == MPI_SUCCESS)
        return;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "%s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_file(void)
{
    must(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
         "MPI_File_open");
}

static void plain_open(void)
{
    int other = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (other < 0 || close(other) != 0)
        must(MPI_ERR_IO, "open or close");
}

static void plain(const use_t *use)
{
    off_t at = (off_t)use->bytes * bench_rank;
    ssize_t moved = use->access == PLAIN_WRITE ? pwrite(fd, buffer, use->bytes, at)
                                               : pread(fd, buffer, use->bytes, at);
    if (moved != (ssize_t)use->bytes || (use->syncs && fsync(fd) != 0))
        must(MPI_ERR_IO, "pwrite, pread or fsync");
}

static int start(const use_t *use)
{
    int bytes = (int)use->bytes;
    MPI_Status *none = MPI_STATUS_IGNORE;
    switch (use->access) {
    case WRITE:
        return MPI_File_write_at(file, 0, buffer, bytes, MPI_BYTE, none);
    case WRITE_ALL:
        return MPI_File_write_at_all(file, 0, buffer, bytes, MPI_BYTE, none);
    case READ:
        return MPI_File_read_at(file, 0, buffer, bytes, MPI_BYTE, none);
    case READ_ALL:
        return MPI_File_read_at_all(file, 0, buffer, bytes, MPI_BYTE, none);
    case SHARED_WRITE:
        return MPI_File_write_shared(file, buffer, bytes, MPI_BYTE, none);
    case SHARED_READ:
        return MPI_File_read_shared(file, buffer, bytes, MPI_BYTE, none);
    case ORDERED_WRITE:
        return MPI_File_write_ordered(file, buffer, bytes, MPI_BYTE, none);
    case ORDERED_READ:
        return MPI_File_read_ordered(file, buffer, bytes, MPI_BYTE, none);
    case PLAIN_WRITE:
    case PLAIN_READ:
        plain(use);
        return MPI_SUCCESS;
    case PLAIN_OPEN:
        plain_open();
        return MPI_SUCCESS;
    default:
        must(MPI_File_close(&file), "MPI_File_close");
        open_file();
        return MPI_SUCCESS;
    }
}

static void run(void *context, int rounds)
{
    const use_t *use = context;
    const bool uses_pointer = use->access >= SHARED_WRITE && use->access <= ORDERED_READ;
    for (int i = 0; i < rounds; i++) {
        if (uses_pointer && i % FILE_ROUNDS == 0)
            must(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), "MPI_File_seek_shared");
        must(start(use), "access");
        if (use->syncs && use->access < PLAIN_WRITE)
            must(MPI_File_sync(file), "MPI_File_sync");
    }
}

static void measure(const char *series, access_t access, bool syncs, long size, size_t bytes,
                    bench_unit_t unit)
{
    use_t use = {access, syncs, bytes};
    bool is_rate = unit == BENCH_GBYTES_PER_SEC;
    bench_measure(&(bench_case_t){.name = series,
                                  .size = size,
                                  .unit = unit,
                                  .work = is_rate ? (double)bytes * bench_ranks : 1,
                                  .run = run,
                                  .context = &use});
}

/* -- what a rank has of the file ------------------------------------------------------------ */

/* A filetype; *disp: where it begins; *bytes: how much of it is accessed. */
typedef MPI_Datatype layout_fn_t(long size, MPI_Offset *disp, size_t *bytes);

static MPI_Datatype lay_contiguous(long size, MPI_Offset *disp, size_t *bytes)
{
    MPI_Datatype type;
    *disp = (MPI_Offset)size * bench_rank;
    *bytes = (size_t)size;
    MPI_Type_contiguous(1, MPI_BYTE, &type);
    return type;
}

static MPI_Datatype lay_array(int dims, long edge, size_t *bytes)
{
    int sizes[DIMS_MAX], subsizes[DIMS_MAX], starts[DIMS_MAX], grid[DIMS_MAX] = {0};
    int rest = bench_rank;
    MPI_Datatype type;
    MPI_Dims_create(bench_ranks, dims, grid);
    *bytes = sizeof(double);
    for (int d = dims - 1; d >= 0; d--) {
        sizes[d] = (int)edge;
        subsizes[d] = (int)edge / grid[dims - 1 - d]; /* the last dimension is cut first */
        starts[d] = rest % grid[dims - 1 - d] * subsizes[d];
        rest /= grid[dims - 1 - d];
        *bytes *= (size_t)subsizes[d];
    }
    MPI_Type_create_subarray(dims, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype lay_array3(long size, MPI_Offset *disp, size_t *bytes)
{
    *disp = 0;
    return lay_array(3, size, bytes);
}

static MPI_Datatype lay_array4(long size, MPI_Offset *disp, size_t *bytes)
{
    *disp = 0;
    return lay_array(4, size, bytes);
}

static MPI_Datatype lay_records(long size, MPI_Offset *disp, size_t *bytes)
{
    MPI_Datatype type;
    int count = TOTAL_BYTES / (int)size;
    *disp = (MPI_Offset)size * bench_rank;
    *bytes = TOTAL_BYTES;
    MPI_Type_vector(count, (int)size, (int)size * bench_ranks, MPI_BYTE, &type);
    return type;
}

/* 8 pieces with gaps are a row of a rank, those of the ranks in turn; the rows of a plane have
 * gaps, too. */
static MPI_Datatype lay_nested(long size, MPI_Offset *disp, size_t *bytes)
{
    enum { PIECES = 8, ROWS = 16 };
    MPI_Datatype row, plane, type;
    MPI_Aint row_bytes = 2 * PIECES * size * bench_ranks, plane_bytes = (ROWS + 2) * row_bytes;
    int planes = TOTAL_BYTES / (PIECES * ROWS * (int)size);
    planes = planes > 0 ? planes : 1;
    MPI_Type_vector(PIECES, (int)size, 2 * (int)size * bench_ranks, MPI_BYTE, &row);
    MPI_Type_create_hvector(ROWS, 1, row_bytes, row, &plane);
    MPI_Type_create_hvector(planes, 1, plane_bytes, plane, &type);
    MPI_Type_free(&row);
    MPI_Type_free(&plane);
    *disp = (MPI_Offset)size * bench_rank;
    *bytes = (size_t)planes * PIECES * ROWS * (size_t)size;
    return type;
}

static MPI_Datatype lay_strided(long size, MPI_Offset *disp, size_t *bytes)
{
    MPI_Datatype type;
    *disp = (MPI_Offset)2 * TOTAL_BYTES * bench_rank;
    *bytes = TOTAL_BYTES;
    MPI_Type_vector(TOTAL_BYTES / (int)size, (int)size, 2 * (int)size, MPI_BYTE, &type);
    return type;
}

static void measure_one(const char *pattern, const char *what, access_t access, bool syncs,
                        long size, size_t bytes)
{
    char series[64];
    snprintf(series, sizeof series, "%s/%s", pattern, what);
    measure(series, access, syncs, size, bytes, BENCH_GBYTES_PER_SEC);
}

/* With `syncs` it is also measured until the data is on the device, which is slow. */
static void measure_accesses(const char *pattern, bool is_collective, bool syncs, long size,
                             size_t bytes)
{
    access_t write = is_collective ? WRITE_ALL : WRITE, read = is_collective ? READ_ALL : READ;
    measure_one(pattern, is_collective ? "write_all" : "write", write, false, size, bytes);
    measure_one(pattern, is_collective ? "read_all" : "read", read, false, size, bytes);
    if (syncs)
        measure_one(pattern, is_collective ? "write_all_sync" : "write_sync", write, true, size,
                    bytes);
}

typedef struct pattern {
    const char *name;
    layout_fn_t *lay;
    bool is_independent, is_collective, syncs; /* the largest */
    long sizes[3];                             /* a quick run takes the second */
} pattern_t;

static void measure_pattern(const pattern_t *p, long size, bool syncs)
{
    MPI_Offset disp;
    size_t bytes;
    MPI_Datatype type = p->lay(size, &disp, &bytes);
    MPI_Type_commit(&type);
    buffer = bench_memory(bytes);
    open_file();
    fd = open(path, O_RDWR | O_CLOEXEC);
    must(MPI_File_set_view(file, disp, MPI_BYTE, type, "native", MPI_INFO_NULL),
         "MPI_File_set_view");
    MPI_Type_free(&type);
    if (p->is_independent)
        measure_accesses(p->name, false, syncs, size, bytes);
    if (p->is_collective)
        measure_accesses(p->name, true, syncs, size, bytes);
    measure_one(p->name, "plain_write", PLAIN_WRITE, false, size, bytes);
    measure_one(p->name, "plain_read", PLAIN_READ, false, size, bytes);
    if (syncs)
        measure_one(p->name, "plain_write_sync", PLAIN_WRITE, true, size, bytes);
    close(fd);
    must(MPI_File_close(&file), "MPI_File_close");
    if (bench_rank == 0)
        unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    free(buffer);
}

static void measure_patterns(void)
{
    static const pattern_t patterns[] = {
        {"contiguous", lay_contiguous, true, true, true, {4096, 1 << 18, 16 << 20}},
        {"array3", lay_array3, false, true, true, {32, 64, 128}},
        {"array4", lay_array4, false, true, false, {8, 16, 32}},
        {"records", lay_records, false, true, true, {64, 4096, 65536}},
        {"nested", lay_nested, false, true, false, {64, 1024, 16384}},
        {"strided", lay_strided, true, false, false, {64, 4096, 65536}},
    };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        const pattern_t *p = &patterns[i];
        for (int k = 0; k < 3; k++) {
            if (bench_wants(p->name) && (!bench_quick || k == 1))
                measure_pattern(p, p->sizes[k], p->syncs && (bench_quick || k == 2));
        }
    }
}

/* -- pointers, open ------------------------------------------------------------------------- */

/* The records that are read are there. */
static void fill_file(size_t bytes)
{
    for (int i = 0; i < FILE_ROUNDS; i++)
        must(MPI_File_write_ordered(file, buffer, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE),
             "MPI_File_write_ordered");
}

static void measure_pointers(void)
{
    for (long size = 64; size <= 65536; size *= 32) {
        buffer = bench_memory((size_t)size);
        open_file();
        fd = open(path, O_RDWR | O_CLOEXEC);
        fill_file((size_t)size);
        measure("shared/write", SHARED_WRITE, false, size, (size_t)size, BENCH_USEC);
        measure("shared/read", SHARED_READ, false, size, (size_t)size, BENCH_USEC);
        measure("ordered/write", ORDERED_WRITE, false, size, (size_t)size, BENCH_USEC);
        measure("ordered/read", ORDERED_READ, false, size, (size_t)size, BENCH_USEC);
        measure("shared/plain_write", PLAIN_WRITE, false, size, (size_t)size, BENCH_USEC);
        measure("shared/plain_read", PLAIN_READ, false, size, (size_t)size, BENCH_USEC);
        close(fd);
        must(MPI_File_set_size(file, 0), "MPI_File_set_size");
        must(MPI_File_close(&file), "MPI_File_close");
        free(buffer);
    }
}

static void measure_open(void)
{
    open_file();
    measure("open/close", OPEN, false, bench_ranks, 0, BENCH_USEC);
    measure("open/plain", PLAIN_OPEN, false, bench_ranks, 0, BENCH_USEC);
    must(MPI_File_close(&file), "MPI_File_close");
}

/* -- overlap -------------------------------------------------------------------------------- */

enum { ALONE, COMPUTE, BOTH, OVERLAPS };

static double overlap_sec[OVERLAPS]; /* the best of each */
static size_t overlap_bytes;

/* Takes its time without memory and without MPI. */
static double compute(long steps)
{
    volatile double x = 1;
    for (long i = 0; i < steps; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}

static long overlap_steps;

static void run_overlap(void *context, int rounds)
{
    int kind = *(const int *)context;
    for (int i = 0; i < rounds; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        double begin = bench_now();
        if (kind != COMPUTE)
            must(MPI_File_iwrite_at(file, 0, buffer, (int)overlap_bytes, MPI_BYTE, &request),
                 "MPI_File_iwrite_at");
        if (kind != ALONE)
            compute(overlap_steps);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        double sec = bench_now() - begin;
        if (overlap_sec[kind] == 0 || sec < overlap_sec[kind])
            overlap_sec[kind] = sec;
    }
}

/* The computation is as long as the write was. */
static void set_steps(void)
{
    enum { TRIAL = 1 << 22, TRIALS = 5 };
    double best = 1e9;
    for (int i = 0; i < TRIALS; i++) {
        double begin = bench_now();
        compute(TRIAL);
        double sec = bench_now() - begin;
        best = sec < best ? sec : best;
    }
    overlap_steps = (long)(overlap_sec[ALONE] / best * TRIAL);
}

/* What the shorter of the two adds to the longer: 0 % if it is hidden, 100 % if one waits for the
 * other. */
static void print_overlap(void)
{
    double a = overlap_sec[ALONE], b = overlap_sec[COMPUTE];
    double longer = a > b ? a : b, shorter = a > b ? b : a;
    double share = 100 * (overlap_sec[BOTH] - longer) / shorter;
    share = share < 0.1 ? 0.1 : share;
    printf("overlap/exposed %zu %.4g %% %.4g\n", overlap_bytes, share, share);
}

static void measure_overlap(void)
{
    static const char *const names[] = {"overlap/write", "overlap/compute", "overlap/both"};
    if (!bench_wants("overlap"))
        return;
    overlap_bytes = (size_t)(bench_quick ? 32 : 256) << 20;
    if (bench_rank == 0) {
        buffer = bench_memory(overlap_bytes);
        must(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                           &file),
             "MPI_File_open");
    }
    for (int kind = 0; kind < OVERLAPS; kind++) {
        if (bench_rank == 0 && kind == COMPUTE)
            set_steps();
        bench_measure(&(bench_case_t){.name = names[kind],
                                      .size = (long)overlap_bytes,
                                      .unit = BENCH_USEC,
                                      .work = 1,
                                      .ranks = 1,
                                      .run = run_overlap,
                                      .context = &kind});
    }
    if (bench_rank == 0) {
        print_overlap();
        must(MPI_File_close(&file), "MPI_File_close");
        free(buffer);
    }
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    bench_init(&argc, &argv);
    snprintf(path, sizeof path, "%s/bench-files-%ld", folder ? folder : ".", (long)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    measure_patterns();
    if (bench_wants("shared") || bench_wants("ordered"))
        measure_pointers();
    if (bench_wants("open"))
        measure_open();
    measure_overlap();
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench_rank == 0)
        unlink(path);
    return bench_fini();
}
