/* SPDX-License-Identifier: BSD-3-Clause */
/* Children: communicators that components own, and their operations as steps of a schedule. */
#include <stdlib.h>

#include "ompi/mca/coll/base/base.h"

/* Sets the groups and the ranks in the parent. */
static int fill_in(ompi_communicator_t *child, ompi_communicator_t *comm, const int ranks[],
                   int size)
{
    ompi_group_builder_t builder = {0};
    child->parent = comm->parent != NULL ? comm->parent : comm;
    child->parent_ranks = malloc((size_t)size * sizeof child->parent_ranks[0]);
    if (child->parent_ranks == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < size; i++) {
        ompi_group_builder_add(&builder, (int)ompi_comm_process(comm, ranks[i]));
        child->parent_ranks[i] = comm->parent != NULL ? comm->parent_ranks[ranks[i]] : ranks[i];
    }
    ompi_group_t *group = ompi_group_builder_finish(&builder);
    if (group == NULL)
        return MPI_ERR_NO_MEM;
    ompi_comm_set_groups(child, group, NULL);
    ompi_object_release(&group->head);
    return MPI_SUCCESS;
}

static int create(ompi_communicator_t *comm, const int ranks[], int size,
                  ompi_communicator_t **child)
{
    ompi_communicator_t *made = ompi_comm_create(comm);
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    int error = fill_in(made, comm, ranks, size);
    if (error == MPI_SUCCESS)
        error = ompi_coll_comm_add(made);
    if (error == MPI_SUCCESS)
        *child = made;
    else
        ompi_object_release(&made->head);
    return error;
}

int ompi_coll_child_create(ompi_communicator_t *comm, const int ranks[], int size,
                           ompi_communicator_t **child)
{
    int error = create(comm, ranks, size, child);
    if (error == MPI_ERR_NO_MEM && ompi_schedule_spend_reserve())
        error = create(comm, ranks, size, child);
    return error;
}

void ompi_coll_child_release(ompi_communicator_t *child)
{
    if (child == NULL)
        return;
    ompi_coll_comm_remove(child);
    ompi_object_release(&child->head);
}

/* A step of a blocking schedule. */
static int run_child(ompi_schedule_t *schedule, void *context)
{
    ompi_coll_call_t *call = context;
    call->error = schedule->lacks_memory ? MPI_ERR_NO_MEM : schedule->error;
    return ompi_coll_run(call);
}

static void add_run(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    const ompi_data_t none = {0};
    ompi_coll_call_t *copy = ompi_schedule_memory(schedule, sizeof *copy);
    if (copy == NULL)
        return;
    *copy = *call;
    ompi_schedule_call(schedule, run_child, copy, none, none);
}

void ompi_coll_begin_child(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    ompi_schedule_t *nested = ompi_schedule_nest(schedule, call->comm, call->op);
    if (nested == NULL)
        return;
    int error = ompi_coll_build(call, nested);
    nested->is_exact = nested->relays = true;
    if (error == MPI_SUCCESS)
        error = nested->error;
    if (schedule->error == MPI_SUCCESS)
        schedule->error = error;
}

void ompi_coll_add_child(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    if (schedule->is_blocking)
        add_run(call, schedule);
    else
        ompi_coll_begin_child(call, schedule);
    ompi_schedule_wait(schedule);
}
