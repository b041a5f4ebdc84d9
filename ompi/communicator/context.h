/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ids of communicators: which ones this process has taken, and what it offers when the members
 * of a new communicator look for one that is free in all of them.
 *
 * An offer is a window of the set of free ids, in words of 64. Of the ids in it, the lowest few are
 * promised: they count as taken here until the offer ends, so that another agreement of the same
 * process, which may end sooner or later, does not get them.
 *
 *   ids      | 0 .. 63 | 64 .. 127 | ...
 *   words      begin                       end        what the offer speaks of
 *                    ^ firm                           free ids below it are promised
 *
 * Offers of several processes are combined into what all of them offer. An id below the smallest
 * `firm` is promised by all: it is agreed. Another one is free in all, but has to be taken, and
 * confirmed. The lowest id that is free in all is always found, since nobody's window begins behind
 * its first free id.
 *
 * Threading: under the message lock.
 */
#ifndef OMPI_CONTEXT_H
#define OMPI_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    OMPI_CONTEXT_WORDS = 4,    /* of an offer */
    OMPI_CONTEXT_PROMISED = 8, /* ids that an offer promises */
};

typedef struct ompi_context_offer {
    uint32_t begin, end; /* in words */
    uint32_t firm;       /* an id */
    uint32_t reserved;   /* 0: it goes over the wire */
    uint64_t free[OMPI_CONTEXT_WORDS];
} ompi_context_offer_t;

/* Ids are 0 to limit - 1. All are free. */
void ompi_contexts_init(uint32_t limit);
void ompi_contexts_fini(void);

uint32_t ompi_contexts_limit(void);
uint32_t ompi_contexts_taken(void);

/* Takes an id; false: it is taken, or none at all. */
bool ompi_context_take(uint32_t id);
void ompi_context_give_back(uint32_t id);

/* An offer of ids in the word `from` and behind it. Its promised ids are taken. */
void ompi_context_offer(uint32_t from, ompi_context_offer_t *offer);

/* Its promised ids are free again. */
void ompi_context_withdraw(const ompi_context_offer_t *offer);

/* The offer of who takes whatever the others agree on. */
void ompi_context_offer_all(ompi_context_offer_t *offer);
bool ompi_context_offers_all(const ompi_context_offer_t *offer);

/* `offer` becomes what both offer. The order, and doing it twice, do not matter. */
void ompi_context_combine(ompi_context_offer_t *offer, const ompi_context_offer_t *other);

/*
 * The ids of an offer, lowest first; up to `most` of them, after the first `skip`. Returns how many
 * there were. *is_firm: all of these are promised.
 */
unsigned ompi_context_pick(const ompi_context_offer_t *offer, unsigned skip, unsigned most,
                           uint32_t ids[], bool *is_firm);

/* How many ids are in it. */
unsigned ompi_context_count(const ompi_context_offer_t *offer);

/* The first word that the offer says nothing about. */
uint32_t ompi_context_next(const ompi_context_offer_t *offer);

#endif
