/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job that meets another one: connect server|client FOLDER ROUNDS [WHAT]. The name of the port is
 * in a file of the folder. WHAT is what all do with each other when the server's last rank is
 * killed, and what the client gets an error of: `receive` or a name in `steps`.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BIG = 1 << 20, THREADS = 4, DEATH = 5 }; /* the step that one rank does not live to end */

static int rank, size, faults;
static int is_server, is_last;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s %d: %s\n", is_server ? "server" : "client", rank, what);
    faults++;
}

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

/* Over a FIFO, which both ends wait for. */
static void pass_name(const char *folder, char port[MPI_MAX_PORT_NAME])
{
    char path[512];
    snprintf(path, sizeof path, "%s/port", folder);
    FILE *file = fopen(path, is_server ? "w" : "r");
    if (is_server)
        fprintf(file, "%s\n", port);
    else
        check(fgets(port, MPI_MAX_PORT_NAME, file) != NULL, "no name");
    port[strcspn(port, "\n")] = 0;
    fclose(file);
}

/* -- steps that all processes of both jobs do together, each of which returns an MPI error code --
 */

typedef struct step_state {
    MPI_Comm merged, own[THREADS];
    MPI_Win win;
    int rank, ranks;
    unsigned char *memory; /* of the window, BIG bytes */
} step_state_t;

static int first_error(int count, const MPI_Status statuses[])
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < count && error == MPI_SUCCESS; i++)
        error = statuses[i].MPI_ERROR;
    return error;
}

/* Long messages between all, in both directions at once. */
static int exchange(MPI_Comm comm, const step_state_t *state, bool is_killed)
{
    MPI_Request requests[2 * state->ranks];
    MPI_Status statuses[2 * state->ranks];
    size_t each = BIG / 4;
    unsigned char *out = malloc(each), *in = malloc(each * (size_t)state->ranks);
    memset(out, state->rank + 1, each);
    for (int i = 0; i < state->ranks; i++) {
        MPI_Irecv(in + (size_t)i * each, (int)each, MPI_BYTE, i, 0, comm, &requests[2 * i]);
        MPI_Isend(out, (int)each, MPI_BYTE, i, 0, comm, &requests[2 * i + 1]);
    }
    if (is_killed)
        raise(SIGKILL);
    int error = MPI_Waitall(2 * state->ranks, requests, statuses);
    if (error != MPI_SUCCESS)
        error = first_error(2 * state->ranks, statuses);
    for (int i = 0; i < state->ranks && error == MPI_SUCCESS; i++)
        check(in[(size_t)i * each] == i + 1 && in[(size_t)(i + 1) * each - 1] == i + 1,
              "a large message");
    free(out);
    free(in);
    return error;
}

static int step_large(const step_state_t *state, bool is_killed)
{
    return exchange(state->merged, state, is_killed);
}

static int step_collective(const step_state_t *state, bool is_killed)
{
    enum { COUNT = 20000 };
    static int in[COUNT], out[COUNT];
    in[COUNT - 1] = state->rank;
    if (is_killed)
        raise(SIGKILL);
    int error = MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, state->merged);
    check(error != MPI_SUCCESS || out[COUNT - 1] == state->ranks * (state->ranks - 1) / 2,
          "a large sum");
    return error;
}

static int step_fence(const step_state_t *state, bool is_killed)
{
    static unsigned char out[BIG];
    int next = (state->rank + 1) % state->ranks, error;
    memset(out, state->rank + 1, BIG);
    error = MPI_Put(out, BIG, MPI_BYTE, next, 0, BIG, MPI_BYTE, state->win);
    if (is_killed)
        raise(SIGKILL);
    int fence = MPI_Win_fence(0, state->win);
    return error != MPI_SUCCESS ? error : fence;
}

static int step_lock(const step_state_t *state, bool is_killed)
{
    static unsigned char in[BIG];
    int error = MPI_SUCCESS;
    for (int i = 0; i < state->ranks && error == MPI_SUCCESS; i++) {
        error = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, i, 0, state->win);
        if (is_killed)
            raise(SIGKILL);
        if (error == MPI_SUCCESS)
            error = MPI_Get(in, BIG, MPI_BYTE, i, 0, BIG, MPI_BYTE, state->win);
        if (error == MPI_SUCCESS)
            error = MPI_Win_unlock(i, state->win);
    }
    return error;
}

typedef struct task {
    pthread_t thread;
    const step_state_t *state;
    int number, error;
    bool is_killed;
} task_t;

static void *run_task(void *argument)
{
    task_t *task = argument;
    task->error = exchange(task->state->own[task->number], task->state, task->is_killed);
    return NULL;
}

