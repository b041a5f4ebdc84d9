/* SPDX-License-Identifier: BSD-3-Clause */
/* osc/messages: what the origin does. See messages.h. */
#include "ompi/mca/osc/messages/messages.h"

#include <stdlib.h>

#include "opal/progress/wait.h"
#include "ompi/handle/handle.h"
#include "ompi/mca/osc/base/base.h"

extern const ompi_osc_ops_t messages_ops;

opal_list_t messages_windows = {{&messages_windows.head, &messages_windows.head}};

/* By context; NULL: no window of that context. */
static messages_window_t **by_context;
static size_t context_count;

static messages_window_t *state_of(const ompi_osc_window_t *window)
{
    return ompi_osc_state(window, &messages_ops);
}

messages_window_t *messages_window_of(uint32_t context, const opal_process_t *from, int *rank)
{
    messages_window_t *window = context < context_count ? by_context[context] : NULL;
    if (window == NULL)
        return NULL;
    *rank = ompi_group_rank_of(window->window->comm->group, (int)from->index);
    return *rank != MPI_UNDEFINED ? window : NULL;
}

/* -- windows ----------------------------------------------------------------------------------- */

static bool reserve_context(uint32_t context)
{
    if (context < context_count)
        return true;
    size_t count = 2 * (size_t)context + 16;
    messages_window_t **grown = realloc(by_context, count * sizeof *grown);
    if (grown == NULL)
        return false;
    memset(grown + context_count, 0, (count - context_count) * sizeof(messages_window_t *));
    by_context = grown;
    context_count = count;
    return true;
}

static bool needs_messages(const ompi_osc_window_t *window)
{
    bool needs = window->is_dynamic && window->size > 1;
    for (int rank = 0; rank < window->size; rank++)
        needs =
            needs || window->targets[rank].ops == &messages_ops || window->targets[rank].local < 0;
    return needs;
}

/* A window that this rank reaches by other components may be one that others reach by messages:
 * every rank of a window with several ranks has a state. */
static int add(ompi_osc_window_t *given, void **state)
{
    if (given->size == 1 && !needs_messages(given))
        return MPI_SUCCESS;
    messages_window_t *window = calloc(1, sizeof *window);
    messages_rank_t *ranks = calloc((size_t)given->size, sizeof *ranks);
    ompi_lock();
    bool is_reserved = window != NULL && ranks != NULL && reserve_context(given->comm->context) &&
                       messages_frames_start() == MPI_SUCCESS;
    if (is_reserved) {
        window->window = given;
        window->ranks = ranks;
        opal_list_init(&window->lock_requests);
        by_context[given->comm->context] = window;
        opal_list_append(&messages_windows, &window->node);
        *state = window;
    }
    ompi_unlock();
    if (is_reserved)
        return MPI_SUCCESS;
    free(window);
    free(ranks);
    return MPI_ERR_NO_MEM;
}

/* Called when the last reference to the window is released, under ompi_lock. */
static void remove_window(ompi_osc_window_t *given, void *state)
{
    messages_window_t *window = state;
    messages_lock_stop(window);
    messages_drop_window(window);
    by_context[given->comm->context] = NULL;
    opal_list_remove(&window->node);
    free(window->ranks);
    free(window);
}

static bool reaches(const ompi_osc_window_t *window OPAL_UNUSED, int rank OPAL_UNUSED)
{
    return true;
}

/* -- sending ----------------------------------------------------------------------------------- */

static messages_peer_t *peer_of(const ompi_osc_window_t *window, int rank)
{
    return messages_peer(opal_process(ompi_comm_process(window->comm, rank)));
}

/* An item for a rank without data. */
static messages_item_t item_for(messages_window_t *window, int rank, messages_kind_t kind)
{
    return (messages_item_t){
        .peer = peer_of(window->window, rank),
        .window = window,
        .kind = kind,
        .head = {.context = window->window->comm->context},
        .unit = 1,
        .rank = -1,
    };
}

static int send(messages_window_t *window, int rank, messages_item_t *item)
{
    atomic_store_explicit(&window->window->is_sent, true, memory_order_relaxed);
    window->ranks[rank].is_unflushed = true;
    return item->peer != NULL ? messages_send(item) : MPI_ERR_PROC_ABORTED;
}

static int signal(ompi_osc_window_t *given, int rank, messages_kind_t kind)
{
    messages_window_t *window = state_of(given);
    ompi_lock();
    messages_item_t item = item_for(window, rank, kind);
    int error = item.peer != NULL ? messages_send(&item) : MPI_ERR_PROC_ABORTED;
    ompi_unlock();
    return error;
}

