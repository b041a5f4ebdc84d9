/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of libfabric: beginning them, their end, and waiting for it. */
#include <stdlib.h>

#include "opal/util/log.h"
#include "ompi/mca/osc/base/area.h"
#include "ompi/mca/osc/network/network.h"

enum { MOST_LOOKS = 256 }; /* with more accumulates under way, the next one waits */

/* Puts and gets; accumulates. */
static opal_list_t transfers = {{&transfers.head, &transfers.head}};
static opal_list_t accumulates = {{&accumulates.head, &accumulates.head}};

/* -- requests ---------------------------------------------------------------------------------- */

static void destroy_request(ompi_object_t *head)
{
    ompi_request_t *base = opal_container_of(head, ompi_request_t, head);
    free(opal_container_of(base, network_request_t, base));
}

bool network_request_create(ompi_osc_access_t *access)
{
    static const ompi_request_ops_t nothing;
    access->request = NULL;
    if (!access->wants_request)
        return true;
    network_request_t *request = malloc(sizeof *request);
    if (request == NULL)
        return false;
    request->pieces = 1;
    ompi_request_init(&request->base, &nothing, access->window->comm, destroy_request);
    access->request = &request->base;
    return true;
}

static void end_one(network_request_t *request, int error)
{
    if (error != MPI_SUCCESS)
        request->base.status.MPI_ERROR = error;
    if (--request->pieces == 0)
        ompi_request_complete(&request->base);
}

int network_request_finish(ompi_osc_access_t *access, int error)
{
    if (access->request == NULL)
        return error;
    end_one(opal_container_of(access->request, network_request_t, base), error);
    return MPI_SUCCESS;
}

/* -- the end of a piece ------------------------------------------------------------------------ */

static void deregister(network_piece_t *piece)
{
    if (piece->mr != NULL)
        fi_close(&piece->mr->fid);
    piece->mr = NULL;
}

static void free_piece(network_piece_t *piece)
{
    deregister(piece);
    if (piece->result.type != NULL)
        ompi_object_release(&piece->result.type->head);
    free(piece);
}

/* Its window and its request do not wait for it any more. */
static void settle(network_piece_t *piece, int error)
{
    network_rank_t *rank = &piece->window->ranks[piece->rank];
    rank->pending--;
    rank->unsafe -= piece->is_unsafe;
    if (error != MPI_SUCCESS && rank->failure == MPI_SUCCESS)
        rank->failure = error;
    piece->window = NULL;
    if (piece->request != NULL)
        end_one(piece->request, error);
    piece->request = NULL;
}

void network_piece_end(network_piece_t *piece, int error)
{
    opal_list_remove(&piece->node);
    network.pending--;
    if (piece->window != NULL) {
        if (piece->result.type != NULL && error == MPI_SUCCESS)
            ompi_datatype_unpack(piece->result.type, piece->result.count, piece->result.buffer,
                                 piece->from, network_before(piece), piece->bytes);
        settle(piece, error);
    }
    free_piece(piece);
}

static void abandon(const opal_list_t *list, const network_window_t *window, int rank, int error)
{
    for (opal_list_node_t *node = opal_list_first(list); node != NULL;
         node = opal_list_next(list, node)) {
        network_piece_t *piece = opal_container_of(node, network_piece_t, node);
        if (piece->window == window && (rank < 0 || piece->rank == rank))
            settle(piece, error);
    }
}

void network_pieces_abandon(const network_window_t *window, int rank, int error)
{
    abandon(&transfers, window, rank, error);
    abandon(&accumulates, window, rank, error);
}

static void drop(opal_list_t *list, bool is_closed)
{
    for (opal_list_node_t *next, *node = opal_list_first(list); node != NULL; node = next) {
        network_piece_t *piece = opal_container_of(node, network_piece_t, node);
        next = opal_list_next(list, node);
        if (is_closed)
            free_piece(piece);
        else
            deregister(piece);
    }
    if (is_closed)
        opal_list_init(list);
}

void network_pieces_drop(bool is_closed)
{
    drop(&transfers, is_closed);
    drop(&accumulates, is_closed);
}

/* Whether an accumulate to some of these bytes is under way, or too many to look at are. */
static bool is_accumulated(const network_piece_t *next)
{
    int looks = 0;
    for (opal_list_node_t *node = opal_list_first(&accumulates); node != NULL;
         node = opal_list_next(&accumulates, node)) {
        const network_piece_t *piece = opal_container_of(node, network_piece_t, node);
        if (++looks > MOST_LOOKS ||
            (piece->window == next->window && piece->rank == next->rank &&
             next->there < piece->there + piece->bytes && piece->there < next->there + next->bytes))
            return true;
    }
    return false;
}

