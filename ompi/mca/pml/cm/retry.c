/* SPDX-License-Identifier: BSD-3-Clause */
/* See retry.h. An attempt may complete requests, and their callbacks may lead to another attempt:
 * attempts do not nest. */
#include "ompi/mca/pml/cm/retry.h"

#include "opal/progress/descriptor.h"
#include "opal/progress/wait.h"

enum {
    FIRST_NSEC = 20000,
    LONGEST_NSEC = 10000000, /* an idle process uses next to no CPU time */
};

static opal_list_t retries = {{&retries.head, &retries.head}};
static unsigned count;
static bool is_attempting;

static void wake_up(opal_timer_t *timer);
static opal_timer_t timer = {.expired = wake_up};
static uint64_t pause_nsec;

/* The poll that runs the timer makes the attempts. */
static void wake_up(opal_timer_t *expired)
{
    if (pause_nsec < LONGEST_NSEC)
        pause_nsec *= 2;
    opal_timer_set(expired, opal_clock_nsec() + pause_nsec);
}

static void reset_timer(void)
{
    pause_nsec = FIRST_NSEC;
    opal_timer_set(&timer, opal_clock_nsec() + pause_nsec);
}

static bool attempt(cm_retry_t *retry)
{
    is_attempting = true;
    bool succeeded = retry->attempt(retry);
    is_attempting = false;
    return succeeded;
}

/* Attempts each that was in the list when this was called; an attempt may change the list. */
static int poll(void *state OPAL_UNUSED)
{
    int successes = 0;
    if (is_attempting)
        return 0;
    for (unsigned left = count; left > 0 && count > 0; left--) {
        opal_list_node_t *node = opal_list_first(&retries);
        opal_list_remove(node);
        opal_list_append(&retries, node);
        successes += attempt(opal_container_of(node, cm_retry_t, node));
    }
    if (successes > 0 && count > 0)
        reset_timer();
    return successes;
}

void cm_retry_add(cm_retry_t *retry)
{
    opal_list_append(&retries, &retry->node);
    if (count++ == 0)
        opal_progress_add(poll, &retries);
    reset_timer();
}

void cm_retry_remove(cm_retry_t *retry)
{
    opal_list_remove(&retry->node);
    if (--count > 0)
        return;
    opal_progress_remove(poll, &retries);
    opal_timer_cancel(&timer);
}

bool cm_retry_now(cm_retry_t *retry)
{
    return !is_attempting && attempt(retry);
}

/* -- probes ---------------------------------------------------------------------------- */

typedef struct waiting_probe {
    cm_retry_t retry;
    cm_iprobe_fn_t *iprobe;
    const ompi_route_t *from;
    ompi_message_t **message;
    MPI_Status *status;
    int error;
    atomic_int done;
} waiting_probe_t;

static bool attempt_probe(cm_retry_t *retry)
{
    waiting_probe_t *probe = opal_container_of(retry, waiting_probe_t, retry);
    bool found = false;
    probe->error = probe->iprobe(probe->from, &found, probe->message, probe->status);
    if (probe->error == MPI_SUCCESS && !found)
        return false;
    cm_retry_remove(retry);
    opal_wait_signal(&probe->done);
    return true;
}

int cm_retry_probe(cm_iprobe_fn_t *iprobe, const ompi_route_t *from, ompi_message_t **message,
                   MPI_Status *status)
{
    bool found = false;
    int error = iprobe(from, &found, message, status);
    if (error != MPI_SUCCESS || found)
        return error;
    waiting_probe_t probe = {.retry.attempt = attempt_probe,
                             .iprobe = iprobe,
                             .from = from,
                             .message = message,
                             .status = status};
    cm_retry_add(&probe.retry);
    ompi_wait_until(&probe.done);
    return probe.error;
}
