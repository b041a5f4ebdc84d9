/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the compiler must be told: visibility, printf checking, layout.
 *
 * Everything is hidden unless it carries OPAL_EXPORT (configure passes
 * -fvisibility=hidden), so the list of exports is the list of these marks.
 */
#ifndef OPAL_COMPILER_H
#define OPAL_COMPILER_H

#include <stddef.h>

#define OPAL_EXPORT __attribute__((visibility("default")))
/* Beside the definition of an exported variable: the library itself reaches it without the GOT. No
 * program may refer to it, since the linker would copy it there. By the assembler, because the
 * declaration is for DSOs, too, where it is not protected. */
#define OPAL_REACHED_DIRECTLY(variable) __asm__(".protected " #variable)
/* At the declaration of a variable that is not exported: it is reached without the GOT. */
#define OPAL_HIDDEN             __attribute__((visibility("hidden")))
#define OPAL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define OPAL_UNUSED             __attribute__((unused))
/* Where the compiler was counted to choose otherwise, and worse. */
#define OPAL_INLINE static inline __attribute__((always_inline))
/* Keeps the frame of a rare path off the one that calls it. */
#define OPAL_NOINLINE   __attribute__((noinline))
#define OPAL_NORETURN   __attribute__((noreturn))
#define OPAL_MUST_CHECK __attribute__((warn_unused_result))

#define opal_likely(x)   __builtin_expect(!!(x), 1)
#define opal_unlikely(x) __builtin_expect(!!(x), 0)

#define OPAL_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define opal_container_of(pointer, type, member)                                                   \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
