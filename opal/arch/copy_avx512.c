/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying with the 64-byte vectors of x86-64. */
#ifdef __x86_64__
#define COPY_NAME   opal_copy_avx512
#define COPY_VECTOR 64
#define COPY_TARGET __attribute__((target("avx512f")))
#include "opal/arch/copy_loop.h"
#endif
