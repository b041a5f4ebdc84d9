/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of p2p_random: which of MPI_X and MPI_X_c, and whether an exchange is waited for at
 * once or later, each rank draws for itself.
 */
#ifndef TEST_MPI_P2P_CALLS_H
#define TEST_MPI_P2P_CALLS_H

#include "p2p_plan.h"

#define CALL(name, ...)                                                                            \
    (draw(&own_state, 2) == 0 ? MPI_##name(__VA_ARGS__) : MPI_##name##_c(__VA_ARGS__))

static inline int call_send(send_mode_t mode, const area_t *area, int dest, int tag, MPI_Comm comm)
{
    MPI_Datatype type = area->layout->type;
    switch (mode) {
    case STANDARD:
        return CALL(Send, area->buffer, area->count, type, dest, tag, comm);
    case BUFFERED:
        return CALL(Bsend, area->buffer, area->count, type, dest, tag, comm);
    case SYNCHRONOUS:
        return CALL(Ssend, area->buffer, area->count, type, dest, tag, comm);
    default:
        return CALL(Rsend, area->buffer, area->count, type, dest, tag, comm);
    }
}

/* A nonblocking send, or a persistent one that the caller starts. */
#define CALL_ISEND(now, later)                                                                     \
    (is_persistent ? CALL(later, area->buffer, area->count, type, dest, tag, comm, request)        \
                   : CALL(now, area->buffer, area->count, type, dest, tag, comm, request))

static inline int call_isend(send_mode_t mode, bool is_persistent, const area_t *area, int dest,
                             int tag, MPI_Comm comm, MPI_Request *request)
{
    MPI_Datatype type = area->layout->type;
    switch (mode) {
    case STANDARD:
        return CALL_ISEND(Isend, Send_init);
    case BUFFERED:
        return CALL_ISEND(Ibsend, Bsend_init);
    case SYNCHRONOUS:
        return CALL_ISEND(Issend, Ssend_init);
    default:
        return CALL_ISEND(Irsend, Rsend_init);
    }
}

static inline int call_receive(const area_t *area, int source, int tag, MPI_Comm comm,
                               MPI_Status *status)
{
    return CALL(Recv, area->buffer, area->count, area->layout->type, source, tag, comm, status);
}

static inline int call_sendrecv(const area_t *send, int dest, const area_t *receive, int source,
                                MPI_Comm comm, MPI_Status *status)
{
    MPI_Datatype from = send->layout->type, to = receive->layout->type;
    MPI_Request request;
    if (draw(&own_state, 2) == 0)
        return CALL(Sendrecv, send->buffer, send->count, from, dest, 1, receive->buffer,
                    receive->count, to, source, 1, comm, status);
    CALL(Isendrecv, send->buffer, send->count, from, dest, 1, receive->buffer, receive->count, to,
         source, 1, comm, &request);
    return MPI_Wait(&request, status);
}

static inline int call_replace(const area_t *area, int dest, int source, MPI_Comm comm,
                               MPI_Status *status)
{
    MPI_Datatype type = area->layout->type;
    MPI_Request request;
    if (draw(&own_state, 2) == 0)
        return CALL(Sendrecv_replace, area->buffer, area->count, type, dest, 1, source, 1, comm,
                    status);
    CALL(Isendrecv_replace, area->buffer, area->count, type, dest, 1, source, 1, comm, &request);
    return MPI_Wait(&request, status);
}

#endif
