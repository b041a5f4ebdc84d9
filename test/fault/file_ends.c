/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files whose end is not as planned: file_ends WHAT [FOLDER], where WHAT is
 *
 *   open       MPI_Finalize while files are open and operations are under way
 *   deleted    a file that was deleted while it is open
 *   path       a path that is too long for the system
 *   access     a folder that the user may not use
 *   full       a file system of 1 MiB, which is FOLDER, and a write that does not fit
 *   collective, sieved
 *              writes without end, of a file "victim" of the current folder
 *   after      writes and reads that file
 */
#include <errno.h>

#include "file_calls.h"
#include "file_tests.h"

enum { RECORD = 96, LONG_PATH = 5000, OTHER_USER = 65534, BIG = 1 << 20, VICTIM_BYTES = 96 * 500 };

static MPI_File file;
static char *buffer;

static void open_path(const char *name, int amode, MPI_Info info)
{
    TRY(MPI_File_open(MPI_COMM_WORLD, name, amode, info, &file));
}

/* Records of the ranks in turn, and `gaps` of nobody. */
static void set_records(int gaps)
{
    MPI_Datatype record, type;
    MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)RECORD * (size + gaps), &type);
    MPI_Type_commit(&type);
    TRY(MPI_File_set_view(file, (MPI_Offset)RECORD * rank, MPI_BYTE, type, "native",
                          MPI_INFO_NULL));
    MPI_Type_free(&record);
    MPI_Type_free(&type);
}

static bool names(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (strstr(text, what) == NULL)
        fprintf(stderr, "rank %d: %s\n", rank, text);
    return strstr(text, what) != NULL;
}

/* -- without a fault --------------------------------------------------------------------------- */

