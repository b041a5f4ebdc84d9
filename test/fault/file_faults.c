/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A system call of one rank fails, at each place of each access routine in turn. Every call returns
 * success or the class of that fault, a collective one the same in all ranks, with a sentence that
 * names rank, file and byte; what a call has reported as written is in the file, other bytes are as
 * they were or as they should be, and the file handle works afterwards.
 *
 *   file_faults ROUND STEP     the n-th calls for n = ROUND, ROUND + STEP, ...
 */
#include <errno.h>

#include "faults.h"
#include "file_calls.h"
#include "file_tests.h"

enum {
    RECORD = 96,
    RECORDS = 40,
    OWN_BYTES = RECORD * RECORDS,
    RANKS = 8,
    FILE_MAX = (RANKS + 1) * OWN_BYTES,
    NTH_MAX = 400,
    FAULTS_SHOWN = 10,
    NOBODY = -1
};

static const int errors[] = {ENOSPC, EIO, EDQUOT};
static const int classes[] = {MPI_ERR_NO_SPACE, MPI_ERR_IO, MPI_ERR_QUOTA};

typedef enum layout {
    BLOCKS, /* of the ranks, one after the other */
    TILES,  /* records of the ranks in turn */
    GAPS,   /* and one of nobody */
    CHAIN,  /* every other record of a range that overlaps those of the two neighbours */
    COMMON, /* all ranks see the bytes */
    LAYOUTS
} layout_t;

static const char *const layout_names[] = {"blocks", "tiles", "gaps", "chain", "common"};

/* The case at hand. */
static MPI_File file;
static layout_t layout;
static file_way_t way;
static bool is_write, is_atomic;
static unsigned nth;
static int victim, error_index;

static long bad_count, cases, hits;
static unsigned char own[OWN_BYTES], before[FILE_MAX], now[FILE_MAX];

static void bad(const char *what)
{
    file_call_t call = {.way = way, .is_write = is_write};
    if (bad_count++ < FAULTS_SHOWN)
        fprintf(stderr, "rank %d: %s%s, %s, call %u of rank %d: %s: %s\n", rank,
                file_call_name(&call), is_atomic ? ", atomic" : "", layout_names[layout], nth,
                victim, strerror(errors[error_index]), what);
}

static void need(bool is_good, const char *what)
{
    if (!is_good)
        bad(what);
}

/* -- where data is --------------------------------------------------------------------------- */

/* The rank whose byte it is, and which of its bytes. */
static int owner_of(int at, int *index)
{
    int turns = layout == GAPS ? size + 1 : size;
    if (layout == BLOCKS || layout == COMMON) {
        *index = at % OWN_BYTES;
        return at / OWN_BYTES < size ? at / OWN_BYTES : NOBODY;
    }
    int record = at / RECORD, odd = record % 2;
    if (layout == CHAIN) {
        int from = record - odd - odd * RECORDS, of = from / (2 * RECORDS) * 2 + odd;
        *index = from % (2 * RECORDS) / 2 * RECORD + at % RECORD;
        return from >= 0 && of < size ? of : NOBODY;
    }
    *index = record / turns * RECORD + at % RECORD;
    return record % turns < size ? record % turns : NOBODY;
}

static int file_bytes(void)
{
    return (layout == GAPS || layout == CHAIN ? size + 1 : size) * OWN_BYTES;
}

static unsigned char value(int of, int index, uint64_t key)
{
    return byte_of((uint64_t)of * OWN_BYTES + (uint64_t)index, key);
}

static void set_view(void)
{
    MPI_Datatype record, type = MPI_BYTE;
    MPI_Offset disp = 0;
    if (layout == BLOCKS)
        disp = (MPI_Offset)rank * OWN_BYTES;
    if (layout != BLOCKS && layout != COMMON) {
        int every = layout == TILES ? size : layout == GAPS ? size + 1 : 2;
        MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
        MPI_Type_create_resized(record, 0, (MPI_Aint)RECORD * every, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&record);
        disp = (MPI_Offset)RECORD * (layout == CHAIN ? rank * RECORDS + rank % 2 : rank);
    }
    TRY(MPI_File_set_view(file, disp, MPI_BYTE, type, "native", MPI_INFO_NULL));
    if (type != MPI_BYTE)
        MPI_Type_free(&type);
}

