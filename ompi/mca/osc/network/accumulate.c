/* SPDX-License-Identifier: BSD-3-Clause */
/* osc/network: accumulates by FI_ATOMIC, and whether a window has them. See network.h. */
#include <stdlib.h>
#include <string.h>

#include "opal/util/hash.h"
#include "ompi/handle/handle.h"
#include "ompi/mca/osc/base/accumulate.h"
#include "ompi/mca/osc/base/exchange.h"
#include "ompi/mca/osc/network/network.h"

enum { MOST_BYTES = 16 << 10 };

/* -- what the provider has --------------------------------------------------------------------- */

#define BIT(op)  (1U << (op))
#define COMPLEX  (BIT(FI_SUM) | BIT(FI_PROD) | BIT(FI_ATOMIC_READ) | BIT(FI_ATOMIC_WRITE))
#define REAL     (COMPLEX | BIT(FI_MIN) | BIT(FI_MAX))
#define BITWISE  (BIT(FI_BAND) | BIT(FI_BOR) | BIT(FI_BXOR))
#define LOGICAL  (BIT(FI_LAND) | BIT(FI_LOR) | BIT(FI_LXOR))
#define INTEGERS (REAL | BITWISE | LOGICAL | BIT(FI_CSWAP))

/* Kinds of elements, and what MPI can ask for: `wanted`. */
static struct kind {
    enum fi_datatype type;
    uint32_t wanted, has;
    size_t most; /* elements in one operation */
} kinds[OMPI_OP_KINDS] = {
    [OMPI_OP_INT8] = {.type = FI_INT8, .wanted = INTEGERS},
    [OMPI_OP_INT16] = {.type = FI_INT16, .wanted = INTEGERS},
    [OMPI_OP_INT32] = {.type = FI_INT32, .wanted = INTEGERS},
    [OMPI_OP_INT64] = {.type = FI_INT64, .wanted = INTEGERS},
    [OMPI_OP_UINT8] = {.type = FI_UINT8, .wanted = INTEGERS},
    [OMPI_OP_UINT16] = {.type = FI_UINT16, .wanted = INTEGERS},
    [OMPI_OP_UINT32] = {.type = FI_UINT32, .wanted = INTEGERS},
    [OMPI_OP_UINT64] = {.type = FI_UINT64, .wanted = INTEGERS},
    [OMPI_OP_FLOAT] = {.type = FI_FLOAT, .wanted = REAL},
    [OMPI_OP_DOUBLE] = {.type = FI_DOUBLE, .wanted = REAL},
    [OMPI_OP_COMPLEX_FLOAT] = {.type = FI_FLOAT_COMPLEX, .wanted = COMPLEX},
    [OMPI_OP_COMPLEX_DOUBLE] = {.type = FI_DOUBLE_COMPLEX, .wanted = COMPLEX},
};

/* How many elements at once; 0: it does not have the operation, with and without a result. */
static size_t ask(enum fi_datatype type, enum fi_op op)
{
    struct fid_ep *ep = network.endpoint.ep;
    size_t plain = SIZE_MAX, fetching = 0;
    if (op == FI_CSWAP)
        return fi_compare_atomicvalid(ep, type, op, &fetching) == 0 ? fetching : 0;
    if ((op != FI_ATOMIC_READ && fi_atomicvalid(ep, type, op, &plain) != 0) ||
        fi_fetch_atomicvalid(ep, type, op, &fetching) != 0)
        return 0;
    return plain < fetching ? plain : fetching;
}

static bool is_complete(const struct kind *kind)
{
    return kind->wanted != 0 && kind->has == kind->wanted;
}

/* Whether there is a kind with all operations. */
static bool ask_all(void)
{
    bool any = false;
    for (struct kind *kind = kinds; kind < kinds + OMPI_OP_KINDS; kind++) {
        kind->has = 0;
        kind->most = SIZE_MAX;
        for (unsigned op = 0; op <= FI_CSWAP; op++) {
            size_t most = (kind->wanted & BIT(op)) != 0 ? ask(kind->type, (enum fi_op)op) : 0;
            if (most == 0)
                continue;
            kind->has |= BIT(op);
            kind->most = most < kind->most ? most : kind->most;
        }
        any = any || is_complete(kind);
    }
    return any;
}

static uint64_t hash_kinds(void)
{
    uint64_t hash = OPAL_HASH_START;
    for (const struct kind *kind = kinds; kind < kinds + OMPI_OP_KINDS; kind++) {
        for (unsigned bit = 0; bit < 32; bit += 8)
            hash = opal_hash_byte(hash, (unsigned char)(kind->has >> bit));
    }
    return hash;
}

