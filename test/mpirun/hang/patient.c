/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that are right, and wait long. See hang.h. */
#include "hang.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 7, END_TAG = 8 };

static void receive_from(int source)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_to(int dest, int tag)
{
    MPI_Send(&rank, 1, MPI_INT, dest, tag, MPI_COMM_WORLD);
}

/* -- one rank is busy, the other ones wait for it ---------------------------------------------- */

static void computes(void)
{
    if (rank == 0)
        compute_seconds(patience);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void sleeps(void)
{
    if (rank == 0)
        sleep_seconds(patience);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void others_receive(void)
{
    if (rank == 0)
        sleep_seconds(patience);
    for (int i = 1; i < size && rank == 0; i++)
        send_to(i, TAG);
    if (rank != 0)
        receive_from(0);
}

static void others_wait_for_a_large_send(void)
{
    if (rank == 0) {
        sleep_seconds(patience);
        MPI_Recv(large, LARGE_BYTES, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send(large, LARGE_BYTES, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
    }
}

static void nonblocking_barrier(void)
{
    MPI_Request request;
    if (rank == 0)
        compute_seconds(patience);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void reads_a_pipe(void)
{
    int ends[2];
    char byte;
    if (rank == 0 && pipe(ends) == 0) {
        if (fork() == 0) {
            sleep_seconds(patience);
            _exit(write(ends[1], "x", 1) != 1);
        }
        if (read(ends[0], &byte, 1) != 1)
            MPI_Abort(MPI_COMM_WORLD, 1);
        wait(NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void waits_for_a_child(void)
{
    if (rank == 0) {
        pid_t child = fork();
        if (child == 0) {
            sleep_seconds(patience);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void writes_a_file(void)
{
    if (rank == 0) {
        FILE *file = fopen("slow", "w");
        for (double end = MPI_Wtime() + patience; MPI_Wtime() < end;) {
            fputs("a line\n", file);
            fsync(fileno(file));
            sleep_seconds(0.001);
        }
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void file_alone(void)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "alone", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (rank == 0) {
        for (double end = MPI_Wtime() + patience; MPI_Wtime() < end;) {
            MPI_File_write_at(file, 0, large, LARGE_BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
            sleep_seconds(0.01);
        }
    }
    MPI_File_close(&file);
}

/* Joins between two ranks at a time, and the last rank computes. */
static void chain_behind_one(void)
{
    if (rank > 0)
        receive_from(rank - 1);
    else
        compute_seconds(patience);
    if (rank + 1 < size)
        send_to(rank + 1, TAG);
}

static void waits_for_any_or_all(void)
{
    MPI_Request requests[2];
    int values[2], index;
    if (rank == 0) {
        MPI_Irecv(&values[0], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&values[1], 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        send_to(1, TAG); /* rank 1 waits for it */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        receive_from(0);
        send_to(0, TAG);
    } else {
        sleep_seconds(patience);
        send_to(0, TAG);
    }
}

/* -- servers ------------------------------------------------------------------------------------
 */

static void serve(void (*await)(void))
{
    int value;
    for (int left = size - 1; left > 0;) {
        MPI_Status status;
        if (await != NULL)
            await();
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        left -= status.MPI_TAG == END_TAG;
    }
}

static void be_client(void)
{
    for (int i = 0; i < 3; i++) {
        compute_seconds(patience / 3);
        send_to(0, TAG);
    }
    send_to(0, END_TAG);
}

static void look_for_work(void)
{
    for (int flag = 0; !flag;) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(1000);
    }
}

static void poll_for_work(void)
{
    for (int flag = 0; !flag;)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void server_probes(void)
{
    if (rank == 0)
        serve(look_for_work);
    else
        be_client();
}

static void server_polls(void)
{
    if (rank == 0)
        serve(poll_for_work);
    else
        be_client();
}

static void server_receives(void)
{
    if (rank == 0)
        serve(NULL);
    else
        be_client();
}

/* -- tests beside a computation -----------------------------------------------------------------
 */

static void tests_beside_computing_peers(void)
{
    MPI_Request request;
    int value, flag = 0;
    if (rank == 0) {
        compute_seconds(patience);
        send_to(1, TAG);
        return;
    }
    if (rank > 1)
        return;
    MPI_Irecv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

/* The rank that computes looks at a request now and then, so that it makes progress. The other
 * ranks wait for what it computes, and not for what it looks at. */
static void computes_and_tests(void)
{
    MPI_Request request;
    int value, flag;
    if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
        for (double end = MPI_Wtime() + patience; MPI_Wtime() < end;) {
            compute_seconds(1e-4);
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
        send_to(1, TAG);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        receive_from(0);
        send_to(0, TAG);
    }
}

static void computes_long_and_probes(void)
{
    int flag;
    if (rank == 0) {
        for (int i = 0; i < 40; i++) {
            compute_seconds(patience / 40);
            MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* It has looked in vain for some time, and then computes. */
static void looks_then_computes(void)
{
    int flag;
    if (rank == 0) {
        for (double end = MPI_Wtime() + 0.3; MPI_Wtime() < end;)
            MPI_Iprobe(1, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        compute_seconds(patience);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void looks_then_sleeps(void)
{
    int flag;
    if (rank == 0) {
        for (double end = MPI_Wtime() + 0.3; MPI_Wtime() < end;)
            MPI_Iprobe(1, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        sleep_seconds(patience);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- everything moves ---------------------------------------------------------------------------
 */

static void short_messages(void)
{
    int go_on = 1;
    double end = MPI_Wtime() + patience;
    while (go_on) {
        go_on = rank > 0 || MPI_Wtime() < end;
        if (rank > 0)
            MPI_Recv(&go_on, 1, MPI_INT, rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank + 1 < size)
            MPI_Send(&go_on, 1, MPI_INT, rank + 1, TAG, MPI_COMM_WORLD);
    }
}

static void collectives_in_a_row(void)
{
    int go_on = 1;
    for (double end = MPI_Wtime() + patience; go_on;) {
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

static void slow_pipeline(void)
{
    for (int i = 0; i < 8; i++) {
        if (rank > 0)
            receive_from(rank - 1);
        sleep_seconds(patience / 8);
        if (rank + 1 < size)
            send_to(rank + 1, TAG);
    }
}

/* -- threads ------------------------------------------------------------------------------------
 */

static void *wait_for_the_end(void *unused)
{
    MPI_Recv(&size, 1, MPI_INT, rank, END_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return unused;
}

static void beside_a_helper(void (*work)(double))
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_the_end, NULL);
    work(patience);
    send_to(rank, END_TAG);
    pthread_join(thread, NULL);
}

static void helper_beside_computation(void)
{
    beside_a_helper(compute_seconds);
}

static void helper_beside_sleep(void)
{
    beside_a_helper(sleep_seconds);
}

/* A thread that has nothing to do with MPI wakes the main thread after a time. */
static void timed_wait(double seconds)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)seconds + 1;
    pthread_mutex_lock(&lock);
    while (pthread_cond_timedwait(&condition, &lock, &end) == 0)
        continue;
    pthread_mutex_unlock(&lock);
}

static void helper_beside_timed_wait(void)
{
    beside_a_helper(timed_wait);
}

static void *sleep_in_thread(void *unused)
{
    sleep_seconds(patience);
    return unused;
}

static MPI_Request generalized;

static void *complete_later(void *unused)
{
    sleep_seconds(patience);
    MPI_Grequest_complete(generalized);
    return unused;
}

static int query(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return state != NULL;
}

static int nothing(void *state)
{
    return state != NULL;
}

static int cancel(void *state, int is_complete)
{
    return state != NULL && is_complete;
}

static void generalized_request_of_a_thread(void)
{
    pthread_t thread;
    MPI_Grequest_start(query, nothing, cancel, NULL, &generalized);
    MPI_Request request = generalized;
    pthread_create(&thread, NULL, complete_later, NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

/* The main thread of rank 0 waits for a worker, without MPI; the worker sends afterwards. */
static void *send_later(void *unused)
{
    sleep_seconds(patience);
    for (int i = 1; i < size; i++)
        send_to(i, TAG);
    return unused;
}

static void thread_sends_later(void)
{
    pthread_t thread;
    if (rank == 0) {
        pthread_create(&thread, NULL, send_later, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        pthread_join(thread, NULL);
    } else {
        receive_from(0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void joins_a_worker(void)
{
    pthread_t thread;
    if (rank == 0) {
        pthread_create(&thread, NULL, sleep_in_thread, NULL);
        pthread_join(thread, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- windows ------------------------------------------------------------------------------------
 */

static void passive_target(void)
{
    int *memory, value = 1;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    if (rank == 0) {
        compute_seconds(patience);
    } else {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
}

static void lock_is_held_long(void)
{
    int *memory;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    if (rank == 0)
        sleep_seconds(patience);
    MPI_Win_unlock(0, window);
    MPI_Win_free(&window);
}

/* -- several jobs -------------------------------------------------------------------------------
 */

/* Ended by the test. */
static void accepts(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm client;
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &client);
}

/* Only one rank accepts; the other ones wait for a message of it. Ended by the test. */
static void one_accepts(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm client;
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &client);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void spawned_children_compute(void)
{
    char seconds[32], *arguments[] = {(char *)"spawned_children_compute", seconds, NULL};
    MPI_Comm parent, children;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        compute_seconds(patience);
        MPI_Barrier(parent);
        return;
    }
    snprintf(seconds, sizeof seconds, "%g", patience);
    MPI_Comm_spawn("./hang", arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Barrier(children);
}

static void child_that_has_not_called_init(void)
{
    char script[64];
    char *arguments[] = {(char *)"-c", script, NULL};
    MPI_Comm children;
    snprintf(script, sizeof script, "sleep %g; exec ./hang computes 0", patience);
    MPI_Comm_spawn("sh", arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
}

/* -- stopped ------------------------------------------------------------------------------------
 */

/* By a signal, as by Ctrl-Z of a user; a child lets it go on. */
static void is_stopped(void)
{
    if (rank == 0) {
        pid_t own = getpid();
        if (fork() == 0) {
            sleep_seconds(patience);
            kill(own, SIGCONT);
            _exit(0);
        }
        raise(SIGSTOP);
        wait(NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* By a debugger, while it waits in a call. */
static void is_held_by_a_debugger(void)
{
    pid_t own = getpid();
    if (rank == 0 && fork() == 0) {
        int status;
        if (ptrace(PTRACE_ATTACH, own, 0, 0) != 0)
            _exit(1);
        waitpid(own, &status, 0);
        sleep_seconds(patience);
        _exit(ptrace(PTRACE_DETACH, own, 0, 0) != 0);
    }
    if (rank == 0) {
        int status;
        wait(&status);
        if (status != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        send_to(1, TAG);
    }
    if (rank == 1)
        receive_from(0);
}

const hang_case_t patient_cases[] = {
    {"computes", computes, 0},
    {"sleeps", sleeps, 0},
    {"others_receive", others_receive, 0},
    {"others_wait_for_a_large_send", others_wait_for_a_large_send, 0},
    {"nonblocking_barrier", nonblocking_barrier, 0},
    {"reads_a_pipe", reads_a_pipe, 0},
    {"waits_for_a_child", waits_for_a_child, 0},
    {"writes_a_file", writes_a_file, 0},
    {"file_alone", file_alone, 0},
    {"chain_behind_one", chain_behind_one, 0},
    {"waits_for_any_or_all", waits_for_any_or_all, 0},
    {"server_probes", server_probes, 0},
    {"server_polls", server_polls, 0},
    {"server_receives", server_receives, 0},
    {"tests_beside_computing_peers", tests_beside_computing_peers, 0},
    {"computes_and_tests", computes_and_tests, 0},
    {"computes_long_and_probes", computes_long_and_probes, 0},
    {"looks_then_computes", looks_then_computes, 0},
    {"looks_then_sleeps", looks_then_sleeps, 0},
    {"short_messages", short_messages, 0},
    {"collectives_in_a_row", collectives_in_a_row, 0},
    {"slow_pipeline", slow_pipeline, 0},
    {"helper_beside_computation", helper_beside_computation, MPI_THREAD_MULTIPLE},
    {"helper_beside_sleep", helper_beside_sleep, MPI_THREAD_MULTIPLE},
    {"helper_beside_timed_wait", helper_beside_timed_wait, MPI_THREAD_MULTIPLE},
    {"generalized_request_of_a_thread", generalized_request_of_a_thread, MPI_THREAD_MULTIPLE},
    {"thread_sends_later", thread_sends_later, MPI_THREAD_MULTIPLE},
    {"joins_a_worker", joins_a_worker, 0},
    {"passive_target", passive_target, 0},
    {"lock_is_held_long", lock_is_held_long, 0},
    {"accepts", accepts, 0},
    {"one_accepts", one_accepts, 0},
    {"spawned_children_compute", spawned_children_compute, 0},
    {"child_that_has_not_called_init", child_that_has_not_called_init, 0},
    {"is_stopped", is_stopped, 0},
    {"is_held_by_a_debugger", is_held_by_a_debugger, 0},
    {0},
};
