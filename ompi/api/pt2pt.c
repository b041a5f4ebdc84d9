/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter pt2pt: they take the message lock and call the pml. With MPI_PROC_NULL
 * every call succeeds at once, and receives are empty. Where threads share, plain sends and
 * receives try the pml's unlocked fast path first.
 */
#include <stdlib.h>

#include "ompi/api/bodies.h"
#include "ompi/request/pair.h"
#include "ompi/request/status.h"

static ompi_data_t data_of(const void *buffer, MPI_Count count, ompi_datatype_t *type)
{
    return (ompi_data_t){(void *)(uintptr_t)buffer, (size_t)count, type};
}

static void set_no_process(MPI_Status *status)
{
    MPI_Status none;
    ompi_status_set(&none, MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0);
    ompi_status_fill(status, &none);
}

/* A request to or from MPI_PROC_NULL. */
static int request_nothing(bool receive, bool persistent, ompi_request_t **request)
{
    MPI_Status status;
    ompi_status_set(&status, receive ? MPI_PROC_NULL : MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, 0);
    ompi_request_t *made = persistent ? ompi_request_create_persistent_done(&status)
                                      : ompi_request_create_done(&status);
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    *request = made;
    return MPI_SUCCESS;
}

/* -- where threads may be ------------------------------------------------------------- */

OPAL_NOINLINE static int send_locked(const ompi_route_t *to, const ompi_data_t *data,
                                     ompi_send_mode_t mode)
{
    if (ompi_pml_tries_unlocked() && ompi_pml->try_send_unlocked(to, data, mode))
        return MPI_SUCCESS;
    ompi_lock();
    int error = ompi_pml->send(to, data, mode);
    ompi_unlock();
    return error;
}

OPAL_NOINLINE static int isend_locked(const ompi_route_t *to, const ompi_data_t *data,
                                      ompi_send_mode_t mode, ompi_request_t **request)
{
    if (ompi_pml_tries_unlocked() && ompi_pml->try_send_unlocked(to, data, mode)) {
        *request = &ompi_request_sent;
        return MPI_SUCCESS;
    }
    ompi_lock();
    int error = ompi_pml->isend(to, data, mode, request);
    ompi_unlock();
    return error;
}

OPAL_NOINLINE static int recv_locked(const ompi_route_t *from, const ompi_data_t *data,
                                     MPI_Status *status)
{
    int error;
    ompi_request_t *request;
    if (ompi_pml_tries_unlocked()) {
        if (ompi_pml->try_recv_unlocked(from, data, status, &error))
            return error;
        if (ompi_pml->try_irecv_unlocked(from, data, &request))
            return ompi_api_wait(&request, status);
    }
    ompi_lock();
    error = ompi_pml->recv(from, data, status);
    ompi_unlock();
    return error;
}

OPAL_NOINLINE static int irecv_locked(const ompi_route_t *from, const ompi_data_t *data,
                                      ompi_request_t **request)
{
    if (ompi_pml_tries_unlocked() && ompi_pml->try_irecv_unlocked(from, data, request))
        return MPI_SUCCESS;
    ompi_lock();
    int error = ompi_pml->irecv(from, data, request);
    ompi_unlock();
    return error;
}

/* -- the calls ------------------------------------------------------------------------- */

int ompi_api_send(const void *buf, MPI_Count count, ompi_datatype_t *datatype, int dest, int tag,
                  ompi_communicator_t *comm, ompi_send_mode_t mode)
{
    if (dest == MPI_PROC_NULL)
        return MPI_SUCCESS;
    ompi_route_t to = {comm, OMPI_CONTEXT_USER, dest, tag};
    ompi_data_t data = data_of(buf, count, datatype);
    return opal_likely(!ompi_lock_needed) ? ompi_pml->send(&to, &data, mode)
                                          : send_locked(&to, &data, mode);
}

