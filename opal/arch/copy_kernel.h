/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels behind opal_copy_large(), and which of them copies in this process.
 *
 * libc's memcpy is not among the first: it uses `rep movsb` from about 2 KiB on, which some CPUs
 * (AMD Zen 3) make twenty times slower when the destination lies a little above the source modulo a
 * page. So each kernel that runs here is measured, at alignments of that kind too, when some MiB of
 * large blocks were copied, which takes 40 to 150 us; or the parameter copy_kernel names one.
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

enum {
    OPAL_COPY_TRIALS = 5,
    OPAL_COPY_KERNELS_MAX = 8,
    OPAL_COPY_UNMEASURED_BYTES = 4 << 20, /* that are copied before the measurement */
};

typedef struct opal_copy_choice {
    const opal_copy_kernel_t *kernel;
    bool measured; /* false: it was named */
    /* Bytes a nanosecond, by kernel and trial: sizes and alignments. 0: not for this CPU. */
    double speed[OPAL_COPY_KERNELS_MAX][OPAL_COPY_TRIALS];
} opal_copy_choice_t;

/* Makes this kernel, which must be usable, the one that copies; NULL: the fastest one. */
OPAL_EXPORT void opal_copy_choose(const opal_copy_kernel_t *kernel);

/* The choice, made by the first call if it was not made before. */
OPAL_EXPORT const opal_copy_choice_t *opal_copy_choice(void);

/* The kernels, each in the file of its name, if it is for this ISA. */
opal_copy_fn_t opal_copy_vector, opal_copy_avx2, opal_copy_avx512, opal_copy_string;

#endif