static int post(ompi_osc_window_t *window, int rank)
{
    return signal(window, rank, MESSAGES_POST);
}

static int complete(ompi_osc_window_t *window, int rank)
{
    return signal(window, rank, MESSAGES_COMPLETE);
}

static int unlock(ompi_osc_window_t *window, int rank, ompi_osc_lock_kind_t kind OPAL_UNUSED)
{
    return signal(window, rank, MESSAGES_UNLOCK);
}

/* -- waiting for answers ----------------------------------------------------------------------- */

static ompi_look_t look_for_end(ompi_osc_window_t *window, void *what)
{
    const messages_operation_t *operation = what;
    (void)window;
    return operation->is_over ? OMPI_LOOK_OVER : OMPI_LOOK_WAITS;
}

/* Sends a frame that is answered by DONE, and waits for that. Under ompi_lock. */
static int ask(messages_window_t *window, int rank, messages_item_t *item)
{
    messages_operation_t operation = {
        .window = window, .peer = item->peer, .rank = rank, .is_waited_for = true};
    if (item->peer == NULL)
        return MPI_ERR_PROC_ABORTED;
    int error = messages_add_operation(&operation);
    if (error != MPI_SUCCESS)
        return error;
    item->head.operation = operation.name;
    error = messages_send(item);
    if (error == MPI_SUCCESS)
        error = ompi_osc_wait_for(window->window, look_for_end, &operation, rank,
                                  item->kind == MESSAGES_LOCK ? "has not given its lock"
                                                              : "has not answered");
    if (!operation.is_over)
        messages_end_operation(&operation, error);
    return operation.error;
}

static int lock(ompi_osc_window_t *given, int rank, ompi_osc_lock_kind_t kind)
{
    messages_window_t *window = state_of(given);
    ompi_lock();
    messages_item_t item = item_for(window, rank, MESSAGES_LOCK);
    item.head.kind = (uint16_t)kind;
    int error = ask(window, rank, &item);
    ompi_unlock();
    return error;
}

/* -- flush ------------------------------------------------------------------------------------- */

typedef struct wish {
    messages_window_t *window;
    int rank;
} wish_t;

static ompi_look_t look_for_answers(ompi_osc_window_t *given, void *what)
{
    const wish_t *wish = what;
    (void)given;
    return wish->window->ranks[wish->rank].unanswered == 0 ? OMPI_LOOK_OVER : OMPI_LOOK_WAITS;
}

static void await_answers(messages_window_t *window, int rank)
{
    ompi_osc_wait_for(window->window, look_for_answers, &(wish_t){window, rank}, rank,
                      "has not answered");
}

static int take_failure(messages_rank_t *state)
{
    int error = state->failure;
    state->failure = MPI_SUCCESS;
    return error;
}

/* Waits until nothing of the user's memory is used any more. Gets are complete then, so it tells
 * what has become of them. */
static int flush_local(messages_window_t *window, int rank)
{
    messages_rank_t *state = &window->ranks[rank];
    int error = state->unsent > 0 ? messages_copy_unsent(window, rank) : MPI_SUCCESS;
    if (state->unanswered > 0)
        await_answers(window, rank);
    int failure = take_failure(state);
    return error != MPI_SUCCESS ? error : failure;
}

static int flush_rank(messages_window_t *window, int rank)
{
    messages_rank_t *state = &window->ranks[rank];
    if (!state->is_unflushed && state->flushes == 0)
        return MPI_SUCCESS;
    state->is_unflushed = false;
    state->flushes++;
    messages_item_t item = item_for(window, rank, MESSAGES_FLUSH);
    int error = ask(window, rank, &item);
    state->flushes--;
    if (state->unanswered > 0)
        await_answers(window, rank);
    int failure = take_failure(state);
    return error != MPI_SUCCESS ? error : failure;
}

static int flush(ompi_osc_window_t *given, int rank, bool local)
{
    messages_window_t *window = state_of(given);
    int error = MPI_SUCCESS;
    ompi_lock();
    for (int each = rank >= 0 ? rank : 0; each < (rank >= 0 ? rank + 1 : given->size); each++) {
        int status = local ? flush_local(window, each) : flush_rank(window, each);
        error = error == MPI_SUCCESS ? status : error;
    }
    ompi_unlock();
    return error;
}

