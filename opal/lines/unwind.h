/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The callers on the stack of a process, from its registers, its memory and its object files
 * (.eh_frame), as a debugger finds them: nothing runs in the process.
 *
 * A function without such information is taken for one that keeps the frame pointer. A jump to an
 * address that holds no code is taken for a call to there.
 *
 * x86-64 and aarch64. Elsewhere a stack has one frame.
 *
 * Threading: as opal_lines_t.
 */
#ifndef OPAL_LINES_UNWIND_H
#define OPAL_LINES_UNWIND_H

#include "opal/lines/lines.h"

/* Registers by their numbers in DWARF; the last one is the program counter on all processors. */
enum {
    OPAL_FRAME_REGISTERS = 33,
    OPAL_FRAME_PC = OPAL_FRAME_REGISTERS - 1,
};

typedef struct opal_frame {
    uint64_t registers[OPAL_FRAME_REGISTERS];
    bool is_exact; /* the instruction at PC is meant, and not the call before it */
} opal_frame_t;

/* Reads the process' memory. False: not all of it can be read. */
typedef bool opal_read_memory_fn_t(void *context, uintptr_t address, void *to, size_t bytes);

/* The registers of a thread as a signal handler gets them (ucontext_t). */
OPAL_EXPORT void opal_frame_of_signal(opal_frame_t *frame, const void *ucontext);

/* An address in the instruction that the frame is at, for opal_lines_find. */
static inline uintptr_t opal_frame_address(const opal_frame_t *frame)
{
    return (uintptr_t)frame->registers[OPAL_FRAME_PC] - (frame->is_exact ? 0 : 1);
}

/* Makes the frame that of the caller. False: there is none, or it is not found. */
OPAL_EXPORT bool opal_frame_step(opal_frame_t *frame, opal_lines_t *lines,
                                 opal_read_memory_fn_t *read, void *context);

#endif
