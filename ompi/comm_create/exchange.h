/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the members of a communicator that is being made tell each other: everybody's ballot, and an
 * item of each.
 *
 * It is made of messages only, and runs by the completion of its requests, so it goes on in any
 * wait of the process. In log2(size) steps each member hears of twice as many as before (the last
 * step overlaps, which is why ballots are of such a kind that counting one twice does no harm):
 *
 *   step k     index i sends what it has to i - 2^k, and gets from i + 2^k
 *
 * With two sides, the leaders then swap what their sides have, and hand it down a binomial tree.
 *
 * These messages are in the collective context, with tags of their own (ompi/mca/pml/tags.h).
 *
 * Threading: under the message lock.
 */
#ifndef OMPI_COMM_CREATE_EXCHANGE_H
#define OMPI_COMM_CREATE_EXCHANGE_H

#include "ompi/communicator/communicator.h"
#include "ompi/communicator/context.h"

/* What all tell all. Combined, each member has the same. */
typedef struct ompi_ballot {
    ompi_context_offer_t offer;
    uint64_t least, most; /* of a number that everybody must give alike */
    uint32_t salt;        /* the largest one counts */
    uint32_t failure;     /* not 0: somebody cannot go on */
    uint32_t refusals;    /* not 0: somebody cannot take what was picked */
    uint32_t reserved;    /* 0 */
} ompi_ballot_t;

/* Members that reach each other through a communicator. */
typedef struct ompi_side {
    ompi_communicator_t *comm;
    int tag;
    ompi_group_t *members; /* NULL: all of comm */
    int index, size;       /* this process's among them */
} ompi_side_t;

/* The way to the leader of another side; used by the leader. */
typedef struct ompi_bridge {
    ompi_communicator_t *comm; /* NULL: there is no other side */
    int rank, tag;
    int leader; /* index in the own side */
    int size;   /* of the other side */
} ompi_bridge_t;

typedef struct ompi_exchange {
    ompi_side_t side;
    ompi_bridge_t bridge;
    ompi_ballot_t ballot; /* the own one; in the end that of all */

    /* Items: of the side by index, then of the other side. The caller sets the own one's place. */
    size_t item_bytes;    /* 0: none */
    unsigned char *items; /* NULL: no memory for them, which the others then hear of */

    void (*done)(struct ompi_exchange *exchange); /* called once; may free the exchange */
    int error;                                    /* of a message; MPI_SUCCESS */

    /* The rest is the exchange's own. */
    int step;
    unsigned pending; /* requests that are on their way */
    bool is_posting;
    unsigned char *sent, *received; /* a ballot and items */
    ompi_ballot_t ballots[2];       /* room for both, if there are no items */
} ompi_exchange_t;

/* Tags: by the user's, by a string's hash (on MPI_COMM_WORLD), of the next creation. */
int ompi_exchange_user_tag(int tag);
int ompi_exchange_string_tag(uint64_t hash);
int ompi_exchange_next_tag(ompi_communicator_t *comm);

/* All of an intracommunicator. */
ompi_side_t ompi_side_of(ompi_communicator_t *comm, int tag);

/* The members of a group, which has this process. They are all in comm. */
ompi_side_t ompi_side_of_group(ompi_communicator_t *comm, ompi_group_t *members, int tag);

/* Begins. `side`, `bridge`, `ballot`, `item_bytes`, `items` and `done` are set; side and bridge
 * stay as they are, and what they point to stays alive. */
void ompi_exchange_begin(ompi_exchange_t *exchange);

void ompi_ballot_combine(ompi_ballot_t *ballot, const ompi_ballot_t *other);

/*
 * In the blocking way: bytes of one member's for all; bytes from each to the index that is
 * `distance` further; two leaders that swap some. Return an MPI error code. The lock is given back
 * while they wait.
 */
int ompi_side_broadcast(const ompi_side_t *side, int from, void *bytes, size_t count);
int ompi_side_shift(const ompi_side_t *side, int distance, const void *sent, size_t sent_bytes,
                    void *received, size_t received_bytes);
int ompi_bridge_swap(const ompi_bridge_t *bridge, const void *sent, size_t sent_bytes,
                     void *received, size_t received_bytes);

#endif
