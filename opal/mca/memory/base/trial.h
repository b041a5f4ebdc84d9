/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For memory components: whether calls of malloc's family arrive at our functions, and whether
 * memory that is given back is reported. By real calls, since other code may have patched the same
 * functions since they were redirected.
 *
 * Threading: called by one thread, while others go on.
 */
#ifndef OPAL_MCA_MEMORY_BASE_TRIAL_H
#define OPAL_MCA_MEMORY_BASE_TRIAL_H

#include "opal/mca/memory/memory.h"

/* The FREE and CHUNK bits of OPAL_MEMORY_*_SUPPORT, as tested now; for a process in which all sizes
 * are served. */
unsigned opal_memory_try_family(void);

/* Unmaps pages by every call that was caught; a call that is not caught any more counts as missing
 * from now on. */
void opal_memory_try_unmapping(void);

/* These bits and the MUNMAP bit of now: the hooks may have been installed since. */
unsigned opal_memory_with_munmap(unsigned support);

#endif
