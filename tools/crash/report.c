/* SPDX-License-Identifier: BSD-3-Clause */
/* See report.h. */
#include "tools/crash/report.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>

#include "opal/crash/board.h"
#include "tools/crash/memory.h"

enum {
    MESSAGE_BYTES = 512,
    /* Long names must not make the report longer than the board is. */
    FIRST_BYTES = OPAL_BOARD_TEXT_BYTES - 1300,
    LAST_BYTES = OPAL_BOARD_TEXT_BYTES - 300,
};

void report_signal(opal_text_t *text, int signal)
{
    const char *name = sigabbrev_np(signal), *meaning = sigdescr_np(signal);
    if (name == NULL || meaning == NULL)
        opal_text_printf(text, "signal %d", signal);
    else
        opal_text_printf(text, "SIG%s (%c%s)", name, tolower((unsigned char)meaning[0]),
                         meaning + 1);
}

/* What the kernel says of the address. NULL: nothing, or the signal is about no address. */
static const char *meaning_of(int signal, int code)
{
    static const struct {
        int signal, code;
        const char *meaning;
    } known[] = {
        {SIGSEGV, SEGV_MAPERR, "no memory is mapped there"},
        {SIGSEGV, SEGV_ACCERR, "the memory there does not allow the access"},
        {SIGBUS, BUS_ADRALN, "it is not aligned"},
        {SIGBUS, BUS_ADRERR, "there is no memory behind it, such as beyond the end of a file"},
        {SIGBUS, BUS_MCEERR_AR, "the memory there is defective"},
        {SIGFPE, FPE_INTDIV, "an integer was divided by zero"},
        {SIGFPE, FPE_INTOVF, "an integer overflowed"},
        {SIGFPE, FPE_FLTDIV, "a floating-point number was divided by zero"},
        {SIGFPE, FPE_FLTOVF, "a floating-point number overflowed"},
        {SIGFPE, FPE_FLTINV, "a floating-point operation was not valid"},
        {SIGILL, ILL_ILLOPN, "the instruction there is none of this processor"},
        {SIGILL, ILL_ILLOPC, "the instruction there is none of this processor"},
        {SIGILL, ILL_PRVOPC, "the instruction there is not allowed"},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(known); i++) {
        if (known[i].signal == signal && known[i].code == code)
            return known[i].meaning;
    }
    return NULL;
}

static bool is_within(uint64_t a, uint64_t b, uint64_t bytes)
{
    return a - b < bytes || b - a < bytes;
}

static void add_cause(opal_text_t *text, const opal_crash_notice_t *notice)
{
    enum { STACK_GUARD_BYTES = 1 << 20, STACK_POINTER = 7, NULL_PAGE_BYTES = 4096 };
    if (notice->code <= 0 && notice->sender == notice->pid) {
        opal_text_add(text, ", raised by the process itself");
        return;
    }
    if (notice->code <= 0) {
        opal_text_printf(text, ", sent by process %d", notice->sender);
        return;
    }
    const char *meaning = meaning_of(notice->signal, notice->code);
    if (notice->signal == SIGSEGV && notice->code == SI_KERNEL) {
        opal_text_add(text, " at an address that no memory can have");
        return;
    }
    opal_text_printf(text, " at address %#lx", (unsigned long)notice->address);
    if (notice->address < NULL_PAGE_BYTES && notice->signal == SIGSEGV)
        opal_text_add(text, ": a null pointer, or a member of what it points to");
    else if (meaning != NULL)
        opal_text_printf(text, ": %s", meaning);
#if defined(__x86_64__)
    if (notice->signal == SIGSEGV && notice->address >= NULL_PAGE_BYTES &&
        is_within(notice->address, notice->frame.registers[STACK_POINTER], STACK_GUARD_BYTES))
        opal_text_add(text, ". It is the end of the stack: a recursion without end, or variables "
                            "that are too large (ulimit -s)");
#else
    (void)is_within;
#endif
}

/* What glibc has said before it called abort(): a failed assertion, a destroyed heap. */
static void add_abort_message(opal_text_t *text, const opal_crash_notice_t *notice)
{
    uint64_t message;
    char words[MESSAGE_BYTES];
    if (notice->signal != SIGABRT || notice->abort_message == 0 ||
        !memory_read(NULL, (uintptr_t)notice->abort_message, &message, sizeof message) ||
        message == 0)
        return;
    memory_string((uintptr_t)message + sizeof(unsigned), words, sizeof words); /* behind its size */
    words[strcspn(words, "\n")] = 0;
    for (char *c = words; *c != 0; c++) {
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    }
    if (words[0] != 0)
        opal_text_printf(text, "\n  %s", words);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void add_frame(opal_text_t *text, const stack_frame_t *frame)
{
    char place[STACK_NAME_BYTES];
    const opal_location_t *location = &frame->location;
    if (frame->is_trampoline) {
        opal_text_printf(text, "\n  #%-2u a signal came here, and its handler was called",
                         frame->number);
        return;
    }
    opal_text_printf(text, "\n  #%-2u %s", frame->number,
                     opal_lines_describe(location, place, sizeof place));
    if (location->function != NULL && location->line > 0 && strstr(location->object, ".so") != NULL)
        opal_text_printf(text, " in %s", base_name(location->object));
    if (frame->repeats > 1)
        opal_text_printf(text, ", %u times", frame->repeats);
    /* Nobody looks for lines of libc. */
    if (location->is_compressed && strstr(location->object, "/libc.so") == NULL)
        opal_text_add(text, " (its debug lines are compressed, and not read)");
}

static void add_stack(opal_text_t *text, const stack_of_thread_t *stack)
{
    unsigned i = 0;
    for (; i < stack->first_count && text->length < FIRST_BYTES; i++)
        add_frame(text, &stack->first[i]);
    unsigned left_out = stack->first_count - i + stack->left_out;
    if (left_out > 0)
        opal_text_printf(text, "\n  ... %u more ...", left_out);
    for (i = 0; i < stack->last_count && text->length < LAST_BYTES; i++)
        add_frame(text, &stack->last[i]);
}

void report_call(opal_text_t *text, const opal_crash_notice_t *notice,
                 const stack_of_thread_t *stack)
{
    if (stack->caller[0] != 0)
        opal_text_printf(text, "  Rank %u has called %s from %s", notice->rank, stack->call,
                         stack->caller);
}

void report_write(opal_text_t *text, const opal_crash_notice_t *notice,
                  const stack_of_thread_t *stack)
{
    const char *name = sigabbrev_np(notice->signal);
    opal_text_printf(text, "  SIG%s", name != NULL ? name : "");
    add_cause(text, notice);
    add_abort_message(text, notice);
    opal_text_printf(text, "\n  Process %d on %s", notice->pid, notice->host);
    if (notice->thread != notice->pid)
        opal_text_printf(text, ", thread %d", notice->thread);
    if (stack->call[0] == 0)
        opal_text_add(text, ", in no MPI call");
    else if (stack->caller[0] == 0)
        opal_text_printf(text, ", in %s", stack->call);
    else
        opal_text_printf(text, ", in %s, called from %s", stack->call, stack->caller);
    add_stack(text, stack);
}
