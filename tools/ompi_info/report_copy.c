/* SPDX-License-Identifier: BSD-3-Clause */
/* Which kernel would copy in a process here. The table holds what the measurement of this moment
 * gave, even if the kernel is not chosen by it but by the parameter. */
#include <stdio.h>
#include <string.h>

#include "opal/arch/copy.h"
#include "opal/arch/copy_kernel.h"
#include "opal/util/text.h"
#include "tools/ompi_info/report.h"

/* What is between the best and the worst one does not matter to anybody. */
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
