/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE on files: the threads of each rank use one file, or several, at once: blocks
 * that touch each other, strided views that are sieved, both kinds of pointers, requests that
 * another thread completes, collective calls of one thread beside independent ones of the others.
 * Every byte of a file is known by its place, and all are looked at past MPI.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "file_tests.h"
#include "thread_pairs.h"

/* BLOCK: bytes of an access, which begin and end within pieces of a view. */
enum { THREADS = 4, ROUNDS = 16, BLOCK = 1021, PIECE = 48, RECORD = 96, OPEN = 6 };

/* A file and what is in it. All ranks see all of it, or each rank every size-th piece. */
typedef struct target {
    MPI_File file;
    char name[16];
    bool is_strided;
    uint64_t key;
} target_t;

static target_t plain, strided;
static atomic_int wrong;

static void expect(bool holds)
{
    if (!holds)
        atomic_fetch_add(&wrong, 1);
}

#define DO(call) expect((call) == MPI_SUCCESS)

static void open_target(target_t *target, const char *name, bool is_strided)
{
    MPI_Datatype piece, pieces;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", is_strided ? "enable" : "automatic");
    *target = (target_t){.is_strided = is_strided, .key = (uint64_t)name[0]};
    snprintf(target->name, sizeof target->name, "%s", name);
    target->file = open_new(name);
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * size, &pieces);
    MPI_Type_commit(&pieces);
    if (is_strided)
        TRY(MPI_File_set_view(target->file, (MPI_Offset)PIECE * rank, MPI_BYTE, pieces, "native",
                              info));
    MPI_Type_free(&piece);
    MPI_Type_free(&pieces);
    MPI_Info_free(&info);
}

/* The byte at a place of the view. */
static unsigned char byte_in(const target_t *target, int of, uint64_t place)
{
    return byte_of(place, target->is_strided ? target->key + (uint64_t)of : target->key);
}

static void fill(const target_t *target, unsigned char *data, uint64_t place, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = byte_in(target, rank, place + i);
}

static bool is_filled(const target_t *target, const unsigned char *data, uint64_t place,
                      size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != byte_in(target, rank, place + i))
            return false;
    }
    return true;
}

/* Where a thread's block of this round is: those of all threads lie side by side. */
static MPI_Offset place_of(const target_t *target, int thread, int round)
{
    int turn = target->is_strided ? round : round * size + rank;
    return (MPI_Offset)(turn * THREADS + thread) * BLOCK;
}

/* Whether the blocks of all threads of these rounds are in the file, past MPI. Collective. */
static bool is_complete(const target_t *target, int rounds)
{
    size_t bytes = (size_t)rounds * size * THREADS * BLOCK, each = bytes / (size_t)size;
    size_t room = target->is_strided ? (each / PIECE + 1) * PIECE * (size_t)size : bytes;
    unsigned char *data = calloc(room, 1);
    sync_all(target->file);
    set_path(target->name);
    bool is_right = read_path(0, data, room) > 0;
    for (size_t i = 0; i < room; i++) {
        size_t piece = i / PIECE, of = piece % (size_t)size;
        size_t place = target->is_strided ? piece / (size_t)size * PIECE + i % PIECE : i;
        if (place < each || !target->is_strided)
            is_right &= data[i] == byte_in(target, (int)of, place);
    }
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
    return is_right;
}

/* -- what a thread does ------------------------------------------------------------------------ */

static void use_blocks(const target_t *target, int thread)
{
    unsigned char out[BLOCK], in[BLOCK];
    MPI_Status status;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Offset place = place_of(target, thread, round);
        fill(target, out, (uint64_t)place, BLOCK);
        memset(in, 0, BLOCK);
        DO(MPI_File_write_at(target->file, place, out, BLOCK, MPI_BYTE, &status));
        expect(count_in(&status, MPI_BYTE) == BLOCK);
        DO(MPI_File_read_at(target->file, place, in, BLOCK, MPI_BYTE, &status));
        expect(count_in(&status, MPI_BYTE) == BLOCK && memcmp(in, out, BLOCK) == 0);
    }
}

static void use_plain(int thread)
{
    use_blocks(&plain, thread);
}

static void use_strided(int thread)
{
    use_blocks(&strided, thread);
}

