/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned messages: different numbers of partitions on the two sides, every way to make them
 * ready, asking for one partition, several rounds, several pairs with one tag, many neighbours,
 * derived types, threads, MPI_PROC_NULL, and what is refused. With the argument "direct" also what
 * is true only if partitions go by flags: all ranks share a node and a heap.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static int rank, size, left, right;

static bool is_class(int error, int expected)
{
    int class;
    MPI_Error_class(error, &class);
    return class == expected;
}

static int value(int sender, int round, int index)
{
    return sender * 10000000 + round * 1000000 + index;
}

/* The sender's way to say that all partitions are ready. */
static void make_ready(int way, int count, MPI_Request send)
{
    int list[64];
    switch (way % 3) {
    case 0:
        for (int i = count - 1; i >= 0; i--)
            MPI_Pready(i, send);
        break;
    case 1:
        MPI_Pready_range(0, count - 1, send);
        break;
    default:
        for (int i = 0; i < count; i++)
            list[i] = i % 2 == 0 ? i / 2 : count - 1 - i / 2;
        MPI_Pready_list(count, list, send);
    }
}

static MPI_Request init_send(const int *out, int partitions, int each)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Psend_init(out, partitions, each, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    return request;
}

static MPI_Request init_receive(int *in, int partitions, int each)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Precv_init(in, partitions, each, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    return request;
}

/* `total` numbers in so many partitions here and there. */
static void check_counts(int total, int sent_in, int received_in, bool receiver_first)
{
    enum { ROUNDS = 6 };
    int *out = calloc((size_t)total, sizeof *out), *in = calloc((size_t)total, sizeof *in);
    MPI_Request send, receive;
    bool good = true;
    if (receiver_first)
        receive = init_receive(in, received_in, total / received_in);
    send = init_send(out, sent_in, total / sent_in);
    if (!receiver_first)
        receive = init_receive(in, received_in, total / received_in);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status status;
        int count = -1;
        for (int i = 0; i < total; i++)
            out[i] = value(rank, round, i);
        memset(in, 0xff, (size_t)total * sizeof *in);
        MPI_Start(&receive);
        MPI_Start(&send);
        make_ready(round, sent_in, send);
        for (int p = received_in - 1; p >= 0 && round % 2 == 0; p--) {
            int flag = 0, each = total / received_in;
            while (!flag)
                MPI_Parrived(receive, p, &flag);
            for (int i = p * each; i < (p + 1) * each; i++)
                good &= in[i] == value(left, round, i);
        }
        MPI_Wait(&receive, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Get_count(&status, MPI_INT, &count);
        good &= count == total && status.MPI_SOURCE == left && status.MPI_TAG == 1;
        for (int i = 0; i < total; i++)
            good &= in[i] == value(left, round, i);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    tap_check(good && send == MPI_REQUEST_NULL, "%d numbers in %d partitions to %d", total, sent_in,
              received_in);
    free(out);
    free(in);
}

/* A partition has not arrived while what it is made of was not made ready. */
static void check_arrival(void)
{
    int out[6] = {1, 2, 3, 4, 5, 6}, in[6] = {0}, flag = -1, first = -1, second = -1;
    MPI_Request send, receive;
    MPI_Psend_init(out, 3, 2, MPI_INT, right, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 2, 3, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Parrived(receive, 1, &flag);
    bool good = flag == 1; /* nothing is going on */
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Pready(2, send);
    MPI_Parrived(receive, 0, &first);
    MPI_Parrived(receive, 1, &second);
    good &= first == 0 && second == 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pready(1, send);
    for (second = 0; !second;)
        MPI_Parrived(receive, 1, &second);
    MPI_Parrived(receive, 0, &first);
    MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
    good &= first == 0 && in[3] == 4 && in[5] == 6 && flag == 0;
    tap_check(is_class(MPI_Pready(1, send), MPI_ERR_ARG), "a partition is made ready once");
    tap_check(is_class(MPI_Pready(3, send), MPI_ERR_ARG) &&
                  is_class(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG),
              "and only if there is one");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pready(0, send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    tap_check(good && in[0] == 1 && in[2] == 3, "MPI_Parrived knows one partition of another");
    tap_check(is_class(MPI_Pready(0, send), MPI_ERR_REQUEST) &&
                  is_class(MPI_Pready(0, receive), MPI_ERR_REQUEST) &&
                  is_class(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST),
              "only an active send is made ready, only a receive is asked");
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

static bool is_filled(const int *in, int from, int count, int round)
{
    bool good = true;
    for (int i = from; i < from + count; i++)
        good &= in[i] == value(left, round, i);
    return good;
}

/* The receiver sees each partition before the next one is made ready. */
static void check_one_by_one(int partitions, int each)
{
    int *out = calloc((size_t)(partitions * each), sizeof *out);
    int *in = calloc((size_t)(partitions * each), sizeof *in);
    MPI_Request send = init_send(out, partitions, each);
    MPI_Request receive = init_receive(in, partitions, each);
    bool good = true;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < partitions * each; i++)
            out[i] = value(rank, round, i);
        MPI_Start(&send);
        MPI_Start(&receive);
        for (int k = 0; k < partitions; k++) {
            int p = round % 2 == 0 ? k : partitions - 1 - k, next = p + 1 - 2 * (round % 2),
                flag = 0;
            MPI_Pready(p, send);
            while (!flag)
                MPI_Parrived(receive, p, &flag);
            good &= is_filled(in, p * each, each, round);
            if (k + 1 < partitions)
                MPI_Parrived(receive, next, &flag);
            good &= k + 1 == partitions || !flag;
            MPI_Sendrecv(NULL, 0, MPI_INT, left, 9, NULL, 0, MPI_INT, right, 9, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        }
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&receive);
    MPI_Request_free(&send);
    tap_check(good, "%d partitions of %d numbers are seen one by one", partitions, each);
    free(out);
    free(in);
}

/* Everybody sends 7 partitions to everybody, and receives them as 5. */
static void check_neighbours(int each)
{
    enum { PEERS = 16 };
    const int total = 35 * each;
    int *out = calloc((size_t)(total * size), sizeof *out), done;
    int *in = calloc((size_t)(total * size), sizeof *in);
    MPI_Request requests[2 * PEERS];
    bool good = size <= PEERS;
    for (int peer = 0; peer < size; peer++) {
        MPI_Precv_init(in + peer * total, 5, 7 * each, MPI_INT, peer, 11, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[size + peer]);
        MPI_Psend_init(out + peer * total, 7, 5 * each, MPI_INT, peer, 11, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[peer]);
    }
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < total * size; i++)
            out[i] = value(rank, round, i % total);
        if (round % 3 == 1)
            MPI_Startall(size, requests + size);
        MPI_Startall(size, requests);
        for (int peer = 0; peer < size; peer++)
            make_ready(round + peer, 7, requests[peer]);
        if (round % 3 != 1)
            MPI_Startall(size, requests + size);
        for (int i = 0; i < 2 * size && round % 2 == 0; i++)
            MPI_Waitany(2 * size, requests, &done, MPI_STATUS_IGNORE);
        MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < total * size; i++)
            good &= in[i] == value(i / total, round, i % total);
    }
    for (int i = 0; i < 2 * size; i++)
        MPI_Request_free(&requests[i]);
    tap_check(good, "%d neighbours, %d numbers in 7 partitions to 5", size, total);
    free(out);
    free(in);
}

