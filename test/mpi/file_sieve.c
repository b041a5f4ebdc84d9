/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data sieving of writes takes back nothing that other ranks write meanwhile between the pieces:
 * rank 0 writes short pieces by windows, the others write single bytes in its gaps. Reads get what
 * is there of pieces of any length, and change no other memory, wherever the file ends.
 */
#include "file_tests.h"

enum { PIECES = 20000, GAP = 8, SINGLES = 1000, ROUNDS = 30 };

static char data[PIECES];

/* Where single byte i of this rank is: in a gap. */
static MPI_Offset single_at(int i)
{
    return (MPI_Offset)GAP * (PIECES / SINGLES) * i + rank;
}

static void write_round(MPI_File file, int round)
{
    memset(data, round, sizeof data);
    if (rank == 0)
        TRY(MPI_File_write_at(file, 0, data, PIECES, MPI_CHAR, MPI_STATUS_IGNORE));
    for (int i = 0; i < SINGLES && rank > 0; i++)
        TRY(MPI_File_write_at(file, single_at(i), data, 1, MPI_CHAR, MPI_STATUS_IGNORE));
}

static long count_wrong(MPI_File file, int round)
{
    long wrong = 0;
    for (int i = 0; i < SINGLES && rank > 0; i++) {
        char seen = 0;
        TRY(MPI_File_read_at(file, single_at(i), &seen, 1, MPI_CHAR, MPI_STATUS_IGNORE));
        wrong += seen != (char)round;
    }
    return wrong;
}

/* -- reads ----------------------------------------------------------------------------------- */

enum { FILE_BYTES = 1 << 20 };

static char whole[FILE_BYTES], got[FILE_BYTES];

/* Reads all pieces of a file, which is cut there. Returns whether that was right. */
static bool read_until(MPI_File file, int piece, int stride, long end)
{
    MPI_Status status;
    int count = FILE_BYTES / stride * piece, there = 0;
    long wanted = end / stride * piece + (end % stride < piece ? end % stride : piece);
    wanted = wanted < count ? wanted : count;
    bool is_right = true;
    TRY(MPI_File_set_size(file, end));
    memset(got, 'x', sizeof got);
    TRY(MPI_File_read_at(file, 0, got, count, MPI_CHAR, &status));
    MPI_Get_count(&status, MPI_CHAR, &there);
    for (long i = 0; i < count && is_right; i++)
        is_right = got[i] == (i < wanted ? whole[i / piece * stride + i % piece] : 'x');
    MPI_Barrier(MPI_COMM_WORLD);
    return is_right && there == wanted;
}

static void check_reads(const char *sieves)
{
    static const int rows[][2] = {{64, 128},    {511, 600},   {512, 600},   {1000, 4096},
                                  {4096, 8192}, {5000, 5001}, {4096, 90000}};
    MPI_Info info;
    MPI_File file = open_new("reads");
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_read", sieves);
    MPI_Info_set(info, "ind_rd_buffer_size", "65536");
    for (int i = 0; i < FILE_BYTES; i++)
        whole[i] = (char)(i * 31 + i / 251);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int piece = rows[i][0], stride = rows[i][1];
        const long ends[] = {FILE_BYTES,
                             7L * stride + piece / 2,
                             5L * stride + piece,
                             3L * stride + (piece + stride) / 2,
                             stride,
                             1,
                             0};
        bool is_right = true;
        MPI_Datatype run, type;
        TRY(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL));
        TRY(MPI_File_write_at_all(file, 0, whole, FILE_BYTES, MPI_CHAR, MPI_STATUS_IGNORE));
        MPI_Type_contiguous(piece, MPI_CHAR, &run);
        MPI_Type_create_resized(run, 0, stride, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&run);
        TRY(MPI_File_set_view(file, 0, MPI_CHAR, type, "native", info));
        for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++)
            is_right &= read_until(file, piece, stride, ends[k]);
        tap_check(is_right, "pieces of %d bytes, %d apart: sieving %s", piece, stride, sieves);
        MPI_Type_free(&type);
    }
    MPI_Info_free(&info);
    TRY(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    MPI_Info info;
    MPI_Datatype spread;
    long wrong = 0;
    begin_files(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_File file = open_new("data");
    MPI_Type_create_resized(MPI_CHAR, 0, GAP, &spread);
    MPI_Type_commit(&spread);
    TRY(MPI_File_set_size(file, (MPI_Offset)GAP * PIECES));
    TRY(MPI_File_set_view(file, 0, MPI_CHAR, rank == 0 ? spread : MPI_CHAR, "native", info));
    for (int round = 1; round <= ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        write_round(file, round);
        MPI_Barrier(MPI_COMM_WORLD);
        wrong += count_wrong(file, round);
    }
    tap_check(wrong == 0, "%ld bytes between the pieces were taken back", wrong);
    MPI_Type_free(&spread);
    MPI_Info_free(&info);
    TRY(MPI_File_close(&file));
    check_reads("automatic");
    check_reads("enable");
    check_reads("disable");
    MPI_Finalize();
    return tap_finish();
}
