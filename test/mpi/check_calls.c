/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that make different collective calls (mpi_check). Each case is a pair of calls: one rank
 * makes the second one, all others the first one, on a communicator of their own. Every rank that
 * waits for another one has an error of the class, with a sentence that names both calls; nobody
 * hangs. Then collectives work, or say that they have ended; and a new communicator works.
 *
 * And pairs that look different and are not: all ranks succeed.
 *
 * With an argument (mpi_check=full): calls that differ in their arguments fail in all ranks, also
 * nonblocking and persistent ones. Without it, some ranks may not learn of those.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { MOST = 20000, RANKS_MAX = 8 };

static int send[RANKS_MAX * MOST], recv[RANKS_MAX * MOST];
static int counts[RANKS_MAX], displs[RANKS_MAX];
static int rank, size, is_full;

typedef struct call {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    int count, root;
    enum { BLOCKING, NONBLOCKING, PERSISTENT } form;
} call_t;

static int finish(int error, MPI_Request *request)
{
    return error == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : error;
}

static int is(const call_t *call, const char *name)
{
    return strcmp(call->name, name) == 0;
}

static int make_nonblocking(const call_t *c, MPI_Comm comm)
{
    MPI_Request request;
    if (is(c, "Barrier"))
        return finish(MPI_Ibarrier(comm, &request), &request);
    if (is(c, "Bcast"))
        return finish(MPI_Ibcast(recv, c->count, c->type, c->root, comm, &request), &request);
    if (is(c, "Reduce"))
        return finish(MPI_Ireduce(send, recv, c->count, c->type, c->op, c->root, comm, &request),
                      &request);
    if (is(c, "Allgather"))
        return finish(
            MPI_Iallgather(send, c->count, c->type, recv, c->count, c->type, comm, &request),
            &request);
    return finish(MPI_Iallreduce(send, recv, c->count, c->type, c->op, comm, &request), &request);
}

static int run(int error, MPI_Request *request)
{
    if (error != MPI_SUCCESS)
        return error;
    error = finish(MPI_Start(request), request);
    MPI_Request_free(request);
    return error;
}

static int make_persistent(const call_t *c, MPI_Comm comm)
{
    MPI_Request request;
    MPI_Info info = MPI_INFO_NULL;
    if (is(c, "Bcast"))
        return run(MPI_Bcast_init(recv, c->count, c->type, c->root, comm, info, &request),
                   &request);
    if (is(c, "Reduce"))
        return run(
            MPI_Reduce_init(send, recv, c->count, c->type, c->op, c->root, comm, info, &request),
            &request);
    if (is(c, "Allgather"))
        return run(MPI_Allgather_init(send, c->count, c->type, recv, c->count, c->type, comm, info,
                                      &request),
                   &request);
    return run(MPI_Allreduce_init(send, recv, c->count, c->type, c->op, comm, info, &request),
               &request);
}

static int make(const call_t *c, MPI_Comm comm)
{
    for (int i = 0; i < RANKS_MAX; i++) {
        counts[i] = c->count;
        displs[i] = i * MOST;
    }
    if (c->form == NONBLOCKING)
        return make_nonblocking(c, comm);
    if (c->form == PERSISTENT)
        return make_persistent(c, comm);
    if (is(c, "Barrier"))
        return MPI_Barrier(comm);
    if (is(c, "Bcast"))
        return MPI_Bcast(recv, c->count, c->type, c->root, comm);
    if (is(c, "Reduce"))
        return MPI_Reduce(send, recv, c->count, c->type, c->op, c->root, comm);
    if (is(c, "Allreduce"))
        return MPI_Allreduce(send, recv, c->count, c->type, c->op, comm);
    if (is(c, "Scan"))
        return MPI_Scan(send, recv, c->count, c->type, c->op, comm);
    if (is(c, "Exscan"))
        return MPI_Exscan(send, recv, c->count, c->type, c->op, comm);
    if (is(c, "Gather"))
        return MPI_Gather(send, c->count, c->type, recv, c->count, c->type, c->root, comm);
    if (is(c, "Scatter"))
        return MPI_Scatter(send, c->count, c->type, recv, c->count, c->type, c->root, comm);
    if (is(c, "Allgather"))
        return MPI_Allgather(send, c->count, c->type, recv, c->count, c->type, comm);
    if (is(c, "Alltoall"))
        return MPI_Alltoall(send, c->count, c->type, recv, c->count, c->type, comm);
    if (is(c, "Gatherv"))
        return MPI_Gatherv(send, c->count, c->type, recv, counts, displs, c->type, c->root, comm);
    if (is(c, "Scatterv"))
        return MPI_Scatterv(send, counts, displs, c->type, recv, c->count, c->type, c->root, comm);
    if (is(c, "Allgatherv"))
        return MPI_Allgatherv(send, c->count, c->type, recv, counts, displs, c->type, comm);
    if (is(c, "Alltoallv"))
        return MPI_Alltoallv(send, counts, displs, c->type, recv, counts, displs, c->type, comm);
    if (is(c, "Reduce_scatter"))
        return MPI_Reduce_scatter(send, recv, counts, c->type, c->op, comm);
    if (is(c, "Reduce_scatter_block"))
        return MPI_Reduce_scatter_block(send, recv, c->count, c->type, c->op, comm);
    abort();
}

