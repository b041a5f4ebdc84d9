/* SPDX-License-Identifier: BSD-3-Clause */
/* See flows.h. */
#include "tools/profile/flows.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/text.h"

enum { FIRST_SLOTS = 1024 }; /* a power of two */

static uint64_t hash(const flow_key_t *key)
{
    uint64_t value = (uint64_t)key->context << 32 | (uint32_t)key->tag;
    value = (value ^ (uint64_t)key->from << 32 ^ key->to) * UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 29 ^ (uint64_t)key->from * 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 32;
}

static bool is_key(const flow_t *flow, const flow_key_t *key)
{
    return memcmp(&flow->key, key, sizeof *key) == 0;
}

static bool is_free(const flow_t *flow)
{
    return flow->count[0] + flow->count[1] == 0;
}

/* The slot of a key, or the free one in which it belongs. */
static flow_t *find(const flows_t *flows, const flow_key_t *key)
{
    uint64_t at = hash(key) & (flows->slot_count - 1);
    while (!is_free(&flows->slots[at]) && !is_key(&flows->slots[at], key))
        at = (at + 1) & (flows->slot_count - 1);
    return &flows->slots[at];
}

static void grow(flows_t *flows)
{
    flows_t larger = {.slot_count = flows->slot_count == 0 ? FIRST_SLOTS : 2 * flows->slot_count,
                      .used = flows->used};
    larger.slots = opal_xcalloc(larger.slot_count, sizeof *larger.slots);
    for (uint64_t i = 0; i < flows->slot_count; i++) {
        if (!is_free(&flows->slots[i]))
            *find(&larger, &flows->slots[i].key) = flows->slots[i];
    }
    free(flows->slots);
    *flows = larger;
}

uint64_t flows_count(flows_t *flows, const flow_key_t *key, flow_end_t end)
{
    if (flows->used * 2 >= flows->slot_count)
        grow(flows);
    flow_t *flow = find(flows, key);
    flows->used += is_free(flow);
    flow->key = *key;
    return flow->count[end]++;
}

static uint64_t complete(const flow_t *flow)
{
    return flow->count[FLOW_SENT] < flow->count[FLOW_MATCHED] ? flow->count[FLOW_SENT]
                                                              : flow->count[FLOW_MATCHED];
}

void flows_number(flows_t *flows)
{
    flows->next_id = 1;
    for (uint64_t i = 0; i < flows->slot_count; i++) {
        flows->slots[i].first_id = flows->next_id;
        flows->next_id += complete(&flows->slots[i]);
    }
}

uint64_t flows_next(flows_t *flows, const flow_key_t *key, flow_end_t end)
{
    flow_t *flow = flows->slot_count > 0 ? find(flows, key) : NULL;
    if (flow == NULL || is_free(flow) || flow->next[end] >= complete(flow))
        return 0;
    return flow->first_id + flow->next[end]++;
}

uint64_t flows_id(const flows_t *flows, const flow_key_t *key, uint64_t before)
{
    const flow_t *flow = find(flows, key);
    return before < complete(flow) ? flow->first_id + before : 0;
}

void flows_free(flows_t *flows)
{
    free(flows->slots);
    *flows = (flows_t){0};
}
