/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An mtl without a network, for tests of pml/cm: its messages go by pml/ob1. Its limits are
 * parameters, so narrow tags and few communicators can be had.
 *
 * A send_now copies what it sends, as a network's inject does. A cancel, a probe's answer and a
 * message taken out of the matching are ob1's.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/component.h"
#include "opal/util/text.h"
#include "ompi/mca/mtl/mtl.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/request/status.h"

enum { INJECT_BYTES = 64, MARK = 0x7e57 };

typedef struct via_request {
    ompi_mtl_request_t base;
    ompi_request_t *inner; /* ob1's, under way; NULL: none */
    int mark;              /* MARK while it is begun or was; 0: new, or released */
} via_request_t;

typedef struct via_message {
    ompi_mtl_message_t base;
    ompi_message_t *inner;
} via_message_t;

typedef struct injected {
    ompi_request_t *request;
    size_t bytes;
    unsigned char copy[];
} injected_t;

static const ompi_pml_ops_t *ob1;
static void *ob1_state;
static ompi_communicator_t **comms; /* those that ob1 knows, by id */
static unsigned communicators, tag_bits, ranks;

static const opal_param_row_t params[] = {
    {.name = "communicators",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &communicators,
     .preset = "4096",
     .min = "8",
     .max = "65536",
     .prose = "How many may exist"},
    {.name = "tag_bits",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &tag_bits,
     .preset = "19",
     .min = "15",
     .max = "31",
     .prose = "The bits of a tag"},
    {.name = "ranks",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &ranks,
     .preset = "1024",
     .min = "1",
     .prose = "How many ranks there may be"},
    {0},
};

/* ob1 is told of communicators by who uses them first. */
static void meet(ompi_communicator_t *comm)
{
    if (comms[comm->context] != NULL)
        return;
    comms[comm->context] = comm;
    ob1->comm_add(comm);
}

static bool forget_context(uint32_t context)
{
    if (comms[context] != NULL)
        ob1->comm_remove(comms[context]);
    comms[context] = NULL;
    return true;
}

static via_request_t *of(ompi_mtl_request_t *request)
{
    return opal_container_of(request, via_request_t, base);
}

static void end(ompi_request_t *inner, void *context)
{
    via_request_t *request = context;
    request->inner = NULL;
    request->base.base.status = inner->status;
    ompi_request_complete(&request->base.base);
}

static int follow(via_request_t *request, int error, ompi_request_t *inner)
{
    if (error != MPI_SUCCESS)
        return error;
    request->mark = MARK;
    if (ompi_request_is_done(inner)) {
        end(inner, request);
        return ompi_request_finish(&inner, MPI_STATUS_IGNORE) >= 0 ? MPI_SUCCESS : MPI_ERR_INTERN;
    }
    request->inner = inner;
    inner->on_complete = end;
    inner->on_complete_context = request;
    inner->orphan = true;
    return MPI_SUCCESS;
}

/* What pml/cm promises of the memory behind its part. */
static bool is_in_order(const via_request_t *request)
{
    return request->inner == NULL && (request->mark == 0 || request->mark == MARK);
}

static int via_send(ompi_mtl_request_t *request)
{
    ompi_request_t *inner = NULL;
    if (!is_in_order(of(request)) || !request->is_send)
        return MPI_ERR_INTERN;
    meet(request->route.comm);
    int error = ob1->isend(&request->route, &request->data, request->mode, &inner);
    return follow(of(request), error, inner);
}

static int via_receive(ompi_mtl_request_t *request)
{
    ompi_request_t *inner = NULL;
    if (!is_in_order(of(request)) || request->is_send)
        return MPI_ERR_INTERN;
    meet(request->route.comm);
    int error = ob1->irecv(&request->route, &request->data, &inner);
    return follow(of(request), error, inner);
}

static void drop_copy(ompi_request_t *request OPAL_UNUSED, void *context)
{
    free(context);
}

