/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Views: which bytes of a file are written and read through filetypes of all kinds, etypes,
 * displacements and types of memory; what is said of a view; pointers.
 *
 * Rank r's pieces of the file are what MPI_Pack takes out of memory by the filetype, so a view is
 * checked against the datatypes of the library: the file is compared with a model in memory that
 * was filled by MPI_Unpack.
 */
#include "file_calls.h"
#include "file_tests.h"

enum { TILES = 3, MODEL_BYTES = 1 << 16, UNTOUCHED = 0x2e };

static MPI_File file;

/* -- filetypes, of rank r of n, for etype MPI_INT; the ranks' parts do not overlap ------ */

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint extent)
{
    MPI_Datatype result;
    MPI_Type_create_resized(type, 0, extent, &result);
    MPI_Type_free(&type);
    return result;
}

static MPI_Datatype make_vector(int r, int n)
{
    MPI_Datatype type, moved;
    const MPI_Aint displ = (MPI_Aint)sizeof(int) * 3 * r;
    MPI_Type_vector(4, 3, 3 * n, MPI_INT, &type);
    MPI_Type_create_hindexed_block(1, 1, &displ, type, &moved);
    MPI_Type_free(&type);
    return resized(moved, (MPI_Aint)sizeof(int) * 12 * n);
}

static MPI_Datatype make_subarray(int r, int n)
{
    MPI_Datatype type;
    const int sizes[] = {4, 3 * n, 5}, subsizes[] = {2, 3, 4}, starts[] = {1, 3 * r, 1};
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
    return type;
}

static MPI_Datatype make_fortran(int r, int n)
{
    MPI_Datatype type;
    const int sizes[] = {3, 4, 2 * n, 2}, subsizes[] = {2, 3, 2, 1}, starts[] = {0, 1, 2 * r, 1};
    MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    return type;
}

static MPI_Datatype make_indexed(int r, int n)
{
    MPI_Datatype type;
    const int lengths[] = {1, 2, 0, 3}, displs[] = {r, n + 2 * r, 3 * n, 4 * n + 3 * r};
    MPI_Type_indexed(4, lengths, displs, MPI_INT, &type);
    return resized(type, (MPI_Aint)sizeof(int) * 8 * n);
}

static MPI_Datatype make_struct(int r, int n)
{
    MPI_Datatype pair, type, types[3];
    const int lengths[] = {2, 1, 1};
    const MPI_Aint ints = sizeof(int);
    const MPI_Aint displs[] = {2 * r * ints, (2 * n + 3 * r) * ints, (5 * n + r) * ints};
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    types[0] = types[2] = MPI_INT;
    types[1] = pair;
    MPI_Type_create_struct(3, lengths, displs, types, &type);
    MPI_Type_free(&pair);
    return resized(type, 7 * n * ints);
}

