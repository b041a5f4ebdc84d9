/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm of coll/p2p with 1 to 9 ranks, all in this process: each rank has a schedule, and
 * a fake pml delivers messages in random order. Results are compared with what the standard says.
 * Reductions do not commute, unless the algorithm needs that.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/errhandler/errhandler.h"
#include "ompi/mca/coll/p2p/p2p.h"
#include "ompi/topology/topology.h"
#include "test/unit/ompi/fake_pml.h"
#include "test/unit/opal/support.h"

enum { RANKS = 9, COUNT_MAX = 40, MESSAGES_MAX = 2000 };

/* -- messages ------------------------------------------------------------------------ */

static ompi_communicator_t comms[RANKS];
static message_t *waiting[MESSAGES_MAX]; /* oldest first */
static int waiting_count;

static int begin_message(message_t *message)
{
    ck_assert_int_lt(waiting_count, MESSAGES_MAX);
    waiting[waiting_count++] = message;
    return MPI_SUCCESS;
}

static bool is_same_way(const message_t *a, const message_t *b)
{
    return a->sends == b->sends && a->route.comm == b->route.comm && a->route.rank == b->route.rank;
}

/* What one sends the other receives. */
static bool is_pair(const message_t *a, const message_t *b)
{
    return a->sends != b->sends && a->route.comm->rank == b->route.rank &&
           b->route.comm->rank == a->route.rank && a->route.tag == b->route.tag;
}

/* The partner of a message, if no older message of its kind comes before it. */
static int find_partner(int at)
{
    for (int i = 0; i < at; i++) {
        if (is_same_way(waiting[i], waiting[at]))
            return -1;
    }
    for (int i = 0; i < waiting_count; i++) {
        if (is_pair(waiting[i], waiting[at]))
            return i;
    }
    return -1;
}

static message_t *take(int at)
{
    message_t *message = waiting[at];
    memmove(&waiting[at], &waiting[at + 1], (size_t)(--waiting_count - at) * sizeof(message_t *));
    return message;
}

static void hand_over(message_t *send, message_t *recv)
{
    size_t bytes = ompi_coll_bytes(send->data);
    ck_assert_uint_eq(bytes, ompi_coll_bytes(recv->data));
    ompi_datatype_copy(send->data.type, send->data.count, send->data.buffer, recv->data.type,
                       recv->data.count, recv->data.buffer);
    ompi_status_set_bytes(&recv->request.status, bytes);
    send->request.status.MPI_ERROR = recv->request.status.MPI_ERROR = MPI_SUCCESS;
    ompi_request_complete(&send->request);
    ompi_request_complete(&recv->request);
}

/* Delivers messages until none has a partner. */
static void hand_over_all(void)
{
    for (int begin = rand(), tried = 0; tried < waiting_count; tried++) {
        int at = (int)(((unsigned)begin + (unsigned)tried) % (unsigned)waiting_count);
        int partner = find_partner(at);
        if (partner < 0)
            continue;
        message_t *first = take(at > partner ? at : partner);
        message_t *second = take(at > partner ? partner : at);
        hand_over(first->sends ? first : second, first->sends ? second : first);
        begin = rand();
        tried = -1;
    }
}

/* -- the calls of all ranks ---------------------------------------------------------- */

/* Elements are maps x -> f x + s of 16 bits each, which do not commute. */
static unsigned compose(unsigned first, unsigned second)
{
    unsigned f = first >> 16, s = first & 0xffff, g = second >> 16, t = second & 0xffff;
    return (f * g & 0xffff) << 16 | ((s * g + t) & 0xffff);
}

static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type OPAL_UNUSED)
{
    for (int i = 0; i < *count; i++)
        ((unsigned *)inout)[i] = compose(((unsigned *)in)[i], ((unsigned *)inout)[i]);
}

/* Element i of a rank's block b. */
static unsigned value(int rank, int b, int i)
{
    return (unsigned)(2 * (rank * 7 + b * 3 + i) + 1) << 16 | (unsigned)(rank * 1000 + b * 41 + i);
}

enum { GAP = 0x5a5a5a5a };

static struct {
    ompi_coll_kind_t kind;
    int size, count, root; /* count: of a block */
    bool in_place, commutes;
    unsigned send[RANKS][RANKS * COUNT_MAX], recv[RANKS][RANKS * COUNT_MAX + 1];
} job;