static bool send_now(const ompi_route_t *to, const ompi_data_t *data)
{
    size_t bytes = ompi_datatype_bytes(data->type, data->count);
    if (bytes > INJECT_BYTES)
        return false;
    meet(to->comm);
    injected_t *injected = opal_xmalloc(sizeof *injected + bytes);
    ompi_datatype_pack(data->type, data->count, data->buffer, 0, injected->copy, bytes);
    ompi_data_t copy = {injected->copy, bytes, ompi_datatype_of(MPI_BYTE)};
    if (ob1->isend(to, &copy, OMPI_SEND_STANDARD, &injected->request) != MPI_SUCCESS) {
        free(injected);
        return false;
    }
    ompi_request_t *request = injected->request;
    if (ompi_request_is_done(request)) {
        ompi_request_finish(&request, MPI_STATUS_IGNORE);
        free(injected);
    } else {
        request->on_complete = drop_copy;
        request->on_complete_context = injected;
        request->orphan = true;
    }
    return true;
}

static int via_cancel(ompi_mtl_request_t *request)
{
    ompi_request_t *inner = of(request)->inner;
    return inner != NULL ? inner->ops->cancel(inner) : MPI_SUCCESS;
}

static void via_release(ompi_mtl_request_t *request)
{
    of(request)->mark = 0;
}

static int probe(const ompi_route_t *from, bool *found, ompi_mtl_message_t **message,
                 MPI_Status *status)
{
    ompi_message_t *inner = NULL;
    meet(from->comm);
    status->MPI_ERROR = MPI_SUCCESS;
    int error = ob1->iprobe(from, found, message != NULL ? &inner : NULL, status);
    if (error != MPI_SUCCESS || !*found || message == NULL)
        return error;
    via_message_t *taken = opal_xmalloc(sizeof *taken);
    taken->inner = inner;
    taken->base.route =
        (ompi_route_t){from->comm, from->context, status->MPI_SOURCE, status->MPI_TAG};
    *message = &taken->base;
    return MPI_SUCCESS;
}

static int receive_message(ompi_mtl_request_t *request, ompi_mtl_message_t *base)
{
    via_message_t *message = opal_container_of(base, via_message_t, base);
    ompi_request_t *inner = NULL;
    int error = ob1->imrecv(message->inner, &request->data, &inner);
    free(message);
    return follow(of(request), error, inner);
}

static opal_status_t start(void *state OPAL_UNUSED)
{
    const opal_answer_t *answer = opal_framework_engage(&mca_pml_framework, "ob1");
    if (answer == NULL)
        return OPAL_ERR_NOT_AVAILABLE;
    ob1 = answer->ops;
    ob1_state = answer->state;
    comms = opal_xcalloc(communicators, sizeof(ompi_communicator_t *));
    return ob1->start(ob1_state);
}

static void stop(void *state OPAL_UNUSED)
{
    ob1->stop(ob1_state);
    free(comms);
    comms = NULL;
}

static void flush(void)
{
    ob1->flush();
}

/* ob1 tells the senders when it stops. */
static bool finalize_drain(void)
{
    return false;
}

static void meet_others(void)
{
    ob1->meet();
}

static const char *describe(unsigned process OPAL_UNUSED)
{
    return "pml/ob1";
}

static ompi_mtl_ops_t ops = {
    .request_bytes = sizeof(via_request_t),
    .start = start,
    .stop = stop,
    .flush = flush,
    .meet = meet_others,
    .finalize_drain = finalize_drain,
    .send_now = send_now,
    .send = via_send,
    .receive = via_receive,
    .cancel = via_cancel,
    .release = via_release,
    .probe = probe,
    .receive_message = receive_message,
    .forget_context = forget_context,
    .describe = describe,
};

static void query(opal_answer_t *answer)
{
    ops.limits = (ompi_mtl_limits_t){
        .max_tag = (int)((UINT32_C(1) << tag_bits) - 1),
        .internal_tags = UINT32_C(1) << tag_bits,
        .max_context = communicators - 1,
        .max_rank = ranks - 1,
    };
    opal_answer_yes(answer, 10, &ops, NULL, "by pml/ob1, %u bits of tags", tag_bits);
}

OPAL_EXPORT extern const opal_component_t mca_mtl_via_component;
const opal_component_t mca_mtl_via_component = {
    OPAL_COMPONENT_HEAD(mtl, via),
    .prose = "no network: messages of pml/ob1, for tests of pml/cm",
    .params = params,
    .query = query,
};
