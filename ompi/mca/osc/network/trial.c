/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trial of a provider's atomics: all ranks add to the same elements of one rank, in operations
 * of several elements that overlap, with and without a result, that rank itself too. Then every
 * element must have been incremented as often as all have. Some providers apply the elements of one
 * operation by loads and stores while another operation does the same.
 */
#include <stdlib.h>

#include "ompi/mca/osc/base/exchange.h"
#include "ompi/mca/osc/network/network.h"

enum { ELEMENTS = 16, ROUNDS = 64, INNER_FIRST = 3, INNER_COUNT = 8 };

/* Rank 0's elements: registered, named to the others. */
typedef struct arena {
    int64_t elements[ELEMENTS];
    struct fid_mr *mr;
    network_rank_t target;
    network_window_t window; /* whose only rank is the target */
} arena_t;

static bool register_arena(arena_t *arena, uint64_t name[2])
{
    uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE;
    struct fid_mr *mr = NULL;
    int result = opal_fabric_register(&network.endpoint, arena->elements, sizeof arena->elements,
                                      access, &mr);
    if (result != 0 || mr == NULL)
        return false;
    arena->mr = mr;
    name[0] = fi_mr_key(mr);
    name[1] = network.is_virtual ? (uintptr_t)arena->elements : 0;
    return true;
}

static bool add_one(arena_t *arena, size_t first, size_t count, bool fetches)
{
    size_t bytes = count * sizeof(int64_t);
    network_piece_t *piece = network_piece_create(&arena->window, 0, 3 * bytes);
    if (piece == NULL)
        return false;
    int64_t *operand = piece->here;
    for (size_t i = 0; i < count; i++)
        operand[i] = 1;
    piece->there = arena->target.base + first * sizeof(int64_t);
    piece->bytes = bytes;
    piece->count = count;
    piece->is_accumulate = true;
    piece->fetches = fetches;
    piece->type = FI_INT64;
    piece->op = FI_SUM;
    return network_piece_begin(piece, network_call_atomic) == MPI_SUCCESS;
}

static bool contend(arena_t *arena)
{
    bool good = true;
    ompi_lock();
    for (int round = 0; round < ROUNDS && good; round++)
        good = add_one(arena, 0, ELEMENTS, round % 4 == 0) &&
               add_one(arena, INNER_FIRST, INNER_COUNT, round % 4 == 2);
    good = network_wait(&arena->window, 0, false) == MPI_SUCCESS && good;
    ompi_unlock();
    return good;
}

static bool is_exact(const arena_t *arena, int ranks)
{
    bool good = true;
    for (int i = 0; i < ELEMENTS; i++) {
        bool is_inner = i >= INNER_FIRST && i < INNER_FIRST + INNER_COUNT;
        good = good && arena->elements[i] == (int64_t)ranks * ROUNDS * (is_inner ? 2 : 1);
    }
    return good;
}

bool network_trial(network_window_t *window)
{
    ompi_osc_window_t *given = window->window;
    arena_t *arena = calloc(1, sizeof *arena);
    uint64_t name[3] = {0}, is_lossy = 0;
    ompi_osc_window_t view = *given; /* accumulates of this rank meet each other, too */
    view.is_unordered = true;
    ompi_lock();
    name[2] = arena == NULL || (given->rank == 0 && !register_arena(arena, name));
    ompi_unlock();
    if (ompi_osc_maximum(given->comm, name, 3) == MPI_SUCCESS && name[2] == 0 && arena != NULL) {
        arena->target =
            (network_rank_t){.address = window->ranks[0].address, .key = name[0], .base = name[1]};
        arena->window = (network_window_t){.window = &view, .ranks = &arena->target};
        is_lossy = !contend(arena);
        /* All have added when the second one returns. */
        ompi_osc_maximum(given->comm, &is_lossy, 1);
        if (given->rank == 0)
            is_lossy = is_lossy || !is_exact(arena, given->size);
        ompi_osc_maximum(given->comm, &is_lossy, 1);
    } else {
        is_lossy = 1;
    }
    if (arena != NULL && arena->mr != NULL)
        fi_close(&arena->mr->fid);
    free(arena);
    return is_lossy == 0;
}
