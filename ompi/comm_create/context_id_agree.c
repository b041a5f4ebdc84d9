/* SPDX-License-Identifier: BSD-3-Clause */
/* See context_id_agree.h. What a member does next depends only on what all members know. */
#include "ompi/comm_create/context_id_agree.h"

static void exchanged(ompi_exchange_t *exchange);

static void vote(ompi_context_id_agreement_t *agreement)
{
    agreement->exchange.done = exchanged;
    ompi_exchange_begin(&agreement->exchange);
}

static void offer(ompi_context_id_agreement_t *agreement, uint32_t from)
{
    ompi_ballot_t *ballot = &agreement->exchange.ballot;
    if (agreement->is_bystander)
        ompi_context_offer_all(&agreement->own);
    else
        ompi_context_offer(from, &agreement->own);
    agreement->is_confirming = false;
    ballot->offer = agreement->own;
    vote(agreement);
}

void ompi_context_id_agree_give_back(ompi_context_id_agreement_t *agreement)
{
    for (unsigned i = 0; i < agreement->found && !agreement->is_bystander; i++)
        ompi_context_give_back(agreement->ids[i]);
    agreement->found = 0;
}

static void end(ompi_context_id_agreement_t *agreement, int error)
{
    if (error != MPI_SUCCESS)
        ompi_context_id_agree_give_back(agreement);
    agreement->error = error;
    agreement->done(agreement);
}

/* Takes all ids that were picked, or no id. */
static bool take_picked(const ompi_context_id_agreement_t *agreement)
{
    const uint32_t *ids = agreement->ids + agreement->found;
    unsigned taken = 0;
    if (agreement->is_bystander)
        return true;
    while (taken < agreement->picked && ompi_context_take(ids[taken]))
        taken++;
    if (taken == agreement->picked)
        return true;
    while (taken > 0)
        ompi_context_give_back(ids[--taken]);
    return false;
}

/* The ids that were picked belong to this agreement; maybe it needs more. */
static void keep_picked(ompi_context_id_agreement_t *agreement, uint32_t next)
{
    agreement->found += agreement->picked;
    if (agreement->found == agreement->wanted)
        end(agreement, MPI_SUCCESS);
    else
        offer(agreement, next);
}

/* A hash. Two agreements whose tags and contexts differ by little get salts that differ. */
static uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t mixed = (a * UINT32_C(2654435769)) ^ (b * UINT32_C(2246822519));
    mixed = (mixed ^ mixed >> 15) * UINT32_C(739982445);
    return mixed ^ mixed >> 12;
}

/*
 * Two agreements that run in the same processes can make each other fail if both pick the lowest id
 * in every attempt. From the second attempt on the salt decides which ids are picked.
 */
static unsigned skip_of(const ompi_context_id_agreement_t *agreement, unsigned available)
{
    const ompi_ballot_t *ballot = &agreement->exchange.ballot;
    unsigned missing = agreement->wanted - agreement->found;
    if (agreement->attempt == 0 || available <= missing)
        return 0;
    return mix(ballot->salt, agreement->attempt) % (available - missing + 1);
}

/* All have offered. */
static void pick(ompi_context_id_agreement_t *agreement)
{
    const ompi_context_offer_t *common = &agreement->exchange.ballot.offer;
    unsigned available = ompi_context_count(common);
    bool is_firm;
    ompi_context_withdraw(&agreement->own);
    if (ompi_context_offers_all(common)) { /* no member takes an id */
        end(agreement, MPI_SUCCESS);
        return;
    }
    agreement->picked = ompi_context_pick(common, skip_of(agreement, available),
                                          agreement->wanted - agreement->found,
                                          agreement->ids + agreement->found, &is_firm);
    if (agreement->picked == 0) {
        uint32_t next = ompi_context_next(common);
        if ((uint64_t)next * 64 >= ompi_contexts_limit())
            end(agreement, OMPI_CONTEXT_ID_NONE_LEFT);
        else
            offer(agreement, next);
        return;
    }
    agreement->could_take = take_picked(agreement);
    if (is_firm) {
        keep_picked(agreement, ompi_context_next(common));
        return;
    }
    agreement->is_confirming = true;
    agreement->exchange.ballot.refusals = !agreement->could_take;
    vote(agreement);
}

/* All have said whether they could take what was picked. */
static void confirm(ompi_context_id_agreement_t *agreement)
{
    const ompi_ballot_t *ballot = &agreement->exchange.ballot;
    if (ballot->refusals == 0) {
        keep_picked(agreement, ompi_context_next(&ballot->offer));
        return;
    }
    for (unsigned i = 0; agreement->could_take && !agreement->is_bystander && i < agreement->picked;
         i++)
        ompi_context_give_back(agreement->ids[agreement->found + i]);
    agreement->attempt++;
    agreement->exchange.ballot.refusals = 0;
    offer(agreement, 0);
}

static void exchanged(ompi_exchange_t *exchange)
{
    ompi_context_id_agreement_t *agreement =
        opal_container_of(exchange, ompi_context_id_agreement_t, exchange);
    const ompi_ballot_t *ballot = &exchange->ballot;
    int error = exchange->error;
    exchange->item_bytes = 0; /* everybody has them */
    if (error == MPI_SUCCESS && ballot->failure != 0)
        error = OMPI_CONTEXT_ID_OTHER_FAILED;
    if (error == MPI_SUCCESS && ballot->least != ballot->most)
        error = OMPI_CONTEXT_ID_NOT_ALIKE;
    if (error == MPI_SUCCESS) {
        if (agreement->is_confirming)
            confirm(agreement);
        else
            pick(agreement);
        return;
    }
    if (!agreement->is_confirming)
        ompi_context_withdraw(&agreement->own);
    else if (agreement->could_take)
        agreement->found += agreement->picked;
    end(agreement, error);
}

void ompi_context_id_agree_begin(ompi_context_id_agreement_t *agreement)
{
    ompi_exchange_t *exchange = &agreement->exchange;
    const ompi_communicator_t *comm = exchange->side.comm;
    /* Sides that meet twice at once may number their two parts the other way round; only the tag
     * between the sides tells such agreements apart. */
    exchange->ballot.salt =
        mix(mix(comm->context, (uint32_t)exchange->side.tag), (uint32_t)exchange->bridge.tag);
    exchange->ballot.generation = ompi_comm_generation + 1;
    exchange->ballot.refusals = 0;
    agreement->error = MPI_SUCCESS;
    agreement->found = agreement->attempt = 0;
    offer(agreement, 0);
}
