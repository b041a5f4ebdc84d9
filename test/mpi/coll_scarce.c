/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives where memory has run out.
 *
 *   coll_scarce region     the heap that the ranks share is full, and nothing else of a rank can be
 *                          read: what cannot be told to the others goes by messages, and is right
 *   coll_scarce process    one rank has none to reduce in. Each rank has a right result or
 *                          MPI_ERR_NO_MEM, nobody hangs, and the communicator goes on. Of pml/ob1:
 * a network's library may have to make room for each message
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tap.h"

enum { INTS = 60000, RANKS_MAX = 4 };

static int static_send[RANKS_MAX * INTS], static_recv[RANKS_MAX * INTS];
static int rank, size;

static int value(int from, int to, int i)
{
    return from * 1000000 + to * 100000 + i % 997;
}

/* -- a full region -------------------------------------------------------------------------- */

static int *send, *recv; /* of the region or not */

static void fill(int *buffer, int blocks)
{
    for (int i = 0; i < blocks * INTS; i++)
        buffer[i] = value(rank, i / INTS, i % INTS);
}

/* The blocks of recv are what each rank has in a block `at` of its own. */
static int has_blocks(int at)
{
    for (int i = 0; i < size * INTS; i++) {
        if (recv[i] != value(i / INTS, at, i % INTS))
            return 0;
    }
    return 1;
}

static int has_sums(const int *results, int block, int count)
{
    for (int i = 0; i < count; i++) {
        int sum = 0;
        for (int from = 0; from < size; from++)
            sum += value(from, block, i);
        if (results[i] != sum)
            return 0;
    }
    return 1;
}

static int right_bcast(int root)
{
    fill(recv, 1);
    MPI_Bcast(recv, INTS, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < INTS; i++) {
        if (recv[i] != value(root, 0, i))
            return 0;
    }
    return 1;
}

static int right_gather(int root)
{
    MPI_Gather(send, INTS, MPI_INT, recv, INTS, MPI_INT, root, MPI_COMM_WORLD);
    return rank != root || has_blocks(0);
}

static int right_scatter(int root)
{
    MPI_Scatter(send, INTS, MPI_INT, recv, INTS, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < INTS; i++) {
        if (recv[i] != value(root, rank, i))
            return 0;
    }
    return 1;
}

static int right_allgather(int root)
{
    (void)root;
    MPI_Allgather(send, INTS, MPI_INT, recv, INTS, MPI_INT, MPI_COMM_WORLD);
    return has_blocks(0);
}

static int right_alltoall(int in_place)
{
    fill(in_place ? recv : send, size);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : send, INTS, MPI_INT, recv, INTS, MPI_INT,
                 MPI_COMM_WORLD);
    return has_blocks(rank);
}

static int right_reduce(int root)
{
    MPI_Reduce(send, recv, INTS, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    return rank != root || has_sums(recv, 0, INTS);
}

static int right_allreduce(int in_place)
{
    fill(in_place ? recv : send, 1);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : send, recv, INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return has_sums(recv, 0, INTS);
}

static int right_reduce_scatter(int in_place)
{
    fill(in_place ? recv : send, size);
    MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : send, recv, INTS, MPI_INT, MPI_SUM,
                             MPI_COMM_WORLD);
    return has_sums(recv, rank, INTS);
}

static int counts[RANKS_MAX], displs[RANKS_MAX];

static int right_gatherv(int root)
{
    MPI_Gatherv(send, INTS, MPI_INT, recv, counts, displs, MPI_INT, root, MPI_COMM_WORLD);
    return rank != root || has_blocks(0);
}

static int right_scatterv(int root)
{
    MPI_Scatterv(send, counts, displs, MPI_INT, recv, INTS, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < INTS; i++) {
        if (recv[i] != value(root, rank, i))
            return 0;
    }
    return 1;
}