/* -- whether a window has them ----------------------------------------------------------------- */

enum { NO_OBSTACLE, NOT_ALL_REACHED, NO_ATOMICS, SHARED_NODE, UNLIKE, LOSSY };

static const char *const obstacles[] = {
    [NOT_ALL_REACHED] = "it does not reach all ranks",
    [NO_ATOMICS] = "the provider has not all operations of any type",
    [SHARED_NODE] = "ranks of the window share a node, whose CPU's atomics do not agree with it",
    [UNLIKE] = "the ranks' providers have different ones",
    [LOSSY] = "the provider has lost updates in a trial",
};

static uint64_t find_obstacle(const network_window_t *window, bool reaches_all)
{
    if (!reaches_all)
        return NOT_ALL_REACHED;
    if (!network.has_atomics || !ask_all())
        return NO_ATOMICS;
    return window->window->local_count > 1 ? SHARED_NODE : network.has_failed ? LOSSY : NO_OBSTACLE;
}

int network_atomics_agree(network_window_t *window, bool reaches_all)
{
    ompi_osc_window_t *given = window->window;
    uint64_t obstacle = find_obstacle(window, reaches_all);
    uint64_t hash = obstacle == NO_OBSTACLE ? hash_kinds() : 0;
    uint64_t votes[] = {obstacle, hash, ~hash, !network.has_passed, !given->has_same_op};
    int error = ompi_osc_maximum(given->comm, votes, OPAL_COUNT_OF(votes));
    if (error != MPI_SUCCESS)
        return error;
    obstacle = votes[0] == NO_OBSTACLE && votes[1] != ~votes[2] ? (uint64_t)UNLIKE : votes[0];
    given->has_same_op = votes[4] == 0;
    if (obstacle == NO_OBSTACLE && votes[3] != 0) {
        network.has_passed = network_trial(window);
        network.has_failed = !network.has_passed;
        obstacle = network.has_passed ? NO_OBSTACLE : LOSSY;
    }
    if (window->why == NULL)
        window->why = obstacles[obstacle];
    if (obstacle != NO_OBSTACLE)
        return MPI_SUCCESS;
    window->has_atomics = true;
    given->accumulates = &network_ops;
    given->uses_atomics = false; /* those of the CPU */
    return MPI_SUCCESS;
}

/* -- operations -------------------------------------------------------------------------------- */

static enum fi_op op_of(const ompi_op_t *op)
{
    static const struct {
        MPI_Op handle;
        enum fi_op op;
    } ops[] = {
        {MPI_SUM, FI_SUM},   {MPI_PROD, FI_PROD},         {MPI_MIN, FI_MIN},
        {MPI_MAX, FI_MAX},   {MPI_BAND, FI_BAND},         {MPI_BOR, FI_BOR},
        {MPI_BXOR, FI_BXOR}, {MPI_LAND, FI_LAND},         {MPI_LOR, FI_LOR},
        {MPI_LXOR, FI_LXOR}, {MPI_NO_OP, FI_ATOMIC_READ}, {MPI_REPLACE, FI_ATOMIC_WRITE},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(ops); i++) {
        if (ompi_handle_object(ops[i].handle) == (const void *)op)
            return ops[i].op;
    }
    return FI_ATOMIC_OP_LAST;
}

ssize_t network_call_atomic(network_piece_t *piece)
{
    const network_rank_t *rank = &piece->window->ranks[piece->rank];
    struct fid_ep *ep = network.endpoint.ep;
    char *operand = piece->here;
    void *descriptor = piece->mr != NULL ? fi_mr_desc(piece->mr) : NULL;
    struct fi_ioc in = {operand, piece->count};
    struct fi_rma_ioc there = {piece->there, piece->count, rank->key};
    struct fi_msg_atomic message = {.msg_iov = &in,
                                    .desc = &descriptor,
                                    .iov_count = 1,
                                    .addr = rank->address,
                                    .rma_iov = &there,
                                    .rma_iov_count = 1,
                                    .datatype = piece->type,
                                    .op = piece->op,
                                    .context = &piece->context};
    if (!piece->fetches)
        return fi_atomicmsg(ep, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION);
    struct fi_ioc with = {operand + piece->bytes, piece->count};
    struct fi_ioc before = {network_before(piece), piece->count};
    if (piece->op == FI_CSWAP)
        return fi_compare_atomicmsg(ep, &message, &with, &descriptor, 1, &before, &descriptor, 1,
                                    FI_COMPLETION);
    return fi_fetch_atomicmsg(ep, &message, &before, &descriptor, 1, FI_COMPLETION);
}

