/* SPDX-License-Identifier: BSD-3-Clause */
/* The btl framework object, and the chosen transports taken together. */
#include "opal/mca/btl/base/base.h"

#include "opal/runtime/wait.h"
#include "opal/util/log.h"

static const opal_slot_t btl_slots[] = {
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, start),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, connect),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, reserve),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, commit),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, progress),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, stop),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, get),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, can_get),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, shows),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, see),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, get_pays),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, expect),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, forget),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, answer),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, send_now),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, send_long),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, pin),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, unpin),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, can_pin),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, describe),
    {0},
};

opal_framework_t mca_btl_framework = {
    .name = "btl",
    .prose = "byte transports between the processes of a job",
    .slots = btl_slots,
    .takes_all = true,
    .may_be_empty = true,
};

/* Of the transports in use: those up to this one have begun. */
static const opal_answer_t *last_started;

/* The candidates that were chosen, by priority: begin with NULL, end with NULL. */
static const opal_answer_t *next_chosen(const opal_answer_t *previous)
{
    bool behind = previous == NULL;
    for (size_t i = 0; i < mca_btl_framework.candidate_count; i++) {
        const opal_candidate_t *candidate = &mca_btl_framework.candidates[i];
        if (behind && candidate->state == OPAL_CANDIDATE_CHOSEN)
            return &candidate->answer;
        behind = behind || &candidate->answer == previous;
    }
    return NULL;
}

opal_status_t opal_btl_start(opal_btl_handler_fn_t *handler)
{
    last_started = NULL;
    for (const opal_answer_t *each = NULL; (each = next_chosen(each)) != NULL;) {
        const opal_btl_ops_t *ops = each->ops;
        opal_status_t status = ops->start(each->state, handler);
        if (status != OPAL_SUCCESS)
            return status;
        last_started = each;
        status = opal_progress_add(ops->progress, each->state);
        if (status != OPAL_SUCCESS)
            return status;
    }
    return OPAL_SUCCESS;
}

const opal_btl_ops_t *opal_btl_next(const opal_btl_ops_t *previous)
{
    const opal_answer_t *each = NULL;
    while (previous != NULL && (each = next_chosen(each)) != NULL && each->ops != previous)
        ;
    each = next_chosen(each);
    return each != NULL ? each->ops : NULL;
}

static opal_btl_death_fn_t *on_death;

void opal_btl_on_death(opal_btl_death_fn_t *died)
{
    on_death = died;
}

void opal_btl_report_death(unsigned rank)
{
    if (on_death != NULL)
        on_death(rank);
}

static opal_btl_departure_fn_t *on_departure;

void opal_btl_on_departure(opal_btl_departure_fn_t *left)
{
    on_departure = left;
}

void opal_btl_report_departure(unsigned rank)
{
    if (on_departure != NULL)
        on_departure(rank);
}

static const opal_btl_lander_t *the_lander;

void opal_btl_set_lander(const opal_btl_lander_t *lander)
{
    the_lander = lander;
}

const opal_btl_lander_t *opal_btl_lander(void)
{
    return the_lander;
}

opal_btl_peer_t *opal_btl_connect(unsigned rank)
{
    opal_btl_peer_t *peer = NULL;
    for (const opal_answer_t *each = NULL; (each = next_chosen(each)) != NULL;) {
        const opal_btl_ops_t *ops = each->ops;
        if (ops->connect(each->state, rank, &peer) == OPAL_SUCCESS)
            return peer;
    }
    opal_log_error("no transport reaches rank %u; ompi_info --why btl tells what there is", rank);
    return NULL;
}

void opal_btl_stop(void)
{
    for (const opal_answer_t *each = NULL;
         last_started != NULL && (each = next_chosen(each)) != NULL;) {
        const opal_btl_ops_t *ops = each->ops;
        opal_progress_remove(ops->progress, each->state);
        ops->stop(each->state);
        if (each == last_started)
            last_started = NULL;
    }
}
