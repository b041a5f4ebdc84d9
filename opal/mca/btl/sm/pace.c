/* SPDX-License-Identifier: BSD-3-Clause */
/* Averages that follow good news at once and bad news slowly: what disturbs a measurement makes
 * it longer. */
#include "opal/mca/btl/sm/pace.h"

#include <time.h>

enum {
    LEARNING_TURNS = 8,    /* at first both ways are taken in turns */
    TURNS_PER_TRIAL = 256, /* later the other way is taken once in so many */
    OUTLIER = 4,           /* a measurement counts at most as so many times the average */
    GETS_PER_SAMPLE = 7,
    PART_KIB = 8, /* frames: while the first part is copied in, nobody copies out */
};

uint64_t pace_now_nsec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static const float GET_BONUS = 1.25F;
static const float BURST_FACTOR = 2.0F;

static unsigned class_of(size_t bytes)
{
    unsigned log = 63 - (unsigned)__builtin_clzll(bytes | (UINT64_C(1) << PACE_FIRST_CLASS));
    unsigned class = log - PACE_FIRST_CLASS;
    return class < PACE_CLASSES ? class : PACE_CLASSES - 1;
}

static void average(float *nsec, size_t bytes, uint64_t measured)
{
    float sample = (float)measured * 1024 / (float)bytes;
    if (*nsec == 0)
        *nsec = sample;
    else if (sample < *nsec)
        *nsec += (sample - *nsec) / 2;
    else
        *nsec += ((sample < OUTLIER * *nsec ? sample : OUTLIER * *nsec) - *nsec) / 16;
}

/*
 * Both ends copy at the same time, so the slower one counts. In a burst it is the rate that counts.
 * Of one message the time counts from its begin to its end; and where the two ways are about equal,
 * get leaves the sender's core alone.
 */
static bool advise(pace_t *pace)
{
    float frame_nsec = pace->empty_nsec > pace->told_nsec ? pace->empty_nsec : pace->told_nsec;
    uint32_t advice = 0;
    for (unsigned class = 0; class < PACE_CLASSES; class ++) {
        float kib = (float)(3u << (class + PACE_FIRST_CLASS - 1)) / 1024;
        float get_nsec = pace->get_nsec[class];
        if (get_nsec == 0 || frame_nsec == 0)
            continue;
        if (get_nsec * kib < frame_nsec * (kib + PART_KIB) * GET_BONUS)
            advice |= 1u << class;
        if (get_nsec < frame_nsec * GET_BONUS)
            advice |= 1u << (PACE_BURST + class);
    }
    bool changed = advice != pace->advice;
    pace->advice = advice;
    return changed;
}

bool pace_note_emptied(pace_t *pace, size_t bytes, uint64_t nsec, uint32_t fill_nsec)
{
    average(&pace->empty_nsec, bytes, nsec);
    pace->told_nsec = (float)fill_nsec;
    return advise(pace);
}

bool pace_wants_get(pace_t *pace, size_t bytes)
{
    return (pace->advice >> class_of(bytes) & 1) == 0 || pace->gets++ % GETS_PER_SAMPLE == 0;
}

uint32_t pace_note_filled(pace_t *pace, size_t bytes, uint64_t nsec)
{
    average(&pace->fill_nsec, bytes, nsec);
    return (uint32_t)pace->fill_nsec;
}

bool pace_note_get(pace_t *pace, size_t bytes, uint64_t nsec)
{
    average(&pace->get_nsec[class_of(bytes)], bytes, nsec);
    return advise(pace);
}

bool pace_is_burst(pace_t *pace, size_t bytes, uint64_t now_nsec)
{
    uint64_t since = now_nsec - pace->sent_at_nsec;
    pace->sent_at_nsec = now_nsec;
    return (float)since * 1024 < BURST_FACTOR * pace->fill_nsec * (float)bytes;
}

bool pace_get_pays(uint32_t advice, size_t bytes, bool burst, unsigned turns[PACE_CLASSES])
{
    unsigned class = class_of(bytes), turn = turns[class]++;
    if (turn < LEARNING_TURNS)
        return turn % 2 != 0;
    bool pays = (advice >> (burst ? PACE_BURST + class : class) & 1) != 0;
    return turn % TURNS_PER_TRIAL == 0 ? !pays : pays;
}
