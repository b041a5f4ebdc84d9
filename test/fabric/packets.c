/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that ofi_rxm sends in several packets, and those a little shorter and longer: taken out
 * of the matching, too long for their receive, never received. What comes behind them is what was
 * sent. On 2 ranks.
 *
 *   packets                     the lengths of ofi_rxm's limits
 *   packets BYTES               so many, in a communicator that the receiver has freed
 *   packets UNASKED LENGTH...   others; up to UNASKED, a send waits for no receive
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "test/mpi/tap.h"

enum { MAX_BYTES = 100000, PACKET = 16384, UNASKED = 65536 };

static const int sizes[] = {PACKET,  PACKET + 1,  40000,    UNASKED - 1,
                            UNASKED, UNASKED + 1, MAX_BYTES};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static int rank;
static unsigned char out[MAX_BYTES], in[2 * MAX_BYTES];

static unsigned char value(int position, int seed)
{
    return (unsigned char)(position * 7 + position / 251 + seed);
}

/* Every stride-th byte of `in`. */
static bool is_here(int bytes, int seed, int stride)
{
    for (int i = 0; i < bytes; i++) {
        if (in[i * stride] != value(i, seed))
            return false;
    }
    return true;
}

static void send_bytes(MPI_Comm comm, int bytes, int seed)
{
    for (int i = 0; i < bytes; i++)
        out[i] = value(i, seed);
    MPI_Send(out, bytes, MPI_BYTE, 1, seed, comm);
}

static bool fails(int error, int class)
{
    int found;
    MPI_Error_class(error, &found);
    return found == class;
}

/* The message of this seed, and the short one behind it that has the same tag. */
static void send_pair(MPI_Comm comm, int bytes, int seed)
{
    send_bytes(comm, bytes, seed);
    send_bytes(comm, 100, seed);
}

static bool second_is_right(MPI_Comm comm, int seed)
{
    MPI_Recv(in, 100, MPI_BYTE, 0, seed, comm, MPI_STATUS_IGNORE);
    return is_here(100, seed, 1);
}

static int take(int seed, int wanted, MPI_Datatype type, MPI_Status *status)
{
    MPI_Message message;
    memset(in, 0, sizeof in);
    MPI_Mprobe(0, seed, MPI_COMM_WORLD, &message, status);
    return MPI_Mrecv(in, wanted, type, &message, status);
}

static void taken_out(int bytes, int seed)
{
    MPI_Datatype apart;
    MPI_Status status;
    int count;
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            send_pair(MPI_COMM_WORLD, bytes, seed + i);
        return;
    }
    take(seed, bytes, MPI_BYTE, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    tap_check(count == bytes && is_here(bytes, seed, 1) && second_is_right(MPI_COMM_WORLD, seed),
              "%d bytes that a probe has taken", bytes);
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &apart);
    MPI_Type_commit(&apart);
    take(seed + 1, bytes, apart, &status);
    MPI_Type_free(&apart);
    tap_check(is_here(bytes, seed + 1, 2) && second_is_right(MPI_COMM_WORLD, seed + 1),
              "%d bytes, taken apart", bytes);
    tap_check(fails(take(seed + 2, bytes / 2, MPI_BYTE, &status), MPI_ERR_TRUNCATE) &&
                  is_here(bytes / 2, seed + 2, 1) && in[bytes / 2] == 0 &&
                  second_is_right(MPI_COMM_WORLD, seed + 2),
              "%d bytes, half of them wanted", bytes);
}

static void too_long(int bytes, int wanted, int seed)
{
    MPI_Request request;
    memset(in, 0, sizeof in);
    if (rank == 1)
        MPI_Irecv(in, wanted, MPI_BYTE, 0, seed, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        send_pair(MPI_COMM_WORLD, bytes, seed);
        return;
    }
    tap_check(fails(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE) &&
                  is_here(wanted, seed, 1) && in[wanted] == 0 &&
                  second_is_right(MPI_COMM_WORLD, seed),
              "%d bytes for a receive of %d", bytes, wanted);
}

/* A communicator with a message that nobody wants goes; the next one may get its number. */
static void thrown_away(int bytes, int seed)
{
    MPI_Comm comm;
    for (int round = 0; round < 2; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (rank == 0) {
            send_bytes(comm, bytes, seed);
            send_bytes(comm, 100, seed + 1);
        } else {
            MPI_Recv(in, 100, MPI_BYTE, 0, seed + 1, comm, MPI_STATUS_IGNORE); /* it is there */
            if (round == 1)
                MPI_Recv(in, bytes, MPI_BYTE, 0, seed, comm, MPI_STATUS_IGNORE);
        }
        MPI_Comm_free(&comm);
    }
    if (rank == 1)
        tap_check(is_here(bytes, seed, 1), "%d bytes after as many that were thrown away", bytes);
}

static void try_length(int bytes, bool is_unasked, int seed)
{
    taken_out(bytes, seed);
    too_long(bytes, 10, seed + 4);
    too_long(bytes, bytes - 1, seed + 5);
    if (!is_unasked)
        return; /* such a send waits for its receive */
    thrown_away(bytes, seed + 8);
}

/* It comes when its receiver has no such communicator any more, and has to leave all the same. */
static void freed_before(int bytes)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 1) {
        MPI_Comm_free(&comm);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        tap_check(true, "the receiver leaves");
        return;
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Isend(out, bytes, MPI_BYTE, 1, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    tap_check(true, "the sender's message has left");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    if (argc == 2) {
        freed_before(atoi(argv[1]));
        MPI_Finalize();
        return tap_finish();
    }
    tap_check(getenv("FI_OFI_RXM_SAR_LIMIT") == NULL && getenv("FI_OFI_RXM_EAGER_LIMIT") == NULL,
              "the environment is as it was");
    for (int i = 0; argc == 1 && i < SIZES; i++)
        try_length(sizes[i], sizes[i] <= UNASKED, 10 * i);
    for (int i = 2; i < argc; i++)
        try_length(atoi(argv[i]), atoi(argv[i]) <= atoi(argv[1]), 10 * i);
    MPI_Finalize();
    return tap_finish();
}
