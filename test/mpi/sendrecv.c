/* SPDX-License-Identifier: BSD-3-Clause */
/* A send and a receive in one call: with one buffer, with two, waited for or not, with gaps in the
 * layout, with MPI_PROC_NULL on either side, and with a message that does not fit. */
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"

static int rank, size, left, right;

static void check_replace(int length, bool nonblocking)
{
    int *values = malloc((2 * (size_t)length + 1) * sizeof *values), count = -1;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Status status;
    bool good = true;
    MPI_Type_vector(length, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 * length; i++)
        values[i] = i % 2 == 0 ? rank * 1000000 + i : -7;
    if (nonblocking) {
        MPI_Isendrecv_replace(values, 1, type, right, 1, left, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
    } else {
        MPI_Sendrecv_replace(values, 1, type, right, 1, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    }
    MPI_Get_elements(&status, type, &count);
    good &= count == length && status.MPI_SOURCE == left && status.MPI_TAG == 1;
    for (int i = 0; i < 2 * length; i++)
        good &= values[i] == (i % 2 == 0 ? left * 1000000 + i : -7);
    tap_check(good, "%s of %d elements with gaps",
              nonblocking ? "MPI_Isendrecv_replace" : "MPI_Sendrecv_replace", length);
    MPI_Type_free(&type);
    free(values);
}

static void check_isendrecv(int length)
{
    int *out = calloc((size_t)length + 1, sizeof *out);
    int *in = malloc(((size_t)length + 1) * sizeof *in), count = -1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    bool good = true;
    for (int i = 0; i < length; i++)
        out[i] = rank * 1000000 + i;
    MPI_Isendrecv(out, length, MPI_INT, right, 2, in, length, MPI_INT, left, 2, MPI_COMM_WORLD,
                  &requests[0]);
    MPI_Isendrecv(NULL, 0, MPI_INT, left, 3, NULL, 0, MPI_INT, right, 3, MPI_COMM_WORLD,
                  &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    good &= count == length && statuses[0].MPI_SOURCE == left && statuses[1].MPI_SOURCE == right;
    for (int i = 0; i < length; i++)
        good &= in[i] == left * 1000000 + i;
    tap_check(good, "MPI_Isendrecv of %d numbers", length);
    /* Freed at once, it ends by itself: an answer tells. */
    in[0] = -1;
    MPI_Isendrecv(&rank, 1, MPI_INT, right, 4, in, 1, MPI_INT, left, 4, MPI_COMM_WORLD,
                  &requests[0]);
    MPI_Request_free(&requests[0]);
    for (int flag; in[0] != left;)
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    tap_check(requests[0] == MPI_REQUEST_NULL, "and one that is freed while it is active");
    free(out);
    free(in);
}

/* A chain: the first receives from nobody, the last sends to nobody. */
static void check_no_process(void)
{
    int before = rank == 0 ? MPI_PROC_NULL : rank - 1, count = -1, value = rank;
    int after = rank == size - 1 ? MPI_PROC_NULL : rank + 1, in = -1;
    MPI_Request request;
    MPI_Status status;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, after, 5, before, 5, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    bool good = rank == 0 ? value == 0 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL &&
                                status.MPI_TAG == MPI_ANY_TAG
                          : value == rank - 1 && count == 1 && status.MPI_SOURCE == before;
    MPI_Isendrecv(&rank, 1, MPI_INT, after, 6, &in, 1, MPI_INT, before, 6, MPI_COMM_WORLD,
                  &request);
    MPI_Wait(&request, &status);
    good &= rank == 0 ? in == -1 && status.MPI_SOURCE == MPI_PROC_NULL : in == rank - 1;
    tap_check(good, "a chain with MPI_PROC_NULL at its ends");
}

static void check_truncation(void)
{
    int out[2] = {1, 2}, in[2] = {-1, -1}, class, error;
    MPI_Request request;
    MPI_Status status;
    MPI_Isendrecv(out, 2, MPI_INT, right, 7, in, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &request);
    error = MPI_Wait(&request, &status);
    MPI_Error_class(error, &class);
    tap_check(class == MPI_ERR_TRUNCATE && in[0] == 1 && in[1] == -1, "a message that is too long");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    tap_rank(rank);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        check_replace(0, nonblocking);
        check_replace(10, nonblocking);
        check_replace(200000, nonblocking);
    }
    check_isendrecv(3);
    check_isendrecv(200000);
    check_no_process();
    check_truncation();
    MPI_Finalize();
    return tap_finish();
}