/* -- accesses ---------------------------------------------------------------------------------- */

/* Writes the place of an access into the head. */
static int set_place(messages_item_t *item, const ompi_osc_access_t *access)
{
    const ompi_data_t *remote = &access->remote;
    messages_head_t *head = &item->head;
    head->offset = (int64_t)((uintptr_t)remote->buffer - access->target->base);
    size_t bytes;
    if (!ompi_datatype_run_bytes(remote->type, remote->count, &bytes)) {
        head->count = remote->count;
        return messages_type_slot(item->peer, remote->type, &head->type);
    }
    head->type = MESSAGES_RUN;
    head->count = bytes;
    head->offset += remote->type->shape.origin;
    return MPI_SUCCESS;
}

static void destroy_request(ompi_object_t *head)
{
    free(opal_container_of(head, ompi_request_t, head));
}

/* The request that the program wants. False: no memory. */
static bool make_request(ompi_osc_access_t *access)
{
    static const ompi_request_ops_t nothing;
    if (!access->wants_request)
        return true;
    access->request = malloc(sizeof *access->request);
    if (access->request == NULL)
        return false;
    ompi_request_init(access->request, &nothing, access->window->comm, destroy_request);
    return true;
}

static void drop_request(ompi_osc_access_t *access)
{
    if (access->request != NULL)
        ompi_request_release(access->request);
    access->request = NULL;
}

/* An operation whose answer goes to `to`. NULL: no memory. */
static messages_operation_t *await_data(messages_window_t *window, ompi_osc_access_t *access,
                                        messages_peer_t *peer, const ompi_data_t *to)
{
    messages_operation_t *operation = calloc(1, sizeof *operation);
    if (operation == NULL)
        return NULL;
    *operation = (messages_operation_t){.window = window,
                                        .peer = peer,
                                        .result = *to,
                                        .missing = ompi_datatype_bytes(to->type, to->count),
                                        .request = access->request,
                                        .rank = access->rank};
    if (messages_add_operation(operation) == MPI_SUCCESS)
        return operation;
    free(operation);
    return NULL;
}

/* Sends an access. `result` (may be NULL) gets its answer; otherwise its request is complete when
 * all was sent. */
static int start(messages_item_t *item, ompi_osc_access_t *access, const ompi_data_t *result)
{
    messages_window_t *window = item->window;
    messages_operation_t *operation = NULL;
    if (item->peer == NULL)
        return MPI_ERR_PROC_ABORTED;
    int error = set_place(item, access);
    if (error == MPI_SUCCESS && !make_request(access))
        error = MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS && result != NULL) {
        operation = await_data(window, access, item->peer, result);
        error = operation != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    if (error == MPI_SUCCESS) {
        item->head.operation = operation != NULL ? operation->name : 0;
        item->request = operation == NULL ? access->request : NULL;
        error = send(window, access->rank, item);
    }
    if (error == MPI_SUCCESS)
        return error;
    if (operation != NULL) {
        operation->request = NULL;
        messages_end_operation(operation, MPI_SUCCESS);
    }
    drop_request(access);
    return error;
}

static void set_data(messages_item_t *item, const ompi_osc_access_t *access)
{
    item->data = access->origin;
    item->total = ompi_datatype_bytes(item->data.type, item->data.count);
    item->rank = access->rank;
}

static bool is_empty(const ompi_osc_access_t *access)
{
    return ompi_datatype_bytes(access->remote.type, access->remote.count) == 0;
}

static int put(ompi_osc_access_t *access)
{
    messages_window_t *window = state_of(access->window);
    if (is_empty(access))
        return MPI_SUCCESS;
    ompi_lock();
    messages_item_t item = item_for(window, access->rank, MESSAGES_PUT);
    set_data(&item, access);
    int error = start(&item, access, NULL);
    ompi_unlock();
    return error;
}

static int get(ompi_osc_access_t *access)
{
    messages_window_t *window = state_of(access->window);
    if (is_empty(access))
        return MPI_SUCCESS;
    ompi_lock();
    messages_item_t item = item_for(window, access->rank, MESSAGES_GET);
    int error = start(&item, access, &access->origin);
    ompi_unlock();
    return error;
}

static uint16_t handle_of(const void *object)
{
    return (uint16_t)(uintptr_t)ompi_object_handle(object);
}

