/* SPDX-License-Identifier: BSD-3-Clause */
/* The osc framework object, and which component serves which rank of a window. */
#include "ompi/mca/osc/base/base.h"

#include "opal/util/log.h"
#include "ompi/mca/osc/base/background.h"
#include "ompi/mca/osc/base/stripe.h"

static const opal_slot_t osc_slots[] = {
    OPAL_SLOT_REQUIRED(ompi_osc_ops_t, reaches),
    OPAL_SLOT_REQUIRED(ompi_osc_ops_t, put),
    OPAL_SLOT_REQUIRED(ompi_osc_ops_t, get),
    OPAL_SLOT_REQUIRED(ompi_osc_ops_t, accumulate),
    OPAL_SLOT_REQUIRED(ompi_osc_ops_t, compare),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, start),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, stop),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, add),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, remove),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, agree),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, describe),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, flush),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, lock),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, unlock),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, post),
    OPAL_SLOT_OPTIONAL(ompi_osc_ops_t, complete),
    {0},
};

bool ompi_osc_use_cma;
int ompi_osc_numa;

static const opal_param_row_t osc_params[] = {
    {.name = "progress_thread",
     .type = OPAL_PARAM_ENUM,
     .value = &ompi_osc_background_mode,
     .preset = "auto",
     .choices = opal_param_auto_yes_no,
     .prose = "Whether a thread carries out what others do to this process' windows by messages "
              "while its program computes; auto: yes, but not at MPI_THREAD_SINGLE in a job of one "
              "node; no: when the program calls MPI"},
    {.name = "use_cma",
     .type = OPAL_PARAM_BOOL,
     .value = &ompi_osc_use_cma,
     .preset = "yes",
     .is_internal = true,
     .prose = "Access memory of other processes of the node that is not shared by system calls, "
              "where the system permits it; no: by messages"},
    {.name = "numa",
     .type = OPAL_PARAM_ENUM,
     .value = &ompi_osc_numa,
     .preset = "auto",
     .choices = opal_param_auto_yes_no,
     .is_internal = true,
     .prose = "Take care that the memory of a window lies on the NUMA node of its rank, whichever "
              "rank is the first to use it; auto: on a machine with several such nodes"},
    {0},
};

opal_framework_t mca_osc_framework = {
    .name = "osc",
    .prose = "one-sided communication: the memory of windows",
    .params = osc_params,
    .slots = osc_slots,
    .takes_all = true,
};

static const ompi_osc_ops_t *chosen[OMPI_OSC_COMPONENTS];
static unsigned chosen_count;

static unsigned started_count; /* the first ones of those that were chosen */

opal_status_t ompi_osc_start(void)
{
    opal_status_t status = OPAL_SUCCESS;
    chosen_count = started_count = 0;
    for (size_t i = 0; i < mca_osc_framework.candidate_count; i++) {
        const opal_candidate_t *candidate = &mca_osc_framework.candidates[i];
        const ompi_osc_ops_t *ops = candidate->answer.ops;
        if (candidate->state == OPAL_CANDIDATE_CHOSEN && chosen_count < OMPI_OSC_COMPONENTS)
            chosen[chosen_count++] = ops;
    }
    for (; started_count < chosen_count && status == OPAL_SUCCESS; started_count++) {
        if (chosen[started_count]->start != NULL)
            status = chosen[started_count]->start();
    }
    return status;
}

void ompi_osc_stop(void)
{
    for (; started_count > 0; started_count--) {
        if (chosen[started_count - 1]->stop != NULL)
            chosen[started_count - 1]->stop();
    }
    chosen_count = 0;
    ompi_osc_stripes_stop();
}

bool ompi_osc_may_move(const ompi_osc_window_t *window, int rank)
{
    const ompi_osc_local_t *local = &window->locals[window->targets[rank].local];
    return ompi_osc_use_cma && opal_node_probe_reading(local->local_rank) == OPAL_SUCCESS;
}

/* -- windows ----------------------------------------------------------------------------------- */

