/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames for pml/ob1 from peers that send anything, among what this process does itself, with
 * memory that fails now and then. An input is a sequence of steps, each a byte that says which, and
 * what it needs (`steps` below). What is missing at the end of the input is 0.
 *
 * Whatever comes: nothing is read or written out of bounds, what has begun ends when the peers are
 * gone, and all memory is given back.
 */
#include <stdlib.h>
#include <string.h>

#include "test/unit/ompi/mca/pml/ob1/side.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
void __wrap_opal_log_error(const char *format, ...) OPAL_PRINTF(1, 2);
void *__real_calloc(size_t count, size_t bytes); /* which does not fail */

enum { MOST_REQUESTS = 64, MOST_NAMES = 16, MOST_BYTES = 4096 };

static const uint8_t *input;
static size_t input_length;

static struct {
    ompi_request_t *request;
    void *buffer;
} begun[MOST_REQUESTS];
static size_t begun_count;

static ompi_message_t *messages[MOST_REQUESTS]; /* of matched probes */
static size_t message_count;

/* The names that the peers got last, of sends and receives, and the numbers of requests for
 * credit. */
static uint64_t names[MOST_NAMES];
static size_t name_count;

static ompi_communicator_t later; /* comes and goes */
static bool is_later;

/* A frame that does not fit is logged, once for each peer and input. */
void __wrap_opal_log_error(const char *format OPAL_UNUSED, ...)
{
}

/* -- the input ----------------------------------------------------------------------- */

static unsigned next_byte(void)
{
    if (input_length == 0)
        return 0;
    input_length--;
    return *input++;
}

static size_t next_length(void)
{
    size_t high = next_byte();
    return (high << 8 | next_byte()) % MOST_BYTES;
}

static unsigned next_rank(void)
{
    return 1 + next_byte() % 2;
}

/* -- names that the peers have got ---------------------------------------------------- */

static void note_name(const side_frame_t *frame)
{
    size_t at;
    switch ((ob1_kind_t)frame->kind) {
    case OB1_EAGER_SYNC:
        at = offsetof(ob1_sync_t, sender);
        break;
    case OB1_RTS:
        at = offsetof(ob1_rts_t, sender);
        break;
    case OB1_CTS:
        at = offsetof(ob1_cts_t, receiver);
        break;
    case OB1_CREDIT_REQUEST:
        at = 0;
        break;
    default:
        return;
    }
    memcpy(&names[name_count++ % MOST_NAMES], frame->bytes + at, sizeof names[0]);
}

static void note_names(void)
{
    const side_frame_t *frame;
    while ((frame = side_next_sent()) != NULL)
        note_name(frame);
}

/* -- steps --------------------------------------------------------------------------- */

/* Kind, rank, length, name (0: none; else it stands in the first 8 bytes), the bytes. */
static void deliver(void)
{
    unsigned kind = next_byte(), rank = next_rank();
    size_t length = next_length();
    unsigned name = next_byte();
    uint8_t *frame = __real_calloc(1, length + 8);
    for (size_t i = 0; i < length && input_length > 0; i++)
        frame[i] = (uint8_t)next_byte();
    if (name != 0)
        memcpy(frame, &names[name % MOST_NAMES], 8);
    side_deliver(rank, kind, frame, length);
    free(frame);
}

/* Kind, rank, name, offset, length, bytes in a piece. */
static void place(void)
{
    static const unsigned char data[MOST_BYTES];
    unsigned kind = next_byte(), rank = next_rank();
    uint64_t name = names[next_byte() % MOST_NAMES];
    size_t offset = next_length(), length = next_length();
    if (offset == MOST_BYTES - 1)
        offset = SIZE_MAX - 100;
    side_place(rank, kind, name, offset, data, length, 1 + next_byte() * 4);
}

static ompi_route_t next_route(void)
{
    unsigned rank = next_byte(), tag = next_byte();
    ompi_route_t route = side_route(rank == 0 ? MPI_ANY_SOURCE : (int)(rank % SIDE_RANKS),
                                    tag == 0 ? MPI_ANY_TAG : (int)tag % 8);
    if (is_later && rank > 128)
        route.comm = &later;
    return route;
}

static void keep(ompi_request_t *request, void *buffer)
{
    begun[begun_count].request = request;
    begun[begun_count++].buffer = buffer;
}