static int right_allgatherv(int root)
{
    (void)root;
    MPI_Allgatherv(send, INTS, MPI_INT, recv, counts, displs, MPI_INT, MPI_COMM_WORLD);
    return has_blocks(0);
}

static int right_alltoallv(int in_place)
{
    fill(in_place ? recv : send, size);
    MPI_Alltoallv(in_place ? MPI_IN_PLACE : send, counts, displs, MPI_INT, recv, counts, displs,
                  MPI_INT, MPI_COMM_WORLD);
    return has_blocks(rank);
}

static const struct {
    const char *name;
    int (*run)(int variant); /* root, or in place */
    int variants;            /* 0: a root each */
} calls[] = {
    {"bcast", right_bcast, 0},           {"gather", right_gather, 0},
    {"scatter", right_scatter, 0},       {"allgather", right_allgather, 1},
    {"alltoall", right_alltoall, 2},     {"reduce", right_reduce, 0},
    {"allreduce", right_allreduce, 2},   {"reduce_scatter", right_reduce_scatter, 2},
    {"gatherv", right_gatherv, 0},       {"scatterv", right_scatterv, 0},
    {"allgatherv", right_allgatherv, 1}, {"alltoallv", right_alltoallv, 2},
};

/* In each variant another half of the ranks has the buffer where it cannot be read. */
static void try_call(unsigned which, int *heap_send, int *heap_recv)
{
    int variants = calls[which].variants > 0 ? calls[which].variants : size, wrong = 0;
    for (int variant = 0; variant < variants; variant++) {
        for (int where = 0; where < 16; where++) {
            int is_odd = rank % 2;
            send = where >> is_odd & 1 ? static_send : heap_send;
            recv = where >> (2 + is_odd) & 1 ? static_recv : heap_recv;
            fill(send, size);
            memset(recv, 0xff, sizeof static_recv);
            wrong += !calls[which].run(variant);
        }
    }
    tap_check(wrong == 0, "%s without shared memory (%d wrong)", calls[which].name, wrong);
}

static void try_full_region(void)
{
    enum { BLOCKS = 150, SIZES = 6 };
    static void *blocks[SIZES * BLOCKS];
    int *heap_send = malloc(sizeof static_send), *heap_recv = malloc(sizeof static_recv);
    for (int i = 0; i < SIZES * BLOCKS; i++)
        blocks[i] =
            malloc(((size_t)1 << (20 - i / BLOCKS)) - 4096); /* 4096: what a block has more */
    for (int i = 0; i < size; i++) {
        counts[i] = INTS;
        displs[i] = i * INTS;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
        try_call(i, heap_send, heap_recv);
    for (int i = 0; i < SIZES * BLOCKS; i++)
        free(blocks[i]);
    free(heap_send);
    free(heap_recv);
}

/* -- no memory to reduce in ------------------------------------------------------------------ */

/* Elements of two ints that are farther apart in each call: what was enough for the last one is not
 * for this one. */
enum { FAR_FIRST = 20 << 20, FAR_MORE = 1 << 20, FAR_MAX = 70 << 20, ELEMENTS_MAX = 20, KINDS = 4 };

static size_t far_apart = FAR_FIRST;
static MPI_Op add;

static void add_far(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        char *a = (char *)in + (size_t)i * far_apart, *b = (char *)inout + (size_t)i * far_apart;
        *(int *)b += *(int *)a;
        *(int *)(b + far_apart / 2) += *(int *)(a + far_apart / 2);
    }
}

static char *far_in, *far_out;

static int *far_int(char *buffer, int i)
{
    return (int *)(buffer + (size_t)(i / 2) * far_apart + (size_t)(i % 2) * (far_apart / 2));
}

