/* SPDX-License-Identifier: BSD-3-Clause */
/* Views of types made at random, and the byte of the file at each of their first positions. */
#ifndef TEST_SAMPLE_VIEW_H
#define TEST_SAMPLE_VIEW_H

#include <check.h>
#include <stdlib.h>

#include "ompi/api/bodies.h"
#include "ompi/file/view.h"
#include "test/unit/ompi/datatype/model.h"

typedef struct sample_view {
    ompi_view_t *view;
    size_t count;       /* of filetypes below */
    size_t bytes;       /* in these */
    MPI_Count *offsets; /* [bytes] */
} sample_view_t;

/* A view of bytes of at most so many filetypes, of which none is at a negative displacement. */
static inline sample_view_t sample_view_create(size_t most)
{
    sample_t sample = sample_create();
    ompi_datatype_t *filetype;
    const char *reason;
    MPI_Count true_lb = ompi_datatype_true_lb(sample.type);
    MPI_Count shift = (true_lb < 0 ? -true_lb : 0) + model_random(0, 9);
    MPI_Offset disp = model_random(0, 1) * model_random(0, (MPI_Count)1 << 40);
    sample_view_t made = {0};
    ck_assert_int_eq(ompi_api_type_create_hindexed_block(1, 1, ompi_ints_large(&shift), sample.type,
                                                         &filetype, true),
                     MPI_SUCCESS);
    ck_assert_int_eq(ompi_view_create(disp, ompi_datatype_of(MPI_BYTE), filetype,
                                      ompi_datarep_find("native"), &made.view, &reason),
                     MPI_SUCCESS);
    made.count = made.view->count < most ? made.view->count : most;
    made.bytes = made.count * model_size(&sample.model);
    made.offsets = model_offsets(&sample.model, made.count);
    for (size_t i = 0; i < made.bytes; i++)
        made.offsets[i] += disp + shift;
    ompi_datatype_release(filetype);
    sample_destroy(&sample);
    return made;
}

static inline void sample_view_destroy(sample_view_t *sample)
{
    ompi_view_release(sample->view);
    free(sample->offsets);
}

#endif
