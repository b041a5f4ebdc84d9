/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the sources of a schedule share: steps.c makes its parts, run.c carries it out, schedule.c
 * has its life.
 */
#ifndef OMPI_SCHEDULE_INTERNAL_H
#define OMPI_SCHEDULE_INTERNAL_H

#include "ompi/schedule/schedule.h"

static inline void ompi_schedule_note_error(ompi_schedule_t *schedule, int error)
{
    if (opal_unlikely(error != MPI_SUCCESS) && schedule->error == MPI_SUCCESS)
        schedule->error = error;
}

/* -- steps.c -- */

/* Memory aligned as a schedule is, if need be from the reserve. NULL: no memory. */
void *ompi_schedule_allocate(size_t bytes);

/* The error holds for every time the schedule is carried out. */
void ompi_schedule_lack_memory(ompi_schedule_t *schedule);

/* Calls `each` on the types of a step. A schedule that outlives the MPI call retains them. */
void ompi_schedule_hold_types(const ompi_step_t *step, void (*each)(ompi_object_t *object));

/* Adds a step. NULL: no memory, and the schedule has that error. */
ompi_step_t *ompi_schedule_add(ompi_schedule_t *schedule, ompi_step_kind_t kind, int rank,
                               ompi_data_t to, ompi_data_t from);

/* -- run.c -- */

/* Starts an operation that does not block. The schedule may be freed when this returns. */
void ompi_schedule_begin(ompi_schedule_t *schedule);

/* For the ops of its request. */
bool ompi_schedule_poll_request(ompi_request_t *request);

#endif
