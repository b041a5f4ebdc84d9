/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every data access routine of files, written and read: where the data goes, what the status says,
 * which pointer moves and how far, and the ways to complete what was begun.
 *
 * The shared pointer needs a view that is the same in all ranks, so the ranks' parts of the file
 * are found by offsets there; the other routines have a view of interleaved records.
 */
#include "file_calls.h"
#include "file_tests.h"

enum { COUNT = 12, PER_RECORD = 4, OWN_START = 8, SHARED_START = 4 };

static MPI_File file;

/* Element i of what this rank writes. */
static int value(int of, file_way_t way, int i)
{
    return of * 10000 + (int)way * 100 + i;
}

/* Records of PER_RECORD ints, those of the ranks in turn; or all ranks see the same. */
static void set_view(bool is_common)
{
    MPI_Datatype record, interleaved;
    MPI_Type_contiguous(PER_RECORD, MPI_INT, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)sizeof(int) * PER_RECORD * (is_common ? 2 : size),
                            &interleaved);
    MPI_Type_commit(&interleaved);
    MPI_Offset disp = is_common ? 0 : (MPI_Offset)sizeof(int) * PER_RECORD * rank;
    TRY(MPI_File_set_view(file, disp, MPI_INT, interleaved, "native", MPI_INFO_NULL));
    MPI_Type_free(&record);
    MPI_Type_free(&interleaved);
}

