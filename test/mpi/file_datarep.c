/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data representations: external32 against bytes that are written by hand, internal, and one that
 * the program registers, which makes a file of elements twice as long.
 *
 *   file_datarep [registered]    with those that are registered, which not every MPI uses
 */
#include "file_calls.h"
#include "file_tests.h"

enum { COUNT = 50 };

static MPI_File file;

/* Writes the low bytes of a word, the highest first. */
static void put_big_endian(unsigned char *to, uint64_t word, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(word >> 8 * (bytes - 1 - i));
}

static void set_view(MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                     const char *datarep)
{
    TRY(MPI_File_set_view(file, disp, etype, filetype, datarep, MPI_INFO_NULL));
}

/* -- external32 ------------------------------------------------------------------------ */

/* COUNT elements of a type, in the way; `expected`: the bytes of this rank. */
static void check_external(file_way_t way, MPI_Datatype type, const char *name, const void *data,
                           void *back, size_t native_bytes, const unsigned char *expected,
                           int bytes)
{
    unsigned char seen[COUNT * 8];
    MPI_Offset extent = (MPI_Offset)COUNT * bytes;
    MPI_Status status;
    MPI_Aint file_extent = -1;
    file_call_t c = {way,
                     true,
                     false,
                     file,
                     (MPI_Offset)COUNT * rank,
                     (void *)(uintptr_t)data,
                     COUNT,
                     type,
                     &status,
                     MPI_REQUEST_NULL};
    set_view(0, type, type, "external32");
    TRY(MPI_File_get_type_extent(file, type, &file_extent));
    tap_check(file_extent == bytes, "external32, %s: %ld bytes", name, (long)file_extent);
    TRY(file_call_start(&c));
    TRY(file_call_finish(&c));
    tap_check(count_in(&status, type) == COUNT, "external32, %s, %s: %ld elements", name,
              file_call_name(&c), count_in(&status, type));
    sync_all(file);
    read_path(extent * rank, seen, (size_t)extent);
    tap_check(memcmp(seen, expected, (size_t)extent) == 0, "external32, %s, %s: big-endian", name,
              file_call_name(&c));
    c.is_write = false;
    c.buffer = back;
    TRY(file_call_start(&c));
    TRY(file_call_finish(&c));
    tap_check(count_in(&status, type) == COUNT && memcmp(data, back, native_bytes) == 0,
              "external32, %s, %s: what was written", name, file_call_name(&c));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_external_types(file_way_t way)
{
    int16_t shorts[COUNT], back_shorts[COUNT];
    int ints[COUNT], back_ints[COUNT];
    float floats[COUNT], back_floats[COUNT];
    double doubles[COUNT], back_doubles[COUNT];
    char chars[COUNT], back_chars[COUNT];
    unsigned char of_shorts[COUNT * 2], of_ints[COUNT * 4], of_floats[COUNT * 4],
        of_doubles[COUNT * 8];
    for (int i = 0; i < COUNT; i++) {
        uint32_t float_word;
        uint64_t double_word;
        shorts[i] = (int16_t)(i * 321 - 7000 * rank);
        ints[i] = i * 7654321 - rank;
        floats[i] = 1.5F * (float)i - (float)rank;
        doubles[i] = 1e10 / (i + 1) - rank;
        chars[i] = (char)('a' + i % 26);
        memcpy(&float_word, &floats[i], sizeof float_word);
        memcpy(&double_word, &doubles[i], sizeof double_word);
        put_big_endian(of_shorts + 2 * i, (uint64_t)shorts[i], 2);
        put_big_endian(of_ints + 4 * i, (uint64_t)ints[i], 4);
        put_big_endian(of_floats + 4 * i, float_word, 4);
        put_big_endian(of_doubles + 8 * i, double_word, 8);
    }
    check_external(way, MPI_SHORT, "short", shorts, back_shorts, sizeof shorts, of_shorts, 2);
    check_external(way, MPI_INT, "int", ints, back_ints, sizeof ints, of_ints, 4);
    check_external(way, MPI_FLOAT, "float", floats, back_floats, sizeof floats, of_floats, 4);
    check_external(way, MPI_DOUBLE, "double", doubles, back_doubles, sizeof doubles, of_doubles, 8);
    check_external(way, MPI_CHAR, "char", chars, back_chars, sizeof chars, (unsigned char *)chars,
                   1);
}

/* Through a view with gaps, from memory with gaps. */
static void check_external_view(void)
{
    int data[2 * COUNT], back[2 * COUNT], wrong = 0;
    unsigned char seen[4];
    MPI_Datatype part, spread;
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * size, &part);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&part);
    MPI_Type_commit(&spread);
    set_view(4 * rank, MPI_INT, part, "external32");
    for (int i = 0; i < 2 * COUNT; i++) {
        data[i] = 65537 * i + rank;
        back[i] = -1;
    }
    TRY(MPI_File_write_all(file, data, COUNT, spread, MPI_STATUS_IGNORE));
    sync_all(file);
    for (int i = 0; i < COUNT; i++) {
        unsigned char expected[4];
        put_big_endian(expected, (uint64_t)data[2 * i], 4);
        read_path(4LL * (i * size + rank), seen, 4);
        wrong += memcmp(seen, expected, 4) != 0;
    }
    tap_check(wrong == 0, "external32 through a view: %d are wrong", wrong);
    TRY(MPI_File_read_at_all(file, 0, back, COUNT, spread, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * COUNT; i++)
        wrong += back[i] != (i % 2 ? -1 : data[i]);
    tap_check(wrong == 0, "external32 through a view, read: %d are wrong", wrong);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&part);
    MPI_Type_free(&spread);
}

