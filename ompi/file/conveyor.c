/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conveyor: a rank's way through the windows.
 *
 * What a rank does is a list of sources, each of which goes through windows in their order: its own
 * data through those of its node; its own data, for each other node, to and from a proxy there;
 * and, for each rank that it is a proxy of, that rank's data through those of its node. No source
 * waits for another, so no two ranks wait for each other.
 */
#include "ompi/file/conveyor.h"

#include <stdlib.h>
#include <string.h>

#include "opal/arch/pause.h"
#include "opal/progress/wait.h"
#include "ompi/file/crew.h"
#include "ompi/request/look.h"
#include "ompi/request/status.h"

enum { SPINS = 2000 };

typedef enum source_kind {
    OWN,   /* this rank's data, through windows of this node */
    AWAY,  /* this rank's data, to or from `rank`, its proxy on another node */
    PROXY, /* the data of `rank`, which is on another node */
} source_kind_t;

typedef struct source {
    source_kind_t kind;
    int rank;
    uint32_t node; /* whose windows they are */
    const ompi_view_t *view;
    uint64_t position, end; /* of the view's data */
    uint32_t window, window_end;
    bool has_data;           /* a window's data is in the buffer */
    uint64_t found_bytes;    /* of it, for another rank */
    char *buffer;            /* of a window; NULL: the program's memory */
    ompi_request_t *request; /* a message under way; NULL: none */
} source_t;

typedef struct run {
    ompi_belt_t belt;
    source_t own, *sources; /* of a crew on several nodes more than one */
    int source_count;
    uint64_t short_position; /* of a read: where this rank's data ends; UINT64_MAX: all is there */
} run_t;

/* -- data ------------------------------------------------------------------------------------ */

/* Positions of a view in a window. */
typedef struct stretch {
    uint64_t position, bytes;
} stretch_t;

static stretch_t stretch_of(const ompi_belt_t *belt, const source_t *source)
{
    uint64_t start = ompi_belt_start(belt, source->window);
    uint64_t from = ompi_view_position(source->view, start);
    uint64_t to = ompi_view_position(source->view, start + ompi_belt_window_bytes(belt));
    from = from < source->position ? source->position : from;
    to = to > source->end ? source->end : to;
    return (stretch_t){from, to > from ? to - from : 0};
}

/* The same, without what lies behind the end of what was read of the window. */
static stretch_t found_of(const ompi_belt_t *belt, const source_t *source, int *system_error)
{
    stretch_t found = stretch_of(belt, source);
    ompi_run_t range = ompi_belt_range(belt, source->window);
    uint64_t end = ompi_belt_found_end(belt, source->window, system_error);
    if (end < range.offset + range.bytes) {
        uint64_t limit = ompi_view_bytes_before(source->view, (MPI_Offset)end);
        uint64_t there = limit > found.position ? limit - found.position : 0;
        found.bytes = there < found.bytes ? there : found.bytes;
    }
    return found;
}

/* Between the slot and this rank's memory. */
static void move_own(const run_t *run, const source_t *source, stretch_t stretch)
{
    const ompi_belt_t *belt = &run->belt;
    if (stretch.bytes > 0)
        ompi_access_move_window(belt->access, stretch.position - belt->access->position,
                                stretch.bytes, ompi_belt_memory(belt, source->window),
                                ompi_belt_start(belt, source->window));
}

/* Between the slot and the buffer of another rank's data. */
static void move_theirs(const run_t *run, const source_t *source, stretch_t stretch)
{
    const ompi_belt_t *belt = &run->belt;
    char *memory = ompi_belt_memory(belt, source->window);
    uint64_t start = ompi_belt_start(belt, source->window);
    if (stretch.bytes == 0)
        return;
    if (belt->access->is_write)
        ompi_view_to_window(source->view, stretch.position, stretch.bytes, source->buffer, memory,
                            start);
    else
        ompi_view_from_window(source->view, stretch.position, stretch.bytes, source->buffer, memory,
                              start);
}

