/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE under random traffic: 8 threads of each rank, and one that completes their
 * generalized requests. The threads of one number, on all ranks, draw the same numbers and so do
 * the same steps; how a rank sends, receives and waits it draws for itself. Each number has a
 * communicator of its own, and all share one, where the tag is the number.
 *
 *   thread_stress SEED SECONDS     laps of STEPS steps a thread, until the time is over
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum {
    THREADS = 8,
    STEPS = 60,
    LARGEST = 60000, /* ints */
    SMALL = 40,
    BURST = 24,
    STEP_TAG = 1000,
    UNWANTED_TAG = 100, /* and the number: nobody receives it */
    MARK = 4,           /* ints at the beginning of a message */
};

typedef struct player {
    int number;
    unsigned common, mine; /* states of random numbers: alike on all ranks, and ours */
    unsigned step;
    MPI_Comm own;
    int *out, *in;
    pthread_t thread;
} player_t;

static int rank, size;
static MPI_Comm shared;
static player_t players[THREADS];
static atomic_int wrong, steps_done;

static int draw(unsigned *state, int bound)
{
    return (int)((unsigned)rand_r(state) % (unsigned)bound);
}

static void expect(bool holds, const player_t *player, const char *what)
{
    if (!holds && atomic_fetch_add(&wrong, 1) < 5)
        fprintf(stderr, "rank %d, thread %d, step %u: %s\n", rank, player->number, player->step,
                what);
}

/* -- data ----------------------------------------------------------------------------- */

static int value_at(const player_t *player, int sender, int i)
{
    return (int)(player->step * 2654435761u) ^ sender << 24 ^ player->number << 28 ^ i;
}

static void fill(player_t *player, int length)
{
    for (int i = 0; i < length; i++)
        player->out[i] = value_at(player, rank, i);
}

static void look(const player_t *player, const int *data, int sender, int length, const char *what)
{
    bool same = true;
    for (int i = 0; i < length; i++)
        same &= data[i] == value_at(player, sender, i);
    expect(same, player, what);
}

/* -- ways to send, to receive and to wait ---------------------------------------------- */

static void begin_send(player_t *player, int length, int to, int tag, MPI_Comm comm,
                       MPI_Request *request)
{
    switch (draw(&player->mine, 4)) {
    case 0:
        MPI_Issend(player->out, length, MPI_INT, to, tag, comm, request);
        break;
    case 1:
        if (length <= SMALL) {
            MPI_Bsend(player->out, length, MPI_INT, to, tag, comm);
            *request = MPI_REQUEST_NULL;
            break;
        }
        /* fall through */
    default:
        MPI_Isend(player->out, length, MPI_INT, to, tag, comm, request);
    }
}

static void begin_receive(player_t *player, int from, MPI_Comm comm, MPI_Request *request)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag = 0;
    switch (draw(&player->mine, 4)) {
    case 0:
        MPI_Mprobe(from, player->number, comm, &message, MPI_STATUS_IGNORE);
        break;
    case 1:
        while (!flag) {
            MPI_Improbe(from, player->number, comm, &flag, &message, MPI_STATUS_IGNORE);
            if (!flag)
                sched_yield();
        }
        break;
    case 2:
        MPI_Probe(from, player->number, comm, MPI_STATUS_IGNORE);
        break;
    default:
        break;
    }
    if (message != MPI_MESSAGE_NULL)
        MPI_Imrecv(player->in, LARGEST, MPI_INT, &message, request);
    else
        MPI_Irecv(player->in, LARGEST, MPI_INT, from, player->number, comm, request);
}

/* Waits for all, each of which is told once. */
static void finish(player_t *player, int count, MPI_Request *requests, MPI_Status *statuses)
{
    int way = draw(&player->mine, 5), flag = 0, left = 0, index, some, indices[2 * BURST];
    MPI_Status done[2 * BURST];
    for (int i = 0; i < count; i++)
        left += requests[i] != MPI_REQUEST_NULL;
    if (way == 0)
        MPI_Waitall(count, requests, statuses);
    while (way == 1 && !flag) {
        MPI_Testall(count, requests, &flag, statuses);
        if (!flag)
            sched_yield();
    }
    for (int i = 0; way == 2 && i < count; i++)
        MPI_Wait(&requests[i], &statuses[i]);
    while (way >= 3 && left > 0) {
        if (way == 3) {
            some = 1;
            MPI_Waitany(count, requests, &index, &done[0]);
            indices[0] = index;
        } else {
            MPI_Testsome(count, requests, &some, indices, done);
            if (some == 0)
                sched_yield();
        }
        for (int i = 0; i < some; i++)
            statuses[indices[i]] = done[i];
        left -= some;
    }
    for (int i = 0; i < count; i++)
        expect(requests[i] == MPI_REQUEST_NULL, player, "a request is left");
}

/* -- steps ------------------------------------------------------------------------------ */

