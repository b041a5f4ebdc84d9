/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomic files: ranks write and read the same bytes at once, and what is read is of one write, also
 * if it is in many pieces of the file or of memory.
 */
#include "file_tests.h"

enum { WORDS = 8192, ROUNDS = 120, PIECE = 16 };

static MPI_File file;

/* The pieces of a view of PIECE words of each 2 * PIECE, or one range. */
static void set_view(bool is_strided)
{
    MPI_Datatype type;
    MPI_Type_vector(is_strided ? WORDS / PIECE : 1, is_strided ? PIECE : WORDS, 2 * PIECE, MPI_INT,
                    &type);
    MPI_Type_commit(&type);
    TRY(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
}

static bool is_of_one(const int *words, int stride)
{
    for (int i = 1; i < WORDS; i++) {
        if (words[i * stride] != words[0])
            return false;
    }
    return true;
}

/* Some ranks write and some read; a rank alone does both in turn. */
static long run(bool is_strided, bool has_gaps, MPI_Datatype spread)
{
    int stride = has_gaps ? 2 : 1, *words = calloc(2 * WORDS, sizeof *words);
    MPI_Datatype type = has_gaps ? spread : MPI_INT;
    long torn = 0;
    set_view(is_strided);
    if (rank == 0)
        TRY(MPI_File_write_at(file, 0, words, WORDS, type, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 1; round <= ROUNDS; round++) {
        bool is_writer = size == 1 ? round % 2 : (rank + round / 16) % 2 == 0;
        for (int i = 0; i < 2 * WORDS && is_writer; i++)
            words[i] = rank * ROUNDS + round;
        if (is_writer) {
            TRY(MPI_File_write_at(file, 0, words, WORDS, type, MPI_STATUS_IGNORE));
        } else {
            memset(words, 0xff, 2 * WORDS * sizeof *words);
            TRY(MPI_File_read_at(file, 0, words, WORDS, type, MPI_STATUS_IGNORE));
            torn += !is_of_one(words, stride);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(MPI_File_read_at(file, 0, words, WORDS, type, MPI_STATUS_IGNORE));
    torn += !is_of_one(words, stride);
    free(words);
    MPI_Barrier(MPI_COMM_WORLD);
    return torn;
}

/* What a rank has written is seen by another one after a message, without a sync. */
static void check_visible(void)
{
    bool is_right = true;
    set_view(false);
    for (int turn = 0; turn < 3 * size; turn++) {
        int word = -1;
        if (turn % size == rank)
            TRY(MPI_File_write_at(file, turn, &turn, 1, MPI_INT, MPI_STATUS_IGNORE));
        MPI_Barrier(MPI_COMM_WORLD);
        TRY(MPI_File_read_at(file, turn, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
        is_right &= word == turn;
    }
    tap_check(is_right, "a write is seen without a sync");
}

int main(int argc, char **argv)
{
    int flag = -1;
    MPI_Datatype spread;
    begin_files(&argc, &argv);
    file = open_new("data");
    TRY(MPI_File_get_atomicity(file, &flag));
    tap_check(flag == 0, "a new file is not atomic");
    ACCEPTED(MPI_File_set_atomicity(file, true));
    TRY(MPI_File_get_atomicity(file, &flag));
    tap_check(flag == 1, "get_atomicity: %d", flag);
    if (size > 1) {
        REFUSED_ANYHOW(MPI_File_set_atomicity(file, rank == 0));
        TRY(MPI_File_set_atomicity(file, true));
    }
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    for (int kind = 0; kind < 4; kind++) {
        long torn = run(kind % 2, kind / 2, spread), all = 0;
        MPI_Allreduce(&torn, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        tap_check(all == 0, "%s in the file, %s memory: %ld torn reads",
                  kind % 2 ? "pieces" : "a range", kind / 2 ? "spread" : "plain", all);
    }
    check_visible();
    MPI_Type_free(&spread);
    TRY(MPI_File_close(&file));
    MPI_Finalize();
    return tap_finish();
}