static MPI_Datatype make_darray(int r, int n)
{
    MPI_Datatype type;
    const int sizes[] = {7, 11}, distribs[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    const int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, processes[] = {n, 1};
    MPI_Type_create_darray(n, r, 2, sizes, distribs, arguments, processes, MPI_ORDER_C, MPI_INT,
                           &type);
    return type;
}

static MPI_Datatype make_nested(int r, int n)
{
    MPI_Datatype type, inner = make_indexed(r, n);
    MPI_Type_create_hvector(2, 2, (MPI_Aint)sizeof(int) * 20 * n, inner, &type);
    MPI_Type_free(&inner);
    return resized(type, (MPI_Aint)sizeof(int) * 50 * n);
}

static MPI_Datatype make_plain(int r, int n)
{
    MPI_Datatype type;
    const int displ = 5 * r;
    MPI_Type_create_indexed_block(1, 5, &displ, MPI_INT, &type);
    return resized(type, (MPI_Aint)sizeof(int) * 5 * n);
}

static const struct {
    const char *name;
    MPI_Datatype (*make)(int r, int n);
} kinds[] = {{"plain", make_plain},     {"vector", make_vector},   {"subarray", make_subarray},
             {"fortran", make_fortran}, {"indexed", make_indexed}, {"struct", make_struct},
             {"darray", make_darray},   {"nested", make_nested}};

/* -- against the model ----------------------------------------------------------------- */

static int word_of(int of, int i)
{
    return of * 100000 + i * 7;
}

/* Rank `of` writes elements [from, from + count) of its view. */
static void write_model(char *model, MPI_Offset disp, MPI_Datatype type, int of, int from,
                        int count)
{
    int bytes, position = 0, per_tile, tiles;
    MPI_Type_size(type, &bytes);
    per_tile = bytes / (int)sizeof(int);
    tiles = (from + count + per_tile - 1) / per_tile;
    int *data = malloc((size_t)tiles * (size_t)bytes + 1);
    MPI_Pack(model + disp, tiles, type, data, tiles * bytes, &position, MPI_COMM_SELF);
    for (int i = 0; i < count; i++)
        data[from + i] = word_of(of, i);
    position = 0;
    MPI_Unpack(data, tiles * bytes, &position, model + disp, tiles, type, MPI_COMM_SELF);
    free(data);
}

static bool is_as_model(const char *model, size_t bytes)
{
    char *seen = calloc(1, MODEL_BYTES);
    long got = read_path(0, seen, MODEL_BYTES);
    bool is_right = got == (long)bytes;
    for (size_t i = 0; i < bytes && is_right; i++) {
        is_right = seen[i] == model[i];
        if (!is_right)
            fprintf(stderr, "rank %d: byte %zu is %d, not %d\n", rank, i, seen[i], model[i]);
    }
    if (got != (long)bytes)
        fprintf(stderr, "rank %d: the file has %ld bytes, not %zu\n", rank, got, bytes);
    free(seen);
    return is_right;
}

/* The memory is every second int, or plain. */
static void move(file_way_t way, bool is_write, bool has_holes, MPI_Offset at, int count, int *data)
{
    MPI_Datatype type = MPI_INT, spread = MPI_DATATYPE_NULL;
    int *memory = data;
    MPI_Status status;
    if (has_holes) {
        memory = malloc(((size_t)count * 2 + 1) * sizeof(int));
        MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
        MPI_Type_commit(&spread);
        type = spread;
        for (int i = 0; i < count; i++) {
            memory[2 * i] = data[i];
            memory[2 * i + 1] = -5;
        }
    }
    file_call_t c = {way,    is_write, false, file,    at,
                     memory, count,    type,  &status, MPI_REQUEST_NULL};
    if (!has_offset(way))
        TRY(MPI_File_seek(file, at, MPI_SEEK_SET));
    TRY(file_call_start(&c));
    TRY(file_call_finish(&c));
    tap_check(count_in(&status, MPI_INT) == count, "%s: %d words", file_call_name(&c), count);
    bool is_kept = true;
    for (int i = 0; i < count && has_holes; i++) {
        data[i] = memory[2 * i];
        is_kept &= memory[2 * i + 1] == -5;
    }
    if (has_holes) {
        tap_check(is_kept, "%s: the gaps in memory are left alone", file_call_name(&c));
        MPI_Type_free(&spread);
        free(memory);
    }
}

static void check_kind(int kind, file_way_t way, MPI_Offset disp, bool has_holes)
{
    char *model = malloc(MODEL_BYTES);
    int bytes, *data, *back;
    const int from = 3;
    memset(model, UNTOUCHED, MODEL_BYTES);
    write_path(model, MODEL_BYTES);
    MPI_Datatype type = kinds[kind].make(rank, size);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &bytes);
    int count = TILES * bytes / (int)sizeof(int) - from - rank;
    data = malloc((size_t)count * sizeof(int));
    back = calloc((size_t)count, sizeof(int));
    for (int i = 0; i < count; i++)
        data[i] = word_of(rank, i);
    TRY(MPI_File_set_view(file, disp, MPI_INT, type, "native", MPI_INFO_NULL));
    move(way, true, has_holes, from, count, data);
    sync_all(file);
    for (int r = 0; r < size; r++) {
        MPI_Datatype theirs = kinds[kind].make(r, size);
        MPI_Type_commit(&theirs);
        int their_bytes;
        MPI_Type_size(theirs, &their_bytes);
        write_model(model, disp, theirs, r, from,
                    TILES * their_bytes / (int)sizeof(int) - from - r);
        MPI_Type_free(&theirs);
    }
    tap_check(is_as_model(model, MODEL_BYTES), "%s, %s%s: the file is right", kinds[kind].name,
              file_ways[way].write, has_holes ? ", memory with gaps" : "");
    move(way, false, has_holes, from, count, back);
    tap_check(memcmp(data, back, (size_t)count * sizeof(int)) == 0, "%s, %s: read back",
              kinds[kind].name, file_ways[way].read);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
    free(model);
    free(data);
    free(back);
}

/* -- what is said of a view ------------------------------------------------------------ */

/* Both have the same data at the same places, as far as sizes tell. */
static bool is_alike(MPI_Datatype a, MPI_Datatype b)
{
    MPI_Aint low[4], extent[4];
    int bytes[2];
    MPI_Type_size(a, &bytes[0]);
    MPI_Type_size(b, &bytes[1]);
    MPI_Type_get_extent(a, &low[0], &extent[0]);
    MPI_Type_get_extent(b, &low[1], &extent[1]);
    MPI_Type_get_true_extent(a, &low[2], &extent[2]);
    MPI_Type_get_true_extent(b, &low[3], &extent[3]);
    return bytes[0] == bytes[1] && low[0] == low[1] && low[2] == low[3] && extent[0] == extent[1] &&
           extent[2] == extent[3];
}