/* Requests come and go; either side frees first. */
static void check_many_requests(void)
{
    int out[20], in[20];
    bool good = true;
    for (int i = 0; i < 200; i++) {
        MPI_Request send = init_send(out, 1 + i % 20, 1), receive = init_receive(in, 20, 1);
        for (int k = 0; k < 20; k++)
            out[k] = value(rank, 0, i + k);
        MPI_Start(&send);
        MPI_Start(&receive);
        MPI_Pready_range(0, i % 20, send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        if (i % 2 == 0)
            MPI_Request_free(&send);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        MPI_Request_free(&receive);
        if (i % 2 != 0)
            MPI_Request_free(&send);
        for (int k = 0; k <= i % 20; k++)
            good &= in[k] == value(left, 0, i + k);
    }
    tap_check(good, "many requests, one after the other");
}

/* -- by flags ------------------------------------------------------------------------------ */

/* The second round: in the first one the sides get to know each other. */
static void begin_second_round(int *out, int count, MPI_Request *send, MPI_Request *receive)
{
    MPI_Startall(2, (MPI_Request[]){*send, *receive});
    MPI_Pready_range(0, 3, *send);
    MPI_Waitall(2, (MPI_Request[]){*send, *receive}, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++)
        out[i] = value(rank, 1, i);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The data waits for a receive that is not started, and so does the send. */
static void check_early(int each)
{
    int *out = calloc((size_t)(4 * each), sizeof *out),
        *in = calloc((size_t)(4 * each), sizeof *in);
    MPI_Request send = init_send(out, 4, each), receive = init_receive(in, 4, each);
    int flag = 0, early = 0;
    begin_second_round(out, 4 * each, &send, &receive);
    MPI_Start(&send);
    MPI_Pready_range(0, 3, send);
    for (int i = 0; i < 100; i++) {
        MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
        early += flag;
    }
    for (int i = 0; i < 4 * each; i++)
        early += in[i] != 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&receive);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    tap_check(early == 0 && is_filled(in, 0, 4 * each, 1),
              "4 x %d numbers wait for a receive that is not started", each);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    free(out);
    free(in);
}

/* Long partitions come while the receiver is not in MPI. */
static void check_copied(void)
{
    enum { EACH = 5000 };
    int *out = calloc(4 * EACH, sizeof *out);
    volatile int *in = calloc(4 * EACH, sizeof *in);
    MPI_Request send = init_send(out, 4, EACH), receive = init_receive((int *)in, 4, EACH);
    begin_second_round(out, 4 * EACH, &send, &receive);
    MPI_Start(&receive);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&send);
    MPI_Pready_list(4, (int[]){0, 2, 3, 1}, send);
    for (int p = 0; p < 4; p++) {
        while (in[(p + 1) * EACH - 1] != value(left, 1, (p + 1) * EACH - 1))
            sched_yield();
    }
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    tap_check(is_filled((int *)in, 0, 4 * EACH, 1), "the sender copies long partitions");
    MPI_Request_free(&receive);
    MPI_Request_free(&send);
    free(out);
    free((int *)in);
}

