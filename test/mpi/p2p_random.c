/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs of point-to-point messages, against a model.
 *
 *   p2p_random SEED SECONDS [ROUND]
 *
 * In each round all ranks draw the same list of messages from the seed and the round's number, so
 * that each knows what comes to it; a round can be repeated alone (ROUND). What the other side need
 * not know (types, buffer sizes, calls, the order of receives) each rank draws for itself.
 *
 * A round cannot deadlock: receives that are posted early, a barrier, all sends, the other
 * receives. A send that is not buffered blocks, and one is a ready one, only if all receives of its
 * box (p2p_plan.h) are early.
 *
 * What a receive got is found from its status: of the messages of that source that it could take,
 * the first one that no receive before it took. Buffers are compared whole, with their gaps.
 */
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "p2p_calls.h"
#include "p2p_plan.h"
#include "place.h"
#include "tap.h"

/* -- faults -------------------------------------------------------------------------- */

static int faults, received_count, truncated_count;

__attribute__((format(printf, 1, 2))) static void fault(const char *format, ...)
{
    va_list arguments;
    if (faults++ >= 5)
        return;
    char text[TAP_LINE];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "seed %llu, round %llu, rank %d of %d: %s\n", (unsigned long long)seed,
            (unsigned long long)round_number, world_rank, world_size, text);
}

static void message_fault(const message_t *m, const char *what)
{
    fault("message %d, %d to %d in communicator %d, tag %d, %d units, mode %d, form %d: %s", m->id,
          m->source, m->dest, m->comm, m->tag, m->units, m->mode, m->form, what);
}

/* -- completion ---------------------------------------------------------------------- */

static operation_t *outstanding[2 * MESSAGES_MAX];
static int outstanding_count;

static void add_outstanding(operation_t *operation)
{
    outstanding[outstanding_count++] = operation;
}

static void end_operation(operation_t *operation, int error)
{
    operation->error = error;
    if ((operation->request != MPI_REQUEST_NULL) != operation->is_persistent)
        fault("the request of a completed operation is not what it must be");
    if (operation->is_persistent)
        MPI_Request_free(&operation->request);
}

enum { WAIT, WAITANY, WAITSOME, WAITALL, TEST, TESTANY, TESTSOME, TESTALL, COMPLETIONS };

/* One of the calls that complete one. Returns how many it did. */
static int complete_one(int how, int count, MPI_Request *requests, int *index, MPI_Status *status)
{
    int is_done = 1, error;
    *index = draw(&own_state, count);
    if (how == WAIT)
        error = MPI_Wait(&requests[*index], status);
    else if (how == WAITANY)
        error = MPI_Waitany(count, requests, index, status);
    else if (how == TEST)
        error = MPI_Test(&requests[*index], &is_done, status);
    else
        error = MPI_Testany(count, requests, index, &is_done, status);
    status->MPI_ERROR = error;
    return is_done;
}

/* One of those that complete many, each with the error in its status. */
static int complete_many(int how, int count, MPI_Request *requests, int *indices,
                         MPI_Status *statuses)
{
    int done = count, is_done = 1, error;
    for (int i = 0; i < count; i++)
        indices[i] = i;
    if (how == WAITSOME)
        error = MPI_Waitsome(count, requests, &done, indices, statuses);
    else if (how == TESTSOME)
        error = MPI_Testsome(count, requests, &done, indices, statuses);
    else if (how == WAITALL)
        error = MPI_Waitall(count, requests, statuses);
    else
        error = MPI_Testall(count, requests, &is_done, statuses);
    for (int i = 0; i < done && error != MPI_ERR_IN_STATUS; i++)
        statuses[i].MPI_ERROR = error;
    return is_done ? done : 0;
}

