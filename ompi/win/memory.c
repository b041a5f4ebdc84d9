/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of windows that allocate it. It comes from the region that all ranks of the node have
 * mapped (opal/node/region.h), so that no access needs a system call. Nothing here touches it:
 * memory is taken when the program does, on the NUMA node of the rank that does.
 *
 *   MPI_Win_allocate           a block of each rank, with an alias (opal/node/alias.h): at the
 *                              same address in all ranks, if there is one
 *   MPI_Win_allocate_shared    one block of rank 0 for all, the ranks' parts one behind the other;
 *                              with the hint alloc_shared_noncontig a block of each rank
 *   ... without a region       a file in memory that rank 0 makes and passes to the others, which
 *                              they map wherever they can
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/node/alias.h"
#include "opal/node/fd_pass.h"
#include "opal/node/region.h"
#include "opal/util/log.h"
#include "ompi/handle/handle.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/osc/base/exchange.h"
#include "ompi/win/win.h"

enum { CACHE_LINE = 64, PAGE = 4096, LARGE_PAGE = 2 << 20 };

#define MOST_BYTES (UINT64_MAX / 4) /* of the memory of all ranks */

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) & ~(unit - 1);
}

/* The block of this rank. NULL: no memory. */
static void *allocate(ompi_win_t *win, size_t alignment, size_t bytes)
{
    alignment = alignment < win->alignment ? win->alignment : alignment;
    win->memory.block = opal_region_allocate(alignment, bytes);
    win->memory.block_bytes = bytes;
    return win->memory.block;
}

/* Small windows do not share lines with other data, and those of a page or more begin at one. */
static size_t alignment_of(size_t bytes)
{
    return bytes < PAGE ? CACHE_LINE : PAGE;
}

void ompi_win_memory_free(ompi_win_memory_t *memory)
{
    if (memory->map != NULL)
        munmap(memory->map, memory->bytes);
    if (memory->alias != 0)
        opal_alias_unmap(memory->alias, memory->alias_bytes);
    if (memory->block != NULL)
        ompi_win_numa_forget(memory->block, memory->block_bytes);
    opal_region_free(memory->block);
    *memory = (ompi_win_memory_t){0};
}

/* -- shared ------------------------------------------------------------------------------------ */

static int broadcast(ompi_communicator_t *comm, void *bytes, size_t count)
{
    ompi_coll_call_t call = {
        .kind = OMPI_BCAST,
        .comm = comm,
        .recv = {bytes, (MPI_Count)count, ompi_datatype_of(MPI_BYTE), {0}, {0}, NULL}};
    ompi_lock();
    int error = ompi_coll_run(&call);
    ompi_unlock();
    return error;
}

/* Where each rank's part begins; the last entry is the length of all. */
static int lay_out(const ompi_win_t *win, bool apart, uint64_t *offsets)
{
    uint64_t own = (uint64_t)win->shape.size;
    int error = ompi_osc_exchange(win->parent, &own, sizeof own, offsets);
    uint64_t sum = 0;
    for (int rank = 0; rank < win->osc.size; rank++) {
        uint64_t bytes = offsets[rank];
        offsets[rank] = sum;
        if (error == MPI_SUCCESS && bytes > MOST_BYTES - sum)
            error = MPI_ERR_NO_MEM; /* in all ranks */
        sum += apart ? round_up(bytes, win->alignment > PAGE ? win->alignment : PAGE) : bytes;
    }
    offsets[win->osc.size] = sum;
    return error;
}

/* Whether the others see a block: the region may have had no room for it. */
static bool is_seen(const ompi_win_t *win, const void *block, size_t bytes)
{
    return block != NULL && (win->osc.size == 1 || opal_region_has(block, bytes));
}