/* Of the file, past MPI. */
static void write_before(uint64_t key)
{
    for (int at = 0; at < file_bytes(); at++)
        before[at] = byte_of((uint64_t)at, key);
    int fd = rank == 0 ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (rank == 0)
        need(pwrite(fd, before, (size_t)file_bytes(), 0) == file_bytes() && close(fd) == 0,
             "the file can be filled");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- what has become of it ------------------------------------------------------------------- */

/* What others have written by the shared pointer lies where they came. */
static bool has_block(int of, uint64_t key)
{
    for (int turn = 0; turn < size; turn++) {
        int i = 0;
        while (i < OWN_BYTES && now[turn * OWN_BYTES + i] == value(of, i, key))
            i++;
        if (i == OWN_BYTES)
            return true;
    }
    return false;
}

static void check_file(const int *outcomes, uint64_t key)
{
    bool is_anywhere = way == SHARED || way == I_SHARED;
    if (read_path(0, now, sizeof now) != file_bytes()) {
        bad("the size of the file has changed");
        return;
    }
    for (int r = 0; r < size && is_anywhere; r++)
        need(outcomes[r] != MPI_SUCCESS || has_block(r, key), "data is lost: success was reported");
    for (int at = 0, index; at < file_bytes() && !is_anywhere; at++) {
        int of = owner_of(at, &index);
        bool is_new = of != NOBODY && now[at] == value(of, index, key);
        if (is_new || (now[at] == before[at] && (of == NOBODY || outcomes[of] != MPI_SUCCESS)))
            continue;
        bad(of == NOBODY                  ? "a byte of nobody has changed"
            : outcomes[of] == MPI_SUCCESS ? "data is lost: success was reported"
                                          : "a byte is neither as before nor as written");
        return;
    }
}

static void check_read(void)
{
    bool is_anywhere = way == SHARED || way == I_SHARED;
    for (int at = 0, index; at < file_bytes() && !is_anywhere; at++) {
        if (owner_of(at, &index) == rank && own[index] != before[at]) {
            bad("not what is in the file was read: success was reported");
            return;
        }
    }
    for (int turn = 0; turn < size && is_anywhere; turn++) {
        if (memcmp(own, before + turn * OWN_BYTES, OWN_BYTES) == 0)
            return;
    }
    need(!is_anywhere, "not a block of the file was read: success was reported");
}

static void check_text(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (strstr(text, path) == NULL || strstr(text, "ank ") == NULL ||
        strstr(text, "at byte ") == NULL || strstr(text, strerror(errors[error_index])) == NULL)
        bad(text);
}

static void check_outcomes(const int *outcomes, bool is_faulty)
{
    for (int r = 0; r < size; r++) {
        need(outcomes[r] == MPI_SUCCESS || (is_faulty && outcomes[r] == classes[error_index]),
             "the class is another one");
        need(!file_ways[way].is_collective || file_ways[way].is_nonblocking ||
                 outcomes[r] == outcomes[0],
             "the ranks have different classes");
        need(outcomes[r] == MPI_SUCCESS || r == victim || file_ways[way].is_collective,
             "a rank fails without a fault");
    }
}

/* -- a case ---------------------------------------------------------------------------------- */

/* Returns whether a call of some rank has failed. */
static bool run(bool is_faulty, uint64_t key)
{
    int outcomes[RANKS], hit;
    MPI_Status status;
    file_call_t call = {way, is_write,  cases % 3 == 0, file,    0,
                        own, OWN_BYTES, MPI_BYTE,       &status, MPI_REQUEST_NULL};
    write_before(key * 2);
    for (int i = 0; i < OWN_BYTES; i++)
        own[i] = is_write ? value(rank, i, key * 2 + 1) : 0;
    TRY(MPI_File_seek(file, 0, MPI_SEEK_SET));
    TRY(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    if (is_faulty && rank == victim)
        faults_plan(FAULTS_TRANSFER | FAULTS_LOCK, nth, errors[error_index]);
    int code = file_call_start(&call);
    if (code == MPI_SUCCESS)
        code = file_call_finish(&call);
    hit = faults_has_failed();
    faults_plan(0, 0, 0);
    if (code != MPI_SUCCESS)
        check_text(code);
    int class = class_of(code);
    MPI_Allgather(&class, 1, MPI_INT, outcomes, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &hit, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    check_outcomes(outcomes, is_faulty && hit);
    if (!is_write && class == MPI_SUCCESS)
        check_read();
    if (is_write && rank == 0)
        check_file(outcomes, key * 2 + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    cases++;
    hits += hit;
    return hit;
}

/* A way, with faults at every call of every rank, until there are no more calls. */
static void run_way(unsigned first, unsigned step)
{
    bool has_hit = true;
    for (nth = first; has_hit && nth <= NTH_MAX; nth += step) {
        has_hit = false;
        for (victim = 0; victim < size; victim++) {
            error_index = (int)(nth + (unsigned)victim) % 3;
            has_hit |= run(true, (uint64_t)cases + 1);
        }
        run(false, (uint64_t)cases + 1);
    }
    need(nth <= NTH_MAX, "it does not end");
}

static void run_layout(unsigned first, unsigned step)
{
    set_view();
    TRY(MPI_File_set_size(file, file_bytes()));
    for (int i = 0; i < WAYS * 2; i++) {
        way = (file_way_t)(i / 2);
        is_write = i % 2;
        if (has_shared_pointer(way) == (layout == COMMON))
            run_way(first, step);
    }
}

/* -- the file as a whole ------------------------------------------------------------------------
 */

static int set_size(void)
{
    return MPI_File_set_size(file, FILE_MAX);
}

static int preallocate(void)
{
    return MPI_File_preallocate(file, FILE_MAX);
}

static int sync_file(void)
{
    return MPI_File_sync(file);
}

static int open_again(void)
{
    MPI_File again = MPI_FILE_NULL;
    int code = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &again);
    need((code == MPI_SUCCESS) == (again != MPI_FILE_NULL), "a file that is not open has a handle");
    if (again != MPI_FILE_NULL)
        TRY(MPI_File_close(&again));
    return code;
}

static int close_again(void)
{
    MPI_File again;
    TRY(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &again));
    int code = MPI_File_close(&again);
    need(again == MPI_FILE_NULL, "a file is still open after MPI_File_close");
    return code;
}

static const struct {
    const char *name;
    int (*call)(void);
    int kind;
} wholes[] = {
    {"MPI_File_set_size", set_size, FAULTS_SIZE},
    {"MPI_File_preallocate", preallocate, FAULTS_SIZE},
    {"MPI_File_sync", sync_file, FAULTS_SYNC},
    {"MPI_File_open", open_again, FAULTS_OPEN},
    {"MPI_File_close", close_again, FAULTS_CLOSE},
};

static void check_whole(size_t i)
{
    int good = 1, hit_any = 0;
    for (victim = 0; victim < size; victim++) {
        for (error_index = 0; error_index < 3; error_index++) {
            if (rank == victim)
                faults_plan(wholes[i].kind, 1, errors[error_index]);
            int code = wholes[i].call(), class = class_of(code);
            int hit = faults_has_failed(), same[] = {class, -class};
            char text[MPI_MAX_ERROR_STRING];
            int length;
            MPI_Error_string(code, text, &length);
            faults_plan(0, 0, 0);
            MPI_Allreduce(MPI_IN_PLACE, &hit, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            MPI_Allreduce(MPI_IN_PLACE, same, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            good &= same[0] == -same[1] && class == (hit ? classes[error_index] : MPI_SUCCESS) &&
                    (!hit || (strstr(text, path) != NULL && strstr(text, "ank ") != NULL));
            good &= class_of(wholes[i].call()) == MPI_SUCCESS;
            hit_any |= hit;
        }
    }
    tap_check(good && hit_any, "%s: all ranks have the class and the sentence; then it works",
              wholes[i].name);
}

/* -- all of it -------------------------------------------------------------------------------- */

static void open_file(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    MPI_Info_set(info, "ind_rd_buffer_size", "4096");
    MPI_Info_set(info, "ind_wr_buffer_size", "4096");
    MPI_Info_set(info, "romio_ds_write", "enable");
    TRY(MPI_File_open(MPI_COMM_WORLD, path,
                      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    unsigned first = argc > 2 ? (unsigned)atoi(argv[1]) : 1;
    unsigned step = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    tap_check(size <= RANKS, "%d ranks are not too many", size);
    open_file();
    for (layout = 0; layout < LAYOUTS; layout++)
        run_layout(first, step);
    TRY(MPI_File_set_atomicity(file, is_atomic = true));
    layout = GAPS;
    run_layout(first, step);
    TRY(MPI_File_set_atomicity(file, is_atomic = false));
    tap_check(bad_count == 0, "%ld cases, %ld faults", cases, hits);
    tap_check(hits > 100, "there were faults");
    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++)
        check_whole(i);
    TRY(MPI_File_close(&file));
    MPI_Finalize();
    return tap_finish();
}
