/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files at MPI_THREAD_MULTIPLE: threads that use one file by requests, by its individual and shared
 * pointers, and collective calls of each thread on a file of its own. What the program frees
 * meanwhile: types, requests, and at the end the file.
 */
#include <pthread.h>

#include "file_tests.h"

enum { THREADS = 4, TURNS = 40, INTS = 64 };

typedef struct worker {
    pthread_t thread;
    int number;
    MPI_File file, own;
    int errors;
} worker_t;

static void expect(worker_t *worker, bool is_right)
{
    worker->errors += !is_right;
}

static int value_of(const worker_t *worker, int turn, int i)
{
    return ((rank * THREADS + worker->number) * TURNS + turn) * INTS + i;
}

/* Requests at offsets of this thread, with types and requests that are freed before they end. */
static void use_requests(worker_t *worker, int turn)
{
    MPI_Offset at = (MPI_Offset)value_of(worker, turn, 0) * (MPI_Offset)sizeof(int);
    int data[2 * INTS], back[2 * INTS] = {0};
    MPI_Datatype type;
    MPI_Request requests[2];
    for (int i = 0; i < INTS; i++)
        data[2 * i] = value_of(worker, turn, i);
    MPI_Type_vector(INTS, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_File_iwrite_at(worker->file, at, data, 1, type, &requests[0]);
    MPI_Type_free(&type);
    expect(worker, MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Type_vector(INTS, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_File_iread_at(worker->file, at, back, 1, type, &requests[0]);
    MPI_File_iwrite_at(worker->file, at, NULL, 0, type, &requests[1]);
    MPI_Request_free(&requests[1]);
    MPI_Type_free(&type);
    expect(worker, MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < INTS; i++)
        expect(worker, back[2 * i] == data[2 * i]);
}

/* Views, hints and pointers of a file of this thread and its peers. */
static void use_own(worker_t *worker, int turn)
{
    int data[INTS], back[INTS] = {0};
    MPI_Datatype type;
    MPI_Offset first = (MPI_Offset)rank * 4;
    for (int i = 0; i < INTS; i++)
        data[i] = value_of(worker, turn, i);
    MPI_Type_vector(INTS, 1, size, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(worker->own, first, MPI_INT, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
    MPI_File_write_all(worker->own, data, INTS, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(worker->own, 0, back, INTS, MPI_INT, MPI_STATUS_IGNORE);
    expect(worker, memcmp(data, back, sizeof data) == 0);
    MPI_File_write_ordered(worker->own, data, turn % 3, MPI_INT, MPI_STATUS_IGNORE);
}

/* The pointers of the file that all threads use: nobody gets the same place twice. */
static void use_pointers(worker_t *worker)
{
    MPI_Offset before = -1, after = -1;
    int data;
    MPI_File_get_position(worker->file, &before);
    MPI_File_read(worker->file, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_position(worker->file, &after);
    expect(worker, after > before);
    MPI_File_get_position_shared(worker->file, &before);
    MPI_File_read_shared(worker->file, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_position_shared(worker->file, &after);
    expect(worker, after > before);
}

/* A call that fails leaves its sentence to its own thread. */
static void fail_to_write(worker_t *worker, MPI_File full)
{
    MPI_Request request;
    int data = 1;
    MPI_Offset wrong = -1;
    expect(worker,
           MPI_File_iwrite_at(worker->file, wrong, &data, 1, MPI_INT, &request) != MPI_SUCCESS);
    if (full == MPI_FILE_NULL)
        return;
    MPI_File_iwrite_at(full, 0, &data, 1, MPI_INT, &request);
    expect(worker, class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_NO_SPACE);
    expect(worker, class_of(MPI_File_write_at(full, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
                       MPI_ERR_NO_SPACE);
}

static MPI_File full = MPI_FILE_NULL;

static void *work(void *given)
{
    worker_t *worker = given;
    for (int turn = 0; turn < TURNS; turn++) {
        use_requests(worker, turn);
        use_own(worker, turn);
        use_pointers(worker);
        fail_to_write(worker, full);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    worker_t workers[THREADS];
    MPI_Request request;
    int provided, data[INTS] = {0};
    MPI_Aint address;
    MPI_Datatype absolute;
    begin_files_at(MPI_THREAD_MULTIPLE, &provided, &argc, &argv);
    MPI_File file = open_new("data");
    tap_check(provided == MPI_THREAD_MULTIPLE, "threads may use MPI");
    if (MPI_File_open(MPI_COMM_SELF, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &full) !=
        MPI_SUCCESS)
        full = MPI_FILE_NULL;
    for (int i = 0; i < THREADS; i++) {
        char name[8] = {'t', (char)('0' + i)};
        workers[i] = (worker_t){.number = i, .file = file, .own = open_new(name)};
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        tap_check(workers[i].errors == 0, "thread %d: %d errors", i, workers[i].errors);
        TRY(MPI_File_close(&workers[i].own));
    }
    MPI_Get_address(data, &address);
    MPI_Type_create_hindexed_block(1, INTS, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    TRY(MPI_File_write_at_all(file, 0, MPI_BOTTOM, 1, absolute, MPI_STATUS_IGNORE));
    TRY(MPI_File_iwrite_at(file, 0, MPI_BOTTOM, 1, absolute, &request));
    MPI_Type_free(&absolute);
    TRY(MPI_Request_free(&request));
    TRY(MPI_File_close(&file));
    tap_check(file == MPI_FILE_NULL, "a file is closed whose last request was freed");
    if (full != MPI_FILE_NULL)
        TRY(MPI_File_close(&full));
    MPI_Finalize();
    return tap_finish();
}
