/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter buffer, and the buffered sends. */
#include "ompi/buffer/buffer.h"

#include <stdio.h>

#include "ompi/api/bodies.h"
#include "ompi/check/left.h"
#include "ompi/request/status.h"

/* -- buffers ------------------------------------------------------------------------- */

static int attach(ompi_bsend_buffer_t **slot, void *memory, MPI_Count size)
{
    if (*slot != NULL)
        return ompi_api_set_error_detail(MPI_ERR_BUFFER, "A buffer is attached already.");
    if (memory == NULL && size > 0)
        return ompi_api_set_error_detail(MPI_ERR_BUFFER, "The buffer is NULL.");
    return ompi_bsend_buffer_attach(slot, memory, (size_t)size);
}

static int detach(ompi_bsend_buffer_t **slot, void *memory, MPI_Count *size)
{
    ompi_bsend_buffer_t *buffer = *slot;
    if (buffer == NULL)
        return ompi_api_set_error_detail(MPI_ERR_BUFFER, "No buffer is attached.");
    if (buffer->is_detaching)
        return ompi_api_set_error_detail(MPI_ERR_BUFFER, "Another thread is detaching the buffer.");
    void *attached = buffer->memory;
    size_t bytes = buffer->bytes;
    ompi_bsend_buffer_detach(buffer);
    *(void **)memory = attached;
    *size = (MPI_Count)bytes;
    return MPI_SUCCESS;
}

static int iflush(ompi_bsend_buffer_t *buffer, ompi_request_t **request)
{
    MPI_Status status;
    ompi_status_set_empty(&status);
    ompi_request_t *made =
        buffer != NULL ? ompi_bsend_buffer_iflush(buffer) : ompi_request_create_done(&status);
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    *request = made;
    return ompi_check_begun(MPI_SUCCESS, request);
}

int ompi_api_buffer_attach(void *buffer, MPI_Count size)
{
    ompi_lock();
    int error = attach(&ompi_bsend_process_buffer, buffer, size);
    ompi_unlock();
    return error;
}

int ompi_api_buffer_detach(void *buffer_addr, MPI_Count *size)
{
    ompi_lock();
    int error = detach(&ompi_bsend_process_buffer, buffer_addr, size);
    ompi_unlock();
    return error;
}

int ompi_api_buffer_flush(void)
{
    ompi_lock();
    if (ompi_bsend_process_buffer != NULL)
        ompi_bsend_buffer_flush(ompi_bsend_process_buffer);
    ompi_unlock();
    return MPI_SUCCESS;
}

int ompi_api_buffer_iflush(ompi_request_t **request)
{
    ompi_lock();
    int error = iflush(ompi_bsend_process_buffer, request);
    ompi_unlock();
    return error;
}

int ompi_api_comm_attach_buffer(ompi_communicator_t *comm, void *buffer, MPI_Count size)
{
    ompi_lock();
    int error = attach(&comm->bsend_buffer, buffer, size);
    ompi_unlock();
    return error;
}

int ompi_api_comm_detach_buffer(ompi_communicator_t *comm, void *buffer_addr, MPI_Count *size)
{
    ompi_lock();
    int error = detach(&comm->bsend_buffer, buffer_addr, size);
    ompi_unlock();
    return error;
}

int ompi_api_comm_flush_buffer(ompi_communicator_t *comm)
{
    ompi_lock();
    if (comm->bsend_buffer != NULL)
        ompi_bsend_buffer_flush(comm->bsend_buffer);
    ompi_unlock();
    return MPI_SUCCESS;
}

int ompi_api_comm_iflush_buffer(ompi_communicator_t *comm, ompi_request_t **request)
{
    ompi_lock();
    int error = iflush(comm->bsend_buffer, request);
    ompi_unlock();
    return error;
}

int ompi_api_session_attach_buffer(ompi_session_t *session, void *buffer, MPI_Count size)
{
    ompi_lock();
    int error = attach(&session->bsend_buffer, buffer, size);
    ompi_unlock();
    return error;
}