/* The inits match in their order; ordinary messages with the same tag do not interfere. */
static void check_order(void)
{
    enum { PAIRS = 5 };
    int out[PAIRS][4] = {{0}}, in[PAIRS][4], plain = -1;
    MPI_Request sends[PAIRS], receives[PAIRS], request;
    bool good = true;
    MPI_Irecv(&plain, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    for (int i = 0; i < PAIRS; i++)
        MPI_Psend_init(out[i], 4, 1, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]);
    for (int i = 0; i < PAIRS; i++)
        MPI_Precv_init(in[i], 2, 2, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PAIRS; i++) {
            for (int k = 0; k < 4; k++)
                out[i][k] = value(rank, round, 10 * i + k);
        }
        MPI_Startall(PAIRS, sends);
        for (int i = PAIRS - 1; i >= 0; i--)
            MPI_Pready_range(0, 3, sends[i]);
        MPI_Startall(PAIRS, receives);
        MPI_Waitall(PAIRS, receives, MPI_STATUSES_IGNORE);
        MPI_Waitall(PAIRS, sends, MPI_STATUSES_IGNORE);
        for (int i = 0; i < PAIRS; i++) {
            for (int k = 0; k < 4; k++)
                good &= in[i][k] == value(left, round, 10 * i + k);
        }
    }
    MPI_Send(&rank, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < PAIRS; i++) {
        MPI_Request_free(&sends[i]);
        MPI_Request_free(&receives[i]);
    }
    tap_check(good && plain == left, "pairs with one tag match in the order of their inits");
}

