/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE where matching is contested: threads that have a communicator of their own,
 * with messages of all lengths that must stay in order, whichever way each of them goes; threads
 * that receive from anybody on one communicator at a time; and next to them threads that probe,
 * that cancel, and that make and free communicators. All of them around the ring.
 *
 *   thread_matching            the above
 *   thread_matching death      ranks 2, 3 and so on seem to die (see peer_death.c) while threads of
 *                              rank 0 post receives from them, and others talk to rank 1
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "declare_dead.h"
#include "tap.h"

enum {
    LAPS = 150,
    BATCH = 24,
    LARGEST = 20000, /* ints */
    SHORT = 60,      /* likewise; what no transport waits with */
    WILD = 4000,
    PROBES = 1500,
    CANCELS = 3000,
    MAKES = 200,
    MAX_POSTED = 4000,
    NEVER = 7,
};

typedef struct player {
    pthread_t thread;
    void (*play)(struct player *player);
    int number;
    unsigned common, mine; /* states of random numbers: alike on all ranks, and ours */
    MPI_Comm comm;
} player_t;

static int rank, size, left, right;
static atomic_int wrong;

static void expect(bool holds, const player_t *player, const char *what)
{
    if (!holds && atomic_fetch_add(&wrong, 1) < 5)
        fprintf(stderr, "rank %d, thread %d: %s\n", rank, player->number, what);
}

static int draw(unsigned *state, int bound)
{
    return (int)((unsigned)rand_r(state) % (unsigned)bound);
}

/* In one frame, short and long; in parts; and left where it is until it is asked for. */
static int draw_length(unsigned *state)
{
    static const int most[] = {1, 8, 8, 100, 600, 2000, 2000, LARGEST};
    return 1 + draw(state, most[draw(state, 8)]);
}

/* -- in order, with a communicator of one's own ------------------------------------------ */

typedef struct batch {
    int lengths[BATCH];
    int *out[BATCH], *in[BATCH];
    MPI_Request sends[BATCH], receives[BATCH];
} batch_t;

static int value_at(int lap, int message, int i)
{
    return lap * 100003 + message * 1009 + i;
}

static void send_batch(player_t *player, batch_t *batch, int lap)
{
    for (int i = 0; i < BATCH; i++) {
        for (int j = 0; j < batch->lengths[i]; j++)
            batch->out[i][j] = value_at(lap, i, j);
        batch->sends[i] = MPI_REQUEST_NULL;
        if (batch->lengths[i] <= SHORT && draw(&player->mine, 2))
            MPI_Send(batch->out[i], batch->lengths[i], MPI_INT, right, 0, player->comm);
        else if (draw(&player->mine, 8) == 0)
            MPI_Issend(batch->out[i], batch->lengths[i], MPI_INT, right, 0, player->comm,
                       &batch->sends[i]);
        else
            MPI_Isend(batch->out[i], batch->lengths[i], MPI_INT, right, 0, player->comm,
                      &batch->sends[i]);
    }
}

static void post_batch(player_t *player, batch_t *batch)
{
    for (int i = 0; i < BATCH; i++)
        MPI_Irecv(batch->in[i], LARGEST + 1, MPI_INT,
                  draw(&player->mine, 2) ? left : MPI_ANY_SOURCE,
                  draw(&player->mine, 2) ? 0 : MPI_ANY_TAG, player->comm, &batch->receives[i]);
}

static void wait_batch(player_t *player, MPI_Request *requests, MPI_Status *statuses)
{
    int way = draw(&player->mine, 4), flag = 0, index;
    if (way == 0)
        MPI_Waitall(BATCH, requests, statuses);
    while (way == 1 && !flag) {
        MPI_Testall(BATCH, requests, &flag, statuses);
        if (!flag)
            sched_yield();
    }
    for (int i = 0; way == 2 && i < BATCH; i++)
        MPI_Wait(&requests[BATCH - 1 - i], &statuses[BATCH - 1 - i]);
    for (int i = 0; way == 3 && i < BATCH; i++) {
        MPI_Status status;
        MPI_Waitany(BATCH, requests, &index, &status);
        if (index == MPI_UNDEFINED)
            break;
        statuses[index] = status;
    }
}