static void check_get_view(void)
{
    MPI_Offset disp = -1, byte = -1;
    MPI_Datatype etype, filetype, type = make_vector(rank, size), same = make_vector(rank, size);
    MPI_Datatype triple, same_triple;
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Type_commit(&type);
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_commit(&triple);
    MPI_Type_dup(triple, &same_triple);
    TRY(MPI_File_set_view(file, 20, triple, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    MPI_Type_free(&triple);
    TRY(MPI_File_get_view(file, &disp, &etype, &filetype, name));
    tap_check(disp == 20 && strcmp(name, "native") == 0, "get_view: %lld, %s", (long long)disp,
              name);
    tap_check(is_alike(etype, same_triple), "get_view: the etype");
    tap_check(is_alike(filetype, same), "get_view: the filetype");
    MPI_Type_free(&same_triple);
    MPI_Type_free(&same);
    for (int i = 0; i < 9; i++) {
        MPI_Offset expected = 20 + (i * 3 * size + 3 * rank) * (MPI_Offset)sizeof(int);
        TRY(MPI_File_get_byte_offset(file, i, &byte));
        tap_check(byte == expected, "get_byte_offset %d: %lld", i, (long long)byte);
    }
    REFUSED_ANYHOW(MPI_File_get_byte_offset(file, -1, &byte));
    MPI_Type_free(&etype);
    MPI_Type_free(&filetype);
    TRY(MPI_File_set_view(file, 7, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    TRY(MPI_File_get_view(file, &disp, &etype, &filetype, name));
    tap_check(disp == 7 && etype == MPI_INT && filetype == MPI_INT,
              "get_view: types with names are themselves");
}

static void check_default_view(void)
{
    MPI_Offset disp = -1;
    MPI_Datatype etype, filetype;
    char name[MPI_MAX_DATAREP_STRING] = "";
    TRY(MPI_File_get_view(file, &disp, &etype, &filetype, name));
    tap_check(disp == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && strcmp(name, "native") == 0,
              "a new file is bytes");
}

static void check_refused(void)
{
    MPI_Datatype type;
    TRY(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    REFUSED_ANYHOW(MPI_File_set_view(file, -4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    REFUSED_ANYHOW(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native",
                                     MPI_INFO_NULL));
    REFUSED(MPI_ERR_UNSUPPORTED_DATAREP,
            MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "papyrus", MPI_INFO_NULL));
    REFUSED_ANYHOW(MPI_File_set_view(file, 0, MPI_DATATYPE_NULL, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Type_contiguous(3, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    REFUSED_ANYHOW(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    int value = rank;
    MPI_Offset byte = -1;
    TRY(MPI_File_get_byte_offset(file, 2, &byte));
    tap_check(byte == 16, "the view is what it was before a set_view that was refused");
    TRY(MPI_File_write_at(file, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
}

static void check_seek(void)
{
    MPI_Offset position = -1;
    MPI_Datatype type = make_vector(rank, size);
    MPI_Type_commit(&type);
    TRY(MPI_File_set_size(file, (MPI_Offset)sizeof(int) * 12 * size * 5));
    TRY(MPI_File_seek(file, 3, MPI_SEEK_SET));
    TRY(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    TRY(MPI_File_get_position(file, &position));
    tap_check(position == 0, "set_view sets the pointer to 0: %lld", (long long)position);
    TRY(MPI_File_seek(file, 7, MPI_SEEK_SET));
    TRY(MPI_File_seek(file, -3, MPI_SEEK_CUR));
    TRY(MPI_File_get_position(file, &position));
    tap_check(position == 4, "MPI_SEEK_CUR: %lld", (long long)position);
    REFUSED_ANYHOW(MPI_File_seek(file, -5, MPI_SEEK_CUR));
    REFUSED_ANYHOW(MPI_File_seek(file, -1, MPI_SEEK_SET));
    REFUSED_ANYHOW(MPI_File_seek(file, 0, 4711));
    REFUSED_ANYHOW(MPI_File_seek(file, -61, MPI_SEEK_END));
    TRY(MPI_File_get_position(file, &position));
    tap_check(position == 4, "a seek that is refused moves nothing: %lld", (long long)position);
    TRY(MPI_File_seek(file, 0, MPI_SEEK_END));
    TRY(MPI_File_get_position(file, &position));
    tap_check(position == 60, "MPI_SEEK_END: %lld", (long long)position);
    TRY(MPI_File_seek(file, -60, MPI_SEEK_END));
    TRY(MPI_File_get_position(file, &position));
    tap_check(position == 0, "MPI_SEEK_END - 60: %lld", (long long)position);
    TRY(MPI_File_seek(file, 100, MPI_SEEK_END));
    TRY(MPI_File_get_position(file, &position));
    tap_check(position == 160, "beyond the end: %lld", (long long)position);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    static const file_way_t ways[] = {AT, AT_ALL, IAT, IAT_ALL, ALL_SPLIT, OWN, ALL, I_ALL};
    enum { USED = sizeof ways / sizeof ways[0] };
    begin_files(&argc, &argv);
    file = open_new("data");
    check_default_view();
    for (int kind = 0; kind < (int)(sizeof kinds / sizeof kinds[0]); kind++) {
        for (int i = 0; i < USED; i++)
            check_kind(kind, ways[i], (kind + i) % 3 * 28, i % 2 == kind % 2);
    }
    check_get_view();
    check_refused();
    check_seek();
    TRY(MPI_File_close(&file));
    MPI_Finalize();
    return tap_finish();
}
