/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows on every kind of memory that a program has. The displacement unit is 1; a word of any
 * rank is at window_place(), whatever the flavor of the window.
 */
#ifndef TEST_MPI_WIN_MEMORY_H
#define TEST_MPI_WIN_MEMORY_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

/* The first is less than what malloc takes from a shared heap. */
enum { WINDOW_BYTES = 4096, WINDOW_LARGE = 1 << 20 };

typedef enum window_kind {
    WINDOW_ALLOCATE,
    WINDOW_SHARED,
    WINDOW_SMALL,
    WINDOW_BLOCK,
    WINDOW_STATIC,
    WINDOW_DATA,
    WINDOW_STACK,
    WINDOW_ATTACHED,
    WINDOW_KINDS
} window_kind_t;

static const char *const window_names[] = {"memory of MPI_Win_allocate",
                                           "shared memory",
                                           "a small block",
                                           "a large block",
                                           "static memory",
                                           "static data",
                                           "the stack",
                                           "attached memory"};

typedef struct window {
    MPI_Win win;
    char *memory; /* this rank's, WINDOW_BYTES of zeros */
    MPI_Aint *places;
} window_t;

static char window_statics[WINDOW_BYTES] __attribute__((aligned(64)));
static char window_data[WINDOW_BYTES] __attribute__((aligned(64))) = {1};

/* A byte of the memory of a rank. */
static inline MPI_Aint window_place(const window_t *window, int owner, size_t byte)
{
    return MPI_Aint_add(window->places[owner], (MPI_Aint)byte);
}

static inline void window_attach(window_t *window)
{
    MPI_Aint address;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window->win);
    MPI_Win_attach(window->win, window->memory, WINDOW_BYTES);
    MPI_Get_address(window->memory, &address);
    MPI_Allgather(&address, 1, MPI_AINT, window->places, 1, MPI_AINT, MPI_COMM_WORLD);
}

/* Makes a window of that kind, and calls `work` with it. All ranks call this. */
static inline void with_window(window_kind_t kind, void (*work)(const window_t *, window_kind_t))
{
    char stack[WINDOW_BYTES] __attribute__((aligned(64)));
    bool is_large = kind == WINDOW_BLOCK || kind == WINDOW_ATTACHED;
    char *block = calloc(1, is_large ? WINDOW_LARGE : WINDOW_BYTES);
    char *middle = block + (is_large ? WINDOW_LARGE / 2 : 0);
    char *const memories[] = {NULL,           NULL,        middle, middle,
                              window_statics, window_data, stack,  middle};
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    window_t window = {.memory = memories[kind],
                       .places = (MPI_Aint *)calloc((size_t)size, sizeof(MPI_Aint))};
    switch (kind) {
    case WINDOW_ALLOCATE:
        MPI_Win_allocate(WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.memory,
                         &window.win);
        break;
    case WINDOW_SHARED:
        MPI_Win_allocate_shared(WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.memory,
                                &window.win);
        break;
    case WINDOW_ATTACHED:
        window_attach(&window);
        break;
    default:
        MPI_Win_create(window.memory, WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.win);
    }
    memset(window.memory, 0, WINDOW_BYTES);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
    work(&window, kind);
    MPI_Win_free(&window.win);
    free(window.places);
    free(block);
}

/* Every kind that can be made here. All ranks call this. */
static inline void with_windows(void (*work)(const window_t *, window_kind_t))
{
    bool is_one_node = place_is_one_node();
    for (int kind = 0; kind < WINDOW_KINDS; kind++)
        if (kind != WINDOW_SHARED || is_one_node)
            with_window((window_kind_t)kind, work);
}

#endif
