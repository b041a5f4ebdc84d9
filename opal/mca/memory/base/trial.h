/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For memory components: whether malloc's family really leads to us, and what is given back is
 * really told. By real calls, since anybody may have changed it since it was redirected.
 *
 * Threading: from one thread, while others go on.
 */
#ifndef OPAL_MCA_MEMORY_BASE_TRIAL_H
#define OPAL_MCA_MEMORY_BASE_TRIAL_H

#include "opal/mca/memory/memory.h"

/* FREE and CHUNK of the OPAL_MEMORY_*_SUPPORT bits, as they are seen now; for a process in which
 * all sizes are served. */
unsigned opal_memory_try_family(void);

/* Unmaps pages by every call that was caught; what is not caught any more is said to miss from now
 * on. */
void opal_memory_try_unmapping(void);

/* These and MUNMAP as it is now: somebody may have asked for the events since. */
unsigned opal_memory_with_munmap(unsigned support);

#endif
