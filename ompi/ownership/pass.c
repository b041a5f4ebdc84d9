/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes, and the copies that follow them to processes without the region. See pass.h. */
#include "ompi/ownership/pass.h"

#include <stdlib.h>

#include "opal/process/job.h"
#include "opal/node/node.h"
#include "opal/node/region.h"
#include "opal/util/list.h"
#include "ompi/mca/pml/tags.h"
#include "ompi/request/request.h"
#include "ompi/request/status.h"

typedef enum manner {
    BY_ADDRESS, /* to oneself */
    BY_OFFSET,
    BY_COPY,
} manner_t;

typedef struct note {
    uint32_t manner;
    int32_t tag;     /* BY_COPY */
    uint64_t where;  /* BY_ADDRESS: address; BY_OFFSET: in the region */
    uint64_t room;   /* of the block */
    uint64_t bytes;  /* of interest */
    uint64_t region; /* BY_OFFSET: its id */
} note_t;

/* A block whose bytes are on their way. */
typedef struct copy {
    opal_list_node_t node;
    ompi_block_t block;
} copy_t;

static opal_list_t copies = {{&copies.head, &copies.head}};
static uint32_t copy_count; /* for tags */

static ompi_data_t bytes_at(void *bytes, size_t count)
{
    return (ompi_data_t){bytes, count, ompi_datatype_of(MPI_BYTE)};
}

/* -- giving ------------------------------------------------------------------------------- */

static manner_t manner_for(const ompi_block_t *block, unsigned process)
{
    if (process == opal_job()->rank)
        return BY_ADDRESS;
    int peer = opal_node_local_rank(process);
    opal_node_view_t view;
    if (peer >= 0 && opal_region_has(block->start, 1) && opal_node_view((unsigned)peer, &view) &&
        view.bytes > 0)
        return BY_OFFSET;
    return BY_COPY;
}

static int send_note(const note_t *note, const ompi_route_t *to)
{
    ompi_data_t data = bytes_at((void *)(uintptr_t)note, sizeof *note);
    return ompi_pml->send(to, &data, OMPI_SEND_STANDARD);
}

static void end_copy(ompi_request_t *request OPAL_UNUSED, void *context)
{
    copy_t *copy = context;
    opal_list_remove(&copy->node);
    ompi_block_free(&copy->block);
    free(copy);
}

static int give_copy(const ompi_block_t *block, note_t *note, const ompi_route_t *to)
{
    copy_t *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return MPI_ERR_NO_MEM;
    copy->block = *block;
    note->tag = ompi_tags_at(OMPI_TAGS_COPY, copy_count++);
    int error = send_note(note, to);
    ompi_request_t *request = NULL;
    if (error == MPI_SUCCESS) {
        ompi_route_t copy_route = {to->comm, OMPI_CONTEXT_COLLECTIVE, to->rank, note->tag};
        ompi_data_t data = bytes_at(block->start, note->bytes);
        error = ompi_pml->isend(&copy_route, &data, OMPI_SEND_STANDARD, &request);
    }
    if (error != MPI_SUCCESS) {
        free(copy);
        return error;
    }
    opal_list_append(&copies, &copy->node);
    if (ompi_request_is_done(request)) {
        end_copy(request, copy);
    } else {
        request->on_complete = end_copy;
        request->on_complete_context = copy;
    }
    ompi_request_free(&request);
    return MPI_SUCCESS;
}

int ompi_ownership_give(const ompi_block_t *block, size_t bytes, int dest, int tag,
                        ompi_communicator_t *comm)
{
    ompi_route_t to = {comm, OMPI_CONTEXT_OWNERSHIP, dest, tag};
    note_t note = {.manner = manner_for(block, ompi_comm_process(comm, dest)),
                   .room = block->bytes,
                   .bytes = bytes};
    switch (note.manner) {
    case BY_COPY:
        return give_copy(block, &note, &to);
    case BY_OFFSET:
        note.where = (uintptr_t)block->start - opal_region.base;
        note.region = opal_region.id;
        opal_region_hand_on(block->start);
        /* Before it goes: the taker may free it at once. */
        ompi_block_leave(block);
        break;
    default:
        note.where = (uintptr_t)block->start;
    }
    return send_note(&note, &to);
}

void ompi_ownership_flush(void)
{
    while (!opal_list_is_empty(&copies))
        ompi_request_look();
}

/* -- taking ------------------------------------------------------------------------------- */

/* Without memory for it the message is received all the same, and lost. */
static int take_copy(const note_t *note, ompi_block_t *block, int source, ompi_communicator_t *comm)
{
    ompi_route_t copy_route = {comm, OMPI_CONTEXT_COLLECTIVE, source, note->tag};
    bool has_memory = ompi_block_allocate(note->bytes, block);
    ompi_data_t data = has_memory ? bytes_at(block->start, note->bytes) : bytes_at(NULL, 0);
    int error = ompi_pml->recv(&copy_route, &data, MPI_STATUS_IGNORE);
    if (!has_memory)
        return MPI_ERR_NO_MEM;
    if (error != MPI_SUCCESS)
        ompi_block_free(block);
    return error;
}

static int take_by_offset(const note_t *note, ompi_block_t *block)
{
    void *start = (void *)(opal_region.base + note->where);
    if (note->region != opal_region.id || !opal_region_has(start, note->room))
        return MPI_ERR_INTERN;
    *block = (ompi_block_t){.start = start, .bytes = note->room, .is_taken = true};
    return MPI_SUCCESS;
}

int ompi_ownership_take(ompi_block_t *block, int source, int tag, ompi_communicator_t *comm,
                        MPI_Status *status)
{
    ompi_route_t from = {comm, OMPI_CONTEXT_OWNERSHIP, source, tag};
    note_t note = {0};
    ompi_data_t data = bytes_at(&note, sizeof note);
    MPI_Status of_note;
    int error = ompi_pml->recv(&from, &data, &of_note);
    if (error != MPI_SUCCESS)
        return error;
    switch (note.manner) {
    case BY_COPY:
        error = take_copy(&note, block, of_note.MPI_SOURCE, comm);
        break;
    case BY_OFFSET:
        error = take_by_offset(&note, block);
        break;
    default:
        *block = (ompi_block_t){.start = (void *)(uintptr_t)note.where,
                                .bytes = note.room,
                                .is_taken = opal_region_has((void *)(uintptr_t)note.where, 1)};
    }
    if (error == MPI_SUCCESS) {
        ompi_status_set_bytes(&of_note, note.bytes);
        ompi_status_fill(status, &of_note);
    }
    return error;
}
