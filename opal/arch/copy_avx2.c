/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying with the 32-byte vectors of x86-64. */
#ifdef __x86_64__
#define COPY_NAME   opal_copy_avx2
#define COPY_VECTOR 32
#define COPY_TARGET __attribute__((target("avx2")))
#include "opal/arch/copy_loop.h"
#endif
