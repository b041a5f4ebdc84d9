/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of the shared heap: for memory/smheap, whose rows they are and which needs them
 * before main, and for mpirun, which makes the region.
 *
 * Threading: read once, by the first who asks; constant from then on.
 */
#ifndef OPAL_MCA_MEMORY_BASE_SHARED_H
#define OPAL_MCA_MEMORY_BASE_SHARED_H

#include "opal/mca/base/param.h"

typedef enum opal_memory_enable {
    OPAL_MEMORY_DISABLED,
    OPAL_MEMORY_ENABLED,
    OPAL_MEMORY_ENABLED_FOR_SEVERAL, /* if there are two ranks or more on the node */
} opal_memory_enable_t;

typedef struct opal_memory_shared {
    int enable;         /* opal_memory_enable_t */
    size_t min_bytes;   /* the smallest allocation that goes to the region */
    unsigned size_mib;  /* of the region; 0: by the machine's memory */
    unsigned shares;    /* in how many parts it is cut to begin with; 0: by the number of ranks */
    bool offset;        /* map it elsewhere than the others do */
    unsigned wait_msec; /* for who makes the region, at most */
} opal_memory_shared_t;

/* memory_smheap_...; ends with a row of zeros. */
extern const opal_param_row_t opal_memory_shared_params[];

/* What counts in this process: the environment. */
OPAL_EXPORT const opal_memory_shared_t *opal_memory_shared(void);

/* When the rows are registered: what a file says, and was not known in time, is a finding. */
void opal_memory_shared_check(void);

/* For mpirun, which knows the files in time: reads the rows as any parameter. */
OPAL_EXPORT opal_status_t opal_memory_shared_register(void);
OPAL_EXPORT void opal_memory_shared_withdraw(opal_memory_shared_t *found);

#endif