/* -- its beginning ----------------------------------------------------------------------------- */

network_piece_t *network_piece_create(network_window_t *window, int rank, size_t room)
{
    network_piece_t *piece = malloc(sizeof *piece + room);
    if (piece != NULL)
        *piece = (network_piece_t){.window = window, .rank = rank, .here = piece + 1};
    return piece;
}

typedef struct attempt {
    network_piece_t *piece;
    network_call_fn_t *call;
    ssize_t result;
} attempt_t;

/* For the order of accumulates to one location. */
static ompi_look_t look_for_turn(ompi_osc_window_t *window OPAL_UNUSED, void *what)
{
    return is_accumulated(what) ? OMPI_LOOK_WAITS : OMPI_LOOK_OVER;
}

static ompi_look_t look_for_room(ompi_osc_window_t *window, void *what)
{
    attempt_t *attempt = what;
    if (attempt->piece->window == NULL || network.is_broken ||
        (ompi_osc_has_deaths() && ompi_osc_has_ended(window, attempt->piece->rank)))
        return OMPI_LOOK_FAILED;
    attempt->result = attempt->call(attempt->piece);
    return attempt->result == -FI_EAGAIN ? OMPI_LOOK_WAITS : OMPI_LOOK_OVER;
}

/* If the provider needs that. */
static int register_memory(network_piece_t *piece)
{
    size_t bytes = piece->is_accumulate ? 3 * piece->bytes : piece->bytes;
    if (!network.needs_registration)
        return MPI_SUCCESS;
    int result =
        opal_fabric_register(&network.endpoint, piece->here, bytes, FI_READ | FI_WRITE, &piece->mr);
    if (result == 0)
        return MPI_SUCCESS;
    piece->mr = NULL;
    return result == -FI_ENOMEM || result == -FI_ENOSPC ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
}

static int error_of(ssize_t result)
{
    if (result == 0)
        return MPI_SUCCESS;
    if (result == -FI_ENOMEM)
        return MPI_ERR_NO_MEM;
    opal_log_error("osc/network: the provider %s does not begin an operation: %s",
                   network.endpoint.info->fabric_attr->prov_name, fi_strerror((int)-result));
    return MPI_ERR_OTHER;
}

/* It is pending before the provider has it, since it may be complete when the wait returns. */
static void enter(network_piece_t *piece)
{
    network_rank_t *rank = &piece->window->ranks[piece->rank];
    opal_list_append(piece->is_accumulate ? &accumulates : &transfers, &piece->node);
    network.pending++;
    rank->pending++;
    rank->unsafe += piece->is_unsafe;
    if (piece->request != NULL)
        piece->request->pieces++;
    atomic_store_explicit(&piece->window->window->is_sent, true, memory_order_relaxed);
}

int network_piece_begin(network_piece_t *piece, network_call_fn_t *call)
{
    attempt_t attempt = {.piece = piece, .call = call};
    ompi_osc_window_t *window = piece->window->window;
    if (piece->is_accumulate && !window->is_unordered)
        ompi_osc_wait(window, look_for_turn, piece);
    int error = register_memory(piece);
    if (error != MPI_SUCCESS) {
        free_piece(piece);
        return error;
    }
    enter(piece);
    network.waiting++;
    error = ompi_osc_wait(window, look_for_room, &attempt);
    network.waiting--;
    if (error == MPI_SUCCESS)
        error = error_of(attempt.result);
    if (error == MPI_SUCCESS) {
        network_wake_sleeper();
        return MPI_SUCCESS;
    }
    opal_list_remove(&piece->node);
    network.pending--;
    if (piece->window != NULL)
        settle(piece, MPI_SUCCESS); /* the caller tells the error */
    free_piece(piece);
    return error;
}

/* -- waiting ----------------------------------------------------------------------------------- */

typedef struct wish {
    const network_rank_t *rank;
    bool local;
} wish_t;

static ompi_look_t look_for_end(ompi_osc_window_t *window OPAL_UNUSED, void *what)
{
    const wish_t *wish = what;
    return (wish->local ? wish->rank->unsafe : wish->rank->pending) == 0 ? OMPI_LOOK_OVER
                                                                         : OMPI_LOOK_WAITS;
}

int network_wait(network_window_t *window, int rank, bool local)
{
    network_rank_t *state = &window->ranks[rank];
    if (state->pending > 0)
        ompi_osc_wait(window->window, look_for_end, &(wish_t){state, local});
    int error = local ? MPI_SUCCESS : state->failure;
    if (!local)
        state->failure = MPI_SUCCESS;
    return error;
}
