/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreeing on the ids of new communicators.
 *
 *   offer, exchange --+--> promised by all: done
 *      ^              +--> free in all: take, exchange --+--> all could: done
 *      |              |                                  +--> offer again, and pick another one
 *      +--------------+--- none in this window: the next one; none in the last one: no id is left
 *
 * One exchange is the usual case. No agreement waits for another agreement of the same process, so
 * members may begin several agreements in different orders without a deadlock.
 *
 * Threading: under the message lock.
 */
#ifndef OMPI_CONTEXT_ID_AGREE_H
#define OMPI_CONTEXT_ID_AGREE_H

#include "ompi/comm_create/exchange.h"

enum { OMPI_CONTEXT_IDS_MOST = 2 };

/* Results that are not error codes of MPI; all members get the same result. */
enum {
    OMPI_CONTEXT_ID_NONE_LEFT = -1,
    OMPI_CONTEXT_ID_OTHER_FAILED = -2, /* the ballot of a member said failure */
    OMPI_CONTEXT_ID_NOT_ALIKE = -3,    /* least and most differ */
};

typedef struct ompi_context_id_agreement {
    /* The caller sets side, bridge, item_bytes and items (exchanged once), and of the ballot least
     * and most (equal) and failure. */
    ompi_exchange_t exchange;
    unsigned wanted;   /* ids; the same in all members */
    bool is_bystander; /* this process takes none */
    void (*done)(
        struct ompi_context_id_agreement *agreement); /* called once; may free the agreement */

    /* The result. The ids are taken, unless there is an error or this process is a bystander. */
    int error;
    uint32_t ids[OMPI_CONTEXT_IDS_MOST];

    /* Private. */
    unsigned found, picked; /* ids agreed on; ids that are being confirmed */
    unsigned attempt;
    bool is_confirming, could_take;
    ompi_context_offer_t own;
} ompi_context_id_agreement_t;

void ompi_context_id_agree_begin(ompi_context_id_agreement_t *agreement);

/* Frees the ids: the caller has met an error after the agreement. */
void ompi_context_id_agree_give_back(ompi_context_id_agreement_t *agreement);

#endif
