/* SPDX-License-Identifier: BSD-3-Clause */
/* When the thread of opal/progress/background.h runs. */
#include "ompi/mca/osc/base/background.h"

#include <pthread.h>

#include "opal/process/job.h"
#include "opal/progress/background.h"
#include "ompi/mca/osc/base/base.h"

int ompi_osc_background_mode;

static atomic_int level;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* outside of ompi_lock; for: */
static unsigned windows;                                 /* that need the thread */
static unsigned hearing;                                 /* those that want the doorbell */

void ompi_osc_background_set_level(int program_level)
{
    atomic_store(&level, program_level);
}

static bool has_nodes(void)
{
    const opal_pmi_job_t *job = opal_job();
    for (unsigned rank = 1; rank < job->size; rank++) {
        if (job->node_of[rank] != job->node_of[0])
            return true;
    }
    return false;
}

static bool is_wanted(void)
{
    if (ompi_osc_background_mode == OPAL_PARAM_AUTO)
        return has_nodes() || atomic_load(&level) > MPI_THREAD_SINGLE;
    return ompi_osc_background_mode == OPAL_PARAM_YES;
}

/* Whether ranks of this node send messages to this one: they do what it does to them, and they do
 * it if its memory is private and they may not move it by system calls, as it may not move theirs.
 */
static bool has_messages_of_node(const ompi_osc_window_t *window)
{
    const bool is_private = window->is_dynamic || !window->targets[window->rank].is_shared;
    bool has = false;
    for (int local = 0; local < window->local_count && !has; local++) {
        int rank = window->locals[local].rank;
        if (local != window->self)
            has = !window->targets[rank].ops->is_direct ||
                  (is_private && !ompi_osc_may_move(window, rank));
    }
    return has;
}

static void start(void)
{
    ompi_lock_begin_background();
    if (opal_background_start(&ompi_lock_of_background) != OPAL_SUCCESS)
        ompi_lock_end_background();
}

static void stop(void)
{
    opal_background_stop();
    ompi_lock_end_background();
}

void ompi_osc_background_enter(ompi_osc_window_t *window)
{
    window->background = OMPI_OSC_ALONE;
    if (has_messages_of_node(window))
        window->background = OMPI_OSC_HEARS;
    else if (window->internode != NULL)
        window->background = OMPI_OSC_WATCHES;
    if (!is_wanted())
        window->background = OMPI_OSC_ALONE;
    if (window->background == OMPI_OSC_ALONE)
        return;
    pthread_mutex_lock(&lock);
    if (window->background == OMPI_OSC_HEARS) {
        hearing++;
        opal_background_hear(1);
    }
    if (windows++ == 0)
        start();
    pthread_mutex_unlock(&lock);
}

void ompi_osc_background_leave(ompi_osc_window_t *window)
{
    if (window->background == OMPI_OSC_ALONE)
        return;
    pthread_mutex_lock(&lock);
    if (--windows == 0)
        stop();
    if (window->background == OMPI_OSC_HEARS) {
        hearing--;
        opal_background_hear(-1);
    }
    pthread_mutex_unlock(&lock);
    window->background = OMPI_OSC_ALONE;
}

void ompi_osc_background_stop(void)
{
    pthread_mutex_lock(&lock);
    if (windows > 0)
        stop();
    opal_background_hear(-(int)hearing);
    windows = hearing = 0;
    pthread_mutex_unlock(&lock);
}