static unsigned index_of(const ompi_osc_ops_t *ops)
{
    unsigned i = 0;
    while (chosen[i] != ops)
        i++;
    return i;
}

/* The first component from an index on that reaches a rank; NULL: none. */
static const ompi_osc_ops_t *find(const ompi_osc_window_t *window, int rank, unsigned first)
{
    for (unsigned i = first; i < chosen_count; i++) {
        if (chosen[i]->reaches(window, rank))
            return chosen[i];
    }
    return NULL;
}

const ompi_osc_ops_t *ompi_osc_next(const ompi_osc_window_t *window, int rank,
                                    const ompi_osc_ops_t *ops)
{
    return find(window, rank, index_of(ops) + 1);
}

static void choose(ompi_osc_window_t *window)
{
    for (int rank = 0; rank < window->size; rank++) {
        ompi_osc_target_t *target = &window->targets[rank];
        target->ops = find(window, rank, 0);
        for (unsigned i = 0; i < chosen_count && target->local < 0 && window->internode == NULL;
             i++) {
            if (chosen[i]->lock != NULL)
                window->internode = chosen[i];
        }
        if (target->ops == NULL || !target->ops->is_direct) {
            target->here = NULL;
            window->is_mixed = true;
        }
    }
}

static int check_reached(const ompi_osc_window_t *window)
{
    for (int rank = 0; rank < window->size; rank++) {
        const ompi_osc_target_t *target = &window->targets[rank];
        if (target->ops != NULL && (target->local >= 0 || window->internode != NULL))
            continue;
        opal_log_error("a window cannot reach its rank %d: none of the chosen components of osc "
                       "does; ompi_info --why osc tells which are there",
                       rank);
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    return MPI_SUCCESS;
}

/* Components may choose by what others are chosen for, and agree on being chosen. */
int ompi_osc_window_add(ompi_osc_window_t *window, int error)
{
    choose(window);
    for (unsigned i = 0; i < chosen_count && error == MPI_SUCCESS; i++) {
        if (chosen[i]->add != NULL)
            error = chosen[i]->add(window, &window->states[i]);
    }
    for (unsigned i = 0; i < chosen_count; i++) {
        if (chosen[i]->agree == NULL)
            continue;
        int status = chosen[i]->agree(window, error == MPI_SUCCESS ? window->states[i] : NULL);
        error = error == MPI_SUCCESS ? status : error;
    }
    choose(window);
    return error == MPI_SUCCESS ? check_reached(window) : error;
}

void ompi_osc_window_remove(ompi_osc_window_t *window)
{
    for (unsigned i = 0; i < chosen_count; i++) {
        if (window->states[i] != NULL && chosen[i]->remove != NULL)
            chosen[i]->remove(window, window->states[i]);
    }
}

void *ompi_osc_state(const ompi_osc_window_t *window, const ompi_osc_ops_t *ops)
{
    return window->states[index_of(ops)];
}

void ompi_osc_window_describe(const ompi_osc_window_t *window, opal_text_t *text)
{
    const char *separator = "";
    for (unsigned i = 0; i < chosen_count; i++) {
        int count = 0;
        for (int rank = 0; rank < window->size; rank++)
            count += window->targets[rank].ops == chosen[i];
        if (count > 0)
            opal_text_printf(text, "%s%s %d", separator, chosen[i]->name, count);
        separator = count > 0 ? ", " : separator;
    }
    for (unsigned i = 0; i < chosen_count; i++) {
        if (chosen[i]->describe != NULL && window->states[i] != NULL)
            chosen[i]->describe(window, text);
    }
}

int ompi_osc_flush_components(ompi_osc_window_t *window, int rank, bool local)
{
    int error = MPI_SUCCESS;
    for (unsigned i = 0; i < chosen_count; i++) {
        if (chosen[i]->flush == NULL || window->states[i] == NULL)
            continue;
        int status = chosen[i]->flush(window, rank, local);
        error = error == MPI_SUCCESS ? status : error;
    }
    return error;
}