/* Completes some of those that are outstanding, or looks whether any are done. */
static void complete(int how)
{
    static MPI_Request requests[2 * MESSAGES_MAX];
    static MPI_Status statuses[2 * MESSAGES_MAX];
    static int indices[2 * MESSAGES_MAX];
    int count = outstanding_count, kept = 0;
    bool is_many = how == WAITSOME || how == WAITALL || how == TESTSOME || how == TESTALL;
    if (count == 0)
        return;
    for (int i = 0; i < count; i++)
        requests[i] = outstanding[i]->request;
    int done = is_many ? complete_many(how, count, requests, indices, statuses)
                       : complete_one(how, count, requests, indices, statuses);
    for (int i = 0; i < count; i++)
        outstanding[i]->request = requests[i];
    for (int i = 0; i < done; i++) {
        operation_t *operation = outstanding[indices[i]];
        if (operation == NULL)
            fault("a request is said twice to be complete");
        if (operation == NULL || statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            continue;
        operation->status = statuses[i];
        end_operation(operation, statuses[i].MPI_ERROR);
        outstanding[indices[i]] = NULL;
    }
    for (int i = 0; i < count; i++) {
        if (outstanding[i] != NULL)
            outstanding[kept++] = outstanding[i];
    }
    outstanding_count = kept;
}

/* -- sends --------------------------------------------------------------------------- */

static void start_send(message_t *m)
{
    bool ints = box_has_ints(m->comm, m->dest);
    const layout_t *layout = &layouts[ints][draw(&own_state, LAYOUTS)];
    operation_t *operation = &m->operation;
    area_t *area = &m->area;
    if (m->units % layout->units != 0)
        layout = &layouts[ints][0];
    make_area(area, layout, m->units / layout->units);
    write_data(area, area->memory, message_key(m->id), m->units * unit_bytes[ints]);
    memcpy(area->image, area->memory, area->bytes);
    if (m->form == BLOCKING) {
        operation->error = call_send(m->mode, area, m->dest, m->tag, comms[m->comm]);
        return;
    }
    operation->is_persistent = m->form == PERSISTENT;
    int error = call_isend(m->mode, operation->is_persistent, area, m->dest, m->tag, comms[m->comm],
                           &operation->request);
    if (error == MPI_SUCCESS && operation->is_persistent)
        error = MPI_Start(&operation->request);
    if (error != MPI_SUCCESS)
        message_fault(m, "the send cannot be started");
    else
        add_outstanding(operation);
}

static void start_sends(void)
{
    for (int i = 0; i < message_count; i++) {
        if (messages[i].source == ranks[messages[i].comm])
            start_send(&messages[i]);
    }
}

static void check_send(message_t *m)
{
    if (m->operation.error != MPI_SUCCESS)
        message_fault(m, "the send fails");
    if (!is_right(&m->area))
        message_fault(m, "the buffer of the send has changed");
    free_area(&m->area);
}

/* -- receives ------------------------------------------------------------------------ */

typedef enum receive_form { IRECV, RECV_INIT, RECV, PROBE, IPROBE, MPROBE, IMPROBE, HOWS } how_t;

typedef struct receive {
    int comm, source, tag;
    bool is_early, ints;
    how_t how;
    area_t area;
    operation_t operation;
    MPI_Status probed;
} receive_t;

static receive_t receives[MESSAGES_MAX];
static int receive_count;

static bool can_take(const receive_t *receive, const message_t *m)
{
    return m->comm == receive->comm && m->dest == ranks[m->comm] && !m->is_taken &&
           (receive->source == MPI_ANY_SOURCE || receive->source == m->source) &&
           (receive->tag == MPI_ANY_TAG || receive->tag == m->tag);
}

/* Elements for the largest message that may come; for more; for one or many fewer. */
static int draw_room(const receive_t *receive, const layout_t *layout)
{
    int most = 0, which = draw(&own_state, 16);
    for (int i = 0; i < message_count; i++) {
        if (can_take(receive, &messages[i]) && messages[i].units > most)
            most = messages[i].units;
    }
    int elements = (most + layout->units - 1) / layout->units;
    switch (which) {
    case 0:
        return draw(&own_state, elements + 1);
    case 1:
        return elements > 0 ? elements - 1 : 0;
    case 2:
        return elements + draw(&own_state, 1000);
    default:
        return elements;
    }
}

static bool names_source(const message_t *m)
{
    wildcard_t wildcard = box_wildcard(m->comm, m->dest);
    if (wildcard == BY_CHOICE)
        return box_fixes_source(m->comm, m->dest) && draw(&own_state, 2) == 0;
    return wildcard == BY_NAME || wildcard == BY_SOURCE ||
           (wildcard == BY_TAG && hash(11 + m->comm, m->dest, m->tag) % 4 == 0);
}

static bool names_tag(const message_t *m)
{
    wildcard_t wildcard = box_wildcard(m->comm, m->dest);
    if (wildcard == BY_CHOICE)
        return box_fixes_tag(m->comm, m->dest) && draw(&own_state, 2) == 0;
    return wildcard == BY_NAME || wildcard == BY_TAG ||
           (wildcard == BY_SOURCE && hash(21 + m->comm, m->dest, m->source) % 4 == 0);
}

/* A receive that the message can match, in a box where nobody else needs it. */
static void draw_receive(const message_t *m)
{
    receive_t *receive = &receives[receive_count++];
    early_t early = box_early(m->comm, m->dest);
    *receive = (receive_t){.comm = m->comm, .ints = box_has_ints(m->comm, m->dest)};
    receive->source = names_source(m) ? m->source : MPI_ANY_SOURCE;
    receive->tag = names_tag(m) ? m->tag : MPI_ANY_TAG;
    receive->is_early = early == ALL_EARLY || (early == SOME_EARLY && draw(&own_state, 2) == 0);
    receive->how = (how_t)draw(&own_state, receive->is_early ? RECV : HOWS);
}

/* In the order in which they will be posted: any one, but the early ones come first. */
static void draw_receives(void)
{
    receive_count = 0;
    for (int i = 0; i < message_count; i++) {
        if (messages[i].dest == ranks[messages[i].comm])
            draw_receive(&messages[i]);
    }
    for (int i = 0; i < receive_count; i++) {
        int other = i + draw(&own_state, receive_count - i);
        receive_t receive = receives[other];
        receives[other] = receives[i];
        receives[i] = receive;
    }
    for (int i = 0, early = 0; i < receive_count; i++) {
        if (receives[i].is_early) {
            receive_t receive = receives[i];
            receives[i] = receives[early];
            receives[early++] = receive;
        }
    }
    for (int i = 0; i < receive_count; i++) {
        const layout_t *layout = &layouts[receives[i].ints][draw(&own_state, LAYOUTS)];
        make_area(&receives[i].area, layout, draw_room(&receives[i], layout));
    }
}

static void probe(receive_t *receive, MPI_Message *message)
{
    MPI_Comm comm = comms[receive->comm];
    int source = receive->source, tag = receive->tag, is_there = 0;
    MPI_Status *status = &receive->probed;
    if (receive->how == PROBE)
        MPI_Probe(source, tag, comm, status);
    else if (receive->how == MPROBE)
        MPI_Mprobe(source, tag, comm, message, status);
    else
        while (!is_there) {
            if (receive->how == IPROBE)
                MPI_Iprobe(source, tag, comm, &is_there, status);
            else
                MPI_Improbe(source, tag, comm, &is_there, message, status);
            complete(TEST);
            sched_yield();
        }
}

static void receive_probed(receive_t *receive)
{
    MPI_Message message;
    area_t *area = &receive->area;
    operation_t *operation = &receive->operation;
    MPI_Datatype type = area->layout->type;
    void *buffer = area->buffer;
    int count = area->count;
    probe(receive, &message);
    if (receive->how == PROBE || receive->how == IPROBE) {
        operation->error = call_receive(area, receive->probed.MPI_SOURCE, receive->probed.MPI_TAG,
                                        comms[receive->comm], &operation->status);
    } else if (draw(&own_state, 2) == 0) {
        operation->error = CALL(Mrecv, buffer, count, type, &message, &operation->status);
    } else {
        CALL(Imrecv, buffer, count, type, &message, &operation->request);
        add_outstanding(operation);
    }
}

static void start_receive(receive_t *receive)
{
    area_t *area = &receive->area;
    operation_t *operation = &receive->operation;
    MPI_Datatype type = area->layout->type;
    MPI_Comm comm = comms[receive->comm];
    int source = receive->source, tag = receive->tag;
    if (receive->how == RECV) {
        operation->error = call_receive(area, source, tag, comm, &operation->status);
    } else if (receive->how == IRECV) {
        CALL(Irecv, area->buffer, area->count, type, source, tag, comm, &operation->request);
        add_outstanding(operation);
    } else if (receive->how == RECV_INIT) {
        CALL(Recv_init, area->buffer, area->count, type, source, tag, comm, &operation->request);
        operation->is_persistent = true;
        MPI_Start(&operation->request);
        add_outstanding(operation);
    } else {
        receive_probed(receive);
    }
}

/* -- the model ----------------------------------------------------------------------- */

static bool has_count(const MPI_Status *status, MPI_Datatype type, int count)
{
    int got;
    MPI_Get_count(status, type, &got);
    return got == count;
}

static void check_lengths(const receive_t *receive, const message_t *m)
{
    const layout_t *layout = receive->area.layout;
    const MPI_Status *status = &receive->operation.status;
    int elements, whole = m->units % layout->units == 0 ? m->units / layout->units : MPI_UNDEFINED;
    MPI_Get_elements(status, layout->type, &elements);
    if (!has_count(status, layout->type, whole) || elements != m->units)
        message_fault(m, "the count in the status is wrong");
}

static void check_probed(const receive_t *receive, const message_t *m)
{
    const MPI_Status *status = &receive->probed;
    if (status->MPI_SOURCE != m->source || status->MPI_TAG != m->tag ||
        !has_count(status, unit_types[receive->ints], m->units))
        message_fault(m, "the probe did not say what was received");
}

/* They are checked in the order in which they were posted. */
static void check_receive(receive_t *receive)
{
    operation_t *operation = &receive->operation;
    message_t *m = messages;
    area_t *area = &receive->area;
    int class, room = area->count * area->layout->units;
    while (m < messages + message_count &&
           !(can_take(receive, m) && m->source == operation->status.MPI_SOURCE))
        m++;
    if (m == messages + message_count) {
        fault("a receive of %d, tag %d in communicator %d, way %d, has source %d, tag %d, error %d",
              receive->source, receive->tag, receive->comm, receive->how,
              operation->status.MPI_SOURCE, operation->status.MPI_TAG, operation->error);
        return;
    }
    m->is_taken = true;
    received_count++;
    if (m->tag != operation->status.MPI_TAG)
        message_fault(m, "its tag is another one, or it was overtaken");
    if (receive->how >= PROBE)
        check_probed(receive, m);
    MPI_Error_class(operation->error, &class);
    if (class != (m->units > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS))
        message_fault(m, "the receive ends with another error");
    if (m->units > room) {
        truncated_count++;
        accept_data(area);
    } else {
        check_lengths(receive, m);
        write_data(area, area->image, message_key(m->id), m->units * unit_bytes[receive->ints]);
    }
    if (!is_right(area))
        message_fault(m, "the buffer of the receive is wrong");
}

static void check_all(void)
{
    for (int i = 0; i < receive_count; i++) {
        check_receive(&receives[i]);
        free_area(&receives[i].area);
    }
    for (int i = 0; i < message_count; i++) {
        message_t *m = &messages[i];
        if (m->dest == ranks[m->comm] && !m->is_taken)
            message_fault(m, "it was not received");
        if (m->source == ranks[m->comm])
            check_send(m);
    }
    for (int c = 0; c < COMMS; c++) { /* others send again only after the next barrier */
        int is_there;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &is_there, MPI_STATUS_IGNORE);
        if (is_there)
            fault("there is a message in communicator %d that nobody sent", c);
    }
}