int ompi_api_isend(const void *buf, MPI_Count count, ompi_datatype_t *datatype, int dest, int tag,
                   ompi_communicator_t *comm, ompi_send_mode_t mode, ompi_request_t **request)
{
    if (dest == MPI_PROC_NULL)
        return request_nothing(false, false, request);
    ompi_route_t to = {comm, OMPI_CONTEXT_USER, dest, tag};
    ompi_data_t data = data_of(buf, count, datatype);
    return opal_likely(!ompi_lock_needed) ? ompi_pml->isend(&to, &data, mode, request)
                                          : isend_locked(&to, &data, mode, request);
}

int ompi_api_recv(void *buf, MPI_Count count, ompi_datatype_t *datatype, int source, int tag,
                  ompi_communicator_t *comm, MPI_Status *status)
{
    if (source == MPI_PROC_NULL) {
        set_no_process(status);
        return MPI_SUCCESS;
    }
    ompi_route_t from = {comm, OMPI_CONTEXT_USER, source, tag};
    ompi_data_t data = data_of(buf, count, datatype);
    return opal_likely(!ompi_lock_needed) ? ompi_pml->recv(&from, &data, status)
                                          : recv_locked(&from, &data, status);
}

int ompi_api_irecv(void *buf, MPI_Count count, ompi_datatype_t *datatype, int source, int tag,
                   ompi_communicator_t *comm, ompi_request_t **request)
{
    if (source == MPI_PROC_NULL)
        return request_nothing(true, false, request);
    ompi_route_t from = {comm, OMPI_CONTEXT_USER, source, tag};
    ompi_data_t data = data_of(buf, count, datatype);
    return opal_likely(!ompi_lock_needed) ? ompi_pml->irecv(&from, &data, request)
                                          : irecv_locked(&from, &data, request);
}

/* Ends the receive of a sendrecv whose send has failed. A receive that has matched its message
 * already completes with it, so that nothing writes to the buffer afterwards. */
static void end_receive(ompi_request_t **receive)
{
    ompi_request_cancel(*receive);
    ompi_request_wait(receive, 1, 1);
    ompi_request_free(receive);
}

int ompi_api_sendrecv(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype, int dest,
                      int sendtag, void *recvbuf, MPI_Count recvcount, ompi_datatype_t *recvtype,
                      int source, int recvtag, ompi_communicator_t *comm, MPI_Status *status)
{
    ompi_request_t *request;
    int error = ompi_api_irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &request);
    if (error != MPI_SUCCESS)
        return error;
    int sent = ompi_api_send(sendbuf, sendcount, sendtype, dest, sendtag, comm, OMPI_SEND_STANDARD);
    if (sent == MPI_SUCCESS && ompi_threads_share())
        return ompi_api_wait(&request, status);
    ompi_lock();
    if (sent != MPI_SUCCESS) {
        end_receive(&request);
    } else {
        ompi_request_wait(&request, 1, 1);
        error = ompi_request_finish(&request, status);
    }
    ompi_unlock();
    return sent != MPI_SUCCESS ? sent : error;
}

/* -- both directions ----------------------------------------------------------------- */

/* A send and a receive; either may be with MPI_PROC_NULL. */
typedef struct exchange {
    ompi_route_t to, from;
    ompi_data_t out, in;
} exchange_t;

static int start_parts(const exchange_t *exchange, ompi_request_t *pair)
{
    ompi_request_t *receive = NULL, *send = NULL;
    if (exchange->from.rank == MPI_PROC_NULL) {
        ompi_status_set(&pair->status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0);
    } else {
        int error = ompi_pml->irecv(&exchange->from, &exchange->in, &receive);
        if (error != MPI_SUCCESS)
            return error;
    }
    if (exchange->to.rank != MPI_PROC_NULL) {
        int error = ompi_pml->isend(&exchange->to, &exchange->out, OMPI_SEND_STANDARD, &send);
        if (error != MPI_SUCCESS) {
            if (receive != NULL)
                end_receive(&receive);
            return error;
        }
    }
    if (receive != NULL) /* first: the send may have failed already */
        ompi_pair_add(pair, receive, true);
    if (send != NULL)
        ompi_pair_add(pair, send, false);
    return MPI_SUCCESS;
}