/* Elements with gaps, cut where no element ends: 5 partitions of 6 numbers to 6 columns of 5. */
static void check_types(void)
{
    static int in[6][5][2];
    int out[30] = {0};
    MPI_Datatype vector, column;
    MPI_Request send, receive;
    bool good = true;
    MPI_Type_vector(5, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 10 * (MPI_Aint)sizeof(int), &column);
    MPI_Type_free(&vector);
    MPI_Type_commit(&column);
    MPI_Precv_init(in, 6, 1, column, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Type_free(&column);
    MPI_Psend_init(out, 5, 6, MPI_INT, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 30; i++)
            out[i] = value(rank, round, i);
        memset(in, 0, sizeof in);
        MPI_Start(&receive);
        MPI_Start(&send);
        make_ready(round, 5, send);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        for (int i = 0; i < 30; i++)
            good &= in[i / 5][i % 5][0] == value(left, round, i) && in[i / 5][i % 5][1] == 0;
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    tap_check(good, "a derived type, cut within its elements");
}

static void check_ends(void)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0}, flag = 0;
    MPI_Request send, receive, unused;
    MPI_Status status;
    MPI_Psend_init(out, 4, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 2, 2, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Pready_range(0, 3, send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Parrived(receive, 1, &flag);
    MPI_Wait(&receive, &status);
    tap_check(flag == 1 && status.MPI_SOURCE == MPI_PROC_NULL && in[0] == 0, "MPI_PROC_NULL");
    MPI_Request_free(&send);
    MPI_Request_free(&receive);

    /* One that nobody sends to is freed; the next one gets the sender. The receive is too small. */
    MPI_Precv_init(in, 2, 2, MPI_INT, rank, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &unused);
    MPI_Request_free(&unused);
    MPI_Precv_init(in, 1, 3, MPI_INT, rank, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Psend_init(out, 2, 2, MPI_INT, rank, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Start(&receive);
    MPI_Start(&send);
    MPI_Pready_range(0, 1, send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    tap_check(is_class(MPI_Wait(&receive, &status), MPI_ERR_TRUNCATE) && in[2] == 3 && in[3] == 0,
              "a receive that is too small");
    /* Freed while active: both end by themselves. */
    memset(in, 0, sizeof in);
    MPI_Start(&receive);
    MPI_Start(&send);
    MPI_Request_free(&receive);
    MPI_Pready_range(0, 1, send);
    MPI_Request_free(&send);
    while (in[0] != 1 || in[2] != 3) /* in any order */
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    tap_check(send == MPI_REQUEST_NULL, "freed while they are active");
}

/* A partition has an MPI_Count of elements, without a second form of the functions. */
static void check_large_count(void)
{
    const MPI_Count beyond_int = (MPI_Count)1 << 31;
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    int error = MPI_Psend_init(NULL, 1, beyond_int, MPI_BYTE, MPI_PROC_NULL, 8, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &send);
    tap_check(error == MPI_SUCCESS, "a partition of 2^31 elements to send");
    error = MPI_Precv_init(NULL, 1, beyond_int, MPI_BYTE, MPI_PROC_NULL, 8, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &receive);
    tap_check(error == MPI_SUCCESS, "and one to receive");
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

/* -- threads ------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 16 };
static MPI_Request shared;
static int *shared_out, elements; /* of one partition */

static void *produce(void *argument)
{
    int mine = *(int *)argument % THREADS, round = *(int *)argument / THREADS;
    for (int p = mine; p < THREADS * EACH; p += THREADS) {
        for (int i = p * elements; i < (p + 1) * elements; i++)
            shared_out[i] = value(rank, round, i);
        MPI_Pready(p, shared);
    }
    return NULL;
}

static void check_threads(int each)
{
    const int total = THREADS * EACH * each;
    int *in = calloc((size_t)total, sizeof *in);
    MPI_Request receive;
    bool good = true;
    elements = each;
    shared_out = calloc((size_t)total, sizeof *shared_out);
    MPI_Psend_init(shared_out, THREADS * EACH, each, MPI_INT, right, 7, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &shared);
    MPI_Precv_init(in, 8, total / 8, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (int round = 0; round < 6; round++) {
        pthread_t threads[THREADS];
        int arguments[THREADS];
        MPI_Start(&shared);
        MPI_Start(&receive);
        for (int t = 0; t < THREADS; t++) {
            arguments[t] = round * THREADS + t;
            pthread_create(&threads[t], NULL, produce, &arguments[t]);
        }
        MPI_Request first = round % 2 == 0 ? receive : shared;
        MPI_Wait(&first, MPI_STATUS_IGNORE);
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        MPI_Waitall(2, (MPI_Request[]){receive, shared}, MPI_STATUSES_IGNORE);
        good &= is_filled(in, 0, total, round);
    }
    MPI_Request_free(&shared);
    MPI_Request_free(&receive);
    free(shared_out);
    free(in);
    tap_check(good, "%d threads make partitions of %d numbers ready", THREADS, each);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    tap_rank(rank);
    check_counts(60, 1, 1, true);
    check_counts(60, 10, 10, false);
    check_counts(60, 4, 6, true);
    check_counts(60, 6, 4, false);
    check_counts(60, 60, 1, true);
    check_counts(300000, 5, 3, true);
    check_counts(300000, 3, 50, false);
    check_counts(3600, 36, 10, true);
    check_counts(60000, 6, 10, false);
    check_arrival();
    check_one_by_one(6, 1);
    check_one_by_one(5, 600);
    check_one_by_one(5, 5000);
    check_neighbours(1);
    check_neighbours(100);
    check_neighbours(1000);
    check_many_requests();
    check_order();
    check_types();
    check_ends();
    check_large_count();
    check_threads(4);
    check_threads(200);
    check_threads(5000);
    if (argc > 1)
        check_early(10);
    if (argc > 1 && TAP_HAS_SANITIZER) {
        tap_skip("long data by flags", "malloc is the sanitizer's");
    } else if (argc > 1) {
        check_early(5000);
        check_copied();
    }
    MPI_Finalize();
    return tap_finish();
}