static void exchange(player_t *player)
{
    MPI_Comm comm = draw(&player->common, 2) ? player->own : shared;
    int length = 1 + draw(&player->common, draw(&player->common, 8) ? SMALL * 10 : LARGEST);
    int shift = draw(&player->common, size);
    int from = (rank + size - shift) % size, count;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(player, length);
    if (draw(&player->mine, 2)) {
        MPI_Irecv(player->in, LARGEST, MPI_INT, from, player->number, comm, &requests[1]);
        begin_send(player, length, (rank + shift) % size, player->number, comm, &requests[0]);
    } else {
        begin_send(player, length, (rank + shift) % size, player->number, comm, &requests[0]);
        begin_receive(player, from, comm, &requests[1]);
    }
    finish(player, 2, requests, statuses);
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    expect(count == length && statuses[1].MPI_SOURCE == from &&
               statuses[1].MPI_TAG == player->number,
           player, "the status of an exchange");
    look(player, player->in, from, length, "the data of an exchange");
}

/* Everybody to one, who takes them from any source. */
static void gather_from_any(player_t *player)
{
    int root = draw(&player->common, size), length = MARK + draw(&player->common, SMALL);
    int tag = STEP_TAG + (int)player->step; /* those of the next step may be here already */
    bool seen[64] = {false};
    MPI_Request request;
    MPI_Status status;
    fill(player, length);
    begin_send(player, length, root, tag, player->own, &request);
    for (int i = 0; rank == root && i < size; i++) {
        MPI_Recv(player->in, LARGEST, MPI_INT, MPI_ANY_SOURCE, tag, player->own, &status);
        expect(status.MPI_TAG == tag && !seen[status.MPI_SOURCE], player, "a source comes once");
        seen[status.MPI_SOURCE] = true;
        look(player, player->in, status.MPI_SOURCE, length, "the data from any source");
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Many short ones, which arrive in order. */
static void burst(player_t *player)
{
    int shift = draw(&player->common, size), from = (rank + size - shift) % size;
    MPI_Comm comm = draw(&player->common, 2) ? player->own : shared;
    MPI_Request requests[2 * BURST];
    MPI_Status statuses[2 * BURST];
    fill(player, BURST * MARK);
    for (int i = 0; i < BURST; i++) {
        MPI_Irecv(player->in + (size_t)i * MARK, MARK, MPI_INT, from, player->number, comm,
                  &requests[i]);
        MPI_Isend(player->out + (size_t)i * MARK, MARK, MPI_INT, (rank + shift) % size,
                  player->number, comm, &requests[BURST + i]);
    }
    finish(player, 2 * BURST, requests, statuses);
    look(player, player->in, from, BURST * MARK, "the order of a burst");
}

static void to_self(player_t *player)
{
    int length = 1 + draw(&player->mine, draw(&player->mine, 4) ? SMALL : LARGEST);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(player, length);
    MPI_Irecv(player->in, LARGEST, MPI_INT, 0, player->number, MPI_COMM_SELF, &requests[0]);
    begin_send(player, length, 0, player->number, MPI_COMM_SELF, &requests[1]);
    finish(player, 2, requests, statuses);
    look(player, player->in, rank, length, "the data to ourselves");
}

/* A receive that nobody sends to, and a send that nobody takes. */
static void cancel(player_t *player)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int is_cancelled[2];
    int tag = UNWANTED_TAG + player->number, to = (rank + 1) % size;
    MPI_Irecv(player->in, 1, MPI_INT, MPI_ANY_SOURCE, 2 * tag, player->own, &requests[0]);
    MPI_Issend(player->out, 1, MPI_INT, to, tag, player->own, &requests[1]);
    for (int i = 0; i < 2; i++)
        MPI_Cancel(&requests[i]);
    finish(player, 2, requests, statuses);
    for (int i = 0; i < 2; i++) {
        MPI_Test_cancelled(&statuses[i], &is_cancelled[i]);
        expect(is_cancelled[i], player, i == 0 ? "a receive is cancelled" : "a send is cancelled");
    }
}

static void collective(player_t *player)
{
    int way = draw(&player->common, 6), root = draw(&player->common, size);
    int length = 1 + draw(&player->common, draw(&player->common, 4) ? SMALL : 4000), sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    fill(player, length);
    switch (way) {
    case 0:
        MPI_Barrier(player->own);
        return;
    case 1:
        if (rank == root)
            memcpy(player->in, player->out, (size_t)length * sizeof(int));
        MPI_Bcast(player->in, length, MPI_INT, root, player->own);
        look(player, player->in, root, length, "the data of a broadcast");
        return;
    case 2:
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, player->own);
        break;
    case 3:
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, player->own, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        if (way == 4)
            MPI_Allgather(player->out, length, MPI_INT, player->in, length, MPI_INT, player->own);
        else
            MPI_Iallgather(player->out, length, MPI_INT, player->in, length, MPI_INT, player->own,
                           &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < size; i++)
            look(player, player->in + (size_t)i * (size_t)length, i, length, "what was gathered");
        return;
    }
    expect(sum == size * (size - 1) / 2, player, "the sum of all ranks");
}

