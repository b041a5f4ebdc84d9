/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allgather among the members of a communicator that is being made: their ballots, combined, and
 * an item of each member.
 *
 * An exchange consists of messages only, and advances when its requests complete, so it makes
 * progress in any wait of the process. In log2(size) steps each member knows twice as many members
 * as before. The last step overlaps; combining a ballot twice does no harm:
 *
 *   step k     index i sends what it has to i - 2^k, and gets from i + 2^k
 *
 * With two sides, the leaders then swap the results of their sides, which go down a binomial tree.
 *
 * The messages are in the collective context, with tags of their own (ompi/mca/pml/tags.h).
 *
 * Threading: under the message lock.
 */
#ifndef OMPI_COMM_CREATE_EXCHANGE_H
#define OMPI_COMM_CREATE_EXCHANGE_H

#include "ompi/communicator/communicator.h"
#include "ompi/communicator/context.h"

/* What each member contributes. After the exchange all members have the same combined ballot. */
typedef struct ompi_ballot {
    ompi_context_offer_t offer;
    uint64_t least, most; /* of a number that all members must give alike */
    uint32_t salt;        /* combined: the largest */
    uint32_t failure;     /* not 0: a member cannot go on */
    uint32_t refusals;    /* not 0: a member cannot take the ids that were picked */
    uint32_t generation;  /* combined: the largest; see ompi_communicator_t */
} ompi_ballot_t;

/* Members that reach each other through a communicator. */
typedef struct ompi_side {
    ompi_communicator_t *comm;
    int tag;
    ompi_group_t *members; /* NULL: all of comm */
    int index, size;       /* the own index, and how many members */
} ompi_side_t;

/* The route from the leader of this side to the leader of the other side. */
typedef struct ompi_bridge {
    ompi_communicator_t *comm; /* NULL: there is no other side */
    int rank, tag;
    int leader; /* index in the own side */
    int size;   /* of the other side */
} ompi_bridge_t;

typedef struct ompi_exchange {
    ompi_side_t side;
    ompi_bridge_t bridge;
    ompi_ballot_t ballot; /* the own ballot; in the end the combined one */

    /* Items: of this side by index, then of the other side. The caller fills in the own item. */
    size_t item_bytes;    /* 0: none */
    unsigned char *items; /* NULL: no memory for them, which the exchange reports */

    void (*done)(struct ompi_exchange *exchange); /* called once; may free the exchange */
    int error;                                    /* of a message; MPI_SUCCESS */

    /* Private. */
    int step;
    unsigned pending; /* requests that have not completed */
    bool is_posting;
    unsigned char *sent, *received; /* a ballot and items */
    ompi_ballot_t ballots[2];       /* sent and received, if there are no items */
} ompi_exchange_t;

/* Tags: of the user's tag, of the hash of a stringtag, of the next creation over comm, of the end
 * of comm. */
int ompi_exchange_user_tag(int tag);
int ompi_exchange_string_tag(uint64_t hash);
int ompi_exchange_next_tag(ompi_communicator_t *comm);
int ompi_exchange_leaving_tag(ompi_communicator_t *comm);

/* All processes of an intracommunicator. */
ompi_side_t ompi_side_of(ompi_communicator_t *comm, int tag);

/* The members of a group, to which this process belongs. All of them are in comm. */
ompi_side_t ompi_side_of_group(ompi_communicator_t *comm, ompi_group_t *members, int tag);

/* Begins. The caller has set `side`, `bridge`, `ballot`, `item_bytes`, `items` and `done`. Until
 * `done` is called, side and bridge do not change, and what they point to stays alive. */
void ompi_exchange_begin(ompi_exchange_t *exchange);

void ompi_ballot_combine(ompi_ballot_t *ballot, const ompi_ballot_t *other);

/*
 * Blocking: from one member to another one, *count becoming what has come; broadcast of one
 * member's bytes to all; shift from each member to the index that is `distance` higher; swap
 * between two leaders. They return an MPI error code, and release the lock while they wait.
 */
int ompi_side_send(const ompi_side_t *side, int to, const void *bytes, size_t count);
int ompi_side_receive(const ompi_side_t *side, int from, void *bytes, size_t *count);
int ompi_side_broadcast(const ompi_side_t *side, int from, void *bytes, size_t count);
int ompi_side_shift(const ompi_side_t *side, int distance, const void *sent, size_t sent_bytes,
                    void *received, size_t received_bytes);
int ompi_bridge_swap(const ompi_bridge_t *bridge, const void *sent, size_t sent_bytes,
                     void *received, size_t received_bytes);

#endif
