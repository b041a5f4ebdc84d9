/* SPDX-License-Identifier: BSD-3-Clause */
/* The key-value space of a job: a hash table with chains. */
#ifndef MPIRUN_PMI_KVS_H
#define MPIRUN_PMI_KVS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pmi_kvs_entry pmi_kvs_entry_t;

typedef struct pmi_kvs {
    pmi_kvs_entry_t **buckets; /* a power of two of them; NULL while empty */
    size_t bucket_count, count;
    size_t bytes; /* of all keys and values */
} pmi_kvs_t;

/* Stores copies of key and value; an existing key gets the new value. False: the space would exceed
 * `max_bytes`. */
bool pmi_kvs_put(pmi_kvs_t *kvs, const char *key, const char *value, size_t max_bytes);

/* The value, valid until the key is put again or removed; NULL: no such key. */
const char *pmi_kvs_get(const pmi_kvs_t *kvs, const char *key);

/* False: no such key. */
bool pmi_kvs_remove(pmi_kvs_t *kvs, const char *key);

void pmi_kvs_free(pmi_kvs_t *kvs);

#endif
