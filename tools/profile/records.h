/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of a job (opal/profile/layout.h), mapped: a folder with a file for each rank. Files
 * of other jobs and damaged files are left out, with a warning. Ranks may be missing: the job may
 * have died early, or a rank may have ended before MPI_Init.
 */
#ifndef MICA_PROFILE_RECORDS_H
#define MICA_PROFILE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/profile/layout.h"

typedef struct record {
    const opal_profile_head_t *head; /* NULL: this rank has none */
    size_t file_bytes;
    double nsec_per_tick;
    double zero;  /* seconds of the job's clock at tick 0 of this rank */
    double begin; /* MPI_Init has returned, in seconds since the first rank's */
    double end;   /* MPI_Finalize, or the last that is known */
} record_t;

typedef struct records {
    record_t *ranks; /* `size` */
    unsigned size, present;
    unsigned unfinished; /* present, without MPI_Finalize */
    unsigned nodes;
    double wall; /* seconds, from the first begin to the last end */
} records_t;

/* False: there is nothing that can be shown; an error was logged. */
bool records_open(const char *folder, records_t *records);
void records_close(records_t *records);

/* Block i of the rank; i < head->blocks. */
const opal_profile_block_t *record_block(const record_t *record, unsigned i);

/* Ticks to seconds: a duration; a moment of the job's clock. */
static inline double record_seconds(const record_t *record, uint64_t ticks)
{
    return (double)ticks * record->nsec_per_tick * 1e-9;
}
double record_moment(const record_t *record, uint64_t ticks);

#endif