/* Whether there is no error, or one of the class that says what differs. */
static int is_right(int error, int class, const char *text)
{
    int found, length;
    char string[MPI_MAX_ERROR_STRING];
    if (error == MPI_SUCCESS)
        return 1;
    MPI_Error_class(error, &found);
    MPI_Error_string(error, string, &length);
    int right = found == class && strstr(string, text) != NULL;
    if (!right)
        fprintf(stderr, "rank %d: class %d, not %d: %s\n", rank, found, class, string);
    return right;
}

static int count(int mine)
{
    int all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static const char *const prefixes[] = {"", "I", "persistent "};

/* `warm`: the ranks have made calls on the communicator before. */
static void try(const call_t *one, const call_t *other, int odd, int class, const char *text,
                int warm)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < warm; i++)
        MPI_Allreduce(send, recv, 1, MPI_INT, MPI_SUM, comm);
    int error = make(rank == odd ? other : one, comm), sum;
    int failed = count(error != MPI_SUCCESS), right = count(is_right(error, class, text));
    /* A rank that has waited for nobody learns of it here. */
    error = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    int later = count(error != MPI_SUCCESS), found = MPI_SUCCESS;
    MPI_Error_class(error, &found);
    right += count(found == MPI_ERR_TRUNCATE || is_right(error, MPI_ERR_OTHER, "calls"));
    tap_check(failed + later > 0 && right == 2 * size && (later == 0 || later == size),
              "%s%s and %s%s of rank %d, %s: %d errors, then %d of %d ranks", prefixes[one->form],
              one->name, prefixes[other->form], other->name, odd, warm ? "warm" : "cold", failed,
              later, size);
    MPI_Comm_free(&comm);
}

static void agree(const call_t *one, const call_t *other, int warm)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < warm; i++)
        MPI_Allreduce(send, recv, 1, MPI_INT, MPI_SUM, comm);
    int error = make(rank == size - 1 ? other : one, comm);
    tap_check(is_right(error, MPI_SUCCESS, ""), "%s of %d and %d elements is legal", one->name,
              one->count, other->count);
    MPI_Comm_free(&comm);
}

enum { LENGTHS = 3 };

static const int lengths[LENGTHS] = {4, 100, MOST};

static const char *const names[] = {
    "Bcast",   "Gather",    "Scatter",  "Allgather", "Alltoall",       "Allgatherv",
    "Reduce",  "Allreduce", "Scan",     "Exscan",    "Reduce_scatter", "Reduce_scatter_block",
    "Barrier", "Gatherv",   "Scatterv", "Alltoallv"};

/* In that order: [0, 6) move data that all ranks describe alike, [6, 12) reduce it. */
enum { PLAIN = 6, ALIKE = 12, NAMES = 16 };

static call_t a_call(const char *name, int count)
{
    return (call_t){name, MPI_INT, MPI_SUM, count, 0, 0};
}

static int has_root(const call_t *call)
{
    static const char *const rooted[] = {"Bcast",   "Reduce",  "Gather",
                                         "Scatter", "Gatherv", "Scatterv"};
    for (size_t i = 0; i < sizeof rooted / sizeof *rooted; i++) {
        if (is(call, rooted[i]))
            return 1;
    }
    return 0;
}

