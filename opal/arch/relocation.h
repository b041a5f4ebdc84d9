/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a relocation puts the address of a symbol into a word: the slot of a procedure linkage
 * table, an entry of the global offset table, an initialised pointer.
 */
#ifndef OPAL_ARCH_RELOCATION_H
#define OPAL_ARCH_RELOCATION_H

#include <elf.h>
#include <stdbool.h>

static inline bool opal_relocation_is_address(unsigned type)
{
#if defined(__x86_64__)
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
#elif defined(__aarch64__)
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
#else
    (void)type;
    return false; /* nothing is patched */
#endif
}

#endif