int ompi_api_session_detach_buffer(ompi_session_t *session, void *buffer_addr, MPI_Count *size)
{
    ompi_lock();
    int error = detach(&session->bsend_buffer, buffer_addr, size);
    ompi_unlock();
    return error;
}

int ompi_api_session_flush_buffer(ompi_session_t *session)
{
    ompi_lock();
    if (session->bsend_buffer != NULL)
        ompi_bsend_buffer_flush(session->bsend_buffer);
    ompi_unlock();
    return MPI_SUCCESS;
}

int ompi_api_session_iflush_buffer(ompi_session_t *session, ompi_request_t **request)
{
    ompi_lock();
    int error = iflush(session->bsend_buffer, request);
    ompi_unlock();
    return error;
}

/* -- sends --------------------------------------------------------------------------- */

/* The error of a message that the buffer has no room for, with the sizes in its detail. */
static int refuse(const ompi_route_t *to, const ompi_data_t *data)
{
    static _Thread_local char text[192];
    const ompi_bsend_buffer_t *buffer = ompi_bsend_buffer_of(to->comm);
    if (buffer == NULL)
        return ompi_api_set_error_detail(MPI_ERR_BUFFER,
                                         "No buffer is attached: see MPI_Buffer_attach.");
    if (buffer->is_detaching)
        return ompi_api_set_error_detail(
            MPI_ERR_BUFFER, "Another thread is detaching the buffer; it takes no more messages.");
    snprintf(text, sizeof text,
             "The message needs %zu bytes and MPI_BSEND_OVERHEAD (%d); %zu are attached, of which "
             "%zu are in use.",
             ompi_datatype_bytes(data->type, data->count), MPI_BSEND_OVERHEAD, buffer->bytes,
             buffer->used);
    return ompi_api_set_error_detail(MPI_ERR_BUFFER, text);
}

int ompi_api_bsend(const void *buf, MPI_Count count, ompi_datatype_t *datatype, int dest, int tag,
                   ompi_communicator_t *comm)
{
    if (dest == MPI_PROC_NULL)
        return MPI_SUCCESS;
    ompi_route_t to = {comm, OMPI_CONTEXT_USER, dest, tag};
    ompi_data_t data = {(void *)(uintptr_t)buf, (size_t)count, datatype};
    ompi_lock();
    int error = ompi_bsend(&to, &data);
    if (error == MPI_ERR_BUFFER)
        error = refuse(&to, &data);
    ompi_unlock();
    return error;
}

/* The message is in the buffer, or the call has failed: the request is done. */
int ompi_api_ibsend(const void *buf, MPI_Count count, ompi_datatype_t *datatype, int dest, int tag,
                    ompi_communicator_t *comm, ompi_request_t **request)
{
    MPI_Status status;
    ompi_status_set_empty(&status);
    ompi_request_t *made = ompi_request_create_done(&status);
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    int error = ompi_api_bsend(buf, count, datatype, dest, tag, comm);
    if (error == MPI_SUCCESS)
        *request = made;
    else
        ompi_object_release(&made->head);
    return ompi_check_begun(error, request);
}

int ompi_api_bsend_init(const void *buf, MPI_Count count, ompi_datatype_t *datatype, int dest,
                        int tag, ompi_communicator_t *comm, ompi_request_t **request)
{
    MPI_Status status;
    ompi_status_set_empty(&status);
    ompi_route_t to = {comm, OMPI_CONTEXT_USER, dest, tag};
    ompi_data_t data = {(void *)(uintptr_t)buf, (size_t)count, datatype};
    ompi_request_t *made = dest == MPI_PROC_NULL ? ompi_request_create_persistent_done(&status)
                                                 : ompi_bsend_init(&to, &data);
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    *request = made;
    return ompi_check_begun(MPI_SUCCESS, request);
}