static bool has_block_of_each_rank(bool is_send)
{
    switch (job.kind) {
    case OMPI_ALLTOALL:
        return true;
    case OMPI_ALLGATHER:
    case OMPI_GATHER:
        return !is_send;
    default:
        return is_send && (job.kind == OMPI_SCATTER || job.kind == OMPI_REDUCE_SCATTER_BLOCK);
    }
}

static size_t elements(bool is_send)
{
    return (size_t)job.count * (has_block_of_each_rank(is_send) ? (size_t)job.size : 1);
}

/* Whether this rank passes MPI_IN_PLACE, and for which buffer. */
static bool is_in_place(int rank)
{
    bool is_rooted = job.kind == OMPI_GATHER || job.kind == OMPI_SCATTER || job.kind == OMPI_REDUCE;
    return job.in_place && job.kind != OMPI_BCAST && job.kind != OMPI_BARRIER &&
           (!is_rooted || rank == job.root);
}

static void fill(int rank)
{
    for (int i = 0; i < RANKS * COUNT_MAX; i++)
        job.send[rank][i] = value(rank, i / job.count, i % job.count);
    memset(job.recv[rank], 0x5a, sizeof job.recv[rank]);
    if (job.kind == OMPI_BCAST && rank == job.root)
        memcpy(job.recv[rank], job.send[rank], elements(true) * sizeof(int));
    if (!is_in_place(rank) || job.kind == OMPI_SCATTER)
        return;
    size_t own =
        job.kind == OMPI_ALLGATHER || job.kind == OMPI_GATHER ? (size_t)(rank * job.count) : 0;
    memcpy(job.recv[rank] + own, job.send[rank], elements(true) * sizeof(int));
}

static ompi_coll_call_t call_of(int rank, ompi_op_t *op)
{
    ompi_datatype_t *type = ompi_datatype_of(MPI_UNSIGNED);
    ompi_coll_side_t send = {.buffer = job.send[rank], .count = job.count, .type = type};
    ompi_coll_side_t recv = {.buffer = job.recv[rank], .count = job.count, .type = type};
    if (is_in_place(rank) && job.kind == OMPI_SCATTER)
        recv = (ompi_coll_side_t){.buffer = MPI_IN_PLACE};
    else if (is_in_place(rank))
        send = (ompi_coll_side_t){.buffer = MPI_IN_PLACE};
    if (job.kind == OMPI_GATHER && rank != job.root)
        recv = (ompi_coll_side_t){0};
    if (job.kind == OMPI_SCATTER && rank != job.root)
        send = (ompi_coll_side_t){0};
    if (job.kind == OMPI_BCAST)
        send = (ompi_coll_side_t){0};
    return (ompi_coll_call_t){.kind = job.kind,
                              .comm = &comms[rank],
                              .send = send,
                              .recv = recv,
                              .op = op,
                              .root = job.root};
}

/* Element i of the reduction of block b over the ranks from 0 to `last`. */
static unsigned reduced(int last, int b, int i)
{
    unsigned sum = value(0, b, i);
    for (int rank = 1; rank <= last; rank++)
        sum = job.commutes ? sum + value(rank, b, i) : compose(sum, value(rank, b, i));
    return sum;
}

/* What element i of block b of a rank's result must be; GAP: unchanged. */
static unsigned expected(int rank, int b, int i)
{
    bool is_root = rank == job.root;
    switch (job.kind) {
    case OMPI_ALLGATHER:
        return value(b, 0, i);
    case OMPI_GATHER:
        return is_root ? value(b, 0, i) : GAP;
    case OMPI_ALLTOALL:
        return value(b, rank, i);
    case OMPI_BCAST:
        return value(job.root, 0, i);
    case OMPI_SCATTER:
        return is_root && job.in_place ? GAP : value(job.root, rank, i);
    case OMPI_ALLREDUCE:
        return reduced(job.size - 1, 0, i);
    case OMPI_REDUCE:
        return is_root ? reduced(job.size - 1, 0, i) : GAP;
    case OMPI_REDUCE_SCATTER_BLOCK:
        return reduced(job.size - 1, rank, i);
    case OMPI_SCAN:
        return reduced(rank, 0, i);
    default: /* OMPI_EXSCAN; the result of rank 0 is unchanged */
        return rank > 0 ? reduced(rank - 1, 0, i) : job.in_place ? value(0, 0, i) : GAP;
    }
}