static void set_pointers(void)
{
    TRY(MPI_File_seek(file, OWN_START, MPI_SEEK_SET));
    TRY(MPI_File_seek_shared(file, SHARED_START, MPI_SEEK_SET));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_pointers(const file_call_t *c, bool is_begun)
{
    MPI_Offset own = -1, shared = -1;
    bool moves_own = !has_offset(c->way) && !has_shared_pointer(c->way);
    TRY(MPI_File_get_position(file, &own));
    tap_check(own == OWN_START + (moves_own ? COUNT : 0), "%s%s: the individual pointer is %lld",
              file_call_name(c), is_begun ? ", begun" : "", (long long)own);
    if (is_begun)
        return;
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(MPI_File_get_position_shared(file, &shared));
    tap_check(shared == SHARED_START + (has_shared_pointer(c->way) ? size * COUNT : 0),
              "%s: the shared pointer is %lld", file_call_name(c), (long long)shared);
}

/* The ways to complete a request, in turn. */
static void complete(file_call_t *c, MPI_Status *status)
{
    int flag = 0;
    if (!file_ways[c->way].is_nonblocking) {
        TRY(file_call_finish(c));
        return;
    }
    switch ((int)c->way % 3 + c->is_write) {
    case 0:
        while (!flag)
            TRY(MPI_Test(&c->request, &flag, status));
        break;
    case 1:
        TRY(MPI_Wait(&c->request, status));
        break;
    case 2:
        TRY(MPI_Waitall(1, &c->request, status));
        break;
    default:
        TRY(MPI_Waitany(1, &c->request, &flag, status));
        tap_check(flag == 0, "%s: the request is the first", file_call_name(c));
    }
    tap_check(c->request == MPI_REQUEST_NULL, "%s: the request is freed", file_call_name(c));
}

static void run(file_way_t way, bool is_write, bool is_large, int *buffer)
{
    MPI_Status status;
    memset(&status, 0x55, sizeof status);
    MPI_Offset offset = 4 + (has_offset(way) ? 8 : 0);
    file_call_t c = {way,    is_write, is_large, file,    offset,
                     buffer, COUNT,    MPI_INT,  &status, MPI_REQUEST_NULL};
    set_pointers();
    TRY(file_call_start(&c));
    if (!has_shared_pointer(way))
        check_pointers(&c, true);
    complete(&c, &status);
    int elements = -1;
    MPI_Get_elements(&status, MPI_INT, &elements);
    tap_check(count_in(&status, MPI_INT) == COUNT && elements == COUNT &&
                  count_in(&status, MPI_BYTE) == COUNT * (int)sizeof(int),
              "%s%s: the status has %d elements", file_call_name(&c), is_large ? "_c" : "",
              elements);
    check_pointers(&c, false);
}

/* In which turn the ranks' data is in the file: found out by what each has got or given. */
static bool has_all(file_way_t way, const int *all)
{
    bool is_there[256] = {false};
    for (int turn = 0; turn < size; turn++) {
        int of = (all[turn * COUNT] - (int)way * 100) / 10000;
        if (of < 0 || of >= size || is_there[of] || (way >= ORDERED && of != turn))
            return false;
        is_there[of] = true;
        for (int i = 0; i < COUNT; i++) {
            if (all[turn * COUNT + i] != value(of, way, i))
                return false;
        }
    }
    return true;
}

static void check_shared(file_way_t way, bool is_large)
{
    int mine[COUNT], *all = malloc((size_t)size * sizeof mine);
    for (int i = 0; i < COUNT; i++)
        mine[i] = value(rank, way, i);
    run(way, true, is_large, mine);
    sync_all(file);
    TRY(MPI_File_read_at(file, SHARED_START, all, size * COUNT, MPI_INT, MPI_STATUS_IGNORE));
    tap_check(has_all(way, all), "%s: every rank's data is there once%s", file_ways[way].write,
              way >= ORDERED ? ", in the order of ranks" : "");
    memset(mine, 0, sizeof mine);
    run(way, false, is_large, mine);
    MPI_Allgather(mine, COUNT, MPI_INT, all, COUNT, MPI_INT, MPI_COMM_WORLD);
    tap_check(has_all(way, all), "%s: every rank's data was read once%s", file_ways[way].read,
              way >= ORDERED ? ", in the order of ranks" : "");
    free(all);
}

/* The data as the system sees it. */
static void check_bytes(file_way_t way)
{
    int start = has_offset(way) ? 12 : OWN_START;
    bool is_right = true;
    for (int i = 0; i < COUNT; i += PER_RECORD) {
        int record[PER_RECORD];
        long long at = ((long long)(start + i) * size + PER_RECORD * rank) * (int)sizeof(int);
        is_right &= read_path(at, record, sizeof record) == sizeof record;
        for (int k = 0; k < PER_RECORD; k++)
            is_right &= record[k] == value(rank, way, i + k);
    }
    tap_check(is_right, "%s: the bytes are where the view says", file_ways[way].write);
}

static void check_own(file_way_t way, bool is_large)
{
    int mine[COUNT], got[COUNT] = {0};
    for (int i = 0; i < COUNT; i++)
        mine[i] = value(rank, way, i);
    run(way, true, is_large, mine);
    sync_all(file);
    check_bytes(way);
    run(way, false, is_large, got);
    tap_check(memcmp(mine, got, sizeof mine) == 0, "%s: what was written is read",
              file_ways[way].read);
}

static void check_ways(bool is_large)
{
    for (int way = 0; way < WAYS; way++) {
        bool is_common = has_shared_pointer((file_way_t)way);
        set_view(is_common);
        if (is_common)
            check_shared((file_way_t)way, is_large);
        else
            check_own((file_way_t)way, is_large);
    }
}

/* Many requests at once, of all kinds; and one that is freed. */
static void check_many(void)
{
    enum { MANY = 40 };
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    int data[MANY], back[MANY];
    TRY(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    TRY(MPI_File_set_size(file, 0));
    for (int i = 0; i < MANY; i++) {
        data[i] = rank * 1000 + i;
        if (i % 2 == 0)
            TRY(MPI_File_iwrite_at(file, i * size + rank, &data[i], 1, MPI_INT, &requests[i]));
        else
            TRY(MPI_File_iwrite_at_all(file, i * size + rank, &data[i], 1, MPI_INT, &requests[i]));
    }
    TRY(MPI_Waitall(MANY, requests, statuses));
    long sum = 0;
    for (int i = 0; i < MANY; i++)
        sum += count_in(&statuses[i], MPI_INT);
    tap_check(sum == MANY, "%d requests at once: %ld elements", MANY, sum);
    for (int i = MANY - 1; i >= 0; i--)
        TRY(MPI_File_iread_at(file, i * size + rank, &back[i], 1, MPI_INT, &requests[i]));
    for (int left = MANY; left > 0;) {
        int done, which[MANY];
        TRY(MPI_Waitsome(MANY, requests, &done, which, statuses));
        left -= done;
    }
    tap_check(memcmp(data, back, sizeof data) == 0, "%d requests at once are read back", MANY);
    static int last; /* nobody waits for it */
    last = data[0];
    TRY(MPI_File_iwrite_at(file, MANY * size + rank, &last, 1, MPI_INT, &requests[0]));
    TRY(MPI_Request_free(&requests[0]));
    tap_check(requests[0] == MPI_REQUEST_NULL, "a request is freed before it is complete");
}

/* Ranks that give nothing, and one that alone gives something. */
static void check_nothing(void)
{
    MPI_Status status;
    int data = 4711, back = -1;
    for (int turn = 0; turn < size; turn++) {
        int count = turn == rank;
        TRY(MPI_File_write_at_all(file, turn, count ? &data : NULL, count, MPI_INT, &status));
        tap_check(count_in(&status, MPI_INT) == count, "write_at_all: %d elements", count);
        TRY(MPI_File_seek(file, turn, MPI_SEEK_SET));
        TRY(MPI_File_read_all(file, count ? &back : NULL, count, MPI_INT, &status));
        tap_check(count_in(&status, MPI_INT) == count, "read_all: %d elements", count);
    }
    tap_check(back == data, "what one rank alone has written is read");
}

/* One split collective at a time; others and independent calls beside it. */
static void check_split(void)
{
    int data[4] = {rank, 1, 2, 3}, more = -rank, got[4] = {0};
    MPI_File_sync(file);
    TRY(MPI_File_write_at_all_begin(file, 4 * rank, data, 4, MPI_INT));
    REFUSED_ANYHOW(MPI_File_read_at_all_begin(file, 0, got, 4, MPI_INT));
    TRY(MPI_File_write_at(file, 4 * size + rank, &more, 1, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE));
    REFUSED_ANYHOW(MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE));
    TRY(MPI_File_read_at_all(file, 4 * rank, got, 4, MPI_INT, MPI_STATUS_IGNORE));
    tap_check(memcmp(data, got, sizeof got) == 0, "a split collective beside independent calls");
    TRY(MPI_File_read_at(file, 4 * size + rank, got, 1, MPI_INT, MPI_STATUS_IGNORE));
    tap_check(got[0] == more, "an independent call beside a split collective");
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    file = open_new("data");
    check_ways(false);
    check_ways(true);
    check_many();
    MPI_Barrier(MPI_COMM_WORLD);
    check_nothing();
    check_split();
    ACCEPTED(MPI_File_close(&file));
    tap_check(file == MPI_FILE_NULL, "the handle is null");
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(size_of_path() == -1, "the file is deleted");
    MPI_Finalize();
    return tap_finish();
}