/* Data of this rank, as a message has it: in its memory if that is one run. */
static char *message_of(const run_t *run, const source_t *source, stretch_t stretch)
{
    const ompi_access_t *access = run->belt.access;
    if (source->buffer != NULL)
        return source->buffer;
    return (char *)ompi_datatype_origin(access->type, access->buffer) +
           (stretch.position - access->position);
}

/* A read has found less than it wanted. */
static void note_short(run_t *run, uint64_t position)
{
    if (position < run->short_position)
        run->short_position = position;
}

/* The system has not read all of the source's window. */
static void fail_read(const run_t *run, const source_t *source, int system_error)
{
    ompi_access_t *access = run->belt.access;
    if (access->error == MPI_SUCCESS)
        ompi_access_fail_system(access, system_error,
                                ompi_belt_found_end(&run->belt, source->window, &system_error));
}

/* -- messages -------------------------------------------------------------------------------- */

static void fail(const run_t *run, int error)
{
    if (run->belt.access->error == MPI_SUCCESS)
        run->belt.access->error = error;
}

/* False: it is under way still. An error is that of the access: the data is not there, or not
 * whole. */
static bool finish(const run_t *run, source_t *source, uint64_t *bytes)
{
    MPI_Status status;
    if (!ompi_request_is_done(source->request))
        return false;
    ompi_lock();
    int error = ompi_request_finish(&source->request, &status);
    ompi_unlock();
    if (error != MPI_SUCCESS)
        fail(run, error);
    *bytes = error == MPI_SUCCESS ? ompi_status_bytes(&status) : 0;
    return true;
}

/* Begins a message. False: there is no memory for it now. */
static bool begin(const run_t *run, source_t *source, bool is_send, char *data, size_t bytes)
{
    ompi_file_t *file = run->belt.access->file;
    int error = is_send ? ompi_file_send(file, source->rank, OMPI_FILE_TAG_DATA, data, bytes,
                                         &source->request)
                        : ompi_file_receive(file, source->rank, OMPI_FILE_TAG_DATA, data, bytes,
                                            &source->request);
    if (error == MPI_ERR_NO_MEM)
        return false;
    if (error != MPI_SUCCESS)
        fail(run, error);
    return true;
}

/* -- steps of a source ----------------------------------------------------------------------- */

static void advance(const run_t *run, source_t *source)
{
    source->window += run->belt.nodes;
    source->has_data = false;
}

static bool write_own(const run_t *run, source_t *source)
{
    const ompi_belt_t *belt = &run->belt;
    if (!ompi_belt_is_free(belt, source->window))
        return false;
    stretch_t stretch = stretch_of(belt, source);
    move_own(run, source, stretch);
    if (!belt->is_tiled)
        ompi_belt_mark(belt, source->window, source->view, stretch.position, stretch.bytes);
    ompi_belt_arrive(belt, source->window);
    advance(run, source);
    return true;
}

/* Others read windows meanwhile: this rank reads the next one that nobody reads. */
static bool read_ahead(const run_t *run, const source_t *source)
{
    const ompi_belt_t *belt = &run->belt;
    for (uint32_t i = 0; i < belt->slot_count; i++) {
        uint64_t window = source->window + (uint64_t)i * belt->nodes;
        if (window >= source->window_end || ompi_belt_is_ready(belt, source->window))
            return false;
        if (ompi_belt_read(belt, (uint32_t)window))
            return true;
    }
    return false;
}

static bool read_own(run_t *run, source_t *source)
{
    const ompi_belt_t *belt = &run->belt;
    int system_error;
    bool has_read = read_ahead(run, source);
    if (!ompi_belt_is_ready(belt, source->window))
        return has_read;
    stretch_t wanted = stretch_of(belt, source);
    stretch_t found = found_of(belt, source, &system_error);
    move_own(run, source, found);
    if (found.bytes < wanted.bytes) {
        note_short(run, found.position + found.bytes);
        if (system_error != 0)
            fail_read(run, source, system_error);
    }
    ompi_belt_arrive(belt, source->window);
    advance(run, source);
    return true;
}