static void check_result(int rank, const char *name)
{
    int blocks = has_block_of_each_rank(false) ? job.size : 1;
    for (int b = 0; b < blocks; b++) {
        for (int i = 0; i < job.count; i++)
            ck_assert_msg(job.recv[rank][b * job.count + i] == expected(rank, b, i),
                          "%s: rank %d of %d, root %d, block %d, element %d of %d%s", name, rank,
                          job.size, job.root, b, i, job.count, job.in_place ? ", in place" : "");
    }
    bool keeps_blocks = job.kind == OMPI_REDUCE_SCATTER_BLOCK && job.in_place;
    ck_assert(keeps_blocks || job.recv[rank][blocks * job.count] == GAP);
}

static void run_all(ompi_coll_algorithm_fn_t *build, ompi_op_t *op, const char *name)
{
    ompi_request_t *requests[RANKS];
    for (int rank = 0; rank < job.size; rank++) {
        comms[rank] = (ompi_communicator_t){.rank = rank, .size = job.size, .local = &comms[rank]};
        fill(rank);
    }
    for (int rank = 0; rank < job.size; rank++) {
        ompi_schedule_t *schedule = ompi_schedule_create(&comms[rank], op);
        ompi_coll_call_t call = call_of(rank, op);
        ck_assert_int_eq(build(&call, schedule), MPI_SUCCESS);
        requests[rank] = ompi_schedule_request(schedule);
        if (rand() % 2 == 0)
            hand_over_all();
    }
    hand_over_all();
    ck_assert_int_eq(waiting_count, 0);
    for (int rank = 0; rank < job.size; rank++) {
        ck_assert_msg(ompi_request_is_done(requests[rank]), "%s: rank %d is not done", name, rank);
        ck_assert_int_eq(ompi_request_finish(&requests[rank], MPI_STATUS_IGNORE), MPI_SUCCESS);
        if (job.kind != OMPI_BARRIER)
            check_result(rank, name);
    }
}

/* -- tests --------------------------------------------------------------------------- */

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_op_init();
    ompi_pml = &fake_pml;
    p2p_segment_bytes = 64;
    p2p_window = 2;
}

#define ALGORITHM(kind, name, needs)                                                               \
    {                                                                                              \
        OMPI_##kind, #name, p2p_##name, needs                                                      \
    }

static const struct {
    ompi_coll_kind_t kind;
    const char *name;
    ompi_coll_algorithm_fn_t *build;
    unsigned needs;
} algorithms[] = {
    ALGORITHM(ALLGATHER, allgather_bruck, 0),
    ALGORITHM(ALLGATHER, allgather_doubling, OMPI_COLL_POWER),
    ALGORITHM(ALLGATHER, allgather_linear, 0),
    ALGORITHM(ALLGATHER, allgather_ring, 0),
    ALGORITHM(ALLREDUCE, allreduce_doubling, 0),
    ALGORITHM(ALLREDUCE, allreduce_halving, OMPI_COLL_COMMUTES),
    ALGORITHM(ALLREDUCE, allreduce_reduce_bcast, 0),
    ALGORITHM(ALLREDUCE, allreduce_ring, OMPI_COLL_COMMUTES),
    ALGORITHM(ALLTOALL, alltoall_bruck, 0),
    ALGORITHM(ALLTOALL, alltoall_linear, 0),
    ALGORITHM(ALLTOALL, alltoall_pairwise, 0),
    ALGORITHM(BARRIER, barrier_dissemination, 0),
    ALGORITHM(BARRIER, barrier_tree, 0),
    ALGORITHM(BCAST, bcast_binomial, 0),
    ALGORITHM(BCAST, bcast_chain, 0),
    ALGORITHM(BCAST, bcast_linear, 0),
    ALGORITHM(BCAST, bcast_scatter_allgather, 0),
    ALGORITHM(EXSCAN, exscan_doubling, 0),
    ALGORITHM(EXSCAN, exscan_linear, 0),
    ALGORITHM(GATHER, gather_binomial, 0),
    ALGORITHM(GATHER, gather_linear, 0),
    ALGORITHM(REDUCE, reduce_binomial, 0),
    ALGORITHM(REDUCE, reduce_linear, 0),
    ALGORITHM(REDUCE, reduce_scatter_gather, OMPI_COLL_COMMUTES),
    ALGORITHM(REDUCE_SCATTER_BLOCK, reduce_scatter_halving, OMPI_COLL_COMMUTES),
    ALGORITHM(REDUCE_SCATTER_BLOCK, reduce_scatter_pairwise, OMPI_COLL_COMMUTES),
    ALGORITHM(REDUCE_SCATTER_BLOCK, reduce_scatter_reduce, 0),
    ALGORITHM(SCAN, scan_doubling, 0),
    ALGORITHM(SCAN, scan_linear, 0),
    ALGORITHM(SCATTER, scatter_binomial, 0),
    ALGORITHM(SCATTER, scatter_linear, 0),
};

