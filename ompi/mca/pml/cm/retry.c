/* SPDX-License-Identifier: BSD-3-Clause */
/* See retry.h. Asking may complete requests, whose followers may ask for more: so no question is
 * asked within another one. */
#include "ompi/mca/pml/cm/retry.h"

#include "opal/progress/descriptor.h"
#include "opal/progress/wait.h"

enum {
    FIRST_NSEC = 20000,
    LONGEST_NSEC = 10000000, /* an idle process uses next to nothing */
};

static opal_list_t questions = {{&questions.head, &questions.head}};
static unsigned count;
static bool is_asking;

static void wake_up(opal_timer_t *timer);
static opal_timer_t timer = {.expired = wake_up};
static uint64_t pause_nsec;

/* The polls around it ask. */
static void wake_up(opal_timer_t *expired)
{
    if (pause_nsec < LONGEST_NSEC)
        pause_nsec *= 2;
    opal_timer_set(expired, opal_clock_nsec() + pause_nsec);
}

static void expect_soon(void)
{
    pause_nsec = FIRST_NSEC;
    opal_timer_set(&timer, opal_clock_nsec() + pause_nsec);
}

static bool ask(cm_question_t *question)
{
    is_asking = true;
    bool answered = question->ask(question);
    is_asking = false;
    return answered;
}

/* Each one that was there when this began. */
static int poll(void *state OPAL_UNUSED)
{
    int answers = 0;
    if (is_asking)
        return 0;
    for (unsigned left = count; left > 0 && count > 0; left--) {
        opal_list_node_t *node = opal_list_first(&questions);
        opal_list_remove(node);
        opal_list_append(&questions, node);
        answers += ask(opal_container_of(node, cm_question_t, node));
    }
    if (answers > 0 && count > 0)
        expect_soon();
    return answers;
}

void cm_again_add(cm_question_t *question)
{
    opal_list_append(&questions, &question->node);
    if (count++ == 0)
        opal_progress_add(poll, &questions);
    expect_soon();
}

void cm_again_remove(cm_question_t *question)
{
    opal_list_remove(&question->node);
    if (--count > 0)
        return;
    opal_progress_remove(poll, &questions);
    opal_timer_cancel(&timer);
}

bool cm_again_ask_now(cm_question_t *question)
{
    return !is_asking && ask(question);
}

/* -- probes ---------------------------------------------------------------------------- */

typedef struct waiting_probe {
    cm_question_t question;
    cm_iprobe_fn_t *iprobe;
    const ompi_route_t *from;
    ompi_message_t **message;
    MPI_Status *status;
    int error;
    atomic_int done;
} waiting_probe_t;

static bool ask_probe(cm_question_t *question)
{
    waiting_probe_t *probe = opal_container_of(question, waiting_probe_t, question);
    bool found = false;
    probe->error = probe->iprobe(probe->from, &found, probe->message, probe->status);
    if (probe->error == MPI_SUCCESS && !found)
        return false;
    cm_again_remove(question);
    opal_wait_signal(&probe->done);
    return true;
}

int cm_again_probe(cm_iprobe_fn_t *iprobe, const ompi_route_t *from, ompi_message_t **message,
                   MPI_Status *status)
{
    bool found = false;
    int error = iprobe(from, &found, message, status);
    if (error != MPI_SUCCESS || found)
        return error;
    waiting_probe_t probe = {.question.ask = ask_probe,
                             .iprobe = iprobe,
                             .from = from,
                             .message = message,
                             .status = status};
    cm_again_add(&probe.question);
    ompi_wait_until(&probe.done);
    return probe.error;
}
