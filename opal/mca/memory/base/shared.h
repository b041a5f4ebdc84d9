/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of the shared heap (memory_smheap_...), which two users read: the component before
 * main, and the launcher, which makes the region.
 *
 * Threading: read once, by the first call; constant from then on.
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
    int enable;          /* opal_memory_enable_t */
    size_t min_bytes;    /* the smallest allocation that goes to the region */
    size_t static_bytes; /* static data from this size on lies in the region, too; 0: none */
    unsigned size_mib;   /* of the region; 0: by the machine's memory */
    unsigned shares;     /* in how many parts it is cut to begin with; 0: by the number of ranks */
    bool offset;         /* map it at another address than the other ranks */
    unsigned wait_msec;  /* for the process that makes the region, at most */
} opal_memory_shared_t;

/* memory_smheap_...; ends with a row of zeros. */
extern const opal_param_row_t opal_memory_shared_params[];

/* The settings of this process, from the environment. */
OPAL_EXPORT const opal_memory_shared_t *opal_memory_shared(void);

/* Called when the rows are registered: a setting in a file, which was not read in time, is a
 * finding. */
void opal_memory_shared_check(void);

/* For the launcher, which reads the files in time: registers the rows like any parameter. */
OPAL_EXPORT opal_status_t opal_memory_shared_register(void);
OPAL_EXPORT void opal_memory_shared_withdraw(opal_memory_shared_t *found);

#endif