static int accumulate(ompi_osc_access_t *access)
{
    messages_window_t *window = state_of(access->window);
    const ompi_datatype_t *element = ompi_datatype_element(access->remote.type);
    const ompi_data_t *result = access->result.type != NULL ? &access->result : NULL;
    ompi_lock();
    messages_item_t item = item_for(window, access->rank, MESSAGES_ACCUMULATE);
    item.head.element = handle_of(element);
    item.head.op = handle_of(access->op);
    item.unit = ompi_datatype_size(element);
    /* Of MPI_NO_OP there is no origin: what comes back tells how much goes. */
    if (access->op->action == OMPI_OP_KEEP && result != NULL)
        access->origin = *result;
    set_data(&item, access);
    bool has_effect = access->op->action != OMPI_OP_KEEP || result != NULL;
    int error = has_effect ? start(&item, access, result) : MPI_SUCCESS;
    ompi_unlock();
    return error;
}

static int compare(ompi_osc_access_t *access, const void *with)
{
    messages_window_t *window = state_of(access->window);
    size_t bytes = ompi_datatype_size(access->remote.type);
    char *both = malloc(2 * bytes);
    if (both == NULL)
        return MPI_ERR_NO_MEM;
    memcpy(both, access->origin.buffer, bytes);
    memcpy(both + bytes, with, bytes);
    ompi_lock();
    messages_item_t item = item_for(window, access->rank, MESSAGES_COMPARE);
    item.head.element = handle_of(ompi_datatype_element(access->remote.type));
    item.unit = item.total = 2 * bytes;
    item.copy = both;
    int error = start(&item, access, &access->result);
    if (error != MPI_SUCCESS)
        free(both);
    ompi_unlock();
    return error;
}

/* -- the component ----------------------------------------------------------------------------- */

void messages_lose(opal_process_t *process)
{
    /* Nobody else remembers it for the network. */
    messages_peer_t *peer = ompi_pml->network != NULL ? messages_peer(process) : NULL;
    if (peer != NULL)
        peer->btl->is_unreachable = true;
    messages_drop_process(process);
    for (opal_list_node_t *node = opal_list_first(&messages_windows); node != NULL;
         node = opal_list_next(&messages_windows, node)) {
        messages_window_t *window = opal_container_of(node, messages_window_t, node);
        int rank = ompi_group_rank_of(window->window->comm->group, (int)process->index);
        if (rank == MPI_UNDEFINED)
            continue;
        window->window->targets[rank].has_ended = true;
        messages_lock_forget(window, rank);
    }
    opal_wait_notify_self(); /* what waits for that process ends */
}

static void failed(opal_process_t *process, opal_status_t why OPAL_UNUSED)
{
    messages_lose(process);
}

static const opal_btl_client_t client = {
    .receive = messages_receive, .failed = failed, .left = messages_lose};

static opal_status_t start_client(void)
{
    opal_process_on_forget(OPAL_END_ONE_SIDED, messages_forget_process);
    if (ompi_pml->network == NULL)
        return opal_btl_open(OPAL_BTL_ONE_SIDED, &client);
    opal_btl_watch(OPAL_BTL_ONE_SIDED, &client);
    return OPAL_SUCCESS;
}

static void stop_client(void)
{
    for (uint32_t i = 0; i < opal_process_own_size; i++)
        messages_forget_process(opal_process_entry(i));
    opal_process_forget_end(OPAL_END_ONE_SIDED);
    messages_frames_stop();
    if (ompi_pml->network == NULL)
        opal_btl_close(OPAL_BTL_ONE_SIDED);
    else
        opal_btl_watch(OPAL_BTL_ONE_SIDED, NULL);
    free(by_context);
    by_context = NULL;
    context_count = 0;
}

const ompi_osc_ops_t messages_ops = {
    .name = "messages",
    .start = start_client,
    .stop = stop_client,
    .add = add,
    .remove = remove_window,
    .reaches = reaches,
    .put = put,
    .get = get,
    .accumulate = accumulate,
    .compare = compare,
    .flush = flush,
    .lock = lock,
    .unlock = unlock,
    .post = post,
    .complete = complete,
};

static void query(opal_answer_t *answer)
{
    opal_answer_yes(answer, 10, &messages_ops, NULL, "messages of a transport reach every rank");
}

OPAL_EXPORT extern const opal_component_t mca_osc_messages_component;
const opal_component_t mca_osc_messages_component = {
    OPAL_COMPONENT_HEAD(osc, messages),
    .prose = "one-sided communication by messages, which the target carries out",
    .query = query,
};
