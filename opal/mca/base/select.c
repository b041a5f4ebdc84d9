/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection: every open component is asked once; the best, or all usable ones, are taken. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/base/framework.h"

/* Removes an earlier answer, but not its notes. */
static void forget(opal_answer_t *answer)
{
    opal_strings_t notes = answer->notes;
    *answer = (opal_answer_t){.notes = notes};
}

void opal_answer_yes(opal_answer_t *answer, int priority, const void *ops, void *state,
                     const char *reason, ...)
{
    va_list arguments;
    forget(answer);
    answer->usable = true;
    answer->priority = priority;
    answer->ops = ops;
    answer->state = state;
    va_start(arguments, reason);
    vsnprintf(answer->reason, sizeof answer->reason, reason, arguments);
    va_end(arguments);
}

void opal_answer_no(opal_answer_t *answer, const char *reason, ...)
{
    va_list arguments;
    forget(answer);
    va_start(arguments, reason);
    vsnprintf(answer->reason, sizeof answer->reason, reason, arguments);
    va_end(arguments);
}

void opal_answer_note(opal_answer_t *answer, const char *format, ...)
{
    va_list arguments;
    opal_text_t line = {0};
    va_start(arguments, format);
    opal_text_vprintf(&line, format, arguments);
    va_end(arguments);
    opal_strings_add(&answer->notes, opal_text_string(&line));
    opal_text_free(&line);
}

void opal_candidate_break(const opal_framework_t *framework, opal_candidate_t *candidate)
{
    candidate->state = OPAL_CANDIDATE_BROKEN;
    opal_diagnostic(OPAL_WARNING, "the component %s of %s%s%s%s is skipped: it %s", candidate->name,
                    framework->name, candidate->path != NULL ? " (" : "",
                    candidate->path != NULL ? candidate->path : "",
                    candidate->path != NULL ? ")" : "", candidate->answer.reason);
}

/* The name of a required operation that the table lacks, or NULL. */
static const char *missing_slot(const opal_framework_t *framework, const void *ops)
{
    for (const opal_slot_t *slot = framework->slots; slot != NULL && slot->name != NULL; slot++) {
        void (*function)(void);
        memcpy(&function, (const char *)ops + slot->offset, sizeof function);
        if (slot->required && function == NULL)
            return slot->name;
    }
    return NULL;
}

void opal_candidate_ask(const opal_framework_t *framework, opal_candidate_t *candidate)
{
    opal_answer_t *answer = &candidate->answer;
    opal_strings_free(&answer->notes);
    *answer = (opal_answer_t){0};
    candidate->component->query(answer);

    if (!answer->usable) {
        candidate->state = OPAL_CANDIDATE_REFUSED;
        if (answer->reason[0] == 0)
            opal_answer_no(answer, "it gave no reason");
        return;
    }
    const char *missing = answer->ops != NULL ? missing_slot(framework, answer->ops) : NULL;
    if (answer->ops == NULL)
        opal_answer_no(answer, "answered without operations");
    else if (missing != NULL)
        opal_answer_no(answer, "lacks the required operation %s", missing);
    else if (answer->priority < 0 || answer->priority > OPAL_PRIORITY_MAX)
        opal_answer_no(answer, "answered with the priority %d, which is not in 0 to %d",
                       answer->priority, OPAL_PRIORITY_MAX);
    else
        candidate->state = OPAL_CANDIDATE_USABLE;
    if (candidate->state != OPAL_CANDIDATE_USABLE)
        opal_candidate_break(framework, candidate);
}

/* Usable before the others, then by priority, then by name so that every rank agrees. */
static int by_rank(const void *a, const void *b)
{
    const opal_candidate_t *left = a, *right = b;
    if (left->answer.usable != right->answer.usable)
        return left->answer.usable ? -1 : 1;
    if (left->answer.priority != right->answer.priority)
        return left->answer.priority > right->answer.priority ? -1 : 1;
    return strcmp(left->name, right->name);
}

static void close_unchosen(opal_candidate_t *candidate)
{
    if (!candidate->opened || candidate->state == OPAL_CANDIDATE_CHOSEN)
        return;
    if (candidate->component->close != NULL)
        candidate->component->close();
    candidate->opened = false;
}

static void complain_nobody(const opal_framework_t *framework)
{
    opal_text_t reasons = {0};
    for (size_t i = 0; i < framework->candidate_count; i++)
        opal_text_printf(&reasons, "\n    %s: %s", framework->candidates[i].name,
                         framework->candidates[i].answer.reason);
    opal_diagnostic(OPAL_ERROR, "no component of %s (%s) can be used here%s%s", framework->name,
                    framework->prose, reasons.length > 0 ? ":" : ": there is none",
                    opal_text_string(&reasons));
    opal_text_free(&reasons);
}

/* Marks the best usable one, or all of them, and closes the others. Returns how many. */
static size_t choose(opal_framework_t *framework)
{
    size_t chosen = 0;
    for (size_t i = 0; i < framework->candidate_count; i++) {
        opal_candidate_t *candidate = &framework->candidates[i];
        if (candidate->state == OPAL_CANDIDATE_USABLE && (chosen == 0 || framework->takes_all)) {
            candidate->state = OPAL_CANDIDATE_CHOSEN;
            chosen++;
        }
        close_unchosen(candidate);
    }
    return chosen;
}

opal_status_t opal_framework_select(opal_framework_t *framework)
{
    if (framework->selected)
        return framework->select_status;
    for (size_t i = 0; i < framework->candidate_count; i++) {
        if (framework->candidates[i].state == OPAL_CANDIDATE_OPEN)
            opal_candidate_ask(framework, &framework->candidates[i]);
    }
    if (framework->candidate_count > 1)
        qsort(framework->candidates, framework->candidate_count, sizeof *framework->candidates,
              by_rank);

    bool enough = choose(framework) > 0 || framework->may_be_empty;
    if (!enough)
        complain_nobody(framework);
    framework->selected = true;
    framework->select_status = enough ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
    return framework->select_status;
}

const opal_candidate_t *opal_framework_best(const opal_framework_t *framework)
{
    bool chosen =
        framework->candidate_count > 0 && framework->candidates[0].state == OPAL_CANDIDATE_CHOSEN;
    return chosen ? &framework->candidates[0] : NULL;
}

const char *opal_candidate_state_name(opal_candidate_state_t state)
{
    static const char *const names[] = {
        [OPAL_CANDIDATE_EXCLUDED] = "excluded", [OPAL_CANDIDATE_BROKEN] = "broken",
        [OPAL_CANDIDATE_CLOSED] = "closed",     [OPAL_CANDIDATE_OPEN] = "open",
        [OPAL_CANDIDATE_REFUSED] = "refused",   [OPAL_CANDIDATE_USABLE] = "usable",
        [OPAL_CANDIDATE_CHOSEN] = "chosen",
    };
    return (unsigned)state < OPAL_COUNT_OF(names) ? names[state] : "unknown";
}
