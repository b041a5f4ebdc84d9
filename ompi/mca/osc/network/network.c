/* SPDX-License-Identifier: BSD-3-Clause */
/* osc/network: windows, puts, gets and flushes. See network.h. */
#include "ompi/mca/osc/network/network.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/log.h"
#include "ompi/mca/osc/base/area.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/base/exchange.h"

enum { ADDRESS_BYTES = 128, SEGMENTS = 64, SHORT_SEGMENT_BYTES = 512 };

opal_list_t network_windows = {{&network_windows.head, &network_windows.head}};

static network_window_t *state_of(const ompi_osc_window_t *window)
{
    return ompi_osc_state(window, &network_ops);
}

/* -- making windows ---------------------------------------------------------------------------- */

static int add(ompi_osc_window_t *given, void **state)
{
    if (given->size == 1 || given->is_dynamic)
        return MPI_SUCCESS;
    network_window_t *window = calloc(1, sizeof *window);
    network_rank_t *ranks = calloc((size_t)given->size, sizeof *ranks);
    if (window == NULL || ranks == NULL) {
        free(window);
        free(ranks);
        return MPI_ERR_NO_MEM;
    }
    window->window = given;
    window->ranks = ranks;
    *state = window;
    return MPI_SUCCESS;
}

void network_window_leave(network_window_t *window)
{
    if (window->is_watched) {
        network_pieces_abandon(window, -1, MPI_ERR_OTHER); /* of ranks that have died */
        opal_list_remove(&window->node);
        network_unwatch();
        window->is_watched = false;
    }
    if (window->mr != NULL)
        fi_close(&window->mr->fid);
    window->mr = NULL;
}

static void remove_window(ompi_osc_window_t *given OPAL_UNUSED, void *state)
{
    network_window_t *window = state;
    network_window_leave(window);
    free(window->ranks);
    free(window);
}

/* What a rank tells the others. */
typedef struct item {
    uint64_t signature, key, base;
    uint32_t is_reached, address_bytes;
    char address[ADDRESS_BYTES];
} item_t;

static bool spans_nodes(const ompi_osc_window_t *window)
{
    bool spans = false;
    for (int rank = 0; rank < window->size; rank++)
        spans = spans || window->targets[rank].local < 0;
    return spans;
}

static bool register_window(network_window_t *window)
{
    const ompi_osc_target_t *own = &window->window->targets[window->window->rank];
    if (own->bytes == 0)
        return true;
    uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE;
    int result =
        opal_fabric_register(&network.endpoint, (void *)own->base, own->bytes, access, &window->mr);
    if (result == 0)
        return true;
    window->mr = NULL;
    window->why = "the memory of a rank cannot be registered";
    return false;
}

/* False: this rank is not reached by the network. */
static bool prepare_item(network_window_t *window, item_t *item)
{
    size_t bytes;
    char *address = opal_fabric_own_address(&network.endpoint, &bytes);
    bool fits = address != NULL && bytes <= ADDRESS_BYTES;
    if (fits)
        memcpy(item->address, address, bytes);
    free(address);
    if (!fits || !register_window(window))
        return false;
    item->address_bytes = (uint32_t)bytes;
    item->signature = network.signature;
    item->key = window->mr != NULL ? fi_mr_key(window->mr) : 0;
    item->base = network.is_virtual ? window->window->targets[window->window->rank].base : 0;
    item->is_reached = 1;
    return true;
}

static bool set_rank(network_window_t *window, int rank, const item_t *item)
{
    network_rank_t *state = &window->ranks[rank];
    unsigned process = ompi_comm_process(window->window->comm, rank);
    if (!item->is_reached || item->signature != network.signature ||
        item->address_bytes != network.endpoint.address_bytes ||
        opal_fabric_set_address(&network.endpoint, process, item->address) != OPAL_SUCCESS ||
        opal_fabric_address(&network.endpoint, process, &state->address) != OPAL_SUCCESS)
        return false;
    state->key = item->key;
    state->base = item->base;
    state->is_reached = true;
    return true;
}