static void check_internal(void)
{
    double data[COUNT], back[COUNT] = {0};
    MPI_Datatype etype, filetype;
    MPI_Offset disp;
    char name[MPI_MAX_DATAREP_STRING];
    for (int i = 0; i < COUNT; i++)
        data[i] = i / 7.0 + rank;
    set_view(0, MPI_DOUBLE, MPI_DOUBLE, "internal");
    TRY(MPI_File_get_view(file, &disp, &etype, &filetype, name));
    tap_check(strcmp(name, "internal") == 0, "get_view: %s", name);
    TRY(MPI_File_write_at_all(file, COUNT * rank, data, COUNT, MPI_DOUBLE, MPI_STATUS_IGNORE));
    TRY(MPI_File_read_at_all(file, COUNT * rank, back, COUNT, MPI_DOUBLE, MPI_STATUS_IGNORE));
    tap_check(memcmp(data, back, sizeof data) == 0, "internal: what was written is read");
}

/* -- registered ------------------------------------------------------------------------ */

static int tag, fails, calls;

/* Whether a conversion function gets what it should. */
static bool is_called_well(MPI_Datatype datatype, const void *extra_state)
{
    int bytes;
    MPI_Type_size(datatype, &bytes);
    return extra_state == &tag && bytes == (int)sizeof(int);
}

/* An element and its complement. */
static int write_doubled(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                         MPI_Offset position, void *extra_state)
{
    if (!is_called_well(datatype, extra_state) || fails)
        return MPI_ERR_CONVERSION;
    for (int i = 0; i < count; i++) {
        int pair[2];
        memcpy(pair, (char *)userbuf + (size_t)(position + i) * sizeof(int), sizeof(int));
        pair[1] = ~pair[0];
        memcpy((char *)filebuf + (size_t)i * sizeof pair, pair, sizeof pair);
    }
    calls++;
    return MPI_SUCCESS;
}

static int read_doubled(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                        MPI_Offset position, void *extra_state)
{
    if (!is_called_well(datatype, extra_state) || fails)
        return MPI_ERR_CONVERSION;
    for (int i = 0; i < count; i++) {
        int pair[2];
        memcpy(pair, (char *)filebuf + (size_t)i * sizeof pair, sizeof pair);
        if (pair[1] != ~pair[0])
            return MPI_ERR_CONVERSION;
        memcpy((char *)userbuf + (size_t)(position + i) * sizeof(int), pair, sizeof(int));
    }
    calls++;
    return MPI_SUCCESS;
}

#if MPI_VERSION >= 4
static int large_calls;

static int write_doubled_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
                           MPI_Offset position, void *extra_state)
{
    large_calls++;
    return write_doubled(userbuf, datatype, (int)count, filebuf, position, extra_state);
}

static int read_doubled_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
                          MPI_Offset position, void *extra_state)
{
    large_calls++;
    return read_doubled(userbuf, datatype, (int)count, filebuf, position, extra_state);
}
#endif

static int extent_doubled(MPI_Datatype datatype, MPI_Aint *file_extent, void *extra_state)
{
    MPI_Aint low, extent;
    MPI_Type_get_extent(datatype, &low, &extent);
    *file_extent = 2 * extent;
    return extra_state == &tag ? MPI_SUCCESS : MPI_ERR_CONVERSION;
}

static void check_register(void)
{
    static char name[MPI_MAX_DATAREP_STRING + 10];
    ACCEPTED(MPI_Register_datarep("doubled", read_doubled, write_doubled, extent_doubled, &tag));
    REFUSED(MPI_ERR_DUP_DATAREP,
            MPI_Register_datarep("doubled", read_doubled, write_doubled, extent_doubled, &tag));
    REFUSED(MPI_ERR_DUP_DATAREP,
            MPI_Register_datarep("native", read_doubled, write_doubled, extent_doubled, &tag));
    memset(name, 'n', sizeof name - 1);
    REFUSED_ANYHOW(MPI_Register_datarep(name, read_doubled, write_doubled, extent_doubled, &tag));
    REFUSED(MPI_ERR_UNSUPPORTED_DATAREP,
            MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "tripled", MPI_INFO_NULL));
}

