/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often each component has carried out each collective operation, for performance variables.
 * The operations of a communicator that belongs to a component (ompi_communicator_t.parent) are
 * parts of another one, and do not count.
 *
 * Threading: counting under ompi_lock, reading by any thread.
 */
#ifndef OMPI_COLL_BASE_COUNTS_H
#define OMPI_COLL_BASE_COUNTS_H

#include "opal/mca/base/pvar.h"
#include "ompi/mca/coll/coll.h"

/* The counters of a component, by ompi_coll_kind_t. */
typedef opal_counter_t ompi_coll_counts_t[OMPI_COLL_KINDS];

ompi_coll_counts_t *ompi_coll_counts_of(const char *component);

/* Of the framework. */
extern const opal_pvar_row_t ompi_coll_pvars[];

#endif