/* Lengths around the pieces: fewer elements than ranks, and more than a segment. */
START_TEST(results_are_right)
{
    static const int counts[] = {1, 5, COUNT_MAX};
    unsigned needs = algorithms[_i].needs;
    job.kind = algorithms[_i].kind;
    job.commutes = (needs & OMPI_COLL_COMMUTES) != 0;
    ompi_op_t *op = job.commutes ? ompi_handle_object(MPI_SUM)
                                 : ompi_op_create(ompi_op_fn_small(compose_all), false);
    for (job.size = 1; job.size <= RANKS; job.size++) {
        if ((needs & OMPI_COLL_POWER) != 0 && p2p_power(job.size) != job.size)
            continue;
        for (size_t i = 0; i < OPAL_COUNT_OF(counts); i++) {
            job.count = counts[i];
            for (job.root = 0; job.root < job.size; job.root += job.size / 2 + 1) {
                job.in_place = false;
                run_all(algorithms[_i].build, op, algorithms[_i].name);
                job.in_place = true;
                run_all(algorithms[_i].build, op, algorithms[_i].name);
            }
        }
    }
    if (!job.commutes)
        ompi_object_release(&op->head);
}
END_TEST

/* On a ring each rank sends one block to the left and one to the right, also if both are the same
 * rank, or itself. */
START_TEST(neighbors_of_a_small_ring)
{
    static const int yes = 1;
    unsigned send[RANKS][2], recv[RANKS][2];
    ompi_request_t *requests[RANKS];
    ompi_datatype_t *type = ompi_datatype_of(MPI_UNSIGNED);
    int size = _i + 1;
    for (int rank = 0; rank < size; rank++) {
        comms[rank] = (ompi_communicator_t){.rank = rank, .size = size, .local = &comms[rank]};
        comms[rank].topology = ompi_cart_create(1, &size, &yes, rank);
        send[rank][0] = value(rank, 0, 0); /* to the left */
        send[rank][1] = value(rank, 1, 0);
        ompi_coll_call_t call = {.kind = OMPI_NEIGHBOR_ALLTOALL,
                                 .comm = &comms[rank],
                                 .send = {.buffer = send[rank], .count = 1, .type = type},
                                 .recv = {.buffer = recv[rank], .count = 1, .type = type}};
        ompi_schedule_t *schedule = ompi_schedule_create(&comms[rank], NULL);
        ck_assert_int_eq(p2p_neighbor_linear(&call, schedule), MPI_SUCCESS);
        requests[rank] = ompi_schedule_request(schedule);
    }
    hand_over_all();
    for (int rank = 0; rank < size; rank++) {
        int left = (rank + size - 1) % size, right = (rank + 1) % size;
        ck_assert_int_eq(ompi_request_finish(&requests[rank], MPI_STATUS_IGNORE), MPI_SUCCESS);
        ck_assert_uint_eq(recv[rank][0], value(left, 1, 0));
        ck_assert_uint_eq(recv[rank][1], value(right, 0, 0));
        ompi_topology_release(comms[rank].topology);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &results_are_right, .repeats = OPAL_COUNT_OF(algorithms)},
    {.test = &neighbors_of_a_small_ring, .repeats = 4},
};

UNIT_MAIN("algorithms", tests, setup);
