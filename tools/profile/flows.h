/* SPDX-License-Identifier: BSD-3-Clause */
/* How many messages of each kind were sent, and received, and the numbers of the next ones. */
#ifndef MICA_PROFILE_FLOWS_H
#define MICA_PROFILE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

/* What messages agree in that keep their order. */
typedef struct flow_key {
    uint32_t context, from, to;
    int32_t tag;
} flow_key_t;

typedef struct flow {
    flow_key_t key;
    uint64_t first_id; /* of its first message */
    uint64_t count[2]; /* sent, matched: in the first pass over the records */
    uint64_t next[2];  /* the same, in the second pass */
} flow_t;

typedef struct flows {
    flow_t *slots; /* a hash table, at most half full */
    uint64_t slot_count, used, next_id;
} flows_t;

typedef enum flow_end { FLOW_SENT, FLOW_MATCHED } flow_end_t;

/* The first pass: there is such a message. Returns how many there were before it. */
uint64_t flows_count(flows_t *flows, const flow_key_t *key, flow_end_t end);

/* Behind the first pass: numbers the messages of which both ends are known. */
void flows_number(flows_t *flows);

/* The second pass, in the same order: the number of the message; 0: its other end is not known. */
uint64_t flows_next(flows_t *flows, const flow_key_t *key, flow_end_t end);

/* Its number, if there were so many before it. */
uint64_t flows_id(const flows_t *flows, const flow_key_t *key, uint64_t before);

void flows_free(flows_t *flows);

#endif
