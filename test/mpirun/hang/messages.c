/* SPDX-License-Identifier: BSD-3-Clause */
/* A message that nobody sends, or that does not match. See hang.h. */
#include "hang.h"

enum { TAG = 7, OTHER_TAG = 8 };

static void receive(int source, int tag)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @receive */
}

static void send(int dest, int tag)
{
    MPI_Send(&rank, 1, MPI_INT, dest, tag, MPI_COMM_WORLD); /* @send */
}

/* Both ranks receive first. */
static void receive_cycle_of_2(void)
{
    receive(1 - rank, TAG);
    send(1 - rank, TAG);
}

/* Each receives from its left neighbour, and would send afterwards. */
static void receive_cycle_of_5(void)
{
    receive((rank + size - 1) % size, TAG);
    send((rank + 1) % size, TAG);
}

/* Each sends first, which small messages forgive, and large ones do not. */
static void send_cycle(void)
{
    MPI_Send(large, LARGE_BYTES, MPI_CHAR, (rank + 1) % size, TAG, /* @large */
             MPI_COMM_WORLD);
    MPI_Recv(large, LARGE_BYTES, MPI_CHAR, (rank + size - 1) % size, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

/* Another tag is sent than is waited for. */
static void wrong_tag(void)
{
    if (rank == 0)
        send(1, OTHER_TAG);
    if (rank == 1)
        receive(0, TAG);
    MPI_Barrier(MPI_COMM_WORLD); /* @barrier_after_tag */
}

/* The message is sent on one communicator, and waited for on another one. */
static void wrong_communicator(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_name(copy, "the solver's copy");
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(&size, 1, MPI_INT, 0, TAG, copy, MPI_STATUS_IGNORE); /* @copy */
    MPI_Barrier(copy);                                                /* @barrier_after_copy */
}

/* Rank 2 has sent; rank 0 waits for rank 1. */
static void wrong_source(void)
{
    if (rank == 2)
        send(0, TAG);
    if (rank == 0)
        receive(1, TAG);
    MPI_Barrier(MPI_COMM_WORLD); /* @barrier_after_source */
}

/* A rank of MPI_COMM_WORLD is used on a communicator in which the ranks have other numbers. */
static void rank_of_another_communicator(void)
{
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
    MPI_Comm_set_name(reversed, "reversed");
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 1, TAG, reversed);
    if (rank == 2)
        MPI_Recv(&size, 1, MPI_INT, 0, TAG, reversed, MPI_STATUS_IGNORE); /* @reversed */
    MPI_Barrier(reversed);                                                /* @barrier_reversed */
}

/* One message more is waited for than is sent. */
static void wrong_count_of_messages(void)
{
    for (int i = 0; i < 3 && rank == 0; i++)
        send(1, TAG);
    for (int i = 0; i < 4 && rank == 1; i++)
        receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
    MPI_Barrier(MPI_COMM_WORLD); /* @barrier_after_count */
}

/* A synchronous send to itself, in a job of one rank. */
static void send_to_itself(void)
{
    MPI_Ssend(&rank, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD); /* @to_itself */
}

/* A receive from itself. */
static void receive_from_itself(void)
{
    receive(rank, TAG);
}

/* The shift is not the same on both sides: +1 in one argument, +2 in the other one. */
static void wrong_partner(void)
{
    int in;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, TAG, &in, 1, MPI_INT, /* @partner */
                 (rank + size - 2) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Looks for a message that nobody sends. */
static void probe_loop(void)
{
    int flag = rank != 0;
    while (!flag)
        MPI_Iprobe(1, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); /* @iprobe */
    if (rank == 1)
        receive(0, TAG);
}

/* Waits for a message by MPI_Probe that nobody sends. */
static void probe(void)
{
    if (rank == 0)
        MPI_Probe(MPI_ANY_SOURCE, OTHER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @probe */
    else
        send(0, TAG);
    MPI_Barrier(MPI_COMM_WORLD); /* @barrier_after_probe */
}

/* A receive on an intercommunicator of a rank that does not send: ranks 0, 1 and ranks 2, 3. */
static void intercommunicator(void)
{
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank / 2 == 0 ? 2 : 0, TAG, &between);
    MPI_Comm_set_name(between, "between");
    if (rank == 0)
        MPI_Recv(&size, 1, MPI_INT, 1, TAG, between, MPI_STATUS_IGNORE); /* @between */
    MPI_Barrier(between);                                                /* @barrier_between */
}

const hang_case_t message_cases[] = {
    {"receive_cycle_of_2", receive_cycle_of_2, 0},
    {"receive_cycle_of_5", receive_cycle_of_5, 0},
    {"send_cycle", send_cycle, 0},
    {"wrong_tag", wrong_tag, 0},
    {"wrong_communicator", wrong_communicator, 0},
    {"wrong_source", wrong_source, 0},
    {"rank_of_another_communicator", rank_of_another_communicator, 0},
    {"wrong_count_of_messages", wrong_count_of_messages, 0},
    {"send_to_itself", send_to_itself, 0},
    {"receive_from_itself", receive_from_itself, 0},
    {"wrong_partner", wrong_partner, 0},
    {"probe_loop", probe_loop, 0},
    {"probe", probe, 0},
    {"intercommunicator", intercommunicator, 0},
    {0},
};
