/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying with the vectors that every machine of an architecture has: SSE2, NEON. Where there are
 * none, the compiler makes words of them. */
#define COPY_NAME   opal_copy_vector
#define COPY_VECTOR 16
#define COPY_TARGET
#include "opal/arch/copy_loop.h"