static int run_far(int kind, int elements, MPI_Datatype far_type)
{
    switch (kind) {
    case 0:
        return MPI_Reduce(far_in, far_out, elements, far_type, add, 0, MPI_COMM_WORLD);
    case 1:
        return MPI_Allreduce(far_in, far_out, elements, far_type, add, MPI_COMM_WORLD);
    case 3: {
        MPI_Request request;
        int error =
            MPI_Iallreduce(far_in, far_out, elements, far_type, add, MPI_COMM_WORLD, &request);
        return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    default:
        return MPI_Reduce_scatter_block(far_in, far_out, elements / size, far_type, add,
                                        MPI_COMM_WORLD);
    }
}

/* Whether this rank got what it should, as far as it was told that it did. */
static int is_right(int kind, int elements, int error)
{
    int first = kind == 2 ? elements / size * rank * 2 : 0, found = 0;
    int ints = kind == 2 ? elements / size * 2 : elements * 2;
    if (error != MPI_SUCCESS || (kind == 0 && rank != 0)) {
        MPI_Error_class(error, &found);
        return error == MPI_SUCCESS || found == MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < ints; i++) {
        int sum = 0;
        for (int from = 0; from < size; from++)
            sum += value(from, 0, first + i);
        if (*far_int(far_out, i) != sum)
            return 0;
    }
    return 1;
}

static MPI_Datatype make_far_type(void)
{
    MPI_Datatype pair, far_type;
    MPI_Type_create_hvector(2, 1, (MPI_Aint)far_apart / 2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, (MPI_Aint)far_apart, &far_type);
    MPI_Type_commit(&far_type);
    MPI_Type_free(&pair);
    return far_type;
}

static void try_far(int kind, int elements, int poor)
{
    far_apart += FAR_MORE;
    MPI_Datatype far_type = make_far_type();
    struct rlimit limit, none;
    const char *const names[] = {"reduce", "allreduce", "reduce_scatter", "iallreduce"};
    for (int i = 0; i < 2 * elements; i++)
        *far_int(far_in, i) = value(rank, 0, i);
    getrlimit(RLIMIT_AS, &limit);
    none = limit;
    none.rlim_cur = 1 << 20; /* less than there is: no more comes */
    if (rank == poor)
        setrlimit(RLIMIT_AS, &none);
    int error = run_far(kind, elements, far_type);
    if (rank == poor)
        setrlimit(RLIMIT_AS, &limit);
    tap_check(is_right(kind, elements, error), "%s of %d elements, rank %d without memory: %d",
              names[kind], elements, poor, error);
    MPI_Type_free(&far_type);
}

/* What transports need for a message is small, and there; what a reduction needs is not. Returns
 * what keeps it from going back to the system. */
static void *keep_small_memory(void)
{
    enum { COUNT = 1000, BYTES = 8000 };
    void *blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = malloc(BYTES);
    void *last = malloc(BYTES);
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
    return last;
}

static void try_poor_process(void)
{
    int met[RANKS_MAX] = {0}, all[RANKS_MAX];
    MPI_Alltoall(met, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    void *last = keep_small_memory();
    MPI_Op_create(add_far, 1, &add);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    far_in = calloc(ELEMENTS_MAX, FAR_MAX);
    far_out = calloc(ELEMENTS_MAX, FAR_MAX);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int poor = 0; poor < size; poor++) {
            try_far(kind, size, poor);
            try_far(kind, ELEMENTS_MAX / size * size, poor);
        }
    }
    /* With memory there is no error any more. */
    for (int kind = 0; kind < KINDS; kind++)
        try_far(kind, ELEMENTS_MAX / size * size, -1);
    int one = 1, ones = 0;
    MPI_Allreduce(&one, &ones, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    tap_check(ones == size, "the communicator goes on");
    free(far_in);
    free(far_out);
    free(last);
    MPI_Op_free(&add);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    bool is_region = argc < 2 || strcmp(argv[1], "process") != 0;
    if (is_region)
        try_full_region();
    else if (TAP_HAS_SANITIZER)
        tap_skip("a process without memory", "malloc is the sanitizer's");
    else
        try_poor_process();
    MPI_Finalize();
    return tap_finish();
}