/* -- what all do in a round besides -------------------------------------------------- */

/* Each rank sends to one that is as far away, in one call with the receive. */
static void shift(void)
{
    int distance = draw(&common_state, world_size), units = draw_bytes() / 24 * 6;
    bool replaces = draw(&common_state, 2) == 0;
    int dest = (ranks[TOGETHER] + distance) % world_size;
    int source = (ranks[TOGETHER] + world_size - distance) % world_size;
    const layout_t *from = &layouts[1][draw(&own_state, LAYOUTS)];
    const layout_t *to = replaces ? from : &layouts[1][draw(&own_state, LAYOUTS)];
    area_t send, receive;
    MPI_Comm comm = comms[TOGETHER];
    MPI_Status status;
    int error;
    make_area(&send, from, units / from->units);
    make_area(&receive, to, units / to->units);
    write_data(&send, send.memory, hash(5, ranks[TOGETHER], 0), units * 4);
    if (replaces) {
        error = call_replace(&send, dest, source, comm, &status);
        write_data(&send, send.image, hash(5, source, 0), units * 4);
    } else {
        error = call_sendrecv(&send, dest, &receive, source, comm, &status);
        write_data(&send, send.image, hash(5, ranks[TOGETHER], 0), units * 4);
        write_data(&receive, receive.image, hash(5, source, 0), units * 4);
    }
    if (error != MPI_SUCCESS || !is_right(&send) || !is_right(&receive) ||
        status.MPI_SOURCE != source || status.MPI_TAG != 1 ||
        !has_count(&status, to->type, units / to->units))
        fault("MPI_Sendrecv%s of %d words from %d to %d is wrong", replaces ? "_replace" : "",
              units, source, dest);
    free_area(&send);
    free_area(&receive);
}

