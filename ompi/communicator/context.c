/* SPDX-License-Identifier: BSD-3-Clause */
/* A bit for each id, set while the id is taken. Bits behind the limit are always set. */
#include "ompi/communicator/context.h"

#include <assert.h>
#include <stdlib.h>

#include "opal/util/text.h"

enum { BITS = 64 };

static uint64_t *taken;
static uint32_t limit, words;
static opal_counter_t count; /* of ids that are taken */
static uint32_t first;       /* no word before it has a free id */

static uint64_t bit_of(uint32_t id)
{
    return UINT64_C(1) << (id % BITS);
}

void ompi_contexts_init(uint32_t new_limit)
{
    limit = new_limit;
    words = (limit + BITS - 1) / BITS;
    opal_counter_set(&count, 0);
    first = 0;
    taken = opal_xcalloc(words, sizeof *taken);
    if (limit % BITS != 0)
        taken[words - 1] = ~(bit_of(limit) - 1);
}

void ompi_contexts_fini(void)
{
    free(taken);
    taken = NULL;
    limit = words = 0;
}

uint32_t ompi_contexts_limit(void)
{
    return limit;
}

uint32_t ompi_contexts_taken(void)
{
    return (uint32_t)opal_counted(&count);
}

const opal_pvar_row_t ompi_context_pvars[] = {
    {.name = "ids_taken",
     .class = OPAL_PVAR_LEVEL,
     .value = &count,
     .prose = "How many ids of communicators are taken in this process"},
    {0},
};

static void mark_taken(uint32_t id)
{
    taken[id / BITS] |= bit_of(id);
    opal_count(&count, 1);
    while (first < words && taken[first] == UINT64_MAX)
        first++;
}

bool ompi_context_take(uint32_t id)
{
    if (id >= limit || (taken[id / BITS] & bit_of(id)) != 0)
        return false;
    mark_taken(id);
    return true;
}

void ompi_context_give_back(uint32_t id)
{
    assert(id < limit && (taken[id / BITS] & bit_of(id)) != 0);
    taken[id / BITS] &= ~bit_of(id);
    opal_count(&count, (uint64_t)-1);
    if (id / BITS < first)
        first = id / BITS;
}

/* How many ids an offer promises: when few are left, something stays for the others. */
static unsigned promises(void)
{
    uint32_t half = (limit - ompi_contexts_taken() + 1) / 2;
    return half < OMPI_CONTEXT_PROMISED ? half : OMPI_CONTEXT_PROMISED;
}

void ompi_context_offer(uint32_t from, ompi_context_offer_t *offer)
{
    *offer = (ompi_context_offer_t){.begin = from > first ? from : first};
    if (offer->begin > words)
        offer->begin = words;
    uint32_t left = words - offer->begin;
    offer->end = offer->begin + (left < OMPI_CONTEXT_WORDS ? left : OMPI_CONTEXT_WORDS);
    for (uint32_t word = offer->begin; word < offer->end; word++)
        offer->free[word - offer->begin] = ~taken[word];

    bool is_firm;
    uint32_t promised[OMPI_CONTEXT_PROMISED];
    unsigned found = ompi_context_pick(offer, 0, promises(), promised, &is_firm);
    offer->firm = found > 0 ? promised[found - 1] + 1 : 0;
    for (unsigned i = 0; i < found; i++)
        mark_taken(promised[i]);
}

void ompi_context_withdraw(const ompi_context_offer_t *offer)
{
    bool is_firm;
    uint32_t promised[OMPI_CONTEXT_PROMISED];
    if (ompi_context_offers_all(offer))
        return;
    unsigned found = ompi_context_pick(offer, 0, OMPI_CONTEXT_PROMISED, promised, &is_firm);
    for (unsigned i = 0; i < found && promised[i] < offer->firm; i++)
        ompi_context_give_back(promised[i]);
}

void ompi_context_offer_all(ompi_context_offer_t *offer)
{
    *offer = (ompi_context_offer_t){.end = UINT32_MAX, .firm = UINT32_MAX};
}

bool ompi_context_offers_all(const ompi_context_offer_t *offer)
{
    return offer->end == UINT32_MAX;
}

/* The free ids of a word in an offer; 0: none, or the word is outside of the window. */
static uint64_t free_in(const ompi_context_offer_t *offer, uint32_t word)
{
    bool is_inside = word >= offer->begin && word < offer->end;
    return is_inside ? offer->free[word - offer->begin] : 0;
}

void ompi_context_combine(ompi_context_offer_t *offer, const ompi_context_offer_t *other)
{
    if (ompi_context_offers_all(other))
        return;
    if (ompi_context_offers_all(offer)) {
        *offer = *other;
        return;
    }
    ompi_context_offer_t both = {
        .begin = offer->begin > other->begin ? offer->begin : other->begin,
        .end = offer->end < other->end ? offer->end : other->end,
        .firm = offer->firm < other->firm ? offer->firm : other->firm,
    };
    for (uint32_t i = 0; i < OMPI_CONTEXT_WORDS; i++)
        both.free[i] = free_in(offer, both.begin + i) & free_in(other, both.begin + i);
    *offer = both;
}

unsigned ompi_context_pick(const ompi_context_offer_t *offer, unsigned skip, unsigned most,
                           uint32_t ids[], bool *is_firm)
{
    unsigned found = 0;
    *is_firm = true;
    for (uint32_t i = 0; i < OMPI_CONTEXT_WORDS; i++) {
        for (uint64_t left = offer->free[i]; left != 0 && found < most; left &= left - 1) {
            if (skip > 0) {
                skip--;
                continue;
            }
            uint32_t id = (offer->begin + i) * BITS + (uint32_t)__builtin_ctzll(left);
            *is_firm &= id < offer->firm;
            ids[found++] = id;
        }
    }
    return found;
}

unsigned ompi_context_count(const ompi_context_offer_t *offer)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < OMPI_CONTEXT_WORDS; i++)
        found += (unsigned)__builtin_popcountll(offer->free[i]);
    return found;
}

uint32_t ompi_context_next(const ompi_context_offer_t *offer)
{
    return offer->begin > offer->end ? offer->begin : offer->end;
}
