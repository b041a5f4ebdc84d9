/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tags up to MPI_TAG_UB go through, larger ones are refused, and so are more partitions than there
 * are tags for. The least MPI_TAG_UB that is expected is the first argument, the most the second.
 */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"

static int rank, size, limit, left, right;

static bool is_class(int error, int expected)
{
    int class;
    MPI_Error_class(error, &class);
    return class == expected;
}

static bool passes(int tag)
{
    int in = -1;
    MPI_Status status;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, tag, &in, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
    bool good = in == left && status.MPI_TAG == tag;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, tag, &in, 1, MPI_INT, MPI_ANY_SOURCE, tag,
                 MPI_COMM_WORLD, &status);
    return good && in == left && status.MPI_TAG == tag && status.MPI_SOURCE == left;
}

static void check_refusals(void)
{
    int in = 0, flag;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    if (limit == INT_MAX) {
        tap_check(true, "no tag is larger");
        return;
    }
    int tag = limit + 1;
    tap_check(is_class(MPI_Send(&in, 1, MPI_INT, right, tag, MPI_COMM_WORLD), MPI_ERR_TAG) &&
                  is_class(MPI_Recv(&in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                           MPI_ERR_TAG) &&
                  is_class(MPI_Irecv(&in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &request),
                           MPI_ERR_TAG) &&
                  is_class(MPI_Iprobe(left, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE),
                           MPI_ERR_TAG) &&
                  is_class(MPI_Send_init(&in, 1, MPI_INT, right, tag, MPI_COMM_WORLD, &request),
                           MPI_ERR_TAG) &&
                  is_class(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, tag, &comm),
                           MPI_ERR_TAG),
              "%d is refused", tag);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* there is none */
}

/* Partitions have tags of their own: a quarter as many as there are. */
static void check_partitions(void)
{
    int count = limit / 4 + 1, error = MPI_SUCCESS;
    MPI_Request first = MPI_REQUEST_NULL, second = MPI_REQUEST_NULL;
    if (limit > 1 << 20) {
        tap_check(true, "so many partitions would not fit into memory");
        return;
    }
    error = MPI_Psend_init(NULL, count, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &first);
    bool all = error == MPI_SUCCESS && first != MPI_REQUEST_NULL;
    error = MPI_Psend_init(NULL, 1, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &second);
    tap_check(all && is_class(error, MPI_ERR_OTHER), "%d partitions, and not one more", count);
    MPI_Request_free(&first);
    error = MPI_Psend_init(NULL, 1, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &second);
    tap_check(error == MPI_SUCCESS, "but when they are gone");
    MPI_Request_free(&second);
}

int main(int argc, char **argv)
{
    int *value = NULL, flag = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    limit = flag ? *value : -1;
    tap_check(limit >= (argc > 1 ? atoi(argv[1]) : 32767) &&
                  limit <= (argc > 2 ? atoi(argv[2]) : INT_MAX),
              "MPI_TAG_UB is %d", limit);
    tap_check(passes(limit) && passes(limit - 1) && passes(limit / 2), "tags up to it go through");
    check_refusals();
    check_partitions();
    MPI_Finalize();
    return tap_finish();
}