/* Receives that nothing matches, and synchronous sends that nothing takes, where a send that has
 * left can be cancelled, among the others. */
enum { TAG_NEVER = 99, CANCELS_MAX = 4 };
static MPI_Request cancels[CANCELS_MAX];
static area_t cancel_areas[CANCELS_MAX];
static int cancel_count;

static void start_cancel(int i)
{
    area_t *area = &cancel_areas[i];
    int elements = draw(&own_state, 4) == 0 ? draw(&own_state, 20000) : draw(&own_state, 100);
    make_area(area, &layouts[0][draw(&own_state, LAYOUTS)], elements);
    MPI_Datatype type = area->layout->type;
    int peer = draw(&own_state, world_size);
    if (draw(&own_state, 2) == 0 && place_cancels_sends()) { /* where no receive takes any tag */
        MPI_Issend(area->buffer, area->count, type, peer, TAG_NEVER, comms[TOGETHER], &cancels[i]);
        return;
    }
    if (draw(&own_state, 2) == 0)
        peer = MPI_ANY_SOURCE;
    MPI_Irecv(area->buffer, area->count, type, peer, TAG_NEVER, comms[draw(&own_state, COMMS)],
              &cancels[i]);
}

static void start_cancels(void)
{
    cancel_count = draw(&own_state, CANCELS_MAX + 1);
    for (int i = 0; i < cancel_count; i++)
        start_cancel(i);
}

