/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data sieving of writes takes back nothing that other ranks write meanwhile between the pieces:
 * rank 0 writes short pieces by windows, the others write single bytes in its gaps.
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
    MPI_Finalize();
    return tap_finish();
}
