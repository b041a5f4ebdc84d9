/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process would know of memory that comes and goes: the hooks are installed here as they
 * would be in an MPI program with the same environment, and tested by real calls.
 */
#include <stdio.h>

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

/* libc never makes some of the calls itself. */
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
