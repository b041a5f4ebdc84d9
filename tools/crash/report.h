/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of the report: what happened, in which MPI call, and the stack. */
#ifndef CRASH_REPORT_H
#define CRASH_REPORT_H

#include "opal/crash/notice.h"
#include "opal/util/text.h"
#include "tools/crash/stack.h"

/* "SIGSEGV (segmentation fault)" */
void report_signal(opal_text_t *text, int signal);

/* "  Rank 2 has called MPI_Abort from main (ring.c:31)" */
void report_call(opal_text_t *text, const opal_crash_notice_t *notice,
                 const stack_of_thread_t *stack);

/* The lines of the report; the last one has no end. */
void report_write(opal_text_t *text, const opal_crash_notice_t *notice,
                  const stack_of_thread_t *stack);

#endif