/* This rank's data of a window of another node: a message to or from the proxy. */
static bool step_away(run_t *run, source_t *source)
{
    ompi_access_t *access = run->belt.access;
    stretch_t stretch = stretch_of(&run->belt, source);
    uint64_t bytes = stretch.bytes;
    if (source->request != NULL) {
        if (!finish(run, source, &bytes))
            return false;
        if (!access->is_write && source->buffer != NULL)
            ompi_datatype_unpack(access->type, access->count, access->buffer,
                                 stretch.position - access->position, source->buffer, bytes);
        if (!access->is_write && bytes < stretch.bytes)
            note_short(run, stretch.position + bytes);
    } else if (bytes > 0) {
        if (access->is_write && source->buffer != NULL)
            ompi_datatype_pack(access->type, access->count, access->buffer,
                               stretch.position - access->position, source->buffer, bytes);
        if (!begin(run, source, access->is_write, message_of(run, source, stretch), bytes))
            return false;
        if (source->request != NULL)
            return true;
    }
    advance(run, source);
    return true;
}

/* Another rank's data comes, and goes into the window. */
static bool write_theirs(const run_t *run, source_t *source)
{
    const ompi_belt_t *belt = &run->belt;
    stretch_t stretch = stretch_of(belt, source);
    uint64_t bytes;
    if (!source->has_data) {
        if (source->request == NULL && stretch.bytes > 0 &&
            !begin(run, source, false, source->buffer, stretch.bytes))
            return false;
        bytes = stretch.bytes;
        source->has_data = source->request == NULL || finish(run, source, &bytes);
        if (bytes < stretch.bytes) /* the rank has ended, which is an error */
            memset(source->buffer, 0, stretch.bytes);
        return source->has_data;
    }
    if (!ompi_belt_is_free(belt, source->window))
        return false;
    move_theirs(run, source, stretch);
    if (!belt->is_tiled)
        ompi_belt_mark(belt, source->window, source->view, stretch.position, stretch.bytes);
    ompi_belt_arrive(belt, source->window);
    advance(run, source);
    return true;
}

/* Another rank's data is in the window, and is sent. */
static bool read_theirs(const run_t *run, source_t *source)
{
    const ompi_belt_t *belt = &run->belt;
    uint64_t bytes;
    int system_error;
    if (source->request != NULL) {
        if (!finish(run, source, &bytes))
            return false;
        advance(run, source);
        return true;
    }
    bool has_read = read_ahead(run, source);
    if (!source->has_data) {
        if (!ompi_belt_is_ready(belt, source->window))
            return has_read;
        stretch_t found = found_of(belt, source, &system_error);
        if (system_error != 0)
            fail_read(run, source, system_error);
        move_theirs(run, source, found);
        source->has_data = true;
        source->found_bytes = found.bytes;
        ompi_belt_arrive(belt, source->window);
    }
    if (stretch_of(belt, source).bytes > 0 &&
        !begin(run, source, true, source->buffer, source->found_bytes))
        return has_read;
    if (source->request == NULL)
        advance(run, source);
    return true;
}

/* True: something was done. */
static bool step(run_t *run, source_t *source)
{
    bool is_write = run->belt.access->is_write;
    if (source->window >= source->window_end)
        return false;
    switch (source->kind) {
    case OWN:
        return is_write ? write_own(run, source) : read_own(run, source);
    case AWAY:
        return step_away(run, source);
    case PROXY:
        return is_write ? write_theirs(run, source) : read_theirs(run, source);
    }
    return false;
}

/* -- waiting --------------------------------------------------------------------------------- */

static bool may_read_ahead(const ompi_belt_t *belt, const source_t *source)
{
    for (uint32_t i = 0; i < belt->slot_count; i++) {
        uint64_t window = source->window + (uint64_t)i * belt->nodes;
        if (window < source->window_end && ompi_belt_may_read(belt, (uint32_t)window))
            return true;
    }
    return false;
}

/* Whether a step would do something. */
static bool may_step(const run_t *run, const source_t *source)
{
    const ompi_belt_t *belt = &run->belt;
    if (source->request != NULL)
        return ompi_request_is_done(source->request);
    if (source->window >= source->window_end)
        return false;
    if (source->kind == AWAY)
        return true;
    if (!belt->access->is_write)
        return source->has_data || ompi_belt_is_ready(belt, source->window) ||
               may_read_ahead(belt, source);
    return (source->kind == PROXY && !source->has_data) || ompi_belt_is_free(belt, source->window);
}