/* A communicator for one message and one collective. */
static void visit(player_t *player)
{
    MPI_Comm comm;
    MPI_Request request;
    int to = (rank + 1) % size, from = (rank + size - 1) % size, got = -1, key = rank;
    switch (draw(&player->common, 3)) {
    case 0:
        MPI_Comm_dup(player->own, &comm);
        break;
    case 1:
        MPI_Comm_idup(player->own, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Comm_split(player->own, 0, key, &comm);
    }
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                 MPI_STATUS_IGNORE);
    expect(got == from, player, "a message in a new communicator");
    MPI_Bcast(&key, 1, MPI_INT, size - 1, comm);
    expect(key == size - 1, player, "a broadcast in a new communicator");
    MPI_Comm_free(&comm);
}

/* -- generalized requests --------------------------------------------------------------- */

/* What the threads have begun, and the one that completes it takes; one a thread. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    MPI_Request begun[THREADS];
    int count;
    bool is_over;
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int query(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = rank;
    status->MPI_TAG = *(int *)state;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    *(int *)state = -1;
    return MPI_SUCCESS;
}

static int ignore_cancel(void *state, int is_complete)
{
    (void)state;
    (void)is_complete;
    return MPI_SUCCESS;
}

static void *complete_all(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&desk.lock);
    while (!desk.is_over || desk.count > 0) {
        if (desk.count == 0) {
            pthread_cond_wait(&desk.changed, &desk.lock);
            continue;
        }
        MPI_Request request = desk.begun[--desk.count];
        pthread_mutex_unlock(&desk.lock);
        MPI_Grequest_complete(request);
        pthread_mutex_lock(&desk.lock);
    }
    pthread_mutex_unlock(&desk.lock);
    return NULL;
}

static void generalized(player_t *player)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int state = player->number, count;
    MPI_Grequest_start(query, release, ignore_cancel, &state, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    pthread_mutex_lock(&desk.lock);
    desk.begun[desk.count++] = requests[0];
    pthread_cond_signal(&desk.changed);
    pthread_mutex_unlock(&desk.lock);
    finish(player, 2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    expect(state == -1 && count == player->number && statuses[0].MPI_SOURCE == rank, player,
           "a generalized request");
}

/* -- laps ------------------------------------------------------------------------------- */

static void *play(void *argument)
{
    static void (*const steps[])(player_t *) = {exchange, exchange,   exchange,   gather_from_any,
                                                burst,    burst,      to_self,    cancel,
                                                visit,    collective, collective, generalized};
    player_t *player = argument;
    for (int i = 0; i < STEPS; i++) {
        player->step++;
        steps[draw(&player->common, sizeof steps / sizeof *steps)](player);
        atomic_fetch_add(&steps_done, 1);
    }
    return NULL;
}

static void lap(void)
{
    pthread_t completer;
    desk.is_over = false;
    pthread_create(&completer, NULL, complete_all, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&players[i].thread, NULL, play, &players[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(players[i].thread, NULL);
    pthread_mutex_lock(&desk.lock);
    desk.is_over = true;
    pthread_cond_signal(&desk.changed);
    pthread_mutex_unlock(&desk.lock);
    pthread_join(completer, NULL);
}

static void prepare(unsigned seed)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (int i = 0; i < THREADS; i++) {
        player_t *player = &players[i];
        player->number = i;
        player->common = seed + 977u * (unsigned)i;
        player->mine = seed + 977u * (unsigned)i + 7919u * (unsigned)(rank + 1);
        MPI_Comm_dup(MPI_COMM_WORLD, &player->own);
        player->out = calloc(LARGEST, sizeof(int));
        player->in = calloc(LARGEST, sizeof(int));
    }
}

static void clean_up(void)
{
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&players[i].own);
        free(players[i].out);
        free(players[i].in);
    }
    MPI_Comm_free(&shared);
}

int main(int argc, char **argv)
{
    static char bsends[1 << 20];
    int provided, is_over = 0, laps = 0, ignored;
    void *detached;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    double seconds = argc > 2 ? atof(argv[argc - 1]) : 1, begin = MPI_Wtime();
    MPI_Buffer_attach(bsends, sizeof bsends);
    prepare(argc > 2 ? (unsigned)atoi(argv[argc - 2]) : 1);
    for (; !is_over; laps++) {
        lap();
        is_over = MPI_Wtime() - begin >= seconds || atomic_load(&wrong) > 0;
        MPI_Allreduce(MPI_IN_PLACE, &is_over, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    }
    tap_check(atomic_load(&wrong) == 0, "%d threads, %d laps of %d steps: all data is right",
              THREADS, laps, STEPS);
    tap_check(atomic_load(&steps_done) == laps * THREADS * STEPS, "every step was made");
    clean_up();
    MPI_Buffer_detach(&detached, &ignored);
    MPI_Finalize();
    return tap_finish();
}