/* Both, one request of each at once. */
static void use_both(int thread)
{
    const target_t *targets[] = {&plain, &strided};
    unsigned char out[2][BLOCK], in[2][BLOCK];
    MPI_Request requests[2];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Offset place[2];
        for (int i = 0; i < 2; i++) {
            place[i] = place_of(targets[i], thread, round);
            fill(targets[i], out[i], (uint64_t)place[i], BLOCK);
            DO(MPI_File_iwrite_at(targets[i]->file, place[i], out[i], BLOCK, MPI_BYTE,
                                  &requests[i]));
        }
        DO(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 2; i++)
            DO(MPI_File_iread_at(targets[i]->file, place[i], in[i], BLOCK, MPI_BYTE, &requests[i]));
        DO(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        expect(memcmp(in, out, sizeof in) == 0);
    }
}

/* -- requests that another thread completes ---------------------------------------------------- */

/* Between a thread that begins and one that waits; the counts are of all steps so far. */
typedef struct exchange {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int begun, done;
    MPI_Request requests[OPEN];
    unsigned char data[OPEN][BLOCK];
} exchange_t;

static exchange_t exchanges[THREADS / 2] = {
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
};

/* Blocks of two threads are written and read in either file: steps of a pair of threads. */
enum { STEPS = 2 * ROUNDS, ALL_STEPS = 4 * STEPS };

static const target_t *target_of(int step)
{
    return step < 2 * STEPS ? &plain : &strided;
}

static MPI_Offset place_at(int step, int pair)
{
    return place_of(target_of(step), 2 * pair + step % 2, step % STEPS / 2);
}

static void await(exchange_t *exchange, const int *number, int at_least)
{
    pthread_mutex_lock(&exchange->lock);
    while (*number < at_least)
        pthread_cond_wait(&exchange->changed, &exchange->lock);
    pthread_mutex_unlock(&exchange->lock);
}

static void count_up(exchange_t *exchange, int *number)
{
    pthread_mutex_lock(&exchange->lock);
    ++*number;
    pthread_cond_signal(&exchange->changed);
    pthread_mutex_unlock(&exchange->lock);
}

static void begin_for_other(exchange_t *exchange, int pair)
{
    for (int step = 0; step < ALL_STEPS; step++) {
        const target_t *target = target_of(step);
        unsigned char *data = exchange->data[step % OPEN];
        MPI_Request *request = &exchange->requests[step % OPEN];
        MPI_Offset place = place_at(step, pair);
        /* All is written before it is read. */
        await(exchange, &exchange->done, step % STEPS == 0 ? step : step - OPEN + 1);
        memset(data, 0, BLOCK);
        if (step / STEPS % 2 == 0) {
            fill(target, data, (uint64_t)place, BLOCK);
            DO(MPI_File_iwrite_at(target->file, place, data, BLOCK, MPI_BYTE, request));
        } else {
            DO(MPI_File_iread_at(target->file, place, data, BLOCK, MPI_BYTE, request));
        }
        count_up(exchange, &exchange->begun);
    }
}

static void complete_for_other(exchange_t *exchange, int pair)
{
    for (int step = 0; step < ALL_STEPS; step++) {
        MPI_Request *request = &exchange->requests[step % OPEN];
        MPI_Status status;
        int is_done = 0, index;
        await(exchange, &exchange->begun, step + 1);
        if (step % 3 == 0)
            DO(MPI_Wait(request, &status));
        else if (step % 3 == 1)
            DO(MPI_Waitany(1, request, &index, &status));
        while (step % 3 == 2 && !is_done) {
            DO(MPI_Test(request, &is_done, &status));
            sched_yield();
        }
        expect(count_in(&status, MPI_BYTE) == BLOCK);
        expect(is_filled(target_of(step), exchange->data[step % OPEN],
                         (uint64_t)place_at(step, pair), BLOCK));
        count_up(exchange, &exchange->done);
    }
}

static void pass_requests(int thread)
{
    exchange_t *exchange = &exchanges[thread / 2];
    if (thread % 2 == 0)
        begin_for_other(exchange, thread / 2);
    else
        complete_for_other(exchange, thread / 2);
}

/* -- pointers ---------------------------------------------------------------------------------- */

/* Records say who has written them: each is somewhere, whole, and once. */
static atomic_int seen[16 * THREADS * ROUNDS];

static void fill_record(unsigned char *record, int of, int thread, int round)
{
    int number = (of * THREADS + thread) * ROUNDS + round;
    memcpy(record, &number, sizeof number);
    for (size_t i = sizeof number; i < RECORD; i++)
        record[i] = byte_of(i, (uint64_t)number);
}

