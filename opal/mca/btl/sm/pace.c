/* SPDX-License-Identifier: BSD-3-Clause */
/* Averages that follow short measurements at once and long ones slowly: a disturbance only makes a
 * measurement longer. */
#include "opal/mca/btl/sm/pace.h"

enum {
    LEARNING_TURNS = 8,    /* at first both ways are taken in turns */
    TURNS_PER_TRIAL = 256, /* later the other way is taken in two of so many: by the second time
                              the data may be nearer */
    OUTLIER = 4,           /* a measurement counts at most as so many times the average */
    GETS_PER_SAMPLE = 7,
    PART_KIB = 8, /* frames: while the first part is copied in, none is copied out */
};

static const float CALL_FACTOR = 0.8F;
static const float BURST_FACTOR = 2;

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

static float frame_nsec(const pace_t *pace)
{
    return pace->empty_nsec > pace->peer_fill_nsec ? pace->empty_nsec : pace->peer_fill_nsec;
}

/*
 * The factor between what a get costs and what is measured of it. A get that takes as long as
 * frames is better, because it leaves the sender's core alone. If a direct get is hardly faster
 * than reading frames, the data is in the sender's cache, and the sender pays as much again when it
 * next writes there; frames cost it nothing then, because they are other memory.
 */
static float factor_of(const pace_t *pace, pace_way_t way, float get_nsec)
{
    if (way == PACE_CMA)
        return CALL_FACTOR;
    return get_nsec * 2 > pace->empty_nsec ? 2 : CALL_FACTOR;
}

/*
 * Both ends copy at the same time, so the slower end counts. In a burst the rate counts; of a
 * single message, the time from its begin to its end.
 */
static uint32_t advise(const pace_t *pace, pace_way_t way)
{
    uint32_t advice = pace_advice(way, 0);
    for (unsigned class = 0; class < PACE_CLASSES; class ++) {
        float kib = (float)(3u << (class + PACE_FIRST_CLASS - 1)) / 1024;
        float get_nsec = pace->get_nsec[way][class];
        uint32_t bit = 1u << class, burst_bit = bit << PACE_BURST;
        if (get_nsec == 0 || frame_nsec(pace) == 0)
            continue;
        advice &= ~(bit | burst_bit);
        if (get_nsec * kib * factor_of(pace, way, get_nsec) < frame_nsec(pace) * (kib + PART_KIB))
            advice |= bit;
        if (get_nsec * CALL_FACTOR < frame_nsec(pace))
            advice |= burst_bit;
    }
    return advice;
}

/* Whether the advice has changed. */
static bool advise_anew(pace_t *pace)
{
    bool changed = false;
    for (unsigned way = 0; way < PACE_WAYS; way++) {
        uint32_t published = pace_advice((pace_way_t)way, advise(pace, (pace_way_t)way));
        changed |= published != pace->published[way];
        pace->published[way] = published;
    }
    return changed;
}

bool pace_add_emptied(pace_t *pace, size_t bytes, uint64_t nsec, uint32_t fill_nsec)
{
    average(&pace->empty_nsec, bytes, nsec);
    pace->peer_fill_nsec = (float)fill_nsec;
    return advise_anew(pace);
}

bool pace_wants_get(pace_t *pace, pace_way_t way, size_t bytes)
{
    bool is_open = (pace_advice(way, pace->published[way]) >> class_of(bytes) & 1) == 0;
    /* Without frames there is nothing to compare a direct one with. */
    if (way == PACE_DIRECT && pace->empty_nsec == 0)
        is_open = false;
    return is_open || pace->gets[way]++ % GETS_PER_SAMPLE == 0;
}

uint32_t pace_add_filled(pace_t *pace, size_t bytes, uint64_t nsec)
{
    average(&pace->fill_nsec, bytes, nsec);
    return pace->fill_nsec < (float)INT32_MAX ? (uint32_t)pace->fill_nsec : INT32_MAX;
}

bool pace_add_get(pace_t *pace, pace_way_t way, size_t bytes, uint64_t nsec)
{
    average(&pace->get_nsec[way][class_of(bytes)], bytes, nsec);
    return advise_anew(pace);
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
    return turn % TURNS_PER_TRIAL < 2 ? !pays : pays;
}