/* A piece for so many elements at an address of the target. NULL: no memory. */
static network_piece_t *create_piece(const ompi_osc_access_t *access, enum fi_datatype type,
                                     enum fi_op op, uintptr_t address, size_t count)
{
    network_window_t *window = ompi_osc_state(access->window, &network_ops);
    size_t bytes = count * ompi_datatype_size(ompi_osc_element(access));
    bool fetches = access->result.type != NULL;
    network_piece_t *piece = network_piece_create(window, access->rank, (fetches ? 3 : 1) * bytes);
    if (piece == NULL)
        return NULL;
    piece->there = window->ranks[access->rank].base + (address - access->target->base);
    piece->bytes = bytes;
    piece->count = count;
    piece->is_accumulate = true;
    piece->is_unsafe = piece->fetches = fetches;
    piece->type = type;
    piece->op = op;
    piece->result = access->result;
    if (fetches)
        ompi_datatype_retain(access->result.type);
    piece->request = access->request != NULL
                         ? opal_container_of(access->request, network_request_t, base)
                         : NULL;
    return piece;
}

/* A run of elements at the target, whose data begins at the byte `from` of what is packed. */
static int begin_run(const ompi_osc_access_t *access, const struct kind *kind,
                     const struct iovec *run, size_t from)
{
    const ompi_data_t *origin = &access->origin;
    size_t size = ompi_datatype_size(ompi_osc_element(access));
    size_t total = run->iov_len / size;
    size_t most = kind->most < MOST_BYTES / size ? kind->most : MOST_BYTES / size;
    int error = MPI_SUCCESS;
    for (size_t first = 0; first < total && error == MPI_SUCCESS; first += most) {
        size_t count = total - first < most ? total - first : most;
        enum fi_op op = op_of(access->op);
        network_piece_t *piece =
            create_piece(access, kind->type, op, (uintptr_t)run->iov_base + first * size, count);
        if (piece == NULL)
            return MPI_ERR_NO_MEM;
        piece->from = from + first * size;
        if (op != FI_ATOMIC_READ)
            ompi_datatype_pack(origin->type, origin->count, origin->buffer, piece->from,
                               piece->here, piece->bytes);
        error = network_piece_begin(piece, network_call_atomic);
    }
    return error;
}

static const struct kind *kind_of(const ompi_osc_access_t *access, enum fi_op op)
{
    const network_window_t *window = ompi_osc_state(access->window, &network_ops);
    if (window == NULL || !window->has_atomics)
        return NULL;
    const struct kind *kind = &kinds[ompi_op_type(ompi_osc_element(access)).kind];
    bool goes = is_complete(kind) ||
                (access->window->has_same_op && op <= FI_CSWAP && (kind->has & BIT(op)) != 0);
    return goes ? kind : NULL;
}

int network_accumulate(ompi_osc_access_t *access)
{
    enum { RUNS = 64 };
    const ompi_data_t *remote = &access->remote;
    size_t total = ompi_datatype_bytes(remote->type, remote->count);
    const struct kind *kind = kind_of(access, op_of(access->op));
    if (kind == NULL)
        return OMPI_OSC_PASS_ON;
    if (ompi_osc_has_deaths() && ompi_osc_has_ended(access->window, access->rank))
        return MPI_ERR_PROC_ABORTED;
    ompi_lock();
    int error = network_request_create(access) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (size_t from = 0, bytes; from < total && error == MPI_SUCCESS; from += bytes) {
        struct iovec runs[RUNS];
        size_t count = ompi_datatype_segments(remote->type, remote->count, remote->buffer, from,
                                              runs, RUNS, &bytes);
        size_t position = from;
        for (size_t i = 0; i < count && error == MPI_SUCCESS; i++) {
            error = begin_run(access, kind, &runs[i], position);
            position += runs[i].iov_len;
        }
    }
    error = network_request_finish(access, error);
    ompi_unlock();
    return error;
}

int network_compare(ompi_osc_access_t *access, const void *with)
{
    const struct kind *kind = kind_of(access, FI_CSWAP);
    if (kind == NULL)
        return OMPI_OSC_PASS_ON;
    if (ompi_osc_has_deaths() && ompi_osc_has_ended(access->window, access->rank))
        return MPI_ERR_PROC_ABORTED;
    ompi_lock();
    network_piece_t *piece =
        create_piece(access, kind->type, FI_CSWAP, (uintptr_t)access->remote.buffer, 1);
    int error = MPI_ERR_NO_MEM;
    if (piece != NULL) {
        char *operand = piece->here;
        memcpy(operand, access->origin.buffer, piece->bytes);
        memcpy(operand + piece->bytes, with, piece->bytes);
        error = network_piece_begin(piece, network_call_atomic);
    }
    ompi_unlock();
    return error;
}