static void cancel_all(void)
{
    for (int i = 0; i < cancel_count; i++) {
        int is_cancelled = 0;
        MPI_Status status;
        MPI_Cancel(&cancels[i]);
        MPI_Wait(&cancels[i], &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        if (!is_cancelled || !is_right(&cancel_areas[i]))
            fault("a request is not cancelled, or its buffer has changed");
        free_area(&cancel_areas[i]);
    }
}

/* -- rounds -------------------------------------------------------------------------- */

static void run_round(void)
{
    static char attached[MESSAGES_MAX * (BUFFERED_MAX + MPI_BSEND_OVERHEAD)];
    void *detached;
    int bytes;
    common_state = hash(6, 0, 0);
    own_state = hash(7, world_rank, 0);
    message_count = 1 + draw(&common_state, MESSAGES_MAX);
    for (int i = 0; i < message_count; i++)
        draw_message(i);
    draw_receives();
    start_cancels();
    for (int i = 0; i < receive_count && receives[i].is_early; i++)
        start_receive(&receives[i]);
    MPI_Barrier(comms[TOGETHER]);
    MPI_Buffer_attach(attached, sizeof attached);
    start_sends();
    if (draw(&common_state, 2) == 0)
        shift();
    for (int i = 0; i < receive_count; i++) {
        if (!receives[i].is_early)
            start_receive(&receives[i]);
        if (draw(&own_state, 4) == 0)
            complete(TEST + draw(&own_state, 4));
    }
    while (outstanding_count > 0)
        complete(draw(&own_state, COMPLETIONS));
    cancel_all();
    MPI_Barrier(comms[TOGETHER]); /* a rank that has left MPI gives no send back */
    MPI_Buffer_detach(&detached, &bytes);
    check_all();
}

static void make_comms(void)
{
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[1]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[TOGETHER]);
    for (int i = 0; i <= TOGETHER; i++) {
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
        MPI_Comm_rank(comms[i], &ranks[i]);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

int main(int argc, char **argv)
{
    int go_on = 1;
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    round_number = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    tap_rank(world_rank);
    make_comms();
    make_layouts(false);
    make_layouts(true);
    double end = MPI_Wtime() + seconds;
    for (; go_on; round_number++) {
        run_round();
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, comms[TOGETHER]);
    }
    for (int i = 1; i < LAYOUTS; i++) {
        MPI_Type_free(&layouts[0][i].type);
        MPI_Type_free(&layouts[1][i].type);
    }
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[TOGETHER]);
    tap_check(faults == 0,
              "seed %llu, before round %llu: %d faults in %d receives, %d of them truncated",
              (unsigned long long)seed, (unsigned long long)round_number, faults, received_count,
              truncated_count);
    MPI_Finalize();
    return tap_finish();
}
