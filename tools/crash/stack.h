/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack of the thread that crashed: the innermost functions and the outermost ones. Frames at
 * the same place one after the other, of a recursion, are one entry. What called main is left out.
 */
#ifndef CRASH_STACK_H
#define CRASH_STACK_H

#include "opal/crash/notice.h"

enum {
    STACK_FIRST = 24, /* the innermost that are kept */
    STACK_LAST = 8,   /* the outermost */
    STACK_NAME_BYTES = 256,
};

typedef struct stack_frame {
    unsigned number, repeats; /* of the first of them; how many they are */
    bool is_trampoline;       /* the kernel put it there, for a handler of a signal */
    opal_location_t location; /* valid as long as the opal_lines_t */
} stack_frame_t;

typedef struct stack {
    stack_frame_t first[STACK_FIRST], last[STACK_LAST];
    unsigned first_count, last_count;
    unsigned left_out; /* entries between them */
    /* The outermost function of MPI, "MPI_Send"; empty: none. And its caller. */
    char call[STACK_NAME_BYTES], caller[STACK_NAME_BYTES];
} stack_of_thread_t;

void stack_walk(opal_lines_t *lines, opal_frame_t frame, stack_of_thread_t *stack);

#endif
