/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Full checks of messages: a pml in front of the chosen one. Without these checks it is not there,
 * and costs nothing. The library's own messages, such as those of collectives, go to the chosen pml
 * unchecked.
 *
 * A message is sent as one datatype of two blocks, its label (ompi/check/label.h) and its data,
 * both by their addresses, and received likewise; no data is copied for it:
 *
 *     | label | data ...                    statuses that the user gets are shorter by the label
 *
 * A nonblocking operation has a request of this file's, around that of the chosen pml:
 *
 *     user -> checked_t -> inner request    the inner one completes: the label is compared
 *                                           the user is told so:     the buffer is compared
 *
 * Threading: as in pml.h; there is no unlocked fast path.
 */
#include "ompi/mca/pml/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/check/buffer.h"
#include "ompi/check/label.h"
#include "ompi/check/left.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/request/request.h"

enum { NAME_BYTES = 32 };

static const ompi_pml_ops_t *pml;  /* the chosen one */
static ompi_pml_ops_t with_checks; /* of it */
static ompi_check_level_t level;

/* An operation of the user's. */
typedef struct checked {
    ompi_request_t request;
    ompi_request_t *inner; /* NULL: it has ended, and is not persistent */
    ompi_check_buffer_t buffer;
    ompi_check_label_t label; /* sent, or received */
    ompi_datatype_t *framed;  /* label and data */
    bool was_reported;        /* the user knows that it has ended; `found` is the result */
    int found;
} checked_t;

static checked_t *of(ompi_request_t *request)
{
    return opal_container_of(request, checked_t, request);
}

static bool is_checked(const ompi_route_t *route)
{
    return route->context == OMPI_CONTEXT_USER;
}

/* -- labels ---------------------------------------------------------------------------------- */

/* The datatype of label and data, for one element at MPI_BOTTOM. Data without gaps is bytes, as the
 * pml takes any number of them. NULL: no memory, or it cannot be counted. */
static ompi_datatype_t *frame(ompi_check_label_t *label, const ompi_data_t *data)
{
    const ompi_datatype_t *type = data->type;
    const ompi_shape_t *byte = &ompi_datatype_of(MPI_BYTE)->shape;
    size_t bytes = ompi_datatype_bytes(type, data->count);
    ompi_shape_join_t join;
    ompi_shape_t shape;
    ompi_shape_join_begin(&join);
    ompi_shape_join_add(&join, byte, (MPI_Count)(uintptr_t)label, sizeof *label);
    if (ompi_datatype_is_contiguous(type))
        ompi_shape_join_add(&join, byte, (MPI_Count)ompi_datatype_origin(type, data->buffer),
                            (MPI_Count)bytes);
    else
        ompi_shape_join_add(&join, &type->shape, (MPI_Count)(uintptr_t)data->buffer,
                            (MPI_Count)data->count);
    return ompi_shape_join_finish(&join, &shape) == MPI_SUCCESS ? ompi_datatype_create(&shape, NULL)
                                                                : NULL;
}

static ompi_data_t framed_data(ompi_datatype_t *framed)
{
    return (ompi_data_t){.buffer = MPI_BOTTOM, .count = 1, .type = framed};
}

/* Takes the label's bytes out of a status. A message that was cancelled has none. */
static void shorten(MPI_Status *status)
{
    uint64_t bytes = ompi_status_bytes(status), label = sizeof(ompi_check_label_t);
    ompi_status_set_bytes(status, bytes > label ? bytes - label : 0);
}

/* Compares the label of a message that was received, if it has come. */
static int compare_label(const ompi_check_label_t *label, const ompi_data_t *data,
                         ompi_communicator_t *comm, const MPI_Status *status)
{
    if (label->mark != OMPI_CHECK_LABEL_MARK)
        return MPI_SUCCESS;
    return ompi_check_label_compare(label, data->type, data->count, comm, status->MPI_SOURCE,
                                    status->MPI_TAG);
}

/* -- requests -------------------------------------------------------------------------------- */

