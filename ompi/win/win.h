/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows: memory that the ranks of a communicator expose to each other; accesses to it, and
 * synchronization.
 *
 *   win.c      making and ending them
 *   hints.c    hints, which tools may write, too
 *   memory.c   the memory that a window allocates
 *   numa.c     on which NUMA node it lies
 *   sync.c     epochs, and waiting for other ranks
 *   access.c   puts, gets and accumulates: checks, and where the memory is
 *   counts.c   performance variables
 *
 * ompi/mca/osc moves the data. Functions return an MPI error code, and leave a sentence about the
 * error in ompi_win_detail.
 *
 * Threading: creation, the end and synchronization take ompi_lock, unless nothing is to be waited
 * for. Accesses take no lock. Info and name have the message lock.
 */
#ifndef OMPI_WIN_H
#define OMPI_WIN_H

#include "opal/mca/base/bound.h"
#include "ompi/communicator/communicator.h"
#include "ompi/info/info.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/object/object.h"
#include "ompi/win/counts.h"

/* What the program asks for; base and size are those of this rank. */
typedef struct ompi_win_shape {
    int flavor; /* MPI_WIN_FLAVOR_... */
    void *base;
    MPI_Aint size;
    MPI_Aint disp_unit;
} ompi_win_shape_t;

/* Memory that the window has allocated. */
typedef struct ompi_win_memory {
    void *block; /* of the region's heap or of malloc; NULL: none */
    size_t block_bytes;
    void *map;    /* a mapping of a file of its own; NULL: none */
    size_t bytes; /* of the mapping */
    /* An alias (opal/node/alias.h) of the block, or without one; 0: none. */
    uintptr_t alias;
    size_t alias_bytes;
} ompi_win_memory_t;

/* The epochs of this rank. */
typedef enum ompi_win_epoch {
    OMPI_WIN_NO_EPOCH,
    OMPI_WIN_FENCED,
    OMPI_WIN_STARTED,
    OMPI_WIN_LOCKED, /* at least one target */
    OMPI_WIN_LOCKED_ALL,
} ompi_win_epoch_t;

typedef struct ompi_win {
    ompi_object_t head;
    ompi_osc_window_t osc; /* its communicator is its own, with the ranks of the program's */
    /* That of the program, while the window is made: its collectives work already, so that a rank
     * that has no memory for those of the new one does not leave the others waiting. */
    ompi_communicator_t *parent;
    ompi_win_shape_t shape; /* MPI_WIN_BASE and so on point into it */
    int disp_unit, model;
    ompi_win_memory_t memory;
    size_t alignment;  /* that the program wants of it; 0: none */
    uint64_t *offsets; /* of the ranks' parts of shared memory, and its length */
    ompi_info_t *info; /* the hints of the standard */
    bool has_no_locks; /* the hint no_locks */
    char name[MPI_MAX_OBJECT_NAME];

    atomic_uint epoch; /* ompi_win_epoch_t, as an origin; threads may lock several targets */
    int locks;         /* of OMPI_WIN_LOCKED; under ompi_lock */

    /* Of the one thread that is in an epoch of MPI_Win_start or MPI_Win_post. */
    int start_count, post_count; /* ranks of MPI_Win_start, of MPI_Win_post */
    int *start_ranks, *post_ranks;
    bool is_posted;
    uint32_t completions; /* that have been waited for, or are waited for */

    ompi_win_counts_t counts;
    atomic_uint turns; /* calls of a program that may be waiting for another rank by asking */
} ompi_win_t;

/* The sentence about the last error of this thread, once; NULL: there is none. */
const char *ompi_win_detail(void);

/* For the functions below: sets it, and returns the code. */
OPAL_PRINTF(2, 3) int ompi_win_fail(int code, const char *format, ...);

/* -- making and ending ------------------------------------------------------------------- */

/* Collective over comm, an intracommunicator. Memory for the flavors that need it is allocated;
 * its address is in the shape of the window. */
int ompi_win_create(const ompi_win_shape_t *shape, ompi_info_t *info, ompi_communicator_t *comm,
                    ompi_win_t **result);

/* Collective, with a barrier. The caller has deleted the attributes. *win is NULL if the window has
 * ended, perhaps with an error of the accesses before. */
int ompi_win_free(ompi_win_t **win);

/* MPI_ERR_RMA_SYNC: the window is in an epoch. */
int ompi_win_may_free(const ompi_win_t *win);