/* Source, tag, length. */
static void receive(void)
{
    ompi_route_t from = next_route();
    size_t length = next_length();
    void *buffer = __real_calloc(1, length);
    ompi_data_t data = side_data(buffer, length);
    ompi_request_t *request;
    if (begun_count < MOST_REQUESTS && side_pml->irecv(&from, &data, &request) == MPI_SUCCESS)
        keep(request, buffer);
    else
        free(buffer);
}

/* Rank, tag, length, mode. */
static void send(void)
{
    ompi_route_t to = next_route();
    size_t length = next_length();
    ompi_send_mode_t mode = next_byte() % 2 ? OMPI_SEND_SYNCHRONOUS : OMPI_SEND_STANDARD;
    to.rank = to.rank > 0 ? to.rank : 1;
    to.tag = to.tag >= 0 ? to.tag : 0;
    void *buffer = __real_calloc(1, length);
    ompi_data_t data = side_data(buffer, length);
    ompi_request_t *request;
    if (begun_count < MOST_REQUESTS && side_pml->isend(&to, &data, mode, &request) == MPI_SUCCESS)
        keep(request, buffer);
    else
        free(buffer);
}

/* Which. */
static void cancel(void)
{
    unsigned which = next_byte();
    if (begun_count > 0 && begun[which % begun_count].request != &ompi_request_sent)
        ompi_request_cancel(begun[which % begun_count].request);
}

/* Source, tag: takes a message out. */
static void probe(void)
{
    bool found;
    ompi_message_t *message;
    ompi_route_t from = next_route();
    if (message_count < MOST_REQUESTS &&
        side_pml->iprobe(&from, &found, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS && found)
        messages[message_count++] = message;
}

/* Length: the message that was taken last. */
static void receive_probed(void)
{
    size_t length = next_length();
    void *buffer = __real_calloc(1, length);
    ompi_data_t data = side_data(buffer, length);
    ompi_request_t *request;
    if (begun_count < MOST_REQUESTS && message_count > 0 &&
        side_pml->imrecv(messages[message_count - 1], &data, &request) == MPI_SUCCESS) {
        message_count--;
        keep(request, buffer);
    } else {
        free(buffer);
    }
}

static void fill(void)
{
    side_is_full = true;
}

static void empty(void)
{
    side_is_full = false;
    side_progress();
}

/* Which allocation. */
static void lack_memory(void)
{
    side_fail_at = (int)(next_byte() % 8);
}

static void die(void)
{
    side_fail(next_rank(), next_byte() % 2 == 0 ? OPAL_ERR_DISCONNECTED : OPAL_ERR_NO_MEMORY);
}

static void leave(void)
{
    side_leave(next_rank());
}

static void remove_later(void)
{
    bool is_used = message_count > 0;
    for (size_t i = 0; i < begun_count; i++)
        is_used |= begun[i].request->comm == &later;
    if (is_used)
        return;
    side_pml->comm_remove(&later);
    is_later = false;
}

/* A communicator begins, or ends. */
static void change_later(void)
{
    if (is_later)
        remove_later();
    else
        is_later = side_pml->comm_add(&later) == MPI_SUCCESS;
}

static void (*const steps[])(void) = {
    deliver, receive, send,        probe, receive_probed, cancel,       place,
    fill,    empty,   lack_memory, die,   leave,          change_later, side_serve,
};

/* -- an input ------------------------------------------------------------------------ */

static void require_all_ended(void)
{
    for (size_t i = 0; i < begun_count; i++) {
        ompi_request_t *request = begun[i].request;
        if (!ompi_request_is_done(request))
            ompi_request_cancel(request); /* a receive that is still posted */
        if (!ompi_request_is_done(request))
            abort();
        ompi_request_finish(&request, MPI_STATUS_IGNORE);
        free(begun[i].buffer);
    }
    begun_count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    input = bytes;
    input_length = length;
    side_start();
    later = side_comm;
    later.context = 1;
    while (input_length > 0) {
        steps[next_byte() % OPAL_COUNT_OF(steps)]();
        note_names();
    }
    side_fail_at = 0;
    side_is_full = false;
    side_leave(1);
    side_leave(2);
    while (message_count > 0)
        ompi_object_release(&messages[--message_count]->head);
    require_all_ended();
    if (is_later)
        remove_later();
    side_stop();
    return 0;
}