/* Takes `scratch`, which has the data to send; frees it with the request, or before an error. */
static int start_exchange(const exchange_t *exchange, void *scratch, ompi_request_t **request)
{
    ompi_lock();
    ompi_request_t *pair = ompi_pair_create(exchange->to.comm, scratch);
    int error = pair != NULL ? start_parts(exchange, pair) : MPI_ERR_NO_MEM;
    if (pair == NULL)
        free(scratch);
    else
        ompi_pair_seal(pair);
    if (error == MPI_SUCCESS)
        *request = pair;
    else if (pair != NULL)
        ompi_request_free(&pair);
    ompi_unlock();
    return error;
}

int ompi_api_isendrecv(const void *sendbuf, MPI_Count sendcount, ompi_datatype_t *sendtype,
                       int dest, int sendtag, void *recvbuf, MPI_Count recvcount,
                       ompi_datatype_t *recvtype, int source, int recvtag,
                       ompi_communicator_t *comm, ompi_request_t **request)
{
    exchange_t exchange = {
        .to = {comm, OMPI_CONTEXT_USER, dest, sendtag},
        .from = {comm, OMPI_CONTEXT_USER, source, recvtag},
        .out = data_of(sendbuf, sendcount, sendtype),
        .in = data_of(recvbuf, recvcount, recvtype),
    };
    return start_exchange(&exchange, NULL, request);
}

/* The data to send is packed into a copy first. */
int ompi_api_isendrecv_replace(void *buf, MPI_Count count, ompi_datatype_t *datatype, int dest,
                               int sendtag, int source, int recvtag, ompi_communicator_t *comm,
                               ompi_request_t **request)
{
    size_t bytes = ompi_datatype_bytes(datatype, (size_t)count);
    void *scratch = NULL;
    if (dest != MPI_PROC_NULL && bytes > 0) {
        scratch = malloc(bytes);
        if (scratch == NULL)
            return MPI_ERR_NO_MEM;
        ompi_datatype_pack(datatype, (size_t)count, buf, 0, scratch, bytes);
    }
    exchange_t exchange = {
        .to = {comm, OMPI_CONTEXT_USER, dest, sendtag},
        .from = {comm, OMPI_CONTEXT_USER, source, recvtag},
        .out = {scratch, bytes, ompi_datatype_of(MPI_BYTE)},
        .in = data_of(buf, count, datatype),
    };
    return start_exchange(&exchange, scratch, request);
}

int ompi_api_sendrecv_replace(void *buf, MPI_Count count, ompi_datatype_t *datatype, int dest,
                              int sendtag, int source, int recvtag, ompi_communicator_t *comm,
                              MPI_Status *status)
{
    ompi_request_t *request;
    int error = ompi_api_isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag,
                                           comm, &request);
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    ompi_request_wait(&request, 1, 1);
    error = ompi_request_finish(&request, status);
    ompi_unlock();
    return error;
}

/* -- persistent ---------------------------------------------------------------------- */

int ompi_api_send_init(const void *buf, MPI_Count count, ompi_datatype_t *datatype, int dest,
                       int tag, ompi_communicator_t *comm, ompi_send_mode_t mode,
                       ompi_request_t **request)
{
    if (dest == MPI_PROC_NULL)
        return request_nothing(false, true, request);
    ompi_route_t to = {comm, OMPI_CONTEXT_USER, dest, tag};
    ompi_data_t data = data_of(buf, count, datatype);
    ompi_lock();
    int error = ompi_pml->send_init(&to, &data, mode, request);
    ompi_unlock();
    return error;
}

