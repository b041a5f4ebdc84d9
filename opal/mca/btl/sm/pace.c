/* SPDX-License-Identifier: BSD-3-Clause */
/* Averages that follow short measurements at once and long ones slowly: a disturbance only makes a
 * measurement longer. */
#include "opal/mca/btl/sm/pace.h"

enum {
    FIRST_TRIAL = 32,
    TURNS_PER_TRIAL = 256, /* the other way is taken in two of so many: by the second time the data
                              may be nearer */
    OUTLIER = 4,           /* a measurement counts at most as so many times the average */
    GETS_PER_SAMPLE = 7,
    PART_KIB = 8, /* frames: while the first part is copied in, none is copied out */
};

static const float CALL_FACTOR = 0.8F;
static const float BURST_FACTOR = 2;
static const float CLOSE_FACTOR = 2; /* between two ways that are both worth a trial */

#define CLASSES(first, last) ((1u << ((last) + 1)) - (1u << (first)))

enum { CLASS_8K = 13 - PACE_FIRST_CLASS, CLASS_64K = 16 - PACE_FIRST_CLASS };

/*
 * The table. A way that is advised costs less there, and one that is not tried costs more than
 * twice as much. Measured on an AMD EPYC (2 virtual cores, L2 1 MiB, Linux 6.18), messages in one
 * direction and in both at once, data at rest and in use, by bench/exchange.c, latency.c and
 * latency_live.c.
 */
static const struct {
    uint32_t advised, tried; /* bits of classes */
} table[PACE_WAYS] = {
    [PACE_CMA] = {0, CLASSES(CLASS_64K + 1, PACE_CLASSES - 1)},
    [PACE_DIRECT] = {CLASSES(0, PACE_CLASSES - 1), CLASSES(CLASS_8K, CLASS_64K)},
};

uint32_t pace_advice(pace_way_t way, uint32_t published)
{
    uint32_t known =
        table[way].advised | table[way].advised << PACE_BURST | table[way].tried << PACE_TRIAL;
    return known ^ published;
}

static unsigned class_of(size_t bytes)
{
    unsigned log = 63 - (unsigned)__builtin_clzll(bytes | (UINT64_C(1) << PACE_FIRST_CLASS));
    unsigned class = log - PACE_FIRST_CLASS;
    return class < PACE_CLASSES ? class : PACE_CLASSES - 1;
}

static void average(float *nsec, size_t bytes, uint64_t measured)
{
    float sample = (float)measured * 1024 / (float)bytes;
    if (*nsec == 0 || sample * 2 < *nsec) /* the first ones of all may have met page faults */
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

static bool is_close(float a, float b)
{
    return a < CLOSE_FACTOR * b && b < CLOSE_FACTOR * a;
}

/*
 * The bits of a class, for which both ways were measured. Both ends copy at the same time, so the
 * slower end counts. In a burst the rate counts; of a single message, the time from its begin to
 * its end.
 */
static uint32_t advise_class(const pace_t *pace, pace_way_t way, unsigned class)
{
    float kib = (float)(3u << (class + PACE_FIRST_CLASS - 1)) / 1024;
    float get_nsec = pace->get_nsec[way][class];
    float by_get = get_nsec * kib * factor_of(pace, way, get_nsec);
    float by_frames = frame_nsec(pace) * (kib + PART_KIB);
    uint32_t bit = 1u << class, advice = 0;
    if (by_get < by_frames)
        advice |= bit;
    if (get_nsec * CALL_FACTOR < frame_nsec(pace))
        advice |= bit << PACE_BURST;
    if (is_close(by_get, by_frames))
        advice |= bit << PACE_TRIAL;
    return advice;
}

/* Whether the next larger class was measured to be better read. */
static bool is_better_above(const pace_t *pace, pace_way_t way, unsigned class, uint32_t advice)
{
    return class + 1 < PACE_CLASSES && pace->get_nsec[way][class + 1] != 0 &&
           (advice >> (class + 1) & 1) != 0;
}

static uint32_t advise(const pace_t *pace, pace_way_t way)
{
    uint32_t advice = pace_advice(way, 0);
    for (unsigned i = 0; frame_nsec(pace) != 0 && i < PACE_CLASSES; i++) {
        const unsigned class = PACE_CLASSES - 1 - i; /* the larger ones first */
        const uint32_t bit = 1u << class, all = bit | bit << PACE_BURST | bit << PACE_TRIAL;
        if (pace->get_nsec[way][class] != 0)
            advice = (advice & ~all) | advise_class(pace, way, class);
        else if ((advice & bit) == 0 && is_better_above(pace, way, class, advice))
            advice |= bit << PACE_TRIAL;
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

bool pace_get_is_advised(uint32_t advice, size_t bytes)
{
    return (advice >> class_of(bytes) & 1) != 0;
}

bool pace_get_pays(uint32_t advice, size_t bytes, bool burst, unsigned turns[PACE_CLASSES])
{
    unsigned class = class_of(bytes), turn = turns[class]++;
    bool pays = (advice >> (burst ? PACE_BURST + class : class) & 1) != 0;
    bool is_worth_trying = (advice >> (PACE_TRIAL + class) & 1) != 0;
    return is_worth_trying && turn % TURNS_PER_TRIAL - FIRST_TRIAL < 2 ? !pays : pays;
}