static void look_at_batch(const player_t *player, const batch_t *batch, const MPI_Status *statuses,
                          int lap)
{
    for (int i = 0; i < BATCH; i++) {
        int count;
        bool same = true;
        MPI_Get_count(&statuses[i], MPI_INT, &count);
        expect(count == batch->lengths[i], player, "a message has the length of its turn");
        for (int j = 0; j < batch->lengths[i]; j++)
            same &= batch->in[i][j] == value_at(lap, i, j);
        expect(same, player, "and its data");
    }
}

static void in_order(player_t *player)
{
    MPI_Status statuses[BATCH], ignored[BATCH];
    batch_t batch;
    for (int i = 0; i < BATCH; i++) {
        batch.out[i] = calloc(LARGEST + 1, sizeof(int));
        batch.in[i] = calloc(LARGEST + 1, sizeof(int));
    }
    for (int lap = 0; lap < LAPS; lap++) {
        for (int i = 0; i < BATCH; i++)
            batch.lengths[i] = draw_length(&player->common);
        if (draw(&player->mine, 2)) {
            post_batch(player, &batch);
            send_batch(player, &batch, lap);
        } else {
            send_batch(player, &batch, lap);
            post_batch(player, &batch);
        }
        wait_batch(player, batch.receives, statuses);
        wait_batch(player, batch.sends, ignored);
        look_at_batch(player, &batch, statuses, lap);
    }
    for (int i = 0; i < BATCH; i++) {
        free(batch.out[i]);
        free(batch.in[i]);
    }
}

/* -- from anybody, several threads at one communicator ----------------------------------- */

typedef struct note {
    int sender, thread, serial;
} note_t;

static atomic_llong sum_of_serials;