static int step_threads(const step_state_t *state, bool is_killed)
{
    task_t tasks[THREADS];
    int error = MPI_SUCCESS;
    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (task_t){.state = state, .number = i, .is_killed = is_killed && i == 1};
        pthread_create(&tasks[i].thread, NULL, run_task, &tasks[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(tasks[i].thread, NULL);
        if (tasks[i].error != MPI_SUCCESS)
            error = tasks[i].error;
    }
    return error;
}

static const struct {
    const char *name;
    int (*run)(const step_state_t *state, bool is_killed);
} steps[] = {{"large", step_large},
             {"collective", step_collective},
             {"fence", step_fence},
             {"lock", step_lock},
             {"threads", step_threads}};

static void begin_steps(MPI_Comm inter, step_state_t *state)
{
    MPI_Intercomm_merge(inter, is_server, &state->merged);
    MPI_Comm_rank(state->merged, &state->rank);
    MPI_Comm_size(state->merged, &state->ranks);
    MPI_Comm_set_errhandler(state->merged, MPI_ERRORS_RETURN);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(state->merged, &state->own[i]);
    MPI_Win_allocate(BIG, 1, MPI_INFO_NULL, state->merged, &state->memory, &state->win);
    MPI_Win_set_errhandler(state->win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, state->win);
}

static void end_steps(step_state_t *state)
{
    MPI_Win_free(&state->win);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&state->own[i]);
    MPI_Comm_free(&state->merged);
}

/* All of them. */
static void use_much(MPI_Comm inter)
{
    step_state_t state;
    begin_steps(inter, &state);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (int round = 0; round < 3; round++)
            check(steps[i].run(&state, false) == MPI_SUCCESS, steps[i].name);
        MPI_Barrier(state.merged);
    }
    end_steps(&state);
}

/* One of them, until the server's last rank dies. A rank that does not see that itself, but hears
 * of an error in a collective of one that does, has MPI_ERR_TRUNCATE first. */
static void die_in_step(MPI_Comm inter, const char *name)
{
    step_state_t state;
    begin_steps(inter, &state);
    bool is_victim = is_server && is_last;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(steps[i].name, name) != 0)
            continue;
        int class = MPI_SUCCESS;
        for (int round = 0; class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE; round++)
            class = class_of(steps[i].run(&state, is_victim && round == DEATH));
        check(class == MPI_ERR_PROC_ABORTED, "the error of a step");
    }
}

static void use(MPI_Comm inter)
{
    MPI_Comm merged, part;
    int remote, all, sum = 0, ranks, shared;
    MPI_Win win;
    int *memory, value;
    MPI_Comm_remote_size(inter, &remote);
    for (int peer = 0; peer < remote; peer++) {
        int mine = 100 * is_server + rank, theirs = -1;
        MPI_Sendrecv(&mine, 1, MPI_INT, peer, 0, &theirs, 1, MPI_INT, peer, 0, inter,
                     MPI_STATUS_IGNORE);
        check(theirs == 100 * !is_server + peer, "another message was expected");
    }
    MPI_Intercomm_merge(inter, is_server, &merged);
    MPI_Comm_rank(merged, &all);
    MPI_Comm_size(merged, &ranks);
    check(ranks == size + remote, "size of both");
    MPI_Allreduce(&all, &sum, 1, MPI_INT, MPI_SUM, merged);
    check(sum == ranks * (ranks - 1) / 2, "sum of both");
    MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    MPI_Comm_size(part, &shared);
    check(shared == size, "each job shares memory");
    MPI_Comm_free(&part);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, merged, &memory, &win);
    *memory = -1;
    MPI_Win_fence(0, win);
    MPI_Put(&all, 1, MPI_INT, (all + 1) % ranks, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    value = *memory;
    check(value == (all + ranks - 1) % ranks, "what was put");
    MPI_Win_free(&win);
    MPI_Comm_free(&merged);
}

static void die_or_see(MPI_Comm inter)
{
    int value = 0;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Barrier(inter);
    if (is_server && is_last) {
        raise(SIGKILL);
    } else if (!is_server) {
        int remote;
        MPI_Comm_remote_size(inter, &remote);
        int code = MPI_Recv(&value, 1, MPI_INT, remote - 1, 0, inter, MPI_STATUS_IGNORE);
        check(class_of(code) == MPI_ERR_PROC_ABORTED, "a receive from the dead");
        code = MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, inter, MPI_STATUS_IGNORE);
        check(code != MPI_SUCCESS, "a receive from any");
        code = MPI_Bcast(&value, 1, MPI_INT, remote - 1, inter);
        check(code != MPI_SUCCESS, "a broadcast of the dead");
    }
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_server = strcmp(argv[1], "server") == 0;
    is_last = rank == size - 1;
    if (rank == 0 && is_server)
        MPI_Open_port(MPI_INFO_NULL, port);
    if (rank == 0)
        pass_name(argv[2], port);
    for (int round = 0; round < atoi(argv[3]); round++) {
        MPI_Comm inter;
        if (is_server)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        use(inter);
        if (round == 0)
            use_much(inter);
        if (argc > 4 && strcmp(argv[4], "receive") == 0)
            die_or_see(inter);
        else if (argc > 4)
            die_in_step(inter, argv[4]);
        else
            MPI_Comm_disconnect(&inter);
    }
    if (!is_server && faults == 0 && rank == 0)
        printf("the jobs have met\n");
    MPI_Finalize();
    return faults > 0;
}
