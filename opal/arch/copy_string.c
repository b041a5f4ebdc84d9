/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying by microcode, which on some CPUs is as fast as it gets and on others at the mercy of the
 * alignment. */
#ifdef __x86_64__
#include "opal/arch/copy_kernel.h"

void opal_copy_string(char *to, const char *from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
#endif
