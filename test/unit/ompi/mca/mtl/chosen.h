/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the contract suites of pml and mtl: a job of one for each component, in a process of its own.
 * The tests send to rank 0, which is the process itself.
 */
#ifndef OMPI_UNIT_MTL_CHOSEN_H
#define OMPI_UNIT_MTL_CHOSEN_H

#include "ompi/mca/mtl/mtl.h"
#include "test/unit/opal/support.h"

/* The operations of the mtl, while pml/cm uses one. */
extern const ompi_mtl_ops_t *unit_mtl;

/* Runs the tests with pml/cm over each mtl, and with pml/ob1 if that is wanted; main's result. */
int unit_run_with_each(bool also_ob1, const char *name, const unit_test_t *tests, size_t count);

#endif