static void end_inner(ompi_request_t *inner, void *context)
{
    ompi_request_t *request = context;
    checked_t *checked = of(request);
    request->status = inner->status;
    if (!request->persistent)
        checked->inner = NULL;
    if (checked->buffer.is_written) {
        const ompi_check_buffer_t *buffer = &checked->buffer;
        ompi_data_t data = {buffer->address, buffer->count, buffer->type};
        shorten(&request->status);
        if (request->status.MPI_ERROR == MPI_SUCCESS)
            request->status.MPI_ERROR =
                compare_label(&checked->label, &data, request->comm, &request->status);
    }
    ompi_request_complete(request);
}

/* Awaits the end of the inner request, which has begun. One that is not persistent ends alone. */
static void follow(checked_t *checked)
{
    ompi_request_t *inner = checked->inner;
    ompi_request_hold(inner);
    bool is_done = ompi_request_is_done(inner);
    if (!is_done) {
        inner->on_complete = end_inner;
        inner->on_complete_context = &checked->request;
    }
    ompi_request_drop(inner);
    if (is_done)
        end_inner(inner, &checked->request);
    if (!checked->request.persistent)
        ompi_request_free(&inner);
}

/* The buffer is in use from here on. */
static int begin_use(checked_t *checked)
{
    checked->was_reported = false;
    checked->found = MPI_SUCCESS;
    int error = ompi_check_buffer_enter(&checked->buffer, checked->request.comm);
    if (error != MPI_SUCCESS)
        return error;
    if (checked->buffer.is_written)
        checked->label.mark = 0;
    else
        ompi_check_buffer_keep(&checked->buffer);
    return MPI_SUCCESS;
}

static int start(ompi_request_t *request)
{
    checked_t *checked = of(request);
    int error = begin_use(checked);
    if (error != MPI_SUCCESS)
        return error;
    error = ompi_request_start(checked->inner);
    if (error == MPI_SUCCESS)
        follow(checked);
    else
        ompi_check_buffer_leave(&checked->buffer);
    return error;
}

static int cancel(ompi_request_t *request)
{
    ompi_request_t *inner = of(request)->inner;
    if (inner == NULL || inner->ops->cancel == NULL || ompi_request_is_done(request))
        return MPI_SUCCESS;
    return inner->ops->cancel(inner);
}

/* The user is told that the operation has ended: the buffer is the program's again. */
static int tell(ompi_request_t *request, MPI_Status *status OPAL_UNUSED)
{
    checked_t *checked = of(request);
    if (checked->was_reported)
        return checked->found;
    ompi_lock();
    checked->was_reported = true;
    checked->found = ompi_check_buffer_compare(&checked->buffer, request->comm);
    ompi_check_buffer_leave(&checked->buffer);
    ompi_unlock();
    return checked->found;
}

static void destroy(ompi_object_t *head)
{
    checked_t *checked = opal_container_of(head, checked_t, request.head);
    ompi_check_buffer_leave(&checked->buffer);
    if (checked->inner != NULL)
        ompi_request_free(&checked->inner);
    if (checked->framed != NULL)
        ompi_datatype_release(checked->framed);
    ompi_datatype_release(checked->buffer.type);
    free(checked);
}

static const ompi_request_ops_t checked_ops = {.start = start, .cancel = cancel, .query = tell};

/* The call, of a buffer that is sent or received. */
static ompi_check_buffer_t buffer_of(const char *call, const ompi_route_t *route,
                                     const ompi_data_t *data, bool is_written)
{
    return (ompi_check_buffer_t){
        .call = call,
        .peer = route->rank,
        .tag = route->tag,
        .is_written = is_written,
        .address = data->buffer,
        .count = data->count,
        .type = data->type,
    };
}

/* A request without an inner one. NULL: no memory. */
static checked_t *create(const ompi_check_buffer_t *buffer, const ompi_data_t *data,
                         ompi_communicator_t *comm)
{
    checked_t *checked = calloc(1, sizeof *checked);
    if (checked == NULL)
        return NULL;
    ompi_request_init(&checked->request, &checked_ops, comm, destroy);
    checked->buffer = *buffer;
    checked->buffer.request = &checked->request;
    ompi_datatype_retain(data->type);
    if (!buffer->is_written)
        checked->label = ompi_check_label_of(data->type, data->count);
    checked->framed = frame(&checked->label, data);
    if (checked->framed != NULL)
        return checked;
    checked->request.active = false;
    ompi_request_release(&checked->request);
    return NULL;
}

