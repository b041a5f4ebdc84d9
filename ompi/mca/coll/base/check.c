/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a collective call goes into its record. */
#include "ompi/mca/coll/base/check.h"

#include <stdlib.h>

#include "ompi/handle/handle.h"
#include "ompi/mca/coll/base/data.h"

/* The data that all ranks give alike, if the kind has any. */
typedef enum alike {
    NOTHING,  /* each rank has lengths of its own, or no data */
    RECEIVED, /* by each rank, from each */
    TO_ROOT,  /* the receive side of the root, the send side of the others */
    BY_ROOT,  /* the send side of the root, the receive side of the others */
    COUNTS,   /* an array of counts */
} alike_t;

static const struct {
    alike_t data;
    bool has_root;
} kinds[OMPI_COLL_KINDS] = {
    [OMPI_ALLGATHER] = {RECEIVED, false},
    [OMPI_ALLGATHERV] = {COUNTS, false},
    [OMPI_ALLREDUCE] = {RECEIVED, false},
    [OMPI_ALLTOALL] = {RECEIVED, false},
    [OMPI_BCAST] = {RECEIVED, true},
    [OMPI_EXSCAN] = {RECEIVED, false},
    [OMPI_GATHER] = {TO_ROOT, true},
    [OMPI_GATHERV] = {NOTHING, true},
    [OMPI_REDUCE] = {RECEIVED, true},
    [OMPI_REDUCE_SCATTER] = {COUNTS, false},
    [OMPI_REDUCE_SCATTER_BLOCK] = {RECEIVED, false},
    [OMPI_SCAN] = {RECEIVED, false},
    [OMPI_SCATTER] = {BY_ROOT, true},
    [OMPI_SCATTERV] = {NOTHING, true},
};

#define SPREAD       UINT64_C(0x9e3779b97f4a7c15) /* odd; bits of the factor reach the upper half */
#define OTHER_SPREAD UINT64_C(0xc2b2ae3d27d4eb4f)

static uint16_t handle_of(const ompi_object_t *object, uint16_t made)
{
    return object->destroy == NULL ? (uint16_t)(uintptr_t)object->handle : made;
}

static void record_data(ompi_check_record_t *record, const ompi_coll_side_t *side, bool is_full)
{
    const ompi_shape_t *shape = &side->type->shape;
    record->count = (uint64_t)side->count;
    record->bytes = ompi_datatype_bytes(side->type, (size_t)side->count);
    if (opal_likely(shape->element != NULL && record->bytes > 0))
        record->type = (uint16_t)(uintptr_t)shape->element->head.handle;
    else if (is_full)
        record->hash = ompi_signature_hash(shape->signature, (size_t)side->count);
}

static void record_counts(ompi_check_record_t *record, const ompi_coll_side_t *side, int blocks)
{
    const ompi_datatype_t *element = side->type->shape.element;
    for (int i = 0; i < blocks; i++) {
        uint64_t bytes = ompi_datatype_bytes(side->type, ompi_coll_count(side, i));
        record->count += ompi_coll_count(side, i);
        record->bytes += bytes;
        record->hash = (record->hash ^ bytes) * SPREAD + 1;
    }
    if (element != NULL && record->bytes > 0)
        record->type = (uint16_t)(uintptr_t)element->head.handle;
}

static void record_alike(ompi_check_record_t *record, const ompi_coll_call_t *call)
{
    bool is_root = call->comm->rank == call->root, is_full = ompi_check_level == OMPI_CHECK_FULL;
    switch (kinds[call->kind].data) {
    case RECEIVED:
        record_data(record, &call->recv, is_full);
        break;
    case TO_ROOT:
        record_data(record, is_root ? &call->recv : &call->send, is_full);
        break;
    case BY_ROOT:
        record_data(record, is_root ? &call->send : &call->recv, is_full);
        break;
    case COUNTS:
        record_counts(record, &call->recv, call->comm->size);
        break;
    case NOTHING:
        break;
    }
}

/* A rank's error of before is not the program's, and its call has no data (coll.h). */
int ompi_coll_check_begin(const ompi_coll_call_t *call, ompi_check_form_t form)
{
    ompi_communicator_t *comm = call->comm;
    bool is_intra = !ompi_comm_is_inter(comm);
    if (opal_unlikely(comm->check_error != MPI_SUCCESS))
        return ompi_check_refuse(comm);
    ompi_check_record_t *record = ompi_check_next(comm);
    record->kind = (uint8_t)call->kind;
    record->form = (uint8_t)form;
    record->root = OMPI_CHECK_NO_ROOT;
    record->op = record->type = 0;
    record->count = record->bytes = record->hash = 0;
    if (opal_likely(is_intra)) {
        if (kinds[call->kind].has_root)
            record->root = call->root;
        if (call->op != NULL)
            record->op = handle_of(&call->op->head, OMPI_CHECK_OWN_OP);
        record_alike(record, call);
    }
    uint64_t way =
        (uint64_t)call->kind | (uint64_t)form << 8 | (uint64_t)(uint32_t)record->root << 32;
    comm->call_history = (comm->call_history ^ way) * SPREAD;
    comm->call_digest =
        comm->call_history ^ ((uint64_t)record->op | (uint64_t)record->type << 12) * OTHER_SPREAD;
    ompi_check_publish(comm, record);
    return MPI_SUCCESS;
}

/* Adds the messages with the record of this rank's latest call, and of those of the others. */
static void exchange(ompi_schedule_t *schedule, ompi_communicator_t *comm,
                     ompi_check_record_t records[])
{
    for (int rank = 0; rank < comm->size; rank++) {
        if (rank == comm->rank)
            continue;
        ompi_schedule_recv(schedule, rank,
                           ompi_data(&records[rank], sizeof *records, schedule->byte));
        ompi_schedule_send(schedule, rank,
                           ompi_data(&records[comm->rank], sizeof *records, schedule->byte));
    }
    ompi_schedule_wait(schedule);
}

int ompi_coll_check_meet(ompi_communicator_t *comm)
{
    size_t bytes = (size_t)comm->size * sizeof(ompi_check_record_t);
    ompi_check_record_t *records = aligned_alloc(_Alignof(ompi_check_record_t), bytes);
    if (records == NULL)
        return MPI_ERR_NO_MEM;
    ompi_schedule_t schedule;
    ompi_schedule_init(&schedule, comm, NULL);
    ompi_schedule_watch(&schedule, comm->checked);
    ompi_check_latest(comm, &records[comm->rank]);
    exchange(&schedule, comm, records);
    int error = ompi_schedule_run(&schedule);
    ompi_schedule_fini(&schedule);
    if (error == MPI_SUCCESS)
        error = ompi_check_compare_given(comm, records);
    free(records);
    return error;
}

/* All have come, unless the schedule has an error. */
static int compare_met(ompi_schedule_t *schedule, void *records)
{
    if (schedule->error != MPI_SUCCESS)
        return MPI_SUCCESS;
    int error = ompi_check_compare_given(schedule->comm, records);
    if (error != MPI_SUCCESS)
        ompi_schedule_give_up(schedule);
    return error;
}

void ompi_coll_check_meet_first(ompi_schedule_t *schedule, ompi_communicator_t *comm)
{
    ompi_check_record_t *records =
        ompi_schedule_room(schedule, (size_t)comm->size * sizeof *records);
    if (!schedule->lacks_memory)
        ompi_check_latest(comm, &records[comm->rank]);
    exchange(schedule, comm, records);
    ompi_schedule_call(schedule, compare_met, records, (ompi_data_t){0}, (ompi_data_t){0});
    ompi_schedule_wait(schedule);
}
