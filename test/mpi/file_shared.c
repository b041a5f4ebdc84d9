/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared file pointer: ranks write many records at once and none is lost or overwritten, each
 * is read once; ordered access is in the order of ranks; seeks; individual pointers beside it.
 */
#include "file_tests.h"

enum { RECORDS = 200, WORDS_MAX = 24, ROUNDS = 10 };

static MPI_File file;

/* A record: its length in words, who wrote it, its number, and words that follow from these. */
static int make_record(int *words, int of, int number)
{
    words[0] = 3 + (of * 31 + number * 7) % (WORDS_MAX - 3);
    words[1] = of;
    words[2] = number;
    for (int i = 3; i < words[0]; i++)
        words[i] = of * 1000 + number * 10 + i;
    return words[0];
}

static bool is_record(const int *words)
{
    int wanted[WORDS_MAX];
    return words[0] >= 3 && words[0] <= WORDS_MAX && words[1] >= 0 && words[1] < size &&
           make_record(wanted, words[1], words[2]) == words[0] &&
           memcmp(wanted, words, (size_t)words[0] * sizeof *words) == 0;
}

static void write_records(bool is_nonblocking)
{
    for (int i = 0; i < RECORDS; i++) {
        int words[WORDS_MAX], count = make_record(words, rank, i);
        MPI_Status status;
        if (is_nonblocking && i % 2) {
            MPI_Request request;
            TRY(MPI_File_iwrite_shared(file, words, count, MPI_INT, &request));
            TRY(MPI_Wait(&request, &status));
        } else {
            TRY(MPI_File_write_shared(file, words, count, MPI_INT, &status));
        }
        if (count_in(&status, MPI_INT) != count)
            tap_check(false, "record %d: %ld words, not %d", i, count_in(&status, MPI_INT), count);
    }
}

/* The words of all ranks' records. */
static int total_words(void)
{
    int total = 0, words[WORDS_MAX];
    for (int of = 0; of < size; of++) {
        for (int i = 0; i < RECORDS; i++)
            total += make_record(words, of, i);
    }
    return total;
}

static void check_records(void)
{
    int total = total_words(), found = 0, at = 0, *next = calloc((size_t)size, sizeof *next);
    int *all = malloc((size_t)total * sizeof *all);
    bool is_in_order = true;
    tap_check(size_of_path() == (long long)total * (int)sizeof *all, "the file has %d words",
              total);
    read_path(0, all, (size_t)total * sizeof *all);
    while (at < total && is_record(all + at)) {
        is_in_order &= all[at + 2] == next[all[at + 1]]++;
        at += all[at];
        found++;
    }
    tap_check(found == size * RECORDS && at == total, "%d of %d records are there", found,
              size * RECORDS);
    tap_check(is_in_order, "the records of a rank are in their order");
    free(all);
    free(next);
}

static void check_shared_writes(bool is_nonblocking)
{
    MPI_Offset position = -1;
    write_records(is_nonblocking);
    sync_all(file);
    TRY(MPI_File_get_position_shared(file, &position));
    tap_check(position == total_words(), "the shared pointer is %lld", (long long)position);
    check_records();
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    TRY(MPI_File_set_size(file, 0));
}

