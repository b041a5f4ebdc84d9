/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash table of keys and values. See pmi_kvs.h. */
#include "tools/mpirun/pmi_kvs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/hash.h"
#include "opal/util/text.h"

struct pmi_kvs_entry {
    pmi_kvs_entry_t *next;
    uint64_t hash;
    size_t key_bytes;   /* with its 0 */
    size_t value_bytes; /* with its 0 */
    char text[];        /* key, then value */
};

/* Short keys that differ in their last digits. */
static uint64_t hash_of(const char *key)
{
    return opal_hash_text(OPAL_HASH_START, key);
}

static pmi_kvs_entry_t **slot_of(const pmi_kvs_t *kvs, uint64_t hash)
{
    return &kvs->buckets[(hash ^ hash >> 32) & (kvs->bucket_count - 1)];
}

/* The link that leads to the key, or NULL. */
static pmi_kvs_entry_t **find(const pmi_kvs_t *kvs, const char *key)
{
    if (kvs->count == 0)
        return NULL;
    uint64_t hash = hash_of(key);
    for (pmi_kvs_entry_t **link = slot_of(kvs, hash); *link != NULL; link = &(*link)->next) {
        if ((*link)->hash == hash && strcmp((*link)->text, key) == 0)
            return link;
    }
    return NULL;
}

static void grow(pmi_kvs_t *kvs)
{
    pmi_kvs_t larger = *kvs;
    larger.bucket_count = kvs->bucket_count == 0 ? 64 : 2 * kvs->bucket_count;
    larger.buckets = opal_xcalloc(larger.bucket_count, sizeof *larger.buckets);
    for (size_t i = 0; i < kvs->bucket_count; i++) {
        for (pmi_kvs_entry_t *entry = kvs->buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            pmi_kvs_entry_t **slot = slot_of(&larger, entry->hash);
            entry->next = *slot;
            *slot = entry;
        }
    }
    free(kvs->buckets);
    *kvs = larger;
}

bool pmi_kvs_put(pmi_kvs_t *kvs, const char *key, const char *value, size_t max_bytes)
{
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    if (kvs->bytes + key_bytes + value_bytes > max_bytes)
        return false;
    pmi_kvs_remove(kvs, key);
    if (kvs->count == kvs->bucket_count)
        grow(kvs);
    pmi_kvs_entry_t *entry = opal_xmalloc(sizeof *entry + key_bytes + value_bytes);
    entry->hash = hash_of(key);
    entry->key_bytes = key_bytes;
    entry->value_bytes = value_bytes;
    memcpy(entry->text, key, key_bytes);
    memcpy(entry->text + key_bytes, value, value_bytes);
    pmi_kvs_entry_t **slot = slot_of(kvs, entry->hash);
    entry->next = *slot;
    *slot = entry;
    kvs->count++;
    kvs->bytes += key_bytes + value_bytes;
    return true;
}

const char *pmi_kvs_get(const pmi_kvs_t *kvs, const char *key)
{
    pmi_kvs_entry_t **link = find(kvs, key);
    return link == NULL ? NULL : (*link)->text + (*link)->key_bytes;
}

bool pmi_kvs_remove(pmi_kvs_t *kvs, const char *key)
{
    pmi_kvs_entry_t **link = find(kvs, key);
    if (link == NULL)
        return false;
    pmi_kvs_entry_t *entry = *link;
    *link = entry->next;
    kvs->count--;
    kvs->bytes -= entry->key_bytes + entry->value_bytes;
    free(entry);
    return true;
}

void pmi_kvs_free(pmi_kvs_t *kvs)
{
    for (size_t i = 0; i < kvs->bucket_count; i++) {
        for (pmi_kvs_entry_t *entry = kvs->buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            free(entry);
        }
    }
    free(kvs->buckets);
    *kvs = (pmi_kvs_t){0};
}