/* *reaches_all: also itself. */
static int set_ranks(network_window_t *window, const item_t *items, bool *reaches_all)
{
    *reaches_all = true;
    ompi_lock();
    for (int rank = 0; rank < window->window->size; rank++)
        *reaches_all = set_rank(window, rank, &items[rank]) && *reaches_all;
    int error = network_watch();
    if (error == MPI_SUCCESS) {
        opal_list_append(&network_windows, &window->node);
        window->is_watched = true;
    }
    ompi_unlock();
    return error;
}

/* All ranks of the window come here, or none. */
static int connect(network_window_t *window, item_t *items)
{
    item_t own = {0};
    bool reaches_all = false;
    ompi_lock();
    bool is_able = network_open() && prepare_item(window, &own);
    ompi_unlock();
    int error = ompi_osc_exchange(window->window->comm, &own, sizeof own, items);
    int status = is_able ? set_ranks(window, items, &reaches_all) : MPI_SUCCESS;
    if (error == MPI_SUCCESS)
        error = network_atomics_agree(window, reaches_all);
    return error == MPI_SUCCESS ? status : error;
}

static int agree(ompi_osc_window_t *given, void *state)
{
    network_window_t *window = state;
    if (given->size == 1 || given->is_dynamic)
        return MPI_SUCCESS;
    item_t *items = window != NULL ? malloc((size_t)given->size * sizeof *items) : NULL;
    uint64_t votes[2] = {items == NULL, spans_nodes(given)};
    int error = ompi_osc_maximum(given->comm, votes, 2);
    if (window != NULL && items == NULL)
        error = MPI_ERR_NO_MEM;
    else if (window != NULL && error == MPI_SUCCESS && votes[0] == 0 && votes[1] != 0)
        error = connect(window, items);
    free(items);
    return error;
}

static bool reaches(const ompi_osc_window_t *given, int rank)
{
    const network_window_t *window = state_of(given);
    return window != NULL && window->is_watched && given->targets[rank].local < 0 &&
           window->ranks[rank].is_reached;
}

static void describe(const ompi_osc_window_t *given, opal_text_t *text)
{
    const network_window_t *window = state_of(given);
    if (window->has_atomics)
        opal_text_add(text, "; accumulates by the network's atomics");
    else if (!network.is_open && network.refusal.length > 0)
        opal_text_printf(text, "; no network: %s", opal_text_string(&network.refusal));
    else if (window->why != NULL)
        opal_text_printf(text, "; no atomics of the network: %s", window->why);
}

/* -- puts and gets ----------------------------------------------------------------------------- */

static uint64_t flags_of(const network_piece_t *piece)
{
    return FI_DELIVERY_COMPLETE | FI_COMPLETION | (piece->is_unsafe ? 0 : FI_INJECT);
}

static ssize_t call_write(network_piece_t *piece)
{
    const network_rank_t *rank = &piece->window->ranks[piece->rank];
    void *descriptor = piece->mr != NULL ? fi_mr_desc(piece->mr) : NULL;
    struct iovec here = {piece->here, piece->bytes};
    struct fi_rma_iov there = {piece->there, piece->bytes, rank->key};
    struct fi_msg_rma message = {.msg_iov = &here,
                                 .desc = &descriptor,
                                 .iov_count = 1,
                                 .addr = rank->address,
                                 .rma_iov = &there,
                                 .rma_iov_count = 1,
                                 .context = &piece->context};
    return fi_writemsg(network.endpoint.ep, &message, flags_of(piece));
}

static ssize_t call_read(network_piece_t *piece)
{
    const network_rank_t *rank = &piece->window->ranks[piece->rank];
    return fi_read(network.endpoint.ep, piece->here, piece->bytes,
                   piece->mr != NULL ? fi_mr_desc(piece->mr) : NULL, rank->address, piece->there,
                   rank->key, &piece->context);
}

/* Whether packing the data into messages is less work than an operation for each segment. */
static bool is_scattered(const ompi_data_t *data)
{
    struct iovec segments[SEGMENTS];
    size_t bytes;
    size_t count = ompi_datatype_segments(data->type, data->count, data->buffer, 0, segments,
                                          SEGMENTS, &bytes);
    return count > 1 && bytes / count < SHORT_SEGMENT_BYTES;
}

