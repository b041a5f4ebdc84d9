/* SPDX-License-Identifier: BSD-3-Clause */
/* See timeline.h. */
#include "opal/profile/timeline.h"

#include <string.h>

enum { FIRST_BIN_TICKS = 1 << 17, FIRST_INTERVAL_TICKS = 1 << 13 };

void opal_timeline_start(opal_profile_block_t *block, uint64_t ticks)
{
    block->bins_begin = ticks;
    block->bin_ticks = FIRST_BIN_TICKS;
    block->shortest_interval = FIRST_INTERVAL_TICKS;
}

/* -- bins ------------------------------------------------------------------------------------- */

static void merge(opal_profile_bin_t *to, const opal_profile_bin_t *a, const opal_profile_bin_t *b)
{
    const opal_profile_bin_t *most = a->most >= b->most ? a : b;
    opal_profile_bin_t merged = {.in_mpi = a->in_mpi + b->in_mpi,
                                 .waited = a->waited + b->waited,
                                 .most = a->site == b->site ? a->most + b->most : most->most,
                                 .site = most->site};
    *to = merged;
}

static void widen(opal_profile_block_t *block)
{
    opal_profile_bin_t *bins = block->bins;
    for (size_t i = 0; i < OPAL_PROFILE_BINS / 2; i++)
        merge(&bins[i], &bins[2 * i], &bins[2 * i + 1]);
    memset(&bins[OPAL_PROFILE_BINS / 2], 0, sizeof *bins * OPAL_PROFILE_BINS / 2);
    block->bin_ticks *= 2;
}

static void add_to_bin(opal_profile_bin_t *bin, uint64_t in_mpi, uint64_t waited, uint64_t site)
{
    bin->in_mpi += in_mpi;
    bin->waited += waited;
    if (bin->site == site) {
        bin->most += in_mpi;
    } else if (in_mpi > bin->most) {
        bin->most = in_mpi;
        bin->site = site;
    }
}

/* The call's time is spread over the bins that it reaches into; its waits evenly. */
static void add_to_bins(opal_profile_block_t *block, const opal_timeline_call_t *call)
{
    uint64_t begin = call->begin > block->bins_begin ? call->begin - block->bins_begin : 0;
    uint64_t end = call->end > block->bins_begin ? call->end - block->bins_begin : 0;
    double share = end > begin ? (double)call->waited / (double)(end - begin) : 0;
    while (end / block->bin_ticks >= OPAL_PROFILE_BINS)
        widen(block);
    for (uint64_t at = begin; at < end;) {
        uint64_t bin = at / block->bin_ticks, next = (bin + 1) * block->bin_ticks;
        uint64_t ticks = ((next < end ? next : end) - at) * call->weight;
        add_to_bin(&block->bins[bin], ticks, (uint64_t)((double)ticks * share), call->site);
        at = next;
    }
}

/* -- the longest calls ------------------------------------------------------------------------ */

static void drop_short_ones(opal_profile_block_t *block)
{
    uint64_t left = 0;
    block->shortest_interval *= 2;
    for (uint64_t i = 0; i < block->interval_count; i++) {
        const opal_profile_interval_t *each = &block->intervals[i];
        if (each->end - each->begin >= block->shortest_interval)
            block->intervals[left++] = *each;
    }
    block->interval_count = left;
}

void opal_timeline_add(opal_profile_block_t *block, const opal_timeline_call_t *call)
{
    if (call->end <= call->begin)
        return; /* the clocks of cores may differ by a few ticks */
    add_to_bins(block, call);
    while (block->interval_count == OPAL_PROFILE_INTERVALS &&
           call->end - call->begin >= block->shortest_interval)
        drop_short_ones(block);
    if (call->end - call->begin < block->shortest_interval)
        return;
    block->intervals[block->interval_count++] = (opal_profile_interval_t){
        .begin = call->begin, .end = call->end, .waited = call->waited, .site = call->site};
}
