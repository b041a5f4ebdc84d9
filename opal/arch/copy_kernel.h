/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels behind opal_copy_large(), and which of them copies in this process.
 *
 * libc's memcpy is not among the first: it uses `rep movsb` from about 2 KiB on, which some CPUs
 * (AMD Zen 3) make twenty times slower when the destination lies a little above the source modulo a
 * page. So each kernel that runs here is measured, at alignments of that kind too, when the first
 * large block is copied, which takes some 40 us; or the parameter copy_kernel names one.
 *
 * Threading: any thread, except for opal_copy_choose(): start-up.
 */
#ifndef OPAL_ARCH_COPY_KERNEL_H
#define OPAL_ARCH_COPY_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/arch/copy.h"
#include "opal/include/compiler.h"

typedef struct opal_copy_kernel {
    const char *name;
    const char *prose;
    opal_copy_fn_t *copy;
    bool (*usable)(void); /* on this CPU? */
} opal_copy_kernel_t;

/* Those of this ISA, then libc's. A later one is chosen if it is faster by more than the noise. */
OPAL_EXPORT extern const opal_copy_kernel_t opal_copy_kernels[];
OPAL_EXPORT extern const size_t opal_copy_kernel_count;

enum { OPAL_COPY_TRIALS = 5, OPAL_COPY_KERNELS_MAX = 8 };

typedef struct opal_copy_choice {
    const opal_copy_kernel_t *kernel;
    bool measured; /* else it was named */
    /* Bytes a nanosecond, by kernel and trial: sizes and alignments. 0: not for this CPU. */
    double speed[OPAL_COPY_KERNELS_MAX][OPAL_COPY_TRIALS];
} opal_copy_choice_t;

/* From now on this kernel copies, which must be usable; NULL: the one that is fastest. */
OPAL_EXPORT void opal_copy_choose(const opal_copy_kernel_t *kernel);

/* The choice, which is made if it was not yet. */
OPAL_EXPORT const opal_copy_choice_t *opal_copy_choice(void);

/* Each in the file of its name, if it is for this ISA. */
opal_copy_fn_t opal_copy_vector, opal_copy_avx2, opal_copy_avx512, opal_copy_string;

#endif