/* Everything in which calls of one kind can differ; in turn by each rank. */
static void try_arguments(int i, int length)
{
    call_t one = a_call(names[i], lengths[length]), other = one;
    int odd = (i + length) % size, warm = (i + length / 2) % 2;
    other.root = 1;
    if (has_root(&one))
        try(&one, &other, odd, MPI_ERR_ROOT, "root 1", warm);
    other = one;
    other.op = MPI_MAX;
    if (i >= PLAIN && i < ALIKE)
        try(&one, &other, odd, MPI_ERR_OP, "MPI_MAX", warm);
    other = one;
    other.type = MPI_FLOAT;
    if (i < ALIKE)
        try(&one, &other, odd, MPI_ERR_TYPE, "MPI_FLOAT", warm);
    other = one;
    other.count = lengths[(length + 1) % LENGTHS];
    if (i < ALIKE)
        try(&one, &other, odd, MPI_ERR_TRUNCATE, "", warm);
}

static void try_kinds(int i, int length)
{
    call_t one = a_call(names[i], lengths[length]);
    call_t other = a_call(names[(i + 1 + length) % NAMES], lengths[length]);
    try(&one, &other, i % size, MPI_ERR_OTHER, "MPI_", (i + length) % 2);
}

/* A form of a kind that all have; the other ranks wait for it, or it for them. */
static void try_nonblocking(void)
{
    static const char *const some[] = {"Barrier", "Bcast", "Reduce", "Allgather", "Allreduce"};
    enum { SOME = sizeof some / sizeof *some };
    for (int i = 0; i < SOME; i++) {
        for (int length = 0; length < LENGTHS; length++) {
            call_t one = a_call(some[i], lengths[length]);
            call_t other = a_call(some[(i + 1 + length) % SOME], lengths[length]);
            one.form = NONBLOCKING;
            other.form = (i + length) % 2 ? NONBLOCKING : BLOCKING;
            try(&one, &other, (i + length) % size, MPI_ERR_OTHER, "MPI_", length % 2);
        }
    }
}

/* The same form of the same kind; it depends on the time who learns of it, but for full checks. */
static void differ(const call_t *one, const call_t *other, int odd, int class, const char *text)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int error = make(rank == odd ? other : one, comm);
    int failed = count(error != MPI_SUCCESS), right = count(is_right(error, class, text));
    tap_check(right == size && (failed == size || !is_full), "%s%s and %s of rank %d: %d errors",
              prefixes[one->form], one->name, text, odd, failed);
    MPI_Comm_free(&comm);
}

static void differ_in_forms(int form, int length)
{
    static const char *const some[] = {"Bcast", "Allgather", "Reduce", "Allreduce"};
    for (int i = 0; i < 4; i++) {
        call_t one = a_call(some[i], lengths[length]), other;
        int odd = (i + length) % size;
        one.form = form;
        other = one;
        other.root = 1;
        if (has_root(&one))
            differ(&one, &other, odd, MPI_ERR_ROOT, "root 1");
        other = one;
        other.op = MPI_MAX;
        if (i >= 2)
            differ(&one, &other, odd, MPI_ERR_OP, "MPI_MAX");
        other = one;
        other.type = MPI_FLOAT;
        differ(&one, &other, odd, MPI_ERR_TYPE, "MPI_FLOAT");
        other = one;
        other.count = 3;
        if (is_full)
            differ(&one, &other, odd, MPI_ERR_TRUNCATE, "3 MPI_INT");
    }
}

static void agree_all(void)
{
    MPI_Datatype vector;
    MPI_Type_vector(4, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    for (int i = 0; i < ALIKE; i++) {
        call_t four = a_call(names[i], 4), other = four;
        call_t nothing = {names[i], MPI_INT, MPI_SUM, 0, 0, 0}, none = nothing;
        none.type = MPI_FLOAT;
        other.type = MPI_INT32_T;
        for (int warm = 0; warm < 2; warm++) {
            agree(&four, &other, warm);
            agree(&nothing, &none, warm);
            if (i < PLAIN && i != 3 && i != 5) {
                call_t strided = {names[i], vector, MPI_SUM, 1, 0, 0};
                call_t bytes = {names[i], MPI_BYTE, MPI_SUM, 16, 0, 0};
                agree(&four, &strided, warm);
                agree(&four, &bytes, warm);
            }
        }
    }
    MPI_Type_free(&vector);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    is_full = argc > 1;
    for (int length = 0; length < LENGTHS; length++) {
        for (int i = 0; i < NAMES; i++) {
            try_kinds(i, length);
            try_arguments(i, length);
        }
    }
    try_nonblocking();
    for (int length = 0; length < LENGTHS; length++) {
        differ_in_forms(NONBLOCKING, length);
        differ_in_forms(PERSISTENT, length);
    }
    agree_all();
    MPI_Finalize();
    return tap_finish();
}
