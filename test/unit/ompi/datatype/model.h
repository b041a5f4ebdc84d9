/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes as the standard defines them: a list of predefined elements with displacements, and
 * markers. Slow, without any of the ideas of ompi/datatype, and with the same constructors, so
 * that types made at random can be compared.
 */
#ifndef TEST_DATATYPE_MODEL_H
#define TEST_DATATYPE_MODEL_H

#include "ompi/datatype/datatype.h"

typedef struct model_entry {
    MPI_Count offset;
    ompi_datatype_t *basic;
} model_entry_t;

typedef struct model {
    model_entry_t *entries;
    size_t count;
    bool has_markers;
    MPI_Count lb_marker, ub_marker;
} model_t;

/* A type and what it must be. */
typedef struct sample {
    ompi_datatype_t *type;
    model_t model;
} sample_t;

/* The next number in [low, high] of a sequence that model_seed() begins. */
void model_seed(uint64_t seed);
MPI_Count model_random(MPI_Count low, MPI_Count high);

/* A type made of predefined ones by a few constructors. It is small enough to look at each byte. */
sample_t sample_create(void);
void sample_destroy(sample_t *sample);

/* What the model says. */
size_t model_size(const model_t *model);
size_t model_elements(const model_t *model);
void model_bounds(const model_t *model, MPI_Count *lb, MPI_Count *ub);
void model_true_bounds(const model_t *model, MPI_Count *lb, MPI_Count *ub);

/* Where each byte of the packed form of `count` elements lies; to be freed. */
MPI_Count *model_offsets(const model_t *model, size_t count);

/* Three elements of both types pack the same bytes. */
void model_check_packs_alike(const ompi_datatype_t *type, const ompi_datatype_t *made);

#endif