/* The block of rank 0, at its address here. */
static int share_block(ompi_win_t *win, size_t bytes, char **here)
{
    uint64_t address = 0;
    if (win->osc.rank == 0) {
        allocate(win, alignment_of(bytes), bytes);
        bool is_good = is_seen(win, win->memory.block, bytes > 0 ? bytes : 1);
        address = is_good ? (uintptr_t)win->memory.block : 0;
        if (is_good)
            ompi_win_numa_renew(win->memory.block, bytes);
    }
    int error = broadcast(win->parent, &address, sizeof address);
    if (error != MPI_SUCCESS)
        return error;
    *here = win->osc.rank == 0
                ? win->memory.block
                : opal_view_at(&win->osc.locals[0].view, (uintptr_t)address, bytes > 0 ? bytes : 1);
    return address == 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

typedef struct offer {
    bool is_made;
    char name[OPAL_NODE_PASS_NAME_BYTES];
} offer_t;

static int make_file(size_t bytes)
{
    int fd = memfd_create("mica-window", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    opal_log_error("cannot make %zu bytes of shared memory for a window: %s", bytes,
                   strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Rank 0 passes the file to the others; -1: that failed, which was logged. */
static int pass_file(ompi_win_t *win, size_t bytes, int *error)
{
    offer_t offer = {0};
    int fd = -1, listener = -1;
    if (win->osc.rank == 0) {
        fd = make_file(bytes);
        listener = fd >= 0 ? opal_node_pass_listen(offer.name) : -1;
        offer.is_made = listener >= 0;
    }
    *error = broadcast(win->parent, &offer, sizeof offer);
    if (*error == MPI_SUCCESS && offer.is_made) {
        if (win->osc.rank == 0)
            opal_node_pass_serve(listener, fd, (unsigned)win->osc.size - 1);
        else
            opal_node_pass_fetch(offer.name, &fd);
    }
    if (listener >= 0)
        close(listener);
    if (*error == MPI_SUCCESS && (fd < 0 || !offer.is_made))
        *error = MPI_ERR_NO_MEM;
    return fd;
}

/* Maps the file at a multiple of the alignment, within addresses that are reserved for it. */
static int map_file(ompi_win_t *win, int fd, size_t bytes, char **here)
{
    size_t alignment = win->alignment > PAGE ? win->alignment : PAGE, room = bytes + alignment;
    void *map = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return MPI_ERR_NO_MEM;
    win->memory = (ompi_win_memory_t){.map = map, .bytes = room};
    *here = (char *)round_up((uintptr_t)map, alignment);
    int how = MAP_SHARED | MAP_FIXED;
    return mmap(*here, bytes, PROT_READ | PROT_WRITE, how, fd, 0) != MAP_FAILED ? MPI_SUCCESS
                                                                                : MPI_ERR_NO_MEM;
}

static int share_file(ompi_win_t *win, size_t bytes, char **here)
{
    int error;
    bytes = round_up(bytes > 0 ? bytes : 1, PAGE);
    int fd = pass_file(win, bytes, &error);
    if (error == MPI_SUCCESS)
        error = map_file(win, fd, bytes, here);
    if (fd >= 0)
        close(fd);
    return error;
}

/* A part without bytes has no address. */
static int allocate_own(ompi_win_t *win, size_t alignment)
{
    if (win->shape.size == 0)
        return MPI_SUCCESS;
    win->shape.base = allocate(win, alignment, (size_t)win->shape.size);
    return win->memory.block != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int allocate_shared(ompi_win_t *win)
{
    ompi_osc_window_t *window = &win->osc;
    bool apart = ompi_win_hint_is(win, "alloc_shared_noncontig", "true");
    bool has_region = window->all_map || window->size == 1;
    if (apart && has_region) {
        int failure = allocate_own(win, alignment_of((size_t)win->shape.size));
        return failure == MPI_SUCCESS && win->shape.size > 0 &&
                       !is_seen(win, win->shape.base, (size_t)win->shape.size)
                   ? MPI_ERR_NO_MEM
                   : failure;
    }
    uint64_t *offsets = win->offsets;
    char *here = NULL;
    int error = lay_out(win, apart, offsets);
    size_t bytes = offsets[window->size];
    if (error == MPI_SUCCESS)
        error = has_region ? share_block(win, bytes, &here) : share_file(win, bytes, &here);
    for (int rank = 0; error == MPI_SUCCESS && rank < window->size; rank++) {
        window->targets[rank].mapped = here + offsets[rank];
        window->targets[rank].is_shared = true;
    }
    win->shape.base = error == MPI_SUCCESS ? here + offsets[window->rank] : NULL;
    return error;
}

static int allocate_private(ompi_win_t *win)
{
    /* Whole pages, for an alias; large ones begin where a large page of the system does. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    bool is_large = win->shape.size > OPAL_HEAP_CHUNK_BYTES;
    return allocate_own(win, win->osc.size == 1 ? alignment_of((size_t)win->shape.size)
                             : is_large         ? LARGE_PAGE
                                                : page);
}

int ompi_win_memory_allocate(ompi_win_t *win)
{
    bool is_shared = win->shape.flavor == MPI_WIN_FLAVOR_SHARED;
    int error = is_shared ? allocate_shared(win) : allocate_private(win);
    if (error == MPI_SUCCESS && win->shape.base != NULL)
        ompi_win_numa_prefer(win->shape.base, (size_t)win->shape.size);
    return error;
}

int ompi_win_memory_place(ompi_win_t *win, uintptr_t address)
{
    ompi_win_memory_t *memory = &win->memory;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = round_up((size_t)win->shape.size, page);
    if (win->shape.size == 0)
        return 0;
    void *block = opal_region_has(memory->block, bytes) ? memory->block : NULL;
    int error = opal_alias_map(address, block, bytes);
    if (error != 0)
        return error;
    if (memory->alias != 0)
        opal_alias_unmap(memory->alias, memory->alias_bytes);
    if (block == NULL) { /* what is new takes the block's place */
        if (memory->block != NULL)
            ompi_win_numa_forget(memory->block, memory->block_bytes);
        opal_region_free(memory->block);
        memory->block = NULL;
    }
    memory->alias = address;
    memory->alias_bytes = bytes;
    win->shape.base = (void *)address;
    return 0;
}

int ompi_win_shared_query(ompi_win_t *win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                          void **base)
{
    const ompi_osc_window_t *window = &win->osc;
    for (int i = 0; rank == MPI_PROC_NULL && i < window->size; i++) {
        if (window->targets[i].bytes > 0 && window->targets[i].mapped != NULL)
            rank = i;
    }
    *size = *disp_unit = 0;
    *base = NULL;
    if (window->is_dynamic)
        return ompi_win_fail(MPI_ERR_RMA_FLAVOR, "A dynamic window has no memory of its own.");
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (rank < 0 || rank >= window->size)
        return ompi_win_fail(MPI_ERR_RANK, "The window has ranks 0 to %d; the rank is %d.",
                             window->size - 1, rank);
    const ompi_osc_target_t *target = &window->targets[rank];
    if (target->mapped == NULL && target->bytes > 0)
        return MPI_SUCCESS;
    *size = (MPI_Aint)target->bytes;
    *disp_unit = (MPI_Aint)target->unit;
    *base = target->mapped;
    return MPI_SUCCESS;
}
