/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A buffer that is being detached, and other threads. A message to oneself that nobody receives
 * yet keeps the detach waiting. Meanwhile a second detach, new messages and an attach are refused,
 * and a flush waits. Then the message is received as it was sent. For the buffer of the process and
 * for that of a communicator.
 */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { LONG = 1 << 20, TAG = 1, ROOM = 4 * LONG };

static MPI_Comm comm; /* MPI_COMM_NULL: it is about the process's buffer */
static sem_t has_returned;
static char detail_seen[256];

typedef struct detach {
    pthread_t thread;
    int error;
    void *memory;
    int bytes;
    bool is_over; /* behind has_returned */
} detach_t;

static void remember(MPI_Comm *of, int *error, ...)
{
    va_list rest;
    (void)of;
    va_start(rest, error);
    (void)va_arg(rest, const char *);
    const char *detail = va_arg(rest, const char *);
    snprintf(detail_seen, sizeof detail_seen, "%s", detail != NULL ? detail : "");
    va_end(rest);
}

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static int attach(void *memory)
{
    return comm == MPI_COMM_NULL ? MPI_Buffer_attach(memory, ROOM)
                                 : MPI_Comm_attach_buffer(comm, memory, ROOM);
}

static void *detach(void *argument)
{
    detach_t *detach = argument;
    detach->error = comm == MPI_COMM_NULL
                        ? MPI_Buffer_detach(&detach->memory, &detach->bytes)
                        : MPI_Comm_detach_buffer(comm, &detach->memory, &detach->bytes);
    detach->is_over = true;
    sem_post(&has_returned);
    return NULL;
}

static bool is_filled(const char *bytes, char value)
{
    for (int i = 0; i < LONG; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}

static void check(const char *what)
{
    char *memory = malloc(ROOM), *data = malloc(LONG);
    MPI_Comm way = comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm;
    MPI_Request flush;
    int flag = -1;
    detach_t detaches[2] = {0};
    attach(memory);
    memset(data, 'a', LONG);
    MPI_Bsend(data, LONG, MPI_CHAR, 0, TAG, way);
    for (int i = 0; i < 2; i++)
        pthread_create(&detaches[i].thread, NULL, detach, &detaches[i]);
    /* The other one waits from now on. */
    sem_wait(&has_returned);
    detach_t *refused = &detaches[detaches[0].is_over ? 0 : 1], *waiting = &detaches[0];
    waiting += refused == waiting;
    pthread_join(refused->thread, NULL);
    tap_check(class_of(refused->error) == MPI_ERR_BUFFER, "%s: of two detaches one is refused",
              what);
    memset(data, 'b', LONG);
    tap_check(class_of(MPI_Bsend(data, 10, MPI_CHAR, 0, TAG, way)) == MPI_ERR_BUFFER &&
                  strstr(detail_seen, "detaching") != NULL,
              "%s: a message is refused: %s", what, detail_seen);
    tap_check(class_of(attach(memory)) == MPI_ERR_BUFFER, "%s: another buffer, too", what);
    if (comm == MPI_COMM_NULL)
        MPI_Buffer_iflush(&flush);
    else
        MPI_Comm_iflush_buffer(comm, &flush);
    MPI_Test(&flush, &flag, MPI_STATUS_IGNORE);
    tap_check(flag == 0, "%s: a flush waits", what);
    MPI_Recv(data, LONG, MPI_CHAR, 0, TAG, way, MPI_STATUS_IGNORE);
    tap_check(is_filled(data, 'a'), "%s: the message is the one that was sent", what);
    MPI_Wait(&flush, MPI_STATUS_IGNORE);
    pthread_join(waiting->thread, NULL);
    sem_wait(&has_returned);
    tap_check(waiting->error == MPI_SUCCESS && waiting->memory == memory && waiting->bytes == ROOM,
              "%s: and the buffer is given back", what);
    memset(memory, 0xff, ROOM);
    tap_check(attach(memory) == MPI_SUCCESS, "%s: it can be attached again", what);
    waiting->memory = NULL;
    detach(waiting);
    sem_wait(&has_returned);
    tap_check(waiting->memory == memory, "%s: and detached", what);
    free(memory);
    free(data);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Errhandler handler;
    sem_init(&has_returned, 0, 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    tap_rank(0);
    MPI_Comm_create_errhandler(remember, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    comm = MPI_COMM_NULL;
    check("the process's buffer");
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    check("a communicator's");
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return tap_finish();
}