static void stay_open(const char *folder)
{
    static MPI_Request requests[8]; /* that nobody waits for */
    (void)folder;
    for (int i = 0; i < 3; i++) {
        set_path(i == 0 ? "a" : i == 1 ? "b" : "c");
        open_path(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
    }
    set_records(1);
    for (int i = 0; i < 8; i++)
        TRY(MPI_File_iwrite_at(file, (MPI_Offset)i * BIG / 8, buffer, BIG / 8, MPI_BYTE,
                               &requests[i]));
    TRY(MPI_File_write_all_begin(file, buffer, BIG, MPI_BYTE));
    remove_path();
    unlink(set_path("a"));
    unlink(set_path("b"));
    tap_check(true, "files are open, and operations are under way");
}

static void use_deleted(const char *folder)
{
    char got[RECORD] = "";
    (void)folder;
    open_path(path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        ACCEPTED(MPI_File_delete(path, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    REFUSED(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(path, MPI_INFO_NULL));
    set_records(0);
    memset(buffer, 'a' + rank, RECORD);
    ACCEPTED(MPI_File_write_all(file, buffer, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
    ACCEPTED(MPI_File_sync(file));
    ACCEPTED(MPI_File_read_at(file, 0, got, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
    tap_check(memcmp(got, buffer, RECORD) == 0, "a deleted file is read as it was written");
    REFUSED(MPI_ERR_NO_SUCH_FILE, MPI_File_close(&file));
    tap_check(file == MPI_FILE_NULL, "it is closed although it could not be deleted");
}

static void open_long(const char *folder)
{
    char *name = malloc(LONG_PATH + 1);
    (void)folder;
    memset(name, 'x', LONG_PATH);
    name[LONG_PATH] = 0;
    int code =
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    tap_check(is_class(code, MPI_ERR_BAD_FILE), "a path of %d bytes is refused", LONG_PATH);
    tap_check(names(code, "xxxxxxxx"), "the sentence has its beginning");
    tap_check(names(code, strerror(ENAMETOOLONG)), "the sentence has the reason");
    REFUSED(MPI_ERR_BAD_FILE, MPI_File_delete(name, MPI_INFO_NULL));
    free(name);
}

static void open_forbidden(const char *folder)
{
    char name[PATH_BYTES + 8];
    (void)folder;
    if (rank == 0)
        tap_check(mkdir(path, 0) == 0, "a folder is made that nobody may use");
    MPI_Barrier(MPI_COMM_WORLD);
    bool is_root = geteuid() == 0;
    if (is_root)
        tap_check(seteuid(OTHER_USER) == 0, "root becomes another user");
    snprintf(name, sizeof name, "%s/file", path);
    int code =
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    tap_check(is_class(code, MPI_ERR_ACCESS), "a file in a folder without permission is refused");
    tap_check(names(code, name) && names(code, "Rank 0"), "the sentence names path and rank");
    REFUSED(MPI_ERR_ACCESS, MPI_File_delete(name, MPI_INFO_NULL));
    if (is_root)
        tap_check(seteuid(0) == 0, "and root again");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        rmdir(path);
}

/* -- without room --------------------------------------------------------------------------------
 */

static void fill(file_way_t way)
{
    file_call_t call = {.way = way,
                        .is_write = true,
                        .file = file,
                        .buffer = buffer,
                        .count = BIG,
                        .type = MPI_BYTE,
                        .status = MPI_STATUS_IGNORE};
    MPI_Status status;
    int class, worst;
    call.status = &status;
    int code = file_call_start(&call);
    if (code == MPI_SUCCESS)
        code = file_call_finish(&call);
    class = class_of(code);
    tap_check(code == MPI_SUCCESS || names(code, path), "%s: the sentence names the file",
              file_call_name(&call));
    MPI_Allreduce(&class, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    tap_check(worst == MPI_ERR_NO_SPACE &&
                  (class == worst || (class == MPI_SUCCESS && !file_ways[way].is_collective)),
              "%s: there is no room, class %d", file_call_name(&call), class);
}

/* After room was made. */
static void write_small(void)
{
    char got[RECORD] = "";
    TRY(MPI_File_set_size(file, 0));
    memset(buffer, 'a' + rank, BIG);
    ACCEPTED(MPI_File_write_at_all(file, 0, buffer, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
    sync_all(file);
    TRY(MPI_File_read_at(file, 0, got, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
    tap_check(memcmp(got, buffer, RECORD) == 0, "what is written afterwards is there");
}

static void fill_system(const char *folder)
{
    static const file_way_t ways[] = {AT_ALL, AT, IAT, AT_ALL_SPLIT};
    snprintf(path, sizeof path, "%s/file", folder);
    open_path(path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL);
    for (int gaps = 0; gaps < 2; gaps++) {
        set_records(gaps);
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            fill(ways[i]);
            write_small();
        }
    }
    REFUSED(MPI_ERR_NO_SPACE, MPI_File_preallocate(file, (MPI_Offset)8 * BIG));
    write_small();
    ACCEPTED(MPI_File_close(&file));
}

/* -- of a rank that dies ---------------------------------------------------------------------- */

static void open_victim(void)
{
    MPI_Info info;
    snprintf(path, sizeof path, "victim");
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    MPI_Info_set(info, "romio_ds_write", "enable");
    open_path(path, MPI_MODE_CREATE | MPI_MODE_RDWR, info);
    MPI_Info_free(&info);
    set_records(1);
}

static void write_for_ever(bool is_collective)
{
    open_victim();
    for (;;) {
        if (is_collective)
            MPI_File_write_at_all(file, 0, buffer, VICTIM_BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
        else
            MPI_File_write_at(file, 0, buffer, VICTIM_BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

static void write_collective(const char *folder)
{
    (void)folder;
    write_for_ever(true);
}

static void write_sieved(const char *folder)
{
    (void)folder;
    write_for_ever(false);
}

static void use_victim(const char *folder)
{
    char *got = calloc(1, VICTIM_BYTES);
    (void)folder;
    open_victim();
    memset(buffer, 'a' + rank, VICTIM_BYTES);
    for (int i = 0; i < 2; i++) {
        ACCEPTED(MPI_File_set_atomicity(file, i));
        ACCEPTED(MPI_File_write_at(file, 0, buffer, VICTIM_BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        ACCEPTED(MPI_File_write_at_all(file, 0, buffer, VICTIM_BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        sync_all(file);
        ACCEPTED(MPI_File_read_at_all(file, 0, got, VICTIM_BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        tap_check(memcmp(got, buffer, VICTIM_BYTES) == 0, "it is there");
    }
    ACCEPTED(MPI_File_close(&file));
    free(got);
}

static const struct {
    const char *name;
    void (*run)(const char *folder);
} whats[] = {
    {"open", stay_open},        {"deleted", use_deleted}, {"path", open_long},
    {"access", open_forbidden}, {"full", fill_system},    {"collective", write_collective},
    {"sieved", write_sieved},   {"after", use_victim},
};

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    buffer = calloc(1, BIG);
    for (size_t i = 0; argc > 1 && i < sizeof whats / sizeof whats[0]; i++) {
        if (strcmp(whats[i].name, argv[1]) == 0)
            whats[i].run(argc > 2 ? argv[2] : ".");
    }
    MPI_Finalize();
    free(buffer);
    return tap_finish();
}
