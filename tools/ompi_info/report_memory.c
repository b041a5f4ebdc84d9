/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory: which events are intercepted, and which kernel copies. The hooks are installed here as in
 * an MPI program with the same environment, and tested by real calls. The speed of each kernel is
 * measured now, also if the parameter has chosen the kernel.
 */
#include <stdio.h>

#include "opal/arch/copy.h"
#include "opal/arch/copy_kernel.h"
#include "opal/mca/memory/base/base.h"
#include "opal/memory/events/events.h"
#include "opal/util/text.h"
#include "tools/ompi_info/report.h"

static const struct {
    unsigned bit;
    const char *name, *prose;
} support_bits[] = {
    {OPAL_MEMORY_FREE_SUPPORT, "free", "free() of an allocation is seen"},
    {OPAL_MEMORY_CHUNK_SUPPORT, "chunk", "the allocator's giving back to the system is seen"},
    {OPAL_MEMORY_MUNMAP_SUPPORT, "munmap", "munmap() by anybody is seen"},
};

static const char *finding_name(opal_memory_finding_t finding)
{
    switch (finding) {
    case OPAL_MEMORY_VERIFIED:
        return "verified";
    case OPAL_MEMORY_MISSING:
        return "missing";
    case OPAL_MEMORY_NOT_ASKED_FOR:
        break;
    }
    return "not asked for";
}

/* libc makes no calls of shmat and shmdt itself. */
static const char *inside_text(unsigned event, const opal_memory_report_t *report)
{
    if ((event & (OPAL_MEMORY_SHMAT | OPAL_MEMORY_SHMDT)) != 0)
        return "-";
    return report->inside_libc ? "yes" : "no";
}

static void event_parsable(unsigned event, const opal_memory_report_t *report)
{
    const char *name = opal_memory_event_name(event);
    report_fact(finding_name(report->finding), "memory:event:%s:finding", name);
    report_fact(opal_memory_method_name(report->method), "memory:event:%s:method", name);
    report_fact(inside_text(event, report), "memory:event:%s:inside_libc", name);
    report_fact(report->reason, "memory:event:%s:reason", name);
}

static void event_for_person(unsigned event, const opal_memory_report_t *report)
{
    printf("  %-12s %-9s %-10s %-12s %s\n", opal_memory_event_name(event),
           finding_name(report->finding), opal_memory_method_name(report->method),
           inside_text(event, report), report->reason);
}

void report_memory(bool parsable)
{
    opal_memory_events_install(OPAL_MEMORY_ALL_EVENTS);
    if (!parsable)
        printf("Memory events of a process started as this one:\n"
               "  event        tested    caught by  inside libc\n");
    for (unsigned i = 0; i < OPAL_MEMORY_EVENT_COUNT; i++) {
        opal_memory_report_t report;
        opal_memory_events_report(1U << i, &report);
        if (parsable)
            event_parsable(1U << i, &report);
        else
            event_for_person(1U << i, &report);
    }
    unsigned support = opal_memory_support();
    if (!parsable)
        printf("What the memory component vouches for:\n");
    for (size_t i = 0; i < OPAL_COUNT_OF(support_bits); i++) {
        const char *answer = (support & support_bits[i].bit) != 0 ? "yes" : "no";
        if (parsable)
            report_fact(answer, "memory:support:%s", support_bits[i].name);
        else
            printf("  %-12s %-9s %s\n", support_bits[i].name, answer, support_bits[i].prose);
    }
}

/* -- --copy --------------------------------------------------------------------------------- */

/* The best and the worst speed of all alignments. */
static void add_speed(opal_text_t *text, const double *speed)
{
    double least = speed[0], most = speed[0];
    for (size_t i = 1; i < OPAL_COPY_TRIALS; i++) {
        least = speed[i] < least ? speed[i] : least;
        most = speed[i] > most ? speed[i] : most;
    }
    opal_text_printf(text, "%.0f GB/s, at the worst alignment %.0f", most, least);
}

static void report_kernel(const opal_copy_kernel_t *kernel, bool chosen, const double *speed,
                          bool parsable)
{
    opal_text_t reason = {0};
    const char *state = chosen ? "chosen" : kernel->usable() ? "usable" : "refused";
    if (speed[0] > 0)
        add_speed(&reason, speed);
    else
        opal_text_add(&reason, "not for this CPU");
    if (parsable) {
        report_fact(state, "copy:%s:state", kernel->name);
        report_fact(opal_text_string(&reason), "copy:%s:reason", kernel->name);
    } else {
        printf("  %-9s %-8s %-18s %s\n", state, kernel->name, kernel->prose,
               opal_text_string(&reason));
    }
    opal_text_free(&reason);
}

void report_copy(bool parsable)
{
    const opal_copy_choice_t *choice = opal_copy_choice();
    const opal_copy_kernel_t *chosen = choice->kernel;
    bool named = !choice->measured;
    opal_copy_choose(NULL);
    choice = opal_copy_choice();
    if (!parsable)
        printf("copies of more than %d bytes: %s, since %s\n", OPAL_COPY_INLINE_MAX, chosen->name,
               named ? "copy_kernel says so" : "none of the others is faster by a twentieth");
    for (size_t i = 0; i < opal_copy_kernel_count; i++)
        report_kernel(&opal_copy_kernels[i], &opal_copy_kernels[i] == chosen, choice->speed[i],
                      parsable);
}
