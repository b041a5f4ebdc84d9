/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the two ways of long data cost, as measured while it moves: frames through the ring (two
 * copies, shared by two cores, each line crossing from one to the other), and get (one copy, in a
 * system call that has to find the peer's pages). Which one is faster depends on how near the two
 * cores are to each other, and that is not for ever where cores are virtual.
 *
 * Costs are per KiB. The sender measures what it takes to fill a frame and tells it in the ring,
 * the receiver what it takes to empty one, and to get; it gives its advice for each class of
 * sizes, a power of two, which the sender finds in the ring. Now and then the other way is taken,
 * so that its cost stays known.
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
    PACE_LONG_FRAME = 2048, /* shorter ones say nothing about long data */
};

/* Of what comes from one peer, and of frames to it. 0: not known. */
typedef struct pace {
    float empty_nsec, told_nsec; /* our end and the sender's, of frames that come */
    float get_nsec[PACE_CLASSES];
    float fill_nsec; /* our end of frames that we send */
    uint32_t advice; /* a bit for each class: get is faster */
} pace_t;

/* The receiver's measurements. `fill_nsec` is what the sender told last. They return whether the
 * advice has changed. */
bool pace_note_emptied(pace_t *pace, size_t bytes, uint64_t nsec, uint32_t fill_nsec);
bool pace_note_get(pace_t *pace, size_t bytes, uint64_t nsec);

/* The sender's. Returns what to tell. */
uint32_t pace_note_filled(pace_t *pace, size_t bytes, uint64_t nsec);

/* What an advice says of that many bytes. `turns` counts such questions for one peer and direction,
 * by class: some are answered the other way, to learn. */
bool pace_get_pays(uint32_t advice, size_t bytes, unsigned turns[PACE_CLASSES]);

uint64_t pace_now_nsec(void);

#endif
