/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls the callbacks of a keyval, in the language of the keyval. Only attribute.c calls these
 * functions.
 *
 * Threading: the caller has a reference to the keyval and does not hold the lock of attribute.c.
 */
#ifndef OMPI_ATTRIBUTE_CALLBACK_H
#define OMPI_ATTRIBUTE_CALLBACK_H

#include "ompi/attribute/keyval.h"
#include "ompi/attribute/value.h"
#include "ompi/object/object.h"

/*
 * *copy becomes a value in the language of the callback; that of MPI_COMM_DUP_FN remains in the
 * language of the original. `in_c` is what C gets as the original; it lives longer than `value`.
 */
int ompi_keyval_call_copy(const ompi_keyval_t *keyval, const ompi_object_t *object,
                          const ompi_attribute_value_t *value, void *in_c,
                          ompi_attribute_value_t *copy, int *flag);

int ompi_keyval_call_delete(const ompi_keyval_t *keyval, const ompi_object_t *object,
                            ompi_attribute_value_t *value);

#endif