/* Set those hints of `info` that the standard knows, that may be given to such a window, and, for
 * `set`, that may be given later; MPI_ERR_NO_MEM: only a part of them. */
extern const opal_bound_row_t ompi_win_bound[];
int ompi_win_begin_hints(ompi_win_t *win, ompi_info_t *info);
int ompi_win_set_hints(ompi_win_t *win, ompi_info_t *info);
bool ompi_win_hint_is(const ompi_win_t *win, const char *key, const char *value);
uint64_t ompi_win_hint_number(const ompi_win_t *win, const char *key); /* 0: it is none */

/* Memory. `allocate` is collective for MPI_Win_allocate_shared; it sets `base` of the shape, and
 * for each target where that rank's memory is mapped, if it does so. */
int ompi_win_memory_allocate(ompi_win_t *win);

/* Moves the memory of MPI_Win_allocate to an address that all ranks have agreed on: the shape has
 * it. 0, or an errno value, and nothing has changed. */
int ompi_win_memory_place(ompi_win_t *win, uintptr_t address);
void ompi_win_memory_free(ompi_win_memory_t *memory);

/* numa.c. `renew`: gives pages of new memory back, so that they come with the next touch. `prefer`:
 * this rank's pages are to come on its NUMA node, also if another rank touches them first. `forget`
 * ends that. */
void ompi_win_numa_renew(char *start, size_t bytes);
void ompi_win_numa_prefer(char *start, size_t bytes);
void ompi_win_numa_forget(char *start, size_t bytes);

int ompi_win_attach(ompi_win_t *win, void *base, MPI_Aint size);
int ompi_win_detach(ompi_win_t *win, const void *base);

/* The memory of a rank, or of the first one that has some (MPI_PROC_NULL), as mapped here. */
int ompi_win_shared_query(ompi_win_t *win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                          void **base);

/* -- synchronization --------------------------------------------------------------------- */

int ompi_win_fence(ompi_win_t *win, int assertion);
int ompi_win_post(ompi_win_t *win, ompi_group_t *group, int assertion);
int ompi_win_start(ompi_win_t *win, ompi_group_t *group, int assertion);
int ompi_win_complete(ompi_win_t *win);
int ompi_win_wait(ompi_win_t *win);
int ompi_win_test(ompi_win_t *win, bool *is_over);
int ompi_win_lock(ompi_win_t *win, int lock_type, int rank, int assertion);
int ompi_win_unlock(ompi_win_t *win, int rank);
int ompi_win_lock_all(ompi_win_t *win, int assertion);
int ompi_win_unlock_all(ompi_win_t *win);

/* All ranks wait for all. */
int ompi_win_barrier(ompi_win_t *win);

static inline ompi_win_epoch_t ompi_win_epoch(const ompi_win_t *win)
{
    return (ompi_win_epoch_t)atomic_load_explicit(&win->epoch, memory_order_relaxed);
}

/* Of one rank, or of all (-1). */
int ompi_win_flush(ompi_win_t *win, int rank, bool local);

/* Makes progress now and then: a program may wait for a value by getting it again and again. */
void ompi_win_flushed(ompi_win_t *win);

/* For an access: waits until the permit to a target is open. MPI_ERR_RMA_SYNC: there is no epoch.
 */
int ompi_win_open(ompi_win_t *win, int rank);

/* -- accesses ---------------------------------------------------------------------------- */

/* Where an access goes. */
typedef struct ompi_win_remote {
    int rank;
    MPI_Aint displacement;
    size_t count;
    ompi_datatype_t *type;
} ompi_win_remote_t;

/* `request` is NULL, or set on success. */
int ompi_win_put(ompi_win_t *win, ompi_data_t origin, const ompi_win_remote_t *place,
                 ompi_request_t **request);
int ompi_win_get(ompi_win_t *win, ompi_data_t origin, const ompi_win_remote_t *place,
                 ompi_request_t **request);

/* `result` is NULL for MPI_Accumulate. */
int ompi_win_accumulate(ompi_win_t *win, ompi_data_t origin, const ompi_data_t *result,
                        const ompi_win_remote_t *place, const ompi_op_t *op,
                        ompi_request_t **request);
int ompi_win_compare_and_swap(ompi_win_t *win, const void *origin, const void *compare,
                              void *result, const ompi_win_remote_t *place);

#endif
