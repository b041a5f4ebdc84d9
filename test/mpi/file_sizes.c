/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads at the end of a file; offsets behind 4 GiB and 2^33; a view of a million pieces; accesses
 * of nothing.
 */
#include "file_calls.h"
#include "file_tests.h"

static MPI_File file;

static int word_of(int of, int i)
{
    return of * 100000 + i * 7;
}

static void move(file_way_t way, bool is_write, int count, int *data)
{
    MPI_Status status;
    file_call_t c = {way,  is_write, false,   file,    0,
                     data, count,    MPI_INT, &status, MPI_REQUEST_NULL};
    if (!has_offset(way))
        TRY(MPI_File_seek(file, 0, MPI_SEEK_SET));
    TRY(file_call_start(&c));
    TRY(file_call_finish(&c));
    tap_check(count_in(&status, MPI_INT) == count, "%s: %d words", file_call_name(&c), count);
}

/* -- the end of the file ----------------------------------------------------------------- */

static void check_end(file_way_t way)
{
    enum { THERE = 22, WANTED = 15 };
    int data[WANTED];
    MPI_Status status;
    MPI_Offset position = -1;
    memset(data, 0x55, sizeof data);
    TRY(MPI_File_set_size(file, 0));
    TRY(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    TRY(MPI_File_set_size(file, THERE * (MPI_Offset)sizeof(int) + 2));
    TRY(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    TRY(MPI_File_seek(file, 12, MPI_SEEK_SET));
    file_call_t c = {way, false, false, file, 12, data, WANTED, MPI_INT, &status, MPI_REQUEST_NULL};
    TRY(file_call_start(&c));
    TRY(file_call_finish(&c));
    int elements = -1;
    MPI_Get_elements(&status, MPI_INT, &elements);
    tap_check(count_in(&status, MPI_BYTE) == (THERE - 12) * (int)sizeof(int) + 2 &&
                  count_in(&status, MPI_INT) == -1,
              "%s at the end: %ld bytes", file_call_name(&c), count_in(&status, MPI_BYTE));
    tap_check(data[THERE - 12 - 1] == 0 && data[WANTED - 1] == 0x55555555,
              "%s at the end: what was not read is left alone", file_call_name(&c));
    if (!has_offset(way)) {
        TRY(MPI_File_get_position(file, &position));
        tap_check(position == 12 + WANTED, "%s at the end: the pointer is %lld", file_call_name(&c),
                  (long long)position);
        TRY(MPI_File_seek(file, 12 + WANTED, MPI_SEEK_SET));
    }
    c.offset = 12 + WANTED;
    TRY(file_call_start(&c));
    TRY(file_call_finish(&c));
    tap_check(count_in(&status, MPI_INT) == 0, "%s behind the end: %ld elements",
              file_call_name(&c), count_in(&status, MPI_INT));
}

/* A type of two elements, of which the second is not there: MPI_Get_elements. */
static void check_elements(void)
{
    struct pair {
        double weight;
        int count;
    } pairs[4];
    const int lengths[] = {1, 1};
    const MPI_Aint displs[] = {0, 8};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype type, filetype;
    MPI_Status status;
    int elements = -1;
    MPI_Type_create_struct(2, lengths, displs, types, &type);
    MPI_Type_create_resized(type, 0, sizeof pairs[0], &filetype);
    MPI_Type_commit(&filetype);
    MPI_Type_free(&type);
    TRY(MPI_File_set_view(file, 0, filetype, filetype, "native", MPI_INFO_NULL));
    TRY(MPI_File_set_size(file, 2 * (MPI_Offset)sizeof pairs[0] + 8));
    TRY(MPI_File_read_at_all(file, 0, pairs, 4, filetype, &status));
    MPI_Get_elements(&status, filetype, &elements);
    tap_check(elements == 5 && count_in(&status, filetype) == -1, "2 1/2 pairs are %d elements",
              elements);
    MPI_Type_free(&filetype);
}

/* -- sizes ------------------------------------------------------------------------------- */

/* A piece at 2^33 and another behind 5 GiB, in a file with a hole. */
static void check_far(file_way_t way)
{
    const MPI_Offset gib = (MPI_Offset)1 << 30;
    const MPI_Aint displs[] = {(MPI_Aint)(5 * gib + 64 * rank), (MPI_Aint)(8 * gib + 64 * rank)};
    MPI_Datatype type;
    int data[8], back[8] = {0}, seen[4] = {0};
    MPI_Offset byte = -1, bytes = -1;
    MPI_Type_create_hindexed_block(2, 4, displs, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 8; i++)
        data[i] = word_of(rank, i);
    TRY(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    TRY(MPI_File_get_byte_offset(file, 5, &byte));
    tap_check(byte == 8 * gib + 64 * rank + 4, "get_byte_offset: %lld", (long long)byte);
    move(way, true, 8, data);
    sync_all(file);
    read_path(8 * gib + 64 * rank, seen, sizeof seen);
    tap_check(memcmp(seen, data + 4, sizeof seen) == 0, "%s: a piece at 2^33",
              file_ways[way].write);
    move(way, false, 8, back);
    tap_check(memcmp(back, data, sizeof back) == 0, "%s: a piece at 2^33", file_ways[way].read);
    TRY(MPI_File_get_size(file, &bytes));
    tap_check(bytes == 8 * gib + 64 * (size - 1) + 16, "the size is %lld", (long long)bytes);
    TRY(MPI_File_set_view(file, 6 * gib, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    TRY(MPI_File_read_at(file, gib / 2 + 16 * rank, seen, 4, MPI_INT, MPI_STATUS_IGNORE));
    tap_check(memcmp(seen, data + 4, sizeof seen) == 0, "%s: an offset behind 2^33",
              file_ways[way].read);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
    TRY(MPI_File_set_size(file, 0));
}

/* A million pieces of 4 bytes, those of the ranks in turn. */
static void check_pieces(file_way_t way)
{
    enum { PIECES = 1 << 20 };
    MPI_Datatype type;
    int total = PIECES / size, *data = malloc(PIECES * sizeof *data);
    bool is_right = true;
    MPI_Type_vector(total, 1, size, MPI_INT, &type);
    MPI_Type_commit(&type);
    TRY(MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, type, "native",
                          MPI_INFO_NULL));
    for (int i = 0; i < total; i++)
        data[i] = i * size + rank;
    move(way, true, total, data);
    sync_all(file);
    memset(data, 0, PIECES * sizeof *data);
    read_path(0, data, PIECES * sizeof *data);
    for (int i = 0; i < total * size; i++)
        is_right &= data[i] == i;
    tap_check(is_right, "%s: a million pieces", file_ways[way].write);
    memset(data, 0, PIECES * sizeof *data);
    move(way, false, total, data);
    is_right = true;
    for (int i = 0; i < total; i++)
        is_right &= data[i] == i * size + rank;
    tap_check(is_right, "%s: a million pieces", file_ways[way].read);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
    free(data);
}

/* The last pieces that have offsets, which no window reaches beyond. The file is shorter. */
static void check_last(file_way_t way)
{
    enum { PIECES = 50 };
    MPI_Datatype type;
    MPI_Status status;
    char data[4 * PIECES];
    MPI_Offset disp = INT64_MAX - 8 * size * PIECES + 8 * rank;
    file_call_t c = {.file = file, .way = way, .buffer = data, .type = MPI_BYTE, .status = &status};
    c.count = sizeof data;
    MPI_Type_vector(PIECES, 4, 8 * size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    TRY(MPI_File_set_view(file, disp, MPI_BYTE, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    TRY(file_call_start(&c));
    TRY(file_call_finish(&c));
    tap_check(count_in(&status, MPI_BYTE) == 0, "%s: %ld bytes at the end of all offsets",
              file_call_name(&c), count_in(&status, MPI_BYTE));
}

/* Nothing, in every way; types of size 0 in memory. */
static void check_empty(void)
{
    MPI_Datatype nothing;
    MPI_Status status;
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    TRY(MPI_File_set_size(file, 0));
    TRY(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int way = 0; way < 2 * WAYS; way++) {
        file_call_t c = {(file_way_t)(way / 2), way % 2, false, file, 5, NULL, 0, MPI_INT, &status,
                         MPI_REQUEST_NULL};
        TRY(file_call_start(&c));
        TRY(file_call_finish(&c));
        tap_check(count_in(&status, MPI_INT) == 0, "%s: nothing", file_call_name(&c));
        c.count = 3;
        c.type = nothing;
        c.buffer = &c;
        TRY(file_call_start(&c));
        TRY(file_call_finish(&c));
        tap_check(count_in(&status, MPI_BYTE) == 0, "%s: a type of no data", file_call_name(&c));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset bytes = -1;
    TRY(MPI_File_get_size(file, &bytes));
    tap_check(bytes == 0, "writes of nothing do not make the file longer: %lld", (long long)bytes);
    MPI_Type_free(&nothing);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    file = open_new("data");
    check_end(AT);
    check_end(AT_ALL);
    check_end(IAT);
    check_end(OWN);
    check_end(ALL);
    check_elements();
    check_far(AT);
    check_far(ALL);
    check_last(AT);
    check_last(AT_ALL);
    check_pieces(AT_ALL);
    check_pieces(AT);
    check_empty();
    TRY(MPI_File_close(&file));
    MPI_Finalize();
    return tap_finish();
}
