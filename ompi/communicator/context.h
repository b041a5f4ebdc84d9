/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ids of communicators: which ids this process has taken, and which it offers when the members
 * of a new communicator look for an id that is free in all of them.
 *
 * An offer is a window of the set of free ids, in words of 64 bits. The lowest few of its ids are
 * promised: they count as taken here until the offer ends, so that another agreement of the same
 * process does not get them.
 *
 *   ids      | 0 .. 63 | 64 .. 127 | ...
 *   words      begin                       end        the window of the offer
 *                    ^ firm                           free ids below it are promised
 *
 * Offers of several processes are combined into what all of them offer. An id below the smallest
 * `firm` is promised by all processes: it is agreed. Any other id is free in all processes, but
 * each has to take it and confirm that. The lowest id that is free in all is always found, since no
 * window begins behind the first free id of its process.
 *
 * Threading: under the message lock.
 */
#ifndef OMPI_CONTEXT_H
#define OMPI_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "opal/mca/base/pvar.h"

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
extern const opal_pvar_row_t ompi_context_pvars[];

/* Takes an id; false: it is taken already, or not below the limit. */
bool ompi_context_take(uint32_t id);
void ompi_context_give_back(uint32_t id);

/* Makes an offer of ids from the word `from` on, and takes the ids that it promises. */
void ompi_context_offer(uint32_t from, ompi_context_offer_t *offer);

/* Frees the ids that the offer promised. */
void ompi_context_withdraw(const ompi_context_offer_t *offer);

/* The offer of a process that takes no id, and so accepts any. */
void ompi_context_offer_all(ompi_context_offer_t *offer);
bool ompi_context_offers_all(const ompi_context_offer_t *offer);

/* `offer` becomes the intersection of both. Commutative and idempotent. */
void ompi_context_combine(ompi_context_offer_t *offer, const ompi_context_offer_t *other);

/*
 * Writes up to `most` ids of an offer, the lowest first, after the first `skip`. Returns how many.
 * *is_firm: all of them are promised.
 */
unsigned ompi_context_pick(const ompi_context_offer_t *offer, unsigned skip, unsigned most,
                           uint32_t ids[], bool *is_firm);

/* How many ids the offer has. */
unsigned ompi_context_count(const ompi_context_offer_t *offer);

/* The first word behind the offer's window. */
uint32_t ompi_context_next(const ompi_context_offer_t *offer);

#endif