static void check_doubled(const char *name, bool has_gaps)
{
    int data[COUNT], back[COUNT] = {0}, wrong = 0, step = has_gaps ? size : 1;
    MPI_Aint extent = -1;
    MPI_Status status;
    MPI_Datatype part;
    MPI_Offset first = has_gaps ? 0 : COUNT * rank, byte = -1, at = has_gaps ? rank : first;
    /* An extent that is given in bytes is one of the file. */
    MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int) * step, &part);
    MPI_Type_commit(&part);
    set_view(has_gaps ? 8 * rank : 0, MPI_INT, part, name);
    TRY(MPI_File_get_type_extent(file, MPI_INT, &extent));
    tap_check(extent == 8, "doubled: the extent is %ld", (long)extent);
    TRY(MPI_File_get_byte_offset(file, first + 1, &byte));
    tap_check(byte == 8 * (at + step), "doubled: element 1 is at %lld", (long long)byte);
    for (int i = 0; i < COUNT; i++)
        data[i] = 1000 * rank + i;
    calls = 0;
    TRY(MPI_File_write_at_all(file, first, data, COUNT, MPI_INT, &status));
    tap_check(count_in(&status, MPI_INT) == COUNT && calls > 0, "doubled: %ld elements, %d calls",
              count_in(&status, MPI_INT), calls);
    sync_all(file);
    for (int i = 0; i < COUNT; i++) {
        int pair[2] = {0};
        read_path(8LL * (at + (long)i * step), pair, sizeof pair);
        wrong += pair[0] != data[i] || pair[1] != ~data[i];
    }
    tap_check(wrong == 0, "doubled: %d elements of the file are wrong", wrong);
    TRY(MPI_File_seek(file, first, MPI_SEEK_SET));
    TRY(MPI_File_read(file, back, COUNT, MPI_INT, &status));
    tap_check(count_in(&status, MPI_INT) == COUNT && memcmp(data, back, sizeof data) == 0,
              "doubled: what was written is read");
    fails = 1;
    REFUSED(MPI_ERR_CONVERSION, MPI_File_read_at(file, first, back, COUNT, MPI_INT, &status));
    REFUSED(MPI_ERR_CONVERSION, MPI_File_write_at(file, first, data, COUNT, MPI_INT, &status));
    fails = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&part);
}

static void check_large(void)
{
#if MPI_VERSION >= 4
    MPI_Count extent = -1;
    ACCEPTED(
        MPI_Register_datarep_c("doubled_c", read_doubled_c, write_doubled_c, extent_doubled, &tag));
    check_doubled("doubled_c", true);
    tap_check(large_calls >= calls && calls > 0, "%d calls are large", large_calls);
    TRY(MPI_File_get_type_extent_c(file, MPI_INT, &extent));
    tap_check(extent == 8, "doubled_c: the extent is %lld", (long long)extent);
#endif
}

/* Without functions the bytes are those in memory; only the extent is asked for. */
static int extent_native(MPI_Datatype datatype, MPI_Aint *file_extent, void *extra_state)
{
    MPI_Aint low;
    (void)extra_state;
    return MPI_Type_get_extent(datatype, &low, file_extent);
}

static void check_null_functions(void)
{
    int data = rank + 1, back = 0, seen = 0;
    ACCEPTED(MPI_Register_datarep("same", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
                                  extent_native, NULL));
    set_view(0, MPI_INT, MPI_INT, "same");
    TRY(MPI_File_write_at_all(file, rank, &data, 1, MPI_INT, MPI_STATUS_IGNORE));
    sync_all(file);
    read_path((long long)sizeof seen * rank, &seen, sizeof seen);
    TRY(MPI_File_read_at_all(file, rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
    tap_check(seen == data && back == data, "a representation without functions is the native one");
}

int main(int argc, char **argv)
{
    bool has_registered = argc > 1 && strcmp(argv[1], "registered") == 0;
    begin_files(&argc, &argv);
    file = open_new("data");
    check_external_types(AT);
    check_external_types(AT_ALL);
    check_external_types(IAT);
    check_external_types(AT_ALL_SPLIT);
    check_external_view();
    check_internal();
    check_register();
    if (has_registered) {
        check_doubled("doubled", false);
        check_doubled("doubled", true);
        check_large();
        check_null_functions();
    }
    TRY(MPI_File_close(&file));
    MPI_Finalize();
    return tap_finish();
}
