/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ways of long data cost, as measured while it moves: frames through the ring (two copies,
 * shared by two cores, each line crossing from one to the other), a get by a system call (one copy,
 * after the peer's pages have been found), and a direct get (one copy, of memory that both have
 * mapped). Which one is faster depends on how near the two cores are to each other, and that is not
 * for ever where cores are virtual; and on where the data is: what the sender has written just now
 * has to come from its core, and cost it time when it was written, since the receiver had read what
 * was there before.
 *
 * Costs are per KiB. The sender measures what it takes to fill a frame and tells it in the ring,
 * the receiver what it takes to empty one, and to get; it gives its advice for each class of
 * sizes, a power of two, alone and in a burst, which the sender finds in the ring. Now and then the
 * other way is taken, so that its cost stays known.
 *
 * Threading: that of the transport.
 */
#ifndef BTL_SM_PACE_H
#define BTL_SM_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PACE_FIRST_CLASS = 11, /* log2 of the bytes */
    PACE_CLASSES = 12,
    PACE_BURST = 16,            /* the bits of an advice from here on are for bursts */
    PACE_LONG_FRAME = 2048,     /* shorter frames say nothing about long data */
    PACE_FRAMES_PER_SAMPLE = 7, /* of the long frames one in so many is timed: no power of 2, as
                                   the parts of messages often are */
};

/* Of a get. */
typedef enum pace_way { PACE_CMA, PACE_DIRECT, PACE_WAYS } pace_way_t;

/* Of what comes from one peer, and of frames to it. 0: not known. */
typedef struct pace {
    float empty_nsec, peer_fill_nsec; /* our end and the sender's, of frames that come */
    float get_nsec[PACE_WAYS][PACE_CLASSES];
    unsigned gets[PACE_WAYS];      /* that are taken for faster */
    float fill_nsec;               /* our end of frames that we send */
    uint32_t published[PACE_WAYS]; /* the advice for the sender: pace_advice */
    uint64_t sent_at_nsec;         /* the last message */
} pace_t;

/*
 * A bit for each class: get is faster. What is published is where that differs from the advice
 * before anything is measured: frames, but for what is only a copy, since most data is at rest, and
 * what is unpacked where it lies is never measured.
 */
static inline uint32_t pace_advice(pace_way_t way, uint32_t published)
{
    return way == PACE_DIRECT ? ~published : published;
}

/* The receiver's measurements. `fill_nsec` is what the sender published last. They return whether
 * the advice has changed. */
bool pace_add_emptied(pace_t *pace, size_t bytes, uint64_t nsec, uint32_t fill_nsec);
bool pace_add_get(pace_t *pace, pace_way_t way, size_t bytes, uint64_t nsec);

/* Whether the next get is to be measured: a part of those that are taken for the faster way. */
bool pace_wants_get(pace_t *pace, pace_way_t way, size_t bytes);

/* The sender's. Returns what to tell. */
uint32_t pace_add_filled(pace_t *pace, size_t bytes, uint64_t nsec);

/* Whether a message follows another one so soon that the peer cannot have answered that. */
bool pace_is_burst(pace_t *pace, size_t bytes, uint64_t now_nsec);

/* What an advice says of that many bytes. `turns` counts such questions for one peer, way and
 * direction, by class: some are answered the other way, to learn. */
bool pace_get_pays(uint32_t advice, size_t bytes, bool burst, unsigned turns[PACE_CLASSES]);

#endif