static bool is_over(const run_t *run)
{
    for (int i = 0; i < run->source_count; i++) {
        const source_t *source = &run->sources[i];
        if (source->request != NULL || source->window < source->window_end)
            return false;
    }
    return !run->belt.access->is_write || ompi_belt_is_written(&run->belt);
}

static ompi_look_t look(void *what)
{
    const run_t *run = what;
    const ompi_belt_t *belt = &run->belt;
    if (is_over(run) || (belt->access->is_write && ompi_belt_has_full(belt)))
        return OMPI_LOOK_OVER;
    for (int i = 0; i < run->source_count; i++) {
        if (may_step(run, &run->sources[i]))
            return OMPI_LOOK_OVER;
    }
    for (int i = 0; opal_node_deaths() != 0 && i < belt->member_count; i++) {
        if (ompi_file_area_has_ended(belt->area, belt->members[i]))
            return OMPI_LOOK_FAILED;
    }
    return OMPI_LOOK_WAITS;
}

/* Waits until a step would do something. False: a rank has ended. */
static bool wait_for_step(run_t *run, unsigned turns)
{
    int error = MPI_SUCCESS;
    if (turns < SPINS && run->source_count == 1 && !opal_wait_is_oversubscribed()) {
        opal_cpu_pause();
        return true;
    }
    ompi_lock();
    error = ompi_look_wait(look, run);
    ompi_unlock();
    if (error != MPI_SUCCESS)
        fail(run, error);
    return error == MPI_SUCCESS;
}

static void carry_out(run_t *run)
{
    const ompi_belt_t *belt = &run->belt;
    ompi_access_t *access = belt->access;
    for (unsigned turns = 0; !is_over(run); turns++) {
        bool is_moving = false;
        for (int i = 0; i < run->source_count; i++)
            is_moving |= step(run, &run->sources[i]);
        if (is_moving || (access->is_write && ompi_belt_write(belt)))
            turns = 0;
        else if (!wait_for_step(run, turns))
            break;
    }
    uint64_t end = access->position + access->bytes;
    end = run->short_position < end ? run->short_position : end;
    if (access->is_write && access->error != MPI_SUCCESS) /* others have written, too */
        end = access->position;
    access->done_bytes = end - access->position;
}

/* -- the sources ----------------------------------------------------------------------------- */

/* The windows of a node that a part may have data in. */
static void set_windows(const ompi_belt_t *belt, source_t *source, const ompi_conveyor_part_t *part)
{
    uint64_t bytes = ompi_belt_window_bytes(belt);
    uint32_t first = (uint32_t)((part->first - belt->base) / bytes);
    source->window = first + (source->node + belt->nodes - first % belt->nodes) % belt->nodes;
    source->window_end = (uint32_t)((part->end - belt->base + bytes - 1) / bytes);
    source->position = part->position;
    source->end = part->position + part->bytes;
}

/* Adds a source, if it has windows. */
static void add(run_t *run, source_kind_t kind, int rank, uint32_t node, int owner)
{
    source_t *source = &run->sources[run->source_count];
    *source = (source_t){.kind = kind, .rank = rank, .node = node};
    source->view =
        kind == PROXY ? ompi_file_peers_view(run->belt.access->file, rank) : run->belt.access->view;
    set_windows(&run->belt, source, &run->belt.parts[owner]);
    run->source_count += source->window < source->window_end;
}

/* Whether this rank is the proxy of a rank of another node, by its index in the crew. */
static bool is_proxy_of(const ompi_belt_t *belt, int index, int own_rank)
{
    const int *node_of = belt->area->node_of;
    return node_of[belt->crew[index]] != node_of[own_rank] &&
           ompi_crew_proxy(belt, index, belt->node) == own_rank;
}

