/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What overwrite must know of a processor: how the first instruction of a function becomes a jump.
 * Each processor has a file that answers; in the build for another one it is empty.
 *
 * A jump has a limited reach, so the code jumps to an island: a few bytes on a page of our own near
 * libc, which jump to any address.
 *
 * No function here writes into code that a thread may execute, and none allocates.
 */
#ifndef OPAL_MCA_PATCHER_OVERWRITE_CODE_H
#define OPAL_MCA_PATCHER_OVERWRITE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One store that replaces one instruction by another one, and what is written before it. */
typedef struct overwrite_plan {
    uintptr_t store_at;      /* aligned to store_bytes */
    size_t store_bytes;      /* 4 or 8 */
    uint64_t store_expected; /* the bytes there now */
    uint64_t store_value;    /* these bytes, the instruction replaced */
    uintptr_t padding_at;    /* bytes that are never executed; 0: none needed */
    size_t padding_bytes;
    unsigned char padding[8]; /* their new value */
} overwrite_plan_t;

/* NULL: the processor is known and its parts are as we need them; else why not. */
extern const char *const overwrite_obstacle;

/* How far an island may be from the code that jumps to it, and what it takes. */
extern const size_t overwrite_reach_bytes;
extern const size_t overwrite_island_bytes;

/* Makes an island that jumps to the target. The caller makes it executable. */
void overwrite_make_island(unsigned char *island, const void *target);

/*
 * Plans the way from a function's entry to an island. Returns NULL, or why it cannot be done: the
 * entry is a jump already, or it has not the form of anything that is understood. Reads `code` from
 * 16 bytes before the entry to 32 bytes behind it.
 */
const char *overwrite_make_plan(overwrite_plan_t *plan, const unsigned char *code,
                                uintptr_t island);

#endif