/* Ends a creation: the inner request is there, or the error. */
static int settle(checked_t *checked, int error, ompi_request_t **request)
{
    if (error != MPI_SUCCESS) {
        checked->request.active = false;
        ompi_request_release(&checked->request);
        return error;
    }
    *request = &checked->request;
    ompi_check_begun(MPI_SUCCESS, request);
    if (!checked->request.persistent)
        follow(checked);
    return MPI_SUCCESS;
}

/* -- sends ----------------------------------------------------------------------------------- */

static const char *const send_calls[] = {
    [OMPI_SEND_STANDARD] = "MPI_Send",
    [OMPI_SEND_SYNCHRONOUS] = "MPI_Ssend",
    [OMPI_SEND_READY] = "MPI_Rsend",
};

static const char *const isend_calls[] = {
    [OMPI_SEND_STANDARD] = "MPI_Isend",
    [OMPI_SEND_SYNCHRONOUS] = "MPI_Issend",
    [OMPI_SEND_READY] = "MPI_Irsend",
};

static const char *const send_init_calls[] = {
    [OMPI_SEND_STANDARD] = "MPI_Send_init",
    [OMPI_SEND_SYNCHRONOUS] = "MPI_Ssend_init",
    [OMPI_SEND_READY] = "MPI_Rsend_init",
};