/* Every word is read by one rank. */
static void check_shared_reads(void)
{
    enum { WORDS = 3000 };
    int all[WORDS], seen[WORDS] = {0}, sum[WORDS], word;
    bool is_once = true;
    for (int i = 0; i < WORDS; i++)
        all[i] = i;
    if (rank == 0)
        TRY(MPI_File_write_at(file, 0, all, WORDS, MPI_INT, MPI_STATUS_IGNORE));
    sync_all(file);
    for (int i = 0; i < WORDS / size; i++) {
        TRY(MPI_File_read_shared(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
        if (word >= 0 && word < WORDS)
            seen[word]++;
    }
    MPI_Allreduce(seen, sum, WORDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < WORDS / size * size; i++)
        is_once &= sum[i] == 1;
    tap_check(is_once, "read_shared: each word is read by one rank");
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    TRY(MPI_File_set_size(file, 0));
}

/* Ranks give different counts, and the same rank never the same one twice. */
static void check_ordered(void)
{
    int start = 0;
    bool is_right = true;
    for (int round = 0; round < ROUNDS; round++) {
        int words[64], back[64] = {0}, before = 0, total = 0, count = (rank * 5 + round * 3) % 16;
        for (int r = 0; r < size; r++) {
            before += r < rank ? (r * 5 + round * 3) % 16 : 0;
            total += (r * 5 + round * 3) % 16;
        }
        for (int i = 0; i < count; i++)
            words[i] = rank * 10000 + round * 100 + i;
        if (round % 2) {
            TRY(MPI_File_write_ordered_begin(file, words, count, MPI_INT));
            TRY(MPI_File_write_ordered_end(file, words, MPI_STATUS_IGNORE));
        } else {
            TRY(MPI_File_write_ordered(file, words, count, MPI_INT, MPI_STATUS_IGNORE));
        }
        TRY(MPI_File_read_at(file, start + before, back, count, MPI_INT, MPI_STATUS_IGNORE));
        is_right &= memcmp(words, back, (size_t)count * sizeof *words) == 0;
        start += total;
    }
    tap_check(is_right, "write_ordered: the order of ranks");
    sync_all(file);
    MPI_Offset position = -1;
    TRY(MPI_File_get_position_shared(file, &position));
    tap_check(position == start, "write_ordered: the pointer is %lld", (long long)position);
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Offset shared_position(void)
{
    MPI_Offset position = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(MPI_File_get_position_shared(file, &position));
    MPI_Barrier(MPI_COMM_WORLD);
    return position;
}

static void check_seeks(void)
{
    MPI_Offset position = -1;
    int word = rank;
    TRY(MPI_File_set_size(file, 100 * (MPI_Offset)sizeof(int)));
    TRY(MPI_File_seek_shared(file, 40, MPI_SEEK_SET));
    tap_check(shared_position() == 40, "seek_shared: MPI_SEEK_SET");
    TRY(MPI_File_seek_shared(file, -10, MPI_SEEK_CUR));
    tap_check(shared_position() == 30, "seek_shared: MPI_SEEK_CUR");
    TRY(MPI_File_seek_shared(file, -20, MPI_SEEK_END));
    tap_check(shared_position() == 80, "seek_shared: MPI_SEEK_END");
    REFUSED_ANYHOW(MPI_File_seek_shared(file, -81, MPI_SEEK_CUR));
    REFUSED_ANYHOW(MPI_File_seek_shared(file, -1, MPI_SEEK_SET));
    REFUSED_ANYHOW(MPI_File_seek_shared(file, 0, 4711));
    if (size > 1)
        REFUSED_ANYHOW(MPI_File_seek_shared(file, rank == 0, MPI_SEEK_SET));
    tap_check(shared_position() == 80, "a seek_shared that is refused moves nothing");
    TRY(MPI_File_seek(file, 5 + rank, MPI_SEEK_SET));
    TRY(MPI_File_write_shared(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_write(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_write_at(file, 50 + rank, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_get_position(file, &position));
    tap_check(position == 6 + rank, "the individual pointer is its own: %lld", (long long)position);
    tap_check(shared_position() == 80 + size, "the shared pointer is its own");
}

/* A view sets both pointers to 0, and the shared pointer counts its etypes. */
static void check_view(void)
{
    MPI_Datatype triple;
    int words[6] = {1, 2, 3, 4, 5, 6}, total = 2 * 3 * size;
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_commit(&triple);
    TRY(MPI_File_set_view(file, 12, triple, triple, "native", MPI_INFO_NULL));
    tap_check(shared_position() == 0, "set_view sets the shared pointer to 0");
    TRY(MPI_File_write_shared(file, words, 6, MPI_INT, MPI_STATUS_IGNORE));
    tap_check(shared_position() == 2 * size, "the shared pointer counts etypes");
    sync_all(file);
    int *all = calloc((size_t)total + 3, sizeof *all);
    bool is_right = true;
    read_path(12, all, (size_t)total * sizeof *all);
    for (int i = 0; i < total; i++)
        is_right &= all[i] == i % 6 + 1;
    tap_check(is_right, "write_shared through a view");
    free(all);
    MPI_Type_free(&triple);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    file = open_new("data");
    TRY(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    check_shared_writes(false);
    check_shared_writes(true);
    check_shared_reads();
    check_ordered();
    check_seeks();
    check_view();
    TRY(MPI_File_close(&file));
    MPI_Finalize();
    return tap_finish();
}
