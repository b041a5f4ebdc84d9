/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks the stack twice: counts the frames, then looks at those that are shown. See stack.h. */
#include "tools/crash/stack.h"

#include <stdio.h>

#include "opal/include/clock.h"
#include "tools/crash/memory.h"

enum {
    FRAMES_MAX = 1 << 20,
    WALK_SECONDS = 3, /* for a recursion of that depth */
    LOOKED_AT = 128,  /* at either end */
    BEFORE_MAIN = 8,  /* functions that have called main */
};

typedef struct run {
    uintptr_t address;
    unsigned number, repeats;
    bool is_trampoline;
} run_t;

static run_t runs[FRAMES_MAX];

/* Returns the number of runs. */
static unsigned collect(opal_lines_t *lines, opal_frame_t frame)
{
    uint64_t end_nsec = opal_clock_nsec() + WALK_SECONDS * UINT64_C(1000000000);
    unsigned count = 0, number = 0;
    do {
        uintptr_t address = opal_frame_address(&frame);
        if (count > 0 && runs[count - 1].address == address)
            runs[count - 1].repeats++;
        else
            runs[count++] = (run_t){address, number, 1, false};
        number++;
        if (!opal_frame_step(&frame, lines, memory_read, NULL))
            break;
        runs[count - 1].is_trampoline = frame.is_exact;
    } while (count < FRAMES_MAX && (number % 1024 != 0 || opal_clock_nsec() < end_nsec));
    return count;
}

static void look(opal_lines_t *lines, const run_t *run, stack_frame_t *frame)
{
    frame->number = run->number;
    frame->repeats = run->repeats;
    frame->is_trampoline = run->is_trampoline;
    opal_lines_find(lines, run->address, &frame->location);
}

/* Without those that are outside of main. */
static unsigned cut(opal_lines_t *lines, unsigned count)
{
    for (unsigned i = count; i-- > 0 && i + BEFORE_MAIN >= count;) {
        stack_frame_t frame;
        look(lines, &runs[i], &frame);
        if (frame.location.function != NULL && strcmp(frame.location.function, "main") == 0)
            return i + 1;
    }
    return count;
}

/* "MPI_Send" for a function of MPI, which has two names in its library; NULL: it is none. A tool or
 * a program may have functions of that name, too, which are not MPI's. */
static const char *name_of_call(const opal_location_t *location)
{
    const char *function = location->function, *object = location->object;
    if (function == NULL || object == NULL)
        return NULL;
    if (strncmp(function, "PMPI_", 5) == 0 || strncmp(function, "PMICA_", 6) == 0)
        return function + 1;
    bool is_mpi = strncmp(function, "MPI_", 4) == 0 || strncmp(function, "MICA_", 5) == 0;
    return is_mpi && strstr(object, "/libmpi") != NULL ? function : NULL;
}

/* Looks from the outermost one. In a deep recursion only at its two ends. */
static void find_call(opal_lines_t *lines, unsigned count, stack_of_thread_t *stack)
{
    for (unsigned i = count; i-- > 0;) {
        stack_frame_t frame;
        if (i >= LOOKED_AT && i + LOOKED_AT < count)
            continue;
        look(lines, &runs[i], &frame);
        const char *name = name_of_call(&frame.location);
        if (name == NULL)
            continue;
        snprintf(stack->call, sizeof stack->call, "%s", name);
        if (i + 1 < count) {
            look(lines, &runs[i + 1], &frame);
            opal_lines_describe(&frame.location, stack->caller, sizeof stack->caller);
        }
        return;
    }
}

void stack_walk(opal_lines_t *lines, opal_frame_t frame, stack_of_thread_t *stack)
{
    *stack = (stack_of_thread_t){0};
    unsigned count = cut(lines, collect(lines, frame));
    unsigned first = count <= STACK_FIRST + STACK_LAST ? count : STACK_FIRST;
    if (first > STACK_FIRST) { /* all of them fit */
        stack->last_count = first - STACK_FIRST;
        first = STACK_FIRST;
    } else if (count > first) {
        stack->last_count = STACK_LAST;
        stack->left_out = count - first - STACK_LAST;
    }
    stack->first_count = first;
    for (unsigned i = 0; i < first; i++)
        look(lines, &runs[i], &stack->first[i]);
    for (unsigned i = 0; i < stack->last_count; i++)
        look(lines, &runs[count - stack->last_count + i], &stack->last[i]);
    find_call(lines, count, stack);
}