static void note_record(const unsigned char *record)
{
    unsigned char expected[RECORD];
    int number;
    memcpy(&number, record, sizeof number);
    bool is_one = number >= 0 && number < size * THREADS * ROUNDS;
    if (is_one) {
        fill_record(expected, 0, 0, number);
        is_one = memcmp(record, expected, RECORD) == 0;
        atomic_fetch_add(&seen[number], 1);
    }
    expect(is_one);
}

/* By blocking calls and by requests in turn. */
static void move_record(bool is_shared, bool is_write, int round, unsigned char *record)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const target_t *target = is_shared ? &plain : &strided;
    switch (4 * is_shared + 2 * is_write + round % 2) {
    case 0:
        DO(MPI_File_read(target->file, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
        break;
    case 1:
        DO(MPI_File_iread(target->file, record, RECORD, MPI_BYTE, &request));
        break;
    case 2:
        DO(MPI_File_write(target->file, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
        break;
    case 3:
        DO(MPI_File_iwrite(target->file, record, RECORD, MPI_BYTE, &request));
        break;
    case 4:
        DO(MPI_File_read_shared(target->file, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
        break;
    case 5:
        DO(MPI_File_iread_shared(target->file, record, RECORD, MPI_BYTE, &request));
        break;
    case 6:
        DO(MPI_File_write_shared(target->file, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
        break;
    default:
        DO(MPI_File_iwrite_shared(target->file, record, RECORD, MPI_BYTE, &request));
    }
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void use_pointer(bool is_shared, bool is_write, int thread)
{
    unsigned char record[RECORD];
    for (int round = 0; round < ROUNDS; round++) {
        memset(record, 0xff, RECORD);
        if (is_write)
            fill_record(record, rank, thread, round);
        move_record(is_shared, is_write, round, record);
        if (!is_write)
            note_record(record);
    }
}

static void write_own(int thread)
{
    use_pointer(false, true, thread);
}

static void read_own(int thread)
{
    use_pointer(false, false, thread);
}

static void write_shared(int thread)
{
    use_pointer(true, true, thread);
}

static void read_shared(int thread)
{
    use_pointer(true, false, thread);
}

/* -- collectives beside independent accesses --------------------------------------------------- */

/* Of thread 0 of all ranks: every block by another routine. */
static void call_collectives(const target_t *target)
{
    unsigned char out[BLOCK], in[BLOCK];
    MPI_Request request;
    MPI_Offset bytes;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Offset place = place_of(target, 0, round);
        fill(target, out, (uint64_t)place, BLOCK);
        memset(in, 0, BLOCK);
        if (round % 3 == 0) {
            DO(MPI_File_write_at_all(target->file, place, out, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        } else if (round % 3 == 1) {
            DO(MPI_File_iwrite_at_all(target->file, place, out, BLOCK, MPI_BYTE, &request));
            DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            DO(MPI_File_write_at_all_begin(target->file, place, out, BLOCK, MPI_BYTE));
            DO(MPI_File_write_at_all_end(target->file, out, MPI_STATUS_IGNORE));
        }
        if (round % 4 == 0)
            DO(MPI_File_sync(target->file));
        DO(MPI_File_get_size(target->file, &bytes));
        DO(MPI_File_read_at_all(target->file, place, in, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        expect(bytes >= BLOCK && memcmp(in, out, BLOCK) == 0);
    }
}

static void mix_plain(int thread)
{
    if (thread == 0)
        call_collectives(&plain);
    else
        use_plain(thread);
}

static void mix_strided(int thread)
{
    if (thread == 0)
        call_collectives(&strided);
    else
        use_strided(thread);
}

/* -- atomic files ------------------------------------------------------------------------------ */

/* The pieces are far from each other, so that each is a transfer of its own. */
enum { FAR_PIECE = 8, FAR_STRIDE = 1 << 14, FAR_BYTES = 512 * FAR_PIECE };

static void set_far_view(void)
{
    MPI_Datatype piece, pieces;
    MPI_Type_contiguous(FAR_PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, FAR_STRIDE, &pieces);
    MPI_Type_commit(&pieces);
    TRY(MPI_File_set_view(plain.file, 0, MPI_BYTE, pieces, "native", MPI_INFO_NULL));
    MPI_Type_free(&piece);
    MPI_Type_free(&pieces);
}

/* One thread writes all bytes again and again, and the others read: what each of them gets is of
 * one write. Their parts overlap, and one ends while another goes on. */
static void use_atomic(int thread)
{
    unsigned char data[FAR_BYTES];
    for (int round = 0; round < 4 * ROUNDS; round++) {
        int from = thread * 16 * FAR_PIECE, bytes = FAR_BYTES - from;
        if (rank == size - 1 && thread == 0) {
            memset(data, round, FAR_BYTES);
            DO(MPI_File_write_at(plain.file, 0, data, FAR_BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
            continue;
        }
        memset(data, 0xff, FAR_BYTES);
        DO(MPI_File_read_at(plain.file, from, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        expect(memcmp(data, data + 1, (size_t)bytes - 1) == 0);
    }
}

/* -- all threads of all ranks ------------------------------------------------------------------ */

/* Returns whether all was right. */
static bool run(thread_work_fn_t *first, thread_work_fn_t *second)
{
    run_threads(THREADS, first, second);
    MPI_Barrier(MPI_COMM_WORLD);
    return atomic_exchange(&wrong, 0) == 0;
}

static void empty(void)
{
    TRY(MPI_File_set_size(plain.file, 0));
    TRY(MPI_File_set_size(strided.file, 0));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The threads fill a file, or both. */
static void check_filled(const char *what, void (*work)(int), bool has_plain, bool has_strided)
{
    empty();
    bool is_right = run(work, work);
    if (has_plain)
        is_right &= is_complete(&plain, ROUNDS);
    if (has_strided)
        is_right &= is_complete(&strided, ROUNDS);
    tap_check(is_right, "%d threads: %s", THREADS, what);
}

/* Every record that was written is read once: an own one by its rank, a shared one by any. */
static void check_pointer(bool is_shared)
{
    int records = size * THREADS * ROUNDS, *counts = malloc((size_t)records * sizeof *counts);
    empty();
    for (int i = 0; i < records; i++)
        atomic_store(&seen[i], 0);
    TRY(MPI_File_seek(strided.file, 0, MPI_SEEK_SET));
    TRY(MPI_File_seek_shared(plain.file, 0, MPI_SEEK_SET));
    bool is_right = run(is_shared ? write_shared : write_own, is_shared ? write_shared : write_own);
    TRY(MPI_File_seek(strided.file, 0, MPI_SEEK_SET));
    TRY(MPI_File_seek_shared(plain.file, 0, MPI_SEEK_SET));
    is_right &= run(is_shared ? read_shared : read_own, is_shared ? read_shared : read_own);
    for (int i = 0; i < records; i++) {
        counts[i] = atomic_load(&seen[i]);
        is_right &= is_shared || counts[i] == (i / (THREADS * ROUNDS) == rank);
    }
    MPI_Allreduce(MPI_IN_PLACE, counts, records, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < records; i++)
        is_right &= counts[i] == 1;
    free(counts);
    tap_check(is_right, "%d threads: the %s pointer", THREADS, is_shared ? "shared" : "individual");
}

static void check_atomic(void)
{
    static const unsigned char zeros[FAR_BYTES];
    empty();
    set_far_view();
    TRY(MPI_File_set_atomicity(plain.file, true));
    TRY(MPI_File_write_at_all(plain.file, 0, zeros, FAR_BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    tap_check(run(use_atomic, use_atomic), "%d threads: an atomic file", THREADS);
}

int main(int argc, char **argv)
{
    int provided;
    begin_files_at(MPI_THREAD_MULTIPLE, &provided, &argc, &argv);
    tap_check(provided == MPI_THREAD_MULTIPLE, "the thread level is %d", provided);
    open_target(&plain, "plain", false);
    open_target(&strided, "strided", true);
    check_filled("blocks that touch each other", use_plain, true, false);
    check_filled("a strided view", use_strided, false, true);
    check_filled("two files at once", use_both, true, true);
    check_filled("requests that another thread completes", pass_requests, true, true);
    check_filled("collectives beside blocks", mix_plain, true, false);
    check_filled("collectives beside a strided view", mix_strided, false, true);
    check_pointer(false);
    check_pointer(true);
    check_atomic();
    TRY(MPI_File_close(&plain.file));
    TRY(MPI_File_close(&strided.file));
    MPI_Finalize();
    return tap_finish();
}