static int checked_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                         ompi_request_t **request)
{
    if (!is_checked(to))
        return pml->isend(to, data, mode, request);
    ompi_check_buffer_t buffer = buffer_of(isend_calls[mode], to, data, false);
    checked_t *checked = create(&buffer, data, to->comm);
    if (checked == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t framed = framed_data(checked->framed);
    int error = begin_use(checked);
    if (error == MPI_SUCCESS)
        error = pml->isend(to, &framed, mode, &checked->inner);
    return settle(checked, error, request);
}

static int checked_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                             ompi_request_t **request)
{
    if (!is_checked(to))
        return pml->send_init(to, data, mode, request);
    ompi_check_buffer_t buffer = buffer_of(send_init_calls[mode], to, data, false);
    checked_t *checked = create(&buffer, data, to->comm);
    if (checked == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t framed = framed_data(checked->framed);
    ompi_request_make_persistent(&checked->request);
    return settle(checked, pml->send_init(to, &framed, mode, &checked->inner), request);
}

/* In use for other threads, and compared with what is in use already. */
static int checked_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    if (!is_checked(to))
        return pml->send(to, data, mode);
    ompi_check_buffer_t buffer = buffer_of(send_calls[mode], to, data, false);
    ompi_check_label_t label = ompi_check_label_of(data->type, data->count);
    ompi_datatype_t *type = frame(&label, data);
    if (type == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t framed = framed_data(type);
    int error = ompi_check_buffer_enter(&buffer, to->comm);
    if (error == MPI_SUCCESS)
        error = pml->send(to, &framed, mode);
    ompi_check_buffer_leave(&buffer);
    ompi_datatype_release(type);
    return error;
}

/* -- receives -------------------------------------------------------------------------------- */

static int checked_irecv(const ompi_route_t *from, const ompi_data_t *data,
                         ompi_request_t **request)
{
    if (!is_checked(from))
        return pml->irecv(from, data, request);
    ompi_check_buffer_t buffer = buffer_of("MPI_Irecv", from, data, true);
    checked_t *checked = create(&buffer, data, from->comm);
    if (checked == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t framed = framed_data(checked->framed);
    int error = begin_use(checked);
    if (error == MPI_SUCCESS)
        error = pml->irecv(from, &framed, &checked->inner);
    return settle(checked, error, request);
}

static int checked_recv_init(const ompi_route_t *from, const ompi_data_t *data,
                             ompi_request_t **request)
{
    if (!is_checked(from))
        return pml->recv_init(from, data, request);
    ompi_check_buffer_t buffer = buffer_of("MPI_Recv_init", from, data, true);
    checked_t *checked = create(&buffer, data, from->comm);
    if (checked == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t framed = framed_data(checked->framed);
    ompi_request_make_persistent(&checked->request);
    return settle(checked, pml->recv_init(from, &framed, &checked->inner), request);
}

static int checked_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status)
{
    if (!is_checked(from))
        return pml->recv(from, data, status);
    MPI_Status result;
    ompi_check_buffer_t buffer = buffer_of("MPI_Recv", from, data, true);
    ompi_check_label_t label = {0};
    ompi_datatype_t *type = frame(&label, data);
    if (type == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t framed = framed_data(type);
    ompi_status_set_empty(&result);
    int error = ompi_check_buffer_enter(&buffer, from->comm);
    if (error == MPI_SUCCESS) {
        error = pml->recv(from, &framed, &result);
        shorten(&result);
        ompi_status_fill(status, &result);
    }
    if (error == MPI_SUCCESS)
        error = compare_label(&label, data, from->comm, &result);
    ompi_check_buffer_leave(&buffer);
    ompi_datatype_release(type);
    return error;
}

/* -- probes ---------------------------------------------------------------------------------- */

static void shorten_if_any(const ompi_route_t *from, MPI_Status *status)
{
    if (is_checked(from) && status != MPI_STATUS_IGNORE)
        shorten(status);
}

static int checked_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message,
                          MPI_Status *status)
{
    int error = pml->iprobe(from, found, message, status);
    if (error == MPI_SUCCESS && *found)
        shorten_if_any(from, status);
    return error;
}

static int checked_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status)
{
    int error = pml->probe(from, message, status);
    if (error == MPI_SUCCESS)
        shorten_if_any(from, status);
    return error;
}

/* A message has its communicator from its probe; so only the inner request tells it. */
static int checked_imrecv(ompi_message_t *message, const ompi_data_t *data,
                          ompi_request_t **request)
{
    const ompi_route_t unknown = {NULL, OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG};
    ompi_check_buffer_t buffer = buffer_of("MPI_Imrecv", &unknown, data, true);
    checked_t *checked = create(&buffer, data, NULL);
    if (checked == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t framed = framed_data(checked->framed);
    int error = begin_use(checked);
    if (error == MPI_SUCCESS)
        error = pml->imrecv(message, &framed, &checked->inner);
    if (error == MPI_SUCCESS) {
        checked->request.comm = checked->inner->comm;
        ompi_request_enter_comm(checked->request.comm);
    }
    return settle(checked, error, request);
}

const ompi_pml_ops_t *ompi_pml_check(const ompi_pml_ops_t *chosen, ompi_check_level_t wanted)
{
    level = wanted;
    if (level != OMPI_CHECK_FULL)
        return chosen;
    pml = chosen;
    with_checks = *chosen;
    with_checks.isend = checked_isend;
    with_checks.irecv = checked_irecv;
    with_checks.send_init = checked_send_init;
    with_checks.recv_init = checked_recv_init;
    with_checks.send = checked_send;
    with_checks.recv = checked_recv;
    with_checks.iprobe = checked_iprobe;
    with_checks.probe = checked_probe;
    with_checks.imrecv = checked_imrecv;
    with_checks.try_send_unlocked = NULL;
    with_checks.try_recv_unlocked = NULL;
    with_checks.try_irecv_unlocked = NULL;
    return &with_checks;
}

/* Short, because ranks of a node compare 8 bytes, the last of which is mpi_explain's. */
static const struct {
    const char *mark, *value;
} levels[] = {
    [OMPI_CHECK_OFF] = {"", "off"},
    [OMPI_CHECK_CHEAP] = {"+low", "cheap"},
    [OMPI_CHECK_FULL] = {"+full", "full"},
};

const char *ompi_pml_name(void)
{
    static char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s", opal_framework_best(&mca_pml_framework)->component->name,
             levels[level].mark);
    return name;
}

const char *ompi_pml_check_level_of(const char *name)
{
    const char *mark = strchr(name, '+');
    for (size_t i = 0; i < OPAL_COUNT_OF(levels); i++) {
        if (strcmp(levels[i].mark, mark != NULL ? mark : "") == 0)
            return levels[i].value;
    }
    return "unknown";
}
