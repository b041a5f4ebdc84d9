/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message layer for tests of schedules: it moves nothing. A send or a receive becomes a
 * message_t, which the test gets (begin_message) and completes when it likes.
 */
#ifndef UNIT_OMPI_FAKE_PML_H
#define UNIT_OMPI_FAKE_PML_H

#include <check.h>
#include <stdlib.h>

#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"
#include "ompi/request/status.h"

typedef struct message {
    ompi_request_t request;
    bool sends, blocks;
    ompi_route_t route;
    ompi_data_t data;
} message_t;

static int message_lives;

/* The test's: keeps the message, and may complete it. After an error the message does not exist. */
static int begin_message(message_t *message);

static void destroy_message(ompi_object_t *head)
{
    message_lives--;
    free(opal_container_of(head, message_t, request.head));
}

static bool is_blocking_call; /* the message that begins is one of send or recv */

static int add_message(bool sends, const ompi_route_t *route, const ompi_data_t *data,
                       ompi_request_t **request)
{
    static const ompi_request_ops_t ops;
    message_t *message = malloc(sizeof *message);
    ompi_request_init(&message->request, &ops, route->comm, destroy_message);
    message_lives++;
    message->sends = sends;
    message->blocks = is_blocking_call;
    message->route = *route;
    message->data = *data;
    ompi_status_set_bytes(&message->request.status, ompi_datatype_bytes(data->type, data->count));
    int error = begin_message(message);
    if (error == MPI_SUCCESS)
        *request = &message->request;
    else
        ompi_request_release(&message->request);
    return error;
}

static int fake_isend(const ompi_route_t *to, const ompi_data_t *data,
                      ompi_send_mode_t mode OPAL_UNUSED, ompi_request_t **request)
{
    return add_message(true, to, data, request);
}

static int fake_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    return add_message(false, from, data, request);
}

/* The test completes a message of a blocking call at once. */
static int end_blocking(int error, ompi_request_t *request, MPI_Status *status)
{
    is_blocking_call = false;
    if (error != MPI_SUCCESS)
        return error;
    ck_assert(ompi_request_is_done(request));
    return ompi_request_finish(&request, status);
}

static int fake_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    ompi_request_t *request = NULL;
    is_blocking_call = true;
    int error = fake_isend(to, data, mode, &request);
    return end_blocking(error, request, MPI_STATUS_IGNORE);
}

static int fake_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status)
{
    ompi_request_t *request = NULL;
    is_blocking_call = true;
    int error = fake_irecv(from, data, &request);
    return end_blocking(error, request, status);
}

static const ompi_pml_ops_t fake_pml = {.internal_tags = 1 << 19,
                                        .isend = fake_isend,
                                        .irecv = fake_irecv,
                                        .send = fake_send,
                                        .recv = fake_recv};

#endif
