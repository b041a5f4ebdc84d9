/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pace of long data: which way is faster, estimated from measurements while data moves. The
 * ways are frames through the ring (two copies, on two cores, each line crossing from one to the
 * other), a get by CMA (one copy, after the kernel has found the peer's pages), and a direct get
 * (one copy, of memory that both have mapped). Which one is faster depends on the distance between
 * the two cores, which may change where cores are virtual, and on where the data is: data that the
 * sender has written just now has to come from the sender's core, and writing it took longer
 * because the receiver had read that memory before.
 *
 * Costs are per KiB. The sender measures how long it takes to fill a frame, and publishes that in
 * the ring. The receiver measures how long it takes to empty a frame, and to get. For each class of
 * sizes, a power of two, alone and in a burst, the receiver writes its advice into the ring, where
 * the sender reads it.
 *
 * Before any measurement a table advises, which was measured on a machine that it names (pace.c).
 * It also says in which classes the other way is close enough to be tried. A trial is made only
 * where both ways are close, by the table or by what was measured: never where the other way is
 * known to be bad, and never among the first messages. Gets get cheaper with size, so that a class
 * for which nothing is known is tried once the next larger one is better read than sent in frames.
 *
 * Threading: that of the transport.
 */
#ifndef BTL_SM_PACE_H
#define BTL_SM_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PACE_FIRST_CLASS = 12, /* log2 of the bytes */
    PACE_CLASSES = 10,
    PACE_BURST = 10,            /* the bits of an advice from here on are for bursts */
    PACE_TRIAL = 20,            /* and from here on, where the other way is tried now and then */
    PACE_LONG_FRAME = 2048,     /* shorter frames say nothing about long data */
    PACE_FRAMES_PER_SAMPLE = 7, /* of the long frames one in so many is timed: no power of 2, as
                                   the parts of messages often are */
};

/* The ways of a get. */
typedef enum pace_way { PACE_CMA, PACE_DIRECT, PACE_WAYS } pace_way_t;

/* Of one peer: what comes from it, and frames to it. 0: not known. */
typedef struct pace {
    float empty_nsec,
        peer_fill_nsec; /* of frames that come: the time of our end and of the sender's */
    float get_nsec[PACE_WAYS][PACE_CLASSES];
    unsigned gets[PACE_WAYS];      /* where they are the faster way, as advised */
    float fill_nsec;               /* of frames that we send: the time of our end */
    uint32_t published[PACE_WAYS]; /* the advice for the sender: pace_advice */
    uint64_t sent_at_nsec;         /* the last message */
} pace_t;

/* A bit for each class: get is faster (PACE_BURST, PACE_TRIAL). Published are the bits in which the
 * advice differs from the table's, so that a ring of zeros has the table's. */
uint32_t pace_advice(pace_way_t way, uint32_t published);

/* Measurements of the receiver. `fill_nsec` is what the sender published last. They return whether
 * the advice has changed. */
bool pace_add_emptied(pace_t *pace, size_t bytes, uint64_t nsec, uint32_t fill_nsec);
bool pace_add_get(pace_t *pace, pace_way_t way, size_t bytes, uint64_t nsec);

/* Whether the next get is to be measured; of gets by the faster way only some are. */
bool pace_wants_get(pace_t *pace, pace_way_t way, size_t bytes);

/* A measurement of the sender. Returns what to publish. */
uint32_t pace_add_filled(pace_t *pace, size_t bytes, uint64_t nsec);

/* Whether a message follows another one so soon that the peer cannot have replied to that. */
bool pace_is_burst(pace_t *pace, size_t bytes, uint64_t now_nsec);

/* What an advice says of that many bytes. `turns` counts such questions for one peer, way and
 * direction, by class: where it is worth a trial the result sometimes is the other way. */
bool pace_get_pays(uint32_t advice, size_t bytes, bool burst, unsigned turns[PACE_CLASSES]);

/* Whether get is advised for a single message, trials aside. */
bool pace_get_is_advised(uint32_t advice, size_t bytes);

#endif