static void add_all(run_t *run, int own_rank)
{
    const ompi_belt_t *belt = &run->belt;
    add(run, OWN, own_rank, belt->node, own_rank);
    for (int i = 0; belt->nodes > 1 && i < belt->crew_count; i++) {
        int rank = belt->crew[i];
        for (uint32_t node = 0; rank == own_rank && node < belt->nodes; node++) {
            if (node != belt->node)
                add(run, AWAY, ompi_crew_proxy(belt, i, node), node, own_rank);
        }
        if (is_proxy_of(belt, i, own_rank))
            add(run, PROXY, rank, belt->node, rank);
    }
}

/* Buffers of messages: none where the program's memory is one run. */
static bool add_buffers(run_t *run)
{
    bool is_run = ompi_datatype_is_contiguous(run->belt.access->type);
    for (int i = 0; i < run->source_count; i++) {
        source_t *source = &run->sources[i];
        if (source->kind == OWN || (source->kind == AWAY && is_run))
            continue;
        source->buffer = malloc(ompi_belt_window_bytes(&run->belt));
        if (source->buffer == NULL)
            return false;
    }
    return true;
}

/* The views that proxies need and do not have yet. False: one is not here. */
static bool exchange_views(const ompi_belt_t *belt, int own_rank)
{
    ompi_file_t *file = belt->access->file;
    bool are_here = true;
    for (int i = 0; i < belt->crew_count; i++) {
        for (uint32_t node = 0; belt->crew[i] == own_rank && node < belt->nodes; node++) {
            if (node != belt->node)
                ompi_file_peers_send(file, ompi_crew_proxy(belt, i, node));
        }
        if (is_proxy_of(belt, i, own_rank))
            ompi_file_peers_receive(file, belt->crew[i], &belt->parts[belt->crew[i]]);
    }
    ompi_file_peers_finish(file);
    for (int i = 0; i < belt->crew_count; i++) {
        if (is_proxy_of(belt, i, own_rank))
            are_here = are_here && ompi_file_peers_view(file, belt->crew[i]) != NULL;
    }
    return are_here;
}

static bool prepare(run_t *run)
{
    ompi_belt_t *belt = &run->belt;
    ompi_access_t *access = belt->access;
    if (!ompi_belt_open(belt))
        return false;
    uint64_t bytes = ompi_belt_window_bytes(belt);
    belt->base = belt->first / bytes * bytes;
    uint64_t windows = (belt->end - belt->base + bytes - 1) / bytes;
    if (windows > UINT32_MAX / 2)
        return false;
    belt->window_count = (uint32_t)windows;
    belt->slot_count = (uint32_t)belt->member_count * OMPI_BELT_SLOTS_PER_RANK;
    belt->call = access->file->collectives;
    run->short_position = UINT64_MAX;
    run->sources = &run->own;
    if (belt->nodes > 1) {
        run->sources = calloc((size_t)belt->crew_count + belt->nodes, sizeof *run->sources);
        if (run->sources == NULL)
            return false;
    }
    add_all(run, access->file->comm->rank);
    return add_buffers(run);
}

static void drop(run_t *run)
{
    for (int i = 0; i < run->source_count; i++)
        free(run->sources[i].buffer);
    if (run->sources != &run->own)
        free(run->sources);
}

/* Whether all ranks of all nodes are ready: one may lack the memory. */
static bool are_all_ready(ompi_communicator_t *comm, bool is_ready)
{
    uint64_t cannot = !is_ready;
    return ompi_file_maximum(comm, &cannot, 1) == MPI_SUCCESS && cannot == 0;
}

bool ompi_conveyor_run(ompi_access_t *access, const ompi_conveyor_part_t *parts)
{
    ompi_file_t *file = access->file;
    const int own_rank = file->comm->rank;
    run_t run = {.belt = {.access = access, .area = file->area, .parts = parts}};
    bool gains =
        ompi_crew_find(&run.belt, own_rank, file->comm->size) && ompi_crew_gains(&run.belt);
    bool is_ready = !gains || run.belt.nodes == 1 || exchange_views(&run.belt, own_rank);
    is_ready = is_ready && (!gains || prepare(&run));
    if (file->area->nodes > 1)
        is_ready = are_all_ready(file->comm, is_ready);
    if (gains && is_ready)
        carry_out(&run);
    drop(&run);
    return gains && is_ready;
}