static int begin_piece(const ompi_osc_access_t *access, bool write, const struct iovec *here,
                       const struct iovec *there)
{
    network_window_t *window = state_of(access->window);
    network_piece_t *piece = network_piece_create(window, access->rank, 0);
    if (piece == NULL)
        return MPI_ERR_NO_MEM;
    piece->here = here->iov_base;
    piece->there =
        window->ranks[access->rank].base + ((uintptr_t)there->iov_base - access->target->base);
    piece->bytes = here->iov_len;
    piece->is_unsafe = !write || here->iov_len > network.inject_bytes;
    piece->request = access->request != NULL
                         ? opal_container_of(access->request, network_request_t, base)
                         : NULL;
    return network_piece_begin(piece, write ? call_write : call_read);
}

static void skip(struct iovec *segment, size_t bytes)
{
    segment->iov_base = (char *)segment->iov_base + bytes;
    segment->iov_len -= bytes;
}

/* A piece for each run of bytes that is one on both sides. *total: what of the batch was begun. */
static int begin_batch(const ompi_osc_access_t *access, bool write, size_t from, size_t *total)
{
    const ompi_data_t *origin = &access->origin, *remote = &access->remote;
    struct iovec here[SEGMENTS], there[SEGMENTS];
    size_t here_bytes, there_bytes, i = 0, j = 0;
    ompi_datatype_segments(origin->type, origin->count, origin->buffer, from, here, SEGMENTS,
                           &here_bytes);
    ompi_datatype_segments(remote->type, remote->count, remote->buffer, from, there, SEGMENTS,
                           &there_bytes);
    size_t bytes = here_bytes < there_bytes ? here_bytes : there_bytes;
    int error = MPI_SUCCESS;
    for (*total = 0; *total < bytes && error == MPI_SUCCESS;) {
        struct iovec one = here[i], other = there[j];
        size_t length = one.iov_len < other.iov_len ? one.iov_len : other.iov_len;
        one.iov_len = length < network.max_bytes ? length : network.max_bytes;
        error = begin_piece(access, write, &one, &other);
        *total += one.iov_len;
        skip(&here[i], one.iov_len);
        skip(&there[j], one.iov_len);
        i += here[i].iov_len == 0;
        j += there[j].iov_len == 0;
    }
    return error;
}

static int move(ompi_osc_access_t *access, bool write)
{
    size_t total = ompi_datatype_bytes(access->remote.type, access->remote.count);
    if (is_scattered(&access->origin) || is_scattered(&access->remote))
        return OMPI_OSC_PASS_ON;
    if (ompi_osc_has_deaths() && ompi_osc_has_ended(access->window, access->rank))
        return MPI_ERR_PROC_ABORTED;
    ompi_lock();
    int error = network_request_create(access) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (size_t from = 0, bytes; from < total && error == MPI_SUCCESS; from += bytes)
        error = begin_batch(access, write, from, &bytes);
    error = network_request_finish(access, error);
    ompi_unlock();
    return error;
}

static int put(ompi_osc_access_t *access)
{
    return move(access, true);
}

static int get(ompi_osc_access_t *access)
{
    return move(access, false);
}

static int flush(ompi_osc_window_t *given, int rank, bool local)
{
    network_window_t *window = state_of(given);
    int error = MPI_SUCCESS;
    ompi_lock();
    for (int each = rank >= 0 ? rank : 0; each < (rank >= 0 ? rank + 1 : given->size); each++) {
        int status = network_wait(window, each, local);
        error = error == MPI_SUCCESS ? status : error;
    }
    ompi_unlock();
    return error;
}

const ompi_osc_ops_t network_ops = {
    .name = "network",
    .stop = network_close,
    .add = add,
    .remove = remove_window,
    .agree = agree,
    .describe = describe,
    .reaches = reaches,
    .put = put,
    .get = get,
    .accumulate = network_accumulate,
    .compare = network_compare,
    .flush = flush,
};
