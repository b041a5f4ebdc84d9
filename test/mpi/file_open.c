/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening, closing and deleting files: access modes, what each of them permits and refuses, the
 * classes of errors, which are the same in all ranks, and the error handlers of files.
 *
 * At the end a file stays open, which MPI_Finalize tolerates.
 */
#include <sys/fsuid.h>

#include "file_tests.h"

enum { NEW = MPI_MODE_CREATE | MPI_MODE_RDWR, NOBODY = 65534 };

static MPI_File file;

static int open_path(int amode)
{
    return MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file);
}

/* Refused in all ranks with one class, which is one of two. */
static void check_refusal(const char *what, int error, int class, int or_class)
{
    int least, greatest, own = class_of(error);
    MPI_Allreduce(&own, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&own, &greatest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    tap_check(least == greatest && (own == class || own == or_class),
              "%s: the class is %d in this rank, %d to %d in all; wanted: %d or %d", what, own,
              least, greatest, class, or_class);
    if (error == MPI_SUCCESS)
        MPI_File_close(&file);
}

/* -- access modes ----------------------------------------------------------------------- */

static void check_wrong_modes(void)
{
    static const struct {
        const char *name;
        int amode;
    } wrong[] = {
        {"no mode", 0},
        {"only CREATE", MPI_MODE_CREATE},
        {"RDONLY and WRONLY", MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_CREATE},
        {"RDONLY and RDWR", MPI_MODE_RDONLY | MPI_MODE_RDWR},
        {"WRONLY and RDWR", MPI_MODE_WRONLY | MPI_MODE_RDWR | MPI_MODE_CREATE},
        {"RDONLY and CREATE", MPI_MODE_RDONLY | MPI_MODE_CREATE},
        {"RDONLY and EXCL", MPI_MODE_RDONLY | MPI_MODE_EXCL},
        {"RDWR and SEQUENTIAL", MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        check_refusal(wrong[i].name, open_path(wrong[i].amode), MPI_ERR_AMODE, MPI_ERR_AMODE);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(size_of_path() == -1, "a mode that is refused makes no file");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_right_modes(void)
{
    static const int right[] = {
        MPI_MODE_RDONLY,
        MPI_MODE_WRONLY,
        MPI_MODE_RDWR,
        MPI_MODE_WRONLY | MPI_MODE_CREATE,
        MPI_MODE_RDWR | MPI_MODE_CREATE,
        MPI_MODE_RDONLY | MPI_MODE_UNIQUE_OPEN,
        MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN | MPI_MODE_APPEND,
        MPI_MODE_WRONLY | MPI_MODE_APPEND | MPI_MODE_CREATE,
        MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL,
        MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_CREATE,
    };
    write_path("0123456789", 10);
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        int amode = -1;
        MPI_Offset bytes = -1, position = -1;
        bool has_pointer = (right[i] & MPI_MODE_SEQUENTIAL) == 0;
        TRY(open_path(right[i]));
        TRY(MPI_File_get_amode(file, &amode));
        tap_check(amode == right[i], "get_amode: %d", right[i]);
        TRY(MPI_File_get_size(file, &bytes));
        tap_check(bytes == 10, "open keeps what is in the file: %lld bytes", (long long)bytes);
        if (has_pointer) {
            long long start = right[i] & MPI_MODE_APPEND ? 10 : 0;
            TRY(MPI_File_get_position(file, &position));
            tap_check(position == start, "the pointer begins at %lld", (long long)position);
            TRY(MPI_File_get_position_shared(file, &position));
            tap_check(position == start, "the shared pointer begins at %lld", (long long)position);
        }
        TRY(MPI_File_close(&file));
    }
}

static void check_excl(void)
{
    check_refusal("EXCL of a file that exists", open_path(NEW | MPI_MODE_EXCL), MPI_ERR_FILE_EXISTS,
                  MPI_ERR_FILE_EXISTS);
    remove_path();
    ACCEPTED(open_path(NEW | MPI_MODE_EXCL));
    TRY(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(size_of_path() == 0, "EXCL has made the file");
    MPI_Barrier(MPI_COMM_WORLD);
    ACCEPTED(open_path(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
    tap_check(size_of_path() == 0, "DELETE_ON_CLOSE: it is there while it is open");
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(size_of_path() == -1, "DELETE_ON_CLOSE: it is deleted");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What fails when a file is closed: it is closed all the same. */
static void check_failing_close(void)
{
    TRY(open_path(NEW | MPI_MODE_DELETE_ON_CLOSE));
    remove_path();
    check_refusal("DELETE_ON_CLOSE of a file that is gone", MPI_File_close(&file),
                  MPI_ERR_NO_SUCH_FILE, MPI_ERR_NO_SUCH_FILE);
    tap_check(file == MPI_FILE_NULL, "a file whose close has failed is closed");
}

/* -- what a mode refuses ---------------------------------------------------------------- */

static void check_directions(void)
{
    char data[4] = "abc";
    MPI_Request request = MPI_REQUEST_NULL;
    write_path("0123456789", 10);
    TRY(open_path(MPI_MODE_WRONLY));
    REFUSED(MPI_ERR_ACCESS, MPI_File_read_at(file, 0, data, 3, MPI_CHAR, MPI_STATUS_IGNORE));
    REFUSED(MPI_ERR_ACCESS, MPI_File_read_all(file, data, 3, MPI_CHAR, MPI_STATUS_IGNORE));
    REFUSED(MPI_ERR_ACCESS, MPI_File_iread(file, data, 3, MPI_CHAR, &request));
    ACCEPTED(MPI_File_write_at(file, 3L * rank, data, 3, MPI_CHAR, MPI_STATUS_IGNORE));
    TRY(MPI_File_close(&file));
    TRY(open_path(MPI_MODE_RDONLY));
    int error = MPI_File_write_at(file, 0, data, 3, MPI_CHAR, MPI_STATUS_IGNORE);
    check_refusal("write_at of RDONLY", error, MPI_ERR_READ_ONLY, MPI_ERR_ACCESS);
    error = MPI_File_write_ordered(file, data, 3, MPI_CHAR, MPI_STATUS_IGNORE);
    check_refusal("write_ordered of RDONLY", error, MPI_ERR_READ_ONLY, MPI_ERR_ACCESS);
    error = MPI_File_write_at_all_begin(file, 0, data, 3, MPI_CHAR);
    check_refusal("write_at_all_begin of RDONLY", error, MPI_ERR_READ_ONLY, MPI_ERR_ACCESS);
    error = MPI_File_set_size(file, 5);
    check_refusal("set_size of RDONLY", error, MPI_ERR_READ_ONLY, MPI_ERR_ACCESS);
    error = MPI_File_preallocate(file, 5000);
    check_refusal("preallocate of RDONLY", error, MPI_ERR_READ_ONLY, MPI_ERR_ACCESS);
    ACCEPTED(MPI_File_read_at_all(file, 3L * rank, data, 3, MPI_CHAR, MPI_STATUS_IGNORE));
    tap_check(memcmp(data, "abc", 3) == 0, "RDONLY reads what WRONLY has written");
    TRY(MPI_File_close(&file));
    remove_path();
}

static void check_sequential(void)
{
    char data[8] = "record.";
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Offset offset;
    TRY(open_path(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL));
    ACCEPTED(MPI_File_write_ordered(file, data, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    ACCEPTED(MPI_File_write_shared(file, data, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    REFUSED_ANYHOW(MPI_File_write(file, data, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    REFUSED_ANYHOW(MPI_File_write_at(file, 0, data, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    REFUSED_ANYHOW(MPI_File_write_all(file, data, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    REFUSED_ANYHOW(MPI_File_write_at_all(file, 0, data, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    REFUSED_ANYHOW(MPI_File_iwrite_at(file, 0, data, 7, MPI_CHAR, &request));
    REFUSED_ANYHOW(MPI_File_seek(file, 0, MPI_SEEK_SET));
    REFUSED_ANYHOW(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    REFUSED_ANYHOW(MPI_File_get_position(file, &offset));
    REFUSED_ANYHOW(MPI_File_get_position_shared(file, &offset));
    REFUSED_ANYHOW(MPI_File_set_size(file, 0));
    REFUSED_ANYHOW(MPI_File_preallocate(file, 100000));
    REFUSED_ANYHOW(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    ACCEPTED(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native",
                               MPI_INFO_NULL));
    TRY(MPI_File_get_view(file, &offset, &(MPI_Datatype){0}, &(MPI_Datatype){0},
                          (char[MPI_MAX_DATAREP_STRING]){0}));
    tap_check(offset == 14 * size, "MPI_DISPLACEMENT_CURRENT: %lld", (long long)offset);
    ACCEPTED(MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    int last = -1;
    read_path(14LL * size + (long long)sizeof last * rank, &last, sizeof last);
    tap_check(last == rank, "a sequential file: what follows a view is behind it");
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(open_path(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE));
    REFUSED_ANYHOW(MPI_File_read_at(file, 0, data, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    memset(data, 0, sizeof data);
    ACCEPTED(MPI_File_read_ordered(file, data, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    tap_check(memcmp(data, "record.", 7) == 0, "a sequential file is read");
    TRY(MPI_File_close(&file));
}

/* -- names ------------------------------------------------------------------------------ */

static void check_forbidden(void)
{
    write_path("secret", 6);
    if (rank == 0)
        chmod(path, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    setfsuid(NOBODY);
    if (geteuid() == 0 && setfsuid(NOBODY) != NOBODY)
        tap_skip("MPI_ERR_ACCESS", "root cannot give its rights away");
    else
        check_refusal("a file without permissions", open_path(MPI_MODE_RDWR), MPI_ERR_ACCESS,
                      MPI_ERR_ACCESS);
    setfsuid(geteuid());
    remove_path();
}

static void check_names(void)
{
    char folder[PATH_BYTES], name[8192];
    remove_path();
    check_refusal("a file that is missing", open_path(MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE,
                  MPI_ERR_NO_SUCH_FILE);
    check_refusal("a file that is missing", open_path(MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE,
                  MPI_ERR_NO_SUCH_FILE);
    check_refusal("delete of a file that is missing", MPI_File_delete(path, MPI_INFO_NULL),
                  MPI_ERR_NO_SUCH_FILE, MPI_ERR_NO_SUCH_FILE);
    snprintf(folder, sizeof folder, "%s", path);
    set_path("data/below");
    check_refusal("a folder that is missing", open_path(NEW), MPI_ERR_NO_SUCH_FILE,
                  MPI_ERR_NO_SUCH_FILE);
    set_path("data");
    if (rank == 0)
        mkdir(path, 0700);
    MPI_Barrier(MPI_COMM_WORLD);
    int error = open_path(NEW);
    tap_check(error != MPI_SUCCESS, "a folder is no file");
    check_refusal("a folder", error, class_of(error), class_of(error));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        rmdir(path);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    error = MPI_File_open(MPI_COMM_WORLD, name, NEW, MPI_INFO_NULL, &file);
    check_refusal("a name that is too long", error, MPI_ERR_BAD_FILE, MPI_ERR_BAD_FILE);
    check_forbidden();
}

static void check_not_same(void)
{
    char first[PATH_BYTES], link[PATH_BYTES];
    if (size == 1)
        return;
    write_path("first", 5);
    check_refusal("modes that differ", open_path(rank == 0 ? NEW : MPI_MODE_RDWR), MPI_ERR_NOT_SAME,
                  MPI_ERR_NOT_SAME);
    snprintf(first, sizeof first, "%s", path);
    set_path("missing");
    int error = MPI_File_open(MPI_COMM_WORLD, rank == size - 1 ? path : first, MPI_MODE_RDWR,
                              MPI_INFO_NULL, &file);
    check_refusal("a file that is missing in one rank", error, MPI_ERR_NO_SUCH_FILE,
                  MPI_ERR_NOT_SAME);
    set_path("second");
    write_path("second", 6);
    error = MPI_File_open(MPI_COMM_WORLD, rank == size - 1 ? path : first, MPI_MODE_RDWR,
                          MPI_INFO_NULL, &file);
    check_refusal("names of two files", error, MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME);
    remove_path();
    set_path("data");
    snprintf(link, sizeof link, "%s-link", file_folder);
    if (rank == 0)
        tap_check(symlink(strrchr(path, '/') + 1, link) == 0, "a symbolic link is made");
    MPI_Barrier(MPI_COMM_WORLD);
    error =
        MPI_File_open(MPI_COMM_WORLD, rank == 0 ? link : path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (tap_check(error == MPI_SUCCESS, "two names of one file are accepted"))
        TRY(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(link);
    remove_path();
}

/* -- what there is to ask --------------------------------------------------------------- */

static void check_sizes(void)
{
    MPI_Offset bytes = -1;
    char data[8];
    TRY(open_path(NEW));
    TRY(MPI_File_write_at_all(file, 4L * rank, "data", 4, MPI_CHAR, MPI_STATUS_IGNORE));
    sync_all(file);
    TRY(MPI_File_get_size(file, &bytes));
    tap_check(bytes == 4 * size, "get_size: %lld", (long long)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    ACCEPTED(MPI_File_set_size(file, 2));
    TRY(MPI_File_get_size(file, &bytes));
    tap_check(bytes == 2 && size_of_path() == 2, "set_size cuts: %lld", (long long)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    ACCEPTED(MPI_File_set_size(file, 5000));
    TRY(MPI_File_get_size(file, &bytes));
    tap_check(bytes == 5000, "set_size lengthens: %lld", (long long)bytes);
    TRY(MPI_File_read_at(file, 0, data, 8, MPI_CHAR, MPI_STATUS_IGNORE));
    tap_check(memcmp(data, "da\0\0\0\0\0\0", 8) == 0, "what is cut off does not come back");
    MPI_Barrier(MPI_COMM_WORLD);
    ACCEPTED(MPI_File_preallocate(file, 3000));
    TRY(MPI_File_get_size(file, &bytes));
    tap_check(bytes == 5000, "preallocate cuts nothing: %lld", (long long)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    ACCEPTED(MPI_File_preallocate(file, 70000));
    TRY(MPI_File_get_size(file, &bytes));
    tap_check(bytes == 70000, "preallocate: %lld", (long long)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(MPI_File_read_at(file, 0, data, 2, MPI_CHAR, MPI_STATUS_IGNORE));
    tap_check(memcmp(data, "da", 2) == 0, "preallocate keeps the data");
    REFUSED_ANYHOW(MPI_File_set_size(file, -1));
    REFUSED_ANYHOW(MPI_File_preallocate(file, -1));
    if (size > 1)
        check_refusal("sizes that differ", MPI_File_set_size(file, rank), MPI_ERR_NOT_SAME,
                      MPI_ERR_NOT_SAME);
    TRY(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        ACCEPTED(MPI_File_delete(path, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(size_of_path() == -1, "MPI_File_delete deletes");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The communicator may be freed while the file is open; two files of one name are independent. */
static void check_groups(void)
{
    MPI_Comm comm;
    MPI_Group group, expected;
    MPI_File own;
    MPI_Info info = MPI_INFO_NULL;
    int result = -1, seen = -1;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_Comm_group(comm, &expected);
    ACCEPTED(MPI_File_open(comm, path, NEW, MPI_INFO_NULL, &file));
    MPI_Comm_free(&comm);
    TRY(MPI_File_get_group(file, &group));
    MPI_Group_compare(group, expected, &result);
    tap_check(result == MPI_IDENT, "get_group: the group of the communicator");
    MPI_Group_free(&group);
    MPI_Group_free(&expected);
    TRY(MPI_File_get_info(file, &info));
    tap_check(info != MPI_INFO_NULL, "get_info: an object");
    MPI_Info_free(&info);
    ACCEPTED(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &own));
    TRY(MPI_File_write_at_all(own, (MPI_Offset)sizeof rank * rank, &rank, 1, MPI_INT,
                              MPI_STATUS_IGNORE));
    ACCEPTED(MPI_File_close(&own));
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(MPI_File_read_at_all(file, (MPI_Offset)sizeof rank * rank, &seen, 1, MPI_INT,
                             MPI_STATUS_IGNORE));
    tap_check(seen == rank, "a file that is open twice");
    ACCEPTED(MPI_File_close(&file));
    remove_path();
    file = MPI_FILE_NULL;
    REFUSED(MPI_ERR_FILE, MPI_File_close(&file));
    REFUSED(MPI_ERR_FILE, MPI_File_sync(MPI_FILE_NULL));
}

/* Each rank writes its rank at its place, and finds all. */
static void check_ranks_of(MPI_Comm comm, MPI_File which)
{
    int own, count, seen[64];
    bool is_right = true;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    TRY(MPI_File_set_size(which, 0));
    TRY(MPI_File_seek_shared(which, 0, MPI_SEEK_SET));
    TRY(MPI_File_write_ordered(which, &own, 1, MPI_INT, MPI_STATUS_IGNORE));
    sync_all(which);
    TRY(MPI_File_read_at(which, 0, seen, count, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < count; i++)
        is_right = is_right && seen[i] == i;
    if (!is_right)
        tap_check(false, "the ranks of a file are those of its communicator");
}

/* Files are opened and closed in an order of chance: a file may have what another one has left, but
 * only of the same ranks in the same order. */
static void check_one_after_the_other(void)
{
    enum { FILES = 3, TURNS = 60 };
    MPI_Comm comms[FILES];
    MPI_File files[FILES] = {MPI_FILE_NULL, MPI_FILE_NULL, MPI_FILE_NULL};
    MPI_Comm of[FILES];
    char name[16];
    unsigned state = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    for (int turn = 0; turn < TURNS; turn++) {
        state = state * 1103515245 + 12345;
        unsigned which = state >> 16 & 0x7fff, at = which % FILES;
        snprintf(name, sizeof name, "turn-%u", at);
        if (files[at] == MPI_FILE_NULL) {
            of[at] = comms[which / FILES % FILES];
            TRY(MPI_File_open(of[at], set_path(name), NEW | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                              &files[at]));
        }
        check_ranks_of(of[at], files[at]);
        if (which / 16 % 2 == 0)
            TRY(MPI_File_close(&files[at]));
    }
    for (int i = 0; i < FILES; i++) {
        MPI_Comm_free(&comms[i]);
        if (files[i] != MPI_FILE_NULL)
            TRY(MPI_File_close(&files[i]));
    }
    tap_check(true, "files one after the other");
    set_path("data");
}

/* A close while an operation is pending, which is an error of the program: the close is refused, or
 * the operation is carried out before. */
static void check_pending(void)
{
    enum { BYTES = 1 << 20 };
    char *data = malloc(BYTES), *back = calloc(1, BYTES);
    MPI_Request request = MPI_REQUEST_NULL;
    memset(data, 'a' + rank, BYTES);
    TRY(open_path(NEW));
    TRY(MPI_File_iwrite_at(file, (MPI_Offset)BYTES * rank, data, BYTES, MPI_BYTE, &request));
    int error = MPI_File_close(&file);
    TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (error != MPI_SUCCESS)
        ACCEPTED(MPI_File_close(&file));
    read_path((long long)BYTES * rank, back, BYTES);
    tap_check(memcmp(data, back, BYTES) == 0, "a close keeps what was to be written");
    MPI_Barrier(MPI_COMM_WORLD);
    remove_path();
    free(data);
    free(back);
}

/* -- error handlers --------------------------------------------------------------------- */

static int handled, handled_class;
static MPI_File handled_file;

static void handle(MPI_File *which, int *code, ...)
{
    handled++;
    handled_class = class_of(*code);
    handled_file = *which;
}

static bool was_handled(MPI_File by, int class)
{
    bool result = handled == 1 && handled_file == by && handled_class == class;
    handled = 0;
    return result;
}

static void check_handlers(void)
{
    MPI_Errhandler handler, seen;
    MPI_File other;
    TRY(MPI_File_get_errhandler(MPI_FILE_NULL, &seen));
    tap_check(seen == MPI_ERRORS_RETURN, "the default handler is MPI_ERRORS_RETURN");
    TRY(open_path(NEW));
    MPI_File_create_errhandler(handle, &handler);
    ACCEPTED(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    TRY(MPI_File_get_errhandler(file, &seen));
    tap_check(seen == MPI_ERRORS_RETURN, "an open file keeps its handler");
    ACCEPTED(MPI_File_open(MPI_COMM_WORLD, path, NEW, MPI_INFO_NULL, &other));
    TRY(MPI_File_get_errhandler(other, &seen));
    tap_check(seen == handler, "a new file inherits the handler of MPI_FILE_NULL");
    MPI_Errhandler_free(&seen);
    MPI_File_seek(file, 0, 4711);
    tap_check(handled == 0, "the other file's handler is not called");
    int error = MPI_File_seek(other, 0, 4711);
    tap_check(was_handled(other, class_of(error)), "a handler gets the file and the code");
    MPI_File_call_errhandler(other, MPI_ERR_QUOTA);
    tap_check(was_handled(other, MPI_ERR_QUOTA), "call_errhandler");
    ACCEPTED(MPI_File_close(&other));
    ACCEPTED(MPI_File_set_errhandler(file, handler));
    ACCEPTED(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    MPI_Errhandler_free(&handler);
    MPI_File_call_errhandler(file, MPI_ERR_NO_SPACE);
    tap_check(was_handled(file, MPI_ERR_NO_SPACE), "a file keeps a handler that was freed");
    ACCEPTED(MPI_File_close(&file));
    remove_path();
    MPI_File_create_errhandler(handle, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    open_path(MPI_MODE_RDWR);
    tap_check(was_handled(MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE), "an open that fails is handled");
    MPI_File_delete(path, MPI_INFO_NULL);
    tap_check(was_handled(MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE), "a delete that fails is handled");
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    check_wrong_modes();
    check_right_modes();
    check_excl();
    check_failing_close();
    check_directions();
    check_sequential();
    check_names();
    check_not_same();
    check_sizes();
    check_groups();
    check_one_after_the_other();
    check_pending();
    check_handlers();
    ACCEPTED(open_path(NEW));
    remove_path();
    tap_check(MPI_Finalize() == MPI_SUCCESS, "MPI ends while a file is open");
    return tap_finish();
}