int ompi_api_recv_init(void *buf, MPI_Count count, ompi_datatype_t *datatype, int source, int tag,
                       ompi_communicator_t *comm, ompi_request_t **request)
{
    if (source == MPI_PROC_NULL)
        return request_nothing(true, true, request);
    ompi_route_t from = {comm, OMPI_CONTEXT_USER, source, tag};
    ompi_data_t data = data_of(buf, count, datatype);
    ompi_lock();
    int error = ompi_pml->recv_init(&from, &data, request);
    ompi_unlock();
    return error;
}

/* -- probing ------------------------------------------------------------------------- */

static int probe_once(ompi_communicator_t *comm, int source, int tag, bool *found,
                      ompi_message_t **message, MPI_Status *status)
{
    ompi_route_t from = {comm, OMPI_CONTEXT_USER, source, tag};
    int error = ompi_pml->iprobe(&from, found, message, status);
    if (error == MPI_SUCCESS && !*found) {
        ompi_pml_probed = from;
        ompi_request_look();
        error = ompi_pml->iprobe(&from, found, message, status);
    }
    return error;
}

int ompi_api_iprobe(int source, int tag, ompi_communicator_t *comm, int *flag, MPI_Status *status)
{
    bool found = true;
    int error = MPI_SUCCESS;
    if (source == MPI_PROC_NULL) {
        set_no_process(status);
    } else {
        ompi_lock();
        error = probe_once(comm, source, tag, &found, NULL, status);
        ompi_unlock();
    }
    *flag = found;
    return error;
}

int ompi_api_probe(int source, int tag, ompi_communicator_t *comm, MPI_Status *status)
{
    if (source == MPI_PROC_NULL) {
        set_no_process(status);
        return MPI_SUCCESS;
    }
    ompi_route_t from = {comm, OMPI_CONTEXT_USER, source, tag};
    ompi_lock();
    ompi_pml_probed = from;
    int error = ompi_pml->probe(&from, NULL, status);
    ompi_unlock();
    return error;
}

int ompi_api_improbe(int source, int tag, ompi_communicator_t *comm, int *flag,
                     ompi_message_t **message, MPI_Status *status)
{
    bool found = true;
    int error = MPI_SUCCESS;
    if (source == MPI_PROC_NULL) {
        set_no_process(status);
        *message = &ompi_message_no_process;
    } else {
        ompi_lock();
        error = probe_once(comm, source, tag, &found, message, status);
        ompi_unlock();
    }
    *flag = found;
    return error;
}

int ompi_api_mprobe(int source, int tag, ompi_communicator_t *comm, ompi_message_t **message,
                    MPI_Status *status)
{
    if (source == MPI_PROC_NULL) {
        set_no_process(status);
        *message = &ompi_message_no_process;
        return MPI_SUCCESS;
    }
    ompi_route_t from = {comm, OMPI_CONTEXT_USER, source, tag};
    ompi_lock();
    ompi_pml_probed = from;
    int error = ompi_pml->probe(&from, message, status);
    ompi_unlock();
    return error;
}

int ompi_api_imrecv(void *buf, MPI_Count count, ompi_datatype_t *datatype, ompi_message_t **message,
                    ompi_request_t **request)
{
    ompi_message_t *taken = *message;
    if (taken == &ompi_message_no_process) {
        *message = NULL;
        return request_nothing(true, false, request);
    }
    ompi_data_t data = data_of(buf, count, datatype);
    ompi_lock();
    int error = ompi_pml->imrecv(taken, &data, request);
    ompi_unlock();
    if (error == MPI_SUCCESS)
        *message = NULL;
    return error;
}

int ompi_api_mrecv(void *buf, MPI_Count count, ompi_datatype_t *datatype, ompi_message_t **message,
                   MPI_Status *status)
{
    ompi_request_t *request;
    int error = ompi_api_imrecv(buf, count, datatype, message, &request);
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    ompi_request_wait(&request, 1, 1);
    error = ompi_request_finish(&request, status);
    ompi_unlock();
    return error;
}