static void take_one(player_t *player, note_t *note)
{
    MPI_Comm comm = player->comm;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    int bytes = sizeof *note, flag = 0;
    switch (draw(&player->mine, 5)) {
    case 0:
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(note, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        break;
    case 1:
        while (!flag) {
            MPI_Improbe(left, MPI_ANY_TAG, comm, &flag, &message, MPI_STATUS_IGNORE);
            if (!flag)
                sched_yield();
        }
        MPI_Imrecv(note, bytes, MPI_BYTE, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 2:
        MPI_Irecv(note, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
        while (!flag) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            if (!flag)
                sched_yield();
        }
        break;
    default:
        MPI_Recv(note, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
    }
}

/* What one thread has sent comes in order to each of those that receive. */
static void check_note(const player_t *player, const note_t *note, int last[2])
{
    expect(note->sender == left && note->thread >= 0 && note->thread < 2, player,
           "a note's sender");
    expect(note->serial > last[note->thread & 1], player, "a note comes in its turn");
    last[note->thread & 1] = note->serial;
    atomic_fetch_add(&sum_of_serials, note->serial);
}

static void from_anybody(player_t *player)
{
    enum { AT_ONCE = 4 };
    int last[2] = {-1, -1};
    note_t out[AT_ONCE], in[AT_ONCE];
    MPI_Request requests[AT_ONCE];
    for (int i = 0; i < WILD; i += AT_ONCE) {
        bool posted = draw(&player->mine, 2);
        for (int j = 0; posted && j < AT_ONCE; j++)
            MPI_Irecv(&in[j], sizeof in[j], MPI_BYTE,
                      draw(&player->mine, 2) ? left : MPI_ANY_SOURCE, MPI_ANY_TAG, player->comm,
                      &requests[j]);
        for (int j = 0; j < AT_ONCE; j++) {
            out[j] = (note_t){rank, player->number & 1, i + j};
            MPI_Send(&out[j], sizeof out[j], MPI_BYTE, right, draw(&player->mine, 3), player->comm);
        }
        if (posted)
            MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
        for (int j = 0; j < AT_ONCE; j++) {
            if (!posted)
                take_one(player, &in[j]);
            check_note(player, &in[j], last);
        }
    }
}

/* -- meanwhile ---------------------------------------------------------------------------- */

static void probing(player_t *player)
{
    int *out = calloc(LARGEST + 1, sizeof *out), *in = calloc(LARGEST + 1, sizeof *in);
    for (int i = 0; i < PROBES; i++) {
        int length = draw_length(&player->common), count = -1, flag = 0;
        MPI_Request request;
        MPI_Status status;
        out[0] = out[length - 1] = i;
        MPI_Isend(out, length, MPI_INT, right, i, player->comm, &request);
        while (i % 2 == 0 && !flag) {
            MPI_Iprobe(left, MPI_ANY_TAG, player->comm, &flag, &status);
            if (!flag)
                sched_yield();
        }
        if (i % 2 != 0)
            MPI_Probe(MPI_ANY_SOURCE, i, player->comm, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        expect(count == length && status.MPI_TAG == i, player, "what is probed");
        MPI_Recv(in, count, MPI_INT, left, i, player->comm, MPI_STATUS_IGNORE);
        expect(in[0] == i && in[length - 1] == i, player, "and received");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(out);
    free(in);
}

/* A receive is cancelled, or has got its message, while that arrives; one of another tag always is.
 */
static void cancelling(player_t *player)
{
    for (int i = 0; i < CANCELS; i++) {
        int out = i, in = -1, is_cancelled;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Irecv(&in, 1, MPI_INT, left, 0, player->comm, &requests[0]);
        MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, NEVER, player->comm, &requests[1]);
        MPI_Send(&out, 1, MPI_INT, right, 0, player->comm);
        for (int j = draw(&player->mine, 4); j > 0; j--)
            sched_yield();
        MPI_Cancel(&requests[1]);
        MPI_Cancel(&requests[0]);
        MPI_Waitall(2, requests, statuses);
        MPI_Test_cancelled(&statuses[1], &is_cancelled);
        expect(is_cancelled, player, "what nobody sends is cancelled");
        MPI_Test_cancelled(&statuses[0], &is_cancelled);
        if (is_cancelled)
            MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, player->comm, MPI_STATUS_IGNORE);
        expect(in == i, player, "a message is there, once");
    }
}

/* A communicator may be freed before its last request ends, and then ends with that. */
static void making(player_t *player)
{
    for (int i = 0; i < MAKES; i++) {
        MPI_Comm comm;
        MPI_Request requests[2];
        int in = -1;
        if (draw(&player->common, 2))
            MPI_Comm_dup(player->comm, &comm);
        else
            MPI_Comm_split(player->comm, 0, rank, &comm);
        MPI_Isend(&i, 1, MPI_INT, right, 0, comm, &requests[0]);
        MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &requests[1]);
        if (draw(&player->common, 2)) {
            MPI_Comm_free(&comm);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            MPI_Comm_free(&comm);
        }
        expect(in == i, player, "a message in a new communicator");
    }
}

/* -- running them ------------------------------------------------------------------------- */

static void *run(void *argument)
{
    player_t *player = argument;
    player->play(player);
    return NULL;
}

static void run_all(player_t *players, int count)
{
    for (int i = 0; i < count; i++)
        pthread_create(&players[i].thread, NULL, run, &players[i]);
    for (int i = 0; i < count; i++)
        pthread_join(players[i].thread, NULL);
}

static void contest(void)
{
    static void (*const plays[])(player_t *) = {in_order, in_order,   from_anybody, from_anybody,
                                                probing,  cancelling, making,       in_order};
    enum { COUNT = sizeof plays / sizeof *plays, FIRST_SHARED = 2 };
    player_t players[COUNT] = {0};
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    for (int i = 0; i < COUNT; i++) {
        players[i] = (player_t){.play = plays[i], .number = i};
        players[i].common = 31u * (unsigned)i + 1;
        players[i].mine = players[i].common + 7919u * (unsigned)(rank + 1);
        if (i == FIRST_SHARED + 1)
            players[i].comm = players[i - 1].comm;
        else
            MPI_Comm_dup(MPI_COMM_WORLD, &players[i].comm);
    }
    run_all(players, COUNT);
    tap_check(atomic_load(&wrong) == 0, "%d threads get what is theirs, in order", COUNT);
    tap_check(atomic_load(&sum_of_serials) == (long long)WILD * (WILD - 1),
              "from anybody comes everything, once");
    for (int i = 0; i < COUNT; i++) {
        if (i != FIRST_SHARED + 1)
            MPI_Comm_free(&players[i].comm);
    }
}

/* -- death -------------------------------------------------------------------------------- */

static atomic_int posted_count;

/* Posts receives from the victim, its number, or from anybody, until one of them has failed; then
 * all of them fail, those before the news and those after it. */
static void post_in_vain(player_t *player)
{
    static _Thread_local MPI_Request requests[MAX_POSTED];
    int count = 0, flag = 0, error = MPI_SUCCESS, class, nothing;
    for (; !flag && count < MAX_POSTED - 1; count++) {
        MPI_Irecv(&nothing, 1, MPI_INT, count % 2 ? player->number : MPI_ANY_SOURCE, NEVER,
                  player->comm, &requests[count]);
        atomic_fetch_add(&posted_count, 1);
        error = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        if (count % 16 == 0)
            sched_yield();
    }
    MPI_Irecv(&nothing, 1, MPI_INT, player->number, NEVER, player->comm, &requests[count++]);
    for (int i = 0; i < count; i++) {
        if (i > 0 || !flag)
            error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        MPI_Error_class(error, &class);
        expect(class == MPI_ERR_PROC_ABORTED, player, "a receive from the dead fails");
    }
}

/* Rank 0 and the victims, one after the other; ranks 0 and 1 talk all the time. */
static void outlive(void)
{
    enum { TALKERS = 2, MAX_VICTIMS = 8 };
    player_t talkers[TALKERS] = {0}, posters[MAX_VICTIMS] = {0};
    int victims = size - 2;
    MPI_Comm living;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &living);
    left = right = !rank;
    for (int i = 0; i < TALKERS && rank < 2; i++) {
        talkers[i] = (player_t){.play = in_order, .number = i, .common = (unsigned)i + 1};
        talkers[i].mine = (unsigned)rank + 1;
        MPI_Comm_dup(living, &talkers[i].comm);
    }
    for (int i = 0; i < victims; i++) {
        posters[i] = (player_t){.play = post_in_vain, .number = 2 + i};
        MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == 2 + i ? 0 : MPI_UNDEFINED,
                       rank == 0 ? 1 : 0, &posters[i].comm);
    }
    for (int i = 0; i < TALKERS && rank < 2; i++)
        pthread_create(&talkers[i].thread, NULL, run, &talkers[i]);
    for (int i = 0; i < victims && rank == 0; i++) {
        int before = atomic_load(&posted_count);
        posters[i].number = 0; /* the victim's rank in the communicator of the two */
        MPI_Comm_set_errhandler(posters[i].comm, MPI_ERRORS_RETURN);
        pthread_create(&posters[i].thread, NULL, run, &posters[i]);
        while (atomic_load(&posted_count) < before + 100)
            sched_yield();
        declare_dead(2 + i);
        pthread_join(posters[i].thread, NULL);
    }
    for (int i = 0; i < TALKERS && rank < 2; i++)
        pthread_join(talkers[i].thread, NULL);
    tap_check(atomic_load(&wrong) == 0, "what needs the dead fails, what does not goes on");
    /* Who has left cannot die any more: they stay until rank 0 is through with the last one. */
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 2; i < size; i++) {
        if (rank == 1)
            MPI_Send(NULL, 0, MPI_INT, i, 0, MPI_COMM_WORLD);
        else if (rank == i)
            MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    if (argc > 1 && strcmp(argv[argc - 1], "death") == 0)
        outlive();
    else
        contest();
    MPI_Finalize();
    return tap_finish();
}
